/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * placement.h - on which CPU a task wakes up, starts, or continues after exec: select_task_rq().
 *
 * A wakeup chooses between two caches first, the one the task ran on and the
 * waker's (wake_affine()), and then looks for an idle CPU that shares the chosen
 * one (select_idle_sibling()).  A new task, or one that calls exec() and has
 * nothing in a cache, descends from the machine to the idlest CPU.
 *
 * Order and names follow kernel/sched/fair.c of 5.5 to 6.12.  Included by class.h.
 *
 * FIDELITY: without the tunable sis_util a search for an idle CPU sees all that share the cache; kernels from 4.12 to 5.19
 *	gave up earlier when that had taken long (SIS_PROP).
 */
#ifndef SCHEDLAB_FAIR_PLACEMENT_H
#define SCHEDLAB_FAIR_PLACEMENT_H

/* ---- idle CPUs ---------------------------------------------------------- */

/*
 * An idle CPU @p may use in the range of positions, searched circularly from @from on; MAX_CPUS if there
 * is none among the first @most that it may.
 */
__apart u32 idle_cpu_in(sched_t *s __in_arena, task_t *p __in_arena, u32 level, u32 from, u32 most)
{
	u32 start = span_start(s, level, from), nr = span_weight(s, level, from), n;

	repeat(s, n, nr) {
		u32 cpu = cpu_at(s, start + (from - start + n) % nr);

		if (!cpu_allowed(p, cpu))
			continue;
		if (!most--)
			return MAX_CPUS;
		if (wakes_at_once(s, cpu))
			return cpu;
	}
	return MAX_CPUS;
}

/* SIS_UTIL: how many CPUs of the cache around position @i a wakeup looks at. */
static inline __unused u32 nr_idle_scan(sched_t *s, u32 i)
{
	if (!tun(s)->sis_util || !tracks_load(s))
		return MAX_CPUS;
	return rq_of(s, cpu_at(s, span_start(s, LEVEL_CACHE, i)))->cfs.nr_idle_scan;
}

/* select_idle_core(): a CPU of an idle core, searched circularly from behind @target on. */
__apart u32 select_idle_core(sched_t *s __in_arena, task_t *p __in_arena, u32 target)
{
	u32 start = span_start(s, LEVEL_CACHE, target), nr = span_weight(s, LEVEL_CACHE, target), n;

	repeat(s, n, nr) {
		u32 i = start + (target - start + 1 + n) % nr;

		if (cpu_allowed(p, cpu_at(s, i)) && core_is_idle(s, i))
			return cpu_at(s, i);
	}
	return MAX_CPUS;
}

/* select_idle_cpu(), with select_idle_smt(): an idle core before a sibling of @prev before any idle CPU. */
__apart u32 select_idle_cpu(sched_t *s __in_arena, task_t *p __in_arena, u32 prev, u32 target)
{
	u32 i = position_of(s, target), next = i + 1, cpu = MAX_CPUS, most = nr_idle_scan(s, i);

	if (fair_of(s)->has_smt) {
		cpu = most ? select_idle_core(s, p, i) : MAX_CPUS;
		if (cpu == MAX_CPUS && cpus_share_cache(s, prev, target))
			cpu = idle_cpu_in(s, p, LEVEL_SMT, position_of(s, prev), MAX_CPUS);
	}
	if (next == span_end(s, LEVEL_CACHE, i))
		next = span_start(s, LEVEL_CACHE, i);
	if (cpu == MAX_CPUS)
		cpu = idle_cpu_in(s, p, LEVEL_CACHE, next, most);
	return cpu;
}

/* @target if that is idle, else @prev, else where it ran before that, else any that shares the cache. */
static inline __unused u32 select_idle_sibling(sched_t *s, ts_t *p, u32 prev, u32 target)
{
	task_t *task = task_of(p);
	u32 recent = p->se.recent_used_cpu, cpu;

	if (has_asym_capacity(s) && p->se.attached)
		update_blocked_entity(&p->se, p->se.attached->avg.last_update_time);
	if (wakes_at_once(s, target) && asym_fits_cpu(s, p, target))
		return target;
	if (prev != target && cpus_share_cache(s, prev, target) && wakes_at_once(s, prev) && asym_fits_cpu(s, p, prev))
		return prev;
	p->se.recent_used_cpu = prev;
	if (recent != prev && recent != target && recent < s->nr_cpus && cpus_share_cache(s, recent, target) &&
	    cpu_allowed(task, recent) && wakes_at_once(s, recent) && asym_fits_cpu(s, p, recent))
		return recent;
	if (has_asym_capacity(s) && rq_of(s, target)->cfs.asym_level_full < NR_LEVELS)
		cpu = select_idle_capacity(s, p, target);
	else
		cpu = select_idle_cpu(s, task, prev, target);
	return cpu == MAX_CPUS ? target : cpu;
}

