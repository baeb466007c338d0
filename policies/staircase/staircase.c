/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * staircase - Con Kolivas' Staircase scheduler for Linux 2.6, versions 10.5 and 12.
 *
 * One array of lists for each CPU, where the O(1) scheduler has two.  A task
 * starts on the step of its nice value and goes one step down for every 10 ms
 * it runs.  At the foot of the stairs, when its slice is used up, it is lifted
 * to the top again.  The better its nice value, the longer its staircase.  A
 * task that sleeps is lifted to the top, and may stay there longer before it
 * descends: this "burst" is the only rule for interactivity.
 *
 * Order and names follow the kernel/sched.c of the patches.  Their task_t * is a
 * ts_t * here, and a rule that changed between versions depends on a tunable.
 * Each tunable names its source: [SRC] read in a patch, [INF] inferred;
 * 7.G is the patch of 2004-08-07, 11.6 is known from the patch that leads to 13.
 *
 * Load balancing is that of Linux 2.6: see linux26/domains.h.
 *
 * FIDELITY: SCHED_IDLE came later and is scheduled as SCHED_BATCH, which is idle scheduling here.
 * FIDELITY: dependent_sleeper(), which let a low-priority SMT sibling wait, is omitted.
 * FIDELITY: a task that becomes runnable on an idle CPU always runs at once: see check_preempt().
 */
#include "policy.h"
#include "linux26/domains.h"

/* ---- tunables ------------------------------------------------------------- */

#define STAIRCASE_TUNABLES(T)							\
	T(hz, 1000, 10, 10000, "ticks per second: 1000 up to 2.6.12, 250 by default in 2.6.13 [SRC]")	\
	T(interactive, 1, 0, 1, "the sysctl: tasks that sleep gain bursts [SRC]")	\
	T(compute, 0, 0, 1, "the sysctl: longer steps, no bursts, delayed preemption [SRC]")	\
	T(rr_interval_ms, 10, 1, 1000, "RR_INTERVAL: time on one step, in ms [SRC 7.G]")	\
	T(compute_factor, 10, 1, 100, "steps are so many times longer with compute [SRC 7.G]")	\
	T(cache_delay_ms, 10, 0, 1000, "how long compute delays preemption, in ms: 10 on one CPU, five times the cache decay on several [SRC 7.G]")	\
	T(batch_rr_factor, 10, 1, 100, "SCHED_BATCH takes turns of so many intervals [SRC SCHED_ISO patch 2.4]")	\
	T(equal_preempts, 1, 0, 2, "a task with a full slice preempts its equal: 0 never [SRC 11.6], 1 always [SRC 7.G], 2 if more is left of its step than of its equal's [SRC 7.F]")	\
	T(elevation_11, 0, 0, 1, "sleep is weighed against time run, as from version 11 on, instead of lifting every task that ran a tick [SRC 11.6]")	\
	T(unsigned_slice, 0, 0, 1, "slices overrun wrap around as in the sources' unsigned arithmetic, which leaves tasks stuck on the lowest step [SRC 7.G, 11.6]")	\
	T(ns_debit, 0, 0, 1, "a tick is charged only once a jiffy has been run in full: from 11 on [SRC 13]")	\
	T(negative_nice_rr, 0, 0, 1, "each nice level below 0 adds a jiffy to the interval: from 9 or 11 on [SRC 13]")	\
	T(fork_activates, 0, 0, 1, "a child starts through activate_task() and reschedules its parent unless it shares memory: from 11 on [SRC 13]")	\
	T(yield_keeps_burst, 0, 0, 1, "sched_yield() keeps the burst: from 11 on [INF]")	\
	T(yield_to_tail, 0, 0, 1, "a task that yielded and is chosen goes to the back of its step, not the front [SRC 13]")	\
	T(balance_at_expiry, 0, 0, 1, "a busy CPU balances when a step ends and others wait, not by the clock: from 11 on [SRC 13]")	\
	BALANCE_TUNABLES(T)							\
	DOMAIN_TUNABLES(T)

POLICY_TUNABLES(STAIRCASE_TUNABLES)

