/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * NAME - first in, first out, with one run queue for each CPU and a time slice.
 *
 * Written by "schedlab new".  It is complete: it runs, passes every check and
 * explains each hook it uses.  Change one thing at a time and run
 *
 *	schedlab run --policy NAME.c --workload late
 *
 * after each; the checks report at once if a task is lost.
 * policy.h, included below, describes all hooks, also those not used here.
 */
#include "policy.h"

/* Every constant a user might want to vary is a tunable, with its reason. */
#define FIFO_TUNABLES(T)								\
	T(hz, 1000, 10, 10000, "ticks per second [our choice]")				\
	T(slice_ms, 10, 1, 10000, "time a task runs before the next one's turn, in ms [our choice]")
POLICY_TUNABLES(FIFO_TUNABLES)

struct fifo_rq {		/* one for each CPU */
	struct list queue;	/* waiting tasks; the running one is not in it */
	u32 nr_waiting;
};

struct fifo_task {		/* one for each task */
	struct list node;	/* in fifo_rq.queue while it waits */
	u64 slice_end_ns;
};

POLICY_STATE(NO_STATE, struct fifo_rq, struct fifo_task)

static s32 fifo_init(sched_t *s)
{
	u32 cpu;

	for_each_cpu(s, cpu)
		list_init(&rq_of(s, cpu)->queue);
	return 0;
}

static void fifo_add(sched_t *s, task_t *p)
{
	rq_t *rq = rq_of(s, p->cpu);

	list_add_tail(&ts_of(p)->node, &rq->queue);
	rq->nr_waiting++;
}

static void fifo_remove(sched_t *s, task_t *p)
{
	list_del(&ts_of(p)->node);
	rq_of(s, p->cpu)->nr_waiting--;
}

/* A woken or new task goes to the allowed CPU with the shortest queue, its last one if equal. */
static u32 fifo_select_cpu(sched_t *s, task_t *p, u32 flags)
{
	u32 cpu, best = p->cpu, best_load = ~0u;

	for_each_cpu(s, cpu) {
		u32 load = rq_of(s, cpu)->nr_waiting + (cpu_curr(s, cpu) != NULL);

		if (!cpu_allowed(p, cpu))
			continue;
		if (load < best_load || (load == best_load && cpu == p->cpu)) {
			best = cpu;
			best_load = load;
		}
	}
	return best;
}

/* It became runnable: queue it, and reschedule its CPU if the CPU idles. */
static void fifo_enqueue(sched_t *s, task_t *p, u32 flags)
{
	fifo_add(s, p);
	if (!cpu_curr(s, p->cpu))
		resched_cpu(s, p->cpu);
}

/* It sleeps or exits.  If it was running it is in no queue. */
static void fifo_dequeue(sched_t *s, task_t *p, u32 flags)
{
	if (list_linked(&ts_of(p)->node))
		fifo_remove(s, p);
}

/* The next task.  A task that ran and is still runnable goes to the back first. */
static task_t *fifo_pick_next(sched_t *s, u32 cpu, task_t *prev, u32 why)
{
	rq_t *rq = rq_of(s, cpu);
	task_t *next;

	if (why == PREV_YIELDED || why == PREV_PREEMPTED)
		fifo_add(s, prev);
	if (list_empty(&rq->queue))
		return NULL;
	next = task_of(list_entry(rq->queue.next, ts_t, node));
	fifo_remove(s, next);
	examined(s, 1);
	ts_of(next)->slice_end_ns = s->now + (u64)tun(s)->slice_ms * NSEC_PER_MSEC;
	return next;
}

/* The tick ends a slice if another task waits. */
static void fifo_tick(sched_t *s, u32 cpu, task_t *p)
{
	if (rq_of(s, cpu)->nr_waiting && s->now >= ts_of(p)->slice_end_ns)
		resched_cpu(s, cpu);
}

/* For the checks: can pick_next() still find this waiting task? */
static u32 fifo_queued(sched_t *s, task_t *p)
{
	return list_linked(&ts_of(p)->node);
}

POLICY(NAME,
	.summary = "first in, first out, one queue per CPU (a template)",
	TUNABLES,
	.lock = LOCK_PER_CPU,
	.promise = {
		.conserving = CONSERVING_QUEUE,
		.nice = NICE_IGNORED,
		.starvation_bound_ns = NSEC_PER_SEC,	/* 31 slices that end at a tick, and the kernel's overhead */
		.bound_tunables = "hz slice_ms",
	},
	.init = fifo_init,
	.select_cpu = fifo_select_cpu,
	.enqueue = fifo_enqueue,
	.dequeue = fifo_dequeue,
	.pick_next = fifo_pick_next,
	.tick = fifo_tick,
	.queued = fifo_queued,
);
