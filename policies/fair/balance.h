/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * balance.h - how CPUs share out fair tasks: who pulls from whom, and when.
 *
 * Each CPU balances for itself, domain by domain: busy ones now and then in their
 * tick, one that runs out of work before it idles.  It sorts the groups of
 * the domain into three types (room to spare, just full, overloaded), finds the
 * busiest, in it the busiest run queue, and pulls tasks from there, the one that
 * has not run for the longest first.  If nothing comes for long, active balancing
 * has the busiest CPU push its running task away.
 *
 * Order and names follow kernel/sched/fair.c of 5.5 to 6.12 (group types by
 * V. Guittot, 2019).  Included by class.h.
 *
 * FIDELITY: a CPU's load is the weight of its runnable tasks now; kernels since 3.8 use an average with a
 *	half-life of 32 ms (PELT).  Hence no utilisation: whether a group is full is a matter of its number of tasks.
 * FIDELITY: no asymmetric or changing CPU capacities, NUMA imbalance allowance, preferred nodes,
 *	energy model, or isolated CPUs.  2.6.24's own balancer was of the older kind (see linux26/balance.h) and is not reproduced.
 * FIDELITY: load_only changes how groups are compared; a task still has to fit the imbalance whole, not by half.  Left
 *	out there: groups "imbalanced" by affinity, SD_PREFER_SIBLING, the limit that keeps the busiest group from idling
 *	CPUs, and what fix_small_imbalance() expects of throughput.
 * FIDELITY: idle CPUs have no tick.  A busy CPU's tick balances for them, itself; kernels since 2.6.21 have it wake
 *	one of them to do so.
 * FIDELITY: there is no stopper thread.  pick_next() does its work, and the running task leaves in switched().
 */
#ifndef SCHEDLAB_FAIR_BALANCE_H
#define SCHEDLAB_FAIR_BALANCE_H

enum cpu_idle_type { CPU_NOT_IDLE, CPU_IDLE, CPU_NEWLY_IDLE };
enum group_type { GROUP_NONE, GROUP_HAS_SPARE, GROUP_FULLY_BUSY, GROUP_OVERLOADED };
enum migration_type { MIGRATE_LOAD, MIGRATE_TASK };

/* What is known of a group.  avg_load is per CPU: 1024 is one task of nice 0. */
struct group_stats {
	u64 load, avg_load;
	u32 nr_running, idle_cpus, weight;
	u32 type;
	u32 start;		/* its first position */
};

/* One balancing operation; lives on the stack of whoever balances. */
struct lb_env {
	rq_t *dst, *src;
	u32 level, idle;
	u32 migration;		/* enum migration_type: what imbalance counts */
	s64 imbalance;
	u32 moved;
	u32 all_pinned;
};

/* ---- groups ------------------------------------------------------------- */

static inline __unused void add_cpu(sched_t *s, struct group_stats *g, u32 cpu)
{
	rq_t *rq = rq_of(s, cpu);

	g->load += rq->cfs.load;
	g->nr_running += rq->cfs.nr_running;
	g->idle_cpus += idle_cpu(s, cpu);
}

static inline __unused void classify(sched_t *s, struct group_stats *g)
{
	g->avg_load = div_u64(g->load, g->weight);
	if (g->nr_running > g->weight)
		g->type = GROUP_OVERLOADED;
	else
		g->type = g->nr_running == g->weight || tun(s)->load_only ? GROUP_FULLY_BUSY : GROUP_HAS_SPARE;
}

/* update_sg_lb_stats(): the group of @level that begins at position @i. */
__apart u32 group_stats(sched_t *s __in_arena, struct group_stats *g __on_stack, u32 level, u32 i)
{
	u32 end = group_end(s, level, i);

	g->start = i;
	g->weight = end - i;
	g->load = g->nr_running = g->idle_cpus = 0;
	repeat_while(s, i < end)
		add_cpu(s, g, cpu_at(s, i++));
	classify(s, g);
	return 0;
}