/*
 * 2.6.24's wake_idle(): the first idle CPU of the core, then of the cache.  If
 * @target has several tasks already the others are taken to be busy, too.
 */
__apart u32 wake_idle(sched_t *s __in_arena, task_t *p __in_arena, u32 target)
{
	u32 i = position_of(s, target), level;

	if (rq_nr_running(rq_of(s, target)) != 1)
		return target;
	repeat(s, level, LEVEL_NODE) {
		u32 cpu = idle_cpu_in(s, p, level, span_start(s, level, i), MAX_CPUS);

		if (cpu != MAX_CPUS)
			return cpu;
	}
	return target;
}

/* ---- waker and wakee ---------------------------------------------------- */

/* The waker is what runs here, even if an interrupt does the waking. */
static inline __unused void record_wakee(sched_t *s, task_t *waker, task_t *p)
{
	ts_t *w = ts_of(waker);

	if (s->now > w->se.wakee_flip_decay_ts + NSEC_PER_SEC) {
		w->se.wakee_flips >>= 1;
		w->se.wakee_flip_decay_ts = s->now;
	}
	if (w->se.last_wakee != p->id + 1) {
		w->se.last_wakee = p->id + 1;
		w->se.wakee_flips++;
	}
}

/* One task wakes many tasks that wake others in turn: a single cache would be too small for all of them. */
static inline __unused u32 wake_wide(sched_t *s, task_t *waker, ts_t *p)
{
	u32 factor = span_weight(s, LEVEL_CACHE, position_of(s, s->this_cpu));
	u32 master = ts_of(waker)->se.wakee_flips, slave = p->se.wakee_flips;

	if (!tun(s)->wake_wide)
		return false;
	if (master < slave) {
		master = p->se.wakee_flips;
		slave = ts_of(waker)->se.wakee_flips;
	}
	return slave >= factor && master >= (u64)slave * factor;
}

/* wake_affine_weight(): would this CPU, with @p, be less loaded than @prev?  @prev is given a small advantage. */
static inline __unused u32 wake_affine_weight(sched_t *s, ts_t *p, u32 prev, u32 sync)
{
	rq_t *this_rq = rq_of(s, s->this_cpu), *prev_rq = rq_of(s, prev);
	s64 this_load = (s64)cpu_load(s, this_rq), prev_load = (s64)cpu_load(s, prev_rq), load = (s64)task_h_load(s, p);
	task_t *current = cpu_curr(s, s->this_cpu);

	if (sync && current && entity_runs(entity_of_task(current)))
		this_load -= min_of((s64)task_h_load(s, ts_of(current)), this_load);
	/* An average remembers @p, although it sleeps. */
	if (tracks_load(s))
		prev_load -= load;
	this_load = (this_load + load) * 100;
	prev_load *= 100 + (tun(s)->imbalance_pct - 100) / 2;
	return this_load * (s64)capacity_of(s, prev_rq) < prev_load * (s64)capacity_of(s, this_rq) + (sync ? 1 : 0);
}

/* wake_affine(): this CPU or @prev, whichever @p will run on sooner. */
static inline __unused u32 wake_affine(sched_t *s, ts_t *p, u32 prev, u32 sync)
{
	u32 this_cpu = s->this_cpu;

	/* The interrupt found this CPU idle: stay near, but where the task's data is. */
	if (idle_cpu(s, this_cpu) && cpus_share_cache(s, this_cpu, prev))
		return idle_cpu(s, prev) ? prev : this_cpu;
	if (sync && rq_nr_running(rq_of(s, this_cpu)) - nr_asleep_in_sync(s, rq_of(s, this_cpu)) == 1)
		return this_cpu;
	if (idle_cpu(s, prev))
		return prev;
	return wake_affine_weight(s, p, prev, sync) ? this_cpu : prev;
}

static inline __unused u32 select_wake_cpu(sched_t *s, task_t *task, u32 prev, u32 flags)
{
	task_t *waker = cpu_curr(s, s->this_cpu);
	u32 target = prev, wide = false;
	ts_t *p = ts_of(task);

	if (waker && waker != task) {
		record_wakee(s, waker, task);
		wide = wake_wide(s, waker, p);
	}
	if (prev != s->this_cpu && cpu_allowed(task, s->this_cpu) && !wide)
		target = wake_affine(s, p, prev, flags & ENQ_SYNC);
	return tun(s)->select_idle ? select_idle_sibling(s, p, prev, target) : wake_idle(s, task, target);
}

/* ---- fork and exec ------------------------------------------------------ */

