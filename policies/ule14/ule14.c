/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ule14 - FreeBSD's ULE as of FreeBSD 14, for contrast with the one of 2003.
 *
 * Each CPU has a tdq with three run queues: realtime, which interactive
 * threads share, timeshare and idle.  The timeshare queue is a calendar of 64
 * buckets: the worse a thread's priority, the further behind the insert index it
 * is inserted; the index advances with the ticks, so every thread's turn comes.
 * Slices shrink with load and do not depend on nice; nice changes the score and
 * the place in the calendar.
 *
 * The score is that of 2003 (ule/interact.h).  The two exchanged queues, the nice
 * window and the hand-off to idle CPUs no longer exist.  A thread's CPU is
 * chosen at each wakeup, by affinity and load.
 *
 * Order and names follow sched_ule.c; its td_sched and thread are one ts_t here,
 * and its tdq is an rq_t.  Several CPUs are in ule/tdq_smp.h.  Source tags: [RM] read in that file of 14-CURRENT, [RMp] in its
 * priority.h.
 *
 * FIDELITY: a thread holds the priority it slept with until it is switched to, as if it returned to user mode at once.
 * FIDELITY: the 99 real-time priorities are mapped onto 32 of FreeBSD's, 48 for interrupt threads; the idle class has one.
 */
#include "policy.h"
#include "ule/interact.h"
#include "ule/runq.h"

/* ---- tunables ----------------------------------------------------------- */

#define ULE14_TUNABLES(T)							\
	T(hz, 128, 10, 10000, "realstathz: ticks per second that charge run time and slices [RM: 127 or 128]")	\
	T(clock_hz, 1000, 100, 10000, "hz: resolution of sleep time and affinity, per second [RM]")	\
	T(slice_divisor, 10, 1, 1000, "SCHED_SLICE_DEFAULT_DIVISOR: slices a second [RM]")	\
	T(slice_min_divisor, 6, 1, 100, "SCHED_SLICE_MIN_DIVISOR: a slice is divided by this at most [RM]")	\
	T(interact, 30, 0, 100, "kern.sched.interact: threads that score less, nice added, are interactive [RM]")	\
	T(slp_run_max_ms, 5000, 10, 60000, "SCHED_SLP_RUN_MAX: sleep plus run time remembered, in ms [RM]")	\
	T(slp_run_fork_ms, 500, 0, 60000, "SCHED_SLP_RUN_FORK: history a child inherits, in ms [RM]")	\
	T(preempt_thresh, 80, 0, 255, "kern.sched.preempt_thresh: priorities up to this preempt at once: PRI_MIN_KERN with PREEMPTION, 255 with FULL_PREEMPTION, 0 without [RM]")	\
	T(static_boost, 152, 0, 255, "kern.sched.static_boost: worst priority a thread sleeps and wakes with: PRI_MIN_BATCH; 0: its own, 1: that of the wait channel [RM]")	\
	T(min_timeshare, 120, 56, 120, "PRI_MIN_TIMESHARE: 120 [RMp], later 88 and 56")	\
	T(affinity_ms, 1, 0, 1000, "kern.sched.affinity: time a thread stays warm for each cache level, in ms [RM]")	\
	T(steal_idle, 1, 0, 1, "kern.sched.steal_idle: idle CPUs take threads from others [RM]")	\
	T(steal_thresh, 2, 1, 100, "kern.sched.steal_thresh: from CPUs with this load at least [RM]")	\
	T(balance, 1, 0, 1, "kern.sched.balance: even out the load now and then [RM]")	\
	T(balance_interval, 128, 1, 100000, "kern.sched.balance_interval: mean period, in ticks: each is 0.5 to 1.5 times as long [RM]")	\
	T(initial_slptime_ms, 500, 0, 60000, "sleep time of threads that exist from the start: children of an interactive shell, in ms [our choice]")
POLICY_TUNABLES(ULE14_TUNABLES)

#define ULE14_COUNTERS(C)	C(slice_ends) C(preemptions) C(stolen) C(balanced) C(affine_wakeups)
POLICY_COUNTERS(ULE14_COUNTERS)

/* ---- constants and state ------------------------------------------------ */

