/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * class.h - the hooks of CFS and EEVDF, and the real-time class above them.
 *
 * What kernel/sched/core.c and rt.c do between an event and the fair class: which
 * class a task is in, when a wakeup preempts across classes, what becomes of
 * the running task.  What kernel/sched/fair.c decides among the tasks of one run
 * queue is the policy's.  Include this after POLICY_STATE(); the policy then
 * defines the functions declared just below, and uses the hooks fair_*() in POLICY().
 *
 * What the kernel calls task_struct * is a ts_t * here, and sched_entity * an entity_t *.
 *
 * FIDELITY: no SCHED_DEADLINE.
 * FIDELITY: before 6.12 the real-time class is not throttled (at 95 % by default in a kernel), and in all variants
 *	its waiting tasks are pulled by CPUs that would idle, and placed at wakeup;
 *	they are not pushed away when a better one comes.  It has no groups.
 */
#ifndef SCHEDLAB_FAIR_CLASS_H
#define SCHEDLAB_FAIR_CLASS_H

#include "domains.h"

/* ---- what the policy defines -------------------------------------------- */

/*
 * Flags are the flags of enqueue() and dequeue(), those of dequeue_entity() also the two
 * below; 0: its nice value is being changed, and it is queued again at once.
 */
enum dequeue_entity_flags {
	DEQ_SPECIAL	= 1 << 16,	/* it may not stay: it changes its class or group */
	DEQ_DELAYED	= 1 << 17,	/* it has stayed, and leaves */
};

/* Charge the running entity of the queue, if any, with its time until now. */
static void update_curr(sched_t *s, cfs_rq_t *cfs_rq);
/* Place @se, count it (account_entity_enqueue()) and link it into the tree. */
static void enqueue_entity(sched_t *s, cfs_rq_t *cfs_rq, entity_t *se, u32 flags);
/* The reverse.  A running @se is no longer curr after it.  False: @se sleeps, but stays queued (it is delayed). */
static u32 dequeue_entity(sched_t *s, cfs_rq_t *cfs_rq, entity_t *se, u32 flags);
/* The entity that should run; curr is a candidate.  NULL is an error.  Changes nothing. */
static entity_t *pick_entity(sched_t *s, cfs_rq_t *cfs_rq);
/* @se, which is in the tree, is curr from now on; and the reverse. */
static void set_next_entity(sched_t *s, cfs_rq_t *cfs_rq, entity_t *se);
static void put_prev_entity(sched_t *s, cfs_rq_t *cfs_rq, entity_t *se);
/* @p has just been queued beside the running task @curr: does it preempt? */
static u32 wakeup_preempts(sched_t *s, rq_t *rq, ts_t *curr, ts_t *p, u32 flags);
static void entity_tick(sched_t *s, cfs_rq_t *cfs_rq, entity_t *curr);
static void yield_entity(sched_t *s, rq_t *rq, ts_t *curr);
/* @child comes into being; @parent runs, or is NULL. */
static void fork_entity(sched_t *s, task_t *parent, ts_t *child);
/* The group entity @se comes into being. */
static void init_entity(sched_t *s, entity_t *se);
/* The weight of @se, which is not queued, was @old_weight until now. */
static void rescale_entity(entity_t *se, u32 old_weight);
/* @se, queued or not, weighs @weight from now on. */
static void reweight_entity(sched_t *s, cfs_rq_t *cfs_rq, entity_t *se, u32 weight);
/* How many sleepers that are still queued do not count when a waker is about to sleep. */
static u32 nr_asleep_in_sync(sched_t *s, rq_t *rq);
/* A task of the group @se has gone to sleep, and others are left. */
static void prefer_entity(sched_t *s, entity_t *se);
/* @p, which is not queued any more, leaves the fair class, or its group. */
static void switched_from_fair(sched_t *s, ts_t *p);
/* Is @se asleep but still queued?  And: it wakes up. */
static u32 entity_delayed(entity_t *se);
static void requeue_delayed(sched_t *s, cfs_rq_t *cfs_rq, entity_t *se);
/* The slices of the group @se follow from those of what is queued in it. */
static void update_group_slice(sched_t *s, entity_t *se);
/* A task of the fair class should run on @cpu soon, in place of another one of it. */
static void resched_fair(sched_t *s, u32 cpu);
/* Another task runs, or another number of tasks waits. */
static void running_changed(sched_t *s, rq_t *rq);

