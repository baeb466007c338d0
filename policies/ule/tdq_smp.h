/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * tdq_smp.h - several CPUs in FreeBSD 14's ULE: the choice of a CPU, stealing, balancing.
 *
 * All three use one search, for the least or most loaded CPU on the least or most
 * loaded path through the topology.  A thread that wakes up goes to its last CPU
 * if this is idle and its cache warm, else to the CPU found by the search.  A CPU
 * that runs out of work steals.  Periodically the loads are balanced in pairs.
 *
 * Include it after POLICY_STATE() and these, which are as in sched_ule.c:
 *
 *	glob_t	order[], core_end[], llc_end[], llcs, high, low
 *	rq_t	cpu, load, lowpri, ridx, core_start, core_stop, llc_start, llc_stop,
 *		realtime, timeshare, idle, untried
 *	ts_t	runq_link, pri, bucket, rltick
 *	clock_ticks(s), thread_of(node), tdq_transferable(tdq), sched_rem(s, tdq, p),
 *	tdq_add(s, tdq, p, flags)
 *	tunables affinity_ms, clock_hz, steal_idle, steal_thresh
 *	counters stolen, balanced, affine_wakeups
 *
 * FIDELITY: about to idle and idle are one search here, of all topology levels at once.
 * FIDELITY: the topology is cores, caches, machine; packages and memory nodes are not levels.
 */
#ifndef SCHEDLAB_TDQ_SMP_H
#define SCHEDLAB_TDQ_SMP_H

#define CG_SHARE_L2	2u	/* cache levels */
#define CG_SHARE_L3	3u
#define NO_CPU		MAX_CPUS
#define ANY_LOAD	(~0u)

/* ---- the topology ------------------------------------------------------- */

/* CPUs sorted by cache, core and number. */
static inline __unused u64 topology_key(sched_t *s, u32 cpu)
{
	return (u64)cpu_of(s, cpu)->llc << 32 | (u64)cpu_of(s, cpu)->core << 12 | cpu;
}

static inline __unused void init_order(sched_t *s, u32 cpu)
{
	u32 other, position = 0;

	for_each_cpu(s, other)
		position += topology_key(s, other) < topology_key(s, cpu);
	glob_of(s)->order[position] = (u16)cpu;
}

/* Where the groups around each CPU begin and end. */
static inline __unused void init_groups(sched_t *s, u32 cpu)
{
	glob_t *g = glob_of(s);
	rq_t *tdq = rq_of(s, cpu);
	cpu_t *here = cpu_of(s, cpu);
	u32 i;

	tdq->core_start = tdq->llc_start = MAX_CPUS;
	repeat(s, i, s->nr_cpus) {
		cpu_t *other = cpu_of(s, g->order[i]);

		if (other->llc != here->llc)
			continue;
		tdq->llc_start = min_of(tdq->llc_start, i);
		tdq->llc_stop = i + 1;
		if (other->core != here->core)
			continue;
		tdq->core_start = min_of(tdq->core_start, i);
		tdq->core_stop = i + 1;
	}
}

static inline __unused void init_topology(sched_t *s)
{
	glob_t *g = glob_of(s);
	u32 cpu, i;

	for_each_cpu(s, cpu)
		init_order(s, cpu);
	repeat(s, i, s->nr_cpus) {
		rq_t *tdq = rq_of(s, g->order[i]);

		init_groups(s, tdq->cpu);
		g->core_end[i] = (u16)tdq->core_stop;
		g->llc_end[i] = (u16)tdq->llc_stop;
		g->llcs += i == tdq->llc_start;
	}
}

/* ---- searching CPUs ----------------------------------------------------- */

/*
 * A search for the least or most loaded CPU on the least or most loaded path
 * through the topology: caches are compared first, then cores, then CPUs.  The
 * loads of equals are made unequal at random.
 */
struct cpu_search {
	cpumask_t *mask;
	s32 pri;	/* lowest only: CPUs whose best priority is worse than this */
	u32 limit;	/* most load for lowest, least for highest */
	u32 prefer;	/* lowest only: this CPU wins ties */
	u32 highest;
	u32 cpu;	/* the answer, or NO_CPU */
	s64 path, load;	/* and its loads */
};