/* Lower is better [RMp]. */
#define PRI_MIN_REALTIME	48u
#define PRI_MAX_ITHD		(PRI_MIN_REALTIME - 1)
#define PRIBIO			92u
#define PWAIT			108u
#define PRI_MAX_TIMESHARE	223u
#define PRI_MAX_BATCH		PRI_MAX_TIMESHARE
#define PRI_MIN_IDLE		224u
#define PRI_MAX_IDLE		255u

#define SCHED_TICK_SECS		10	/* the window of %cpu */
#define SCHED_PRI_NRESV		40u	/* nice values */
#define SCHED_PRI_NHALF		20u
#define BALANCE_TIMER		0

/* Flags of tdq_add(). */
#define SRQ_PREEMPTED		1u	/* it goes on where it was: first */
#define SRQ_BORROWING		2u
#define SRQ_YIELDING		4u

enum td_class { PRI_ITHD, PRI_REALTIME, PRI_TIMESHARE, PRI_IDLE };

/* Constants derived from the tunables, and the topology. */
struct ule14 {
	u32 slice, slice_min;		/* ticks */
	u32 tickincr;			/* what a tick adds to runtime */
	u32 slp_run_max, slp_run_fork;	/* clock ticks << TICK_SHIFT */
	u32 tick_targ;			/* clock ticks in the %cpu window */
	u64 clock_ns;
	u32 min_interact, interact_range, min_batch, batch_range;
	u32 pri_min, pri_range;		/* SCHED_PRI_MIN, SCHED_PRI_RANGE */
	u32 llcs;			/* number of last-level caches */
	u16 order[MAX_CPUS];		/* CPUs by cache, core and number */
	u16 core_end[MAX_CPUS], llc_end[MAX_CPUS];	/* by position: the first after it */
	struct cpumask high, low;	/* of the balancer */
};

struct tdq {
	u32 cpu;
	u32 load, sysload;		/* threads; and without interrupt threads */
	u32 lowpri;			/* best priority of the threads that run or wait here */
	u32 idx, ridx;			/* insert and removal index of the calendar */
	u32 owepreempt;			/* a thread that waits must run at once */
	u32 core_start, llc_start;	/* where its group begins in order[] */
	u32 core_stop, llc_stop;
	struct prio_array realtime, timeshare, idle;
	struct cpumask untried;		/* CPUs this one has not yet tried to steal from */
};

struct ule14_task {
	struct list runq_link;
	struct prio_array __arena *runq;
	struct interact history;	/* clock ticks << TICK_SHIFT */
	u32 slptick;			/* clock tick + 1; 0: awake */
	s32 rltick;			/* clock tick it last ran in */
	u32 ltick, ftick, ticks;	/* %cpu */
	u32 slice;			/* ticks used of it */
	u8 user_pri, pri;
	u8 class;
	u8 bucket;
	u8 sliceend;			/* TDF_SLICEEND */
};

POLICY_STATE(struct ule14, struct tdq, struct ule14_task)

static u32 clock_ticks(sched_t *s)
{
	return (u32)div_u64(s->now, glob_of(s)->clock_ns);
}

static ts_t *thread_of(list_t *node)
{
	return node ? list_entry(node, ts_t, runq_link) : NULL;
}

/* ---- the interactivity score -------------------------------------------- */

static u32 sched_interact_score(sched_t *s, ts_t *p)
{
	/* A thread that runs as much as it sleeps is not interactive: its exact score is not worth a division. */
	if (tun(s)->interact <= 50 && p->history.runtime >= p->history.slptime)
		return 50;
	return interact_score(&p->history, 100);
}

static void sched_interact_update(sched_t *s, ts_t *p)
{
	u32 limit = glob_of(s)->slp_run_max, mostly_ran = p->history.runtime > p->history.slptime;

	if (interact_sum(&p->history) <= 2 * limit) {
		interact_bound(&p->history, limit);
		return;
	}
	p->history.runtime = mostly_ran ? limit : 1;
	p->history.slptime = mostly_ran ? 1 : limit;
}

/* ---- %cpu --------------------------------------------------------------- */

