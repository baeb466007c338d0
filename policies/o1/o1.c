/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * o1 - the O(1) scheduler of Linux 2.6, as in 2.6.10 to 2.6.13, and of 2.5.73.
 *
 * Each CPU has two arrays of 140 lists.  A task runs from the first set bit of
 * the active array; when its slice is used up it is refilled and filed in the
 * expired array, and when the active array is empty the two are swapped.  No
 * step depends on the number of tasks.  Who sleeps much is taken for
 * interactive: sleep earns up to five priority levels, running spends them, and
 * a task with enough of them goes back to the active array instead.
 *
 * Order and names follow kernel/sched.c.  What it calls task_t * is a ts_t *
 * here, and a rule that changed between versions hangs on a tunable: a variant
 * is nothing but a set of them.  Each tunable names its source: [SRC] read in a
 * kernel source or patch, [MEM] known but not read again, [INF] inferred.
 *
 * FIDELITY: all CPUs read one clock, so the kernel's corrections of timestamps
 *	between run queues, which its unsynchronised clocks needed, are nothing here.
 * FIDELITY: SCHED_BATCH and SCHED_IDLE came after these versions and are scheduled as SCHED_NORMAL.
 * FIDELITY: dependent_sleeper(), which let a low-priority SMT sibling wait, is left out.
 */
#include "policy.h"

/* ---- tunables ----------------------------------------------------------- */

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

#define O1_TUNABLES(T)								\
	T(hz, 1000, 10, 10000, "ticks per second: 1000 up to 2.6.12, 250 by default in 2.6.13 [SRC]")	\
	T(min_timeslice_ms, 5, 1, 1000, "MIN_TIMESLICE, in ms [SRC 2.6.11]")	\
	T(max_timeslice_ms, 0, 0, 10000, "MAX_TIMESLICE: slices fall evenly from this at nice -20 to MIN_TIMESLICE, in ms: 200 in 2.5.73; 0: by DEF_TIMESLICE [SRC]")	\
	T(def_timeslice_ms, 100, 1, 10000, "DEF_TIMESLICE: the slice at nice 0, in ms [SRC 2.6.11]")	\
	T(on_runqueue_weight, 30, 0, 100, "ON_RUNQUEUE_WEIGHT: how much of the wait after a task's wakeup counts as sleep, in percent [SRC 2.6.11]")	\
	T(child_penalty, 95, 0, 100, "CHILD_PENALTY: bonus a forked child inherits, in percent [SRC 2.6.11]")	\
	T(parent_penalty, 100, 0, 100, "PARENT_PENALTY: bonus a forking parent keeps, in percent [SRC 2.6.11]")	\
	T(exit_weight, 3, 0, 1000, "EXIT_WEIGHT: weight of the parent's sleep_avg when a lazier child exits [SRC 2.6.11]")	\
	T(prio_bonus_ratio, 25, 0, 100, "PRIO_BONUS_RATIO: part of the 40 levels a bonus spans, in percent [SRC 2.6.11]")	\
	T(interactive_delta, 2, -20, 20, "INTERACTIVE_DELTA: levels gained before nice 0 is interactive [SRC 2.6.11]")	\
	T(max_sleep_avg_ms, 1000, 10, 60000, "MAX_SLEEP_AVG: most sleep a task is credited with, in ms [SRC 2.6.11]")	\
	T(jiffy_sleep_avg, 0, 0, 1, "each jiffy of sleep adds one to sleep_avg and each tick takes one, no more to it: 2.5.73 [SRC; tick MEM]")	\
	T(sync_passive, 0, 0, 1, "sync wakeups pull the task to the waker, credit nothing and preempt nobody: 2.5.73 [SRC]")	\
	T(levels_penalised, 1, 0, 1, "fork penalties count whole bonus levels, not time: after 2.5.73 [SRC]")	\
	T(threads_first, 0, 0, 1, "children run first even if they share memory: 2.5.73 [SRC; need_resched MEM]")	\
	T(starvation_limit_ms, 1000, 0, 1000000, "STARVATION_LIMIT: wait of the first expired task, per running task, that stops reinsertion, in ms; 0: none [SRC 2.6.11]")	\
	T(starving_prio, 1, 0, 1, "so does a waiting expired task of better static priority: after 2.5.73 [SRC]")	\
	T(starving_clock, 1, 0, 1, "that wait counts from the first slice used up, not the first task expired: after 2.5.73 [SRC 2.6.11; MEM 2.5.73]")	\
	T(granularity_ms, 10, 0, 1000, "an interactive task yields to its equals after so long at full bonus, in ms; 5 (MIN_TIMESLICE) in 2.6.10, 0: never [SRC]")	\
	T(granularity_prio, 0, 0, 1, "recompute the priority then: 2.6.10 does [SRC]")	\
	T(credit_limit, 0, 0, 1000000, "CREDIT_LIMIT of interactive_credit: 100 in 2.6.10, 0: no such credit, from 2.6.11 [SRC]")	\
	T(initial_sleep_avg_ms, 0, 0, 60000, "sleep_avg of tasks that exist from the start, in ms [our choice]")	\
	T(wake_one_domain, 0, 0, 1, "wakeups look at one domain and at load only: from 2.6.13 [SRC]")	\
	T(wake_idle, 1, 0, 2, "wake to an idle CPU instead of a busy one: 0 never, 1 on SMT machines, 2 always [SRC 2.6.11: built with CONFIG_SCHED_SMT only]")	\
	T(balance_self, 0, 0, 1, "fork and exec descend the domains to the idlest CPU: from 2.6.13 [MEM]")	\
	T(smt_gain_pct, 10, 0, 100, "what each further SMT sibling adds to a core's power, in percent [SRC 2.6.11 smpboot.c]")	\
	T(aggressive_idle, 1, 0, 1, "idle CPUs pull a task even when load is balanced: up to 2.6.12 [SRC]")	\
	T(min_power_gain, 16, 1, 128, "CPU power a move of one task must win, in 1/128 CPU: 16 in 2.6.11, 1 from 2.6.12 [SRC]")	\
	T(imbalance_rounding, 1, 0, 1, "round an imbalance 1/128 below a task up: 2.6.11 [SRC]")	\
	T(idle_ignores_cache, 1, 0, 1, "an idle core pulls cache-hot tasks: up to 2.6.12 [SRC]")	\
	T(busiest_queue_idx, 2, 0, 3, "load index of find_busiest_queue(): 0 from 2.6.13 [SRC 2.6.11; MEM 2.6.13]")	\
	T(balanced_clears_failed, 0, 0, 1, "finding balance resets nr_balance_failed: from 2.6.13 [SRC patch of 2005-02-24]")	\
	T(failed_adds_ms, 1, 0, 1, "a failed balance adds 1 ms to the interval (2.6.11) instead of resetting or, with active balancing, doubling it [SRC 2.6.11; MEM 2.6.13]")	\
	T(active_retries, 0, 0, 1, "nr_balance_failed after active balancing, above cache_nice_tries: 1 from 2.6.13 [SRC 2.6.11; MEM 2.6.13]")	\
	T(active_searches, 1, 0, 1, "active balancing pushes to every idle core (2.6.11) instead of the CPU that asked [SRC]")	\
	T(max_pinned_interval_ms, 0, 0, 100000, "MAX_PINNED_INTERVAL: the interval doubles up to this while affinity forbids every move, in ms; 0: not seen, up to 2.6.11 [SRC 2.6.11; MEM 2.6.13]")	\
	LEVEL_TUNABLES(T, smt, "SMT siblings", 1, 2, 8, 110, 0, 0, 2, 2, 2, 2, 2, 55)	\
	LEVEL_TUNABLES(T, cpu, "CPUs of a node", 1, 4, 64, 125, 2500, 1, 2, 2, 2, 2, 2, 119)	\
	LEVEL_TUNABLES(T, numa, "nodes", 8, 32, 32, 125, 10000, 1, 2, 2, 2, 2, 2, 69)

POLICY_TUNABLES(O1_TUNABLES)

/* The 2.6.13 entry lists what changed since 2.6.11, domain by domain. */
static const struct variant o1_variants[] = {
	{ "2.6.11", "the version whose source was read in full", "" },
	{ "2.6.13", "250 Hz, three load averages, calmer balancing; its source was bracketed, not read",
	  "hz=250 wake_one_domain=1 balance_self=1 aggressive_idle=0 min_power_gain=1 imbalance_rounding=0 "
	  "idle_ignores_cache=0 busiest_queue_idx=0 balanced_clears_failed=1 failed_adds_ms=0 active_retries=1 "
	  "active_searches=0 max_pinned_interval_ms=512 "
	  "smt_busy_idx=0 smt_idle_idx=0 smt_newidle_idx=1 smt_wake_idx=0 smt_forkexec_idx=0 "
	  "cpu_busy_idx=2 cpu_idle_idx=1 cpu_newidle_idx=2 cpu_wake_idx=1 cpu_forkexec_idx=1 cpu_flags=39 "
	  "numa_busy_idx=3 numa_idle_idx=1 numa_newidle_idx=2 numa_wake_idx=1 numa_forkexec_idx=0 numa_flags=77" },
	{ "2.6.10", "interactive credit and a finer granularity; balancing as in 2.6.11",
	  "granularity_ms=5 granularity_prio=1 credit_limit=100" },
	{ "2.5.73", "before interactivity was tuned: ten seconds of memory; its load balancer is only approximated",
	  "min_timeslice_ms=10 max_timeslice_ms=200 max_sleep_avg_ms=10000 starvation_limit_ms=10000 child_penalty=50 "
	  "jiffy_sleep_avg=1 sync_passive=1 levels_penalised=0 threads_first=1 starving_prio=0 starving_clock=0 "
	  "granularity_ms=0 wake_idle=0 cpu_flags=3 cpu_min_interval_ms=1 cpu_max_interval_ms=1 cpu_busy_factor=200 "
	  "smt_flags=3 numa_flags=5" },
};

