/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fair.h - what a policy of Linux's fair class declares: CFS, and EEVDF, which replaced it in place.
 *
 * From 2.6.23 on Linux has scheduling classes.  The fair class was rewritten in
 * 6.6, but only where it chooses among the tasks of one CPU; the real-time class
 * above it, the sharing of load among CPUs and the choice of a CPU at wakeup
 * stayed.  So these are here once:
 *
 *	weight.h		nice values as weights
 *	tree.h			the ordered tree of waiting tasks
 *	fair.h			tunables, counters and state; include it after policy.h
 *	class.h		the hooks: real-time class, fair class, queues
 *	pelt.h			averages over the recent past: the arithmetic
 *	averages.h		and those of tasks, groups and CPUs: load, utilisation
 *	server.h		what real-time tasks leave to fair ones
 *	domains.h		the machine as a hierarchy of CPU groups
 *	capacity.h		CPUs of unequal speed
 *	busiest.h		from where tasks should be pulled, and how many
 *	balance.h		which CPU pulls tasks from which, and when
 *	placement.h	on which CPU a task wakes up, starts, or continues after exec
 *	check.h		are these books right?
 *
 * The policy defines FAIR_ENTITY and FAIR_QUEUE, the members that its entities and
 * queues have besides those here, before it includes this.  It adds FAIR_TUNABLES(T)
 * and FAIR_COUNTERS(C) to its lists.  Its global state has a member "struct fair fair",
 * its CPU state "struct fair_rq cfs", and its task state begins with "struct
 * sched_entity se".  Its groups' states are struct fair_group and struct fair_group_cpu.
 * class.h, which includes the rest, says which functions it expects.
 *
 * Sources: [SRC] read in a kernel source, [MEM] known but not read again, [INF] inferred.
 */
#ifndef SCHEDLAB_FAIR_H
#define SCHEDLAB_FAIR_H

#include "weight.h"
#include "tree.h"

/* ---- tunables and counters ---------------------------------------------- */