/* Ran, or did not, since the last update; the window is 10 to 11 seconds. */
static void sched_pctcpu_update(sched_t *s, ts_t *p, u32 run)
{
	u32 t = clock_ticks(s), targ = glob_of(s)->tick_targ;

	if (t - p->ltick >= targ) {
		p->ticks = 0;
		p->ftick = t - targ;
	} else if (t - p->ftick >= targ + (u32)tun(s)->clock_hz) {
		p->ticks = p->ticks / (p->ltick - p->ftick) * (p->ltick - (t - targ));
		p->ftick = t - targ;
	}
	if (run)
		p->ticks += (t - p->ltick) << TICK_SHIFT;
	p->ltick = t;
}

/* SCHED_PRI_TICKS: how many of the priorities that depend on %cpu. */
static u32 pctcpu_pri(sched_t *s, ts_t *p)
{
	u32 range = glob_of(s)->pri_range;
	u32 total = max_of(p->ltick - p->ftick, (u32)tun(s)->clock_hz);

	return min_of((p->ticks >> TICK_SHIFT) / ((total + range - 1) / range), range - 1);
}

/* ---- priorities --------------------------------------------------------- */

static u32 class_of_task(task_t *p)
{
	if (task_is_rt(p))
		return p->flags & TASK_KTHREAD ? PRI_ITHD : PRI_REALTIME;
	return p->class == CLASS_IDLE ? PRI_IDLE : PRI_TIMESHARE;
}

static u32 timeshare_pri(sched_t *s, ts_t *p)
{
	glob_t *g = glob_of(s);
	s32 nice = task_of(p)->nice;
	u32 score = (u32)max_of((s32)sched_interact_score(s, p) + nice, 0);

	if (score < tun(s)->interact)
		return g->min_interact + g->interact_range / (u32)tun(s)->interact * score;
	return (u32)((s32)(g->pri_min + pctcpu_pri(s, p)) + nice);
}

static void sched_priority(sched_t *s, ts_t *p)
{
	u32 worse_than_best = 99 - task_of(p)->rt_priority;

	if (p->class == PRI_TIMESHARE)
		p->user_pri = (u8)timeshare_pri(s, p);
	else if (p->class == PRI_REALTIME)
		p->user_pri = (u8)(PRI_MIN_REALTIME + worse_than_best * 32 / 99);
	else if (p->class == PRI_ITHD)
		p->user_pri = (u8)(worse_than_best * PRI_MIN_REALTIME / 99);
	else
		p->user_pri = PRI_MIN_IDLE;
}

/* ---- the run queues ----------------------------------------------------- */

/* A preempted thread and one with a borrowed priority go to the bucket that is being emptied. */
static u32 calendar_bucket(sched_t *s, rq_t *tdq, u32 pri, u32 flags)
{
	glob_t *g = glob_of(s);
	u32 bucket;

	if (flags & (SRQ_BORROWING | SRQ_PREEMPTED))
		return tdq->ridx;
	bucket = (RQ_NQS * (pri - g->min_batch) / g->batch_range + tdq->idx) % RQ_NQS;
	/* Not into the bucket that is being emptied. */
	if (tdq->ridx != tdq->idx && bucket == tdq->ridx)
		bucket = (bucket + RQ_NQS - 1) % RQ_NQS;
	return bucket;
}

static void tdq_runq_add(sched_t *s, rq_t *tdq, ts_t *p, u32 flags)
{
	u32 bucket = runq_bucket(p->pri);

	if (p->pri < glob_of(s)->min_batch) {
		p->runq = &tdq->realtime;
	} else if (p->pri <= PRI_MAX_BATCH) {
		p->runq = &tdq->timeshare;
		bucket = calendar_bucket(s, tdq, p->pri, flags);
	} else {
		p->runq = &tdq->idle;
	}
	p->bucket = (u8)bucket;
	prio_array_add_tail(p->runq, &p->runq_link, bucket);
}

/* The bucket that is being emptied is empty: on to the next. */
static void tdq_runq_rem(rq_t *tdq, ts_t *p)
{
	prio_array_del(p->runq, &p->runq_link, p->bucket);
	if (p->runq == &tdq->timeshare && tdq->idx != tdq->ridx && p->bucket == tdq->ridx &&
	    list_empty(&tdq->timeshare.queue[p->bucket]))
		tdq->ridx = (tdq->ridx + 1) % RQ_NQS;
}

