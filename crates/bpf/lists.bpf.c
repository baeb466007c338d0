/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * lists.bpf.c - the cost of a linked list in a BPF program, made in two ways.
 *
 * One way links nodes by pointers in the arena, as policies do.  The other links them by index
 * in an array, where each step needs a bounds check.  Both do the same work: ROUNDS times the
 * first node goes to the end of the list, or all nodes are visited.  Not part of a scheduler:
 * "schedlab dev overhead" runs it.
 */
#include "types.h"
#include "list.h"
#include "kernel.h"

char lists_license[] SEC("license") = "GPL";

#define NODES	64
#define ROUNDS	256	/* crates/cli/src/command/overhead.rs uses the same numbers */

struct {
	__uint(type, BPF_MAP_TYPE_ARENA);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1 << 10);
} lists_arena SEC(".maps");

/* About as large as a task of a simple policy. */
struct linked_node {
	struct list links;
	u64 key;
	u64 state[13];
};
struct linked_node __arena linked_nodes[NODES];
struct list __arena linked_head;

struct indexed_node {
	u32 next, prev;
	u64 key;
	u64 state[13];
};
#define HEAD	NODES
struct indexed_node indexed_nodes[NODES + 1] SEC(".data.indexed");

u64 sum SEC(".data.sum");

#define bounded_for(i, n)	for ((i) = 0; (i) < (n) && kernel_lets_loop(); (i)++)

static __always_inline struct indexed_node *indexed(u32 i)
{
	return &indexed_nodes[in_bounds(i, NODES + 1)];
}

SEC("syscall") int prepare(void *ctx)
{
	u32 i;

	list_init((list_t *)&linked_head);
	bounded_for(i, NODES) {
		list_add_tail((list_t *)&linked_nodes[i].links, (list_t *)&linked_head);
		indexed(i)->next = i + 1;
		indexed(i + 1)->prev = i;
	}
	indexed(HEAD)->next = 0;
	indexed(0)->prev = HEAD;
	return 0;
}

SEC("syscall") int rotate_linked(void *ctx)
{
	list_t *head = (list_t *)&linked_head;
	u32 i;

	bounded_for(i, ROUNDS) {
		list_t *first = head->next;

		list_del(first);
		list_add_tail(first, head);
	}
	return 0;
}

SEC("syscall") int rotate_indexed(void *ctx)
{
	struct indexed_node *head = indexed(HEAD), *node;
	u32 i, first;

	bounded_for(i, ROUNDS) {
		first = head->next;
		node = indexed(first);
		indexed(node->prev)->next = node->next;
		indexed(node->next)->prev = node->prev;
		node->prev = head->prev;
		node->next = HEAD;
		indexed(node->prev)->next = first;
		head->prev = first;
	}
	return 0;
}

SEC("syscall") int walk_linked(void *ctx)
{
	list_t *head = (list_t *)&linked_head, *node;
	u32 i;

	bounded_for(i, ROUNDS)
		for (node = head->next; node != head && kernel_lets_loop(); node = node->next)
			sum += list_entry(node, struct linked_node __arena, links)->key;
	return 0;
}

SEC("syscall") int walk_indexed(void *ctx)
{
	u32 i, at;

	bounded_for(i, ROUNDS)
		for (at = indexed(HEAD)->next; at != HEAD && kernel_lets_loop(); at = indexed(at)->next)
			sum += indexed(at)->key;
	return 0;
}