#define FAIR_TUNABLES(T)							\
	T(hz, 250, 10, 10000, "ticks per second [MEM kernel/Kconfig.hz: 250 by default]")	\
	T(tunable_scaling, 1, 0, 1, "slices and granularities grow with 1 + log2(CPUs) [MEM get_update_sysctl_factor()]")	\
	T(scaling_cpus_max, 8, 1, 1024, "CPUs that count for that [MEM get_update_sysctl_factor(); no limit in 2.6.24]")	\
	T(rr_timeslice_ms, 100, 1, 10000, "RR_TIMESLICE: slice of SCHED_RR, in ms [MEM include/linux/sched/rt.h]")	\
	T(select_idle, 1, 0, 1, "a wakeup looks for an idle core, then CPU, among those that share a cache [MEM select_idle_sibling()]; 0: the first idle CPU, unless two tasks share the one it is for [SRC 2.6.24 wake_idle(); MEM which domains]")	\
	T(wake_wide, 1, 0, 1, "a task that wakes many different tasks does not draw them to its cache [SRC 5.10 select_task_rq_fair(); MEM wake_wide(): from 3.12]")	\
	T(idle_policy_is_idle, 1, 0, 1, "a CPU that runs only SCHED_IDLE tasks is idle for a wakeup [MEM sched_idle_cpu(): from 5.4]")	\
	T(migration_cost_us, 500, 0, 1000000, "sysctl_sched_migration_cost: a task that ran so recently is cache-hot, in us [SRC]")	\
	T(newidle_cost_us, 20, 0, 1000000, "max_newidle_lb_cost: CPUs that idle for less on average do not pull before they idle, in us [assumed: the kernel measures it]; before 5.17 migration_cost")	\
	T(nr_migrate, 32, 1, 1000, "sysctl_sched_nr_migrate: most tasks one balance looks at [MEM]")	\
	T(busy_factor, 16, 1, 1000, "a busy CPU balances so many times less often [MEM sd_init(): 32 before 5.10]")	\
	T(smt_imbalance_pct, 110, 100, 1000, "SMT siblings: balance when the busiest group exceeds ours by this, in percent [MEM sd_init()]")	\
	T(imbalance_pct, 117, 100, 1000, "the same for all other domains [MEM sd_init(): 125 before 5.10]")	\
	T(prefer_sibling, 1, 0, 1, "SD_PREFER_SIBLING: even the number of tasks between cores, caches and nodes that have room [MEM sd_init()]")	\
	T(active_balance, 1, 0, 2, "push a task away from a CPU if pulling fails for long: 1 where a number of tasks is to be evened, 2 or their load [SRC 6.6 imbalanced_active_balance(), from 5.13; 4.4 need_active_balance()]")	\
	T(throttle_picked, 0, 0, 1, "a group without quota stays queued until it is picked, and then leaves [SRC 6.18 throttle_cfs_rq_work()]; before it leaves at once")	\
	T(bandwidth_slice_us, 5000, 100, 1000000, "sysctl_sched_cfs_bandwidth_slice: what a CPU takes from a group's quota at a time, in us [SRC]")	\
	T(pelt, 1, 0, 1, "load balancing, placement and groups go by averages over about 100 ms of load and utilisation [SRC 6.12 pelt.c; MEM from 3.8, by utilisation from 4.3 on]; 0: by the weight of what is runnable now")	\
	T(sis_util, 1, 0, 1, "the more a cache's CPUs are used the fewer of them a wakeup looks at [SRC 6.12 update_idle_cpu_scan(); MEM from 6.0]")	\
	T(tg_load_interval_us, 1000, 0, 1000000, "a CPU tells its group of its load at most so often, in us [SRC 6.12 update_tg_load_avg(); MEM from 6.7, before that at once]")	\
	T(numa_imbalance, 1, 0, 1, "nodes with few tasks need not be even: as many tasks as the node has caches, or an eighth of its CPUs, are left together [SRC 6.12 adjust_numa_imbalance(); MEM imb_numa_nr from 5.18]")	\
	T(fair_server_runtime_us, 50000, 0, 10000000, "fair tasks have so much of each period, in us, whatever real-time tasks do; 0: nothing [SRC 6.12 dl_server_start(): from 6.12]")	\
	T(fair_server_period_us, 1000000, 1000, 10000000, "that period, in us [SRC 6.12 dl_server_start()]")	\
	T(load_only, 0, 0, 1, "groups of CPUs are compared by their load alone, have they room or not [SRC 4.19 find_busiest_group(), but for idle CPUs with room, which do not ask; MEM up to 4.12]")

#define FAIR_COUNTERS(C) \
	C(balance_attempts) C(balance_moves) C(newidle_moves) C(active_balance) C(wakeup_preemptions)

/* ---- state -------------------------------------------------------------- */

/* Levels of the machine: groups of one level are the spans of the level below. */
enum fair_level { LEVEL_SMT, LEVEL_CACHE, LEVEL_NODE, LEVEL_MACHINE, NR_LEVELS };

/*
 * The machine.  CPUs are sorted by node, cache, core and number, so that every
 * domain and every group is a range of positions.
 */
struct fair {
	u64 next_nohz_balance;		/* see nohz_idle_balance() */
	u32 has_smt;
	u32 asym_capacity;		/* CPUs differ in speed */
	u32 bandwidth_used;		/* a group has had a quota */
	struct tree timers;		/* of groups with a quota, by time of expiry */
	u16 order[MAX_CPUS];		/* the CPU at each position */
	u16 start[NR_LEVELS][MAX_CPUS];	/* the range around a position, by level */
	u16 end[NR_LEVELS][MAX_CPUS];
};

/* What a CPU remembers of its domain at one level. */
struct fair_domain {
	u64 last_balance;		/* ns */
	u32 balance_interval;		/* ms */
	u32 nr_balance_failed;
	u32 group_imbalanced;		/* of the first CPU of a group here: affinity forbade balance within the group */
};