static void tdq_load_add(rq_t *tdq, ts_t *p)
{
	tdq->load++;
	tdq->sysload += p->class != PRI_ITHD;
}

static void tdq_load_rem(rq_t *tdq, ts_t *p)
{
	tdq->load--;
	tdq->sysload -= p->class != PRI_ITHD;
}

static ts_t *tdq_choose(sched_t *s, rq_t *tdq)
{
	list_t *first = runq_first(&tdq->realtime);

	if (!first)
		first = runq_first_from(s, &tdq->timeshare, tdq->ridx);
	if (!first)
		first = runq_first(&tdq->idle);
	return thread_of(first);
}

static u32 tdq_transferable(rq_t *tdq)
{
	return tdq->realtime.nr + tdq->timeshare.nr + tdq->idle.nr;
}

static u32 curr_pri(sched_t *s, u32 cpu)
{
	task_t *curr = cpu_curr(s, cpu);

	return curr ? ts_of(curr)->pri : PRI_MAX_IDLE;
}

static void tdq_setlowpri(sched_t *s, rq_t *tdq)
{
	ts_t *best = tdq_choose(s, tdq);
	u32 pri = curr_pri(s, tdq->cpu);

	tdq->lowpri = best ? min_of(pri, best->pri) : pri;
}

/* All threads that wait have a turn in the time of one slice, unless that makes slices shorter than the minimum. */
static u32 tdq_slice(sched_t *s, rq_t *tdq)
{
	u32 load = max_of(tdq->sysload, 1u) - 1;

	if (load >= tun(s)->slice_min_divisor)
		return glob_of(s)->slice_min;
	return load > 1 ? glob_of(s)->slice / load : glob_of(s)->slice;
}

/* ---- preemption --------------------------------------------------------- */

static u32 sched_shouldpreempt(sched_t *s, u32 pri, u32 cpri, u32 remote)
{
	glob_t *g = glob_of(s);

	if (pri >= cpri)
		return false;
	if (cpri >= PRI_MIN_IDLE)
		return true;
	if (!tun(s)->preempt_thresh)
		return false;
	return pri <= tun(s)->preempt_thresh || (remote && pri < g->min_batch && cpri >= g->min_batch);
}

/*
 * On this CPU a better thread is seen to at the return to user mode, for which
 * @curr is an ordinary switch; another CPU is interrupted only if it must be.
 */
static void preempt_curr(sched_t *s, rq_t *tdq, ts_t *p)
{
	u32 cpri = curr_pri(s, tdq->cpu), remote = tdq->cpu != s->this_cpu;

	if (!cpu_curr(s, tdq->cpu)) {
		resched_cpu(s, tdq->cpu);
		return;
	}
	if (sched_shouldpreempt(s, p->pri, cpri, remote)) {
		tdq->owepreempt = true;
		count(s, COUNTER_preemptions, 1);
		resched_cpu(s, tdq->cpu);
	} else if (!remote && p->pri < cpri) {
		resched_cpu(s, tdq->cpu);
	}
}

/* The end of sched_add(). */
static void tdq_add(sched_t *s, rq_t *tdq, ts_t *p, u32 flags)
{
	tdq->lowpri = min_of(tdq->lowpri, p->pri);
	tdq_runq_add(s, tdq, p, flags);
	tdq_load_add(tdq, p);
	preempt_curr(s, tdq, p);
}

static void sched_rem(sched_t *s, rq_t *tdq, ts_t *p)
{
	tdq_runq_rem(tdq, p);
	tdq_load_rem(tdq, p);
	if (p->pri == tdq->lowpri)
		tdq_setlowpri(s, tdq);
}

/* ---- SMP ---------------------------------------------------------------- */

#include "ule/tdq_smp.h"

static void start_balance_timer(sched_t *s)
{
	u32 interval = (u32)tun(s)->balance_interval;

	if (s->nr_cpus > 1 && tun(s)->balance)
		timer_start(s, BALANCE_TIMER, s->tick_ns * (max_of(interval / 2, 1u) + random_u32(s) % interval));
}

