/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * busiest.h - from where fair tasks should be pulled, and how many: find_busiest_group() and find_busiest_queue().
 *
 * A CPU that balances a domain compares its own group with the others.  A group
 * has room to spare, is just full, is imbalanced by affinity, or is overloaded.
 * The type of the busiest group decides what is evened out: idle CPUs, numbers
 * of tasks, or load.
 *
 * Order and names follow kernel/sched/fair.c of 6.6 and 6.12.  Included by balance.h.
 */
#ifndef SCHEDLAB_FAIR_BUSIEST_H
#define SCHEDLAB_FAIR_BUSIEST_H

/* What the tunable active_balance says. */
enum active_balance { ACTIVE_BALANCE_OFF, ACTIVE_BALANCE_TASKS, ACTIVE_BALANCE_ANY };

enum cpu_idle_type { CPU_NOT_IDLE, CPU_IDLE, CPU_NEWLY_IDLE };
enum group_type {
	GROUP_NONE, GROUP_HAS_SPARE, GROUP_FULLY_BUSY, GROUP_MISFIT_TASK, GROUP_IMBALANCED, GROUP_OVERLOADED,
};
enum migration_type { MIGRATE_LOAD, MIGRATE_UTIL, MIGRATE_TASK, MIGRATE_MISFIT };

/* One balancing operation; it lives on the stack of load_balance(). */
struct lb_env {
	rq_t *held;		/* the hook came with its lock */
	rq_t *this_rq;		/* balances */
	rq_t *dst, *src;	/* tasks move to and from; dst is another CPU of this_rq's group after LBF_DST_PINNED */
	u8 level, idle;
	u8 migration;		/* enum migration_type: what imbalance counts */
	u8 all_pinned;		/* LBF_ALL_PINNED: no task seen on src may go to dst */
	u8 some_pinned;		/* LBF_SOME_PINNED: a task seen on src may not */
	s64 imbalance;
	u32 moved;
	u32 new_dst_cpu;	/* LBF_DST_PINNED: but to this CPU of the group it may; else MAX_CPUS */
};

static inline __unused group_stats_t *stats_of(struct lb_env *env, u32 which)
{
	return &env->held->cfs.stats[which];
}

/* Field by field: clang forgets that a structure it copies is in the arena. */
static inline __unused void copy_stats(group_stats_t *to, group_stats_t *from)
{
	to->load = from->load;
	to->avg_load = from->avg_load;
	to->util = from->util;
	to->runnable = from->runnable;
	to->capacity = from->capacity;
	to->min_capacity = from->min_capacity;
	to->max_capacity = from->max_capacity;
	to->misfit = from->misfit;
	to->nr_running = from->nr_running;
	to->nr_fair = from->nr_fair;
	to->idle_cpus = from->idle_cpus;
	to->weight = from->weight;
	to->type = from->type;
	to->start = from->start;
}

static inline __unused fair_domain_t *domain_of(struct lb_env *env)
{
	return &env->this_rq->cfs.sd[env->level];
}

/* ---- the CPUs under consideration --------------------------------------- */

/* load_balance_mask is kept inverted, with the run queue the hook came with. */
static inline __unused u32 considered(cpumask_t *excluded, u32 cpu)
{
	return !excluded || !((excluded->bits[cpu / 64] >> (cpu % 64)) & 1);
}

static inline __unused void exclude_cpu(struct lb_env *env, u32 cpu)
{
	env->held->cfs.excluded.bits[cpu / 64] |= 1ull << (cpu % 64);
}

static inline __unused void consider_all_cpus(sched_t *s, struct lb_env *env)
{
	u32 word;

	repeat(s, word, s->nr_cpus / 64 + 1)
		env->held->cfs.excluded.bits[word % (MAX_CPUS / 64)] = 0;
}

/* Is a CPU left to pull from, outside our group? */
__apart u32 anyone_left(sched_t *s __in_arena, struct lb_env *env __on_stack)
{
	u32 here = env->this_rq->cfs.position, i = span_start(s, env->level, here), end = span_end(s, env->level, here);
	u32 first = group_start(s, env->level, here), last = group_end(s, env->level, here) - 1;

	repeat_while(s, i < end && ((i >= first && i <= last) || !considered(&env->held->cfs.excluded, cpu_at(s, i))))
		i++;
	return i < end;
}

