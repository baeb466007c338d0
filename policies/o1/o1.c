/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * o1 - the O(1) scheduler of Linux 2.6, as in 2.6.10 to 2.6.13, and of 2.5.73.
 *
 * Each CPU has two arrays of 140 lists.  A task runs from the first set bit of
 * the active array; when its slice is used up it is refilled and filed in the
 * expired array, and when the active array is empty the two are swapped.  No
 * step depends on the number of tasks.  A task that sleeps much counts as
 * interactive: sleep earns up to five priority levels, running uses them up, and a
 * task with enough of them returns to the active array instead.
 *
 * Order and names follow kernel/sched.c.  Its task_t * is a ts_t * here.  A rule
 * that changed between versions depends on a tunable, and a variant is a set of
 * tunables.  Each tunable names its source: [SRC] read in a
 * kernel source or patch, [MEM] known but not read again, [INF] inferred.
 *
 * Load balancing is not here: see linux26/domains.h.
 *
 * FIDELITY: SCHED_BATCH and SCHED_IDLE are later, SCHED_ISO was never merged; all are scheduled as SCHED_NORMAL.
 * FIDELITY: dependent_sleeper(), which let a low-priority SMT sibling wait, is omitted.
 */
#include "policy.h"
#include "linux26/domains.h"

/*
 * A scheduler that is this one but for the choice among the best tasks defines
 * O1_AS_A_PART and the five macros, includes this file, and then supplies
 * choose_task() and a POLICY() of its own.
 */
#ifndef O1_AS_A_PART
#define PART_TUNABLES(T)
#define PART_COUNTERS(C)
#define PART_TASK_STATE		/* fields of a task */
#define PART_RQ_STATE		/* fields of a run queue */
#define PART_RAN(p, ns)		/* p has used so much time */
#endif

/* ---- tunables ----------------------------------------------------------- */

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
	T(sync_passive, 0, 0, 1, "sync wakeups pull the task to the waker, credit nothing and do not preempt: 2.5.73 [SRC]")	\
	T(levels_penalised, 1, 0, 1, "fork penalties count whole bonus levels, not time: after 2.5.73 [SRC]")	\
	T(threads_first, 0, 0, 1, "children run first even if they share memory: 2.5.73 [SRC; need_resched MEM]")	\
	T(starvation_limit_ms, 1000, 0, 1000000, "STARVATION_LIMIT: wait of the first expired task, per running task, that stops reinsertion, in ms; 0: none [SRC 2.6.11]")	\
	T(starving_prio, 1, 0, 1, "so does a waiting expired task of better static priority: after 2.5.73 [SRC]")	\
	T(starving_clock, 1, 0, 1, "that wait counts from the first slice used up, not the first task expired: after 2.5.73 [SRC 2.6.11; MEM 2.5.73]")	\
	T(granularity_ms, 10, 0, 1000, "an interactive task yields to its equals after so long at full bonus, in ms; 5 (MIN_TIMESLICE) in 2.6.10, 0: never [SRC]")	\
	T(granularity_prio, 0, 0, 1, "recompute the priority then: 2.6.10 does [SRC]")	\
	T(credit_limit, 0, 0, 1000000, "CREDIT_LIMIT of interactive_credit: 100 in 2.6.10, 0: no such credit, from 2.6.11 [SRC]")	\
	T(initial_sleep_avg_ms, 0, 0, 60000, "sleep_avg of tasks that exist from the start, in ms [our choice]")	\
	BALANCE_TUNABLES(T)							\
	DOMAIN_TUNABLES(T)							\
	PART_TUNABLES(T)

POLICY_TUNABLES(O1_TUNABLES)

#define O1_2_6_13	"hz=250 " BALANCE_2_6_13

#define O1_COUNTERS(C)	\
	C(array_switches) C(interactive_requeues) C(expired_starving) \
	BALANCE_COUNTERS(C) PART_COUNTERS(C)
POLICY_COUNTERS(O1_COUNTERS)

/* ---- constants and state ------------------------------------------------ */