/* Balancing at expiry ignores the interval; every step is longer than any of these. */
#define STAIRCASE_12								\
	"hz=250 equal_preempts=0 elevation_11=1 unsigned_slice=1 ns_debit=1 negative_nice_rr=1 "	\
	"fork_activates=1 yield_keeps_burst=1 yield_to_tail=1 balance_at_expiry=1 "	\
	"smt_busy_factor=1 cpu_busy_factor=1 numa_busy_factor=1 " BALANCE_2_6_13

#define STAIRCASE_COUNTERS(C)	\
	C(steps) C(re_elevations) C(bursts) C(continued_slices) C(delayed_preemptions) BALANCE_COUNTERS(C)
POLICY_COUNTERS(STAIRCASE_COUNTERS)

/* ---- constants and state -------------------------------------------------- */

#define MAX_RT_PRIO		100
#define MIN_USER_PRIO		139			/* the lowest step */
#define BATCH_PRIO		(MIN_USER_PRIO + 1)	/* below the stairs */
#define BEST_USER_PRIO_STEPS	39			/* steps above the lowest, at nice -20 */
#define NICE_TO_PRIO(nice)	(MAX_RT_PRIO + 20 + clamp_to(nice, -20, 19))
#define NS_DIFF_MAX		(1ull << 31)		/* ns_diff() from version 11 on */

/* What the tunable equal_preempts says. */
enum equal_preemption { EQUALS_WAIT, EQUALS_PREEMPT, EQUALS_PREEMPT_IF_LONGER };

enum task_state_flags {
	FORKED	= 1 << 0,	/* it has forked, and has not woken up since */
	YIELDED	= 1 << 1,	/* it has yielded, and has not been chosen since */
	UISLEEP	= 1 << 2,	/* it sleeps, or slept, uninterruptibly */
};

struct staircase {
	u64 jiffy_ns;
	u32 rr_interval;	/* RR_INTERVAL(), in jiffies */
	u32 cache_delay;	/* jiffies */
	struct domains domains;
};

struct staircase_rq {
	u32 cpu;
	u32 nr_running;
	u32 cache_ticks;		/* since the last switch */
	u32 preempted;			/* a preemption was put off */
	u64 timestamp_last_tick;
	u64 jiffies, next_jiffy_ns;	/* see update_jiffies() */
	struct smp_rq smp;
	struct prio_array array;
};

struct staircase_task {
	struct list run_list;
	struct prio_array __arena *array;	/* NULL: not on a run queue */
	u64 timestamp;			/* when it last was switched, or woke up */
	u64 last_ran;			/* when it last stopped running */
	u64 runtime;			/* ns it ran, last time */
	u64 totalrun;			/* ns it ran since it was last lifted to the top */
	u64 ns_debit;			/* ns it ran that no tick has charged */
	u32 prio, static_prio;
	u32 slice;			/* jiffies left until it is lifted */
	u32 time_slice;			/* jiffies left on this step */
	u32 burst;			/* further intervals it may stay at the top */
	u32 flags;
};

POLICY_STATE(struct staircase, struct staircase_rq, struct staircase_task)

#define rt_task(p)	((p)->prio < MAX_RT_PRIO)

static u64 ns_to_jiffies(sched_t *s, u64 ns)
{
	return div_u64(ns, glob_of(s)->jiffy_ns);
}

static u32 user_task(ts_t *p)
{
	return !(task_of(p)->flags & TASK_KTHREAD);
}

/* The kernel's own threads are not let into SCHED_BATCH. */
static u32 batch_task(ts_t *p)
{
	return (task_of(p)->class == CLASS_BATCH || task_of(p)->class == CLASS_IDLE) && user_task(p);
}

static u32 iso_task(ts_t *p)
{
	return task_of(p)->class == CLASS_ISO;
}

/* ---- the stairs ----------------------------------------------------------- */

/* TASK_USER_PRIO: 0 at nice -20 to 39 at nice 19; SCHED_ISO starts half as far down. */
static u32 user_prio(ts_t *p)
{
	u32 user_prio = p->static_prio - MAX_RT_PRIO;

	return iso_task(p) ? user_prio / 2 : user_prio;
}

/* burst(): the number of steps below the top, which is also the greatest burst. */
static u32 best_burst(ts_t *p)
{
	return rt_task(p) ? p->burst : BEST_USER_PRIO_STEPS - user_prio(p);
}

