/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * balance.h - how CPUs share out fair tasks: which CPU pulls from which, and when.
 *
 * Each CPU balances for itself, domain by domain: busy ones now and then in their
 * tick, one that runs out of work before it idles.  It finds the busiest group of
 * the domain, in that the busiest run queue (both in busiest.h), and pulls tasks
 * from there, the one that has not run for the longest first.
 *
 * Affinity makes this harder.  If no task of a run queue may come here, that queue
 * is left out and the search repeated.  Tasks that may go to another CPU of our group are
 * moved there.  A group that is not even because of affinity is marked, so that
 * the others see more in it than its average load.  If nothing comes for long,
 * active balancing has the busiest CPU push its running task away.
 *
 * Order and names follow kernel/sched/fair.c of 6.6 (read: 6.6.y, update_sg_lb_stats() to
 * active_load_balance_cpu_stop()).  Included by class.h.
 *
 * FIDELITY: without the tunable pelt a CPU's load is the weight of its runnable tasks now, and whether a group is full is a
 *	matter of its number of tasks.  4.3 is so: its average of what is runnable (runnable_load_avg) is left out.
 * FIDELITY: no NUMA imbalance allowance, preferred nodes, energy model, priorities of CPUs (SD_ASYM_PACKING), or isolated CPUs.
 *	  2.6.24's own balancer was of the older kind (see linux26/balance.h) and is not reproduced.
 * FIDELITY: 6.6's group_smt_balance and sibling_imbalance() are not here: cores of unequal numbers of threads do not occur.
 * FIDELITY: load_only changes how groups are compared; a task still has to fit the imbalance whole, not by half.  Left
 *	out there: SD_PREFER_SIBLING, the limit that keeps the busiest group from idling CPUs, and what
 *	fix_small_imbalance() expects of throughput.
 * FIDELITY: a CPU that should not balance for its group leaves the mark of an imbalanced group alone.  The kernel clears
 *	it then, too; but here the intervals of all CPUs are in step, and no other group would ever see a mark.
 * FIDELITY: idle CPUs have no tick.  A busy CPU's tick balances for them, itself; kernels since 2.6.21 have it wake
 *	one of them to do so.
 * FIDELITY: there is no stopper thread.  pick_next() does its work, and the running task leaves in switched().
 * FIDELITY: locks of other run queues may be refused.  Then the balancing is put off and does not count as failed.
 * FIDELITY: if all tasks of the busiest CPU are pinned, balancing begins again without it and for this CPU; the kernel stays with the
 *	last CPU that it tried to move tasks to.
 */
#ifndef SCHEDLAB_FAIR_BALANCE_H
#define SCHEDLAB_FAIR_BALANCE_H

#include "busiest.h"

/* ---- locks -------------------------------------------------------------- */

static inline __unused __must_check u32 lb_lock(sched_t *s, struct lb_env *env, rq_t *rq)
{
	return rq == env->held || rq_lock(s, rq->cfs.cpu);
}

static inline __unused void lb_unlock(sched_t *s, struct lb_env *env, rq_t *rq)
{
	if (rq != env->held)
		rq_unlock(s, rq->cfs.cpu);
}

/* ---- moving tasks ------------------------------------------------------- */

/* A cache-hot task should stay; SMT siblings share all caches. */
static inline __unused u32 task_hot(sched_t *s, struct lb_env *env, ts_t *p)
{
	if (env->level == LEVEL_SMT || entity_is_idle(&p->se))
		return false;
	return (s64)(s->now - p->se.exec_start) < tun(s)->migration_cost_us * (s64)NSEC_PER_USEC;
}

static inline __unused u32 cache_nice_tries(struct lb_env *env)
{
	return env->level == LEVEL_MACHINE ? 2 : env->level != LEVEL_SMT;
}