static inline __unused u32 in_mask(cpumask_t *mask, u32 cpu)
{
	return (mask->bits[cpu / 64] >> (cpu % 64)) & 1;
}

static inline __unused void mask_clear(cpumask_t *mask, u32 cpu)
{
	mask->bits[cpu / 64] &= ~(1ull << (cpu % 64));
}

/* By words: clang forgets which address space a structure it copies is in. */
static inline __unused void mask_copy(sched_t *s, cpumask_t *to, cpumask_t *from)
{
	u32 word;

	repeat(s, word, (s->nr_cpus + 63) / 64)
		to->bits[word] = from->bits[word];
}

static inline __unused void mask_fill(sched_t *s, cpumask_t *mask)
{
	u32 i;

	repeat(s, i, MAX_CPUS / 64)
		mask->bits[i] = ~0ull;
}

/* What is least is wanted: the greatest load is the least if all are negative. */
static inline __unused s64 search_load(sched_t *s, struct cpu_search *search, u32 cpu)
{
	s64 load = (s64)rq_of(s, cpu)->load * 256;

	if (search->highest)
		return -load;
	return cpu == search->prefer ? load - 64 : load;
}

__apart s64 range_load(sched_t *s __in_arena, struct cpu_search *search __on_stack, u32 start, u32 end)
{
	s64 load = 0;

	repeat_while(s, start < end)
		load += search_load(s, search, glob_of(s)->order[start++]);
	return load;
}

static inline __unused u32 may_answer(sched_t *s, struct cpu_search *search, u32 cpu)
{
	rq_t *tdq = rq_of(s, cpu);

	if (!in_mask(search->mask, cpu))
		return false;
	if (search->highest)
		return tdq->load >= search->limit && tdq_transferable(tdq);
	return (s32)tdq->lowpri > search->pri && tdq->load <= search->limit;
}

static inline __unused void compare(sched_t *s, struct cpu_search *search, u32 cpu, s64 path)
{
	s64 load = search_load(s, search, cpu) - (random_u32(s) & 31);

	if (search->cpu != NO_CPU && (path > search->path || (path == search->path && load >= search->load)))
		return;
	search->cpu = cpu;
	search->path = path;
	search->load = load;
}

/* Positions @start to @end of order[], which are whole groups. */
__apart u32 search_range(sched_t *s __in_arena, struct cpu_search *search __on_stack, u32 start, u32 end)
{
	glob_t *g = glob_of(s);
	u32 i = start, llc_stop = start, core_stop = start;
	s64 llc = 0, core = 0;

	search->cpu = NO_CPU;
	repeat_while(s, i < end) {
		u32 cpu = g->order[i];

		if (i >= llc_stop) {
			llc_stop = g->llc_end[i];
			llc = range_load(s, search, i, llc_stop);
		}
		if (i >= core_stop) {
			core_stop = g->core_end[i];
			core = range_load(s, search, i, core_stop);
		}
		if (may_answer(s, search, cpu))
			compare(s, search, cpu, llc * (1ll << 32) + core);
		i++;
	}
	return 0;
}

__apart u32 sched_lowest(sched_t *s __in_arena, struct cpu_search *search __on_stack, s32 pri,
			 rq_t *around __in_arena)
{
	search->pri = pri;
	search_range(s, search, around ? around->llc_start : 0, around ? around->llc_stop : s->nr_cpus);
	return search->cpu;
}

/* ---- the choice of a CPU ------------------------------------------------ */

static inline __unused u32 SCHED_AFFINITY(sched_t *s, ts_t *p, u32 level)
{
	s32 window = (s32)(level * (u32)tun(s)->affinity_ms * (u32)tun(s)->clock_hz / 1000);

	return p->rltick > (s32)clock_ticks(s) - window;
}

static inline __unused u32 core_idles(sched_t *s, rq_t *tdq)
{
	u32 i = tdq->core_start;

	repeat_while(s, i < tdq->core_stop && rq_of(s, glob_of(s)->order[i])->lowpri >= PRI_MIN_IDLE)
		i++;
	return i == tdq->core_stop;
}

/* Nobody is better: is it, being nearer, good enough to wake the thread right here? */
static inline __unused u32 prefer_self(sched_t *s, task_t *p, u32 cpu)
{
	rq_t *self = rq_of(s, s->this_cpu), *tdq = rq_of(s, cpu);

	return cpu_allowed(p, self->cpu) && self->lowpri > ts_of(p)->pri && tdq->lowpri < PRI_MIN_IDLE &&
	       self->load <= tdq->load + 1;
}