static u32 base_interval(sched_t *s, ts_t *p)
{
	s32 nice = task_of(p)->nice;

	if (!tun(s)->negative_nice_rr || nice >= 0 || rt_task(p))
		return glob_of(s)->rr_interval;
	return glob_of(s)->rr_interval + (u32)-nice;
}

/* Time on one step.  SCHED_ISO comes down twice as fast as others. */
static u32 rr_interval(sched_t *s, ts_t *p)
{
	u32 rr = base_interval(s, p);

	if (batch_task(p))
		return rr * (u32)tun(s)->batch_rr_factor;
	return iso_task(p) ? max_of(rr / 2, 1) : rr;
}

/* Time from the top to the foot of the stairs: one interval for each step. */
static u32 slice(sched_t *s, ts_t *p)
{
	u32 rr = base_interval(s, p);

	if (rt_task(p))
		return rr;
	return batch_task(p) ? rr * (40 - user_prio(p)) : rr * (1 + best_burst(p));
}

static void inc_burst(sched_t *s, ts_t *p)
{
	if (p->burst >= best_burst(p))
		return;
	p->burst++;
	count(s, COUNTER_bursts, 1);
}

static void dec_burst(ts_t *p)
{
	if (p->burst)
		p->burst--;
}

/* A slice can be longer than a full one, after a change of nice value; the sources did not expect that. */
static u32 used_slice(sched_t *s, ts_t *p)
{
	u32 full_slice = slice(s, p);

	if (p->slice > full_slice && !tun(s)->unsigned_slice)
		return 0;
	return full_slice - p->slice;
}

/* Time at the top: one interval, and the burst's. */
static u32 first_slice(sched_t *s, ts_t *p)
{
	u32 rr = rr_interval(s, p);

	if (!tun(s)->interactive || tun(s)->compute || !user_task(p) || iso_task(p))
		return rr;
	return rr * (p->burst + 1);
}

/* From a disk wait a batch task comes back among the others, once: it may hold something they want. */
static u32 batch_prio(ts_t *p)
{
	if (!(p->flags & UISLEEP))
		return BATCH_PRIO;
	p->flags |= YIELDED;
	return MIN_USER_PRIO;
}

/* On which step is it?  That follows from the slice used and the burst. */
static u32 effective_prio(sched_t *s, ts_t *p)
{
	u32 best = best_burst(p), used, first;

	if (rt_task(p))
		return p->prio;
	if (batch_task(p))
		return batch_prio(p);
	p->burst = min_of(p->burst, best);
	used = used_slice(s, p);
	first = first_slice(s, p);
	if (used < first)
		return MIN_USER_PRIO - best;
	return (u32)min_of((u64)MIN_USER_PRIO - best + 1 + (used - first) / rr_interval(s, p), MIN_USER_PRIO);
}

/* ---- the run queue -------------------------------------------------------- */

static void dequeue_task(ts_t *p, prio_array_t *array)
{
	prio_array_del(array, &p->run_list, p->prio);
}

static void enqueue_task(ts_t *p, prio_array_t *array)
{
	prio_array_add_tail(array, &p->run_list, p->prio);
	p->array = array;
}

static void __activate_task(ts_t *p, rq_t *rq)
{
	enqueue_task(p, &rq->array);
	rq->nr_running++;
}

static void deactivate_task(ts_t *p, rq_t *rq)
{
	rq->nr_running--;
	dequeue_task(p, p->array);
	p->array = NULL;
}

/* Not lifted: the time it has run is still charged, unless that was all of a slice. */
static void continue_slice_7g(sched_t *s, ts_t *p)
{
	u64 totalrun = p->totalrun + p->runtime;
	s64 left = (s64)p->slice - (s64)ns_to_jiffies(s, totalrun);

	if (tun(s)->unsigned_slice ? !left : left < 1) {
		p->totalrun = 0;
		dec_burst(p);
		return;
	}
	p->totalrun = totalrun;
	p->slice = (u32)left;
	count(s, COUNTER_continued_slices, 1);
}