/* @p may not go to dst.  Another CPU of our group that it may go to is worth a second try. */
__apart u32 note_pinned(sched_t *s __in_arena, struct lb_env *env __on_stack, task_t *p __in_arena)
{
	u32 here = env->this_rq->cfs.position, i = group_start(s, env->level, here), end = group_end(s, env->level, here);

	env->some_pinned = true;
	if (env->idle == CPU_NEWLY_IDLE || env->new_dst_cpu != MAX_CPUS)
		return 0;
	repeat_while(s, i < end) {
		u32 cpu = cpu_at(s, i++);

		if (considered(&env->held->cfs.excluded, cpu) && cpu_allowed(p, cpu)) {
			env->new_dst_cpu = cpu;
			return 0;
		}
	}
	return 0;
}

/* Is the task's group throttled on either CPU? */
static inline __unused u32 throttled_lb_pair(sched_t *s, ts_t *p, u32 dst_cpu)
{
	group_t *g = queue_group(p->se.cfs_rq);

	return g && (throttled_hierarchy(s, p->se.cfs_rq) || throttled_hierarchy(s, &gc_of(g, dst_cpu)->cfs_rq));
}

static inline __unused u32 can_migrate_task(sched_t *s, struct lb_env *env, ts_t *p)
{
	task_t *task = task_of(p);

	if (entity_delayed(&p->se) || throttled_lb_pair(s, p, env->dst->cfs.cpu))
		return false;
	if (!cpu_allowed(task, env->dst->cfs.cpu)) {
		note_pinned(s, env, task);
		return false;
	}
	env->all_pinned = false;
	if (task->on_cpu)
		return false;
	return !task_hot(s, env, p) || domain_of(env)->nr_balance_failed > cache_nice_tries(env);
}

/* What of the imbalance @p would even out. */
static inline __unused u64 amount_of(sched_t *s, struct lb_env *env, ts_t *p)
{
	if (env->migration == MIGRATE_LOAD)
		return max_of(task_h_load(s, p), 1);
	return env->migration == MIGRATE_UTIL ? task_util_est(p) : 1;
}

/* Is it small enough?  The longer balancing has failed, the less we ask. */
static inline __unused u32 fits_imbalance(sched_t *s, struct lb_env *env, ts_t *p)
{
	u32 failed = min_of(domain_of(env)->nr_balance_failed, 31);

	if (seeks_misfit(s, env))
		return !task_fits_cpu(s, p, env->src->cfs.cpu);
	return env->migration == MIGRATE_TASK || (s64)(amount_of(s, env, p) >> failed) <= env->imbalance;
}

static inline __unused void move_entity(sched_t *s, rq_t *dst, ts_t *p)
{
	dequeue_task_fair(s, p, DEQ_MOVE);
	move_task(s, task_of(p), dst->cfs.cpu);
	enqueue_task_fair(s, dst, p, ENQ_MOVE);
}

/* A CPU in schedule() has nothing to preempt. */
__apart u32 pull_task(sched_t *s __in_arena, struct lb_env *env __on_stack, ts_t *p __in_arena)
{
	env->imbalance -= (s64)amount_of(s, env, p);
	move_entity(s, env->dst, p);
	env->moved++;
	if (env->idle != CPU_NEWLY_IDLE) {
		update_avg_idle(s, env->dst);
		check_preempt(s, env->dst, p, ENQ_MOVE);
	}
	return 0;
}

/*
 * detach_tasks() and attach_tasks(): back to front, coldest first.  A newly idle CPU takes one, to run it
 * soon.  Tasks that are passed over go to the front, so that the next balancing begins with others.
 */