#define O1_COUNTERS(C)	\
	C(array_switches) C(interactive_requeues) C(expired_starving) \
	C(balance_attempts) C(balance_moves) C(active_balance)
POLICY_COUNTERS(O1_COUNTERS)

/* ---- constants and state ------------------------------------------------ */

#define MAX_RT_PRIO		100
#define MAX_USER_PRIO		40
#define MAX_PRIO		(MAX_RT_PRIO + MAX_USER_PRIO)
#define NICE_TO_PRIO(nice)	(MAX_RT_PRIO + 20 + clamp_to(nice, -20, 19))
#define SCHED_LOAD_SCALE	128

enum sd_flags {
	SD_LOAD_BALANCE		= 1,	/* rebalance_tick() balances here */
	SD_BALANCE_NEWIDLE	= 2,	/* and idle_balance() */
	SD_BALANCE_EXEC		= 4,
	SD_BALANCE_FORK		= 8,
	SD_WAKE_IDLE		= 16,	/* wake to an idle CPU of the span */
	SD_WAKE_AFFINE		= 32,	/* wake to the waker's CPU */
	SD_WAKE_BALANCE		= 64,	/* wake to the waker's CPU if that evens the load */
};

enum idle_type { SCHED_IDLE, NOT_IDLE, NEWLY_IDLE, MAX_IDLE_TYPES };
enum sd_level { SD_SMT, SD_CPU, SD_NUMA, SD_LEVELS };

/* What follows from a nice value. */
struct nice_params {
	u64 interactive_sleep_ns;	/* INTERACTIVE_SLEEP: a longer sleep is idling */
	u32 time_slice;			/* task_timeslice(), in jiffies */
	s32 delta;			/* DELTA: levels to gain to be interactive */
};

/* What the tunables say about a level of domains. */
struct sd_params {
	u64 cache_hot_ns;
	u32 min_interval, max_interval;	/* ms */
	u32 busy_factor, imbalance_pct, cache_nice_tries, flags;
	u32 load_idx[MAX_IDLE_TYPES];
	u32 wake_idx, forkexec_idx;
};

/*
 * The machine: constants derived from the tunables, and the topology.
 *
 * CPUs are sorted by node, core and number, so that every domain and group is a
 * range of positions.  by_node has the same nodes, but the CPUs of a node by
 * number alone: the order in which the kernel walks a span.
 */
