/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * rr - round robin: fifo with a time slice, after which a task goes to the back.
 *
 * Arpaci-Dusseau, Operating Systems: Three Easy Pieces, chapter 7.7 [OSTEP].  The
 * shorter the slice, the sooner every task answers, and the more switches there are.
 */
#include "policy.h"
#include "textbook/queue.h"

#define RR_TUNABLES(T)								\
	T(hz, 1000, 10, 10000, "ticks per second; a slice ends at a tick [our choice]")	\
	T(slice_ms, 10, 1, 10000, "time slice, in ms [OSTEP 7.7: switches that cost 1 ms are 10 % of it]")
POLICY_TUNABLES(RR_TUNABLES)

struct rr {
	struct textbook book;
	u64 arrivals;
};

struct rr_task {
	struct textbook_task book;
	u64 arrival;		/* its number among all arrivals at the back */
	u64 runs_since;
	u64 slice_used_ns;	/* before that */
};

POLICY_STATE(struct rr, NO_STATE, struct rr_task)

static u64 number_of(sched_t *s, task_t *p)
{
	return ts_of(p)->arrival;
}

static u32 preemptive(sched_t *s)
{
	return false;
}

static u64 slice_used_ns(sched_t *s, task_t *p)
{
	return ts_of(p)->slice_used_ns + s->now - ts_of(p)->runs_since;
}

static u32 slice_over(sched_t *s, task_t *p)
{
	return slice_used_ns(s, p) >= (u64)tun(s)->slice_ms * NSEC_PER_MSEC;
}

/* It goes to the back, with a new slice. */
static void arrives(sched_t *s, task_t *p)
{
	ts_of(p)->arrival = ++glob_of(s)->arrivals;
	ts_of(p)->slice_used_ns = 0;
}

static void rr_enqueue(sched_t *s, task_t *p, u32 flags)
{
	if (!(flags & ENQ_MOVE))
		arrives(s, p);
	queue_enqueue(s, p, flags);
}

/* A task that is preempted within its slice keeps its place and the rest. */
static task_t *rr_pick_next(sched_t *s, u32 cpu, task_t *prev, u32 why)
{
	task_t *next;

	if (why == PREV_YIELDED || (why == PREV_PREEMPTED && slice_over(s, prev)))
		arrives(s, prev);
	else if (why == PREV_PREEMPTED)
		ts_of(prev)->slice_used_ns = slice_used_ns(s, prev);
	next = queue_pick_next(s, cpu, prev, why);
	if (next)
		ts_of(next)->runs_since = s->now;
	return next;
}

/* SCHED_FIFO has no slices. */
static void rr_tick(sched_t *s, u32 cpu, task_t *p)
{
	if (p->class != CLASS_FIFO && slice_over(s, p))
		resched_cpu(s, cpu);
}

POLICY(rr,
	.summary = "round robin: first in, first out with a time slice (textbook)",
	TUNABLES,
	QUEUE_HOOKS,
	.promise = {
		.conserving = CONSERVING_QUEUE,
		.nice = NICE_IGNORED,
		.starvation_bound_ns = NSEC_PER_SEC,	/* 31 slices that end at a tick, and the kernel's overhead */
		.bound_tunables = "hz slice_ms",
	},
	.enqueue = rr_enqueue,
	.dequeue = queue_dequeue,
	.pick_next = rr_pick_next,
	.tick = rr_tick,
);