#define MAX_RT_PRIO		100
#define MAX_USER_PRIO		40
#define MAX_PRIO		(MAX_RT_PRIO + MAX_USER_PRIO)
#define NICE_TO_PRIO(nice)	(MAX_RT_PRIO + 20 + clamp_to(nice, -20, 19))

/* By what a task that waits for the CPU was woken; nothing is 0, as it has run since. */
enum activation { WOKEN_FROM_DISK_WAIT = -1, WOKEN_NOT, WOKEN_BY_TASK, WOKEN_BY_IRQ };

/* What follows from a nice value. */
struct nice_params {
	u64 interactive_sleep_ns;	/* INTERACTIVE_SLEEP: a longer sleep is idling */
	u32 time_slice;			/* task_timeslice(), in jiffies */
	s32 delta;			/* DELTA: levels to gain to be interactive */
};

/* Constants derived from the tunables, and the topology. */
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
	struct nice_params nice[MAX_USER_PRIO];
	struct domains domains;
};

struct o1_rq {
	struct prio_array __arena *active, *expired;
	u32 cpu;
	u32 nr_running;
	u32 best_expired_prio;
	u64 expired_timestamp;		/* jiffies; 0: nothing has expired */
	u64 timestamp_last_tick;
	u64 jiffies, next_jiffy_ns;	/* see update_jiffies() */
	struct smp_rq smp;
	PART_RQ_STATE
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
	s8 activated;			/* enum activation */
	u8 first_time_slice;
	PART_TASK_STATE
};

POLICY_STATE(struct o1, struct o1_rq, struct o1_task)

typedef struct nice_params __arena nice_t;

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