/* Version 7.G: a woken task is lifted unless it ran and slept only briefly, or has forked. */
static void recalc_task_prio_7g(sched_t *s, ts_t *p)
{
	u64 sleep_time = s->now - p->timestamp;
	u32 short_run = p->runtime < glob_of(s)->jiffy_ns || !tun(s)->interactive || tun(s)->compute;

	if ((p->flags & FORKED) ||
	    (short_run && ns_to_jiffies(s, p->runtime + sleep_time) < rr_interval(s, p))) {
		continue_slice_7g(s, p);
		return;
	}
	if (!(p->flags & UISLEEP))
		inc_burst(s, p);
	p->runtime = 0;
	p->totalrun = 0;
}

static void continue_slice_11(sched_t *s, ts_t *p)
{
	u64 total_run = ns_to_jiffies(s, p->totalrun);
	u32 remainder;

	if (total_run >= p->slice) {
		p->totalrun -= p->slice * glob_of(s)->jiffy_ns;
		dec_burst(p);
		return;
	}
	p->slice -= (u32)total_run;
	remainder = p->slice % rr_interval(s, p);
	if (remainder)
		p->time_slice = remainder;
	count(s, COUNTER_continued_slices, 1);
}

/* Version 11.6: a task is lifted only if it slept as long as it ran; else the time it slept is given back. */
static void recalc_task_prio_11(sched_t *s, ts_t *p, rq_t *rq)
{
	u64 sleep_time = min_of(s->now - p->timestamp, NS_DIFF_MAX);
	u64 slice_ns = p->slice * glob_of(s)->jiffy_ns;

	if (rq->nr_running > 1)
		sleep_time = div_u64(sleep_time, rq->nr_running);
	p->totalrun += p->runtime;
	if (p->totalrun >= slice_ns && sleep_time < slice_ns) {
		dec_burst(p);
		p->totalrun = p->totalrun + sleep_time - slice_ns;
		return;
	}
	if ((p->flags & (FORKED | UISLEEP)) || tun(s)->compute) {
		continue_slice_11(s, p);
		return;
	}
	if (sleep_time >= p->totalrun) {
		inc_burst(s, p);
		p->totalrun = 0;
		return;
	}
	p->totalrun -= sleep_time;
	continue_slice_11(s, p);
}

/* (7.G lowered the best step of UISLEEP tasks by one, but cleared the flag just before it looked.) */
static void activate_task(sched_t *s, ts_t *p, rq_t *rq)
{
	p->slice = slice(s, p);
	p->time_slice = rr_interval(s, p);
	if (tun(s)->elevation_11)
		recalc_task_prio_11(s, p, rq);
	else
		recalc_task_prio_7g(s, p);
	p->prio = effective_prio(s, p);
	p->flags &= ~(u32)(FORKED | UISLEEP);
	if (batch_task(p))
		p->time_slice = p->slice;
	p->timestamp = s->now;
	__activate_task(p, rq);
}

/* ---- preemption ----------------------------------------------------------- */

/* task_preempts_curr() */
static u32 task_preempts(sched_t *s, ts_t *p, ts_t *curr)
{
	if (p->prio != curr->prio)
		return p->prio < curr->prio;
	if (tun(s)->equal_preempts == EQUALS_WAIT || p->slice < slice(s, p) || rt_task(curr))
		return false;
	return tun(s)->equal_preempts == EQUALS_PREEMPT || p->time_slice > curr->time_slice;
}

/*
 * Compute mode puts preemption off, so that the cache is used for a while.  The
 * sources do not except the idle task from that, so that they let a CPU idle
 * until something else makes it schedule; we do.
 */
static void check_preempt(sched_t *s, ts_t *p, u32 cpu)
{
	rq_t *rq = rq_of(s, cpu);
	task_t *curr = cpu_curr(s, cpu);

	if (curr && !task_preempts(s, p, ts_of(curr)))
		return;
	if (curr && tun(s)->compute && rq->cache_ticks < glob_of(s)->cache_delay && user_task(p) && !rt_task(p)) {
		rq->preempted = 1;
		count(s, COUNTER_delayed_preemptions, 1);
		return;
	}
	resched_cpu(s, cpu);
}

/* ---- balancing ------------------------------------------------------------ */

