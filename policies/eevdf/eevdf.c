/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * eevdf - Earliest Eligible Virtual Deadline First, Linux 6.6 and later.
 *
 * As in CFS each task has a virtual runtime v, and V is the average of all, by
 * weight: where the ideal processor is.  A task's lag is V - v, what it is owed.
 * A task that is owed nothing is not eligible.  Each task requests a slice r at a time
 * and is to have it by its virtual deadline, d = v + r / weight; of the eligible
 * tasks that with the earliest deadline runs.  So a shorter slice means sooner,
 * never more.  Lag is kept over a sleep, so that sleeping wins nothing.
 *
 * After I. Stoica and H. Abdel-Wahab, Earliest Eligible Virtual Deadline First:
 * A Flexible and Accurate Mechanism for Proportional Share Resource Allocation (1995).
 * Order and names follow kernel/sched/fair.c.  What it calls sched_entity * is a
 * ts_t * here.  A rule that changed between versions hangs on a tunable: a variant
 * is nothing but a set of them.  What EEVDF shares with CFS, classes and load
 * balancing, is not here: see fair/fair.h.
 *
 * FIDELITY: slices of a task's own (sched_setattr() from 6.12 on) cannot be asked for by a workload, so
 *	PREEMPT_SHORT never lets a shorter one in; its other half is here.
 * FIDELITY: hrtick is not lengthened by the share of interrupts in the CPU's time, as hrtick_start_fair() does.
 * FIDELITY: 6.6 and 6.7 kept the tree by vruntime and searched it for deadlines; the choice differs between equal deadlines only.
 */
#include "policy.h"
#include "fair/fair.h"

/* ---- tunables ----------------------------------------------------------- */

#define EEVDF_TUNABLES(T)							\
	T(base_slice_us, 750, 10, 1000000, "sysctl_sched_base_slice: what a task requests at a time, in us, for one CPU [MEM; 700 from 6.15]")	\
	T(place_lag, 1, 0, 1, "a task that is queued again has the lag it left with [SRC PLACE_LAG]; 0: it is placed at V")	\
	T(place_deadline_initial, 1, 0, 1, "a new task's first request is half a slice [SRC PLACE_DEADLINE_INITIAL; without effect before 6.12, where wake_up_new_task() passes no ENQUEUE_INITIAL]")	\
	T(place_rel_deadline, 1, 0, 1, "a task that only changes CPU keeps what is left of its request [SRC PLACE_REL_DEADLINE: from 6.12]")	\
	T(run_to_parity, 1, 0, 1, "a picked task runs until its request is served or it is not eligible any more [SRC RUN_TO_PARITY]")	\
	T(preempt_short, 1, 0, 2, "a task that runs on after its request was served is rescheduled as soon as it is not eligible (1) [SRC did_preempt_short(): from 6.12] or at once (2) [SRC 6.18 update_curr(): from 6.17]")	\
	T(delay_dequeue, 1, 0, 1, "a task that is not eligible when it falls asleep stays queued until it has paid [SRC DELAY_DEQUEUE: from 6.12]")	\
	T(delay_zero, 1, 0, 1, "and leaves with no lag then, rather than with a positive one [SRC DELAY_ZERO: from 6.12]")	\
	T(yield_forfeits, 0, 0, 1, "a task that yields counts as having had the rest of its request [MEM yield_task_fair(): from 6.19, and in 6.18.2]")	\
	T(wakeup_preemption, 1, 0, 1, "woken tasks may preempt [SRC WAKEUP_PREEMPTION]")	\
	T(hrtick, 0, 0, 1, "the CPU is interrupted when the running task's request is served, rather than at the next tick [SRC hrtick_start_fair(); that HRTICK is on by default from 7.1: from how 7.2 runs]")	\
	T(hrtick_min_us, 10, 1, 1000, "but not sooner than in so many us [MEM hrtick_start()]")	\
	T(idle_core_first, 1, 0, 1, "of a group's idle CPUs one of an idle core balances first [SRC 6.6 should_we_balance()]")	\
	FAIR_TUNABLES(T)

POLICY_TUNABLES(EEVDF_TUNABLES)

#define EEVDF_COUNTERS(C)	FAIR_COUNTERS(C) C(delayed_dequeues) C(delayed_wakeups)
POLICY_COUNTERS(EEVDF_COUNTERS)