/* update_sd_pick_busiest() */
static inline __unused u32 is_busier(struct group_stats *g, struct group_stats *busiest)
{
	if (!g->nr_running || g->type != busiest->type)
		return g->nr_running && g->type > busiest->type;
	if (g->type != GROUP_HAS_SPARE)
		return g->avg_load > busiest->avg_load;
	if (g->idle_cpus != busiest->idle_cpus)
		return g->idle_cpus < busiest->idle_cpus;
	return g->nr_running > busiest->nr_running;
}

/* update_sd_lb_stats(): returns the domain's average load. */
__apart u64 domain_stats(sched_t *s __in_arena, struct lb_env *env __on_stack,
			 struct group_stats *local __on_stack, struct group_stats *busiest __on_stack)
{
	u32 here = env->dst->cfs.position, i = span_start(s, env->level, here), end = span_end(s, env->level, here);
	struct group_stats g;
	u64 load = 0;

	busiest->type = GROUP_NONE;
	repeat_while(s, i < end) {
		u32 is_local = i == group_start(s, env->level, here);

		group_stats(s, &g, env->level, i);
		load += g.load;
		if (is_local)
			*local = g;
		else if (is_busier(&g, busiest))
			*busiest = g;
		i = group_end(s, env->level, i);
	}
	return div_u64(load, span_weight(s, env->level, here));
}

/* ---- find_busiest_group() ----------------------------------------------- */

static inline __unused u32 imbalance_pct(sched_t *s, u32 level)
{
	return (u32)(level == LEVEL_SMT ? tun(s)->smt_imbalance_pct : tun(s)->imbalance_pct);
}

/* Two overloaded groups: neither pull ourselves above the average nor the busiest below it. */
static inline __unused s64 load_imbalance(sched_t *s, struct lb_env *env, struct group_stats *local,
					  struct group_stats *busiest, u64 average)
{
	env->migration = MIGRATE_LOAD;
	if (local->avg_load >= busiest->avg_load || local->avg_load >= average ||
	    100 * busiest->avg_load <= imbalance_pct(s, env->level) * local->avg_load)
		return 0;
	return (s64)min_of((busiest->avg_load - average) * busiest->weight,
			   (average - local->avg_load) * local->weight);
}

/*
 * calculate_imbalance() and fix_small_imbalance(): evened out as far as the rest of the domain is, or by
 * one task if that is too little for any to move.
 */
static inline __unused s64 even_load(struct group_stats *local, struct group_stats *busiest, u64 average)
{
	u64 per_task = div_u64(busiest->load, busiest->nr_running), gap = busiest->avg_load - local->avg_load;
	u32 lighter = local->nr_running && div_u64(local->load, local->nr_running) < per_task;
	u64 imbalance = 0;

	if (busiest->avg_load > average)
		imbalance = min_of((busiest->avg_load - average) * busiest->weight,
				   (average - local->avg_load) * local->weight);
	if (imbalance < per_task && (lighter || gap * busiest->weight >= per_task))
		return (s64)per_task;
	return (s64)imbalance;
}

/*
 * find_busiest_group() up to 4.12: room did not count, unless for a CPU about to idle.  So CPUs
 * may idle for long beside a task that weighs more than the many who wait elsewhere.
 */
static inline __unused s64 load_only_imbalance(sched_t *s, struct lb_env *env, struct group_stats *local,
					       struct group_stats *busiest, u64 average)
{
	u32 room = local->nr_running < local->weight, crowded = busiest->type == GROUP_OVERLOADED;

	env->migration = MIGRATE_TASK;
	if (env->idle == CPU_NEWLY_IDLE && room && crowded)
		return 1;
	env->migration = MIGRATE_LOAD;
	if (local->avg_load >= busiest->avg_load || local->avg_load >= average)
		return 0;
	if (env->idle == CPU_IDLE && !crowded && local->idle_cpus <= busiest->idle_cpus + 1)
		return 0;
	if (env->idle != CPU_IDLE && 100 * busiest->avg_load <= imbalance_pct(s, env->level) * local->avg_load)
		return 0;
	return even_load(local, busiest, average);
}