__apart u32 move_tasks(sched_t *s __in_arena, struct lb_env *env __on_stack)
{
	list_t *head = &env->src->cfs.cfs_tasks, *node = head->prev;
	u32 tries = min_of((u32)tun(s)->nr_migrate, env->src->cfs.root.h_nr_running);

	/* Others have emptied it, so nothing is known of pinned tasks. */
	if (rq_nr_running(env->src) <= 1)
		env->all_pinned = false;
	repeat_while(s, node != head && tries-- && env->imbalance > 0) {
		ts_t *p = list_entry(node, ts_t, se.link);

		node = node->prev;
		if (env->idle != CPU_NOT_IDLE && rq_nr_running(env->src) <= 1)
			return 0;
		if (env->idle == CPU_NEWLY_IDLE && env->moved)
			return 0;
		examined(s, 1);
		if (can_migrate_task(s, env, p) && fits_imbalance(s, env, p)) {
			pull_task(s, env, p);
		} else {
			list_del(&p->se.link);
			list_add(&p->se.link, head);
		}
	}
	return 0;
}

/* Tasks on src that may not come to dst, but to another CPU of our group, may even the load as well. */
__apart u32 move_to_new_dst(sched_t *s __in_arena, struct lb_env *env __on_stack)
{
	rq_t *dst = rq_of(s, env->new_dst_cpu);

	exclude_cpu(env, env->dst->cfs.cpu);
	env->dst = dst;
	env->new_dst_cpu = MAX_CPUS;
	if (!lb_lock(s, env, dst))
		return 0;
	move_tasks(s, env);
	lb_unlock(s, env, dst);
	return 0;
}

/* ---- balancing ---------------------------------------------------------- */

enum lb_result {
	LB_BALANCED,
	LB_REDO,		/* all tasks of src are pinned; without it, another CPU may be the busiest */
	LB_ALL_PINNED,		/* and no CPU is left */
	LB_ONE_PINNED,		/* the running task should be pushed here, but may not come */
	LB_UNBALANCED,		/* tasks have moved, or should have */
	LB_REFUSED,		/* another CPU holds the lock */
};

__apart u32 core_is_idle(sched_t *s __in_arena, u32 i)
{
	u32 end = span_end(s, LEVEL_SMT, i);

	i = span_start(s, LEVEL_SMT, i);
	repeat_while(s, i < end && idle_cpu(s, cpu_at(s, i)))
		i++;
	return i == end;
}

/*
 * One CPU of a group balances for it: the first idle one, or else the first; a newly idle one may always.
 * From 6.6 on an idle CPU of an idle core comes before one beside a busy sibling.
 */
__apart u32 should_we_balance(sched_t *s __in_arena, struct lb_env *env __on_stack)
{
	u32 here = env->dst->cfs.position, i = group_start(s, env->level, here), end = group_end(s, env->level, here);
	u32 first = i, idle_smt = MAX_CPUS;

	if (env->idle == CPU_NEWLY_IDLE)
		return true;
	repeat_while(s, i < end) {
		if (idle_cpu(s, cpu_at(s, i))) {
			if (env->level == LEVEL_SMT || !tun(s)->idle_core_first || core_is_idle(s, i))
				return i == here;
			idle_smt = min_of(idle_smt, i);
		}
		i++;
	}
	return here == (idle_smt == MAX_CPUS ? first : idle_smt);
}

/* The domain around ours knows by this that group averages hide an imbalance.  It is one flag for all CPUs of ours. */
__apart u32 set_group_imbalanced(sched_t *s __in_arena, struct lb_env *env __on_stack, u32 imbalanced)
{
	u32 here = env->this_rq->cfs.position, level = env->level + 1;

	repeat_while(s, level < NR_LEVELS && !domain_exists(s, level, here))
		level++;
	if (level < NR_LEVELS)
		rq_of(s, cpu_at(s, group_start(s, level, here)))->cfs.sd[level].group_imbalanced = imbalanced;
	return 0;
}

/* need_active_balance() */
static inline __unused u32 need_active_balance(sched_t *s, struct lb_env *env)
{
	if (seeks_misfit(s, env))
		return true;
	if (tun(s)->active_balance == ACTIVE_BALANCE_OFF ||
	    (tun(s)->active_balance == ACTIVE_BALANCE_TASKS && env->migration != MIGRATE_TASK))
		return false;
	return domain_of(env)->nr_balance_failed > cache_nice_tries(env) + 2;
}