#define NR_ARRAYS	1

static prio_array_t *rq_array(rq_t *rq, u32 i)
{
	return &rq->array;
}

#include "linux26/balance.h"
#include "linux26/placement.h"

/* ---- fork, enqueue and dequeue -------------------------------------------- */

static u32 class_prio(task_t *p, u32 static_prio)
{
	return task_is_rt(p) ? MAX_RT_PRIO - 1 - p->rt_priority : static_prio;
}

/* At the top of its stairs, with a full slice. */
static void init_task(sched_t *s, task_t *task, ts_t *p)
{
	p->static_prio = (u32)NICE_TO_PRIO(task->nice);
	p->prio = class_prio(task, p->static_prio);
	p->slice = slice(s, p);
	p->time_slice = batch_task(p) ? p->slice : rr_interval(s, p);
	p->prio = effective_prio(s, p);
	p->timestamp = s->now;
}

/* fork() copies everything; no slice is shared. */
static void inherit(ts_t *p, ts_t *parent)
{
	p->timestamp = parent->timestamp;
	p->last_ran = parent->last_ran;
	p->runtime = parent->runtime;
	p->totalrun = parent->totalrun;
	p->ns_debit = parent->ns_debit;
	p->prio = parent->prio;
	p->slice = parent->slice;
	p->time_slice = parent->time_slice;
	p->flags = parent->flags;
}

/*
 * FIDELITY: a child with another nice value or class than its parent, as fork()
 *	never makes it, starts at its own top.
 */
static void staircase_fork(sched_t *s, task_t *parent, task_t *child)
{
	init_task(s, child, ts_of(child));
	if (parent && child->nice == parent->nice && child->class == parent->class &&
	    child->rt_priority == parent->rt_priority)
		inherit(ts_of(child), ts_of(parent));
}

/* A child has no burst, lest interactive tasks breed interactive tasks. */
static void wake_up_new_task(sched_t *s, task_t *child)
{
	task_t *parent = cpu_curr(s, s->this_cpu);
	ts_t *p = ts_of(child);
	rq_t *rq = rq_of(s, child->cpu);
	u32 forked = parent && parent == child->parent;

	p->burst = 0;
	if (forked && tun(s)->fork_activates)
		activate_task(s, p, rq);
	else
		__activate_task(p, rq);
	if (forked)
		ts_of(parent)->flags |= FORKED;
	if (!forked || child->cpu != s->this_cpu)
		check_preempt(s, p, child->cpu);
	else if (tun(s)->fork_activates && child->mm != parent->mm)
		resched_cpu(s, child->cpu);
}

/* The end of try_to_wake_up(), and of a forced migration. */
static void try_to_wake_up(sched_t *s, ts_t *p, u32 flags)
{
	u32 cpu = task_of(p)->cpu;

	activate_task(s, p, rq_of(s, cpu));
	if (!(flags & ENQ_SYNC) || cpu != s->this_cpu || !cpu_curr(s, cpu))
		check_preempt(s, p, cpu);
}

static void staircase_enqueue(sched_t *s, task_t *p, u32 flags)
{
	if (flags & ENQ_NEW)
		wake_up_new_task(s, p);
	else
		try_to_wake_up(s, ts_of(p), flags);
}

static void staircase_dequeue(sched_t *s, task_t *p, u32 flags)
{
	if (!ts_of(p)->array) {
		policy_error(s, "dequeue() of a task that is not queued", p);
		return;
	}
	if (flags & DEQ_UNINTERRUPTIBLE)
		ts_of(p)->flags |= UISLEEP;
	deactivate_task(ts_of(p), rq_of(s, p->cpu));
}

/* ---- the tick ------------------------------------------------------------- */

static void time_slice_expired(sched_t *s, rq_t *rq, ts_t *p)
{
	resched_cpu(s, rq->cpu);
	dequeue_task(p, &rq->array);
	p->prio = effective_prio(s, p);
	p->time_slice = rr_interval(s, p);
	enqueue_task(p, &rq->array);
}