/* ---- state -------------------------------------------------------------- */

/* What the tunable preempt_short says: when protection by RUN_TO_PARITY ends. */
enum preempt_short { SHORT_NEVER, SHORT_IF_INELIGIBLE, SHORT_AT_ONCE };

struct eevdf {
	struct fair fair;
	u64 base_slice;		/* ns, on this machine */
};

/* avg_vruntime and avg_load are of the tasks in the tree; the running one is added where they are used. */
struct eevdf_rq {
	struct fair_rq cfs;
	s64 avg_vruntime;	/* sum of weight * (v - min_vruntime) */
	s64 avg_load;		/* sum of weights */
};

struct eevdf_task {
	struct sched_entity se;
	s64 vlag;		/* off the queue: its lag; running: the deadline with which it was picked */
	u64 deadline;
	u64 slice;
	u8 sched_delayed;	/* asleep, but still queued */
	u8 rel_deadline;	/* deadline counts from vruntime */
};

POLICY_STATE(struct eevdf, struct eevdf_rq, struct eevdf_task)

#include "fair/class.h"

#define entity_of(node)	list_entry(node, ts_t, se.run_node)

static u32 task_delayed(ts_t *p)
{
	return p->sched_delayed;
}

/* ---- V, lag and eligibility --------------------------------------------- */

static s64 entity_key(rq_t *rq, ts_t *p)
{
	return (s64)(p->se.vruntime - rq->cfs.min_vruntime);
}

/* Division that rounds down. */
static s64 div_floor(s64 a, s64 b)
{
	return div_s64(a < 0 ? a - (b - 1) : a, b);
}

/*
 * V.  It is rounded down, and v <= V is then the same as the exact
 * weight * (v - min_vruntime) <= avg_vruntime, as v is an integer.
 */
static u64 avg_vruntime(rq_t *rq)
{
	s64 avg = rq->avg_vruntime, load = rq->avg_load;

	if (rq->cfs.curr) {
		ts_t *curr = ts_of(rq->cfs.curr);

		avg += entity_key(rq, curr) * (s64)curr->se.weight;
		load += curr->se.weight;
	}
	return rq->cfs.min_vruntime + (u64)div_floor(avg, load);
}

static u32 entity_eligible(rq_t *rq, ts_t *p)
{
	return !before(avg_vruntime(rq), p->se.vruntime);
}

/* Others come and go and move V: a task's lag is kept within two slices, or a tick. */
static void update_entity_lag(sched_t *s, rq_t *rq, ts_t *p)
{
	s64 vlag = (s64)(avg_vruntime(rq) - p->se.vruntime);
	s64 limit = (s64)calc_delta_fair(s, max_of(2 * p->slice, s->tick_ns), p);

	p->vlag = clamp_to(vlag, -limit, limit);
}

/* ---- the tree ----------------------------------------------------------- */

static void link_entity(sched_t *s, rq_t *rq, ts_t *p)
{
	rq->avg_vruntime += entity_key(rq, p) * (s64)p->se.weight;
	rq->avg_load += p->se.weight;
	p->se.run_node.key = p->deadline;
	p->se.run_node.value = p->se.vruntime;
	tree_insert(s, &rq->cfs.tasks_timeline, &p->se.run_node);
}

static void unlink_entity(sched_t *s, rq_t *rq, ts_t *p)
{
	tree_remove(s, &rq->cfs.tasks_timeline, &p->se.run_node);
	rq->avg_vruntime -= entity_key(rq, p) * (s64)p->se.weight;
	rq->avg_load -= p->se.weight;
}

/* min_vruntime only keeps the keys small.  It follows the least vruntime and never goes back. */
static void update_min_vruntime(rq_t *rq)
{
	tree_node_t *root = rq->cfs.tasks_timeline.root;
	u64 vruntime = rq->cfs.min_vruntime;

	if (rq->cfs.curr)
		vruntime = ts_of(rq->cfs.curr)->se.vruntime;
	if (root && (!rq->cfs.curr || before(root->least, vruntime)))
		vruntime = root->least;
	if (!before(rq->cfs.min_vruntime, vruntime))
		return;
	rq->avg_vruntime -= rq->avg_load * (s64)(vruntime - rq->cfs.min_vruntime);
	rq->cfs.min_vruntime = vruntime;
}