/* The last-level cache first while it is warm, then all CPUs. */
static inline __unused u32 search_cpu(sched_t *s, task_t *task, rq_t *last, u32 warm)
{
	struct cpu_search search = { .mask = task->allowed, .limit = ANY_LOAD, .prefer = last->cpu };
	s32 pri = ts_of(task)->pri;
	u32 cpu = NO_CPU;

	if (warm && glob_of(s)->llcs > 1)
		cpu = sched_lowest(s, &search, max_of(pri, (s32)PRI_MAX_TIMESHARE), last);
	if (cpu == NO_CPU)
		cpu = sched_lowest(s, &search, pri, NULL);
	if (cpu == NO_CPU)
		cpu = sched_lowest(s, &search, -1, NULL);
	return cpu == NO_CPU ? task->cpu : cpu;
}

/* An interrupt thread belongs where its interrupt came. */
static inline __unused u32 interrupted_here(sched_t *s, ts_t *p, u32 flags)
{
	return p->pri <= PRI_MAX_ITHD && (flags & ENQ_IRQ) && cpu_allowed(task_of(p), s->this_cpu);
}

static inline __unused u32 sched_pickcpu(sched_t *s, task_t *task, u32 flags)
{
	ts_t *p = ts_of(task);
	u32 intr = interrupted_here(s, p, flags), cpu;
	rq_t *last = rq_of(s, intr ? s->this_cpu : task->cpu);

	if ((flags & ENQ_EXEC) && !(flags & ENQ_NEW) && cpu_allowed(task, task->cpu))
		return task->cpu;
	if (cpu_allowed(task, last->cpu) && last->lowpri >= PRI_MIN_IDLE &&
	    (intr || (SCHED_AFFINITY(s, p, CG_SHARE_L2) && core_idles(s, last)))) {
		count(s, COUNTER_affine_wakeups, 1);
		return last->cpu;
	}
	cpu = search_cpu(s, task, last, intr || SCHED_AFFINITY(s, p, CG_SHARE_L3));
	return prefer_self(s, task, cpu) ? s->this_cpu : cpu;
}

/* ---- stealing and balancing --------------------------------------------- */

static inline __unused u32 can_move(ts_t *p, u32 cpu)
{
	return !task_of(p)->on_cpu && cpu_allowed(task_of(p), cpu);
}

/* The best thread of a queue that may go to @cpu, buckets @from to @to - 1. */
static inline __unused ts_t *runq_steal(sched_t *s, prio_array_t *rq, u32 from, u32 to, u32 cpu)
{
	u32 bucket = prio_array_next(s, rq, from);
	list_t *node;

	repeat_while(s, bucket < to) {
		list_for_each(s, node, &rq->queue[bucket]) {
			examined(s, 1);
			if (can_move(thread_of(node), cpu))
				return thread_of(node);
		}
		bucket = prio_array_next(s, rq, bucket + 1);
	}
	return NULL;
}

/* The first thread of the queue is taken only if there is no other. */
static inline __unused ts_t *runq_steal_from(sched_t *s, rq_t *tdq, u32 cpu)
{
	prio_array_t *rq = &tdq->timeshare;
	ts_t *first = thread_of(runq_first_from(s, rq, tdq->ridx)), *p;

	if (!first)
		return NULL;
	prio_array_del(rq, &first->runq_link, first->bucket);
	p = runq_steal(s, rq, tdq->ridx, RQ_NQS, cpu);
	if (!p)
		p = runq_steal(s, rq, 0, tdq->ridx, cpu);
	prio_array_add(rq, &first->runq_link, first->bucket);
	return p || !can_move(first, cpu) ? p : first;
}

static inline __unused ts_t *tdq_steal(sched_t *s, rq_t *tdq, u32 cpu)
{
	ts_t *p = runq_steal(s, &tdq->realtime, 0, RQ_NQS, cpu);

	if (!p)
		p = runq_steal_from(s, tdq, cpu);
	return p ? p : runq_steal(s, &tdq->idle, 0, RQ_NQS, cpu);
}