/* The stats of a group without @p, which calls exec() there. */
__apart u32 group_stats_without(sched_t *s __in_arena, group_stats_t *g __in_arena, u32 level, u32 i,
				task_t *p __in_arena)
{
	u32 here;

	group_stats(s, g, level, i, NULL);
	if (!p || !p->on_cpu)
		return 0;
	here = position_of(s, p->cpu);
	if (task_is_rt(p) || here < i || here >= group_end(s, level, i))
		return 0;
	g->load = sub_positive(g->load, task_h_load(s, ts_of(p)));
	g->util = sub_positive(g->util, task_util_est(ts_of(p)));
	g->runnable = sub_positive(g->runnable, ts_of(p)->se.avg.runnable_avg);
	g->nr_running -= min_of(1, g->nr_running);
	g->idle_cpus += rq_nr_running(rq_of(s, p->cpu)) == 1;
	classify(s, g, level);
	return 0;
}

/* On CPUs of unequal speed: a group none of whose CPUs is fast enough for @p is the worse for it. */
static inline __unused void note_fit(sched_t *s, group_stats_t *g, u32 level, u32 i, task_t *p)
{
	u32 end = group_end(s, level, i);

	if (!domain_is_asym(s, level, i))
		return;
	repeat_while(s, i < end && !task_fits_cpu(s, ts_of(p), cpu_at(s, i)))
		i++;
	g->misfit = i == end;
	classify(s, g, level);
}

/* update_pick_idlest() */
static inline __unused u32 is_idler(group_stats_t *g, group_stats_t *idlest)
{
	if (g->type != idlest->type)
		return g->type < idlest->type;
	if (g->type == GROUP_HAS_SPARE && g->idle_cpus == idlest->idle_cpus)
		return g->util < idlest->util;
	if (g->type == GROUP_HAS_SPARE)
		return g->idle_cpus > idlest->idle_cpus;
	if (g->type == GROUP_MISFIT_TASK)
		return g->max_capacity > idlest->max_capacity;
	return g->type != GROUP_IMBALANCED && g->avg_load < idlest->avg_load;
}

/* How many of its CPUs may @p use? */
static inline __unused u32 group_allows(sched_t *s, u32 level, u32 i, task_t *p)
{
	u32 end = group_end(s, level, i), nr = 0;

	repeat_while(s, i < end)
		nr += cpu_allowed(p, cpu_at(s, i++));
	return nr;
}

/* Are there so few tasks on our node that another one may start beside them?  @allowed counts its CPUs that it may use. */
static inline __unused u32 node_suffices(sched_t *s, group_stats_t *local, group_stats_t *idlest, u32 allowed)
{
	s64 imbalance = (s64)local->idle_cpus - idlest->idle_cpus;

	return !adjust_numa_imbalance(max_of(imbalance, -imbalance), local->nr_running + 1,
				      min_of(imb_numa_nr(s, local->start), allowed));
}

/* Is our own group, of the CPUs of which so many are allowed, good enough? */
static inline __unused u32 local_suffices(sched_t *s, u32 level, group_stats_t *local, group_stats_t *idlest, u32 allowed)
{
	u64 imbalance = NICE_0_LOAD * (imbalance_pct(s, level) - 100) / 100;
	u32 numa = tun(s)->numa_imbalance && domain_is_numa(level);

	if (local->type != idlest->type)
		return local->type < idlest->type;
	if (local->type == GROUP_HAS_SPARE && numa && node_suffices(s, local, idlest, allowed))
		return true;
	if (local->type == GROUP_HAS_SPARE)
		return local->idle_cpus >= idlest->idle_cpus;
	if (local->type == GROUP_MISFIT_TASK)
		return local->max_capacity >= idlest->max_capacity;
	if (local->type == GROUP_IMBALANCED)
		return true;
	if (numa && idlest->avg_load + imbalance >= local->avg_load)
		return true;
	if (idlest->avg_load >= local->avg_load + imbalance)
		return true;
	return 100 * local->avg_load <= imbalance_pct(s, level) * idlest->avg_load;
}