/* ---- both classes ------------------------------------------------------- */

static inline __unused entity_t *entity_of_task(task_t *p)
{
	return &ts_of(p)->se;
}

/*
 * The entity of the group that @se is in, the queue of the group that @se stands for,
 * and the group of a queue.  No kernel has groups so far: see task_group().
 */
static inline __unused entity_t *parent_entity(entity_t *se)
{
#ifdef __BPF__
	return NULL;
#else
	return se->parent;
#endif
}

static inline __unused cfs_rq_t *group_queue(entity_t *se)
{
#ifdef __BPF__
	return NULL;
#else
	return se->my_q;
#endif
}

static inline __unused group_t *queue_group(cfs_rq_t *cfs_rq)
{
#ifdef __BPF__
	return NULL;
#else
	return cfs_rq->tg;
#endif
}

static inline __unused u32 entity_is_idle(entity_t *se)
{
	return group_queue(se) ? group_queue(se)->idle : se->weight == WEIGHT_IDLEPRIO;
}

static inline __unused u32 rq_nr_running(rq_t *rq)
{
	return rq->cfs.root.h_nr_running + rq->cfs.rt.nr;
}

static inline __unused u32 idle_cpu(sched_t *s, u32 cpu)
{
	return !cpu_curr(s, cpu) && !rq_nr_running(rq_of(s, cpu));
}

/* 1 + log2(CPUs): more CPUs, longer slices, as each of them has less to serve. */
static inline __unused u64 update_sysctl_factor(sched_t *s)
{
	u32 cpus = min_of(s->nr_cpus, (u32)tun(s)->scaling_cpus_max), log = 0;

	repeat_while(s, cpus >> (log + 1))
		log++;
	return tun(s)->tunable_scaling ? 1 + log : 1;
}

/* A sysctl given in us for one CPU, in ns for this machine. */
static inline __unused u64 scaled_ns(sched_t *s, s64 us)
{
	return (u64)us * NSEC_PER_USEC * update_sysctl_factor(s);
}

static inline __unused void set_weight(entity_t *se, u32 weight)
{
	se->weight = weight;
	se->inv_weight = inverse_weight(weight);
}

/* @delta ns of @se's time in virtual time. */
static inline __unused u64 calc_delta_fair(u64 delta, entity_t *se)
{
	if (se->weight == NICE_0_LOAD)
		return delta;
	return calc_delta(delta, NICE_0_LOAD, se->inv_weight);
}

/* What runs now has run since exec_start; returns for how long. */
static inline __unused u64 update_exec_time(sched_t *s, entity_t *curr)
{
	u64 delta_exec = s->now - curr->exec_start;

	/* Another CPU has read a later clock. */
	if ((s64)delta_exec <= 0)
		return 0;
	curr->exec_start = s->now;
	curr->sum_exec_runtime += delta_exec;
	return delta_exec;
}

#include "averages.h"
#include "server.h"

static inline __unused void set_load_weight(ts_t *p)
{
	change_weight(&p->se, task_weight(task_of(p)));
}

#include "groups.h"

/* ---- the real-time class ------------------------------------------------ */

#define MAX_RT_PRIO	100

/* Lists are numbered by the kernel's prio: 98 for rt_priority 1, 0 for 99. */
static inline __unused void enqueue_task_rt(rq_t *rq, ts_t *p, u32 head)
{
	p->se.rt_list = MAX_RT_PRIO - 1 - min_of(task_of(p)->rt_priority, MAX_RT_PRIO - 1);
	if (head)
		prio_array_add(&rq->cfs.rt, &p->se.link, p->se.rt_list);
	else
		prio_array_add_tail(&rq->cfs.rt, &p->se.link, p->se.rt_list);
	p->se.on_rq = 1;
}