/* ---- requests ----------------------------------------------------------- */

static void new_request(sched_t *s, ts_t *p)
{
	p->slice = glob_of(s)->base_slice;
	p->deadline = p->se.vruntime + calc_delta_fair(s, p->slice, p);
}

/* set_next_entity() keeps the deadline in vlag, which means nothing while a task runs. */
static u32 serves_its_pick(ts_t *curr)
{
	return curr->vlag == (s64)curr->deadline;
}

/* A request of @curr was served, but no other task was picked: may others have the CPU now? */
static u32 protection_has_ended(sched_t *s, rq_t *rq, ts_t *curr)
{
	if (tun(s)->preempt_short == SHORT_NEVER || serves_its_pick(curr))
		return false;
	return tun(s)->preempt_short == SHORT_AT_ONCE || !entity_eligible(rq, curr);
}

/* hrtick_start_fair(): the time at which the request will have been served, if other tasks wait. */
static void update_hrtick(sched_t *s, rq_t *rq)
{
	ts_t *curr = rq->cfs.curr ? ts_of(rq->cfs.curr) : NULL;
	u64 left;

	if (!tun(s)->hrtick)
		return;
	if (!curr || rq->cfs.nr_running == 1) {
		hrtick_stop(s, rq->cfs.cpu);
		return;
	}
	if (before(curr->deadline, curr->se.vruntime)) {
		resched_cpu(s, rq->cfs.cpu);
		return;
	}
	/* Rounded up, or it would come a moment too soon. */
	left = (curr->deadline - curr->se.vruntime + 1) * curr->se.weight / NICE_0_LOAD + 1;
	hrtick_start(s, rq->cfs.cpu, max_of(left, (u64)tun(s)->hrtick_min_us * NSEC_PER_USEC));
}

/* A request served, or protection at an end: others may have the CPU. */
static void update_curr(sched_t *s, rq_t *rq)
{
	ts_t *curr;
	u32 served;
	u64 delta_exec;

	if (!rq->cfs.curr)
		return;
	curr = ts_of(rq->cfs.curr);
	delta_exec = update_exec_time(s, curr);
	if (!delta_exec)
		return;
	curr->se.vruntime += calc_delta_fair(s, delta_exec, curr);
	served = !before(curr->se.vruntime, curr->deadline);
	if (served)
		new_request(s, curr);
	update_min_vruntime(rq);
	if (rq->cfs.nr_running == 1)
		return;
	if (served || protection_has_ended(s, rq, curr))
		resched_cpu(s, rq->cfs.cpu);
}

/* ---- placement ---------------------------------------------------------- */

/*
 * The lag at which to place @p so that it has vlag once it is there.  With its
 * weight w it moves V itself, which leaves it vlag * W / (W + w) of what it brings.
 */
static s64 inflated_lag(rq_t *rq, ts_t *p)
{
	s64 load = rq->avg_load;

	if (rq->cfs.curr)
		load += ts_of(rq->cfs.curr)->se.weight;
	return div_s64(p->vlag * (load + p->se.weight), load);
}

static void place_entity(sched_t *s, rq_t *rq, ts_t *p, u32 flags)
{
	u64 vslice;
	s64 lag = 0;

	p->slice = glob_of(s)->base_slice;
	vslice = calc_delta_fair(s, p->slice, p);
	if (tun(s)->place_lag && rq->cfs.nr_running)
		lag = inflated_lag(rq, p);
	p->se.vruntime = avg_vruntime(rq) - (u64)lag;
	if (p->rel_deadline) {
		p->deadline += p->se.vruntime;
		p->rel_deadline = 0;
		return;
	}
	/* The others are half way through their slices on average. */
	if (tun(s)->place_deadline_initial && (flags & ENQ_NEW))
		vslice /= 2;
	p->deadline = p->se.vruntime + vslice;
}

/* ---- delayed dequeue ---------------------------------------------------- */

/* It has slept and paid, and leaves at last. */
static void finish_delayed(sched_t *s, rq_t *rq, ts_t *p)
{
	if (!p->sched_delayed)
		return;
	update_curr(s, rq);
	update_entity_lag(s, rq, p);
	unlink_entity(s, rq, p);
	account_entity_dequeue(rq, p);
	update_min_vruntime(rq);
	p->sched_delayed = 0;
	if (tun(s)->delay_zero && p->vlag > 0)
		p->vlag = 0;
}