/* We have room: how many tasks should come?  Evened out is their number, or that of idle CPUs. */
static inline __unused s64 spare_imbalance(sched_t *s, struct lb_env *env, struct group_stats *local,
					   struct group_stats *busiest)
{
	u32 sibling = tun(s)->prefer_sibling && has_child(s, env->level, env->dst->cfs.position);
	s64 more_tasks = (s64)busiest->nr_running - local->nr_running;
	s64 more_idle = (s64)local->idle_cpus - busiest->idle_cpus;

	env->migration = MIGRATE_TASK;
	if (sibling && more_tasks > 1)
		return more_tasks / 2;
	if (busiest->type != GROUP_OVERLOADED) {
		if (env->idle == CPU_NOT_IDLE || busiest->nr_running == 1)
			return 0;
		if (busiest->weight > 1 && more_idle <= 1)
			return 0;
	}
	if (busiest->weight == 1 || sibling)
		return max_of(more_tasks / 2, 0);
	return max_of(more_idle / 2, busiest->type == GROUP_OVERLOADED);
}

/* Sets imbalance and migration; returns the first position of the busiest group, MAX_CPUS if all is balanced. */
__apart u32 find_busiest_group(sched_t *s __in_arena, struct lb_env *env __on_stack)
{
	struct group_stats local = {}, busiest = {};
	u64 average = domain_stats(s, env, &local, &busiest);

	env->imbalance = 0;
	if (busiest.type == GROUP_NONE || (local.type > busiest.type && !tun(s)->load_only))
		return MAX_CPUS;
	if (tun(s)->load_only)
		env->imbalance = load_only_imbalance(s, env, &local, &busiest, average);
	else if (local.type == GROUP_HAS_SPARE)
		env->imbalance = spare_imbalance(s, env, &local, &busiest);
	else if (busiest.type == GROUP_OVERLOADED)
		env->imbalance = load_imbalance(s, env, &local, &busiest, average);
	return env->imbalance > 0 ? busiest.start : MAX_CPUS;
}

/* Sets src, to NULL if nothing in the group can help. */
__apart u32 find_busiest_queue(sched_t *s __in_arena, struct lb_env *env __on_stack, u32 i)
{
	u32 end = group_end(s, env->level, i);
	u64 most = 0;

	env->src = NULL;
	repeat_while(s, i < end) {
		rq_t *rq = rq_of(s, cpu_at(s, i++));
		u64 busy = env->migration == MIGRATE_LOAD ? rq->cfs.load : rq->cfs.nr_running;

		/* Its only task is more than we want. */
		if (env->migration == MIGRATE_LOAD && rq->cfs.nr_running == 1 && (s64)rq->cfs.load > env->imbalance)
			continue;
		if (busy > most) {
			most = busy;
			env->src = rq;
		}
	}
	return 0;
}

/* ---- moving tasks ------------------------------------------------------- */

/* A cache-hot task should stay; SMT siblings share all caches. */
static inline __unused u32 task_hot(sched_t *s, struct lb_env *env, ts_t *p)
{
	if (env->level == LEVEL_SMT || entity_is_idle(p))
		return false;
	return (s64)(s->now - p->se.exec_start) < tun(s)->migration_cost_us * (s64)NSEC_PER_USEC;
}

static inline __unused u32 cache_nice_tries(struct lb_env *env)
{
	return env->level == LEVEL_MACHINE ? 2 : env->level != LEVEL_SMT;
}

static inline __unused u32 can_migrate_task(sched_t *s, struct lb_env *env, ts_t *p)
{
	task_t *task = task_of(p);

	if (!cpu_allowed(task, env->dst->cfs.cpu))
		return false;
	env->all_pinned = false;
	if (task->on_cpu || task_delayed(p) || env->src->cfs.pushed == task)
		return false;
	return !task_hot(s, env, p) || env->dst->cfs.sd[env->level].nr_balance_failed > cache_nice_tries(env);
}