/*
 * Averages of a task, a group on one CPU, or a queue: struct sched_avg.  Load counts weight while runnable,
 * runnable the number of what is, and utilisation the time that it ran; the latter two are in 1024ths.
 */
struct sched_avg {
	u64 last_update_time;		/* ns on the queue's clock */
	u64 load_sum, runnable_sum;
	u32 util_sum, period_contrib;	/* units of the current period that are counted */
	u64 load_avg, runnable_avg, util_avg;
	u32 util_est;			/* what it needs while it runs, from when it last slept; of a queue, their sum */
};

/* What entities that left for another CPU take from a queue's averages when these are next updated. */
struct removed_avg {
	u64 load_avg, runnable_avg, util_avg;
	u32 nr;
};

/*
 * The run queue of a group of tasks on one CPU; the root's is the CPU's own.  Its
 * entities are tasks, and the groups within this one that have tasks on this CPU.
 */
struct cfs_rq {
	struct tree tasks_timeline;	/* waiting entities */
	struct sched_entity __arena *curr;	/* the entity that runs; it is not in the tree */
	u64 min_vruntime;
	u64 load;			/* weight of all entities, the running one included */
	u32 nr_running;			/* number of these */
	u32 h_nr_running;		/* tasks here and in the groups below, but for throttled ones */
	u32 idle_h_nr_running;		/* of class SCHED_IDLE, or in idle groups, among them */
	u32 cpu;
	FAIR_QUEUE
	struct sched_avg avg;		/* of all that is attached to it, asleep or not */
	struct removed_avg removed;
	struct group __arena *tg;	/* whose queue it is, NULL for the root */
	s64 prop_runnable_sum;		/* what has been attached since the group's entity was updated */
	u32 propagate;			/* something has */
	u64 tg_load_avg_contrib;	/* its part of the group's load_avg */
	u64 last_update_tg_load_avg;
	u64 h_load;			/* its part of the CPU's load, while task_h_load() calculates */
	u64 throttled_clock, throttled_clock_time;	/* its clock stands still while it is throttled: since when, and how long so far */
	struct sched_entity __arena *h_load_next;
	struct list leaf;		/* in leaf_cfs_rqs as long as it has an average */
	u32 idle;			/* cpu.idle of the group */
	u32 runtime_enabled;		/* the group has a quota */
	u32 throttled;			/* and has used it up, so that its entity is not queued */
	u32 bandwidth_version;		/* of the group's limits that it knows */
	s64 runtime_remaining;		/* ns of quota this CPU has taken and not used */
	struct list throttled_list;	/* in the group's throttled_cfs_rq */
};

/*
 * What is known of a group of CPUs.  avg_load is per CPU: 1024 is one task of nice 0.
 * weight counts all CPUs of the group; the other numbers count only CPUs under
 * consideration.
 */
struct group_stats {
	u64 load, avg_load, util, runnable, capacity;
	u64 min_capacity, max_capacity;	/* of one CPU */
	u64 misfit;		/* load of the heaviest task that needs a faster CPU; at wakeups: no CPU is fast enough */
	u32 nr_running, nr_fair, idle_cpus, weight;
	u32 type;
	u32 start;		/* its first position */
};

enum stats_of { STATS_LOCAL, STATS_BEST, STATS_CANDIDATE, NR_STATS };

/* The reservation of a CPU's fair tasks: struct sched_dl_entity, see server.h. */
struct fair_server {
	s64 runtime;		/* ns that are left */
	u64 deadline;		/* of this period */
	u8 started;		/* there are fair tasks */
	u8 throttled;		/* it does not serve, */
	u8 armed;		/* since fair tasks may still get their time by themselves */
	u8 running;		/* they did not */
};

