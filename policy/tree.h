/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * tree.h - an ordered tree in the arena: tasks sorted by a key, with the first one cached.
 *
 * Nodes are ordered by @key, compared as times on a clock that wraps around;
 * nodes with equal keys keep the order of insertion.  Each node stores the smallest
 * @value of its subtree.  So one descent finds the first node with a value not above a
 * limit.  EEVDF needs this, with deadlines as keys and virtual runtimes as values.
 *
 * The kernel's tree is a red-black tree.  This one is balanced by heights (Adelson-
 * Velsky and Landis 1962), because one short loop then handles insertion, removal
 * and the least values.  The order of the nodes, and so every decision, is the
 * same.  There is no recursion; each loop is bounded by the height, which is below
 * 1.45 * log2(n).
 */
#ifndef SCHEDLAB_TREE_H
#define SCHEDLAB_TREE_H

struct tree_node {
	struct tree_node __arena *parent;
	struct tree_node __arena *child[2];	/* 0: earlier nodes, 1: later nodes */
	u64 key;
	u64 value;
	u64 least;		/* the least value of the subtree */
	u32 height;		/* of the subtree; 0: the node is in no tree */
};
typedef struct tree_node __arena tree_node_t;

/* A zeroed tree is empty. */
struct tree {
	struct tree_node __arena *root, *first;
};
typedef struct tree __arena tree_t;

/** before - is @a earlier than @b?  Both are close together, on a clock that wraps around. */
static inline __unused u32 before(u64 a, u64 b)
{
	return (s64)(a - b) < 0;
}

/** tree_linked - is @node in a tree?  A zeroed node is in none. */
static inline __unused u32 tree_linked(tree_node_t *node)
{
	return node->height != 0;
}

/** tree_end - the first (@side 0) or last (@side 1) node of the subtree of @node, which must not be NULL. */
static inline __unused tree_node_t *tree_end(sched_t *s, tree_node_t *node, u32 side)
{
	repeat_while(s, node->child[side])
		node = node->child[side];
	return node;
}

/** tree_last - the last node; NULL if there is none. */
static inline __unused tree_node_t *tree_last(sched_t *s, tree_t *tree)
{
	return tree->root ? tree_end(s, tree->root, 1) : NULL;
}

/** tree_next - the node after @node; NULL after the last. */
static inline __unused tree_node_t *tree_next(sched_t *s, tree_node_t *node)
{
	if (node->child[1])
		return tree_end(s, node->child[1], 0);
	repeat_while(s, node->parent && node == node->parent->child[1])
		node = node->parent;
	return node->parent;
}

/**
 * tree_first_within - the first node whose value is not after @limit; NULL if there is none
 *
 * If the left subtree has such a node, the first one is there.  Otherwise it is the
 * node itself or in the right subtree.
 */
static inline __unused tree_node_t *tree_first_within(sched_t *s, tree_t *tree, u64 limit)
{
	tree_node_t *node = tree->root;

	if (!node || before(limit, node->least))
		return NULL;
	repeat_while(s, node) {
		tree_node_t *left = node->child[0];

		examined(s, 1);
		if (left && !before(limit, left->least))
			node = left;
		else if (!before(limit, node->value))
			return node;
		else
			node = node->child[1];
	}
	return NULL;
}

/* ---- balance ------------------------------------------------------------ */

static inline __unused u32 tree_height(tree_node_t *node)
{
	return node ? node->height : 0;
}

/* A node's height and least value follow from its children's. */
static inline __unused void tree_update(tree_node_t *node)
{
	tree_node_t *left = node->child[0], *right = node->child[1];

	node->height = 1 + max_of(tree_height(left), tree_height(right));
	node->least = node->value;
	if (left && before(left->least, node->least))
		node->least = left->least;
	if (right && before(right->least, node->least))
		node->least = right->least;
}

