/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ule - FreeBSD's ULE scheduler as presented at BSDCon 2003, and its revisions of that year.
 *
 * Each CPU has a kseq with two run queues, current and next.  Threads are
 * picked from current in order of priority until it is empty; then the two are
 * exchanged.  A thread whose slice ends is queued again: on current if it is
 * interactive, on next otherwise.  So every thread that has a slice uses it once
 * every two queue switches, whatever its priority.
 *
 * Three things that other schedulers combine are separate here.  The interactivity
 * score compares voluntary sleep with run time.  The priority, from score and
 * nice, only orders threads.  nice, relative to the least nice thread of the kseq,
 * gives the length of a slice, which may be zero.
 *
 * Order and names follow sched_ule.c; its kse, ksegrp and thread are one ts_t
 * here, and its kseq is an rq_t.  Several CPUs are in ule/kseq_smp.h.  Source tags: [P] the paper; [R0], [R2], [R3], [R4] and [R5]
 * sched_ule.c of about February, June and November 2003, September 2004 and
 * December 2005; [R0?] our reading, as R0 is known in outline only.
 *
 * FIDELITY: a thread holds its kernel sleep priority from wakeup until it is switched to, as if it returned to user mode at once.
 * FIDELITY: the 99 real-time priorities are mapped onto 32 of FreeBSD's, 64 for interrupt threads; the idle class has one.
 */
#include "policy.h"
#include "ule/interact.h"
#include "ule/runq.h"

/* ---- tunables ----------------------------------------------------------- */

#define ULE_TUNABLES(T)								\
	T(hz, 100, 10, 10000, "ticks per second, for run time, sleep time and slices alike [P]")	\
	T(slice_min_ms, 10, 1, 10000, "the shortest slice, in ms [P]")		\
	T(slice_max_ms, 140, 1, 10000, "the slice of the least nice thread, in ms [P, R3; R2: 100, R0: 250]")	\
	T(interactive_slice_ms, 10, 1, 10000, "the slice of interactive threads, in ms [P, R3; R4: 140]")	\
	T(slice_by_priority, 0, 0, 1, "slices follow sleep and priority, not the nice window [R0?]")	\
	T(nice_window, 19, 1, 40, "NTHRESH: nice beyond the least nice of the kseq that still gets a slice [R2, R3; P: 20]")	\
	T(interact_max, 100, 2, 1000, "INTERACT_MAX: the score of a thread that never sleeps [R3; R0: 24]")	\
	T(interact_thresh, 30, 0, 1000, "INTERACT_THRESH: threads that score less are interactive [R3; R2: 20]")	\
	T(slp_run_max_ms, 5000, 10, 60000, "SLP_RUN_MAX: sleep plus run time remembered, in ms [R3; R2: 100, R0: 30000]")	\
	T(slp_run_fork_ms, 500, 0, 60000, "SLP_RUN_FORK: history a child inherits, in ms; 0: all [R3; R2: all]")	\
	T(history_bound, 0, 0, 2, "what is kept of too much history: 0: four fifths [R4], 1: half [R3], 2: a tenth, when a slice is computed [R2, R0]")	\
	T(literal_figure1, 0, 0, 1, "above half, score as printed in Figure 1: a pure hog at half, the least busy at the top [P]")	\
	T(equal_scores_zero, 0, 0, 1, "equal sleep and run time score 0 [R2, R3] instead of half")	\
	T(pri_base, 160, 160, 223, "priority of score 0 at nice 0 [R3; R2, R0: 180]")	\
	T(pri_range, 64, 1, 64, "priorities between the least and the greatest score [R3; R2, R0: 24]")	\
	T(curr_rule, 2, 0, 4, "filed under current: 2: threads that are interactive or at a kernel priority [P, R2], 3: or at another than the user's [R3], 4: or at a better one [R4], 0: that sleep a little more than they run [R0]")	\
	T(keep_runq, 0, 0, 1, "a thread that is not filed under current returns from sleep to the queue it was in [R0]")	\
	T(wake_slice, 1, 0, 1, "a wakeup computes the slice anew [R3; R2: not]")	\
	T(child_slice, 1, 0, 1000, "a child's first slice, in ticks; 0: what is left of its parent's [R3; R2: 0]")	\
	T(fork_runtime, 1, 0, 1000, "run time a fork costs the parent, in ticks [R3; R2: 0]")	\
	T(exit_runtime, 1, 0, 1, "a dead child's run time is added to its parent's: it learns [P, R3]")	\
	T(exit_slptime, 0, 0, 1, "so is its sleep time [R2; R3: not]")		\
	T(userret_resched, 1, 0, 2, "a thread back at its user priority yields to a better one: 0: never [R3], 1: if it is an idle thread [P], 2: always [R2]")	\
	T(tick_preempt, 0, 0, 1, "the tick looks for a better thread in current [R0]")	\
	T(balance_ms, 500, 1, 1000000, "period of push migration, in ms [P; R2, R3: 1000]")	\
	T(balance_random, 0, 0, 1, "the period is drawn from 0 to twice that [R4]")	\
	T(push, 2, 0, 4, "push migration: 0: off, 2: an imbalance of one moves one thread [P, R2], 3: it does not [R3], 4: it does, and threads under next go first [R4]")	\
	T(pull, 3, 0, 4, "idle CPUs pull: 0: nothing, 1: from loads above 0 [R0], 2: above 1 [R2], 3: above 1 without interrupt threads [P, R3], 4: from SMT siblings only [R4]")	\
	T(idle_polls, 0, 0, 1, "idle CPUs keep looking for threads to pull [R0, R2: from memory] instead of waiting to be told [R3]")	\
	T(handoff, 3, 0, 5, "a waking thread goes to an idle CPU: 0: never [P, R2], 3: if its kseq has no CPU to spare [R3], 4: core by core, if its core has more threads than CPUs [R4], 5: if its CPU has one [R5]")	\
	T(smt_one_kseq, 0, 0, 1, "the logical CPUs of a core count as one kseq [P; R3: with ULE_HTT_EXPERIMENTAL only]")	\
	T(initial_slptime_ms, 500, 0, 60000, "sleep time of threads that exist from the start: children of an interactive shell, in ms [our choice]")	\
	T(show_pctcpu, 0, 0, 1, "observers see %cpu, in tenths of a percent, in place of the priority [our choice]")