/* requeue_delayed_entity(): it wakes up before it has paid, or with more than it is owed. */
static void requeue_delayed(sched_t *s, rq_t *rq, ts_t *p)
{
	count(s, COUNTER_delayed_wakeups, 1);
	p->sched_delayed = 0;
	if (!tun(s)->delay_zero)
		return;
	update_entity_lag(s, rq, p);
	if (p->vlag <= 0)
		return;
	unlink_entity(s, rq, p);
	rq->cfs.nr_running--;
	p->vlag = 0;
	place_entity(s, rq, p, 0);
	rq->cfs.nr_running++;
	link_entity(s, rq, p);
}

/* ---- queueing ----------------------------------------------------------- */

static void enqueue_entity(sched_t *s, rq_t *rq, ts_t *p, u32 flags)
{
	update_curr(s, rq);
	if (p->sched_delayed) {
		requeue_delayed(s, rq, p);
		return;
	}
	place_entity(s, rq, p, flags);
	account_entity_enqueue(rq, p);
	link_entity(s, rq, p);
	update_hrtick(s, rq);
}

static void dequeue_entity(sched_t *s, rq_t *rq, ts_t *p, u32 flags)
{
	u32 running = rq->cfs.curr == task_of(p);

	update_curr(s, rq);
	/* A task that sleeps may stay queued; a task that exits or moves may not. */
	if ((flags & DEQ_SLEEP) && tun(s)->delay_dequeue && !entity_eligible(rq, p)) {
		count(s, COUNTER_delayed_dequeues, 1);
		p->sched_delayed = 1;
		if (running) {
			link_entity(s, rq, p);
			rq->cfs.curr = NULL;
		}
		return;
	}
	update_entity_lag(s, rq, p);
	if (tun(s)->place_rel_deadline && !(flags & DEQ_SLEEP)) {
		p->deadline -= p->se.vruntime;
		p->rel_deadline = 1;
	}
	if (running)
		rq->cfs.curr = NULL;
	else
		unlink_entity(s, rq, p);
	account_entity_dequeue(rq, p);
	if (flags)
		update_min_vruntime(rq);
}

/* Lag is time the task is owed, divided by its weight, and so is what is left of its request. */
static void reweight_entity(ts_t *p, u32 old_weight)
{
	p->vlag = div_s64(p->vlag * (s64)old_weight, p->se.weight);
	if (p->rel_deadline)
		p->deadline = (u64)div_s64((s64)p->deadline * (s64)old_weight, p->se.weight);
}

/* What it was owed means nothing after an excursion. */
static void switched_from_fair(sched_t *s, rq_t *rq, ts_t *p)
{
	p->vlag = 0;
	p->rel_deadline = 0;
}

static void fork_entity(sched_t *s, task_t *parent, ts_t *child)
{
	child->slice = glob_of(s)->base_slice;
	if (parent && rq_of(s, parent->cpu)->cfs.curr == parent)
		update_curr(s, rq_of(s, parent->cpu));
}

/* ---- choosing ----------------------------------------------------------- */

/* pick_eevdf() */
static ts_t *pick_eevdf(sched_t *s, rq_t *rq)
{
	ts_t *curr = rq->cfs.curr ? ts_of(rq->cfs.curr) : NULL;
	tree_node_t *first = rq->cfs.tasks_timeline.first, *best;
	u64 avg;

	if (rq->cfs.nr_running == 1)
		return curr ? curr : entity_of(first);
	avg = avg_vruntime(rq);
	if (curr && before(avg, curr->se.vruntime))
		curr = NULL;
	if (tun(s)->run_to_parity && curr && serves_its_pick(curr))
		return curr;
	best = tree_first_within(s, &rq->cfs.tasks_timeline, avg);
	if (!best || (curr && before(curr->deadline, best->key)))
		return curr;
	return entity_of(best);
}

/* A delayed task that is picked has become eligible, so it has paid: it leaves, and another is picked. */
static ts_t *pick_entity(sched_t *s, rq_t *rq)
{
	ts_t *p = pick_eevdf(s, rq);

	repeat_while(s, p && p->sched_delayed) {
		finish_delayed(s, rq, p);
		if (!rq->cfs.nr_running)
			return NULL;
		p = pick_eevdf(s, rq);
	}
	if (!p)
		policy_error(s, "no task is eligible: the average vruntime is wrong", NULL);
	return p;
}

