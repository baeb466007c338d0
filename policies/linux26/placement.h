/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * placement.h - on which CPU a task of Linux 2.6.7 to 2.6.13 wakes up, starts, or continues after exec.
 *
 * Include it after balance.h; it has no further requirements.  It provides
 * select_cpu().
 */
#ifndef SCHEDLAB_PLACEMENT_H
#define SCHEDLAB_PLACEMENT_H

/* ---- where a task wakes up ---------------------------------------------- */

/* The first idle CPU @p may use in a domain; @cpu if there is none. */
static inline __unused u32 idle_cpu_in_span(sched_t *s, u32 cpu, u32 level, task_t *p)
{
	sd_t *sd = &rq_of(s, cpu)->smp.sd[level];
	u32 i = sd->start;

	repeat_while(s, i < sd->end) {
		u32 idle = span_cpu(s, level, i++);

		if (cpu_allowed(p, idle) && idle_cpu(s, idle))
			return idle;
	}
	return cpu;
}

/* An idle CPU of the inner domains that want it is better than a busy one. */
static inline __unused u32 wake_idle(sched_t *s, u32 cpu, task_t *p)
{
	rq_t *rq = rq_of(s, cpu);
	u32 level, idle = cpu;

	if (tun(s)->wake_idle == WAKE_IDLE_NEVER ||
	    (tun(s)->wake_idle == WAKE_IDLE_ON_SMT && !domains_of(s)->has_smt))
		return cpu;
	repeat(s, level, SD_LEVELS) {
		if (rq->smp.sd[level].start == rq->smp.sd[level].end)
			continue;
		if (!idle_cpu(s, idle) && sd_has(s, rq, level, SD_WAKE_IDLE))
			idle = idle_cpu_in_span(s, cpu, level, p);
		else
			return idle;
	}
	return idle;
}

/* 2.6.11: does any domain around both CPUs let @p come to this one? */
static inline __unused u32 wake_here_2611(sched_t *s, ts_t *p, u32 cpu, u32 this_cpu, u32 sync)
{
	rq_t *rq = rq_of(s, this_cpu);
	u32 idx = params_of(s, SD_CPU)->wake_idx, level;
	u32 load = source_load(s, cpu, idx), this_load = target_load(s, this_cpu, idx);

	/* The waker is about to leave. */
	if (sync)
		this_load -= min_of(SCHED_LOAD_SCALE, this_load);
	/* From an idle CPU to a busy one? */
	if (load < SCHED_LOAD_SCALE / 2 && this_load > SCHED_LOAD_SCALE / 2)
		return false;
	repeat(s, level, SD_LEVELS) {
		sd_params_t *sd = params_of(s, level);
		u32 imbalance = sd->imbalance_pct + (sd->imbalance_pct - 100) / 2;
		u32 cold = (sd->flags & SD_WAKE_AFFINE) && !task_hot(p, rq_of(s, task_of(p)->cpu)->timestamp_last_tick, sd);
		u32 evens = (sd->flags & SD_WAKE_BALANCE) && imbalance * this_load <= 100 * load;

		if ((cold || evens) && in_span(s, &rq->smp.sd[level], cpu))
			return true;
	}
	return false;
}

/* 2.6.13: in the smallest domain around both, how would the loads be? */
static inline __unused u32 wake_here_2613(sched_t *s, u32 cpu, u32 this_cpu, u32 sync)
{
	rq_t *rq = rq_of(s, this_cpu);
	u32 level = 0;
	sd_params_t *sd;
	u32 imbalance, load, this_load, tl;

	repeat_while(s, level < SD_LEVELS && !in_span(s, &rq->smp.sd[level], cpu))
		level++;
	if (level == SD_LEVELS)
		return false;
	sd = params_of(s, level);
	imbalance = 100 + (sd->imbalance_pct - 100) / 2;
	load = source_load(s, cpu, sd->wake_idx);
	this_load = target_load(s, this_cpu, sd->wake_idx);
	tl = this_load - (sync ? min_of(SCHED_LOAD_SCALE, this_load) : 0);
	if (sd->flags & SD_WAKE_AFFINE) {
		if (tl <= load && tl + target_load(s, cpu, sd->wake_idx) <= SCHED_LOAD_SCALE)
			return true;
		if (100 * (tl + SCHED_LOAD_SCALE) <= imbalance * load)
			return true;
	}
	return (sd->flags & SD_WAKE_BALANCE) && imbalance * this_load <= 100 * load;
}

/* The beginning of try_to_wake_up(). */
static inline __unused u32 wake_cpu(sched_t *s, task_t *p, u32 cpu, u32 flags)
{
	u32 this_cpu = s->this_cpu, sync = flags & ENQ_SYNC, here;

	if (cpu != this_cpu && cpu_allowed(p, this_cpu)) {
		if (tun(s)->wake_one_domain)
			here = wake_here_2613(s, cpu, this_cpu, sync);
		else
			here = wake_here_2611(s, ts_of(p), cpu, this_cpu, sync);
		if (here)
			cpu = this_cpu;
	}
	return wake_idle(s, cpu, p);
}

/* ---- fork and exec ------------------------------------------------------ */