/* Nothing was moved.  If that happens for long, what runs there must be in the way: have src push a task to us. */
static inline __unused u32 kick_active_balance(sched_t *s, struct lb_env *env)
{
	task_t *curr = cpu_curr(s, env->src->cfs.cpu);

	if (env->idle != CPU_NEWLY_IDLE)
		domain_of(env)->nr_balance_failed++;
	if (!need_active_balance(s, env) || !curr)
		return LB_UNBALANCED;
	if (!cpu_allowed(curr, env->this_rq->cfs.cpu))
		return LB_ONE_PINNED;
	if (!env->src->cfs.active_balance) {
		env->src->cfs.active_balance = 1;
		env->src->cfs.push_cpu = env->this_rq->cfs.cpu;
		resched_cpu(s, env->src->cfs.cpu);
		count(s, COUNTER_active_balance, 1);
	}
	return LB_UNBALANCED;
}

/* With the lock of src. */
__apart u32 balance_with_src(sched_t *s __in_arena, struct lb_env *env __on_stack)
{
	env->all_pinned = true;
	if (rq_nr_running(env->src) > 1) {
		move_tasks(s, env);
		repeat_while(s, env->new_dst_cpu != MAX_CPUS && env->imbalance > 0)
			move_to_new_dst(s, env);
		if (env->some_pinned && env->imbalance > 0)
			set_group_imbalanced(s, env, true);
		if (env->all_pinned) {
			exclude_cpu(env, env->src->cfs.cpu);
			env->dst = env->this_rq;
			return anyone_left(s, env) ? LB_REDO : LB_ALL_PINNED;
		}
	}
	return env->moved ? LB_UNBALANCED : kick_active_balance(s, env);
}

/* load_balance() from "redo" on. */
__apart u32 try_balance(sched_t *s __in_arena, struct lb_env *env __on_stack)
{
	u32 group = find_busiest_group(s, env), result;

	if (group == MAX_CPUS)
		return LB_BALANCED;
	find_busiest_queue(s, env, group);
	if (!env->src)
		return LB_BALANCED;
	if (!lb_lock(s, env, env->src))
		return LB_REFUSED;
	result = balance_with_src(s, env);
	lb_unlock(s, env, env->src);
	return result;
}

#define MAX_PINNED_INTERVAL	512	/* ms */

/* What the result means for the next time. */
static inline __unused void conclude(sched_t *s, struct lb_env *env, u32 result)
{
	u32 min_interval = span_weight(s, env->level, env->this_rq->cfs.position), max_interval = 2 * min_interval;
	fair_domain_t *sd = domain_of(env);

	if (env->moved || result < LB_ONE_PINNED)
		sd->nr_balance_failed = 0;
	if (result == LB_UNBALANCED)
		sd->balance_interval = min_interval;
	if (result >= LB_UNBALANCED)
		return;
	/* Other tasks had a chance to move, and the flag is stale.  Pinned ones leave it to the domain around ours. */
	if (result == LB_BALANCED && !env->all_pinned)
		set_group_imbalanced(s, env, false);
	if (env->all_pinned)
		max_interval = max_of(max_interval, MAX_PINNED_INTERVAL);
	if (env->idle != CPU_NEWLY_IDLE && sd->balance_interval < max_interval)
		sd->balance_interval *= 2;
}

/* sched_balance_rq(), once load_balance(), for @this_rq in a hook that holds the lock of @held.  Returns how many tasks moved. */
__apart u32 load_balance(sched_t *s __in_arena, rq_t *this_rq __in_arena, u32 level, u32 idle, rq_t *held __in_arena)
{
	struct lb_env env = {
		.held = held, .this_rq = this_rq, .dst = this_rq, .level = (u8)level, .idle = (u8)idle, .new_dst_cpu = MAX_CPUS,
	};
	u32 result = LB_REDO;

	if (!should_we_balance(s, &env))
		return 0;
	count(s, COUNTER_balance_attempts, 1);
	consider_all_cpus(s, &env);
	repeat_while(s, result == LB_REDO)
		result = try_balance(s, &env);
	count(s, COUNTER_balance_moves, env.moved);
	conclude(s, &env, result);
	return env.moved;
}