static inline __unused void dequeue_task_rt(rq_t *rq, ts_t *p)
{
	prio_array_del(&rq->cfs.rt, &p->se.link, p->se.rt_list);
	p->se.on_rq = 0;
}

static inline __unused ts_t *pick_task_rt(rq_t *rq)
{
	u32 first = prio_array_first(&rq->cfs.rt);

	return list_entry(rq->cfs.rt.queue[first].next, ts_t, se.link);
}

static inline __unused u32 rr_timeslice(sched_t *s)
{
	return (u32)max_of(tun(s)->rr_timeslice_ms * tun(s)->hz / 1000, 1);
}

/* SCHED_RR: at the end of its slice a task goes behind its equals. */
static inline __unused void task_tick_rt(sched_t *s, rq_t *rq, ts_t *p)
{
	list_t *queue = &rq->cfs.rt.queue[p->se.rt_list];

	if (task_of(p)->class != CLASS_RR || --p->se.rt_time_slice)
		return;
	p->se.rt_time_slice = rr_timeslice(s);
	if (queue->next == queue->prev)
		return;
	list_del(&p->se.link);
	list_add_tail(&p->se.link, queue);
	resched_cpu(s, rq->cfs.cpu);
}

/* ---- preemption --------------------------------------------------------- */

/* @p may take the CPU from @curr, if it has one: not as one fair task from another. */
static inline __unused u32 preempts_across_classes(task_t *curr, ts_t *p)
{
	if (!curr)
		return true;
	if (task_is_rt(task_of(p)))
		return !task_is_rt(curr) || p->se.rt_list < ts_of(curr)->se.rt_list;
	return !task_is_rt(curr) && curr != task_of(p) && !entity_runs(entity_of_task(curr));
}

static inline __unused u32 both_fair(task_t *curr, ts_t *p)
{
	return curr && curr != task_of(p) && !task_is_rt(task_of(p)) && !task_is_rt(curr) &&
	       entity_runs(entity_of_task(curr));
}

/* wakeup_preempt(), once check_preempt_curr(): @p has come to this run queue. */
static inline __unused void check_preempt(sched_t *s, rq_t *rq, ts_t *p, u32 flags)
{
	task_t *curr = cpu_curr(s, rq->cfs.cpu);

	if (both_fair(curr, p)) {
		if (!wakeup_preempts(s, rq, ts_of(curr), p, flags))
			return;
		count(s, COUNTER_wakeup_preemptions, 1);
		resched_fair(s, rq->cfs.cpu);
	} else if (preempts_across_classes(curr, p)) {
		if (curr)
			count(s, COUNTER_wakeup_preemptions, 1);
		resched_cpu(s, rq->cfs.cpu);
	}
}

/* Its CPU idled until now: how long does it on average? */
static inline __unused void update_avg_idle(sched_t *s, rq_t *rq)
{
	u64 limit = (u64)tun(s)->migration_cost_us * NSEC_PER_USEC * 2;
	u64 idle = s->now - rq->cfs.idle_stamp;

	if (!rq->cfs.idle_stamp)
		return;
	rq->cfs.avg_idle += (u64)((s64)(idle - rq->cfs.avg_idle) >> 3);
	rq->cfs.avg_idle = min_of(rq->cfs.avg_idle, limit);
	rq->cfs.idle_stamp = 0;
}

/* Idle, or as good as: running nothing but SCHED_IDLE tasks. */
static inline __unused u32 wakes_at_once(sched_t *s, u32 cpu)
{
	rq_t *rq = rq_of(s, cpu);

	if (idle_cpu(s, cpu))
		return true;
	return tun(s)->idle_policy_is_idle && rq->cfs.root.h_nr_running && !rq->cfs.rt.nr &&
	       rq->cfs.root.h_nr_running == rq->cfs.root.idle_h_nr_running;
}