/* 2.6.11: the least loaded CPU of a domain, if that is much less loaded than this one. */
static inline __unused u32 find_idlest_cpu_2611(sched_t *s, task_t *p, u32 this_cpu, u32 level)
{
	sd_t *sd = &rq_of(s, this_cpu)->smp.sd[level];
	sd_params_t *params = params_of(s, level);
	u32 idx = params->forkexec_idx, i = sd->start;
	u32 min_cpu = this_cpu, min_load = ~0u;
	u64 this_load = source_load(s, this_cpu, idx) + SCHED_LOAD_SCALE;

	repeat_while(s, i < sd->end && min_load) {
		u32 cpu = span_cpu(s, level, i++);
		u32 load = target_load(s, cpu, idx);

		if (cpu_allowed(p, cpu) && load < min_load) {
			min_load = load;
			min_cpu = cpu;
		}
	}
	if ((u64)min_load * (100 + (params->imbalance_pct - 100) / 2) < this_load * 100)
		return min_cpu;
	return this_cpu;
}

/* 2.6.11's sched_exec(): the widest domain that balances at exec, unless we are alone here. */
static inline __unused u32 sched_exec_2611(sched_t *s, task_t *p, u32 this_cpu)
{
	rq_t *rq = rq_of(s, this_cpu);
	s32 level;

	if (rq->nr_running <= 1)
		return this_cpu;
	repeat_down(s, level, SD_LEVELS - 1, 0)
		if (sd_has(s, rq, (u32)level, SD_BALANCE_EXEC))
			return find_idlest_cpu_2611(s, p, this_cpu, (u32)level);
	return this_cpu;
}

/* The group with the least load per power, if that is much less than ours. */
static inline __unused u32 find_idlest_group(sched_t *s, u32 level, sd_t *sd)
{
	sd_params_t *params = params_of(s, level);
	u32 imbalance = 100 + (params->imbalance_pct - 100) / 2;
	u32 idlest = NO_GROUP, min_load = ~0u, i = next_group(s, level, sd, sd->group);
	u64 this_load = per_power(group_load(s, level, sd->group, false, params->forkexec_idx),
				  group_power(s, level, sd->group));

	repeat_while(s, i != sd->group) {
		u32 load = per_power(group_load(s, level, i, true, params->forkexec_idx),
				     group_power(s, level, i));

		if (load < min_load) {
			min_load = load;
			idlest = i;
		}
		i = next_group(s, level, sd, i);
	}
	return 100 * this_load < (u64)imbalance * min_load ? NO_GROUP : idlest;
}

static inline __unused u32 find_idlest_cpu(sched_t *s, u32 level, u32 group)
{
	u32 end = group_end(s, level, group), idlest = group_cpu(s, level, group), min_load = ~0u;

	repeat_while(s, group < end) {
		u32 cpu = group_cpu(s, level, group++), load = source_load(s, cpu, 0);

		if (load < min_load) {
			min_load = load;
			idlest = cpu;
		}
	}
	return idlest;
}

/* 2.6.13's sched_balance_self(): from the widest domain inwards, to the idlest CPU of the idlest group. */
static inline __unused u32 sched_balance_self(sched_t *s, u32 this_cpu, u32 flag)
{
	u32 cpu = this_cpu, group;
	s32 level;

	repeat_down(s, level, SD_LEVELS - 1, 0) {
		rq_t *rq = rq_of(s, cpu);

		if (!sd_has(s, rq, (u32)level, flag))
			continue;
		group = find_idlest_group(s, (u32)level, &rq->smp.sd[level]);
		if (group != NO_GROUP)
			cpu = find_idlest_cpu(s, (u32)level, group);
	}
	return cpu;
}

static inline __unused u32 forkexec_cpu(sched_t *s, task_t *p, u32 cpu, u32 flags)
{
	u32 flag = flags & ENQ_EXEC ? SD_BALANCE_EXEC : SD_BALANCE_FORK;
	u32 new_cpu = cpu;

	if (tun(s)->balance_self)
		new_cpu = sched_balance_self(s, cpu, flag);
	else if (flags & ENQ_EXEC)
		new_cpu = sched_exec_2611(s, p, cpu);
	return cpu_allowed(p, new_cpu) ? new_cpu : cpu;
}

static inline __unused u32 any_online_cpu(sched_t *s, task_t *p)
{
	u32 cpu;

	for_each_cpu(s, cpu)
		if (cpu_allowed(p, cpu))
			return cpu;
	return p->cpu;
}

/* Where @p ran last, if it still may. */
static inline __unused u32 home_cpu(sched_t *s, task_t *p)
{
	return cpu_allowed(p, p->cpu) ? p->cpu : any_online_cpu(s, p);
}

/* For the hook of this name.  The first tasks have no parent, and stay where the host puts them. */
static inline __unused u32 select_cpu(sched_t *s, task_t *p, u32 flags)
{
	u32 cpu = home_cpu(s, p);

	if (s->nr_cpus == 1 || (flags & ENQ_MOVE))
		return cpu;
	if (flags & (ENQ_NEW | ENQ_EXEC))
		return p->parent || (flags & ENQ_EXEC) ? forkexec_cpu(s, p, cpu, flags) : cpu;
	return wake_cpu(s, p, cpu, flags);
}
#endif
