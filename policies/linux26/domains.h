/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * domains.h - declarations of a policy with the scheduling domains of Linux 2.6.
 *
 * Since 2.6.7 each CPU has a hierarchy of domains: its SMT siblings, the CPUs of
 * its node, all nodes.  A domain is divided into groups, which are the domains of
 * the next smaller level, and balances only between these.  Patches that change
 * which task runs next do not change this, so it is here once, in four parts:
 *
 *	domains.h	tunables, counters and state; include it after policy.h
 *	build_domains.h	builds domains and groups from the topology, and walks them
 *	balance.h	which CPU pulls tasks from which, and when
 *	placement.h	on which CPU a task wakes up, starts, or continues after exec
 *
 * The policy adds DOMAIN_TUNABLES(T), BALANCE_TUNABLES(T) and BALANCE_COUNTERS(C)
 * to its lists and has a tunable hz.  Its global state has a member "struct
 * domains domains", its CPU state a member "struct smp_rq smp".  After
 * POLICY_STATE() it includes the other parts, which list their other
 * requirements, and its init() calls build_domains().
 *
 * The initial values are those of 2.6.11 on i386.  Sources: [SRC] read in a kernel
 * source or patch, [MEM] known but not read again.
 */
#ifndef SCHEDLAB_DOMAINS_H
#define SCHEDLAB_DOMAINS_H

/* ---- tunables and counters ---------------------------------------------- */

/*
 * One level of scheduling domains.  @lv is the prefix; the rest are the
 * initialisers in asm-i386/topology.h.  A load index says which load average
 * counts: 0 is the queue as it is, n is cpu_load[n - 1].
 */