POLICY_TUNABLES(ULE_TUNABLES)
#include "ule/rules.h"

#define ULE_COUNTERS(C)	C(queue_switches) C(slice_zero) C(pushed) C(pulled) C(handed_off)
POLICY_COUNTERS(ULE_COUNTERS)

/* ---- constants and state ------------------------------------------------ */

/* Lower is better [FreeBSD 5 priority.h]. */
#define PRI_MIN_ITHD		0u
#define PRIBIO			80u	/* disk waits [from memory] */
#define PWAIT			92u	/* other waits */
#define PRI_MIN_REALTIME	128u
#define PRI_MIN_TIMESHARE	160u
#define PRI_MAX_TIMESHARE	223u
#define PRI_MIN_IDLE		224u

#define NICE_VALUES		40
#define SCHED_CPU_TIME		10	/* s: the window of %cpu */
#define HISTORY_MAX		(1u << 30)

enum ule_class { PRI_ITHD, PRI_REALTIME, PRI_TIMESHARE, PRI_IDLE, PRI_CLASSES };

/* Constants derived from the tunables, in ticks. */
struct ule {
	s32 slice_min, slice_max, slice_interactive;
	u32 slp_run_max, slp_run_fork;	/* ticks << TICK_SHIFT */
	u32 hz;
};

struct kseq {
	struct prio_array __arena *curr, *next;
	u32 cpu;
	u32 load;			/* the running thread included */
	u32 loads[PRI_CLASSES];
	u32 nice_count[NICE_VALUES];	/* timeshare threads by nice + 20 */
	s32 nicemin;
	u32 idled;			/* kseq_idle: found nothing better than idle threads */
	u32 sibling, ncpus;		/* the next logical CPU of the core, and their number */
	u32 leader;			/* the first of them */
	struct prio_array timeshare[2], idle;
};

struct ule_task {
	struct list runq_link;
	struct prio_array __arena *runq;	/* where it is, or returns to when preempted */
	struct interact history;
	u32 slp_start;			/* tick + 1; 0: awake */
	s32 slice;			/* ticks */
	u32 ftick, ltick, cpticks;	/* %cpu */
	u8 user_pri;
	u8 pri;				/* better than user_pri until it returns from the kernel */
	u8 class;
	u8 counted;			/* in load, and with its nice */
};

POLICY_STATE(struct ule, struct kseq, struct ule_task)

