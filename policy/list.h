/* SPDX-License-Identifier: GPL-2.0-only */
/* list.h - circular doubly linked lists in the arena, as in the kernels of these policies. */
#ifndef SCHEDLAB_LIST_H
#define SCHEDLAB_LIST_H

/** list_entry - the structure of (arena) type @type that embeds node @node as @member. */
#define list_entry(node, type, member) \
	((type *)((u8 __arena *)(node) - __builtin_offsetof(type, member)))

/** list_init - make @head an empty list, or @node a node that is in no list. */
static inline __unused void list_init(list_t *head)
{
	head->next = head;
	head->prev = head;
}

/** list_linked - is @node in a list?  A zeroed node is not. */
static inline __unused u32 list_linked(list_t *node)
{
	return node->next != NULL && node->next != node;
}

static inline __unused u32 list_empty(list_t *head)
{
	return head->next == head;
}

/** list_insert - link @node between @before and @before->next. */
static inline __unused void list_insert(list_t *node, list_t *before)
{
	list_t *after = before->next;

	node->prev = before;
	node->next = after;
	before->next = node;
	after->prev = node;
}

/** list_add - put @node at the front of @head. */
static inline __unused void list_add(list_t *node, list_t *head)
{
	list_insert(node, head);
}

/** list_add_tail - put @node at the back of @head. */
static inline __unused void list_add_tail(list_t *node, list_t *head)
{
	list_insert(node, head->prev);
}

/** list_del - remove @node from its list; it is in no list afterwards. */
static inline __unused void list_del(list_t *node)
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
	list_init(node);
}

/** list_for_each - walk @head from front to back; the body must not unlink @node. */
#define list_for_each(s, node, head) \
	for ((node) = (head)->next; (node) != (head) && may_loop(s); (node) = (node)->next)

/** list_for_each_back - walk @head from back to front; the body must not unlink @node. */
#define list_for_each_back(s, node, head) \
	for ((node) = (head)->prev; (node) != (head) && may_loop(s); (node) = (node)->prev)
#endif