#include "capacity.h"
#include "balance.h"
#include "placement.h"
#include "check.h"

/* ---- hooks: queueing ---------------------------------------------------- */

static inline __unused void fair_fork(sched_t *s, task_t *parent, task_t *child)
{
	ts_t *p = ts_of(child);

	set_load_weight(p);
	init_task_average(p);
	p->se.rt_time_slice = rr_timeslice(s);
	p->se.recent_used_cpu = child->cpu;
	fork_entity(s, parent, p);
}

static inline __unused void fair_enqueue(sched_t *s, task_t *task, u32 flags)
{
	rq_t *rq = rq_of(s, task->cpu);
	ts_t *p = ts_of(task);

	update_avg_idle(s, rq);
	if (task_is_rt(task))
		enqueue_task_rt(rq, p, false);
	else
		enqueue_task_fair(s, rq, p, flags);
	check_preempt(s, rq, p, flags);
}

static inline __unused void fair_dequeue(sched_t *s, task_t *task, u32 flags)
{
	rq_t *rq = rq_of(s, task->cpu);

	if (!ts_of(task)->se.on_rq)
		policy_error(s, "dequeue() of a task that is not queued", task);
	else if (task_is_rt(task))
		dequeue_task_rt(rq, ts_of(task));
	else
		dequeue_task_fair(s, ts_of(task), flags);
	if (flags & DEQ_EXIT)
		remove_entity_load_avg(s, &ts_of(task)->se);
}

/* ---- hooks: schedule() -------------------------------------------------- */

static inline __unused ts_t *pick_task(sched_t *s, rq_t *rq)
{
	examined(s, 1);
	if (rq->cfs.rt.nr && server_serves(s, rq)) {
		ts_t *p = pick_task_fair(s, rq);

		if (p)
			return p;
	}
	if (rq->cfs.rt.nr)
		return pick_task_rt(rq);
	return pick_task_fair(s, rq);
}

/* The task that runs on is neither put back nor set anew: its slice goes on. */
static inline __unused void put_prev_set_next(sched_t *s, rq_t *rq, entity_t *pse, ts_t *next)
{
	if (next && entity_runs(&next->se)) {
		set_next_up(s, parent_entity(&next->se));
		return;
	}
	if (!next || task_is_rt(task_of(next))) {
		put_prev_up(s, pse);
		return;
	}
	list_del(&next->se.link);
	list_add(&next->se.link, &rq->cfs.cfs_tasks);
	put_prev_set_next_entity(s, pse, &next->se);
	running_changed(s, rq);
}

static inline __unused task_t *fair_pick_next(sched_t *s, u32 cpu, task_t *prev, u32 why)
{
	rq_t *rq = rq_of(s, cpu);
	entity_t *pse = prev && entity_runs(entity_of_task(prev)) ? entity_of_task(prev) : running_entity(s, rq);
	ts_t *next;

	rq->cfs.picking = true;
	update_curr(s, &rq->cfs.root);
	update_rt_avg(s, rq, prev && task_is_rt(prev));
	if (rq->cfs.active_balance)
		begin_active_balance(s, rq);
	next = pick_task(s, rq);
	if (!next && s->nr_cpus > 1 && newidle_balance(s, rq))
		next = pick_task(s, rq);
	put_prev_set_next(s, rq, pse, next);
	rq->cfs.picking = false;
	update_misfit_status(s, rq, next);
	if (next)
		return task_of(next);
	rq->cfs.idle_stamp = max_of(s->now, 1);
	update_idle_clock(s, rq);
	return NULL;
}

static inline __unused void fair_switched(sched_t *s, u32 cpu, task_t *prev, task_t *next)
{
	finish_active_balance(s, rq_of(s, cpu));
}

/* Nothing for a task that is about to be pushed away. */
static inline __unused void task_tick_fair(sched_t *s, entity_t *se)
{
	repeat_while(s, se && entity_runs(se)) {
		entity_tick(s, se->cfs_rq, se);
		se = parent_entity(se);
	}
}