static u32 ticks_now(sched_t *s)
{
	return (u32)div_u64(s->now, s->tick_ns);
}

/* ---- the interactivity scorer ------------------------------------------- */

/* Figure 1 has the lower branch upside down: m + m * sleep / run. */
static u32 literal_score(sched_t *s, ts_t *p)
{
	u32 half = (u32)tun(s)->interact_max / 2;

	if (!p->history.runtime || p->history.slptime > p->history.runtime)
		return interact_score(&p->history, 2 * half);
	return half + min_of(p->history.slptime / max_of(p->history.runtime / half, 1u), half);
}

static u32 sched_interact_score(sched_t *s, ts_t *p)
{
	if (tun(s)->literal_figure1)
		return literal_score(s, p);
	if (tun(s)->equal_scores_zero && p->history.slptime == p->history.runtime)
		return 0;
	return interact_score(&p->history, (u32)tun(s)->interact_max);
}

static u32 SCHED_INTERACTIVE(sched_t *s, ts_t *p)
{
	return sched_interact_score(s, p) < tun(s)->interact_thresh;
}

/* After each change of the history. */
static void sched_interact_update(sched_t *s, ts_t *p)
{
	u32 limit = glob_of(s)->slp_run_max;

	if (tun(s)->history_bound == HISTORY_FOUR_FIFTHS)
		interact_bound(&p->history, limit);
	else if (interact_sum(&p->history) >= (tun(s)->history_bound == HISTORY_HALF ? limit : HISTORY_MAX))
		interact_scale(&p->history, 1, 2);
}

/* ---- the priority calculator -------------------------------------------- */

static u32 class_of_task(task_t *p)
{
	if (task_is_rt(p))
		return p->flags & TASK_KTHREAD ? PRI_ITHD : PRI_REALTIME;
	return p->class == CLASS_IDLE ? PRI_IDLE : PRI_TIMESHARE;
}

static u32 timeshare_pri(sched_t *s, ts_t *p)
{
	s64 score = sched_interact_score(s, p);
	s64 pri = score * tun(s)->pri_range / tun(s)->interact_max + tun(s)->pri_base + task_of(p)->nice;

	return (u32)clamp_to(pri, PRI_MIN_TIMESHARE, PRI_MAX_TIMESHARE);
}

/* Only time sharing threads have calculated priorities; the rest are assigned statically. */
static void sched_priority(sched_t *s, ts_t *p)
{
	u32 worse_than_best = 99 - task_of(p)->rt_priority;

	if (p->class == PRI_TIMESHARE)
		p->user_pri = (u8)timeshare_pri(s, p);
	else if (p->class == PRI_REALTIME)
		p->user_pri = (u8)(PRI_MIN_REALTIME + worse_than_best * 32 / 99);
	else if (p->class == PRI_ITHD)
		p->user_pri = (u8)(PRI_MIN_ITHD + worse_than_best * 64 / 99);
	else
		p->user_pri = PRI_MIN_IDLE;
}

/* ---- nice and load ------------------------------------------------------ */

static void kseq_nice_add(rq_t *kseq, s32 nice)
{
	kseq->nice_count[nice - NICE_MIN]++;
	if (nice < kseq->nicemin || kseq->loads[PRI_TIMESHARE] == 1)
		kseq->nicemin = nice;
}

/* Was it the last of the least nice?  Then find the next nice value in use. */
static void kseq_nice_rem(sched_t *s, rq_t *kseq, s32 nice)
{
	s32 n = nice;

	if (--kseq->nice_count[nice - NICE_MIN] || nice != kseq->nicemin || !kseq->loads[PRI_TIMESHARE])
		return;
	repeat_while(s, n < NICE_MAX && !kseq->nice_count[n - NICE_MIN])
		n++;
	kseq->nicemin = n;
}

static void kseq_load_add(rq_t *kseq, ts_t *p)
{
	kseq->load++;
	kseq->loads[p->class]++;
	if (p->class == PRI_TIMESHARE)
		kseq_nice_add(kseq, task_of(p)->nice);
	p->counted = true;
}

static void kseq_load_rem(sched_t *s, rq_t *kseq, ts_t *p)
{
	kseq->load--;
	kseq->loads[p->class]--;
	if (p->class == PRI_TIMESHARE)
		kseq_nice_rem(s, kseq, task_of(p)->nice);
	p->counted = false;
}

/* ---- the slice calculator ----------------------------------------------- */