/* How long until @dst balances here again? */
static inline __unused u64 balance_interval_ns(sched_t *s, fair_domain_t *sd, u32 idle)
{
	u64 limit = (NSEC_PER_SEC / 10) * s->nr_cpus;
	u64 interval = sd->balance_interval * NSEC_PER_MSEC;

	if (idle == CPU_NOT_IDLE)
		interval *= (u64)tun(s)->busy_factor;
	return min_of(max_of(interval, s->tick_ns), limit);
}

/* sched_balance_domains(), once rebalance_domains(), in a hook that holds the lock of @held. */
__apart u32 balance_domains(sched_t *s __in_arena, rq_t *rq __in_arena, u32 idle, rq_t *held __in_arena)
{
	u32 level;

	update_blocked_averages(s, rq);
	repeat(s, level, NR_LEVELS) {
		fair_domain_t *sd = &rq->cfs.sd[level];

		if (!domain_exists(s, level, rq->cfs.position) ||
		    s->now - sd->last_balance < balance_interval_ns(s, sd, idle))
			continue;
		sd->last_balance = s->now;
		/* Tasks that moved need not have come here. */
		if (load_balance(s, rq, level, idle, held))
			idle = idle_cpu(s, rq->cfs.cpu) ? CPU_IDLE : CPU_NOT_IDLE;
	}
	return 0;
}

/* Balance for all CPUs that idle, once in a tick of the machine. */
__apart u32 nohz_idle_balance(sched_t *s __in_arena, rq_t *this_rq __in_arena)
{
	fair_t *fair = fair_of(s);
	u32 cpu;

	if (s->now < fair->next_nohz_balance)
		return 0;
	fair->next_nohz_balance = s->now + s->tick_ns;
	for_each_cpu(s, cpu) {
		if (!idle_cpu(s, cpu) || !rq_lock(s, cpu))
			continue;
		balance_domains(s, rq_of(s, cpu), CPU_IDLE, this_rq);
		rq_unlock(s, cpu);
	}
	return 0;
}

/* In each tick of a busy CPU. */
static inline __unused void trigger_load_balance(sched_t *s, rq_t *rq)
{
	balance_domains(s, rq, CPU_NOT_IDLE, rq);
	nohz_idle_balance(s, rq);
}

/* ---- newly idle --------------------------------------------------------- */

/* The best real-time task that waits on @src and may come to @dst. */
static inline __unused ts_t *pushable_rt_task(sched_t *s, rq_t *src, rq_t *dst)
{
	u32 prio = prio_array_first(&src->cfs.rt);
	list_t *node;

	repeat_while(s, prio != PRIO_NONE) {
		list_for_each(s, node, &src->cfs.rt.queue[prio]) {
			ts_t *p = list_entry(node, ts_t, se.link);

			examined(s, 1);
			if (!task_of(p)->on_cpu && cpu_allowed(task_of(p), dst->cfs.cpu))
				return p;
		}
		prio = prio_array_next(s, &src->cfs.rt, prio + 1);
	}
	return NULL;
}

/* pull_rt_task(): a CPU about to idle takes the best real-time task that waits elsewhere. */
__apart u32 pull_rt_task(sched_t *s __in_arena, rq_t *dst __in_arena)
{
	u32 cpu;

	for_each_cpu(s, cpu) {
		rq_t *src = rq_of(s, cpu);
		ts_t *p;

		if (src->cfs.rt.nr < 2 || src == dst || !rq_lock(s, cpu))
			continue;
		p = pushable_rt_task(s, src, dst);
		if (p) {
			dequeue_task_rt(src, p);
			move_task(s, task_of(p), dst->cfs.cpu);
			enqueue_task_rt(dst, p, false);
		}
		rq_unlock(s, cpu);
		if (p)
			return true;
	}
	return false;
}

