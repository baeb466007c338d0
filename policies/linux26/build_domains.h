/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * build_domains.h - builds scheduling domains and groups from the topology, and walks them.
 *
 * Include it after POLICY_STATE(); domains.h lists the required state.
 */
#ifndef SCHEDLAB_BUILD_DOMAINS_H
#define SCHEDLAB_BUILD_DOMAINS_H

/* ---- spans and groups --------------------------------------------------- */

static inline __unused domains_t *domains_of(sched_t *s)
{
	return &glob_of(s)->domains;
}

static inline __unused sd_params_t *params_of(sched_t *s, u32 level)
{
	return &domains_of(s)->level[level];
}

/* Which CPU is at position @i of a span of level @level?  In the kernel's order. */
static inline __unused u32 span_cpu(sched_t *s, u32 level, u32 i)
{
	domains_t *d = domains_of(s);

	if (level == SD_NUMA)
		return i;
	return level == SD_CPU ? d->by_node[i] : d->by_core[i];
}

/* And in a group of that level, which is a span of the level below. */
static inline __unused u32 group_cpu(sched_t *s, u32 level, u32 i)
{
	return level == SD_NUMA ? domains_of(s)->by_node[i] : domains_of(s)->by_core[i];
}

static inline __unused u32 group_end(sched_t *s, u32 level, u32 i)
{
	domains_t *d = domains_of(s);

	if (level == SD_SMT)
		return i + 1;
	return level == SD_CPU ? d->core_end[i] : d->node_end[i];
}

/* The groups of a domain are a ring: which follows the one at @i? */
static inline __unused u32 next_group(sched_t *s, u32 level, sd_t *sd, u32 i)
{
	u32 end = group_end(s, level, i);

	return end == sd->end ? sd->start : end;
}

static inline __unused u32 group_power(sched_t *s, u32 level, u32 i)
{
	domains_t *d = domains_of(s);

	if (level == SD_SMT)
		return SCHED_LOAD_SCALE;
	return level == SD_CPU ? d->core_power[i] : d->node_power[i];
}

static inline __unused u32 in_span(sched_t *s, sd_t *sd, u32 cpu)
{
	u32 i = rq_of(s, cpu)->smp.position;

	return i >= sd->start && i < sd->end;
}

/* Is there such a domain, and does it have this flag? */
static inline __unused u32 sd_has(sched_t *s, rq_t *rq, u32 level, u32 flag)
{
	return rq->smp.sd[level].start != rq->smp.sd[level].end && (params_of(s, level)->flags & flag);
}

/* ---- intervals and parameters ------------------------------------------- */

static inline __unused u32 ms_to_jiffies(sched_t *s, u64 ms)
{
	u32 jiffies = (u32)((ms * (u64)tun(s)->hz + 999) / 1000);

	return max_of(jiffies, 1);
}

static inline __unused void set_balance_interval(sched_t *s, u32 level, sd_t *sd, u32 ms)
{
	sd->balance_interval = ms;
	sd->interval[SCHED_IDLE] = ms_to_jiffies(s, ms);
	sd->interval[NOT_IDLE] = ms_to_jiffies(s, (u64)ms * params_of(s, level)->busy_factor);
}

/* init_smt(), init_cpu() and init_numa(): the tunables of a level, where the balancer finds them. */
#define INIT_LEVEL(lv)								\
	static inline __unused void init_##lv(sched_t *s, sd_params_t *p)	\
	{									\
		p->min_interval = (u32)tun(s)->lv##_min_interval_ms;		\
		p->max_interval = (u32)tun(s)->lv##_max_interval_ms;		\
		p->busy_factor = (u32)tun(s)->lv##_busy_factor;			\
		p->imbalance_pct = (u32)tun(s)->lv##_imbalance_pct;		\
		p->cache_hot_ns = (u64)tun(s)->lv##_cache_hot_us * NSEC_PER_USEC; \
		p->cache_nice_tries = (u32)tun(s)->lv##_cache_nice_tries;	\
		p->load_idx[NOT_IDLE] = (u32)tun(s)->lv##_busy_idx;		\
		p->load_idx[SCHED_IDLE] = (u32)tun(s)->lv##_idle_idx;		\
		p->load_idx[NEWLY_IDLE] = (u32)tun(s)->lv##_newidle_idx;	\
		p->wake_idx = (u32)tun(s)->lv##_wake_idx;			\
		p->forkexec_idx = (u32)tun(s)->lv##_forkexec_idx;		\
		p->flags = (u32)tun(s)->lv##_flags;				\
	}
INIT_LEVEL(smt)
INIT_LEVEL(cpu)
INIT_LEVEL(numa)

/* ---- sorting the CPUs --------------------------------------------------- */

#define KEY_BITS	20	/* more than a CPU number needs */