static void ule14_timer(sched_t *s, u32 id)
{
	start_balance_timer(s);
	sched_balance(s);
}

/* ---- fork and exit ------------------------------------------------------ */

static u32 history_ticks(sched_t *s, s64 ms)
{
	return (u32)(ms * tun(s)->clock_hz / 1000) << TICK_SHIFT;
}

/* The first threads: a shell's children. */
static void init_thread(sched_t *s, ts_t *p)
{
	p->history.slptime = min_of(history_ticks(s, tun(s)->initial_slptime_ms), glob_of(s)->slp_run_max);
	p->ltick = p->ftick = clock_ticks(s);
}

static void inherit(sched_t *s, ts_t *parent, ts_t *p)
{
	rq_t *tdq = rq_of(s, task_of(parent)->cpu);

	sched_pctcpu_update(s, parent, true);
	p->ticks = parent->ticks;
	p->ltick = parent->ltick;
	p->ftick = parent->ftick;
	p->history = parent->history;
	p->slice = tdq_slice(s, tdq) - glob_of(s)->slice_min;
	interact_fork(&p->history, glob_of(s)->slp_run_fork);
	parent->history.runtime += glob_of(s)->tickincr;
	sched_interact_update(s, parent);
	sched_priority(s, parent);
}

static void ule14_fork(sched_t *s, task_t *parent, task_t *child)
{
	ts_t *p = ts_of(child);

	p->class = (u8)class_of_task(child);
	if (parent)
		inherit(s, ts_of(parent), p);
	else
		init_thread(s, p);
	sched_priority(s, p);
	p->pri = p->user_pri;
}

/* The parent of expensive children is expensive. */
static void ule14_exit(sched_t *s, task_t *child, task_t *reaper)
{
	if (!reaper)
		return;
	ts_of(reaper)->history.runtime += ts_of(child)->history.runtime;
	sched_interact_update(s, ts_of(reaper));
	sched_priority(s, ts_of(reaper));
}

/* ---- sleep and wakeup --------------------------------------------------- */

static void sched_sleep(sched_t *s, ts_t *p, u32 flags)
{
	s64 boost = tun(s)->static_boost;

	p->slptick = clock_ticks(s) + 1;
	if (p->class != PRI_TIMESHARE)
		return;
	if (boost == 1)
		p->pri = flags & DEQ_UNINTERRUPTIBLE ? PRIBIO : PWAIT;
	else if (boost && p->pri > boost)
		p->pri = (u8)boost;
}

static void ule14_dequeue(sched_t *s, task_t *task, u32 flags)
{
	rq_t *tdq = rq_of(s, task->cpu);
	ts_t *p = ts_of(task);

	if (list_linked(&p->runq_link))
		sched_rem(s, tdq, p);
	else
		tdq_load_rem(tdq, p);
	if (flags & DEQ_SLEEP)
		sched_sleep(s, p, flags);
}

/* Only a sleep that saw the clock tick counts. */
static void sched_wakeup(sched_t *s, ts_t *p)
{
	u32 slept = p->slptick ? clock_ticks(s) + 1 - p->slptick : 0;

	p->slptick = 0;
	if (slept) {
		/* More than twice the limit comes to the same, and fits. */
		p->history.slptime += min_of(slept, (glob_of(s)->slp_run_max >> TICK_SHIFT) * 2 + 1) << TICK_SHIFT;
		sched_interact_update(s, p);
		sched_pctcpu_update(s, p, false);
	}
	p->slice = 0;
}

static void ule14_enqueue(sched_t *s, task_t *task, u32 flags)
{
	ts_t *p = ts_of(task);

	if (flags & ENQ_WAKEUP)
		sched_wakeup(s, p);
	sched_priority(s, p);
	tdq_add(s, rq_of(s, task->cpu), p, 0);
}

/* ---- the tick ----------------------------------------------------------- */