/* The foot of the stairs: back to the top, with less of a burst. */
static void slice_expired(sched_t *s, rq_t *rq, ts_t *p)
{
	dec_burst(p);
	p->slice = slice(s, p);
	if (tun(s)->elevation_11)
		p->totalrun = 0;
	time_slice_expired(s, rq, p);
	count(s, COUNTER_re_elevations, 1);
}

/* From version 11 on: has it run for a jiffy since one was charged? */
static u32 jiffy_complete(sched_t *s, rq_t *rq, ts_t *p)
{
	u64 jiffy_ns = glob_of(s)->jiffy_ns;

	p->ns_debit += rq->timestamp_last_tick - p->timestamp;
	if (p->ns_debit < jiffy_ns)
		return false;
	p->ns_debit -= div_u64(p->ns_debit, jiffy_ns) * jiffy_ns;
	return true;
}

/* Returns true when a step has ended, and (as the source has it) when no jiffy was charged. */
static u32 task_tick(sched_t *s, rq_t *rq, ts_t *p)
{
	if (task_of(p)->class == CLASS_FIFO)
		return false;
	if (!tun(s)->ns_debit)
		rq->cache_ticks++;
	else if (!jiffy_complete(s, rq, p))
		return true;
	if (!--p->slice) {
		slice_expired(s, rq, p);
		return true;
	}
	if (!--p->time_slice) {
		time_slice_expired(s, rq, p);
		count(s, COUNTER_steps, 1);
		return true;
	}
	if (tun(s)->ns_debit)
		rq->cache_ticks++;
	if (rq->preempted && rq->cache_ticks >= glob_of(s)->cache_delay)
		resched_cpu(s, rq->cpu);
	return false;
}

static void staircase_tick(sched_t *s, u32 cpu, task_t *p)
{
	rq_t *rq = rq_of(s, cpu);
	u32 nr_running = rq->nr_running, expired = false;

	update_jiffies(s, rq);
	rq->timestamp_last_tick = s->now;
	if (p)
		expired = task_tick(s, rq, ts_of(p));
	if (s->nr_cpus == 1)
		return;
	if (!p)
		rebalance_tick(s, cpu, rq, SCHED_IDLE);
	else if (!tun(s)->balance_at_expiry || (expired && nr_running > 1))
		rebalance_tick(s, cpu, rq, NOT_IDLE);
}

/* ---- schedule() ----------------------------------------------------------- */

/* It yielded and no other task wanted to run: it goes back to its proper step. */
static void end_yield(sched_t *s, rq_t *rq, ts_t *next)
{
	next->flags &= ~(u32)YIELDED;
	dequeue_task(next, &rq->array);
	next->prio = effective_prio(s, next);
	if (tun(s)->yield_to_tail)
		prio_array_add_tail(&rq->array, &next->run_list, next->prio);
	else
		prio_array_add(&rq->array, &next->run_list, next->prio);
}

/* The best task, of at least one. */
static ts_t *pick_task(sched_t *s, rq_t *rq)
{
	list_t *queue = &rq->array.queue[prio_array_first(&rq->array)];
	ts_t *next = list_entry(queue->next, ts_t, run_list);

	examined(s, 1);
	if (next->flags & YIELDED)
		end_yield(s, rq, next);
	return next;
}

/* What the task that stops has run, since it was switched to or last came here. */
static void charge(sched_t *s, rq_t *rq, ts_t *prev)
{
	u64 jiffy_ns = glob_of(s)->jiffy_ns, since_tick = s->now - rq->timestamp_last_tick;

	prev->runtime = s->now - prev->timestamp;
	if (tun(s)->elevation_11)
		prev->runtime = min_of(prev->runtime, NS_DIFF_MAX);
	if (tun(s)->ns_debit)
		prev->ns_debit += since_tick - div_u64(since_tick, jiffy_ns) * jiffy_ns;
}

static task_t *staircase_pick_next(sched_t *s, u32 cpu, task_t *prev, u32 why)
{
	rq_t *rq = rq_of(s, cpu);
	ts_t *next;

	if (prev)
		charge(s, rq, ts_of(prev));
	next = pick_balanced(s, rq, prev);
	if (prev)
		ts_of(prev)->timestamp = ts_of(prev)->last_ran = s->now;
	if (next)
		next->timestamp = s->now;
	return next ? task_of(next) : NULL;
}