static inline __unused void fair_tick(sched_t *s, u32 cpu, task_t *task)
{
	rq_t *rq = rq_of(s, cpu);

	if (!task)
		return;
	update_rt_avg(s, rq, task_is_rt(task));
	if (task_is_rt(task)) {
		server_tick(s, rq);
		task_tick_rt(s, rq, ts_of(task));
	} else {
		task_tick_fair(s, entity_of_task(task));
	}
	update_misfit_status(s, rq, ts_of(task));
	if (s->nr_cpus > 1)
		trigger_load_balance(s, rq);
}

/* A real-time task goes behind its equals. */
static inline __unused u32 fair_yield(sched_t *s, task_t *task)
{
	rq_t *rq = rq_of(s, task->cpu);
	ts_t *p = ts_of(task);

	if (!task_is_rt(task)) {
		yield_entity(s, rq, p);
		return true;
	}
	list_del(&p->se.link);
	list_add_tail(&p->se.link, &rq->cfs.rt.queue[p->se.rt_list]);
	return true;
}

/* ---- hooks: changes ----------------------------------------------------- */

/* @p has changed while it was off the queue: back to where it belongs. */
static inline __unused void requeue_changed(sched_t *s, rq_t *rq, ts_t *p)
{
	u32 running = cpu_curr(s, rq->cfs.cpu) == task_of(p);

	/* The groups that it ran in.  The one it is in from now on may be throttled: then it runs on alone, until pick_next(). */
	if (running)
		put_prev_up(s, running_entity(s, rq));
	if (task_is_rt(task_of(p))) {
		enqueue_task_rt(rq, p, running);
		return;
	}
	enqueue_task_fair(s, rq, p, 0);
	if (!running)
		return;
	set_next_up(s, &p->se);
	running_changed(s, rq);
	/* Its group may have no time left, as a group that wakes up may: no tick would see that. */
	if (throttled_hierarchy(s, p->se.cfs_rq))
		resched_cpu(s, rq->cfs.cpu);
}

/* The running task became worse, or a waiting one perhaps better. */
static inline __unused void prio_changed(sched_t *s, rq_t *rq, ts_t *p, u32 worse)
{
	if (cpu_curr(s, rq->cfs.cpu) != task_of(p))
		check_preempt(s, rq, p, 0);
	else if (worse)
		resched_cpu(s, rq->cfs.cpu);
}

/* set_user_nice() */
static inline __unused void fair_set_nice(sched_t *s, task_t *task, s32 old_nice)
{
	rq_t *rq = rq_of(s, task->cpu);
	ts_t *p = ts_of(task);
	u32 old_weight = p->se.weight, queued;

	finish_delayed(s, p);
	queued = p->se.on_rq && !task_is_rt(task);
	if (queued)
		dequeue_task_fair(s, p, 0);
	set_load_weight(p);
	rescale_entity(&p->se, old_weight);
	if (!queued)
		return;
	requeue_changed(s, rq, p);
	prio_changed(s, rq, p, task->nice > old_nice);
}

/* sched_move_task(), without autogroups' own */
static inline __unused void fair_group_move(sched_t *s, task_t *task, __unused group_t *from)
{
	rq_t *rq = rq_of(s, task->cpu);
	ts_t *p = ts_of(task);
	u32 queued;

	finish_delayed(s, p);
	if (task_is_rt(task))
		return;
	queued = p->se.on_rq;
	if (queued)
		dequeue_task_fair(s, p, DEQ_SPECIAL);
	else if (p->se.cfs_rq)
		switched_from_fair(s, p);
	remove_entity_load_avg(s, &p->se);
	if (!queued)
		return;
	requeue_changed(s, rq, p);
	if (cpu_curr(s, rq->cfs.cpu) == task)
		resched_cpu(s, rq->cfs.cpu);
	else
		check_preempt(s, rq, p, 0);
}