/* R0: the better, the longer; 60 % of it from sleep, 40 % from the priority, which has nice in it. */
static s32 priority_slice(sched_t *s, ts_t *p)
{
	s32 max = glob_of(s)->slice_max, range = max - glob_of(s)->slice_min;
	s32 by_sleep = max - (s32)sched_interact_score(s, p) * range / (s32)tun(s)->interact_max;
	s32 by_priority = max - (p->user_pri - (s32)PRI_MIN_TIMESHARE) * range / 63;

	return (by_sleep * 6 + by_priority * 4) / 10;
}

/*
 * A thread that is not of a time sharing class has a fixed slice, and so has an
 * interactive one: a short one, since a thread that uses it up may not be
 * interactive.  For the others nice decides.  A window of nice values that
 * begins at the least nice thread of the kseq gets slices, from the longest for
 * that thread to the shortest at the end of the window; beyond it a thread has no
 * slice at all and does not run until the least nice threads are gone.
 * R2 and R0 forget here what is too much of a history, and only here.
 */
static void sched_slice(sched_t *s, rq_t *kseq, ts_t *p)
{
	s32 max = glob_of(s)->slice_max, min = glob_of(s)->slice_min;
	s32 window = (s32)tun(s)->nice_window, diff = task_of(p)->nice - kseq->nicemin;

	if (p->class != PRI_TIMESHARE)
		p->slice = p->class == PRI_IDLE ? min : max;
	else if (tun(s)->slice_by_priority)
		p->slice = priority_slice(s, p);
	else if (SCHED_INTERACTIVE(s, p))
		p->slice = glob_of(s)->slice_interactive;
	else if (!kseq->loads[PRI_TIMESHARE] || diff < 0)
		p->slice = max;
	else
		p->slice = diff > window ? 0 : max - diff * (max - min + 1) / window;
	/* HISTORY_MAX in sched_interact_update() is for the days between two such calls, after which theirs overflows. */
	if (tun(s)->history_bound == HISTORY_TENTH_AT_SLICE && interact_sum(&p->history) >= glob_of(s)->slp_run_max)
		interact_scale(&p->history, 1, 10);
}

/* ---- queue mechanisms --------------------------------------------------- */

static void kseq_runq_add(ts_t *p)
{
	prio_array_add_tail(p->runq, &p->runq_link, runq_bucket(p->pri));
}

static void kseq_runq_rem(ts_t *p)
{
	prio_array_del(p->runq, &p->runq_link, runq_bucket(p->pri));
}

/* R0: a thread that sleeps somewhat more than it runs.  (Probably those that sleep much more were meant.) */
static u32 light_sleeper(sched_t *s, ts_t *p)
{
	u32 part = (u32)tun(s)->interact_max / 2;

	return p->history.slptime > p->history.runtime &&
	       p->history.runtime / max_of(p->history.slptime / part, 1u) > 4;
}

/* Under current or next?  Interactive threads belong to current, and so do threads at a kernel priority. */
static u32 SCHED_CURR(sched_t *s, ts_t *p)
{
	u32 boosted = p->pri < PRI_MIN_TIMESHARE;

	if (tun(s)->curr_rule == CURR_LIGHT_SLEEPERS)
		return light_sleeper(s, p);
	if (tun(s)->curr_rule == CURR_CHANGED_PRIORITY)
		boosted = p->pri != p->user_pri;
	if (tun(s)->curr_rule == CURR_RAISED_PRIORITY)
		boosted = p->pri < p->user_pri;
	return boosted || SCHED_INTERACTIVE(s, p);
}

static prio_array_t *timeshare_runq(sched_t *s, rq_t *kseq, ts_t *p)
{
	if (SCHED_CURR(s, p))
		return kseq->curr;
	if (tun(s)->keep_runq && p->runq == kseq->curr)
		return kseq->curr;
	return kseq->next;
}

/* Idle threads have a queue of their own unless they hold a priority of the kernel. */
static prio_array_t *idle_runq(rq_t *kseq, ts_t *p)
{
	return p->pri < PRI_MIN_IDLE ? kseq->curr : &kseq->idle;
}

static prio_array_t *choose_runq(sched_t *s, rq_t *kseq, ts_t *p)
{
	if (p->class == PRI_TIMESHARE)
		return timeshare_runq(s, kseq, p);
	return p->class == PRI_IDLE ? idle_runq(kseq, p) : kseq->curr;
}