static void staircase_switched(sched_t *s, u32 cpu, task_t *prev, task_t *next)
{
	rq_of(s, cpu)->preempted = 0;
	rq_of(s, cpu)->cache_ticks = 0;
	finish_active_balance(s, rq_of(s, cpu));
}

/* ---- system calls --------------------------------------------------------- */

/* To the lowest step, from where it returns to the top when it is chosen. */
static u32 staircase_yield(sched_t *s, task_t *task)
{
	ts_t *p = ts_of(task);
	prio_array_t *array = p->array;

	dequeue_task(p, array);
	p->slice = slice(s, p);
	p->time_slice = tun(s)->yield_keeps_burst ? rr_interval(s, p) : glob_of(s)->rr_interval;
	if (!rt_task(p) && !batch_task(p)) {
		p->flags |= YIELDED;
		p->prio = MIN_USER_PRIO;
	}
	if (!tun(s)->yield_keeps_burst)
		p->burst = 0;
	enqueue_task(p, array);
	return true;
}

/* The priority becomes the new static one; the slice is not touched. */
static void staircase_set_nice(sched_t *s, task_t *task, s32 old_nice)
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
	if (p->prio < old_prio || ((p->prio > old_prio || batch_task(p)) && task->on_cpu))
		resched_cpu(s, task->cpu);
}

static void staircase_set_class(sched_t *s, task_t *task, u32 old_class, u32 old_rt_priority)
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

/* ---- observers ------------------------------------------------------------ */

static s32 staircase_priority(sched_t *s, task_t *p)
{
	return (s32)ts_of(p)->prio;
}

static u32 staircase_queued(sched_t *s, task_t *p)
{
	return ts_of(p)->array != NULL;
}

/* ---- init ----------------------------------------------------------------- */

static u32 jiffies_of(sched_t *s, s64 ms)
{
	return (u32)(ms * tun(s)->hz / 1000);
}

static void init_rq(sched_t *s, u32 cpu)
{
	rq_t *rq = rq_of(s, cpu);

	rq->cpu = cpu;
	prio_array_init(s, &rq->array);
	rq->next_jiffy_ns = s->tick_ns;
}

static s32 staircase_init(sched_t *s)
{
	glob_t *g = glob_of(s);
	u32 cpu;

	g->jiffy_ns = s->tick_ns;
	g->rr_interval = max_of(jiffies_of(s, tun(s)->rr_interval_ms), 1);
	if (tun(s)->compute)
		g->rr_interval *= (u32)tun(s)->compute_factor;
	g->cache_delay = jiffies_of(s, tun(s)->cache_delay_ms);
	for_each_cpu(s, cpu)
		init_rq(s, cpu);
	build_domains(s);
	return 0;
}

/* ---- the policy ----------------------------------------------------------- */

static const struct variant staircase_variants[] = {
	{ "10.5", "what the Sys Admin article measured: the rules of 7.G (source read) without its overflow", "" },
	{ "12", "for 2.6.13, the baseline of the RBS paper: the arithmetic of 11.6 at 250 Hz", STAIRCASE_12 },
};

_Static_assert(sizeof(struct staircase_task) <= 96, "a million tasks must fit");

POLICY(staircase,
	.summary = "Kolivas' Staircase: one array, a step down every 10 ms, lifted to the top at the foot (10.5, 12)",
	TUNABLES,
	VARIANTS(staircase_variants),
	COUNTERS,
	.lock = LOCK_PER_CPU,
	.tick_when_idle = 1,
	.promise = {
		.conserving = CONSERVING_QUEUE,
		.nice = NICE_WEIGHTED,
		.starvation_bound_ns = 0,	/* sleepers can keep a hog waiting: see README.md */
	},
	.init = staircase_init,
	.fork = staircase_fork,
	.select_cpu = select_cpu,
	.enqueue = staircase_enqueue,
	.dequeue = staircase_dequeue,
	.pick_next = staircase_pick_next,
	.switched = staircase_switched,
	.tick = staircase_tick,
	.yield = staircase_yield,
	.set_nice = staircase_set_nice,
	.set_class = staircase_set_class,
	.priority = staircase_priority,
	.queued = staircase_queued,
);
