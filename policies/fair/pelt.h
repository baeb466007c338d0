/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * pelt.h - averages over the recent past: per-entity load tracking, the arithmetic.
 *
 * Time is counted in units of 1024 ns and divided into periods of 1024 units, about
 * a millisecond.  What happened n periods ago counts y^n, with y^32 = 1/2.  So a sum over
 * all the past is at most LOAD_AVG_MAX, and an average is a sum divided by what it could
 * be at most now.
 *
 * Order and names follow kernel/sched/pelt.c (read: 6.12, 6.18.2 and 7.1.5, which agree here).  Included by averages.h.
 */
#ifndef SCHEDLAB_FAIR_PELT_H
#define SCHEDLAB_FAIR_PELT_H

#define LOAD_AVG_PERIOD		32u
#define LOAD_AVG_MAX		47742u		/* 1024 * (1 + y + y^2 + ...), rounded down at each step */
#define PELT_MIN_DIVIDER	(LOAD_AVG_MAX - 1024u)
#define CAPACITY_SHIFT		10
#define CAPACITY_SCALE		(1u << CAPACITY_SHIFT)

/* y^n * 2^32 [SRC kernel/sched/sched-pelt.h runnable_avg_yN_inv] */
static const u32 runnable_avg_yN_inv[LOAD_AVG_PERIOD] = {
	0xffffffff, 0xfa83b2da, 0xf5257d14, 0xefe4b99a, 0xeac0c6e6, 0xe5b906e6, 0xe0ccdeeb, 0xdbfbb796,
	0xd744fcc9, 0xd2a81d91, 0xce248c14, 0xc9b9bd85, 0xc5672a10, 0xc12c4cc9, 0xbd08a39e, 0xb8fbaf46,
	0xb504f333, 0xb123f581, 0xad583ee9, 0xa9a15ab4, 0xa5fed6a9, 0xa2704302, 0x9ef5325f, 0x9b8d39b9,
	0x9837f050, 0x94f4efa8, 0x91c3d373, 0x8ea4398a, 0x8b95c1e3, 0x88980e80, 0x85aac367, 0x82cd8698,
};

/** decay_load - @val * y^@n, rounded down. */
static inline __unused u64 decay_load(u64 val, u64 n)
{
	if (n > LOAD_AVG_PERIOD * 63)
		return 0;
	return mul_u64_u32_shr(val >> (n / LOAD_AVG_PERIOD), runnable_avg_yN_inv[n % LOAD_AVG_PERIOD], 32);
}

/**
 * accumulate_segments - what a time adds that lies in several periods
 *
 * @d1 units of the oldest, @periods - 1 whole ones, and @d3 of the current one.  The sum of
 * the whole ones is that of all periods without the latest and without those before.
 */
static inline __unused u32 accumulate_segments(u64 periods, u32 d1, u32 d3)
{
	u32 c1 = (u32)decay_load(d1, periods);
	u32 c2 = LOAD_AVG_MAX - (u32)decay_load(LOAD_AVG_MAX, periods) - 1024;

	return c1 + c2 + d3;
}

/** pelt_divider - what a sum can be at most, where @sa is in its period. */
static inline __unused u32 pelt_divider(avg_t *sa)
{
	return PELT_MIN_DIVIDER + sa->period_contrib;
}

/* @delta units have passed, with this weight, so many runnable and something running or not.  Has a period ended? */
static inline __unused u32 accumulate_sum(avg_t *sa, u64 delta, u64 load, u64 runnable, u32 running)
{
	u32 contrib = (u32)delta;
	u64 periods = (delta + sa->period_contrib) / 1024;

	delta += sa->period_contrib;
	if (periods) {
		sa->load_sum = decay_load(sa->load_sum, periods);
		sa->runnable_sum = decay_load(sa->runnable_sum, periods);
		sa->util_sum = (u32)decay_load(sa->util_sum, periods);
		delta %= 1024;
		if (load)
			contrib = accumulate_segments(periods, 1024 - sa->period_contrib, (u32)delta);
	}
	sa->period_contrib = (u32)delta;
	if (load)
		sa->load_sum += load * contrib;
	if (load && runnable)
		sa->runnable_sum += (runnable * contrib) << CAPACITY_SHIFT;
	if (load && running)
		sa->util_sum += contrib << CAPACITY_SHIFT;
	return periods != 0;
}

/*
 * ___update_load_sum(): until @now, on the clock that the sums are counted by.  Without @load nothing was
 * runnable.  Returns true if the averages may change.
 */
__apart u32 update_load_sum(avg_t *sa __in_arena, u64 now, u64 load, u64 runnable, u32 running)
{
	u64 delta = now - sa->last_update_time;

	if ((s64)delta < 0) {
		sa->last_update_time = now;
		return false;
	}
	delta >>= 10;
	if (!delta)
		return false;
	sa->last_update_time += delta << 10;
	return accumulate_sum(sa, delta, load, runnable, running);
}

/* ___update_load_avg(): the averages from the sums; @weight is 1 where load_sum is weighted already. */
static inline __unused void update_avg_from_sums(avg_t *sa, u64 weight)
{
	u32 divider = pelt_divider(sa);

	sa->load_avg = div_u64(weight * sa->load_sum, divider);
	sa->runnable_avg = div_u64(sa->runnable_sum, divider);
	sa->util_avg = sa->util_sum / divider;
}

/* ---- sums of averages: a queue's is the sum of its entities' ------------- */

/* @a - @b, but not below 0: rounding may have made the part more than the whole. */
static inline __unused u64 sub_positive(u64 a, u64 b)
{
	return a > b ? a - b : 0;
}

/* A sum that subtraction has made too small for its average. */
static inline __unused u64 at_least_average(u64 sum, u64 avg)
{
	return max_of(sum, avg * PELT_MIN_DIVIDER);
}

/* enqueue_load_avg() and dequeue_load_avg(): only the load, which depends on the weight. */
static inline __unused void add_load_avg(avg_t *sum, avg_t *part, u64 weight)
{
	sum->load_avg += part->load_avg;
	sum->load_sum += weight * part->load_sum;
}

static inline __unused void sub_load_avg(avg_t *sum, avg_t *part, u64 weight)
{
	sum->load_avg = sub_positive(sum->load_avg, part->load_avg);
	sum->load_sum = at_least_average(sub_positive(sum->load_sum, weight * part->load_sum), sum->load_avg);
}

static inline __unused void sub_util_avg(avg_t *sum, u64 util_avg, u64 util_sum)
{
	sum->util_avg = sub_positive(sum->util_avg, util_avg);
	sum->util_sum = (u32)at_least_average(sub_positive(sum->util_sum, util_sum), sum->util_avg);
}

static inline __unused void sub_runnable_avg(avg_t *sum, u64 runnable_avg, u64 runnable_sum)
{
	sum->runnable_avg = sub_positive(sum->runnable_avg, runnable_avg);
	sum->runnable_sum = at_least_average(sub_positive(sum->runnable_sum, runnable_sum), sum->runnable_avg);
}
#endif