static void preempt_curr(sched_t *s, ts_t *p, u32 cpu)
{
	task_t *curr = cpu_curr(s, cpu);

	if (!curr || p->pri < ts_of(curr)->pri)
		resched_cpu(s, cpu);
}

/* @p becomes runnable on @kseq, or comes to it. */
static void sched_add(sched_t *s, rq_t *kseq, ts_t *p)
{
	if (p->class != PRI_TIMESHARE)
		sched_slice(s, kseq, p);
	if (p->class != PRI_IDLE)
		kseq->idled = false;
	p->runq = choose_runq(s, kseq, p);
	kseq_runq_add(p);
	kseq_load_add(kseq, p);
	preempt_curr(s, p, kseq->cpu);
}

/* A preempted thread goes to the back of its bucket with what is left of its slice. */
static void put_prev(sched_t *s, rq_t *kseq, ts_t *p, u32 why)
{
	p->pri = p->user_pri;
	if (why == PREV_YIELDED && p->class == PRI_TIMESHARE)
		p->pri = PRI_MAX_TIMESHARE;
	if (p->class == PRI_IDLE)
		p->runq = idle_runq(kseq, p);
	kseq_runq_add(p);
}

/*
 * The best thread that has a slice, else an idle thread.  An empty current and
 * next change places.  A thread whose slice is over, or was refused because of its
 * nice value, gets another chance, as the less nice ones may be gone: its slice is
 * computed again, and it goes to next.  So each switch of the queues looks at every
 * thread without a slice.  R3 gives up when current is empty a second time,
 * but its idle loop then looks again at once; here that is one search.  It ends,
 * as the least nice thread always gets a slice.
 */
static ts_t *kseq_choose(sched_t *s, rq_t *kseq)
{
	list_t *first;

	repeat_while(s, kseq->curr->nr + kseq->next->nr) {
		ts_t *p;

		if (!kseq->curr->nr) {
			prio_array_t *empty = kseq->curr;

			kseq->curr = kseq->next;
			kseq->next = empty;
			count(s, COUNTER_queue_switches, 1);
		}
		p = list_entry(runq_first(kseq->curr), ts_t, runq_link);
		examined(s, 1);
		if (p->slice)
			return p;
		kseq_runq_rem(p);
		sched_slice(s, kseq, p);
		p->runq = kseq->next;
		kseq_runq_add(p);
		count(s, COUNTER_slice_zero, 1);
	}
	first = runq_first(&kseq->idle);
	examined(s, first != NULL);
	return first ? list_entry(first, ts_t, runq_link) : NULL;
}

/* ---- SMP ---------------------------------------------------------------- */

#include "ule/kseq_smp.h"

static void ule_timer(sched_t *s, u32 id)
{
	sched_balance(s);
	start_balance_timer(s);
}

/* ---- fork and exit ------------------------------------------------------ */

static u32 history_ticks(sched_t *s, s64 ms)
{
	return (u32)(ms * tun(s)->hz / 1000) << TICK_SHIFT;
}

/* The first threads: a shell's children. */
static void init_thread(sched_t *s, ts_t *p)
{
	p->history.slptime = min_of(history_ticks(s, tun(s)->initial_slptime_ms), glob_of(s)->slp_run_max);
	p->slice = max_of((s32)tun(s)->child_slice, glob_of(s)->slice_min);
	p->ltick = p->ftick = ticks_now(s);
}

/* The child is as its parent, but soon shows what it is; the parent pays for it. */
static void sched_fork(sched_t *s, ts_t *parent, ts_t *p)
{
	p->history = parent->history;
	interact_fork(&p->history, glob_of(s)->slp_run_fork);
	p->slice = tun(s)->child_slice ? (s32)tun(s)->child_slice : parent->slice;
	p->user_pri = parent->user_pri;
	p->ftick = parent->ftick;
	p->ltick = parent->ltick;
	p->cpticks = parent->cpticks;
	parent->history.runtime += (u32)tun(s)->fork_runtime << TICK_SHIFT;
	sched_interact_update(s, parent);
}

static void ule_fork(sched_t *s, task_t *parent, task_t *child)
{
	ts_t *p = ts_of(child);

	p->class = (u8)class_of_task(child);
	if (parent)
		sched_fork(s, ts_of(parent), p);
	else
		init_thread(s, p);
	/* Not like its parent?  Then it has been reniced or given its class at once. */
	if (!parent || child->nice != parent->nice || p->class != ts_of(parent)->class ||
	    child->rt_priority != parent->rt_priority)
		sched_priority(s, p);
	p->pri = p->user_pri;
}

