/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * queue.h - one queue for all CPUs, ordered by a number: the frame of the textbook's schedulers.
 *
 * They differ in the number alone: the order of arrival, the work that is left, a
 * pass, a deadline.  The waiting task with the least number runs next, and of
 * equals the one that was queued first.
 *
 * A scheduler includes this file right after policy.h.  The state of its machine begins
 * with struct textbook, that of a task with struct textbook_task.  It defines
 *
 *	static u64 number_of(sched_t *s, task_t *p);
 *		the number of @p, waiting or running; below 2^56
 *	static u32 preemptive(sched_t *s);
 *		does a task with a lesser number preempt one that runs?
 *
 * FIDELITY: the textbooks have one CPU, and no classes.  Here a task that becomes
 * runnable goes to a CPU that idles, its last one first; else, if the scheduler is
 * preemptive, to the CPU that runs the greatest number.  Real-time tasks come before
 * all others by their priority and always preempt them; SCHED_IDLE comes last and is
 * always preempted.
 */
#ifndef SCHEDLAB_TEXTBOOK_QUEUE_H
#define SCHEDLAB_TEXTBOOK_QUEUE_H

#include "tree.h"

struct textbook {
	struct tree queue;	/* of waiting tasks */
};

struct textbook_task {
	struct tree_node node;	/* in it, while the task waits */
};

static u64 number_of(sched_t *s, task_t *p);
static u32 preemptive(sched_t *s);

static tree_t *queue_of(sched_t *s)
{
	return &((struct textbook __arena *)global_state_of(s))->queue;
}

static tree_node_t *node_of(task_t *p)
{
	return &((struct textbook_task __arena *)(p + 1))->node;
}

#define NUMBER_BITS	56
#define RANK_NORMAL	100
#define RANK_IDLE	101

/* Real-time priorities 99 to 1 are ranks 0 to 98. */
static u64 rank_of(task_t *p)
{
	if (task_is_rt(p))
		return 99 - min_of(p->rt_priority, 99u);
	return p->class == CLASS_IDLE ? RANK_IDLE : RANK_NORMAL;
}

static u64 key_of(sched_t *s, task_t *p)
{
	u64 number = number_of(s, p), most = (1ull << NUMBER_BITS) - 1;

	return rank_of(p) << NUMBER_BITS | min_of(number, most);
}

static u32 waits(task_t *p)
{
	return tree_linked(node_of(p));
}

static void queue_add(sched_t *s, task_t *p)
{
	node_of(p)->key = key_of(s, p);
	tree_insert(s, queue_of(s), node_of(p));
}

static void queue_del(sched_t *s, task_t *p)
{
	tree_remove(s, queue_of(s), node_of(p));
}

/* The first task that may run on @cpu. */
static task_t *queue_first(sched_t *s, u32 cpu)
{
	tree_node_t *node = queue_of(s)->first;

	repeat_while(s, node) {
		task_t *p = (task_t *)node - 1;

		examined(s, 1);
		if (cpu_allowed(p, cpu))
			return p;
		node = tree_next(s, node);
	}
	return NULL;
}

/* ---- preemption ------------------------------------------------------------ */

/* How late what @cpu runs comes.  0: it reschedules anyway. */
static u64 lateness(sched_t *s, u32 cpu)
{
	task_t *curr = cpu_curr(s, cpu);

	if (cpu_of(s, cpu)->need_resched)
		return 0;
	return curr ? key_of(s, curr) : ~0ull;
}

/* @p waits: the CPU that runs what comes last shall choose again, @p's last CPU of equals. */
static void preempt_for(sched_t *s, task_t *p)
{
	u32 cpu, victim = p->cpu, shift = preemptive(s) ? 0 : NUMBER_BITS;
	u64 latest = cpu_allowed(p, victim) ? lateness(s, victim) : 0;

	for_each_cpu(s, cpu) {
		u64 late = lateness(s, cpu);

		if (!cpu_allowed(p, cpu) || late <= latest)
			continue;
		victim = cpu;
		latest = late;
	}
	if (latest >> shift > key_of(s, p) >> shift)
		resched_cpu(s, victim);
}

/* ---- hooks ----------------------------------------------------------------- */

static void queue_enqueue(sched_t *s, task_t *p, u32 flags)
{
	queue_add(s, p);
	preempt_for(s, p);
}

/* A task that runs is not in the queue. */
static void queue_dequeue(sched_t *s, task_t *p, u32 flags)
{
	if (waits(p))
		queue_del(s, p);
}

static task_t *queue_pick_next(sched_t *s, u32 cpu, task_t *prev, u32 why)
{
	task_t *next;

	if (why == PREV_YIELDED || why == PREV_PREEMPTED)
		queue_add(s, prev);
	next = queue_first(s, cpu);
	if (next)
		queue_del(s, next);
	return next;
}

/* What was preempted may come before what another CPU runs. */
static void queue_switched(sched_t *s, u32 cpu, task_t *prev, task_t *next)
{
	if (prev && waits(prev))
		preempt_for(s, prev);
}

/* Its number or its rank has changed. */
static void queue_changed(sched_t *s, task_t *p)
{
	if (waits(p)) {
		queue_del(s, p);
		queue_add(s, p);
		preempt_for(s, p);
	} else if (p->on_cpu) {
		resched_cpu(s, p->cpu);
	}
}

static void queue_set_class(sched_t *s, task_t *p, u32 old_class, u32 old_rt_priority)
{
	queue_changed(s, p);
}

/* More CPUs than before may come and take it. */
static void queue_set_cpumask(sched_t *s, task_t *p)
{
	if (waits(p))
		preempt_for(s, p);
}

static u32 queue_queued(sched_t *s, task_t *p)
{
	return waits(p);
}

/* The hooks that are the same in all; enqueue(), dequeue() and pick_next() may differ. */
#define QUEUE_HOOKS								\
	.lock = LOCK_GLOBAL,							\
	.switched = queue_switched,						\
	.set_class = queue_set_class,						\
	.set_cpumask = queue_set_cpumask,					\
	.queued = queue_queued

#endif
