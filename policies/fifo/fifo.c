/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fifo - first in, first out: a task runs until it blocks or ends.
 *
 * Arpaci-Dusseau, Operating Systems: Three Easy Pieces, chapter 7.3 [OSTEP].
 * Short tasks that arrive behind a long one wait for all of it: the convoy effect.
 */
#include "policy.h"
#include "textbook/queue.h"

#define FIFO_TUNABLES(T)							\
	T(hz, 100, 10, 10000, "ticks per second; nothing happens at ticks [our choice]")
POLICY_TUNABLES(FIFO_TUNABLES)

struct fifo {
	struct textbook book;
	u64 arrivals;
};

struct fifo_task {
	struct textbook_task book;
	u64 arrival;		/* its number among all arrivals */
};

POLICY_STATE(struct fifo, NO_STATE, struct fifo_task)

static u64 number_of(sched_t *s, task_t *p)
{
	return ts_of(p)->arrival;
}

static u32 preemptive(sched_t *s)
{
	return false;
}

static void arrives(sched_t *s, task_t *p)
{
	ts_of(p)->arrival = ++glob_of(s)->arrivals;
}

static void fifo_enqueue(sched_t *s, task_t *p, u32 flags)
{
	if (!(flags & ENQ_MOVE))
		arrives(s, p);
	queue_enqueue(s, p, flags);
}

/* A task that yields goes to the back; one that was preempted, to the place it had. */
static task_t *fifo_pick_next(sched_t *s, u32 cpu, task_t *prev, u32 why)
{
	if (why == PREV_YIELDED)
		arrives(s, prev);
	return queue_pick_next(s, cpu, prev, why);
}

POLICY(fifo,
	.summary = "first in, first out: a task runs until it blocks (textbook)",
	TUNABLES,
	QUEUE_HOOKS,
	.promise = {
		.conserving = CONSERVING_QUEUE,
		.nice = NICE_IGNORED,
	},
	.enqueue = fifo_enqueue,
	.dequeue = queue_dequeue,
	.pick_next = fifo_pick_next,
);