/* Is it small enough?  The longer balancing has failed, the less we ask. */
static inline __unused u32 fits_imbalance(struct lb_env *env, ts_t *p)
{
	u32 failed = min_of(env->dst->cfs.sd[env->level].nr_balance_failed, 31);

	return env->migration == MIGRATE_TASK || (s64)(p->se.weight >> failed) <= env->imbalance;
}

static inline __unused void move_entity(sched_t *s, rq_t *src, rq_t *dst, ts_t *p)
{
	dequeue_entity(s, src, p, DEQ_MOVE);
	move_task(s, task_of(p), dst->cfs.cpu);
	enqueue_entity(s, dst, p, ENQ_MOVE);
}

/* A CPU in schedule() has nothing to preempt. */
__apart u32 pull_task(sched_t *s __in_arena, struct lb_env *env __on_stack, ts_t *p __in_arena)
{
	move_entity(s, env->src, env->dst, p);
	env->imbalance -= env->migration == MIGRATE_TASK ? 1 : p->se.weight;
	env->moved++;
	if (env->idle != CPU_NEWLY_IDLE) {
		update_avg_idle(s, env->dst);
		check_preempt(s, env->dst, p, ENQ_MOVE);
	}
	return 0;
}

/* detach_tasks() and attach_tasks(): back to front, coldest first.  A newly idle CPU takes one, to run it soon. */
__apart u32 move_tasks(sched_t *s __in_arena, struct lb_env *env __on_stack)
{
	list_t *node = env->src->cfs.cfs_tasks.prev;
	u32 tries = (u32)tun(s)->nr_migrate;

	repeat_while(s, node != &env->src->cfs.cfs_tasks && tries-- && env->imbalance > 0) {
		ts_t *p = list_entry(node, ts_t, se.link);

		node = node->prev;
		examined(s, 1);
		if (env->src->cfs.nr_running <= 1 || (env->idle == CPU_NEWLY_IDLE && env->moved))
			return 0;
		if (can_migrate_task(s, env, p) && fits_imbalance(env, p))
			pull_task(s, env, p);
	}
	return 0;
}

/* ---- balancing ---------------------------------------------------------- */

/* Of a group's CPUs only the first idle one, or else the first, balances for it; a newly idle one may always. */
__apart u32 should_we_balance(sched_t *s __in_arena, struct lb_env *env __on_stack)
{
	u32 here = env->dst->cfs.position, i = group_start(s, env->level, here), end = group_end(s, env->level, here);

	if (env->idle == CPU_NEWLY_IDLE)
		return true;
	repeat_while(s, i < end && !idle_cpu(s, cpu_at(s, i)))
		i++;
	return here == (i < end ? i : group_start(s, env->level, here));
}

/* need_active_balance(): nothing but a running task could move, and has failed to for some time. */
static inline __unused u32 kick_active_balance(sched_t *s, struct lb_env *env)
{
	fair_domain_t *sd = &env->dst->cfs.sd[env->level];
	task_t *curr = env->src->cfs.curr;

	if (env->idle == CPU_NEWLY_IDLE || ++sd->nr_balance_failed <= cache_nice_tries(env) + 2)
		return false;
	if (!tun(s)->active_balance || !curr || !cpu_allowed(curr, env->dst->cfs.cpu) || env->src->cfs.active_balance)
		return false;
	env->src->cfs.active_balance = 1;
	env->src->cfs.push_cpu = env->dst->cfs.cpu;
	resched_cpu(s, env->src->cfs.cpu);
	count(s, COUNTER_active_balance, 1);
	sd->nr_balance_failed = cache_nice_tries(env) + 1;
	return true;
}

