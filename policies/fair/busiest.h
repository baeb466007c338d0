/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * busiest.h - from where fair tasks should be pulled, and how many: find_busiest_group() and find_busiest_queue().
 *
 * A CPU that balances a domain compares its own group with the others.  A group
 * has room to spare, is just full, is imbalanced by affinity, or is overloaded.
 * The type of the busiest group decides what is evened out: idle CPUs, numbers
 * of tasks, or load.
 *
 * Order and names follow kernel/sched/fair.c of 6.6.  Included by balance.h.
 */
#ifndef SCHEDLAB_FAIR_BUSIEST_H
#define SCHEDLAB_FAIR_BUSIEST_H

/* What the tunable active_balance says. */
enum active_balance { ACTIVE_BALANCE_OFF, ACTIVE_BALANCE_TASKS, ACTIVE_BALANCE_ANY };

enum cpu_idle_type { CPU_NOT_IDLE, CPU_IDLE, CPU_NEWLY_IDLE };
enum group_type { GROUP_NONE, GROUP_HAS_SPARE, GROUP_FULLY_BUSY, GROUP_IMBALANCED, GROUP_OVERLOADED };
enum migration_type { MIGRATE_LOAD, MIGRATE_TASK };

/*
 * What is known of a group.  avg_load is per CPU: 1024 is one task of nice 0.
 * weight counts all CPUs of the group; the other numbers count only CPUs under
 * consideration.
 */
struct group_stats {
	u64 load, avg_load;
	u32 nr_running, nr_fair, idle_cpus, weight;
	u32 type;
	u32 start;		/* its first position */
};

/* One balancing operation; it lives on the stack of load_balance(). */
struct lb_env {
	rq_t *held;		/* the hook came with its lock */
	rq_t *this_rq;		/* balances */
	rq_t *dst, *src;	/* tasks move to and from; dst is another CPU of this_rq's group after LBF_DST_PINNED */
	u32 level, idle;
	u32 migration;		/* enum migration_type: what imbalance counts */
	s64 imbalance;
	u32 moved;
	u32 all_pinned;		/* LBF_ALL_PINNED: no task seen on src may go to dst */
	u32 some_pinned;	/* LBF_SOME_PINNED: a task seen on src may not */
	u32 new_dst_cpu;	/* LBF_DST_PINNED: but to this CPU of the group it may; else MAX_CPUS */
};

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

static inline __unused void add_cpu(sched_t *s, struct group_stats *g, u32 cpu)
{
	rq_t *rq = rq_of(s, cpu);

	g->load += rq->cfs.root.load;
	g->nr_running += tun(s)->load_only ? rq->cfs.root.h_nr_running : rq_nr_running(rq);
	g->nr_fair += rq->cfs.root.h_nr_running;
	g->idle_cpus += idle_cpu(s, cpu);
}

/* sgc->imbalance of the group of @level around position @i. */
__apart u32 group_imbalanced(sched_t *s __in_arena, u32 level, u32 i)
{
	return rq_of(s, cpu_at(s, group_start(s, level, i)))->cfs.sd[level].group_imbalanced;
}

/* group_classify() */
static inline __unused void classify(sched_t *s, struct group_stats *g, u32 imbalanced)
{
	g->avg_load = div_u64(g->load, g->weight);
	if (g->nr_running > g->weight)
		g->type = GROUP_OVERLOADED;
	else if (imbalanced)
		g->type = GROUP_IMBALANCED;
	else
		g->type = g->nr_running == g->weight || tun(s)->load_only ? GROUP_FULLY_BUSY : GROUP_HAS_SPARE;
}

/* update_sg_lb_stats(): the group of @level that begins at position @i.  @excluded may be NULL. */
__apart u32 group_stats(sched_t *s __in_arena, struct group_stats *g __on_stack, u32 level, u32 i,
			cpumask_t *excluded __in_arena)
{
	u32 end = group_end(s, level, i);

	g->start = i;
	g->weight = end - i;
	g->load = g->nr_running = g->nr_fair = g->idle_cpus = 0;
	repeat_while(s, i < end) {
		u32 cpu = cpu_at(s, i++);

		if (considered(excluded, cpu))
			add_cpu(s, g, cpu);
	}
	classify(s, g, group_imbalanced(s, level, g->start));
	return 0;
}

/* update_sd_pick_busiest() */
static inline __unused u32 is_busier(sched_t *s, struct group_stats *g, struct group_stats *busiest)
{
	if (!g->nr_fair || g->type != busiest->type)
		return g->nr_fair && g->type > busiest->type;
	/* The first imbalanced group will do. */
	if (g->type == GROUP_IMBALANCED && !tun(s)->load_only)
		return false;
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

		group_stats(s, &g, env->level, i, &env->held->cfs.excluded);
		load += g.load;
		if (is_local)
			*local = g;
		else if (is_busier(s, &g, busiest))
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
	u64 per_task = div_u64(busiest->load, busiest->nr_running), imbalance = 0;
	s64 gap = (s64)(busiest->avg_load - local->avg_load);
	u32 lighter;

	if (busiest->type == GROUP_IMBALANCED)
		per_task = min_of(per_task, average);
	lighter = local->nr_running && div_u64(local->load, local->nr_running) < per_task;
	if (busiest->avg_load > average && local->avg_load < average)
		imbalance = min_of((busiest->avg_load - average) * busiest->weight,
				   (average - local->avg_load) * local->weight);
	if (imbalance < per_task && ((lighter && gap >= 0) || gap * busiest->weight >= (s64)per_task))
		return (s64)per_task;
	return (s64)imbalance;
}

/*
 * find_busiest_group() up to 4.12: room did not count, unless for a CPU about to idle.  So CPUs
 * may idle for long beside a task that weighs more than many tasks that wait elsewhere.
 */
static inline __unused s64 load_only_imbalance(sched_t *s, struct lb_env *env, struct group_stats *local,
					       struct group_stats *busiest, u64 average)
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
	struct group_stats local = {}, busiest = {};
	u64 average = domain_stats(s, env, &local, &busiest);

	env->imbalance = 0;
	if (busiest.type == GROUP_NONE)
		return MAX_CPUS;
	if (tun(s)->load_only) {
		env->imbalance = load_only_imbalance(s, env, &local, &busiest, average);
	} else if (busiest.type == GROUP_IMBALANCED) {
		/* Averages of groups mean nothing where affinity forbids balance: try one task. */
		env->migration = MIGRATE_TASK;
		env->imbalance = 1;
	} else if (local.type > busiest.type) {
		return MAX_CPUS;
	} else if (local.type == GROUP_HAS_SPARE) {
		env->imbalance = spare_imbalance(s, env, &local, &busiest);
	} else if (busiest.type == GROUP_OVERLOADED) {
		env->imbalance = load_imbalance(s, env, &local, &busiest, average);
	}
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
		u64 busy = env->migration == MIGRATE_LOAD ? rq->cfs.root.load : rq->cfs.root.h_nr_running;

		if (!considered(&env->held->cfs.excluded, rq->cfs.cpu))
			continue;
		/* Its only task is more than we want. */
		if (env->migration == MIGRATE_LOAD && rq->cfs.root.h_nr_running == 1 && (s64)rq->cfs.root.load > env->imbalance)
			continue;
		if (busy > most) {
			most = busy;
			env->src = rq;
		}
	}
	return 0;
}
#endif