/* ---- groups ------------------------------------------------------------- */

static inline __unused void add_cpu(sched_t *s, group_stats_t *g, u32 cpu)
{
	rq_t *rq = rq_of(s, cpu);

	g->load += cpu_load(s, rq);
	g->util += cpu_util(s, rq);
	g->runnable += cpu_runnable(rq);
	g->nr_running += tun(s)->load_only ? rq->cfs.root.h_nr_running : rq_nr_running(rq);
	g->nr_fair += rq->cfs.root.h_nr_running;
	g->idle_cpus += idle_cpu(s, cpu);
	g->misfit = max_of(g->misfit, rq->cfs.misfit_task_load);
}

/* sgc->imbalance of the group of @level around position @i. */
__apart u32 group_imbalanced(sched_t *s __in_arena, u32 level, u32 i)
{
	return rq_of(s, cpu_at(s, group_start(s, level, i)))->cfs.sd[level].group_imbalanced;
}

static inline __unused u32 imbalance_pct(sched_t *s, u32 level)
{
	return (u32)(level == LEVEL_SMT ? tun(s)->smt_imbalance_pct : tun(s)->imbalance_pct);
}

/* Does what runs there, or what would if it could, need more than @g has?  @pct is the domain's imbalance_pct. */
static inline __unused u32 used_beyond_capacity(group_stats_t *g, u32 pct)
{
	return g->capacity * 100 < g->util * pct;
}

static inline __unused u32 waits_beyond_capacity(group_stats_t *g, u32 pct)
{
	return g->capacity * pct < g->runnable * 100;
}

/* group_is_overloaded(): more tasks than CPUs, and without pelt that suffices. */
static inline __unused u32 group_is_overloaded(sched_t *s, group_stats_t *g, u32 pct)
{
	if (g->nr_running <= g->weight || !tracks_load(s))
		return g->nr_running > g->weight;
	return used_beyond_capacity(g, pct) || waits_beyond_capacity(g, pct);
}

/* group_has_capacity(): fewer tasks than CPUs, or tasks that leave some time. */
static inline __unused u32 group_has_capacity(sched_t *s, group_stats_t *g, u32 pct)
{
	if (g->nr_running < g->weight || !tracks_load(s))
		return g->nr_running < g->weight && !tun(s)->load_only;
	return !waits_beyond_capacity(g, pct) && g->capacity * 100 > g->util * pct;
}

/* group_classify() */
static inline __unused void classify(sched_t *s, group_stats_t *g, u32 level)
{
	u32 pct = imbalance_pct(s, level);

	g->avg_load = div_u64(g->load * CAPACITY_SCALE, g->capacity);
	if (group_is_overloaded(s, g, pct))
		g->type = GROUP_OVERLOADED;
	else if (group_imbalanced(s, level, g->start))
		g->type = GROUP_IMBALANCED;
	else if (g->misfit)
		g->type = GROUP_MISFIT_TASK;
	else
		g->type = group_has_capacity(s, g, pct) ? GROUP_HAS_SPARE : GROUP_FULLY_BUSY;
}

/* update_group_capacity() */
static inline __unused void add_capacity(sched_t *s, group_stats_t *g, u32 cpu)
{
	u64 capacity = capacity_of(s, rq_of(s, cpu));

	g->capacity += capacity;
	g->min_capacity = min_of(g->min_capacity, capacity);
	g->max_capacity = max_of(g->max_capacity, capacity);
}

static inline __unused void clear_stats(sched_t *s, group_stats_t *g, u32 start, u32 end)
{
	g->start = start;
	g->weight = end - start;
	g->load = g->util = g->runnable = g->capacity = 0;
	g->max_capacity = g->misfit = 0;
	g->min_capacity = CAPACITY_SCALE;
	g->nr_running = g->nr_fair = g->idle_cpus = 0;
	repeat_while(s, start < end)
		add_capacity(s, g, cpu_at(s, start++));
}

/* update_sg_lb_stats(): the group of @level that begins at position @i.  @excluded may be NULL. */
__apart u32 group_stats(sched_t *s __in_arena, group_stats_t *g __in_arena, u32 level, u32 i,
			cpumask_t *excluded __in_arena)
{
	u32 end = group_end(s, level, i);

	clear_stats(s, g, i, end);
	repeat_while(s, i < end) {
		u32 cpu = cpu_at(s, i++);

		if (considered(excluded, cpu))
			add_cpu(s, g, cpu);
	}
	classify(s, g, level);
	return 0;
}