static void set_next_entity(sched_t *s, rq_t *rq, ts_t *p)
{
	unlink_entity(s, rq, p);
	p->vlag = (s64)p->deadline;
	p->se.exec_start = s->now;
	p->se.prev_sum_exec_runtime = p->se.sum_exec_runtime;
	rq->cfs.curr = task_of(p);
	update_hrtick(s, rq);
}

static void put_prev_entity(sched_t *s, rq_t *rq, ts_t *p)
{
	update_curr(s, rq);
	rq->cfs.curr = NULL;
	link_entity(s, rq, p);
}

/* ---- preemption --------------------------------------------------------- */

/* @p preempts if it would be picked now. */
static u32 wakeup_preempts(sched_t *s, rq_t *rq, ts_t *curr, ts_t *p, u32 flags)
{
	if (cpu_of(s, rq->cfs.cpu)->need_resched || !tun(s)->wakeup_preemption)
		return false;
	if (entity_is_idle(curr) != entity_is_idle(p))
		return entity_is_idle(curr);
	/* Batch and idle tasks wait until their turn. */
	if (task_of(p)->class != CLASS_NORMAL)
		return false;
	update_curr(s, rq);
	return pick_eevdf(s, rq) == p;
}

static void entity_tick(sched_t *s, rq_t *rq, ts_t *curr)
{
	update_curr(s, rq);
}

/* entity_tick() with queued: the CPU picks again, whatever is left of the request. */
static void eevdf_hrtick(sched_t *s, u32 cpu, __unused task_t *p)
{
	rq_t *rq = rq_of(s, cpu);

	if (!rq->cfs.curr || rq->cfs.nr_running == 1)
		return;
	update_curr(s, rq);
	resched_cpu(s, cpu);
}

/* The next request is due a slice later, so others come first; the time used stays what it is. */
static void yield_entity(sched_t *s, rq_t *rq, ts_t *curr)
{
	if (rq->cfs.nr_running == 1)
		return;
	update_curr(s, rq);
	if (tun(s)->yield_forfeits && entity_eligible(rq, curr)) {
		curr->se.vruntime = curr->deadline;
		update_min_vruntime(rq);
	}
	curr->deadline += calc_delta_fair(s, curr->slice, curr);
}

/* ---- the policy --------------------------------------------------------- */

/* A sleeper with delayed dequeue is still queued when it changes class. */
static void eevdf_exit(sched_t *s, task_t *task, __unused task_t *reaper)
{
	finish_delayed(s, rq_of(s, task->cpu), ts_of(task));
}

static s32 eevdf_init(sched_t *s)
{
	glob_of(s)->base_slice = scaled_ns(s, tun(s)->base_slice_us);
	fair_init(s);
	return 0;
}

static const struct variant eevdf_variants[] = {
	{ "6.12", "delayed dequeue, requests kept over migrations", "" },
	{ "6.18", "requests of 0.7 ms, and a task whose request was served is rescheduled at every tick",
	  "base_slice_us=700 preempt_short=2" },
	{ "7.1", "and the CPU is interrupted when a request is served",
	  "base_slice_us=700 preempt_short=2 yield_forfeits=1 hrtick=1" },
	{ "6.6", "the first: lag is kept, but a task that sleeps while it owes time pays nothing meanwhile",
	  "place_deadline_initial=0 place_rel_deadline=0 preempt_short=0 delay_dequeue=0 delay_zero=0" },
};

POLICY(eevdf,
	.summary = "Linux 6.6+ EEVDF: of the tasks that are owed time, the earliest deadline runs (6.12, 6.18, 7.1, 6.6)",
	TUNABLES,
	VARIANTS(eevdf_variants),
	COUNTERS,
	.lock = LOCK_PER_CPU,
	.promise = {
		.conserving = CONSERVING_QUEUE,
		.nice = NICE_WEIGHTED,
		.starvation_bound_ns = 0,	/* a weight of 15 among 88761s waits long: see README.md */
	},
	.init = eevdf_init,
	.exit = eevdf_exit,
	.hrtick = eevdf_hrtick,
	FAIR_HOOKS,
);