/* The parent learns what its children are like.  Their sleep is not its own. */
static void ule_exit(sched_t *s, task_t *child, task_t *reaper)
{
	interact_t *learned = &ts_of(child)->history, *history;

	if (!reaper)
		return;
	history = &ts_of(reaper)->history;
	if (tun(s)->exit_runtime)
		history->runtime += learned->runtime;
	if (tun(s)->exit_slptime)
		history->slptime += learned->slptime;
	sched_interact_update(s, ts_of(reaper));
}

/* ---- sleep and wakeup --------------------------------------------------- */

/* It will return from the kernel with this priority. */
static void sched_sleep(sched_t *s, ts_t *p, u32 flags)
{
	p->slp_start = ticks_now(s) + 1;
	if (p->class != PRI_ITHD)
		p->pri = flags & DEQ_UNINTERRUPTIBLE ? PRIBIO : PWAIT;
}

static void ule_dequeue(sched_t *s, task_t *task, u32 flags)
{
	ts_t *p = ts_of(task);

	if (list_linked(&p->runq_link))
		kseq_runq_rem(p);
	kseq_load_rem(s, rq_of(s, task->cpu), p);
	if (flags & DEQ_SLEEP)
		sched_sleep(s, p, flags);
}

/* Only sleep counts: the wait on a run queue that follows never does. */
static void add_slept_ticks(sched_t *s, ts_t *p)
{
	u32 ticks = ticks_now(s) + 1 - p->slp_start, limit = glob_of(s)->slp_run_max;

	if (ticks >= limit >> TICK_SHIFT) {
		p->history.slptime = limit;
		p->history.runtime = 1;
		return;
	}
	p->history.slptime += ticks << TICK_SHIFT;
	sched_interact_update(s, p);
}

static void sched_wakeup(sched_t *s, rq_t *kseq, ts_t *p)
{
	if (p->slp_start)
		add_slept_ticks(s, p);
	p->slp_start = 0;
	sched_priority(s, p);
	if (tun(s)->wake_slice)
		sched_slice(s, kseq, p);
}

static void ule_enqueue(sched_t *s, task_t *task, u32 flags)
{
	rq_t *kseq = rq_of(s, task->cpu);

	if (flags & ENQ_WAKEUP)
		sched_wakeup(s, kseq, ts_of(task));
	sched_add(s, kseq, ts_of(task));
	idle_loop_sees(s, kseq, task);
}

/* ---- the CPU usage estimator -------------------------------------------- */

/*
 * For ps(1) and top(1) only.  The window grows to a second more than ten and is
 * then scaled back to ten.
 */
static void sched_pctcpu_update(sched_t *s, ts_t *p, u32 now)
{
	u32 window = SCHED_CPU_TIME * glob_of(s)->hz;

	if (now - p->ltick < window)
		p->cpticks = (u32)div_u64((u64)p->cpticks * window, now - p->ftick);
	else
		p->cpticks = 0;
	p->ltick = now;
	p->ftick = now - window;
}

/*
 * In tenths of a percent.  The kernel's reader scales the window itself, rounds
 * each time, and is therefore limited to twice a second; this one changes nothing.
 */
static s32 sched_pctcpu(sched_t *s, ts_t *p)
{
	u32 hz = glob_of(s)->hz, now = ticks_now(s), cpticks = p->cpticks;

	if (now - p->ltick >= SCHED_CPU_TIME * hz)
		cpticks = 0;
	else if (now - p->ftick > SCHED_CPU_TIME * hz)
		cpticks = (u32)div_u64((u64)cpticks * SCHED_CPU_TIME * hz, now - p->ftick);
	return (s32)min_of(div_u64(cpticks * 1000ull, SCHED_CPU_TIME * hz), 1000);
}

/* ---- the tick ----------------------------------------------------------- */

/* The slice is over: priority, slice and queue are computed anew. */
static void slice_expired(sched_t *s, rq_t *kseq, ts_t *p)
{
	kseq_load_rem(s, kseq, p);
	sched_priority(s, p);
	sched_slice(s, kseq, p);
	p->runq = SCHED_CURR(s, p) ? kseq->curr : kseq->next;
	kseq_load_add(kseq, p);
	resched_cpu(s, kseq->cpu);
}