/* sched_balance_find_dst_group(), once find_idlest_group(): MAX_CPUS for our own. */
__apart u32 find_idlest_group(sched_t *s __in_arena, u32 level, u32 here, task_t *p __in_arena, u32 exec)
{
	u32 i = span_start(s, level, here), end = span_end(s, level, here);
	group_stats_t *stats = rq_of(s, p->cpu)->cfs.stats, *g = stats + STATS_CANDIDATE;
	u32 local_allowed = false;

	stats[STATS_BEST].type = GROUP_OVERLOADED + 1;
	repeat_while(s, i < end) {
		u32 is_local = i == group_start(s, level, here), allowed = group_allows(s, level, i, p);

		group_stats_without(s, g, level, i, exec ? p : NULL);
		note_fit(s, g, level, i, p);
		if (is_local) {
			copy_stats(stats + STATS_LOCAL, g);
			local_allowed = allowed;
		} else if (allowed && is_idler(g, stats + STATS_BEST)) {
			copy_stats(stats + STATS_BEST, g);
		}
		i = group_end(s, level, i);
	}
	if (stats[STATS_BEST].type > GROUP_OVERLOADED ||
	    (local_allowed && local_suffices(s, level, stats + STATS_LOCAL, stats + STATS_BEST, local_allowed)))
		return MAX_CPUS;
	return stats[STATS_BEST].start;
}

/* find_idlest_group_cpu(): of the idle CPUs the one that became so last, else the least loaded. */
__apart u32 find_idlest_cpu(sched_t *s __in_arena, u32 level, u32 i, task_t *p __in_arena)
{
	u32 end = group_end(s, level, i), idlest = MAX_CPUS, idle = false;
	u64 latest = 0, least = ~0ull;

	repeat_while(s, i < end) {
		u32 cpu = cpu_at(s, i++);
		u64 since = cpu_of(s, cpu)->idle_since, load = cpu_load(s, rq_of(s, cpu));

		if (!cpu_allowed(p, cpu))
			continue;
		if (idle_cpu(s, cpu) && (!idle || since > latest)) {
			idle = true;
			latest = since;
			idlest = cpu;
		} else if (!idle && !idle_cpu(s, cpu) && load < least) {
			least = load;
			idlest = cpu;
		}
	}
	return idlest;
}

/* sched_balance_find_dst_cpu(), once find_idlest_cpu(): from the widest domain inwards. */
__apart u32 select_idlest_cpu(sched_t *s __in_arena, task_t *p __in_arena, u32 cpu, u32 exec)
{
	s32 level;

	repeat_down(s, level, NR_LEVELS - 1, 0) {
		u32 here = position_of(s, cpu), group;

		if (!domain_exists(s, (u32)level, here))
			continue;
		group = find_idlest_group(s, (u32)level, here, p, exec);
		if (group != MAX_CPUS)
			cpu = find_idlest_cpu(s, (u32)level, group, p);
	}
	return cpu;
}

/* ---- real-time tasks ---------------------------------------------------- */

/* 0 for an idle CPU, 1 for one that runs a fair task, and more the better its real-time task is. */
static inline __unused u32 cpu_priority(sched_t *s, u32 cpu)
{
	task_t *curr = cpu_curr(s, cpu);
	u32 first = prio_array_first(&rq_of(s, cpu)->cfs.rt);

	if (first != PRIO_NONE)
		return 1 + MAX_RT_PRIO - first;
	return curr != NULL;
}

/* select_task_rq_rt(): stay unless an equal or better real-time task is there; then to the CPU of lowest priority. */
__apart u32 select_rt_cpu(sched_t *s __in_arena, task_t *p __in_arena, u32 prev)
{
	u32 mine = 1 + p->rt_priority + 1, lowest = cpu_priority(s, prev), best = prev, cpu;

	if (lowest < mine)
		return prev;
	for_each_cpu(s, cpu) {
		u32 priority = cpu_priority(s, cpu);

		if (cpu_allowed(p, cpu) && priority < mine && priority < lowest) {
			lowest = priority;
			best = cpu;
		}
	}
	return best;
}

/* ---- the hook ----------------------------------------------------------- */

__apart u32 any_allowed_cpu(sched_t *s __in_arena, task_t *p __in_arena)
{
	u32 cpu;

	for_each_cpu(s, cpu)
		if (cpu_allowed(p, cpu))
			return cpu;
	return p->cpu;
}

/* select_task_rq().  The first tasks have no parent and stay where the host puts them; a delayed one is queued. */
static inline __unused u32 fair_select_cpu(sched_t *s, task_t *p, u32 flags)
{
	u32 prev = cpu_allowed(p, p->cpu) ? p->cpu : any_allowed_cpu(s, p);
	u32 cpu;

	if (s->nr_cpus == 1 || entity_delayed(entity_of_task(p)) || (flags & ENQ_MOVE) || ((flags & ENQ_NEW) && !p->parent))
		return prev;
	if (task_is_rt(p))
		return flags & ENQ_EXEC ? prev : select_rt_cpu(s, p, prev);
	if (!(flags & (ENQ_NEW | ENQ_EXEC)))
		return select_wake_cpu(s, p, prev, flags);
	cpu = select_idlest_cpu(s, p, prev, flags & ENQ_EXEC);
	return cpu_allowed(p, cpu) ? cpu : prev;
}
#endif