/* Would a task of @g be no better off here, as it needs a faster CPU, or has one? */
static inline __unused u32 cannot_help(sched_t *s, struct lb_env *env, group_stats_t *g)
{
	u64 capacity = capacity_of(s, env->dst);

	if (!domain_is_asym(s, env->level, env->dst->cfs.position))
		return false;
	if (g->type == GROUP_MISFIT_TASK)
		return !capacity_greater(capacity, g->max_capacity) || stats_of(env, STATS_LOCAL)->type != GROUP_HAS_SPARE;
	if (g->type == GROUP_HAS_SPARE || (g->type == GROUP_FULLY_BUSY && stats_of(env, STATS_BEST)->type == GROUP_FULLY_BUSY))
		return capacity_greater(g->min_capacity, capacity);
	return false;
}

/* update_sd_pick_busiest() */
static inline __unused u32 is_busier(sched_t *s, group_stats_t *g, group_stats_t *busiest)
{
	if (!g->nr_fair || g->type != busiest->type)
		return g->nr_fair && g->type > busiest->type;
	/* The first imbalanced group will do. */
	if (g->type == GROUP_IMBALANCED && !tun(s)->load_only)
		return false;
	if (g->type == GROUP_MISFIT_TASK)
		return g->misfit > busiest->misfit;
	if (g->type != GROUP_HAS_SPARE)
		return g->avg_load > busiest->avg_load;
	if (g->idle_cpus != busiest->idle_cpus)
		return g->idle_cpus < busiest->idle_cpus;
	return g->nr_running > busiest->nr_running;
}

/*
 * update_idle_cpu_scan(): at 85 % of use (100 / imbalance_pct) a wakeup need not look for an idle CPU any more, and
 * the less a cache's CPUs are used the more of them it looks at: 1 - (use / 85 %)^2.
 */
__apart u32 update_idle_cpu_scan(sched_t *s __in_arena, struct lb_env *env __on_stack, u64 sum_util)
{
	u32 here = env->dst->cfs.position, nr = span_weight(s, LEVEL_CACHE, here);
	u64 pct = imbalance_pct(s, env->level), x = div_u64(sum_util, nr), y;

	if (env->idle == CPU_NEWLY_IDLE || span_weight(s, env->level, here) != nr)
		return 0;
	y = min_of(div_u64(x * x * pct * pct, 10000 * CAPACITY_SCALE), CAPACITY_SCALE);
	rq_of(s, cpu_at(s, span_start(s, LEVEL_CACHE, here)))->cfs.nr_idle_scan =
		(u32)(((CAPACITY_SCALE - y) * nr) >> CAPACITY_SHIFT);
	return 0;
}

/* Our own group comes first, as others are compared with it.  Its misfits are none of our business. */
static inline __unused void local_stats(sched_t *s, struct lb_env *env)
{
	group_stats_t *local = stats_of(env, STATS_LOCAL);

	group_stats(s, local, env->level, group_start(s, env->level, env->dst->cfs.position), &env->held->cfs.excluded);
	if (!local->misfit)
		return;
	local->misfit = 0;
	classify(s, local, env->level);
}

/* Another group, which may be the busiest so far. */
static inline __unused group_stats_t *candidate_stats(sched_t *s, struct lb_env *env, u32 i)
{
	group_stats_t *g = stats_of(env, STATS_CANDIDATE), *busiest = stats_of(env, STATS_BEST);

	group_stats(s, g, env->level, i, &env->held->cfs.excluded);
	if (!cannot_help(s, env, g) && is_busier(s, g, busiest))
		copy_stats(busiest, g);
	return g;
}

/* update_sd_lb_stats(): returns the domain's average load. */
__apart u64 domain_stats(sched_t *s __in_arena, struct lb_env *env __on_stack)
{
	u32 here = env->dst->cfs.position, i = span_start(s, env->level, here), end = span_end(s, env->level, here);
	group_stats_t *local = stats_of(env, STATS_LOCAL), *g;
	u64 load = 0, capacity = 0, util = 0;

	local_stats(s, env);
	stats_of(env, STATS_BEST)->type = GROUP_NONE;
	repeat_while(s, i < end) {
		g = i == local->start ? local : candidate_stats(s, env, i);
		load += g->load;
		util += g->util;
		capacity += g->capacity;
		i = group_end(s, env->level, i);
	}
	update_idle_cpu_scan(s, env, util);
	return div_u64(load * CAPACITY_SCALE, capacity);
}