/* The idle task has MAX_PRIO: every task preempts it. */
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
	/* A task that waits for a disk may be a hog: such waits make it just interactive, and no more. */
	if (p->activated == WOKEN_FROM_DISK_WAIT && user_task(p) && !HIGH_CREDIT(s, p)) {
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

	if (sleep_time && user_task(p) && p->activated != WOKEN_FROM_DISK_WAIT &&
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
 * A task woken by an interrupt is probably interactive, so its wait for the
 * CPU will count as sleep in full; after other wakeups a part of it does.
 */
static void activate_task(sched_t *s, ts_t *p, rq_t *rq, u32 flags)
{
	if (glob_of(s)->jiffy_sleep_avg) {
		add_slept_jiffies(s, p);
	} else {
		recalc_task_prio(s, p, s->now);
		if (p->activated == WOKEN_NOT)
			p->activated = flags & ENQ_IRQ ? WOKEN_BY_IRQ : WOKEN_BY_TASK;
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
		p->activated = WOKEN_FROM_DISK_WAIT;
	activate_task(s, p, rq_of(s, cpu), flags);
	if (!(flags & ENQ_SYNC) || cpu != s->this_cpu || !cpu_curr(s, cpu))
		check_preempt(s, p, cpu);
}

/* ---- balancing ---------------------------------------------------------- */

#define NR_ARRAYS	2

/* Expired tasks are pulled first: they will not run soon and are the coldest. */
static prio_array_t *rq_array(rq_t *rq, u32 i)
{
	return i ? rq->active : rq->expired;
}

#include "linux26/balance.h"
#include "linux26/placement.h"

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

/* Tasks that exist from the start have no parent. */
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

/* ---- select_cpu, enqueue and dequeue ------------------------------------ */

/* 2.5.73: nothing but a waker that is about to sleep draws a task to its CPU. */
static u32 wake_cpu_2573(sched_t *s, task_t *p, u32 flags)
{
	u32 cpu = home_cpu(s, p);

	if ((flags & ENQ_SYNC) && cpu_allowed(p, s->this_cpu))
		cpu = s->this_cpu;
	return wake_idle(s, cpu, p);
}

static u32 o1_select_cpu(sched_t *s, task_t *p, u32 flags)
{
	u32 wakes = !(flags & (ENQ_NEW | ENQ_EXEC | ENQ_MOVE));

	return wakes && tun(s)->sync_passive ? wake_cpu_2573(s, p, flags) : select_cpu(s, p, flags);
}

static void o1_enqueue(sched_t *s, task_t *p, u32 flags)
{
	if (flags & ENQ_NEW)
		wake_up_new_task(s, p);
	else
		try_to_wake_up(s, ts_of(p), flags);
}

static void o1_dequeue(sched_t *s, task_t *p, u32 flags)
{
	if (!ts_of(p)->array) {
		policy_error(s, "dequeue() of a task that is not queued", p);
		return;
	}
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
	u64 ran = s->now - max_of(p->timestamp, rq->timestamp_last_tick);

	p->sched_time += ran;
	PART_RAN(p, ran);
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

static ts_t *choose_task(sched_t *s, rq_t *rq, list_t *queue);

/*
 * It was woken and has waited since: count that wait as sleep, too.  It has
 * been chosen already and runs, wherever its new priority puts it.
 */
static void credit_wait(sched_t *s, ts_t *next)
{
	u64 delta = s->now - next->timestamp;
	prio_array_t *array = next->array;

	if (next->activated == WOKEN_BY_TASK)
		delta = delta * glob_of(s)->on_runqueue_weight / 128;
	dequeue_task(next, array);
	recalc_task_prio(s, next, next->timestamp + delta);
	enqueue_task(next, array);
}

/* The best task, of at least one. */
static ts_t *pick_task(sched_t *s, rq_t *rq)
{
	ts_t *next;

	if (!rq->active->nr)
		switch_arrays(s, rq);
	next = choose_task(s, rq, &rq->active->queue[prio_array_first(rq->active)]);
	if (!rt_task(next) && next->activated > WOKEN_NOT)
		credit_wait(s, next);
	next->activated = WOKEN_NOT;
	return next;
}

/* What @prev's turn cost is computed before and charged after the choice, which may change its bonus. */
static task_t *o1_pick_next(sched_t *s, u32 cpu, task_t *prev, u32 why)
{
	rq_t *rq = rq_of(s, cpu);
	u64 run_time = prev ? run_time_of(s, ts_of(prev)) : 0;
	ts_t *next = pick_balanced(s, rq, prev);

	if (prev) {
		update_cpu_clock(s, ts_of(prev), rq);
		charge_run_time(s, ts_of(prev), run_time);
		ts_of(prev)->timestamp = ts_of(prev)->last_ran = s->now;
	}
	if (!next) {
		rq->expired_timestamp = 0;
		return NULL;
	}
	next->timestamp = s->now;
	return task_of(next);
}

static void o1_switched(sched_t *s, u32 cpu, task_t *prev, task_t *next)
{
	finish_active_balance(s, rq_of(s, cpu));
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
}

static s32 o1_init(sched_t *s)
{
	glob_t *g = glob_of(s);
	u32 cpu;

	init_constants(s, g);
	for_each_cpu(s, cpu)
		init_rq(s, cpu);
	build_domains(s);
	return 0;
}

/* ---- the policy --------------------------------------------------------- */

#ifndef O1_AS_A_PART
/* The choice among the tasks of the best list. */
static ts_t *choose_task(sched_t *s, rq_t *rq, list_t *queue)
{
	examined(s, 1);
	return list_entry(queue->next, ts_t, run_list);
}

static const struct variant o1_variants[] = {
	{ "2.6.11", "the version whose source was read in full", "" },
	{ "2.6.13", "250 Hz, three load averages, calmer balancing; its source was bracketed, not read", O1_2_6_13 },
	{ "2.6.10", "interactive credit and a finer granularity; balancing as in 2.6.11",
	  "granularity_ms=5 granularity_prio=1 credit_limit=100" },
	{ "2.5.73", "before interactivity was tuned: ten seconds of memory; its load balancer is only approximated",
	  "min_timeslice_ms=10 max_timeslice_ms=200 max_sleep_avg_ms=10000 starvation_limit_ms=10000 child_penalty=50 "
	  "jiffy_sleep_avg=1 sync_passive=1 levels_penalised=0 threads_first=1 starving_prio=0 starving_clock=0 "
	  "granularity_ms=0 wake_idle=0 cpu_flags=3 cpu_min_interval_ms=1 cpu_max_interval_ms=1 cpu_busy_factor=200 "
	  "smt_flags=3 numa_flags=5" },
};

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
#endif