/* sched_balance_newidle(): schedule() has nothing to run: get something, from near if possible. */
__apart u32 newidle_balance(sched_t *s __in_arena, rq_t *rq __in_arena)
{
	u32 level;

	if (pull_rt_task(s, rq))
		return true;
	if (rq->cfs.avg_idle < (u64)tun(s)->newidle_cost_us * NSEC_PER_USEC)
		return false;
	update_blocked_averages(s, rq);
	repeat(s, level, NR_LEVELS) {
		if (!domain_exists(s, level, rq->cfs.position))
			continue;
		if (load_balance(s, rq, level, CPU_NEWLY_IDLE, rq)) {
			count(s, COUNTER_newidle_moves, 1);
			return true;
		}
	}
	return false;
}

/* ---- active balancing --------------------------------------------------- */

/* A task comes to @target, the lock of which is held, and active balancing has done its work. */
static inline __unused void attach_pushed_task(sched_t *s, rq_t *target, ts_t *p, u32 src_cpu)
{
	u32 level = 0;

	move_task(s, task_of(p), target->cfs.cpu);
	update_avg_idle(s, target);
	enqueue_task_fair(s, target, p, ENQ_MOVE);
	check_preempt(s, target, p, ENQ_MOVE);
	count(s, COUNTER_balance_moves, 1);
	repeat_while(s, level < LEVEL_MACHINE && (!domain_exists(s, level, target->cfs.position) ||
						  !in_span(s, level, target->cfs.position, src_cpu)))
		level++;
	target->cfs.sd[level].nr_balance_failed = 0;
}

/*
 * active_load_balance_cpu_stop(), as far as it can go while @prev runs: of the
 * tasks that may be pushed the one that has not run for the longest.  If that is
 * @prev, which cannot leave before it has stopped, choose without it.
 */
__apart u32 begin_active_balance(sched_t *s __in_arena, rq_t *rq __in_arena)
{
	rq_t *target = rq_of(s, rq->cfs.push_cpu);
	list_t *head = &rq->cfs.cfs_tasks, *node = head->prev;
	ts_t *p = NULL;

	rq->cfs.active_balance = 0;
	repeat_while(s, node != head && !p) {
		ts_t *candidate = list_entry(node, ts_t, se.link);

		if (cpu_allowed(task_of(candidate), target->cfs.cpu) && !entity_delayed(&candidate->se) &&
		    !throttled_lb_pair(s, candidate, target->cfs.cpu))
			p = candidate;
		node = node->prev;
	}
	if (!p)
		return 0;
	if (entity_runs(&p->se)) {
		dequeue_task_fair(s, p, DEQ_MOVE);
		rq->cfs.pushed = task_of(p);
	} else if (rq_lock(s, target->cfs.cpu)) {
		dequeue_task_fair(s, p, DEQ_MOVE);
		attach_pushed_task(s, target, p, rq->cfs.cpu);
		rq_unlock(s, target->cfs.cpu);
	}
	return 0;
}

/* The second half, once @prev has stopped.  If the lock is refused it waits where it ran. */
static inline __unused void finish_active_balance(sched_t *s, rq_t *rq)
{
	task_t *task = rq->cfs.pushed;
	rq_t *target = rq_of(s, rq->cfs.push_cpu);

	if (!task)
		return;
	rq->cfs.pushed = NULL;
	if (rq_lock(s, target->cfs.cpu)) {
		attach_pushed_task(s, target, ts_of(task), rq->cfs.cpu);
		rq_unlock(s, target->cfs.cpu);
		return;
	}
	enqueue_task_fair(s, rq, ts_of(task), ENQ_MOVE);
	check_preempt(s, rq, ts_of(task), ENQ_MOVE);
}
#endif
