/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * weight.h - what a nice level is worth since Linux 2.6.23, and arithmetic with weights.
 *
 * Each level is worth 1.25 times the next: of two tasks one level apart the better
 * gets 55 % of the CPU and the other 45 %, whatever the levels are.  Virtual time
 * is time divided by weight, scaled so that nice 0 sees the real one.
 */
#ifndef SCHEDLAB_WEIGHT_H
#define SCHEDLAB_WEIGHT_H

#define NICE_0_LOAD		1024u
#define WEIGHT_IDLEPRIO		3u	/* SCHED_IDLE; 2 up to 2.6.29 */
#define WMULT_SHIFT		32

/* sched_prio_to_weight: nice -20 to 19 [SRC kernel/sched.c of 2.6.24; kernel/sched/core.c of 6.12] */
static const u32 prio_to_weight[NICE_MAX - NICE_MIN + 1] = {
	88761, 71755, 56483, 46273, 36291,
	29154, 23254, 18705, 14949, 11916,
	 9548,  7620,  6100,  4904,  3906,
	 3121,  2501,  1991,  1586,  1277,
	 1024,   820,   655,   526,   423,
	  335,   272,   215,   172,   137,
	  110,    87,    70,    56,    45,
	   36,    29,    23,    18,    15,
};

/** task_weight - the weight of @p's nice value and class. */
static inline __unused u32 task_weight(task_t *p)
{
	if (p->class == CLASS_IDLE)
		return WEIGHT_IDLEPRIO;
	return prio_to_weight[clamp_to(p->nice, NICE_MIN, NICE_MAX) - NICE_MIN];
}

/** inverse_weight - 2^32 / @weight, rounded: for a weight of the table this is the kernel's sched_prio_to_wmult. */
static inline __unused u32 inverse_weight(u64 weight)
{
	return (u32)min_of(div_u64((1ull << WMULT_SHIFT) + weight / 2, weight), ~0u);
}

/** mul_u64_u32_shr - @a * @mul >> @shift (at most 32), exact as long as the result has 64 bits. */
static inline __unused u64 mul_u64_u32_shr(u64 a, u32 mul, u32 shift)
{
	u64 low = ((a & ~0u) * mul) >> shift;

	return low + (((a >> 32) * mul) << (32 - shift));
}

/**
 * calc_delta - @delta * @weight / w, where @inverse is inverse_weight(w)
 *
 * Fixed point as in __calc_delta(): the factor keeps 32 significant bits.
 */
static inline __unused u64 calc_delta(u64 delta, u32 weight, u32 inverse)
{
	u64 factor = (u64)weight * inverse;
	u32 excess = find_last_set(factor >> 32);

	return mul_u64_u32_shr(delta, (u32)(factor >> excess), WMULT_SHIFT - excess);
}
#endif