/* Both locks are held. */
__apart u32 tdq_move(sched_t *s __in_arena, rq_t *from __in_arena, rq_t *to __in_arena)
{
	ts_t *p = tdq_steal(s, from, to->cpu);

	if (!p)
		return false;
	sched_rem(s, from, p);
	move_task(s, task_of(p), to->cpu);
	tdq_add(s, to, p, SRQ_YIELDING);
	return true;
}

/* A refused lock is no answer: the CPU looks again. */
__apart u32 try_steal(sched_t *s __in_arena, rq_t *tdq __in_arena, rq_t *from __in_arena)
{
	u32 moved;

	if (!rq_lock(s, from->cpu)) {
		resched_cpu(s, tdq->cpu);
		return false;
	}
	moved = tdq_move(s, from, tdq);
	rq_unlock(s, from->cpu);
	count(s, COUNTER_stolen, moved);
	return moved;
}

/* From the most loaded CPU of a range of order[]; a CPU that has nothing for this one is not tried again. */
__apart u32 steal_within(sched_t *s __in_arena, rq_t *tdq __in_arena, u32 start, u32 end)
{
	struct cpu_search search = { .mask = &tdq->untried, .limit = (u32)tun(s)->steal_thresh, .highest = true };

	search_range(s, &search, start, end);
	repeat_while(s, search.cpu != NO_CPU) {
		if (try_steal(s, tdq, rq_of(s, search.cpu)))
			return true;
		mask_clear(&tdq->untried, search.cpu);
		search_range(s, &search, start, end);
	}
	return false;
}

/* This CPU has nothing to run: it looks at its siblings, then at the CPUs of its cache, then at all. */
__apart u32 tdq_idled(sched_t *s __in_arena, rq_t *tdq __in_arena)
{
	if (!tun(s)->steal_idle || s->nr_cpus == 1)
		return false;
	mask_fill(s, &tdq->untried);
	mask_clear(&tdq->untried, tdq->cpu);
	return steal_within(s, tdq, tdq->core_start, tdq->core_stop) ||
	       steal_within(s, tdq, tdq->llc_start, tdq->llc_stop) || steal_within(s, tdq, 0, s->nr_cpus);
}

__apart u32 sched_balance_pair(sched_t *s __in_arena, rq_t *high __in_arena, rq_t *low __in_arena)
{
	u32 moved = false;

	if (high->load <= low->load || !rq_lock(s, high->cpu))
		return false;
	if (rq_lock(s, low->cpu)) {
		moved = tdq_move(s, high, low);
		rq_unlock(s, low->cpu);
	}
	rq_unlock(s, high->cpu);
	count(s, COUNTER_balanced, moved);
	return moved;
}

enum pairing { PAIRED, NOBODY_LOWER, NO_PARTNER };

/* Find the least loaded CPU that can take a thread of @high. */
__apart u32 pair_with_lowest(sched_t *s __in_arena, rq_t *high __in_arena)
{
	glob_t *g = glob_of(s);
	struct cpu_search search = { .mask = &g->low, .limit = high->load - 1, .prefer = high->cpu };
	u32 result = NOBODY_LOWER, cpu;

	mask_copy(s, &g->low, &g->high);
	repeat_while(s, (cpu = sched_lowest(s, &search, -1, NULL)) != NO_CPU) {
		if (sched_balance_pair(s, high, rq_of(s, cpu))) {
			mask_clear(&g->high, cpu);	/* it got one: it gives none */
			return PAIRED;
		}
		mask_clear(&g->low, cpu);
		result = NO_PARTNER;
	}
	return result;
}

/* The most loaded CPU gives a thread to the least loaded, then the next two, and so on. */
__apart u32 sched_balance(sched_t *s __in_arena)
{
	glob_t *g = glob_of(s);
	struct cpu_search search = { .mask = &g->high, .limit = 2, .highest = true };

	mask_fill(s, &g->high);
	search_range(s, &search, 0, s->nr_cpus);
	repeat_while(s, search.cpu != NO_CPU) {
		mask_clear(&g->high, search.cpu);
		if (pair_with_lowest(s, rq_of(s, search.cpu)) == NOBODY_LOWER)
			return 0;
		search_range(s, &search, 0, s->nr_cpus);
	}
	return 0;
}
#endif
