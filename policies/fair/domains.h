/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * domains.h - from the topology to nested groups of CPUs, and ways around them.
 *
 * A domain is what a CPU sees at one level: its core's SMT siblings, the CPUs
 * that share its cache, its node, the machine.  It is divided into groups, the
 * domains of the level below (single CPUs at the lowest), and balances between
 * these only.  A domain of one group does not exist.
 *
 * Included by class.h.
 */
#ifndef SCHEDLAB_FAIR_DOMAINS_H
#define SCHEDLAB_FAIR_DOMAINS_H

static inline __unused fair_t *fair_of(sched_t *s)
{
	return &glob_of(s)->fair;
}

/* ---- ways around -------------------------------------------------------- */

static inline __unused u32 cpu_at(sched_t *s, u32 i)
{
	return fair_of(s)->order[i];
}

static inline __unused u32 position_of(sched_t *s, u32 cpu)
{
	return rq_of(s, cpu)->cfs.position;
}

/* The first position of the domain around position @i, and the first one after it. */
static inline __unused u32 span_start(sched_t *s, u32 level, u32 i)
{
	return fair_of(s)->start[level][i];
}

static inline __unused u32 span_end(sched_t *s, u32 level, u32 i)
{
	return fair_of(s)->end[level][i];
}

/* The same for the group of that domain. */
__apart u32 group_start(sched_t *s __in_arena, u32 level, u32 i)
{
	return level == LEVEL_SMT ? i : span_start(s, level - 1, i);
}

__apart u32 group_end(sched_t *s __in_arena, u32 level, u32 i)
{
	return level == LEVEL_SMT ? i + 1 : span_end(s, level - 1, i);
}

static inline __unused u32 span_weight(sched_t *s, u32 level, u32 i)
{
	return span_end(s, level, i) - span_start(s, level, i);
}

static inline __unused u32 in_span(sched_t *s, u32 level, u32 i, u32 cpu)
{
	u32 other = position_of(s, cpu);

	return other >= span_start(s, level, i) && other < span_end(s, level, i);
}

__apart u32 domain_exists(sched_t *s __in_arena, u32 level, u32 i)
{
	return group_end(s, level, i) - group_start(s, level, i) < span_weight(s, level, i);
}

/* Is there a domain below this one, between which and its siblings tasks are spread? */
__apart u32 has_child(sched_t *s __in_arena, u32 level, u32 i)
{
	s32 below;

	repeat_down(s, below, (s32)level - 1, 0)
		if (domain_exists(s, (u32)below, i))
			return true;
	return false;
}

/* Do the CPUs of this domain have memory of their own?  Its groups are nodes then (SD_NUMA). */
static inline __unused u32 domain_is_numa(u32 level)
{
	return level == LEVEL_MACHINE;
}

/* imb_numa_nr: so many tasks need not be spread over nodes.  @i is a position on the node. */
__apart u32 imb_numa_nr(sched_t *s __in_arena, u32 i)
{
	u32 cpus = span_weight(s, LEVEL_NODE, i), caches = cpus / span_weight(s, LEVEL_CACHE, i);

	return max_of(caches == 1 ? cpus >> 3 : caches, 1);
}

#define NUMA_IMBALANCE_MIN	2

/* adjust_numa_imbalance(): a pair of tasks stays together on a node with little to do. */
static inline __unused s64 adjust_numa_imbalance(s64 imbalance, u32 running, u32 most)
{
	return running > most || imbalance > NUMA_IMBALANCE_MIN ? imbalance : 0;
}

static inline __unused u32 cpus_share_cache(sched_t *s, u32 cpu, u32 other)
{
	return in_span(s, LEVEL_CACHE, position_of(s, cpu), other);
}

/* ---- building ----------------------------------------------------------- */

/* A cache that spans nodes counts as one for each; a core lies within a cache. */
static inline __unused u32 same_span(sched_t *s, u32 level, u32 cpu, u32 other)
{
	cpu_t *a = cpu_of(s, cpu), *b = cpu_of(s, other);

	if (level == LEVEL_MACHINE)
		return true;
	if (a->node != b->node)
		return false;
	if (level == LEVEL_NODE)
		return true;
	return a->llc == b->llc && (level == LEVEL_CACHE || a->core == b->core);
}

/* Lexical order of node, cache and core. */
static inline __unused u32 sorts_after(sched_t *s, u32 cpu, u32 other)
{
	cpu_t *a = cpu_of(s, cpu), *b = cpu_of(s, other);

	if (a->node != b->node)
		return a->node > b->node;
	if (a->llc != b->llc)
		return a->llc > b->llc;
	return a->core > b->core;
}

/* Insertion sort: CPUs are numbered nearly in order on most machines. */
static inline __unused void sort_cpus(sched_t *s, fair_t *fair)
{
	u32 cpu, i;

	for_each_cpu(s, cpu) {
		i = cpu;
		repeat_while(s, i && sorts_after(s, fair->order[i - 1], cpu)) {
			fair->order[i] = fair->order[i - 1];
			i--;
		}
		fair->order[i] = (u16)cpu;
	}
}

static inline __unused void find_spans(sched_t *s, fair_t *fair, u32 level)
{
	s32 i, last = (s32)s->nr_cpus - 1;

	repeat(s, i, last + 1)
		fair->start[level][i] = i && same_span(s, level, fair->order[i], fair->order[i - 1]) ?
					fair->start[level][i - 1] : (u16)i;
	repeat_down(s, i, last, 0)
		fair->end[level][i] = i < last && same_span(s, level, fair->order[i], fair->order[i + 1]) ?
				      fair->end[level][i + 1] : (u16)(i + 1);
}

/* At init(). */
static inline __unused void build_fair_domains(sched_t *s)
{
	fair_t *fair = fair_of(s);
	u32 level, i;

	sort_cpus(s, fair);
	repeat(s, level, NR_LEVELS)
		find_spans(s, fair, level);
	repeat(s, i, s->nr_cpus) {
		rq_t *rq = rq_of(s, fair->order[i]);

		rq->cfs.position = i;
		/* As on a machine that has idled so far. */
		rq->cfs.nr_idle_scan = span_weight(s, LEVEL_CACHE, i);
		fair->has_smt |= span_weight(s, LEVEL_SMT, i) > 1;
		repeat(s, level, NR_LEVELS)
			rq->cfs.sd[level].balance_interval = span_weight(s, level, i);
	}
}
#endif