/* Replaces @node below its parent by @heir, which may be NULL. */
static inline __unused void tree_replace(tree_t *tree, tree_node_t *node, tree_node_t *heir)
{
	tree_node_t *parent = node->parent;

	if (!parent)
		tree->root = heir;
	else
		parent->child[node == parent->child[1]] = heir;
	if (heir)
		heir->parent = parent;
}

/* Rotates @node down to @side; its child on the other side takes its place and is returned. */
static inline __unused tree_node_t *tree_rotate(tree_t *tree, tree_node_t *node, u32 side)
{
	tree_node_t *riser = node->child[!side], *middle = riser->child[side];

	tree_replace(tree, node, riser);
	node->child[!side] = middle;
	if (middle)
		middle->parent = node;
	riser->child[side] = node;
	node->parent = riser;
	tree_update(node);
	tree_update(riser);
	return riser;
}

/* Balances @node, whose balanced subtrees differ in height by at most 2.  Returns the root of the balanced tree. */
static inline __unused tree_node_t *tree_balance(tree_t *tree, tree_node_t *node)
{
	u32 left = tree_height(node->child[0]), right = tree_height(node->child[1]);
	u32 heavy = right > left;
	tree_node_t *child = node->child[heavy];

	if (left <= right + 1 && right <= left + 1) {
		tree_update(node);
		return node;
	}
	if (tree_height(child->child[!heavy]) > tree_height(child->child[heavy]))
		tree_rotate(tree, child, heavy);
	return tree_rotate(tree, node, !heavy);
}

/* After a change below @node: updates it and the nodes above it, until one does not change. */
__apart u32 tree_fix(sched_t *s __in_arena, tree_t *tree __in_arena, tree_node_t *node __in_arena)
{
	repeat_while(s, node) {
		u64 least = node->least;
		u32 height = node->height;

		node = tree_balance(tree, node);
		if (node->height == height && node->least == least)
			return 0;
		node = node->parent;
	}
	return 0;
}

/* ---- insertion and removal ---------------------------------------------- */

/** tree_insert - link @node, whose key and value are set, after all nodes with the same key. */
__apart u32 tree_insert(sched_t *s __in_arena, tree_t *tree __in_arena, tree_node_t *node __in_arena)
{
	tree_node_t *parent = NULL, *next = tree->root;
	u32 side = 0, first = true;

	repeat_while(s, next) {
		parent = next;
		side = !before(node->key, parent->key);
		first = first && !side;
		next = parent->child[side];
	}
	node->parent = parent;
	node->child[0] = node->child[1] = NULL;
	tree_update(node);
	if (parent)
		parent->child[side] = node;
	else
		tree->root = node;
	if (first)
		tree->first = node;
	tree_fix(s, tree, parent);
	return 0;
}

/*
 * A node with two children is replaced by the next node, which has no left child.  This changes
 * the old place and the new place of the next node.
 */
static inline __unused void tree_splice(sched_t *s, tree_t *tree, tree_node_t *node)
{
	tree_node_t *heir = tree_end(s, node->child[1], 0);
	tree_node_t *changed = heir->parent == node ? heir : heir->parent;

	tree_replace(tree, heir, heir->child[1]);
	heir->child[0] = node->child[0];
	heir->child[0]->parent = heir;
	heir->child[1] = node->child[1];
	if (heir->child[1])
		heir->child[1]->parent = heir;
	/* The old values of this place, so that tree_fix() sees whether they change. */
	heir->height = node->height;
	heir->least = node->least;
	tree_replace(tree, node, heir);
	tree_fix(s, tree, changed);
	tree_fix(s, tree, heir);
}

/** tree_remove - unlink @node, which must be in @tree. */
__apart u32 tree_remove(sched_t *s __in_arena, tree_t *tree __in_arena, tree_node_t *node __in_arena)
{
	if (tree->first == node)
		tree->first = tree_next(s, node);
	if (node->child[0] && node->child[1]) {
		tree_splice(s, tree, node);
	} else {
		tree_replace(tree, node, node->child[0] ? node->child[0] : node->child[1]);
		tree_fix(s, tree, node->parent);
	}
	node->height = 0;
	return 0;
}
#endif