/* The lowest CPU of its node, then of its core, then itself: CPUs sort by this. */
static inline __unused u64 topology_key(sched_t *s, u32 cpu)
{
	u32 node = 0, core = 0;

	repeat_while(s, cpu_of(s, node)->node != cpu_of(s, cpu)->node)
		node++;
	repeat_while(s, cpu_of(s, core)->core != cpu_of(s, cpu)->core)
		core++;
	return ((u64)node << 2 * KEY_BITS) | (core << KEY_BITS) | cpu;
}

static inline __unused u32 node_leader(sched_t *s, u32 cpu)
{
	return (u32)(rq_of(s, cpu)->smp.topology_key >> 2 * KEY_BITS);
}

static inline __unused u32 core_leader(sched_t *s, u32 cpu)
{
	return (u32)(rq_of(s, cpu)->smp.topology_key >> KEY_BITS) & ((1u << KEY_BITS) - 1);
}

/* Insertion sort: CPUs are numbered nearly in order on most machines. */
static inline __unused void sort_by_core(sched_t *s, domains_t *d)
{
	u32 cpu, i;

	for_each_cpu(s, cpu) {
		i = cpu;
		repeat_while(s, i && rq_of(s, d->by_core[i - 1])->smp.topology_key > rq_of(s, cpu)->smp.topology_key) {
			d->by_core[i] = d->by_core[i - 1];
			i--;
		}
		d->by_core[i] = (u16)cpu;
	}
}

static inline __unused void sort_by_node(sched_t *s, domains_t *d)
{
	u32 cpu, i;

	for_each_cpu(s, cpu) {
		i = cpu;
		repeat_while(s, i && node_leader(s, d->by_node[i - 1]) > node_leader(s, cpu)) {
			d->by_node[i] = d->by_node[i - 1];
			i--;
		}
		d->by_node[i] = (u16)cpu;
	}
}

/* ---- building ----------------------------------------------------------- */

/* Back to front, so that each position knows where the next core and node begin. */
static inline __unused void find_ends(sched_t *s, domains_t *d)
{
	s32 i, last = (s32)s->nr_cpus - 1;

	repeat_down(s, i, last, 0) {
		u32 cpu = d->by_core[i], next = i < last ? d->by_core[i + 1] : cpu;
		u32 same_core = i < last && core_leader(s, cpu) == core_leader(s, next);
		u32 same_node = i < last && node_leader(s, cpu) == node_leader(s, next);

		d->core_end[i] = same_core ? d->core_end[i + 1] : (u16)(i + 1);
		d->node_end[i] = same_node ? d->node_end[i + 1] : (u16)(i + 1);
	}
}

/* A node has the power of its cores; a second sibling adds little to a core's. */
static inline __unused void sum_powers(sched_t *s, domains_t *d)
{
	u32 i = 0, node = 0;

	repeat_while(s, i < s->nr_cpus) {
		u32 siblings = d->core_end[i] - i;

		if (d->node_end[node] <= i)
			node = i;
		d->core_power[i] = SCHED_LOAD_SCALE + SCHED_LOAD_SCALE * (siblings - 1) * (u32)tun(s)->smt_gain_pct / 100;
		d->node_power[node] += d->core_power[i];
		d->has_smt |= siblings > 1;
		i += siblings;
	}
}

/* A domain of one group has nothing to balance. */
static inline __unused void init_domain(sched_t *s, u32 level, sd_t *sd, u32 start, u32 end)
{
	if (group_end(s, level, start) < end) {
		sd->start = start;
		sd->end = end;
	}
	set_balance_interval(s, level, sd, 1);
}

static inline __unused void init_domains(sched_t *s, domains_t *d)
{
	u32 i, core = 0, node = 0;

	repeat(s, i, s->nr_cpus) {
		rq_t *rq = rq_of(s, d->by_core[i]);

		core = d->core_end[core] <= i ? i : core;
		node = d->node_end[node] <= i ? i : node;
		rq->smp.position = i;
		rq->smp.sd[SD_SMT].group = i;
		rq->smp.sd[SD_CPU].group = core;
		rq->smp.sd[SD_NUMA].group = node;
		init_domain(s, SD_SMT, &rq->smp.sd[SD_SMT], core, d->core_end[i]);
		init_domain(s, SD_CPU, &rq->smp.sd[SD_CPU], node, d->node_end[i]);
		init_domain(s, SD_NUMA, &rq->smp.sd[SD_NUMA], 0, s->nr_cpus);
	}
}

/* At init().  Balancing operations should not go off at once on all CPUs: hence the offset. */
static inline __unused void build_domains(sched_t *s)
{
	domains_t *d = domains_of(s);
	u32 cpu;

	init_smt(s, &d->level[SD_SMT]);
	init_cpu(s, &d->level[SD_CPU]);
	init_numa(s, &d->level[SD_NUMA]);
	for_each_cpu(s, cpu) {
		rq_of(s, cpu)->smp.topology_key = topology_key(s, cpu);
		rq_of(s, cpu)->smp.jiffies_offset = (u32)(tun(s)->hz * cpu / s->nr_cpus);
	}
	sort_by_core(s, d);
	sort_by_node(s, d);
	find_ends(s, d);
	sum_powers(s, d);
	init_domains(s, d);
}
#endif