struct o1 {
	u64 jiffy_ns;
	u64 ns_max_sleep_avg;		/* NS_MAX_SLEEP_AVG */
	u64 long_sleep_avg_ns;		/* what a sleep beyond INTERACTIVE_SLEEP leaves */
	u64 bonus_start[MAX_USER_PRIO + 2];	/* least sleep_avg of each CURRENT_BONUS */
	u32 granularity[MAX_USER_PRIO + 1];	/* TIMESLICE_GRANULARITY by bonus, in jiffies */
	u32 max_bonus;
	u32 max_sleep_avg;		/* MAX_SLEEP_AVG, in jiffies */
	u32 starvation_limit;		/* jiffies */
	u32 on_runqueue_weight;		/* in 1/128 */
	s32 credit_limit;
	u32 jiffy_sleep_avg;
	u32 has_smt;
	struct nice_params nice[MAX_USER_PRIO];
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

struct o1_rq {
	struct prio_array __arena *active, *expired;
	u32 cpu;
	u32 nr_running;
	u32 best_expired_prio;
	u32 active_balance;		/* asked to push a task away */
	u32 cpu_load[3];
	u32 push_cpu;			/* by whom */
	struct task __arena *pushed;	/* running task that leaves at the switch */
	u32 pushed_to;			/* for this CPU */
	u32 pushed_expired;		/* and its expired array */
	u32 position;			/* in by_core */
	u64 expired_timestamp;		/* jiffies; 0: nothing has expired */
	u64 timestamp_last_tick;
	u64 jiffies, next_jiffy_ns;
	u32 jiffies_offset;		/* CPU_OFFSET, for rebalance_tick() */
	struct sched_domain sd[SD_LEVELS];
	u64 topology_key;
	struct prio_array arrays[2];
};

struct o1_task {
	struct list run_list;
	struct prio_array __arena *array;	/* NULL: not on a run queue */
	u64 sleep_avg;			/* ns */
	u64 timestamp;			/* when it last was switched, or woke up */
	u64 last_ran;			/* when it last stopped running */
	u64 sched_time;			/* ns it ran; see update_cpu_clock() */
	u32 prio, static_prio;
	u32 time_slice;			/* jiffies */
	u32 bonus;			/* CURRENT_BONUS, kept by set_sleep_avg() */
	s32 interactive_credit;
	s8 activated;			/* -1 woke from uninterruptible sleep, 1 by a task, 2 by an interrupt */
	u8 first_time_slice;
};

POLICY_STATE(struct o1, struct o1_rq, struct o1_task)

typedef struct sched_domain __arena sd_t;
typedef struct sd_params __arena sd_params_t;
typedef struct nice_params __arena nice_t;

#define task_rq(s, p)	rq_of(s, task_of(p)->cpu)
#define rt_task(p)	((p)->prio < MAX_RT_PRIO)

static nice_t *nice_of(sched_t *s, ts_t *p)
{
	return &glob_of(s)->nice[p->static_prio - MAX_RT_PRIO];
}

static u32 task_timeslice(sched_t *s, ts_t *p)
{
	return nice_of(s, p)->time_slice;
}

static u32 TASK_INTERACTIVE(sched_t *s, ts_t *p)
{
	return (s32)p->prio <= (s32)p->static_prio - nice_of(s, p)->delta;
}

/* The idle task has MAX_PRIO: everybody preempts it. */
static u32 TASK_PREEMPTS_CURR(sched_t *s, ts_t *p, u32 cpu)
{
	task_t *curr = cpu_curr(s, cpu);

	return !curr || p->prio < ts_of(curr)->prio;
}

/* A credit limit of 0 says that the version has no interactive_credit. */
static u32 HIGH_CREDIT(sched_t *s, ts_t *p)
{
	return glob_of(s)->credit_limit && p->interactive_credit > glob_of(s)->credit_limit;
}

static u32 LOW_CREDIT(sched_t *s, ts_t *p)
{
	return glob_of(s)->credit_limit && p->interactive_credit < -glob_of(s)->credit_limit;
}

/* ---- priorities --------------------------------------------------------- */

static void dequeue_task(ts_t *p, prio_array_t *array)
{
	prio_array_del(array, &p->run_list, p->prio);
}

static void enqueue_task(ts_t *p, prio_array_t *array)
{
	prio_array_add_tail(array, &p->run_list, p->prio);
	p->array = array;
}

/* Put it to the back of its list, without touching the bitmap. */
static void requeue_task(ts_t *p, prio_array_t *array)
{
	list_del(&p->run_list);
	list_add_tail(&p->run_list, &array->queue[p->prio]);
}

/*
 * CURRENT_BONUS is a division the kernel makes wherever it needs it.  Here it
 * is made by moving a mark, which stays put nearly always.
 */
static void set_sleep_avg(sched_t *s, ts_t *p, u64 sleep_avg)
{
	glob_t *g = glob_of(s);
	u32 bonus = p->bonus;

	repeat_while(s, sleep_avg < g->bonus_start[bonus])
		bonus--;
	repeat_while(s, sleep_avg >= g->bonus_start[bonus + 1])
		bonus++;
	p->bonus = bonus;
	p->sleep_avg = sleep_avg;
}

/* sleep_avg spans -5 to +5 levels around the static priority. */
static u32 effective_prio(sched_t *s, ts_t *p)
{
	s32 prio;

	if (rt_task(p))
		return p->prio;
	prio = (s32)p->static_prio + (s32)(glob_of(s)->max_bonus / 2) - (s32)p->bonus;
	return (u32)clamp_to(prio, MAX_RT_PRIO, MAX_PRIO - 1);
}

static u32 user_task(ts_t *p)
{
	return !(task_of(p)->flags & TASK_KTHREAD);
}

static void earn_credit(sched_t *s, ts_t *p)
{
	if (glob_of(s)->credit_limit && !HIGH_CREDIT(s, p))
		p->interactive_credit++;
}

/* What a sleep of normal length adds to sleep_avg. */
static u64 sleep_credit(sched_t *s, ts_t *p, u64 sleep_time)
{
	glob_t *g = glob_of(s);
	nice_t *nice = nice_of(s, p);

	/* The less a task has, the faster it rises. */
	sleep_time *= max_of(g->max_bonus - p->bonus, 1);
	if (LOW_CREDIT(s, p))
		sleep_time = min_of(sleep_time, nice->time_slice * g->jiffy_ns);
	/* Who waits for a disk may be a hog: that alone makes nobody more than just interactive. */
	if (p->activated == -1 && user_task(p) && !HIGH_CREDIT(s, p)) {
		u64 limit = nice->interactive_sleep_ns;

		if (p->sleep_avg >= limit)
			return 0;
		return min_of(sleep_time, limit - p->sleep_avg);
	}
	return sleep_time;
}

/* Credit @p with the time from its timestamp to @now, and derive its priority anew. */
static void recalc_task_prio(sched_t *s, ts_t *p, u64 now)
{
	glob_t *g = glob_of(s);
	u64 sleep_time = min_of(now - p->timestamp, g->ns_max_sleep_avg);
	u64 sleep_avg;

	if (sleep_time && user_task(p) && p->activated != -1 &&
	    sleep_time > nice_of(s, p)->interactive_sleep_ns) {
		/* So long a sleep is idling: interactive, but not by much. */
		set_sleep_avg(s, p, g->long_sleep_avg_ns);
		earn_credit(s, p);
	} else if (sleep_time) {
		sleep_avg = p->sleep_avg + sleep_credit(s, p, sleep_time);
		if (sleep_avg > g->ns_max_sleep_avg) {
			sleep_avg = g->ns_max_sleep_avg;
			earn_credit(s, p);
		}
		set_sleep_avg(s, p, sleep_avg);
	}
	p->prio = effective_prio(s, p);
}

/* 2.5.73: what counts is the jiffies that began and ended during the sleep. */
static void add_slept_jiffies(sched_t *s, ts_t *p)
{
	glob_t *g = glob_of(s);
	u64 slept = div_u64(s->now, g->jiffy_ns) - div_u64(p->timestamp, g->jiffy_ns);
	u64 sleep_avg;

	if (slept <= 1)
		return;
	sleep_avg = min_of(p->sleep_avg + (slept - 1) * g->jiffy_ns, g->ns_max_sleep_avg);
	if (sleep_avg == p->sleep_avg)
		return;
	set_sleep_avg(s, p, sleep_avg);
	p->prio = effective_prio(s, p);
}

/* ---- the run queue ------------------------------------------------------ */

static void __activate_task(ts_t *p, rq_t *rq)
{
	enqueue_task(p, rq->active);
	rq->nr_running++;
}

static void deactivate_task(ts_t *p, rq_t *rq)
{
	rq->nr_running--;
	dequeue_task(p, p->array);
	p->array = NULL;
}

/*
 * Who was woken by an interrupt is probably interactive, so its wait for the
 * CPU will count as sleep in full; after other wakeups a part of it does.
 */
static void activate_task(sched_t *s, ts_t *p, rq_t *rq, u32 flags)
{
	if (glob_of(s)->jiffy_sleep_avg) {
		add_slept_jiffies(s, p);
	} else {
		recalc_task_prio(s, p, s->now);
		if (!p->activated)
			p->activated = flags & ENQ_IRQ ? 2 : 1;
	}
	p->timestamp = s->now;
	__activate_task(p, rq);
}

static void check_preempt(sched_t *s, ts_t *p, u32 cpu)
{
	if (TASK_PREEMPTS_CURR(s, p, cpu))
		resched_cpu(s, cpu);
}

/*
 * The end of try_to_wake_up(), and of a forced migration.  The waker's promise
 * to sleep at once makes preempting it pointless.
 */
static void try_to_wake_up(sched_t *s, ts_t *p, u32 flags)
{
	u32 cpu = task_of(p)->cpu;

	if ((flags & ENQ_SYNC) && tun(s)->sync_passive) {
		__activate_task(p, rq_of(s, cpu));
		if (!cpu_curr(s, cpu))
			resched_cpu(s, cpu);
		return;
	}
	if (flags & ENQ_UNINTERRUPTIBLE)
		p->activated = -1;
	activate_task(s, p, rq_of(s, cpu), flags);
	if (!(flags & ENQ_SYNC) || cpu != s->this_cpu || !cpu_curr(s, cpu))
		check_preempt(s, p, cpu);
}

/* ---- fork and exit ------------------------------------------------------ */

/* What a fork leaves of a sleep_avg: a part of it in 2.5.73, later whole levels of bonus. */
static u64 penalised_sleep_avg(sched_t *s, ts_t *p, s64 penalty)
{
	glob_t *g = glob_of(s);
	u64 jiffies = p->bonus * (u64)penalty / 100 * g->max_sleep_avg;

	if (!tun(s)->levels_penalised)
		return p->sleep_avg * (u64)penalty / 100;
	return div_u64(jiffies, g->max_bonus) * g->jiffy_ns;
}

static u32 class_prio(task_t *p, u32 static_prio)
{
	return task_is_rt(p) ? MAX_RT_PRIO - 1 - p->rt_priority : static_prio;
}

/* The first tasks: as if forked long ago by nobody. */
static void init_task(sched_t *s, ts_t *p)
{
	u64 sleep_avg = (u64)tun(s)->initial_sleep_avg_ms * NSEC_PER_MSEC;

	p->time_slice = task_timeslice(s, p);
	set_sleep_avg(s, p, min_of(sleep_avg, glob_of(s)->ns_max_sleep_avg));
	p->prio = effective_prio(s, p);
}

static void scheduler_tick(sched_t *s, u32 cpu, rq_t *rq, task_t *curr);

/* Parent and child share what was left of the slice, so forking wins no time. */
static void sched_fork(sched_t *s, task_t *parent, ts_t *p)
{
	ts_t *current = ts_of(parent);

	set_sleep_avg(s, p, current->sleep_avg);
	p->last_ran = current->last_ran;
	p->time_slice = (current->time_slice + 1) >> 1;
	p->first_time_slice = 1;
	current->time_slice >>= 1;
	if (current->time_slice)
		return;
	/* It had a single jiffy left, and that is over now. */
	current->time_slice = 1;
	scheduler_tick(s, parent->cpu, rq_of(s, parent->cpu), parent);
}

static void o1_fork(sched_t *s, task_t *parent, task_t *child)
{
	ts_t *p = ts_of(child);

	p->static_prio = (u32)NICE_TO_PRIO(child->nice);
	p->prio = class_prio(child, p->static_prio);
	p->timestamp = s->now;
	if (parent)
		sched_fork(s, parent, p);
	else
		init_task(s, p);
}

/*
 * The child is linked just before its parent and preempts it: an exec() that
 * follows at once then saves copying the pages both would share.
 */
static void child_runs_first(sched_t *s, ts_t *p, ts_t *current, rq_t *rq)
{
	p->prio = current->prio;
	p->array = current->array;
	list_insert(&p->run_list, current->run_list.prev);
	prio_array_mark(p->array, p->prio);
	rq->nr_running++;
	resched_cpu(s, rq->cpu);
}

/*
 * FIDELITY: only a child with its parent's nice and class, as fork() makes it,
 *	takes its parent's place.
 */
static u32 wants_parents_place(sched_t *s, task_t *child, task_t *parent)
{
	u32 shares_vm = child->mm == parent->mm || (child->flags & TASK_KTHREAD);

	return child->cpu == parent->cpu && (!shares_vm || tun(s)->threads_first) &&
	       child->nice == parent->nice && child->class == parent->class &&
	       child->rt_priority == parent->rt_priority && ts_of(parent)->array;
}

static void wake_up_new_task(sched_t *s, task_t *child)
{
	task_t *parent = cpu_curr(s, s->this_cpu);
	ts_t *p = ts_of(child);
	rq_t *rq = rq_of(s, child->cpu);

	if (!parent || parent != child->parent) {
		__activate_task(p, rq);
		check_preempt(s, p, child->cpu);
		return;
	}
	/* Both lose, lest an interactive task breeds interactive tasks. */
	set_sleep_avg(s, p, penalised_sleep_avg(s, p, tun(s)->child_penalty));
	p->prio = effective_prio(s, p);
	if (wants_parents_place(s, child, parent)) {
		child_runs_first(s, p, ts_of(parent), rq);
	} else {
		__activate_task(p, rq);
		if (child->cpu != s->this_cpu || child->nice != parent->nice || child->class != parent->class)
			check_preempt(s, p, child->cpu);
	}
	p = ts_of(parent);
	set_sleep_avg(s, p, penalised_sleep_avg(s, p, tun(s)->parent_penalty));
}

static u32 jiffies_of(sched_t *s, s64 ms)
{
	return (u32)(ms * tun(s)->hz / 1000);
}

static u32 returned_slice_limit(sched_t *s, ts_t *p)
{
	return tun(s)->max_timeslice_ms ? jiffies_of(s, tun(s)->max_timeslice_ms) : task_timeslice(s, p);
}

/* A child that never used up its first slice gives back the rest; a hog leaves its parent poorer. */
static void o1_exit(sched_t *s, task_t *child, task_t *reaper)
{
	ts_t *p = ts_of(child), *parent;
	u64 weight = (u64)tun(s)->exit_weight;

	if (!reaper)
		return;
	parent = ts_of(reaper);
	if (p->first_time_slice)
		parent->time_slice = min_of(parent->time_slice + p->time_slice, returned_slice_limit(s, p));
	if (p->sleep_avg < parent->sleep_avg)
		set_sleep_avg(s, parent, div_u64(parent->sleep_avg, weight + 1) * weight +
					 div_u64(p->sleep_avg, weight + 1));
}

/* ---- SMP: load ---------------------------------------------------------- */

/* Low and high guesses at a CPU's load: the queue now, or the average if that is less, or more. */
static u32 source_load(sched_t *s, u32 cpu, u32 idx)
{
	rq_t *rq = rq_of(s, cpu);
	u32 load_now = rq->nr_running * SCHED_LOAD_SCALE;

	return idx ? min_of(rq->cpu_load[idx - 1], load_now) : load_now;
}

static u32 target_load(sched_t *s, u32 cpu, u32 idx)
{
	rq_t *rq = rq_of(s, cpu);
	u32 load_now = rq->nr_running * SCHED_LOAD_SCALE;

	return idx ? max_of(rq->cpu_load[idx - 1], load_now) : load_now;
}

/*
 * Average i forgets half of the past in about 2^i ticks.  Rounding up while
 * load rises keeps it from sticking one below.
 */
static u32 average_load(u32 i, u32 old_load, u32 new_load)
{
	if (new_load > old_load)
		new_load += (1u << i) - 1;
	return (old_load * ((1u << i) - 1) + new_load) >> i;
}

/* 2.6.11 has one average, which is number 1 exactly: its variant uses load index 2 everywhere. */
static void update_cpu_load(rq_t *rq)
{
	u32 this_load = rq->nr_running * SCHED_LOAD_SCALE;

	rq->cpu_load[0] = this_load;
	rq->cpu_load[1] = average_load(1, rq->cpu_load[1], this_load);
	rq->cpu_load[2] = average_load(2, rq->cpu_load[2], this_load);
}

static u32 idle_cpu(sched_t *s, u32 cpu)
{
	return !cpu_curr(s, cpu);
}

/* ---- SMP: domains and groups -------------------------------------------- */

/* Which CPU is at position @i of a span of level @level?  In the kernel's order. */
static u32 span_cpu(sched_t *s, u32 level, u32 i)
{
	glob_t *g = glob_of(s);

	if (level == SD_NUMA)
		return i;
	return level == SD_CPU ? g->by_node[i] : g->by_core[i];
}

/* And in a group of that level, which is a span of the level below. */
static u32 group_cpu(sched_t *s, u32 level, u32 i)
{
	return level == SD_NUMA ? glob_of(s)->by_node[i] : glob_of(s)->by_core[i];
}

static u32 group_end(sched_t *s, u32 level, u32 i)
{
	glob_t *g = glob_of(s);

	if (level == SD_SMT)
		return i + 1;
	return level == SD_CPU ? g->core_end[i] : g->node_end[i];
}

/* The groups of a domain are a ring: which follows the one at @i? */
static u32 next_group(sched_t *s, u32 level, sd_t *sd, u32 i)
{
	u32 end = group_end(s, level, i);

	return end == sd->end ? sd->start : end;
}

static u32 group_power(sched_t *s, u32 level, u32 i)
{
	glob_t *g = glob_of(s);

	if (level == SD_SMT)
		return SCHED_LOAD_SCALE;
	return level == SD_CPU ? g->core_power[i] : g->node_power[i];
}

static u32 in_span(sched_t *s, sd_t *sd, u32 cpu)
{
	u32 i = rq_of(s, cpu)->position;

	return i >= sd->start && i < sd->end;
}

/* Is there such a domain, and does it have this flag? */
static u32 sd_has(sched_t *s, rq_t *rq, u32 level, u32 flag)
{
	return rq->sd[level].start != rq->sd[level].end && (glob_of(s)->level[level].flags & flag);
}

static u32 ms_to_jiffies(sched_t *s, u64 ms)
{
	u32 jiffies = (u32)((ms * (u64)tun(s)->hz + 999) / 1000);

	return max_of(jiffies, 1);
}

static void set_balance_interval(sched_t *s, u32 level, sd_t *sd, u32 ms)
{
	sd->balance_interval = ms;
	sd->interval[SCHED_IDLE] = ms_to_jiffies(s, ms);
	sd->interval[NOT_IDLE] = ms_to_jiffies(s, (u64)ms * glob_of(s)->level[level].busy_factor);
}

/* ---- SMP: moving tasks -------------------------------------------------- */

/* One balancing operation; lives on the stack of whoever balances. */
struct balance {
	rq_t *this_rq, *busiest;
	u32 migration;		/* the migration thread's doing: see active_load_balance() */
	task_t *preempted;	/* by that thread, so it counts as waiting */
	u32 this_cpu, level, idle;
	u32 max_nr_move, pulled;
	u32 all_pinned;
};

static u32 cpu_and_siblings_are_idle(sched_t *s, u32 cpu)
{
	glob_t *g = glob_of(s);
	u32 i = rq_of(s, cpu)->position, end = g->core_end[i];

	repeat_while(s, i > 0 && g->core_end[i - 1] == end)
		i--;
	repeat_while(s, i < end && idle_cpu(s, g->by_core[i]))
		i++;
	return i == end;
}

static u32 task_hot(ts_t *p, u64 now, sd_params_t *sd)
{
	return (s64)(now - p->last_ran) < (s64)sd->cache_hot_ns;
}

/* A task moves unless it runs, must not, or is cache-hot and we can afford to care. */
static u32 can_migrate_task(sched_t *s, ts_t *p, struct balance *b)
{
	task_t *task = task_of(p);
	sd_params_t *sd = &glob_of(s)->level[b->level];

	if (!cpu_allowed(task, b->this_cpu))
		return false;
	b->all_pinned = false;
	if (task->on_cpu && task != b->preempted)
		return false;
	if (b->this_rq->sd[b->level].nr_balance_failed > sd->cache_nice_tries)
		return true;
	if (tun(s)->idle_ignores_cache && cpu_and_siblings_are_idle(s, b->this_cpu))
		return true;
	return !task_hot(p, b->busiest->timestamp_last_tick, sd);
}

static void attach_task(sched_t *s, ts_t *p, u32 cpu, prio_array_t *array)
{
	rq_t *rq = rq_of(s, cpu);

	move_task(s, task_of(p), cpu);
	rq->nr_running++;
	enqueue_task(p, array);
	count(s, COUNTER_balance_moves, 1);
}

/* A newly idle CPU is in schedule() already: nothing to preempt. */
static void pull_task(sched_t *s, ts_t *p, struct balance *b, prio_array_t *dst_array)
{
	b->pulled++;
	if (task_of(p)->on_cpu) {
		b->busiest->pushed = task_of(p);
		b->busiest->pushed_to = b->this_cpu;
		b->busiest->pushed_expired = dst_array == b->this_rq->expired;
		return;
	}
	deactivate_task(p, b->busiest);
	attach_task(s, p, b->this_cpu, dst_array);
	if (b->idle != NEWLY_IDLE)
		check_preempt(s, p, b->this_cpu);
}

/* Back to front: who waits longest runs next, so take the others. */
static void move_tasks_list(sched_t *s, struct balance *b, list_t *head, prio_array_t *dst_array)
{
	list_t *curr = head->prev;

	repeat_while(s, curr != head && b->pulled < b->max_nr_move) {
		ts_t *p = list_entry(curr, ts_t, run_list);

		curr = curr->prev;
		examined(s, 1);
		if (can_migrate_task(s, p, b))
			pull_task(s, p, b, dst_array);
	}
}

static void move_tasks_array(sched_t *s, struct balance *b, prio_array_t *array, prio_array_t *dst_array)
{
	u32 idx = prio_array_first(array);

	repeat_while(s, idx < MAX_PRIO && b->pulled < b->max_nr_move) {
		move_tasks_list(s, b, &array->queue[idx], dst_array);
		idx = prio_array_next(s, array, idx + 1);
	}
}

/*
 * Expired tasks first: they will not run soon and are the coldest.  A CPU keeps
 * one task, be it the migration thread.
 */
static void move_tasks(sched_t *s, struct balance *b)
{
	b->pulled = 0;
	if (b->busiest->nr_running + b->migration <= 1)
		return;
	b->all_pinned = true;
	move_tasks_array(s, b, b->busiest->expired, b->this_rq->expired);
	move_tasks_array(s, b, b->busiest->active, b->this_rq->active);
}

/* ---- SMP: finding the busiest ------------------------------------------- */

#define NO_GROUP	MAX_CPUS

/* What find_busiest_group() learns on its round; loads are in 1/128 task per CPU. */
struct group_stats {
	u32 busiest, busiest_power, this_power;
	u32 max_load, this_load;
	u32 total_load, total_pwr;
};

/* Loads are biased so that a small difference moves nothing: ours looks high, theirs low. */
static u32 group_load(sched_t *s, u32 level, u32 i, u32 local, u32 idx)
{
	u32 end = group_end(s, level, i), load = 0;

	repeat_while(s, i < end) {
		u32 cpu = group_cpu(s, level, i++);

		load += local ? target_load(s, cpu, idx) : source_load(s, cpu, idx);
	}
	return load;
}

static u32 per_power(u32 load, u32 power)
{
	return power == SCHED_LOAD_SCALE ? load : (u32)div_u64((u64)load * SCHED_LOAD_SCALE, power);
}

static void add_group(sched_t *s, struct balance *b, struct group_stats *st, u32 i)
{
	u32 local = i == b->this_rq->sd[b->level].group;
	u32 idx = glob_of(s)->level[b->level].load_idx[b->idle];
	u32 power = group_power(s, b->level, i);
	u32 load = group_load(s, b->level, i, local, idx);

	st->total_load += load;
	st->total_pwr += power;
	load = per_power(load, power);
	if (local) {
		st->this_load = load;
		st->this_power = power;
	} else if (load > st->max_load) {
		st->max_load = load;
		st->busiest = i;
		st->busiest_power = power;
	}
}

static void gather_stats(sched_t *s, struct balance *b, struct group_stats *st)
{
	sd_t *sd = &b->this_rq->sd[b->level];
	u32 i = sd->group;

	st->busiest = NO_GROUP;
	add_group(s, b, st, i);
	i = next_group(s, b->level, sd, i);
	repeat_while(s, i != sd->group) {
		add_group(s, b, st, i);
		i = next_group(s, b->level, sd, i);
	}
}

/*
 * Would one task more here and one less there use more CPU power in all?
 * FIDELITY: what we would add is computed as in 2.6.12; 2.6.11 differs for groups of unequal power.
 */
static u32 power_gain_suffices(sched_t *s, struct group_stats *st)
{
	u32 task = SCHED_LOAD_SCALE * SCHED_LOAD_SCALE, tmp;
	u32 pwr_now, pwr_move = 0;

	pwr_now = st->busiest_power * min_of(SCHED_LOAD_SCALE, st->max_load) +
		  st->this_power * min_of(SCHED_LOAD_SCALE, st->this_load);
	tmp = (u32)div_u64(task, st->busiest_power);
	if (st->max_load > tmp)
		pwr_move += st->busiest_power * min_of(SCHED_LOAD_SCALE, st->max_load - tmp);
	tmp = (u32)div_u64(min_of((u64)st->max_load * st->busiest_power, task), st->this_power);
	pwr_move += st->this_power * min_of(SCHED_LOAD_SCALE, st->this_load + tmp);
	return pwr_move / SCHED_LOAD_SCALE >= pwr_now / SCHED_LOAD_SCALE + (u32)tun(s)->min_power_gain;
}

/* How many tasks should move from the busiest group to ours? */
static u32 calculate_imbalance(sched_t *s, u32 imbalance_pct, struct group_stats *st)
{
	u32 rounding = (u32)tun(s)->imbalance_rounding;
	u32 avg_load;
	u64 imbalance;

	if (st->busiest == NO_GROUP || st->this_load >= st->max_load)
		return 0;
	avg_load = per_power(st->total_load, st->total_pwr);
	if (st->this_load >= avg_load || 100 * (u64)st->max_load <= (u64)imbalance_pct * st->this_load)
		return 0;
	/* Neither push ourselves above the average nor the busiest below: that would ping-pong. */
	imbalance = min_of((u64)(st->max_load - avg_load) * st->busiest_power,
			   (u64)(avg_load - st->this_load) * st->this_power) / SCHED_LOAD_SCALE;
	if (imbalance >= SCHED_LOAD_SCALE - rounding)
		return (u32)(imbalance + rounding) / SCHED_LOAD_SCALE;
	if (st->max_load - st->this_load >= SCHED_LOAD_SCALE * 2)
		return 1;
	return power_gain_suffices(s, st);
}

/* Sets b->max_nr_move; returns the first position of the group, or NO_GROUP. */
static u32 find_busiest_group(sched_t *s, struct balance *b)
{
	struct group_stats st = {};

	gather_stats(s, b, &st);
	b->max_nr_move = calculate_imbalance(s, glob_of(s)->level[b->level].imbalance_pct, &st);
	if (b->max_nr_move)
		return st.busiest;
	/* Balanced, but we have nothing to do. */
	if (tun(s)->aggressive_idle && (b->idle == NEWLY_IDLE ||
	    (b->idle == SCHED_IDLE && st.max_load > SCHED_LOAD_SCALE))) {
		b->max_nr_move = 1;
		return st.busiest;
	}
	return NO_GROUP;
}

/* Sets b->busiest, to NULL if nobody in the group has anything. */
static void find_busiest_queue(sched_t *s, struct balance *b, u32 group)
{
	u32 end = group_end(s, b->level, group), max_load = 0;

	b->busiest = NULL;
	repeat_while(s, group < end) {
		u32 cpu = group_cpu(s, b->level, group++);
		u32 load = source_load(s, cpu, (u32)tun(s)->busiest_queue_idx);

		if (load > max_load) {
			max_load = load;
			b->busiest = rq_of(s, cpu);
		}
	}
}

/* Returns false if all is balanced; else b->busiest is set and b->pulled tasks have come over. */
static u32 try_balance(sched_t *s, struct balance *b)
{
	u32 group = find_busiest_group(s, b);

	count(s, COUNTER_balance_attempts, 1);
	if (group == NO_GROUP)
		return false;
	find_busiest_queue(s, b, group);
	if (!b->busiest)
		return false;
	if (b->busiest->nr_running > 1) {
		rq_lock(s, b->busiest->cpu);
		move_tasks(s, b);
		rq_unlock(s, b->busiest->cpu);
	}
	return true;
}

/* ---- SMP: balancing ----------------------------------------------------- */

/*
 * Nothing but the running task could move, and that only when something runs
 * in its place: ask the busiest CPU to see to that.  Returns true if we did.
 */
static u32 kick_active_balance(sched_t *s, struct balance *b)
{
	sd_t *sd = &b->this_rq->sd[b->level];
	u32 tries = glob_of(s)->level[b->level].cache_nice_tries;

	if (++sd->nr_balance_failed <= tries + 2)
		return false;
	rq_lock(s, b->busiest->cpu);
	if (!b->busiest->active_balance) {
		b->busiest->active_balance = 1;
		b->busiest->push_cpu = b->this_cpu;
		resched_cpu(s, b->busiest->cpu);
		count(s, COUNTER_active_balance, 1);
	}
	rq_unlock(s, b->busiest->cpu);
	sd->nr_balance_failed = tries + (u32)tun(s)->active_retries;
	return true;
}

/* There was an imbalance.  How soon do we look again? */
static void adjust_interval(sched_t *s, struct balance *b, u32 kicked)
{
	sd_t *sd = &b->this_rq->sd[b->level];
	sd_params_t *params = &glob_of(s)->level[b->level];
	u32 interval = sd->balance_interval;

	if (b->pulled || (!tun(s)->failed_adds_ms && !kicked))
		interval = params->min_interval;
	else if (interval < params->max_interval)
		interval = tun(s)->failed_adds_ms ? interval + 1 : interval * 2;
	if (interval != sd->balance_interval)
		set_balance_interval(s, b->level, sd, interval);
}

/* There was none, or nothing that may move. */
static void back_off(sched_t *s, struct balance *b)
{
	sd_t *sd = &b->this_rq->sd[b->level];
	sd_params_t *params = &glob_of(s)->level[b->level];
	u32 limit = params->max_interval;

	if (tun(s)->balanced_clears_failed)
		sd->nr_balance_failed = 0;
	if (b->all_pinned)
		limit = max_of(limit, (u32)tun(s)->max_pinned_interval_ms);
	if (sd->balance_interval < limit)
		set_balance_interval(s, b->level, sd, sd->balance_interval * 2);
}

/* Make this CPU's load even with the busiest one's.  Returns the number of tasks that came. */
static u32 load_balance(sched_t *s, u32 this_cpu, rq_t *this_rq, u32 level, u32 idle)
{
	struct balance b = {
		.this_rq = this_rq, .this_cpu = this_cpu, .level = level, .idle = idle,
	};
	u32 kicked = false;

	if (!try_balance(s, &b) || (b.all_pinned && tun(s)->max_pinned_interval_ms)) {
		back_off(s, &b);
		return 0;
	}
	if (b.pulled)
		this_rq->sd[level].nr_balance_failed = 0;
	else
		kicked = kick_active_balance(s, &b);
	adjust_interval(s, &b, kicked);
	return b.pulled;
}

/* schedule() has nothing to run: get something, from near if possible. */
static void idle_balance(sched_t *s, u32 this_cpu, rq_t *this_rq)
{
	u32 level;

	repeat(s, level, SD_LEVELS) {
		struct balance b = {
			.this_rq = this_rq, .this_cpu = this_cpu, .level = level, .idle = NEWLY_IDLE,
		};
		u32 unbalanced;

		if (this_rq->nr_running || !sd_has(s, this_rq, level, SD_BALANCE_NEWIDLE))
			continue;
		unbalanced = try_balance(s, &b);
		if (tun(s)->balanced_clears_failed && (b.pulled || !unbalanced))
			this_rq->sd[level].nr_balance_failed = 0;
	}
}

/* Balancing operations should not go off at once on all CPUs: hence the offset. */
static void rebalance_tick(sched_t *s, u32 this_cpu, rq_t *this_rq, u32 idle)
{
	u64 j = this_rq->jiffies + this_rq->jiffies_offset;
	u32 level;

	update_cpu_load(this_rq);
	repeat(s, level, SD_LEVELS) {
		sd_t *sd = &this_rq->sd[level];
		u32 interval = sd->interval[idle];

		if (!sd_has(s, this_rq, level, SD_LOAD_BALANCE) || j - sd->last_balance < interval)
			continue;
		if (load_balance(s, this_cpu, this_rq, level, idle))
			idle = NOT_IDLE;
		sd->last_balance += interval;
	}
}

/* Push one task from @busiest to @target. */
static void push_one(sched_t *s, rq_t *busiest, u32 target, u32 level, task_t *preempted)
{
	struct balance b = {
		.this_rq = rq_of(s, target), .this_cpu = target, .level = level, .idle = SCHED_IDLE,
		.busiest = busiest, .migration = 1, .preempted = preempted, .max_nr_move = 1,
	};

	rq_lock(s, target);
	move_tasks(s, &b);
	rq_unlock(s, target);
}

/* 2.6.11: a task each for all idle cores, the nearest first. */
static void push_to_idle_cores(sched_t *s, rq_t *busiest, task_t *preempted)
{
	u32 level, i;

	repeat(s, level, SD_LEVELS) {
		sd_t *sd = &busiest->sd[level];

		i = sd->start;
		repeat_while(s, i < sd->end && sd_has(s, busiest, level, SD_LOAD_BALANCE)) {
			u32 cpu = span_cpu(s, level, i++);

			if (cpu == busiest->cpu || !busiest->nr_running || busiest->pushed ||
			    rq_of(s, cpu)->nr_running || !cpu_and_siblings_are_idle(s, cpu))
				continue;
			push_one(s, busiest, cpu, level, preempted);
		}
	}
}

/* From 2.6.12: a task for the CPU that asked, in the smallest domain it shares with us. */
static void push_to_caller(sched_t *s, rq_t *busiest, task_t *preempted)
{
	rq_t *target = rq_of(s, busiest->push_cpu);
	u32 level, found = false;

	repeat(s, level, SD_LEVELS) {
		if (found || !sd_has(s, target, level, SD_LOAD_BALANCE) ||
		    !in_span(s, &target->sd[level], busiest->cpu))
			continue;
		found = true;
		push_one(s, busiest, busiest->push_cpu, level, preempted);
	}
}

/*
 * What the kernel's migration thread does after load_balance() woke it.  Its
 * point is that it preempts the running task, which thereby becomes movable.
 * It counts as running itself, so a CPU may be left with nothing else.
 *
 * FIDELITY: there is no migration thread.  pick_next() does its work, so it
 *	costs no context switch; and a running task can only leave when the
 *	switch is made, so it is left waiting here, picked by nobody, until
 *	switched().  2.6.11 could push further tasks after that one; we stop.
 */
static void active_load_balance(sched_t *s, rq_t *busiest, task_t *prev)
{
	busiest->active_balance = 0;
	if (tun(s)->active_searches)
		push_to_idle_cores(s, busiest, prev);
	else
		push_to_caller(s, busiest, prev);
}

/* The second half, once the running task has stopped. */
static void finish_active_balance(sched_t *s, rq_t *rq)
{
	task_t *task = rq->pushed;
	ts_t *p = ts_of(task);
	rq_t *target = rq_of(s, rq->pushed_to);
	prio_array_t *dst_array = rq->pushed_expired ? target->expired : target->active;

	rq->pushed = NULL;
	if (task->on_cpu || !p->array || !cpu_allowed(task, target->cpu))
		return;
	rq_lock(s, target->cpu);
	deactivate_task(p, rq);
	attach_task(s, p, target->cpu, dst_array);
	check_preempt(s, p, target->cpu);
	rq_unlock(s, target->cpu);
}

/* ---- SMP: where a task wakes up ----------------------------------------- */

/* The first idle CPU @p may use in a domain; @cpu if there is none. */
static u32 idle_cpu_in_span(sched_t *s, u32 cpu, u32 level, task_t *p)
{
	sd_t *sd = &rq_of(s, cpu)->sd[level];
	u32 i = sd->start;

	repeat_while(s, i < sd->end) {
		u32 idle = span_cpu(s, level, i++);

		if (cpu_allowed(p, idle) && idle_cpu(s, idle))
			return idle;
	}
	return cpu;
}

/* An idle CPU of the inner domains that want it is better than a busy one. */
static u32 wake_idle(sched_t *s, u32 cpu, task_t *p)
{
	rq_t *rq = rq_of(s, cpu);
	s64 needs_smt = tun(s)->wake_idle == 1;
	u32 level, idle = cpu;

	if (!tun(s)->wake_idle || (needs_smt && !glob_of(s)->has_smt))
		return cpu;
	repeat(s, level, SD_LEVELS) {
		if (rq->sd[level].start == rq->sd[level].end)
			continue;
		if (!idle_cpu(s, idle) && sd_has(s, rq, level, SD_WAKE_IDLE))
			idle = idle_cpu_in_span(s, cpu, level, p);
		else
			return idle;
	}
	return idle;
}

/* 2.6.11: does any domain around both CPUs let @p come to this one? */
static u32 wake_here_2611(sched_t *s, ts_t *p, u32 cpu, u32 this_cpu, u32 sync)
{
	rq_t *rq = rq_of(s, this_cpu);
	u32 idx = glob_of(s)->level[SD_CPU].wake_idx, level;
	u32 load = source_load(s, cpu, idx), this_load = target_load(s, this_cpu, idx);

	/* The waker is about to leave. */
	if (sync)
		this_load -= min_of(SCHED_LOAD_SCALE, this_load);
	/* From an idle CPU to a busy one? */
	if (load < SCHED_LOAD_SCALE / 2 && this_load > SCHED_LOAD_SCALE / 2)
		return false;
	repeat(s, level, SD_LEVELS) {
		sd_params_t *sd = &glob_of(s)->level[level];
		u32 imbalance = sd->imbalance_pct + (sd->imbalance_pct - 100) / 2;
		u32 cold = (sd->flags & SD_WAKE_AFFINE) && !task_hot(p, task_rq(s, p)->timestamp_last_tick, sd);
		u32 evens = (sd->flags & SD_WAKE_BALANCE) && imbalance * this_load <= 100 * load;

		if ((cold || evens) && in_span(s, &rq->sd[level], cpu))
			return true;
	}
	return false;
}

/* 2.6.13: in the smallest domain around both, how would the loads be? */
static u32 wake_here_2613(sched_t *s, u32 cpu, u32 this_cpu, u32 sync)
{
	rq_t *rq = rq_of(s, this_cpu);
	u32 level = 0;
	sd_params_t *sd;
	u32 imbalance, load, this_load, tl;

	repeat_while(s, level < SD_LEVELS && !in_span(s, &rq->sd[level], cpu))
		level++;
	if (level == SD_LEVELS)
		return false;
	sd = &glob_of(s)->level[level];
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
static u32 wake_cpu(sched_t *s, task_t *p, u32 cpu, u32 flags)
{
	u32 this_cpu = s->this_cpu, sync = flags & ENQ_SYNC, here;

	if (cpu != this_cpu && cpu_allowed(p, this_cpu)) {
		if (tun(s)->sync_passive)
			here = sync;
		else if (tun(s)->wake_one_domain)
			here = wake_here_2613(s, cpu, this_cpu, sync);
		else
			here = wake_here_2611(s, ts_of(p), cpu, this_cpu, sync);
		if (here)
			cpu = this_cpu;
	}
	return wake_idle(s, cpu, p);
}

/* ---- SMP: fork and exec ------------------------------------------------- */

/* 2.6.11: the least loaded CPU of a domain, if that is much less loaded than this one. */
static u32 find_idlest_cpu_2611(sched_t *s, task_t *p, u32 this_cpu, u32 level)
{
	sd_t *sd = &rq_of(s, this_cpu)->sd[level];
	sd_params_t *params = &glob_of(s)->level[level];
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
static u32 sched_exec_2611(sched_t *s, task_t *p, u32 this_cpu)
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
static u32 find_idlest_group(sched_t *s, u32 level, sd_t *sd)
{
	sd_params_t *params = &glob_of(s)->level[level];
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

static u32 find_idlest_cpu(sched_t *s, u32 level, u32 group)
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
static u32 sched_balance_self(sched_t *s, u32 this_cpu, u32 flag)
{
	u32 cpu = this_cpu, group;
	s32 level;

	repeat_down(s, level, SD_LEVELS - 1, 0) {
		rq_t *rq = rq_of(s, cpu);

		if (!sd_has(s, rq, (u32)level, flag))
			continue;
		group = find_idlest_group(s, (u32)level, &rq->sd[level]);
		if (group != NO_GROUP)
			cpu = find_idlest_cpu(s, (u32)level, group);
	}
	return cpu;
}

static u32 forkexec_cpu(sched_t *s, task_t *p, u32 cpu, u32 flags)
{
	u32 flag = flags & ENQ_EXEC ? SD_BALANCE_EXEC : SD_BALANCE_FORK;
	u32 new_cpu = cpu;

	if (tun(s)->balance_self)
		new_cpu = sched_balance_self(s, cpu, flag);
	else if (flags & ENQ_EXEC)
		new_cpu = sched_exec_2611(s, p, cpu);
	return cpu_allowed(p, new_cpu) ? new_cpu : cpu;
}

static u32 any_online_cpu(sched_t *s, task_t *p)
{
	u32 cpu;

	for_each_cpu(s, cpu)
		if (cpu_allowed(p, cpu))
			return cpu;
	return p->cpu;
}

static u32 o1_select_cpu(sched_t *s, task_t *p, u32 flags)
{
	u32 cpu = p->cpu;

	if (!cpu_allowed(p, cpu))
		cpu = any_online_cpu(s, p);
	if (s->nr_cpus == 1 || (flags & ENQ_MOVE))
		return cpu;
	if (flags & (ENQ_NEW | ENQ_EXEC))
		return p->parent || (flags & ENQ_EXEC) ? forkexec_cpu(s, p, cpu, flags) : cpu;
	return wake_cpu(s, p, cpu, flags);
}

/* ---- enqueue and dequeue ------------------------------------------------ */

static void o1_enqueue(sched_t *s, task_t *p, u32 flags)
{
	if (flags & ENQ_NEW)
		wake_up_new_task(s, p);
	else
		try_to_wake_up(s, ts_of(p), flags);
}

static void o1_dequeue(sched_t *s, task_t *p, u32 flags)
{
	deactivate_task(ts_of(p), rq_of(s, p->cpu));
}

/* ---- the tick ----------------------------------------------------------- */

/*
 * Expired tasks must not wait for ever because interactive ones are put back:
 * not longer than a limit that grows with the queue, and not at all when a
 * task of better static priority than the running one waits there.
 */
static u32 EXPIRED_STARVING(sched_t *s, rq_t *rq, ts_t *curr)
{
	u64 limit = glob_of(s)->starvation_limit;

	if (!limit)
		return false;
	if (rq->expired_timestamp && rq->jiffies - rq->expired_timestamp >= limit * rq->nr_running + 1)
		return true;
	return tun(s)->starving_prio && curr->static_prio > rq->best_expired_prio;
}

/* The slice is used up: refill it, and file the task under active or expired. */
static void task_expired(sched_t *s, rq_t *rq, ts_t *p)
{
	u32 starving = false;

	dequeue_task(p, rq->active);
	resched_cpu(s, rq->cpu);
	p->prio = effective_prio(s, p);
	p->time_slice = task_timeslice(s, p);
	p->first_time_slice = 0;
	if (!rq->expired_timestamp && tun(s)->starving_clock)
		rq->expired_timestamp = rq->jiffies;
	if (TASK_INTERACTIVE(s, p)) {
		starving = EXPIRED_STARVING(s, rq, p);
		count(s, COUNTER_expired_starving, starving);
		if (!starving) {
			enqueue_task(p, rq->active);
			return;
		}
	}
	if (!rq->expired_timestamp)
		rq->expired_timestamp = rq->jiffies;
	enqueue_task(p, rq->expired);
	rq->best_expired_prio = min_of(rq->best_expired_prio, p->static_prio);
}

/*
 * A long slice in the hands of an interactive task is cut into pieces, so that
 * its equals need not wait for all of it.
 */
static void check_granularity(sched_t *s, rq_t *rq, ts_t *p)
{
	u32 granularity = glob_of(s)->granularity[p->bonus];

	if (!granularity || !TASK_INTERACTIVE(s, p) || p->time_slice < granularity ||
	    (task_timeslice(s, p) - p->time_slice) % granularity)
		return;
	count(s, COUNTER_interactive_requeues, 1);
	resched_cpu(s, rq->cpu);
	if (tun(s)->granularity_prio) {
		dequeue_task(p, rq->active);
		p->prio = effective_prio(s, p);
		enqueue_task(p, rq->active);
	} else {
		requeue_task(p, rq->active);
	}
}

static void task_tick(sched_t *s, rq_t *rq, ts_t *p)
{
	/* It expired, or yielded, and has not been rescheduled yet. */
	if (p->array != rq->active) {
		resched_cpu(s, rq->cpu);
		return;
	}
	if (glob_of(s)->jiffy_sleep_avg)
		set_sleep_avg(s, p, p->sleep_avg - min_of(p->sleep_avg, glob_of(s)->jiffy_ns));
	if (!rt_task(p)) {
		if (!--p->time_slice)
			task_expired(s, rq, p);
		else
			check_granularity(s, rq, p);
		return;
	}
	if (task_of(p)->class == CLASS_RR && !--p->time_slice) {
		p->time_slice = task_timeslice(s, p);
		p->first_time_slice = 0;
		resched_cpu(s, rq->cpu);
		requeue_task(p, rq->active);
	}
}

/* Time @p has used since it was switched in, or since the last tick. */
static void update_cpu_clock(sched_t *s, ts_t *p, rq_t *rq)
{
	p->sched_time += s->now - max_of(p->timestamp, rq->timestamp_last_tick);
}

static void scheduler_tick(sched_t *s, u32 cpu, rq_t *rq, task_t *curr)
{
	if (curr)
		update_cpu_clock(s, ts_of(curr), rq);
	rq->timestamp_last_tick = s->now;
	if (curr)
		task_tick(s, rq, ts_of(curr));
	if (s->nr_cpus > 1)
		rebalance_tick(s, cpu, rq, curr ? NOT_IDLE : SCHED_IDLE);
}

/*
 * FIDELITY: each CPU counts jiffies for itself, in its own tick; the kernel has
 *	one count that CPU 0 advances.  They agree but for the phase of the ticks.
 */
static void update_jiffies(sched_t *s, rq_t *rq)
{
	u64 jiffy_ns = glob_of(s)->jiffy_ns;

	if (s->now < rq->next_jiffy_ns)
		return;
	rq->jiffies++;
	rq->next_jiffy_ns += jiffy_ns;
	if (s->now < rq->next_jiffy_ns)
		return;
	rq->jiffies = div_u64(s->now, jiffy_ns);
	rq->next_jiffy_ns = (rq->jiffies + 1) * jiffy_ns;
}

static void o1_tick(sched_t *s, u32 cpu, task_t *p)
{
	rq_t *rq = rq_of(s, cpu);

	update_jiffies(s, rq);
	scheduler_tick(s, cpu, rq, p);
}

/* ---- schedule() --------------------------------------------------------- */

/* Interactive tasks spend their credit slowly.  (A division of 32 bits is the faster one.) */
static u64 run_time_of(sched_t *s, ts_t *prev)
{
	u64 run_time = min_of(s->now - prev->timestamp, glob_of(s)->ns_max_sleep_avg);

	if (prev->bonus < 2 || (glob_of(s)->credit_limit && !HIGH_CREDIT(s, prev)))
		return run_time;
	return run_time >> 32 ? div_u64(run_time, prev->bonus) : (u32)run_time / prev->bonus;
}

static void charge_run_time(sched_t *s, ts_t *prev, u64 run_time)
{
	if (glob_of(s)->jiffy_sleep_avg)
		return;
	if (prev->sleep_avg > run_time) {
		set_sleep_avg(s, prev, prev->sleep_avg - run_time);
		return;
	}
	set_sleep_avg(s, prev, 0);
	if (glob_of(s)->credit_limit && !HIGH_CREDIT(s, prev) && !LOW_CREDIT(s, prev))
		prev->interactive_credit--;
}

static void switch_arrays(sched_t *s, rq_t *rq)
{
	prio_array_t *array = rq->active;

	rq->active = rq->expired;
	rq->expired = array;
	rq->expired_timestamp = 0;
	rq->best_expired_prio = MAX_PRIO;
	count(s, COUNTER_array_switches, 1);
}

/* Of the tasks in the best list, who runs?  The only place that chooses. */
static ts_t *choose_task(sched_t *s, prio_array_t *array, u32 idx)
{
	examined(s, 1);
	return list_entry(array->queue[idx].next, ts_t, run_list);
}

/*
 * It was woken and has waited since: count that wait as sleep, too.  It has
 * been chosen already and runs, wherever its new priority puts it.
 */
static void credit_wait(sched_t *s, ts_t *next)
{
	u64 delta = s->now - next->timestamp;
	prio_array_t *array = next->array;

	if (next->activated == 1)
		delta = delta * glob_of(s)->on_runqueue_weight / 128;
	dequeue_task(next, array);
	recalc_task_prio(s, next, next->timestamp + delta);
	enqueue_task(next, array);
}

static ts_t *pick_task(sched_t *s, rq_t *rq)
{
	ts_t *next;

	if (!rq->active->nr)
		switch_arrays(s, rq);
	next = choose_task(s, rq->active, prio_array_first(rq->active));
	if (!rt_task(next) && next->activated > 0)
		credit_wait(s, next);
	next->activated = 0;
	return next;
}

static ts_t *pick_or_pull(sched_t *s, rq_t *rq)
{
	if (!rq->nr_running && s->nr_cpus > 1)
		idle_balance(s, rq->cpu, rq);
	if (rq->nr_running)
		return pick_task(s, rq);
	rq->expired_timestamp = 0;
	return NULL;
}

/* Choose while the task that is about to be pushed away is out of the way. */
static ts_t *pick_without(sched_t *s, rq_t *rq, ts_t *pushed)
{
	prio_array_t *array = pushed->array;
	ts_t *next;

	deactivate_task(pushed, rq);
	next = pick_or_pull(s, rq);
	enqueue_task(pushed, array);
	rq->nr_running++;
	return next;
}

static ts_t *schedule(sched_t *s, rq_t *rq, task_t *prev)
{
	if (rq->active_balance)
		active_load_balance(s, rq, prev);
	return rq->pushed ? pick_without(s, rq, ts_of(rq->pushed)) : pick_or_pull(s, rq);
}

/* What @prev's turn cost is computed before and charged after the choice, which may change its bonus. */
static task_t *o1_pick_next(sched_t *s, u32 cpu, task_t *prev, u32 why)
{
	rq_t *rq = rq_of(s, cpu);
	u64 run_time = prev ? run_time_of(s, ts_of(prev)) : 0;
	ts_t *next = schedule(s, rq, prev);

	if (prev) {
		update_cpu_clock(s, ts_of(prev), rq);
		charge_run_time(s, ts_of(prev), run_time);
		ts_of(prev)->timestamp = ts_of(prev)->last_ran = s->now;
	}
	if (!next)
		return NULL;
	next->timestamp = s->now;
	return task_of(next);
}

static void o1_switched(sched_t *s, u32 cpu, task_t *prev, task_t *next)
{
	rq_t *rq = rq_of(s, cpu);

	if (rq->pushed)
		finish_active_balance(s, rq);
}

/* ---- system calls ------------------------------------------------------- */

/* To the back of the expired array, with what is left of the slice; a real-time task to the back of its list. */
static u32 o1_yield(sched_t *s, task_t *task)
{
	ts_t *p = ts_of(task);
	rq_t *rq = rq_of(s, task->cpu);
	prio_array_t *target = rt_task(p) ? rq->active : rq->expired;

	if (p->array == target) {
		requeue_task(p, target);
		return true;
	}
	dequeue_task(p, p->array);
	enqueue_task(p, target);
	return true;
}

/* The priority becomes the new static one; the bonus returns when it is next computed. */
static void o1_set_nice(sched_t *s, task_t *task, s32 old_nice)
{
	ts_t *p = ts_of(task);
	prio_array_t *array = p->array;
	u32 old_prio = p->prio;

	p->static_prio = (u32)NICE_TO_PRIO(task->nice);
	if (rt_task(p) || task->nice == old_nice)
		return;
	if (array)
		dequeue_task(p, array);
	p->prio = p->static_prio;
	if (!array)
		return;
	enqueue_task(p, array);
	if (p->prio < old_prio || (p->prio > old_prio && task->on_cpu))
		resched_cpu(s, task->cpu);
}

static void o1_set_class(sched_t *s, task_t *task, u32 old_class, u32 old_rt_priority)
{
	ts_t *p = ts_of(task);
	rq_t *rq = rq_of(s, task->cpu);
	u32 old_prio = p->prio, queued = p->array != NULL;

	if (queued)
		deactivate_task(p, rq);
	p->prio = class_prio(task, p->static_prio);
	if (!queued)
		return;
	__activate_task(p, rq);
	if (!task->on_cpu)
		check_preempt(s, p, task->cpu);
	else if (p->prio > old_prio)
		resched_cpu(s, task->cpu);
}

/* ---- observers ---------------------------------------------------------- */

static s32 o1_priority(sched_t *s, task_t *p)
{
	return (s32)ts_of(p)->prio;
}

static u32 o1_queued(sched_t *s, task_t *p)
{
	return ts_of(p)->array != NULL;
}

/* ---- init: constants ---------------------------------------------------- */

static void init_bonuses(sched_t *s, glob_t *g)
{
	u64 granularity = max_of(jiffies_of(s, tun(s)->granularity_ms), 1);
	u32 bonus;

	repeat(s, bonus, g->max_bonus + 1) {
		u64 steps = max_of(g->max_bonus - bonus, 1) - 1;
		u64 jiffies = g->max_bonus ? (bonus * (u64)g->max_sleep_avg + g->max_bonus - 1) / g->max_bonus : 0;

		g->bonus_start[bonus] = jiffies * g->jiffy_ns;
		if (tun(s)->granularity_ms)
			g->granularity[bonus] = (u32)min_of((granularity << min_of(steps, 20)) * s->nr_cpus, ~0u);
	}
	g->bonus_start[bonus] = ~0ull;
}

/*
 * SCALE_PRIO: four times the slice for better than nice 0, so that the slope
 * breaks there.  2.5.73 has one slope, BASE_TIMESLICE.
 */
static u32 static_prio_timeslice(sched_t *s, s32 static_prio)
{
	u32 min_timeslice = max_of(jiffies_of(s, tun(s)->min_timeslice_ms), 1);
	u32 max_timeslice = max_of(jiffies_of(s, tun(s)->max_timeslice_ms), min_timeslice);
	u32 timeslice = jiffies_of(s, tun(s)->def_timeslice_ms);

	if (tun(s)->max_timeslice_ms)
		return min_timeslice + (max_timeslice - min_timeslice) * (u32)(MAX_PRIO - 1 - static_prio) /
				       (MAX_USER_PRIO - 1);
	if (static_prio < NICE_TO_PRIO(0))
		timeslice *= 4;
	return max_of(timeslice * (u32)(MAX_PRIO - static_prio) / (MAX_USER_PRIO / 2), min_timeslice);
}

static void init_nice(sched_t *s, glob_t *g)
{
	s32 max_bonus = (s32)g->max_bonus, i;

	repeat(s, i, MAX_USER_PRIO) {
		nice_t *nice = &g->nice[i];
		s64 sleep;

		nice->time_slice = static_prio_timeslice(s, MAX_RT_PRIO + i);
		nice->delta = (s32)div_s64((i - 20) * max_bonus, MAX_USER_PRIO) + (s32)tun(s)->interactive_delta;
		sleep = div_s64((s64)g->max_sleep_avg * (max_bonus / 2 + nice->delta + 1), max_bonus) - 1;
		nice->interactive_sleep_ns = (u64)max_of(sleep, 0) * g->jiffy_ns;
	}
}

static void init_constants(sched_t *s, glob_t *g)
{
	g->jiffy_ns = s->tick_ns;
	g->max_bonus = (u32)(MAX_USER_PRIO * tun(s)->prio_bonus_ratio / 100);
	g->max_sleep_avg = max_of(jiffies_of(s, tun(s)->max_sleep_avg_ms), 1);
	g->ns_max_sleep_avg = g->max_sleep_avg * g->jiffy_ns;
	g->long_sleep_avg_ns = (g->max_sleep_avg - min_of(jiffies_of(s, tun(s)->def_timeslice_ms), g->max_sleep_avg)) *
			       g->jiffy_ns;
	g->starvation_limit = jiffies_of(s, tun(s)->starvation_limit_ms);
	g->on_runqueue_weight = (u32)tun(s)->on_runqueue_weight * 128 / 100;
	g->credit_limit = (s32)tun(s)->credit_limit;
	g->jiffy_sleep_avg = (u32)tun(s)->jiffy_sleep_avg;
	init_bonuses(s, g);
	init_nice(s, g);
}

/* init_smt(), init_cpu() and init_numa(): the tunables of a level, where the balancer finds them. */
#define INIT_LEVEL(lv)								\
	static void init_##lv(sched_t *s, sd_params_t *p)			\
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

/* ---- init: topology ----------------------------------------------------- */

#define KEY_BITS	20	/* more than a CPU number needs */

/* The lowest CPU of its node, then of its core, then itself: CPUs sort by this. */
static u64 topology_key(sched_t *s, u32 cpu)
{
	u32 node = 0, core = 0;

	repeat_while(s, cpu_of(s, node)->node != cpu_of(s, cpu)->node)
		node++;
	repeat_while(s, cpu_of(s, core)->core != cpu_of(s, cpu)->core)
		core++;
	return ((u64)node << 2 * KEY_BITS) | (core << KEY_BITS) | cpu;
}

static u32 node_leader(sched_t *s, u32 cpu)
{
	return (u32)(rq_of(s, cpu)->topology_key >> 2 * KEY_BITS);
}

static u32 core_leader(sched_t *s, u32 cpu)
{
	return (u32)(rq_of(s, cpu)->topology_key >> KEY_BITS) & ((1u << KEY_BITS) - 1);
}

/* Insertion sort: CPUs are numbered nearly in order on most machines. */
static void sort_by_core(sched_t *s, glob_t *g)
{
	u32 cpu, i;

	for_each_cpu(s, cpu) {
		i = cpu;
		repeat_while(s, i && rq_of(s, g->by_core[i - 1])->topology_key > rq_of(s, cpu)->topology_key) {
			g->by_core[i] = g->by_core[i - 1];
			i--;
		}
		g->by_core[i] = (u16)cpu;
	}
}

static void sort_by_node(sched_t *s, glob_t *g)
{
	u32 cpu, i;

	for_each_cpu(s, cpu) {
		i = cpu;
		repeat_while(s, i && node_leader(s, g->by_node[i - 1]) > node_leader(s, cpu)) {
			g->by_node[i] = g->by_node[i - 1];
			i--;
		}
		g->by_node[i] = (u16)cpu;
	}
}

/* Back to front, so that each position knows where the next core and node begin. */
static void find_ends(sched_t *s, glob_t *g)
{
	s32 i, last = (s32)s->nr_cpus - 1;

	repeat_down(s, i, last, 0) {
		u32 cpu = g->by_core[i], next = i < last ? g->by_core[i + 1] : cpu;
		u32 same_core = i < last && core_leader(s, cpu) == core_leader(s, next);
		u32 same_node = i < last && node_leader(s, cpu) == node_leader(s, next);

		g->core_end[i] = same_core ? g->core_end[i + 1] : (u16)(i + 1);
		g->node_end[i] = same_node ? g->node_end[i + 1] : (u16)(i + 1);
	}
}

/* A node has the power of its cores; a second sibling adds little to a core's. */
static void sum_powers(sched_t *s, glob_t *g)
{
	u32 i = 0, node = 0;

	repeat_while(s, i < s->nr_cpus) {
		u32 siblings = g->core_end[i] - i;

		if (g->node_end[node] <= i)
			node = i;
		g->core_power[i] = SCHED_LOAD_SCALE + SCHED_LOAD_SCALE * (siblings - 1) * (u32)tun(s)->smt_gain_pct / 100;
		g->node_power[node] += g->core_power[i];
		g->has_smt |= siblings > 1;
		i += siblings;
	}
}

/* A domain of one group has nothing to balance. */
static void init_domain(sched_t *s, u32 level, sd_t *sd, u32 start, u32 end)
{
	if (group_end(s, level, start) < end) {
		sd->start = start;
		sd->end = end;
	}
	set_balance_interval(s, level, sd, 1);
}

static void init_domains(sched_t *s, glob_t *g)
{
	u32 i, core = 0, node = 0;

	repeat(s, i, s->nr_cpus) {
		rq_t *rq = rq_of(s, g->by_core[i]);

		core = g->core_end[core] <= i ? i : core;
		node = g->node_end[node] <= i ? i : node;
		rq->position = i;
		rq->sd[SD_SMT].group = i;
		rq->sd[SD_CPU].group = core;
		rq->sd[SD_NUMA].group = node;
		init_domain(s, SD_SMT, &rq->sd[SD_SMT], core, g->core_end[i]);
		init_domain(s, SD_CPU, &rq->sd[SD_CPU], node, g->node_end[i]);
		init_domain(s, SD_NUMA, &rq->sd[SD_NUMA], 0, s->nr_cpus);
	}
}

static void init_rq(sched_t *s, u32 cpu)
{
	rq_t *rq = rq_of(s, cpu);

	rq->cpu = cpu;
	rq->active = &rq->arrays[0];
	rq->expired = &rq->arrays[1];
	prio_array_init(s, rq->active);
	prio_array_init(s, rq->expired);
	rq->best_expired_prio = MAX_PRIO;
	rq->next_jiffy_ns = s->tick_ns;
	rq->jiffies_offset = (u32)(tun(s)->hz * cpu / s->nr_cpus);
	rq->topology_key = topology_key(s, cpu);
}

static s32 o1_init(sched_t *s)
{
	glob_t *g = glob_of(s);
	u32 cpu;

	init_constants(s, g);
	init_smt(s, &g->level[SD_SMT]);
	init_cpu(s, &g->level[SD_CPU]);
	init_numa(s, &g->level[SD_NUMA]);
	for_each_cpu(s, cpu)
		init_rq(s, cpu);
	sort_by_core(s, g);
	sort_by_node(s, g);
	find_ends(s, g);
	sum_powers(s, g);
	init_domains(s, g);
	return 0;
}

_Static_assert(sizeof(struct o1_task) <= 96, "a million tasks must fit");

POLICY(o1,
	.summary = "Linux 2.6 O(1): two priority arrays per CPU, sleepers get bonuses (2.6.10 to 2.6.13, 2.5.73)",
	TUNABLES,
	VARIANTS(o1_variants),
	COUNTERS,
	.lock = LOCK_PER_CPU,
	.tick_when_idle = 1,
	.promise = {
		.conserving = CONSERVING_QUEUE,
		.nice = NICE_WEIGHTED,
		.starvation_bound_ns = 0,	/* none that every workload respects: see README.md */
	},
	.init = o1_init,
	.fork = o1_fork,
	.exit = o1_exit,
	.select_cpu = o1_select_cpu,
	.enqueue = o1_enqueue,
	.dequeue = o1_dequeue,
	.pick_next = o1_pick_next,
	.switched = o1_switched,
	.tick = o1_tick,
	.yield = o1_yield,
	.set_nice = o1_set_nice,
	.set_class = o1_set_class,
	.priority = o1_priority,
	.queued = o1_queued,
);