/* Worse than @old_class with @old_rt_priority? */
static inline __unused u32 class_is_worse(task_t *task, u32 old_class, u32 old_rt_priority)
{
	u32 was_rt = old_class >= CLASS_FIFO;

	if (task_is_rt(task))
		return was_rt && task->rt_priority < old_rt_priority;
	return was_rt || (task->class == CLASS_IDLE && old_class != CLASS_IDLE);
}

/* __sched_setscheduler() */
static inline __unused void fair_set_class(sched_t *s, task_t *task, u32 old_class, u32 old_rt_priority)
{
	rq_t *rq = rq_of(s, task->cpu);
	ts_t *p = ts_of(task);
	u32 was_rt = old_class >= CLASS_FIFO, old_weight = p->se.weight, queued;

	finish_delayed(s, p);
	queued = p->se.on_rq;
	if (queued && was_rt)
		dequeue_task_rt(rq, p);
	else if (queued)
		dequeue_task_fair(s, p, DEQ_SPECIAL);
	if (!was_rt && task_is_rt(task)) {
		switched_from_fair(s, p);
		remove_entity_load_avg(s, &p->se);
	}
	set_load_weight(p);
	rescale_entity(&p->se, old_weight);
	if (!queued)
		return;
	requeue_changed(s, rq, p);
	prio_changed(s, rq, p, class_is_worse(task, old_class, old_rt_priority));
}

static inline __unused void fair_set_cpumask(sched_t *s, task_t *task)
{
	if (!cpu_allowed(task, task->cpu))
		finish_delayed(s, ts_of(task));
}

/* ---- hooks: observers, init --------------------------------------------- */

/* The kernel's prio: 120 + nice, or 99 - rt_priority. */
static inline __unused s32 fair_priority(sched_t *s, task_t *task)
{
	if (task_is_rt(task))
		return MAX_RT_PRIO - 1 - (s32)task->rt_priority;
	return MAX_RT_PRIO + 20 + task->nice;
}

static inline __unused u32 fair_queued(sched_t *s, task_t *task)
{
	ts_t *p = ts_of(task);

	if (rq_of(s, task->cpu)->cfs.pushed == task)
		return true;
	return p->se.on_rq && !entity_delayed(&p->se);
}

static inline __unused void fair_init(sched_t *s)
{
	u32 cpu;

	for_each_cpu(s, cpu) {
		rq_t *rq = rq_of(s, cpu);

		rq->cfs.cpu = rq->cfs.root.cpu = cpu;
		rq->cfs.avg_idle = (u64)tun(s)->migration_cost_us * NSEC_PER_USEC * 2;
		list_init(&rq->cfs.cfs_tasks);
		list_init(&rq->cfs.leaf_cfs_rqs);
		prio_array_init(s, &rq->cfs.rt);
	}
	build_fair_domains(s);
	build_capacities(s);
}

/* No kernel has groups so far: see task_group(). */
#ifdef __BPF__
#define FAIR_GROUP_HOOKS
#define FAIR_CHECK_HOOK
#else
#define FAIR_CHECK_HOOK		.check = fair_check,
#define FAIR_GROUP_HOOKS					\
	.group_init = fair_group_init,				\
	.group_move = fair_group_move,				\
	.group_set_weight = fair_group_set_weight,		\
	.group_set_quota = fair_group_set_quota,		\
	.timer = fair_timer,
#endif

#define FAIR_HOOKS						\
	.fork = fair_fork,					\
	.select_cpu = fair_select_cpu,				\
	.enqueue = fair_enqueue,				\
	.dequeue = fair_dequeue,				\
	.pick_next = fair_pick_next,				\
	.switched = fair_switched,				\
	.tick = fair_tick,					\
	.yield = fair_yield,					\
	.set_nice = fair_set_nice,				\
	.set_class = fair_set_class,				\
	.set_cpumask = fair_set_cpumask,			\
	FAIR_GROUP_HOOKS					\
	FAIR_CHECK_HOOK						\
	.priority = fair_priority,				\
	.queued = fair_queued
#endif
