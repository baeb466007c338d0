/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sjf - shortest job first: the task with the least work left runs next.
 *
 * No order of jobs that arrive together has a shorter mean turnaround time.  Its variant
 * stcf, shortest time to completion first, preempts when a shorter job arrives, which
 * makes that true for jobs that arrive at any time.  Both know the future: real
 * schedulers can only guess how much work is left.
 *
 * Arpaci-Dusseau, Operating Systems: Three Easy Pieces, chapters 7.4 and 7.5 [OSTEP].
 * A job is what a task computes until it sleeps or ends.
 */
#include "policy.h"
#include "textbook/queue.h"

#define SJF_TUNABLES(T)								\
	T(hz, 100, 10, 10000, "ticks per second; nothing happens at ticks [our choice]")	\
	T(preemptive, 0, 0, 1, "1: a task with less work left preempts the one that runs [OSTEP 7.5]")
POLICY_TUNABLES(SJF_TUNABLES)

POLICY_STATE(struct textbook, NO_STATE, struct textbook_task)

static u64 number_of(sched_t *s, task_t *p)
{
	return work_left_ns(s, p);
}

static u32 preemptive(sched_t *s)
{
	return (u32)tun(s)->preemptive;
}

static const struct variant sjf_variants[] = {
	{ "nonpreemptive", "shortest job first: a job that runs is not interrupted", "" },
	{ "stcf", "shortest time to completion first: sjf with preemption", "preemptive=1" },
};

POLICY(sjf,
	.summary = "shortest job first, and stcf with preemption: both know the future (textbook)",
	TUNABLES,
	VARIANTS(sjf_variants),
	QUEUE_HOOKS,
	.knows_future = true,
	.promise = {
		.conserving = CONSERVING_QUEUE,
		.nice = NICE_IGNORED,
	},
	.enqueue = queue_enqueue,
	.dequeue = queue_dequeue,
	.pick_next = queue_pick_next,
);
