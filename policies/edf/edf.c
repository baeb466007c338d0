/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * edf - earliest deadline first, and rate-monotonic priorities.
 *
 * A periodic task has a period and a relative deadline, by default the period.  Each
 * wakeup releases a job, which is due at the time of the wakeup plus the relative deadline.
 * edf runs the job that is due first.  Its variant rm gives each task a fixed
 * priority: the shorter the period, the higher.
 *
 * On one CPU edf meets all deadlines if the utilisations, runtime over period, add up
 * to at most 1.  rm does so surely up to n (2^(1/n) - 1) for n tasks: 0.83 for two, 0.69
 * for many.
 *
 * C. L. Liu and J. W. Layland, "Scheduling Algorithms for Multiprogramming in a Hard-
 * Real-Time Environment", Journal of the ACM 20(1), 1973 [LL73].
 *
 * FIDELITY: the paper has one CPU.  On several, one queue serves all (global EDF), for
 * which these bounds do not hold.
 * FIDELITY: the kernel's SCHED_DEADLINE holds each task to its runtime (a constant
 * bandwidth server) and refuses tasks that do not fit; here, as in the paper, neither.
 */
#include "policy.h"
#include "textbook/queue.h"

#define EDF_TUNABLES(T)								\
	T(hz, 100, 10, 10000, "ticks per second; nothing happens at ticks [our choice]")	\
	T(fixed, 0, 0, 1, "0: the earliest deadline first, 1: fixed priorities, the shortest period first [LL73, sections 4 and 7]")
POLICY_TUNABLES(EDF_TUNABLES)

struct edf_task {
	struct textbook_task book;
	u64 due;		/* the absolute deadline of its job */
};

POLICY_STATE(struct textbook, NO_STATE, struct edf_task)

#define NO_DEADLINE	((1ull << 56) - 1)

/* Tasks without a period come after all others, in the order of their arrival. */
static u64 number_of(sched_t *s, task_t *p)
{
	if (!p->period_ns)
		return NO_DEADLINE;
	return tun(s)->fixed ? p->period_ns : ts_of(p)->due;
}

static u32 preemptive(sched_t *s)
{
	return true;
}

static void edf_enqueue(sched_t *s, task_t *p, u32 flags)
{
	if (!(flags & ENQ_MOVE))
		ts_of(p)->due = s->now + (p->deadline_ns ? p->deadline_ns : p->period_ns);
	queue_enqueue(s, p, flags);
}

static const struct variant edf_variants[] = {
	{ "dynamic", "earliest deadline first: priorities change from job to job", "" },
	{ "rm", "rate-monotonic: fixed priorities, the shortest period first", "fixed=1" },
};

POLICY(edf,
	.summary = "earliest deadline first, and rate-monotonic priorities, for periodic tasks (textbook)",
	TUNABLES,
	VARIANTS(edf_variants),
	QUEUE_HOOKS,
	.promise = {
		.conserving = CONSERVING_QUEUE,
		.nice = NICE_IGNORED,
	},
	.enqueue = edf_enqueue,
	.dequeue = queue_dequeue,
	.pick_next = queue_pick_next,
);