/* The calendar's insert index moves on as soon as the bucket before it is empty, a bucket a tick. */
static void advance_calendar(rq_t *tdq)
{
	if (tdq->idx != tdq->ridx)
		return;
	tdq->idx = (tdq->idx + 1) % RQ_NQS;
	if (list_empty(&tdq->timeshare.queue[tdq->ridx]))
		tdq->ridx = tdq->idx;
}

static void ule14_tick(sched_t *s, u32 cpu, task_t *task)
{
	rq_t *tdq = rq_of(s, cpu);
	ts_t *p = ts_of(task);

	advance_calendar(tdq);
	sched_pctcpu_update(s, p, true);
	if (task->class == CLASS_FIFO)
		return;
	if (p->class == PRI_TIMESHARE) {
		p->history.runtime += glob_of(s)->tickincr;
		sched_interact_update(s, p);
		sched_priority(s, p);
	}
	if (++p->slice < tdq_slice(s, tdq))
		return;
	p->slice = 0;
	p->sliceend = true;
	count(s, COUNTER_slice_ends, 1);
	resched_cpu(s, cpu);
}

/* ---- sched_switch() ----------------------------------------------------- */

/* Preempted it goes first; at the end of its slice, or at the return to user mode, where its priority says. */
static void put_prev(sched_t *s, rq_t *tdq, ts_t *p)
{
	u32 preempted = tdq->owepreempt && !p->sliceend;

	if (!preempted)
		p->pri = p->user_pri;
	tdq_runq_add(s, tdq, p, preempted ? SRQ_PREEMPTED : SRQ_YIELDING);
}

/* Another thread that waits may be better than @p, which has just lost the priority of its sleep. */
static void sched_userret(sched_t *s, rq_t *tdq, ts_t *p)
{
	ts_t *best = p->pri == p->user_pri ? NULL : tdq_choose(s, tdq);

	p->pri = p->user_pri;
	tdq->lowpri = best ? min_of(p->pri, best->pri) : p->pri;
}

static task_t *ule14_pick_next(sched_t *s, u32 cpu, task_t *prev, u32 why)
{
	rq_t *tdq = rq_of(s, cpu);
	ts_t *next;

	if (prev) {
		sched_pctcpu_update(s, ts_of(prev), true);
		ts_of(prev)->rltick = (s32)clock_ticks(s);
	}
	if (why == PREV_PREEMPTED || why == PREV_YIELDED)
		put_prev(s, tdq, ts_of(prev));
	if (prev)
		ts_of(prev)->sliceend = false;
	tdq->owepreempt = false;
	if (!tdq->load)
		tdq_idled(s, tdq);
	next = tdq_choose(s, tdq);
	tdq->lowpri = PRI_MAX_IDLE;
	if (!next)
		return NULL;
	examined(s, 1);
	tdq_runq_rem(tdq, next);
	sched_pctcpu_update(s, next, false);
	sched_userret(s, tdq, next);
	return task_of(next);
}

/* ---- system calls ------------------------------------------------------- */

/* sched_prio(): a waiting thread moves only if it becomes better. */
static void sched_prio(sched_t *s, rq_t *tdq, ts_t *p, u32 pri)
{
	if (list_linked(&p->runq_link) && pri < p->pri) {
		sched_rem(s, tdq, p);
		p->pri = (u8)pri;
		tdq_add(s, tdq, p, SRQ_BORROWING);
		return;
	}
	p->pri = (u8)pri;
	if (task_of(p)->on_cpu)
		tdq_setlowpri(s, tdq);
}

static void ule14_set_nice(sched_t *s, task_t *task, s32 old_nice)
{
	ts_t *p = ts_of(task);

	sched_priority(s, p);
	sched_prio(s, rq_of(s, task->cpu), p, p->user_pri);
	if (task->on_cpu && tdq_transferable(rq_of(s, task->cpu)))
		resched_cpu(s, task->cpu);
}

/* Leave the load, become another, come back. */
static void ule14_set_class(sched_t *s, task_t *task, u32 old_class, u32 old_rt_priority)
{
	ts_t *p = ts_of(task);
	rq_t *tdq = rq_of(s, task->cpu);
	u32 queued = list_linked(&p->runq_link);

	if (queued)
		sched_rem(s, tdq, p);
	else if (task->on_cpu)
		tdq_load_rem(tdq, p);
	p->class = (u8)class_of_task(task);
	sched_priority(s, p);
	p->pri = p->user_pri;
	if (queued) {
		tdq_add(s, tdq, p, 0);
	} else if (task->on_cpu) {
		tdq_load_add(tdq, p);
		resched_cpu(s, tdq->cpu);
	}
}

