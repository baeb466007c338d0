/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * capacity.h - CPUs of unequal speed: which of them a task fits on, and where it goes.
 *
 * A task fits on a CPU if its utilisation leaves a fifth of the capacity free.
 * A task that runs where it does not fit is a misfit: balancing brings it to a faster CPU that
 * has nothing to do.  Utilisation clamps shift this: a task is taken to need util_min at least,
 * and util_max at most.
 *
 * Order and names follow kernel/sched/fair.c of 6.12.  Included by class.h.
 *
 * FIDELITY: a group's clamps (cpu.uclamp.min, cpu.uclamp.max) are not known.
 * FIDELITY: no energy model: tasks are not packed on slow CPUs to save energy.
 * FIDELITY: a CPU that real-time tasks slow down is not a reason for active balancing (check_cpu_capacity()).
 */
#ifndef SCHEDLAB_FAIR_CAPACITY_H
#define SCHEDLAB_FAIR_CAPACITY_H

/* sched_asym_cpucap_active(): the machine has CPUs of several capacities.  No kernel tells a policy so far. */
static inline __unused u32 has_asym_capacity(sched_t *s)
{
#ifdef __BPF__
	return false;
#else
	return tracks_load(s) && fair_of(s)->asym_capacity;
#endif
}

/* SD_ASYM_CPUCAPACITY: the domain of @level around position @i has CPUs of several capacities. */
static inline __unused u32 domain_is_asym(sched_t *s, u32 level, u32 i)
{
	return has_asym_capacity(s) && level >= rq_of(s, cpu_at(s, i))->cfs.asym_level;
}

/* Is @a clearly more than @b, by 5 %? */
static inline __unused u32 capacity_greater(u64 a, u64 b)
{
	return a * 1024 > b * 1078;
}

/* A fifth is to stay free. */
static inline __unused u32 fits_capacity(u64 util, u64 capacity)
{
	return util * 1280 < capacity * 1024;
}

/* util_fits_cpu(): 1 if @p, of utilisation @util, fits on @cpu; -1 if it would but for its util_min; else 0. */
static inline __unused s32 util_fits_cpu(sched_t *s, task_t *p, u64 util, u32 cpu)
{
	u32 capacity = cpu_capacity(s, cpu), util_min = min_of(p->util_min, p->util_max);
	u32 largest = capacity == CAPACITY_SCALE && p->util_max == CAPACITY_SCALE;
	u32 fits = fits_capacity(util, capacity_of(s, rq_of(s, cpu))) || (!largest && p->util_max <= capacity);

	if (fits && util < util_min && util_min > capacity)
		return -1;
	return (s32)fits;
}

static inline __unused u32 task_fits_cpu(sched_t *s, ts_t *p, u32 cpu)
{
	return util_fits_cpu(s, task_of(p), task_util_est(p), cpu) > 0;
}

/* asym_fits_cpu(): as far as speed goes. */
static inline __unused u32 asym_fits_cpu(sched_t *s, ts_t *p, u32 cpu)
{
	return !has_asym_capacity(s) || task_fits_cpu(s, p, cpu);
}

/* max_allowed_capacity */
static inline __unused u32 max_allowed_capacity(sched_t *s, task_t *p)
{
	u32 most = 0, cpu;

	for_each_cpu(s, cpu)
		if (cpu_allowed(p, cpu))
			most = max_of(most, cpu_capacity(s, cpu));
	return most;
}

/* update_misfit_status(): @p runs here, or nothing does.  Would a faster CPU help it? */
static inline __unused void update_misfit_status(sched_t *s, rq_t *rq, ts_t *p)
{
	u32 cpu = rq->cfs.cpu;

	if (!has_asym_capacity(s))
		return;
	rq->cfs.misfit_task_load = 0;
	if (!p || task_is_rt(task_of(p)) || task_fits_cpu(s, p, cpu))
		return;
	if (max_allowed_capacity(s, task_of(p)) > cpu_capacity(s, cpu))
		rq->cfs.misfit_task_load = max_of(task_h_load(s, p), 1);
}

/*
 * select_idle_capacity(): the first idle CPU on which @p fits, else that on which it fits best, else the fastest.
 * All CPUs of the smallest domain with all capacities are looked at.
 */
static inline __unused u32 select_idle_capacity(sched_t *s, ts_t *p, u32 target)
{
	u32 from = position_of(s, target), level = rq_of(s, target)->cfs.asym_level_full;
	u32 start = span_start(s, level, from), nr = span_weight(s, level, from), n, best_cpu = MAX_CPUS;
	u64 util = task_util_est(p), best_capacity = 0;
	s32 best_fits = 0;

	repeat(s, n, nr) {
		u32 cpu = cpu_at(s, start + (from - start + n) % nr);
		u64 capacity = capacity_of(s, rq_of(s, cpu));
		s32 fits;

		if (!cpu_allowed(task_of(p), cpu) || !wakes_at_once(s, cpu))
			continue;
		fits = util_fits_cpu(s, task_of(p), util, cpu);
		if (fits > 0)
			return cpu;
		if (fits < 0)
			capacity = cpu_capacity(s, cpu);
		if (fits < best_fits || (fits == best_fits && capacity > best_capacity)) {
			best_capacity = capacity;
			best_cpu = cpu;
			best_fits = fits;
		}
	}
	return best_cpu;
}

/* ---- building ----------------------------------------------------------- */

/* How many different capacities do the positions from @start to @end have? */
static inline __unused u32 nr_capacities(sched_t *s, u32 start, u32 end)
{
	u32 nr = 0, last = CAPACITY_SCALE + 1, next, i;

	/* The largest below the last one, again and again. */
	repeat_while(s, last) {
		next = 0;
		i = start;
		repeat_while(s, i < end) {
			u32 capacity = cpu_capacity(s, cpu_at(s, i++));

			if (capacity < last)
				next = max_of(next, capacity);
		}
		nr += next != 0;
		last = next;
	}
	return nr;
}

/* asym_cpu_capacity_classify(), for one CPU. */
static inline __unused void find_asym_levels(sched_t *s, rq_t *rq, u32 all)
{
	s32 level;

	rq->cfs.asym_level = rq->cfs.asym_level_full = NR_LEVELS;
	repeat_down(s, level, NR_LEVELS - 1, 0) {
		u32 i = rq->cfs.position, nr = nr_capacities(s, span_start(s, (u32)level, i), span_end(s, (u32)level, i));

		if (nr > 1)
			rq->cfs.asym_level = (u32)level;
		if (nr == all)
			rq->cfs.asym_level_full = (u32)level;
	}
}

static inline __unused void build_capacities(sched_t *s)
{
#ifndef __BPF__
	u32 all = nr_capacities(s, 0, s->nr_cpus), cpu;

	fair_of(s)->asym_capacity = all > 1;
	if (all == 1)
		return;
	for_each_cpu(s, cpu)
		find_asym_levels(s, rq_of(s, cpu), all);
#endif
}
#endif