#define LEVEL_TUNABLES(T, lv, where, min_iv, max_iv, busy, pct, hot, tries, bidx, iidx, nidx, widx, fidx, flag)	\
	T(lv##_min_interval_ms, min_iv, 1, 100000, where ": shortest interval of rebalance_tick(), in ms [SRC topology.h]")	\
	T(lv##_max_interval_ms, max_iv, 1, 100000, where ": longest interval of rebalance_tick(), in ms [SRC topology.h]")	\
	T(lv##_busy_factor, busy, 1, 1000, where ": a busy CPU balances so many times less often [SRC topology.h]")	\
	T(lv##_imbalance_pct, pct, 100, 1000, where ": balance when the busiest group exceeds ours by this, in percent [SRC topology.h]")	\
	T(lv##_cache_hot_us, hot, 0, 1000000, where ": a task that ran so recently is cache-hot, in us [SRC topology.h]")	\
	T(lv##_cache_nice_tries, tries, 0, 100, where ": failures to balance before hot tasks move too [SRC topology.h]")	\
	T(lv##_busy_idx, bidx, 0, 3, where ": load index when a busy CPU balances [SRC 2.6.11; MEM 2.6.13]")		\
	T(lv##_idle_idx, iidx, 0, 3, where ": load index when an idle CPU balances [SRC 2.6.11; MEM 2.6.13]")		\
	T(lv##_newidle_idx, nidx, 0, 3, where ": load index of idle_balance() [SRC 2.6.11; MEM 2.6.13]")			\
	T(lv##_wake_idx, widx, 0, 3, where ": load index of a wakeup [SRC 2.6.11; MEM 2.6.13]")			\
	T(lv##_forkexec_idx, fidx, 0, 3, where ": load index of fork and exec [SRC 2.6.11; MEM 2.6.13]")			\
	T(lv##_flags, flag, 0, 255, where ": 1 balance, 2 when newly idle, 4 at exec, 8 at fork, 16 wake to idle, 32 wake affine, 64 wake balance [SRC 2.6.11; MEM 2.6.13]")

#define DOMAIN_TUNABLES(T)							\
	T(smt_gain_pct, 10, 0, 100, "what each further SMT sibling adds to a core's power, in percent [SRC 2.6.11 smpboot.c]")	\
	LEVEL_TUNABLES(T, smt, "SMT siblings", 1, 2, 8, 110, 0, 0, 2, 2, 2, 2, 2, 55)	\
	LEVEL_TUNABLES(T, cpu, "CPUs of a node", 1, 4, 64, 125, 2500, 1, 2, 2, 2, 2, 2, 119)	\
	LEVEL_TUNABLES(T, numa, "nodes", 8, 32, 32, 125, 10000, 1, 2, 2, 2, 2, 2, 69)

#define BALANCE_TUNABLES(T)							\
	T(wake_one_domain, 0, 0, 1, "wakeups look at one domain and at load only: from 2.6.13 [SRC]")	\
	T(wake_idle, 1, 0, 2, "wake to an idle CPU instead of a busy one: 0 never, 1 on SMT machines, 2 always [SRC 2.6.11: built with CONFIG_SCHED_SMT only]")	\
	T(balance_self, 0, 0, 1, "fork and exec descend the domains to the idlest CPU: from 2.6.13 [MEM]")	\
	T(aggressive_idle, 1, 0, 1, "idle CPUs pull a task even when load is balanced: up to 2.6.12 [SRC]")	\
	T(min_power_gain, 16, 1, 128, "CPU power a move of one task must win, in 1/128 CPU: 16 in 2.6.11, 1 from 2.6.12 [SRC]")	\
	T(imbalance_rounding, 1, 0, 1, "round an imbalance 1/128 below a task up: 2.6.11 [SRC]")	\
	T(idle_ignores_cache, 1, 0, 1, "an idle core pulls cache-hot tasks: up to 2.6.12 [SRC]")	\
	T(busiest_queue_idx, 2, 0, 3, "load index of find_busiest_queue(): 0 from 2.6.13 [SRC 2.6.11; MEM 2.6.13]")	\
	T(balanced_clears_failed, 0, 0, 1, "finding balance resets nr_balance_failed: from 2.6.13 [SRC patch of 2005-02-24]")	\
	T(failed_adds_ms, 1, 0, 1, "a failed balance adds 1 ms to the interval (2.6.11) instead of resetting or, with active balancing, doubling it [SRC 2.6.11; MEM 2.6.13]")	\
	T(active_retries, 0, 0, 1, "nr_balance_failed after active balancing, above cache_nice_tries: 1 from 2.6.13 [SRC 2.6.11; MEM 2.6.13]")	\
	T(active_searches, 1, 0, 1, "active balancing pushes to every idle core (2.6.11) instead of the CPU that asked [SRC]")	\
	T(max_pinned_interval_ms, 0, 0, 100000, "MAX_PINNED_INTERVAL: the interval doubles up to this while affinity forbids every move, in ms; 0: not seen, up to 2.6.11 [SRC 2.6.11; MEM 2.6.13]")

/* What 2.6.13 changed since 2.6.11, domain by domain; for a variant. */
#define BALANCE_2_6_13								\
	"wake_one_domain=1 balance_self=1 aggressive_idle=0 min_power_gain=1 imbalance_rounding=0 "		\
	"idle_ignores_cache=0 busiest_queue_idx=0 balanced_clears_failed=1 failed_adds_ms=0 active_retries=1 "	\
	"active_searches=0 max_pinned_interval_ms=512 "								\
	"smt_busy_idx=0 smt_idle_idx=0 smt_newidle_idx=1 smt_wake_idx=0 smt_forkexec_idx=0 "			\
	"cpu_busy_idx=2 cpu_idle_idx=1 cpu_newidle_idx=2 cpu_wake_idx=1 cpu_forkexec_idx=1 cpu_flags=39 "	\
	"numa_busy_idx=3 numa_idle_idx=1 numa_newidle_idx=2 numa_wake_idx=1 numa_forkexec_idx=0 numa_flags=77"

#define BALANCE_COUNTERS(C)	C(balance_attempts) C(balance_moves) C(active_balance)

/* ---- state -------------------------------------------------------------- */

#define SCHED_LOAD_SCALE	128	/* the load of one task, and the power of one CPU */

enum sd_flags {
	SD_LOAD_BALANCE		= 1,	/* rebalance_tick() balances here */
	SD_BALANCE_NEWIDLE	= 2,	/* and idle_balance() */
	SD_BALANCE_EXEC		= 4,
	SD_BALANCE_FORK		= 8,
	SD_WAKE_IDLE		= 16,	/* wake to an idle CPU of the span */
	SD_WAKE_AFFINE		= 32,	/* wake to the waker's CPU */
	SD_WAKE_BALANCE		= 64,	/* wake to the waker's CPU if that evens the load */
};

/* What the tunable wake_idle says. */
enum wake_idle { WAKE_IDLE_NEVER, WAKE_IDLE_ON_SMT, WAKE_IDLE_ALWAYS };

enum idle_type { SCHED_IDLE, NOT_IDLE, NEWLY_IDLE, MAX_IDLE_TYPES };
enum sd_level { SD_SMT, SD_CPU, SD_NUMA, SD_LEVELS };

/* What the tunables say about a level of domains. */
struct sd_params {
	u64 cache_hot_ns;
	u32 min_interval, max_interval;	/* ms */
	u32 busy_factor, imbalance_pct, cache_nice_tries, flags;
	u32 load_idx[MAX_IDLE_TYPES];
	u32 wake_idx, forkexec_idx;
};

/*
 * The machine.  CPUs are sorted by node, core and number, so that every domain
 * and group is a range of positions.  by_node has the same nodes, but the CPUs
 * of a node by number alone: the order in which the kernel walks a span.
 */
struct domains {
	u32 has_smt;
	struct sd_params level[SD_LEVELS];
	u16 by_core[MAX_CPUS], by_node[MAX_CPUS];
	u16 core_end[MAX_CPUS], node_end[MAX_CPUS];	/* first position after it */
	u32 core_power[MAX_CPUS], node_power[MAX_CPUS];	/* by its first position */
};

/* One CPU's view of one level: the span [start, end) and the group it is in. */
struct sched_domain {
	u32 start, end;			/* equal when the level is missing or has one group */
	u32 group;			/* first position of this CPU's own group */
	u32 balance_interval;		/* ms */
	u32 interval[2];		/* the same in jiffies, by idle_type */
	u32 nr_balance_failed;
	u64 last_balance;		/* jiffies */
};

/* A run queue's part under CONFIG_SMP. */
struct smp_rq {
	u32 cpu_load[3];
	u32 active_balance;		/* asked to push a task away */
	u32 push_cpu;			/* by this CPU */
	struct task __arena *pushed;	/* running task that leaves at the switch */
	u32 pushed_to;			/* for this CPU */
	u32 pushed_array;		/* and its array of this number: see balance.h */
	u32 position;			/* in by_core */
	u32 jiffies_offset;		/* CPU_OFFSET, for rebalance_tick() */
	struct sched_domain sd[SD_LEVELS];
	u64 topology_key;
};

typedef struct domains __arena domains_t;
typedef struct sched_domain __arena sd_t;
typedef struct sd_params __arena sd_params_t;
#endif
