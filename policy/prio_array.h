/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * prio_array.h - one FIFO list per priority and a bitmap of the non-empty lists.
 *
 * The run queue of Linux 2.6's O(1) scheduler and, with other sizes, of BSD and SVR4.  It finds
 * the best task in constant time.
 */
#ifndef SCHEDLAB_PRIO_ARRAY_H
#define SCHEDLAB_PRIO_ARRAY_H

#define PRIO_WORDS	3
#define PRIO_LEVELS	(PRIO_WORDS * 64)
#define PRIO_NONE	PRIO_LEVELS	/* prio_array_first() of an empty array */

struct prio_array {
	u32 nr;				/* tasks in all lists */
	u64 bitmap[PRIO_WORDS];		/* bit n: list n is not empty */
	struct list queue[PRIO_LEVELS];
};
typedef struct prio_array __arena prio_array_t;

static inline __unused void prio_array_init(sched_t *s, prio_array_t *a)
{
	u32 i;

	a->nr = 0;
	repeat(s, i, PRIO_WORDS)
		a->bitmap[i] = 0;
	repeat(s, i, PRIO_LEVELS)
		list_init(&a->queue[i]);
}

static inline __unused void prio_array_mark(prio_array_t *a, u32 prio)
{
	a->bitmap[prio / 64] |= 1ull << (prio % 64);
	a->nr++;
}

/** prio_array_add_tail - append @node to list @prio (< PRIO_LEVELS). */
static inline __unused void prio_array_add_tail(prio_array_t *a, list_t *node, u32 prio)
{
	list_add_tail(node, &a->queue[prio]);
	prio_array_mark(a, prio);
}

/** prio_array_add - put @node at the front of list @prio. */
static inline __unused void prio_array_add(prio_array_t *a, list_t *node, u32 prio)
{
	list_add(node, &a->queue[prio]);
	prio_array_mark(a, prio);
}

/** prio_array_del - remove @node from list @prio, which must contain it. */
static inline __unused void prio_array_del(prio_array_t *a, list_t *node, u32 prio)
{
	list_del(node);
	if (list_empty(&a->queue[prio]))
		a->bitmap[prio / 64] &= ~(1ull << (prio % 64));
	a->nr--;
}

/** prio_array_next - the first non-empty list at or after @prio, PRIO_NONE if there is none. */
static inline __unused u32 prio_array_next(sched_t *s, prio_array_t *a, u32 prio)
{
	u32 word = prio / 64;
	u64 bits;

	if (prio >= PRIO_LEVELS)
		return PRIO_NONE;
	bits = a->bitmap[word] & (~0ull << (prio % 64));
	repeat_while(s, !bits && ++word < PRIO_WORDS)
		bits = a->bitmap[word];
	return bits ? word * 64 + find_first_bit(bits) : PRIO_NONE;
}

/** prio_array_first - the first non-empty list, PRIO_NONE if all are empty. */
static inline __unused u32 prio_array_first(prio_array_t *a)
{
	if (a->bitmap[0])
		return find_first_bit(a->bitmap[0]);
	if (a->bitmap[1])
		return 64 + find_first_bit(a->bitmap[1]);
	if (a->bitmap[2])
		return 128 + find_first_bit(a->bitmap[2]);
	return PRIO_NONE;
}
#endif