/* ---- observers ---------------------------------------------------------- */

static s32 ule14_priority(sched_t *s, task_t *p)
{
	return ts_of(p)->user_pri;
}

static u32 ule14_queued(sched_t *s, task_t *p)
{
	return list_linked(&ts_of(p)->runq_link);
}

/* ---- init --------------------------------------------------------------- */

static void tdq_setup(sched_t *s, u32 cpu)
{
	rq_t *tdq = rq_of(s, cpu);

	tdq->cpu = cpu;
	tdq->lowpri = PRI_MAX_IDLE;
	prio_array_init(s, &tdq->realtime);
	prio_array_init(s, &tdq->timeshare);
	prio_array_init(s, &tdq->idle);
}

static void init_ranges(sched_t *s, glob_t *g)
{
	u32 range = PRI_MAX_TIMESHARE - (u32)tun(s)->min_timeshare + 1;

	g->min_interact = (u32)tun(s)->min_timeshare;
	g->interact_range = (range - SCHED_PRI_NRESV) / 2;
	g->min_batch = g->min_interact + g->interact_range;
	g->batch_range = range - g->interact_range;
	g->pri_min = g->min_batch + SCHED_PRI_NHALF;
	g->pri_range = PRI_MAX_BATCH - SCHED_PRI_NHALF - g->pri_min + 1;
}

/* sched_initticks() */
static void init_ticks(sched_t *s, glob_t *g)
{
	u32 stathz = (u32)tun(s)->hz, hz = (u32)tun(s)->clock_hz;

	g->slice = max_of(stathz / (u32)tun(s)->slice_divisor, 1u);
	g->slice_min = max_of(g->slice / (u32)tun(s)->slice_min_divisor, 1u);
	g->tickincr = max_of((hz << TICK_SHIFT) / stathz, 1u);
	g->slp_run_max = history_ticks(s, tun(s)->slp_run_max_ms);
	g->slp_run_fork = history_ticks(s, tun(s)->slp_run_fork_ms);
	g->tick_targ = SCHED_TICK_SECS * hz;
	g->clock_ns = NSEC_PER_SEC / hz;
}

static s32 ule14_init(sched_t *s)
{
	glob_t *g = glob_of(s);
	u32 cpu;

	init_ranges(s, g);
	init_ticks(s, g);
	for_each_cpu(s, cpu)
		tdq_setup(s, cpu);
	init_topology(s);
	start_balance_timer(s);
	return 0;
}

/* ---- the policy --------------------------------------------------------- */

static const struct variant ule14_variants[] = {
	{ "14", "a GENERIC kernel, with PREEMPTION", "" },
	{ "full-preemption", "with FULL_PREEMPTION: every better thread preempts at once", "preempt_thresh=255" },
};

_Static_assert(sizeof(struct ule14_task) <= 96, "a million tasks must fit");

POLICY(ule14,
	.summary = "FreeBSD 14's ULE: interactive threads first, a calendar queue for the rest, slices by load",
	TUNABLES,
	VARIANTS(ule14_variants),
	COUNTERS,
	.lock = LOCK_PER_CPU,
	.promise = {
		.conserving = CONSERVING_QUEUE,
		.nice = NICE_ORDERED,
		.starvation_bound_ns = 0,	/* interactive threads starve the rest, if there are enough */
	},
	.init = ule14_init,
	.fork = ule14_fork,
	.exit = ule14_exit,
	.select_cpu = sched_pickcpu,
	.enqueue = ule14_enqueue,
	.dequeue = ule14_dequeue,
	.pick_next = ule14_pick_next,
	.tick = ule14_tick,
	.set_nice = ule14_set_nice,
	.set_class = ule14_set_class,
	.timer = ule14_timer,
	.priority = ule14_priority,
	.queued = ule14_queued,
);