/* sched_balance_rq(), once load_balance().  Returns how many tasks came. */
__apart u32 load_balance(sched_t *s __in_arena, rq_t *dst __in_arena, u32 level, u32 idle)
{
	struct lb_env env = { .dst = dst, .level = level, .idle = idle, .all_pinned = true };
	fair_domain_t *sd = &dst->cfs.sd[level];
	u32 min_interval = span_weight(s, level, dst->cfs.position), group, kicked = false;

	if (!should_we_balance(s, &env))
		return 0;
	count(s, COUNTER_balance_attempts, 1);
	group = find_busiest_group(s, &env);
	if (group != MAX_CPUS)
		find_busiest_queue(s, &env, group);
	if (env.src && rq_lock(s, env.src->cfs.cpu)) {
		if (env.src->cfs.nr_running > 1)
			move_tasks(s, &env);
		if (!env.moved)
			kicked = kick_active_balance(s, &env);
		rq_unlock(s, env.src->cfs.cpu);
	}
	count(s, COUNTER_balance_moves, env.moved);
	if (env.moved || !env.src)
		sd->nr_balance_failed = 0;
	if (env.moved || kicked)
		sd->balance_interval = min_interval;
	else if (idle != CPU_NEWLY_IDLE && sd->balance_interval < 2 * min_interval)
		sd->balance_interval *= 2;
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

/* sched_balance_domains(), once rebalance_domains(). */
__apart u32 balance_domains(sched_t *s __in_arena, rq_t *rq __in_arena, u32 idle)
{
	u32 level, moved = 0;

	repeat(s, level, NR_LEVELS) {
		fair_domain_t *sd = &rq->cfs.sd[level];

		if (!domain_exists(s, level, rq->cfs.position) ||
		    s->now - sd->last_balance < balance_interval_ns(s, sd, idle))
			continue;
		sd->last_balance = s->now;
		moved += load_balance(s, rq, level, idle);
		if (moved)
			idle = CPU_NOT_IDLE;
	}
	return moved;
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
		balance_domains(s, rq_of(s, cpu), CPU_IDLE);
		rq_unlock(s, cpu);
	}
	return 0;
}

/* In each tick of a busy CPU. */
static inline __unused void trigger_load_balance(sched_t *s, rq_t *rq)
{
	balance_domains(s, rq, CPU_NOT_IDLE);
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

/* pull_rt_task(): real-time tasks wait for nobody but their betters while a CPU idles. */
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
	repeat(s, level, NR_LEVELS) {
		if (!domain_exists(s, level, rq->cfs.position))
			continue;
		if (load_balance(s, rq, level, CPU_NEWLY_IDLE)) {
			count(s, COUNTER_newidle_moves, 1);
			return true;
		}
	}
	return false;
}

/* ---- active balancing --------------------------------------------------- */

/* The running task is about to be pushed to another CPU: choose without it. */
static inline __unused void begin_active_balance(sched_t *s, rq_t *rq, task_t *prev)
{
	u32 target = rq->cfs.push_cpu;

	rq->cfs.active_balance = 0;
	if (!prev || rq->cfs.curr != prev || !cpu_allowed(prev, target) || !idle_cpu(s, target))
		return;
	dequeue_entity(s, rq, ts_of(prev), DEQ_MOVE);
	rq->cfs.pushed = prev;
}

/* The second half, once it has stopped. */
static inline __unused void finish_active_balance(sched_t *s, rq_t *rq)
{
	task_t *task = rq->cfs.pushed;
	rq_t *target = rq_of(s, rq->cfs.push_cpu);

	if (!task)
		return;
	rq->cfs.pushed = NULL;
	if (rq_lock(s, target->cfs.cpu)) {
		move_task(s, task, target->cfs.cpu);
		update_avg_idle(s, target);
		enqueue_entity(s, target, ts_of(task), ENQ_MOVE);
		check_preempt(s, target, ts_of(task), ENQ_MOVE);
		rq_unlock(s, target->cfs.cpu);
		count(s, COUNTER_balance_moves, 1);
		return;
	}
	enqueue_entity(s, rq, ts_of(task), ENQ_MOVE);
	check_preempt(s, rq, ts_of(task), ENQ_MOVE);
}
#endif