/* ---- find_busiest_group() ----------------------------------------------- */

/* Neither pull ourselves above the average nor the busiest below it. */
static inline __unused s64 to_average(group_stats_t *local, group_stats_t *busiest, u64 average)
{
	if (busiest->avg_load <= average || local->avg_load >= average)
		return 0;
	return (s64)(min_of((busiest->avg_load - average) * busiest->capacity,
			    (average - local->avg_load) * local->capacity) / CAPACITY_SCALE);
}

/* The busiest group is overloaded, and ours is, too, or would be. */
static inline __unused s64 load_imbalance(sched_t *s, struct lb_env *env, group_stats_t *local,
					  group_stats_t *busiest, u64 average)
{
	u32 slightly = 100 * busiest->avg_load <= imbalance_pct(s, env->level) * local->avg_load;

	env->migration = MIGRATE_LOAD;
	if (local->avg_load >= busiest->avg_load || (slightly && (local->type == GROUP_OVERLOADED || !tracks_load(s))))
		return 0;
	return to_average(local, busiest, average);
}

/*
 * calculate_imbalance() and fix_small_imbalance(): evened out as far as the rest of the domain is, or by
 * one task if that is too little for any to move.
 */
static inline __unused s64 even_load(group_stats_t *local, group_stats_t *busiest, u64 average)
{
	u64 per_task = div_u64(busiest->load, busiest->nr_running), imbalance;
	s64 gap = (s64)(busiest->avg_load - local->avg_load);
	u32 lighter;

	if (busiest->type == GROUP_IMBALANCED)
		per_task = min_of(per_task, average);
	lighter = local->nr_running && div_u64(local->load, local->nr_running) < per_task;
	imbalance = (u64)to_average(local, busiest, average);
	if (imbalance < per_task && ((lighter && gap >= 0) || gap * busiest->weight >= (s64)per_task))
		return (s64)per_task;
	return (s64)imbalance;
}

/*
 * find_busiest_group() up to 4.12: room did not count, unless for a CPU about to idle.  So CPUs
 * may idle for long beside a task that weighs more than many tasks that wait elsewhere.
 */
static inline __unused s64 load_only_imbalance(sched_t *s, struct lb_env *env, group_stats_t *local,
					       group_stats_t *busiest, u64 average)
{
	u32 room = local->nr_running < local->weight, crowded = busiest->type == GROUP_OVERLOADED;

	env->migration = MIGRATE_TASK;
	if (env->idle == CPU_NEWLY_IDLE && room && crowded)
		return 1;
	env->migration = MIGRATE_LOAD;
	if (busiest->type == GROUP_IMBALANCED)
		return even_load(local, busiest, average);
	if (local->avg_load >= busiest->avg_load || local->avg_load >= average)
		return 0;
	if (env->idle == CPU_IDLE && !crowded && local->idle_cpus <= busiest->idle_cpus + 1)
		return 0;
	if (env->idle != CPU_IDLE && 100 * busiest->avg_load <= imbalance_pct(s, env->level) * local->avg_load)
		return 0;
	return even_load(local, busiest, average);
}

/* The CPUs of the domain share a cache: SD_SHARE_LLC. */
static inline __unused u32 shares_cache(u32 level)
{
	return level <= LEVEL_CACHE;
}

/* We have room and the others too much: fill what is left of our capacity, or take at least one task. */
static inline __unused s64 util_imbalance(struct lb_env *env, group_stats_t *local)
{
	env->migration = MIGRATE_UTIL;
	if (local->capacity > local->util)
		return (s64)(local->capacity - local->util);
	env->migration = MIGRATE_TASK;
	return env->idle != CPU_NOT_IDLE;
}