static void preempt_in_tick(sched_t *s, rq_t *kseq, ts_t *p)
{
	list_t *first = runq_first(kseq->curr);

	if (first && list_entry(first, ts_t, runq_link)->pri < p->pri)
		resched_cpu(s, kseq->cpu);
}

/* sched_clock(): only time sharing threads have slices. */
static void ule_tick(sched_t *s, u32 cpu, task_t *task)
{
	rq_t *kseq = rq_of(s, cpu);
	ts_t *p = ts_of(task);

	p->cpticks++;
	p->ltick = ticks_now(s);
	if (p->ftick + (SCHED_CPU_TIME + 1) * glob_of(s)->hz < p->ltick)
		sched_pctcpu_update(s, p, p->ltick);
	if (p->class != PRI_TIMESHARE)
		return;
	p->history.runtime += TICK_ONE;
	sched_interact_update(s, p);
	if (--p->slice <= 0)
		slice_expired(s, kseq, p);
	else if (tun(s)->tick_preempt)
		preempt_in_tick(s, kseq, p);
}

/* ---- choosing ----------------------------------------------------------- */

/* The kernel is left, and with it the priority of the sleep: has a better thread come meanwhile? */
static void sched_userret(sched_t *s, rq_t *kseq, ts_t *p)
{
	list_t *first = runq_first(kseq->curr->nr ? kseq->curr : kseq->next);

	if (p->pri == p->user_pri)
		return;
	p->pri = p->user_pri;
	if (tun(s)->userret_resched < (p->class == PRI_IDLE ? USERRET_IDLE : USERRET_ALL))
		return;
	if (first && list_entry(first, ts_t, runq_link)->pri < p->user_pri)
		resched_cpu(s, kseq->cpu);
}

/* Before an idle thread or no thread runs, the CPU tries to get threads from other CPUs. */
static ts_t *sched_choose(sched_t *s, rq_t *kseq)
{
	ts_t *p = kseq_choose(s, kseq);

	if ((!p || p->class == PRI_IDLE) && kseq_find(s, kseq))
		p = kseq_choose(s, kseq);
	kseq->idled = !p || p->class == PRI_IDLE;
	return p;
}

static task_t *ule_pick_next(sched_t *s, u32 cpu, task_t *prev, u32 why)
{
	rq_t *kseq = rq_of(s, cpu);
	ts_t *next;

	if (why == PREV_PREEMPTED || why == PREV_YIELDED)
		put_prev(s, kseq, ts_of(prev), why);
	next = sched_choose(s, kseq);
	if (!next)
		return NULL;
	kseq_runq_rem(next);
	sched_userret(s, kseq, next);
	return task_of(next);
}

/* ---- system calls ------------------------------------------------------- */

/* The slice stays until it is next computed; a queued thread stays where it is. */
static void ule_set_nice(sched_t *s, task_t *task, s32 old_nice)
{
	rq_t *kseq = rq_of(s, task->cpu);
	ts_t *p = ts_of(task);

	if (p->counted && p->class == PRI_TIMESHARE) {
		kseq_nice_rem(s, kseq, old_nice);
		kseq_nice_add(kseq, task->nice);
	}
	sched_priority(s, p);
	if (task->on_cpu)
		resched_cpu(s, task->cpu);
}

/* Leave the load, become another, come back as if priority had been lent: at once, on the right queue. */
static void ule_set_class(sched_t *s, task_t *task, u32 old_class, u32 old_rt_priority)
{
	ts_t *p = ts_of(task);
	rq_t *kseq = rq_of(s, task->cpu);
	u32 queued = list_linked(&p->runq_link), counted = p->counted;

	if (queued)
		kseq_runq_rem(p);
	if (counted)
		kseq_load_rem(s, kseq, p);
	p->class = (u8)class_of_task(task);
	sched_priority(s, p);
	if (!counted)
		return;
	p->pri = p->user_pri;
	sched_slice(s, kseq, p);
	if (queued) {
		sched_add(s, kseq, p);
		return;
	}
	kseq_load_add(kseq, p);
	p->runq = choose_runq(s, kseq, p);
	resched_cpu(s, kseq->cpu);
}

/* ---- observers ---------------------------------------------------------- */