/* A CPU. */
struct fair_rq {
	struct cfs_rq root;
	struct list cfs_tasks;		/* all fair tasks, the one that ran or came last in front */
	struct prio_array rt;		/* real-time tasks, the running one in front of its list */
	u32 cpu, position;
	u32 picking;			/* within pick_next(): what asks it to reschedule is in vain */
	u64 idle_stamp;			/* since when it idles; 0: it does not */
	u64 avg_idle;			/* for how long it does on average, in ns */
	u32 nr_delayed;			/* of cfs_tasks those that sleep */
	u32 active_balance;		/* asked to push its running task away */
	u32 push_cpu;			/* by this CPU */
	struct task __arena *pushed;	/* that task, until it has stopped */
	struct cpumask excluded;	/* CPUs that the current load_balance() no longer considers */
	struct fair_domain sd[NR_LEVELS];
	u64 clock, clock_pelt, lost_idle_time;	/* see rq_clock_pelt() */
	struct sched_avg avg_rt;	/* of real-time tasks */
	struct list leaf_cfs_rqs;	/* queues of groups that have averages, inner ones before those around them */
	struct fair_server server;
	u64 misfit_task_load;		/* of what runs, if it needs a faster CPU */
	u32 asym_level, asym_level_full;	/* lowest levels where CPUs have several, and all, capacities; NR_LEVELS: none */
	u32 nr_idle_scan;		/* of the first CPU of a cache: how many of its CPUs a wakeup looks at */
	struct group_stats stats[NR_STATS];	/* of the balancing, or choice of a CPU, that its lock is held for */
};

/* A task as the classes see it, or a group on one CPU, which has no use for some of the members. */
struct sched_entity {
	struct tree_node run_node;
	struct list link;		/* in cfs_tasks, or in a list of rt */
	u64 vruntime;			/* ns at nice 0 */
	u64 exec_start;			/* until when its time is accounted for */
	u64 sum_exec_runtime, prev_sum_exec_runtime;
	u64 wakee_flip_decay_ts;
	u32 wakee_flips;		/* how often it woke another task than before, decaying */
	u32 last_wakee;			/* task id + 1 */
	u32 recent_used_cpu;
	u32 weight, inv_weight;
	u32 rt_list;			/* number of its list in rt */
	u32 rt_time_slice;		/* ticks */
	u32 queued_on;			/* the CPU it was queued on last */
	u8 on_rq;			/* it counts in nr_running, or is in rt */
	struct cfs_rq __arena *cfs_rq;	/* where it is queued, or was last; NULL: it never was */
	struct cfs_rq __arena *my_q;	/* the queue of the group it stands for; NULL: it is a task */
	struct sched_entity __arena *parent;	/* the entity of the group it is in; NULL in the root */
	struct cfs_rq __arena *attached;	/* the queue whose averages count it; NULL: none */
	struct sched_avg avg;
	u32 runnable_weight;		/* of a group: its runnable tasks when it was last updated */
	FAIR_ENTITY
};

/* CPU time for a group: struct cfs_bandwidth. */
struct cfs_bandwidth {
	u64 quota, period, burst;	/* ns; a quota of 0 is none */
	u64 runtime;			/* what is left of this period's, but for what the CPUs have taken */
	u64 period_expires;		/* when the period timer expires next, or did last */
	u32 idle;			/* nobody has asked for time in this period */
	u32 slack_started;
	u32 version;			/* of quota and period */
	struct list throttled_cfs_rq;
	struct tree_node period_timer, slack_timer;	/* in timers while they are armed */
};

/* A group of tasks: struct task_group. */
struct fair_group {
	struct cfs_bandwidth bandwidth;
	u64 load;			/* of its queues on all CPUs: weight */
	u64 load_avg;			/* the same as an average, as far as the CPUs have told */
	u32 shares;			/* what it weighs on all CPUs together */
};

/* A group on one CPU. */
struct fair_group_cpu {
	struct sched_entity se;
	struct cfs_rq cfs_rq;
};

typedef struct fair __arena fair_t;
typedef struct fair_domain __arena fair_domain_t;
typedef struct sched_entity __arena entity_t;
typedef struct cfs_rq __arena cfs_rq_t;
typedef struct sched_avg __arena avg_t;
typedef struct group_stats __arena group_stats_t;
typedef struct cfs_bandwidth __arena cfs_bandwidth_t;
#endif
