/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * affinity24 - Molnar's cache affinity patch for Linux 2.4 (8 November 2001, against 2.4.15-pre1).
 *
 * Stock 2.4 subtracts each tick from the counter of the running task, and the
 * counter is part of its goodness.  So after one tick a CPU hog has a smaller
 * goodness than equal hogs, and the next schedule(), for whatever reason, gives
 * the CPU to another one: with a light task beside them, hogs alternate at every
 * tick and find the cache full of each other's data.  The patch does not change
 * the counter and counts ticks separately, in timer_ticks.  So a hog's goodness is
 * constant until its whole slice is used up, and then 0.
 *
 * The rest is linux24.c, which is included completely.  The four functions here
 * are all that the patch changes.
 *
 * FIDELITY: its lines for the out-of-memory killer and the slip driver are omitted,
 * as are these; both only set timer_ticks to 0 together with counter.
 */
#define LINUX24_AS_A_PART

#define PART_TUNABLES(T)									\
	T(timer_ticks, 1, 0, 1,									\
	  "1: ticks are counted beside the slice [the patch], 0: they are taken from it [stock; "	\
	  "the kernel that Molnar measured could change between the two as it ran]")

#define PART_TASK_STATE										\
	s32 timer_ticks;	/* ticks of its slice that it has used */

#include "linux24/linux24.c"

static u32 patched(sched_t *s)
{
	return tun(s)->timer_ticks != 0;
}

/*
 * The counter drops from its full value to 0 in one step.  A task that
 * runs with a counter of 0, as SCHED_FIFO tasks do from then on, expires at every tick.
 */
static void affinity24_tick(sched_t *s, u32 cpu, task_t *p)
{
	ts_t *t = ts_of(p);

	if (!patched(s)) {
		goodness_tick(s, cpu, p);
		return;
	}
	if (++t->timer_ticks < t->common.counter)
		return;
	t->common.counter = 0;
	t->timer_ticks = 0;
	resched_cpu(s, cpu);
}

/*
 * The ticks used are shared as the slice is, each rounded by itself; so what is
 * left for the two can be a tick more than the parent had.
 */
static void affinity24_fork(sched_t *s, task_t *parent, task_t *child)
{
	goodness_fork(s, parent, child);
	if (!parent || !patched(s))
		return;
	ts_of(child)->timer_ticks = (ts_of(parent)->timer_ticks + 1) >> 1;
	ts_of(parent)->timer_ticks >>= 1;
	if (!linux_task(parent)->counter)
		ts_of(parent)->timer_ticks = 0;
}

/* Ticks used come back along with the slice; only where the slice is capped can they be all of it. */
static void affinity24_exit(sched_t *s, task_t *p, task_t *reaper)
{
	ts_t *t;
	s32 cap;

	goodness_exit(s, p, reaper);
	if (!reaper || !patched(s))
		return;
	t = ts_of(reaper);
	t->timer_ticks += ts_of(p)->timer_ticks;
	cap = reap_cap(s, reaper);
	if (t->common.counter < cap || t->timer_ticks < cap)
		return;
	t->common.counter = 0;
	t->timer_ticks = 0;
	resched_cpu(s, reaper->cpu);
}

/* An exhausted SCHED_RR task gets a slice of which nothing is used. */
static task_t *affinity24_pick_next(sched_t *s, u32 cpu, task_t *prev, u32 why)
{
	if (prev && prev->class == CLASS_RR && !linux_task(prev)->counter)
		ts_of(prev)->timer_ticks = 0;
	return linux24_pick_next(s, cpu, prev, why);
}

/* 2.4.15-pre1 was 2.4.16 but for the older code of schedule(), which judged the previous task first. */
#define LINUX_2_4_15_PRE1	LINUX_2_4 "sync_checks_allowed=1 prev_first=1"

static const struct variant affinity24_variants[] = {
	{ "2.4.15-pre1", "the patch on the kernel it was made for", LINUX_2_4_15_PRE1 },
	{ "2.4.16", "the patch on what linux24 is by default", LINUX_2_4_16 },
	{ "stock", "that kernel without the patch: what the mail compares with",
	  LINUX_2_4_15_PRE1 " timer_ticks=0" },
};

POLICY(affinity24,
	.summary = "Linux 2.4 with Molnar's timer_ticks patch: a hog keeps the CPU for its whole slice",
	TUNABLES,
	VARIANTS(affinity24_variants),
	.lock = LOCK_GLOBAL,
	.promise = {
		.conserving = CONSERVING_QUEUE,
		.nice = NICE_ORDERED,	/* as linux24 */
		/* No bound, as linux24. */
	},
	.init = linux24_init,
	.fork = affinity24_fork,
	.exit = affinity24_exit,
	.enqueue = linux24_enqueue,
	.dequeue = linux24_dequeue,
	.pick_next = affinity24_pick_next,
	.switched = linux24_switched,
	.tick = affinity24_tick,
	.yield = linux24_yield,
	.set_class = linux24_set_class,
	.priority = goodness_priority,
	.queued = linux24_queued,
);
