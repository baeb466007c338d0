/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * interact.h - ULE's interactivity score: how a thread's voluntary sleep compares with its run time.
 *
 * A history is two sums, of sleep and of run time, in ticks with ten fractional
 * bits.  The score is 0 for a thread that only sleeps and @max for one that only
 * runs; equal sums are half of it.  Both sums are cut when they grow too large,
 * which keeps their ratio and forgets the past.  Waiting for a CPU is neither
 * sleep nor run time: load makes no thread interactive.
 *
 * All of this has been the same from 2003 to today; the differences, tunables and
 * quirks, are in the policies that use it.
 */
#ifndef SCHEDLAB_INTERACT_H
#define SCHEDLAB_INTERACT_H

#define TICK_SHIFT	10
#define TICK_ONE	(1u << TICK_SHIFT)

/** struct interact - a thread's history. @slptime, @runtime: ticks << TICK_SHIFT. */
struct interact {
	u32 slptime, runtime;
};
typedef struct interact __arena interact_t;

static inline __unused u32 interact_sum(interact_t *h)
{
	return h->slptime + h->runtime;
}

/** interact_score - 0 to @max; with no history at all, 0. */
static inline __unused u32 interact_score(interact_t *h, u32 max)
{
	u32 half = max / 2;

	if (h->runtime > h->slptime)
		return half + (half - h->slptime / max_of(h->runtime / half, 1u));
	if (h->slptime > h->runtime)
		return h->runtime / max_of(h->slptime / half, 1u);
	return h->runtime ? half : 0;
}

/** interact_scale - keep @num / @den of both sums. */
static inline __unused void interact_scale(interact_t *h, u32 num, u32 den)
{
	h->slptime = h->slptime / den * num;
	h->runtime = h->runtime / den * num;
}

/** interact_bound - a sum of @limit is cut to four fifths; if that is not enough, to half of what it is. */
static inline __unused void interact_bound(interact_t *h, u32 limit)
{
	u32 sum = interact_sum(h);

	if (sum < limit)
		return;
	if (sum > limit / 5 * 6)
		interact_scale(h, 1, 2);
	else
		interact_scale(h, 4, 5);
}

/** interact_fork - a child inherits the ratio, but no more weight than @limit (0: any). */
static inline __unused void interact_fork(interact_t *h, u32 limit)
{
	if (limit && interact_sum(h) > limit)
		interact_scale(h, 1, interact_sum(h) / limit);
}
#endif