/* We have room: how many tasks should come?  Evened out is their number, or that of idle CPUs. */
static inline __unused s64 spare_imbalance(sched_t *s, struct lb_env *env, group_stats_t *local,
					   group_stats_t *busiest)
{
	u32 here = env->dst->cfs.position;
	u32 sibling = tun(s)->prefer_sibling && has_child(s, env->level, here) && !domain_is_asym(s, env->level, here);
	s64 more_tasks = (s64)busiest->nr_running - local->nr_running;
	s64 more_idle = (s64)local->idle_cpus - busiest->idle_cpus;

	if (busiest->type == GROUP_OVERLOADED && tracks_load(s) && !shares_cache(env->level))
		return util_imbalance(env, local);
	env->migration = MIGRATE_TASK;
	if (tun(s)->numa_imbalance && domain_is_numa(env->level) && busiest->type != GROUP_OVERLOADED &&
	    !adjust_numa_imbalance(sibling ? more_tasks : more_idle, local->nr_running + 1, imb_numa_nr(s, here)))
		return 0;
	if (sibling && more_tasks > 1)
		return more_tasks / 2;
	if (busiest->type != GROUP_OVERLOADED) {
		if (env->idle == CPU_NOT_IDLE || busiest->nr_fair == 1)
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
	group_stats_t *local = stats_of(env, STATS_LOCAL), *busiest = stats_of(env, STATS_BEST);
	u64 average = domain_stats(s, env);

	env->imbalance = 0;
	if (busiest->type == GROUP_NONE)
		return MAX_CPUS;
	if (busiest->type == GROUP_MISFIT_TASK) {
		env->migration = MIGRATE_MISFIT;
		env->imbalance = 1;
	} else if (tun(s)->load_only) {
		env->imbalance = load_only_imbalance(s, env, local, busiest, average);
	} else if (busiest->type == GROUP_IMBALANCED) {
		/* Averages of groups mean nothing where affinity forbids balance: try one task. */
		env->migration = MIGRATE_TASK;
		env->imbalance = 1;
	} else if (local->type > busiest->type) {
		return MAX_CPUS;
	} else if (local->type == GROUP_HAS_SPARE) {
		env->imbalance = spare_imbalance(s, env, local, busiest);
	} else if (busiest->type == GROUP_OVERLOADED) {
		env->imbalance = load_imbalance(s, env, local, busiest, average);
	}
	return env->imbalance > 0 ? busiest->start : MAX_CPUS;
}

/* Is a task to come that needs a faster CPU than it has? */
static inline __unused u32 seeks_misfit(sched_t *s, struct lb_env *env)
{
	return has_asym_capacity(s) && env->migration == MIGRATE_MISFIT;
}

/* Load in proportion to what the CPU can do, utilisation, or tasks; 0 if its only task is not to come. */
static inline __unused u64 how_busy(sched_t *s, struct lb_env *env, rq_t *rq)
{
	u32 tasks = rq->cfs.root.h_nr_running;

	/* Nor is a task to be pulled away from a CPU as fast as this one that has no other. */
	if (tasks == 1 && domain_is_asym(s, env->level, env->dst->cfs.position) &&
	    !capacity_greater(capacity_of(s, env->dst), capacity_of(s, rq)))
		return 0;
	if (seeks_misfit(s, env))
		return rq->cfs.misfit_task_load;
	if (env->migration == MIGRATE_TASK || !tasks)
		return tasks;
	if (env->migration == MIGRATE_UTIL)
		return tasks > 1 ? max_of(cpu_util(s, rq), min_of(cpu_runnable(rq), capacity_of(s, rq))) : 0;
	if (tasks == 1 && (s64)cpu_load(s, rq) > env->imbalance)
		return 0;
	return div_u64(cpu_load(s, rq) * CAPACITY_SCALE, capacity_of(s, rq));
}

/* Sets src, to NULL if nothing in the group can help. */
__apart u32 find_busiest_queue(sched_t *s __in_arena, struct lb_env *env __on_stack, u32 i)
{
	u32 end = group_end(s, env->level, i);
	u64 most = 0;

	env->src = NULL;
	repeat_while(s, i < end) {
		rq_t *rq = rq_of(s, cpu_at(s, i++));
		u64 busy;

		if (!considered(&env->held->cfs.excluded, rq->cfs.cpu))
			continue;
		busy = how_busy(s, env, rq);
		if (busy > most) {
			most = busy;
			env->src = rq;
		}
	}
	return 0;
}
#endif