static s32 ule_priority(sched_t *s, task_t *p)
{
	return tun(s)->show_pctcpu ? sched_pctcpu(s, ts_of(p)) : ts_of(p)->user_pri;
}

static u32 ule_queued(sched_t *s, task_t *p)
{
	return list_linked(&ts_of(p)->runq_link);
}

/* ---- init --------------------------------------------------------------- */

static s32 slice_ticks(sched_t *s, s64 ms)
{
	return (s32)max_of(ms * tun(s)->hz / 1000, 1);
}

static void kseq_setup(sched_t *s, u32 cpu)
{
	rq_t *kseq = rq_of(s, cpu);

	kseq->cpu = cpu;
	kseq->curr = &kseq->timeshare[0];
	kseq->next = &kseq->timeshare[1];
	prio_array_init(s, kseq->curr);
	prio_array_init(s, kseq->next);
	prio_array_init(s, &kseq->idle);
	kseq->idled = true;
	find_siblings(s, kseq);
}

static s32 ule_init(sched_t *s)
{
	const char *wrong = rule_missing(s);
	glob_t *g = glob_of(s);
	u32 cpu;

	g->hz = (u32)tun(s)->hz;
	g->slice_min = slice_ticks(s, tun(s)->slice_min_ms);
	g->slice_max = slice_ticks(s, tun(s)->slice_max_ms);
	g->slice_interactive = slice_ticks(s, tun(s)->interactive_slice_ms);
	g->slp_run_max = max_of(history_ticks(s, tun(s)->slp_run_max_ms), TICK_ONE);
	g->slp_run_fork = history_ticks(s, tun(s)->slp_run_fork_ms);
	if (g->slice_min > g->slice_max)
		wrong = "slice_min_ms is above slice_max_ms";
	if (wrong) {
		policy_error(s, wrong, NULL);
		return -1;
	}
	for_each_cpu(s, cpu)
		kseq_setup(s, cpu);
	start_balance_timer(s);
	return 0;
}

/* ---- the policy --------------------------------------------------------- */

static const struct variant ule_variants[] = {
	{ "2003", "as presented: R3 with what the paper says where the two differ", "" },
	{ "R3", "November 2003, literally",
	  "history_bound=1 equal_scores_zero=1 curr_rule=3 userret_resched=0 balance_ms=1000 push=3" },
	{ "R2", "June 2003: 100 ms of memory, slices up to 100 ms, no hand-off",
	  "slice_max_ms=100 interact_thresh=20 slp_run_max_ms=100 slp_run_fork_ms=0 history_bound=2 "
	  "equal_scores_zero=1 pri_base=180 pri_range=24 wake_slice=0 child_slice=0 fork_runtime=0 "
	  "exit_slptime=1 userret_resched=2 balance_ms=1000 pull=2 idle_polls=1 handoff=0" },
	{ "R0", "February 2003, the early ULE: slices by priority, no nice window, pull only",
	  "slice_max_ms=250 slice_by_priority=1 interact_max=24 slp_run_max_ms=30000 slp_run_fork_ms=0 "
	  "history_bound=2 equal_scores_zero=1 pri_base=180 pri_range=24 curr_rule=0 keep_runq=1 wake_slice=0 "
	  "child_slice=0 fork_runtime=0 exit_runtime=0 userret_resched=0 tick_preempt=1 push=0 pull=1 idle_polls=1 handoff=0" },
};

_Static_assert(sizeof(struct ule_task) <= 96, "a million tasks must fit");

POLICY(ule,
	.summary = "FreeBSD ULE of 2003: current and next queue per CPU, interactivity from sleep and run time",
	TUNABLES,
	VARIANTS(ule_variants),
	COUNTERS,
	.lock = LOCK_PER_CPU,
	.promise = {
		.conserving = CONSERVING_QUEUE,
		.nice = NICE_ORDERED,	/* not weighted: with R0 -15 gets less than -10 at times */
		.starvation_bound_ns = 0,	/* beyond the nice window a thread never runs */
	},
	.init = ule_init,
	.fork = ule_fork,
	.exit = ule_exit,
	.select_cpu = kseq_pickcpu,
	.enqueue = ule_enqueue,
	.dequeue = ule_dequeue,
	.pick_next = ule_pick_next,
	.tick = ule_tick,
	.set_nice = ule_set_nice,
	.set_class = ule_set_class,
	.timer = ule_timer,
	.priority = ule_priority,
	.queued = ule_queued,
);
