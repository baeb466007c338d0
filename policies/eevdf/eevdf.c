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
 * Order and names follow kernel/sched/fair.c.  What it calls sched_entity * is an
 * entity_t * here.  A rule that changed between versions hangs on a tunable: a variant
 * is nothing but a set of them.  What EEVDF shares with CFS, classes and load
 * balancing, is not here: see fair/fair.h.
 *
 * FIDELITY: hrtick is not lengthened by the share of interrupts in the CPU's time, as hrtick_start_fair() does.
 * FIDELITY: 6.6 and 6.7 kept the tree by vruntime and searched it for deadlines; the choice differs between equal deadlines only.
 */
#include "policy.h"

/*
 * What entities have here besides what fair/fair.h says.  Off the queue vlag is the lag; of
 * what runs, the deadline with which it was picked (before 6.17).
 */
#define FAIR_ENTITY								\
	s64 vlag;								\
	u64 deadline;								\
	u64 slice;								\
	u64 vprot;		/* until then what runs is protected from others (from 6.17) */	\
	u8 sched_delayed;	/* asleep, but still queued */			\
	u8 rel_deadline;	/* deadline counts from vruntime */		\
	u8 custom_slice;	/* slice is not the policy's own */		\
	struct tree_node slice_node;	/* in slices, if so */
/* And queues: sums over the entities in the tree; the running one is added where they are used. */
#define FAIR_QUEUE								\
	s64 avg_vruntime;	/* of weight * (v - min_vruntime) */		\
	s64 avg_load;		/* of weights */				\
	struct tree slices;	/* of the entities in the tree with slices of their own, by slice */	\
	u32 nr_custom;		/* how many these are */			\
	struct sched_entity __arena *next;	/* a buddy: preferred as long as it is eligible */
#include "fair/fair.h"

/* ---- tunables ----------------------------------------------------------- */

#define EEVDF_TUNABLES(T)							\
	T(base_slice_us, 750, 10, 1000000, "sysctl_sched_base_slice: what a task requests at a time, in us, for one CPU [MEM; 700 from 6.15]")	\
	T(place_lag, 1, 0, 1, "a task that is queued again has the lag it left with [SRC PLACE_LAG]; 0: it is placed at V")	\
	T(place_deadline_initial, 1, 0, 1, "a new task's first request is half a slice [SRC PLACE_DEADLINE_INITIAL; without effect before 6.12, where wake_up_new_task() passes no ENQUEUE_INITIAL]")	\
	T(place_rel_deadline, 1, 0, 1, "a task that only changes CPU keeps what is left of its request [SRC PLACE_REL_DEADLINE: from 6.12]")	\
	T(run_to_parity, 1, 0, 1, "a picked task runs until its request is served or it is not eligible any more [SRC RUN_TO_PARITY]")	\
	T(custom_slices, 1, 0, 1, "a task may ask for a slice of its own, and a group has the shortest of its tasks' [SRC 6.12 __setscheduler_params(), enqueue_task_fair()]")	\
	T(preempt_short, 1, 0, 1, "a wakeup with a shorter slice ends the protection of what runs, and so does that being served while not eligible [SRC PREEMPT_SHORT: from 6.12]")	\
	T(slice_protection, 0, 0, 1, "what runs is protected for the shortest slice of all, or until its request is served, and rescheduled once it is not [SRC 6.18 set_protect_slice(), update_curr(): from 6.17]")	\
	T(wakeup_rules, 0, 0, 2, "1: a new task never preempts, and NEXT_BUDDY obeys sync hints [SRC 6.19 check_preempt_wakeup_fair()]; 2: and sleepers that are still queued leave when a wakeup's choice falls on them [SRC 7.1 wakeup_preempt_fair()]")	\
	T(next_buddy, 0, 0, 1, "the task woken last is preferred [SRC NEXT_BUDDY]")	\
	T(pick_buddy, 0, 0, 1, "a group is preferred when a task of it falls asleep [SRC 6.18 PICK_BUDDY]")	\
	T(lag_of_longest, 0, 0, 1, "lag is kept within the longest slice of all and a tick [SRC 7.1 entity_lag()]; before within two slices or a tick; and that of a sleeper never falls [SRC 7.1 update_entity_lag()]")	\
	T(reweight_in_place, 0, 0, 1, "a queued entity with a new weight stays where it is, as far as V goes [SRC 7.1 reweight_entity()]; before it is placed anew")	\
	T(lazy, 0, 0, 1, "preempts lazily on a kernel that does: see a machine's preemption [SRC 6.18 resched_curr_lazy(): from 6.13]")	\
	T(delay_dequeue, 1, 0, 1, "a task that is not eligible when it falls asleep stays queued until it has paid [SRC DELAY_DEQUEUE: from 6.12]")	\
	T(sync_counts_delayed, 1, 0, 1, "a task that wakes another and then sleeps is not alone beside a sleeper that is still queued, so the other one need not come to its CPU [SRC wake_affine_idle() of 6.12 to 6.14: a fault]")	\
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

/* What the tunable wakeup_rules says. */
enum wakeup_rules { WAKEUP_6_6, WAKEUP_6_19, WAKEUP_7_1 };

struct eevdf {
	struct fair fair;
	u64 base_slice;		/* ns, on this machine */
};

struct eevdf_cpu {
	struct fair_rq cfs;
};

struct eevdf_task {
	struct sched_entity se;
};

POLICY_STATE(struct eevdf, struct eevdf_cpu, struct eevdf_task)
POLICY_GROUP_STATE(struct fair_group, struct fair_group_cpu)

#include "fair/class.h"

#define entity_of(node)	list_entry(node, entity_t, run_node)

static u32 entity_delayed(entity_t *se)
{
	return se->sched_delayed;
}

static u32 nr_asleep_in_sync(sched_t *s, rq_t *rq)
{
	return tun(s)->sync_counts_delayed ? 0 : rq->cfs.nr_delayed;
}

/* resched_curr_lazy(); __schedule() clears what was asked while it picked. */
static void resched_fair(sched_t *s, u32 cpu)
{
	if (rq_of(s, cpu)->cfs.picking)
		return;
	if (tun(s)->lazy)
		resched_cpu_lazy(s, cpu);
	else
		resched_cpu(s, cpu);
}

/* ---- buddies ------------------------------------------------------------ */

static void set_next_buddy(sched_t *s, entity_t *se)
{
	repeat_while(s, se && !entity_is_idle(se)) {
		se->cfs_rq->next = se;
		se = parent_entity(se);
	}
}

static void clear_buddies(sched_t *s, entity_t *se)
{
	repeat_while(s, se && se->cfs_rq->next == se) {
		se->cfs_rq->next = NULL;
		se = parent_entity(se);
	}
}

/* dequeue_entities(): @se, a group, is likely to have something related to run. */
static void prefer_entity(sched_t *s, entity_t *se)
{
	if (tun(s)->pick_buddy || tun(s)->next_buddy)
		set_next_buddy(s, se);
}

/* ---- V, lag and eligibility --------------------------------------------- */

static s64 entity_key(cfs_rq_t *cfs_rq, entity_t *se)
{
	return (s64)(se->vruntime - cfs_rq->min_vruntime);
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
static u64 avg_vruntime(cfs_rq_t *cfs_rq)
{
	s64 avg = cfs_rq->avg_vruntime, load = cfs_rq->avg_load;
	entity_t *curr = cfs_rq->curr;

	if (curr) {
		avg += entity_key(cfs_rq, curr) * (s64)curr->weight;
		load += curr->weight;
	}
	return cfs_rq->min_vruntime + (u64)div_floor(avg, load);
}

static u32 entity_eligible(cfs_rq_t *cfs_rq, entity_t *se)
{
	return !before(avg_vruntime(cfs_rq), se->vruntime);
}

#include "eevdf/slices.h"

/* ---- lag ---------------------------------------------------------------- */

/* entity_lag(): others come and go and move V, so lag is kept within limits. */
static s64 entity_lag(sched_t *s, cfs_rq_t *cfs_rq, entity_t *se)
{
	s64 vlag = (s64)(avg_vruntime(cfs_rq) - se->vruntime), limit;
	u64 most = tun(s)->lag_of_longest ? max_slice(s, cfs_rq) + s->tick_ns : max_of(2 * se->slice, s->tick_ns);

	limit = (s64)calc_delta_fair(most, se);
	return clamp_to(vlag, -limit, limit);
}

static void update_entity_lag(sched_t *s, cfs_rq_t *cfs_rq, entity_t *se)
{
	s64 vlag = entity_lag(s, cfs_rq, se);

	if (se->sched_delayed && tun(s)->lag_of_longest) {
		vlag = max_of(vlag, se->vlag);
		if (tun(s)->delay_zero)
			vlag = min_of(vlag, 0);
	}
	se->vlag = vlag;
}

/* ---- the tree ----------------------------------------------------------- */

static void link_entity(sched_t *s, cfs_rq_t *cfs_rq, entity_t *se)
{
	cfs_rq->avg_vruntime += entity_key(cfs_rq, se) * (s64)se->weight;
	cfs_rq->avg_load += se->weight;
	se->run_node.key = se->deadline;
	se->run_node.value = se->vruntime;
	tree_insert(s, &cfs_rq->tasks_timeline, &se->run_node);
	link_slice(s, cfs_rq, se);
}

static void unlink_entity(sched_t *s, cfs_rq_t *cfs_rq, entity_t *se)
{
	tree_remove(s, &cfs_rq->tasks_timeline, &se->run_node);
	unlink_slice(s, cfs_rq, se);
	cfs_rq->avg_vruntime -= entity_key(cfs_rq, se) * (s64)se->weight;
	cfs_rq->avg_load -= se->weight;
}

/* min_vruntime only keeps the keys small.  It follows the least vruntime and never goes back. */
static void update_min_vruntime(cfs_rq_t *cfs_rq)
{
	tree_node_t *root = cfs_rq->tasks_timeline.root;
	u64 vruntime = cfs_rq->min_vruntime;

	if (cfs_rq->curr)
		vruntime = cfs_rq->curr->vruntime;
	if (root && (!cfs_rq->curr || before(root->least, vruntime)))
		vruntime = root->least;
	if (!before(cfs_rq->min_vruntime, vruntime))
		return;
	cfs_rq->avg_vruntime -= cfs_rq->avg_load * (s64)(vruntime - cfs_rq->min_vruntime);
	cfs_rq->min_vruntime = vruntime;
}

/* ---- requests ----------------------------------------------------------- */

static void new_request(sched_t *s, entity_t *se)
{
	se->deadline = se->vruntime + calc_delta_fair(se->slice, se);
}

#include "eevdf/protection.h"

/* hrtick_start_fair(): the time at which the request of @curr will have been served, if other tasks wait. */
static void update_hrtick(sched_t *s, rq_t *rq, entity_t *curr)
{
	u64 left;

	if (!curr || rq->cfs.root.h_nr_running == 1) {
		hrtick_stop(s, rq->cfs.cpu);
		return;
	}
	if (before(curr->deadline, curr->vruntime)) {
		if (!rq->cfs.picking)
			resched_cpu(s, rq->cfs.cpu);
		return;
	}
	/* Rounded up, or it would come a moment too soon. */
	left = (curr->deadline - curr->vruntime + 1) * curr->weight / NICE_0_LOAD + 1;
	hrtick_start(s, rq->cfs.cpu, max_of(left, (u64)tun(s)->hrtick_min_us * NSEC_PER_USEC));
}

static void running_changed(sched_t *s, rq_t *rq)
{
	if (tun(s)->hrtick)
		update_hrtick(s, rq, running_entity(s, rq));
}

/* A request served, or protection at an end: others may have the CPU. */
static void update_curr(sched_t *s, cfs_rq_t *cfs_rq)
{
	entity_t *curr = cfs_rq->curr;
	u32 served;
	u64 delta_exec;

	if (!curr)
		return;
	delta_exec = update_exec_time(s, curr);
	if (!delta_exec)
		return;
	curr->vruntime += calc_delta_fair(delta_exec, curr);
	served = !before(curr->vruntime, curr->deadline);
	if (served)
		new_request(s, curr);
	update_min_vruntime(cfs_rq);
	account_cfs_rq_runtime(s, cfs_rq, delta_exec);
	server_update(s, cfs_rq, delta_exec);
	if (cfs_rq->nr_running == 1)
		return;
	if (served || protection_has_ended(s, cfs_rq, curr)) {
		resched_fair(s, cfs_rq->cpu);
		clear_buddies(s, curr);
	}
}

/* ---- placement ---------------------------------------------------------- */

/*
 * The lag at which to place @se so that it has vlag once it is there.  With its
 * weight w it moves V itself, which leaves it vlag * W / (W + w) of what it brings.
 */
static s64 inflated_lag(cfs_rq_t *cfs_rq, entity_t *se)
{
	s64 load = cfs_rq->avg_load;

	if (cfs_rq->curr)
		load += cfs_rq->curr->weight;
	return div_s64(se->vlag * (load + se->weight), load);
}

static void place_entity(sched_t *s, cfs_rq_t *cfs_rq, entity_t *se, u32 flags)
{
	u64 vslice;
	s64 lag = 0;

	vslice = calc_delta_fair(se->slice, se);
	if (tun(s)->place_lag && cfs_rq->nr_running)
		lag = inflated_lag(cfs_rq, se);
	se->vruntime = avg_vruntime(cfs_rq) - (u64)lag;
	if (se->rel_deadline) {
		se->deadline += se->vruntime;
		se->rel_deadline = 0;
		return;
	}
	/* The others are half way through their slices on average. */
	if (tun(s)->place_deadline_initial && (flags & ENQ_NEW))
		vslice /= 2;
	se->deadline = se->vruntime + vslice;
}

/* ---- weights ------------------------------------------------------------ */

/* Lag is time the entity is owed, divided by its weight, and so is what is left of its request. */
static void rescale_entity(entity_t *se, u32 old_weight)
{
	se->vlag = div_s64(se->vlag * (s64)old_weight, se->weight);
	if (se->rel_deadline)
		se->deadline = (u64)div_s64((s64)se->deadline * (s64)old_weight, se->weight);
}

/* Lag, deadline and protection seen from V, which does not move: 7.1's reweight_entity() and rescale_entity(). */
static void rescale_in_place(entity_t *se, u64 avruntime, u32 old_weight, u32 runs)
{
	u32 protects = runs && before(se->vruntime, se->vprot);

	se->rel_deadline = 1;
	se->deadline -= avruntime;
	rescale_entity(se, old_weight);
	se->rel_deadline = 0;
	se->deadline += avruntime;
	se->vruntime = avruntime - (u64)se->vlag;
	if (protects)
		se->vprot = avruntime + (u64)div_s64((s64)(se->vprot - avruntime) * (s64)old_weight, se->weight);
}

/* As before 7.1: it is placed anew. */
static void rescale_and_place(sched_t *s, cfs_rq_t *cfs_rq, entity_t *se, u32 old_weight)
{
	se->deadline -= se->vruntime;
	se->rel_deadline = 1;
	rescale_entity(se, old_weight);
	place_entity(s, cfs_rq, se, 0);
}

/* Out of its queue, with what it is owed and what is left of its request, and back again at its new weight. */
static void reweight_queued(sched_t *s, cfs_rq_t *cfs_rq, entity_t *se, u32 weight)
{
	u32 old_weight = se->weight, runs = cfs_rq->curr == se;
	u64 avruntime;

	update_curr(s, cfs_rq);
	avruntime = avg_vruntime(cfs_rq);
	se->vlag = entity_lag(s, cfs_rq, se);
	if (runs)
		cfs_rq->curr = NULL;
	else
		unlink_entity(s, cfs_rq, se);
	account_entity_dequeue(cfs_rq, se);
	change_weight(se, weight);
	if (tun(s)->reweight_in_place)
		rescale_in_place(se, avruntime, old_weight, runs);
	else
		rescale_and_place(s, cfs_rq, se, old_weight);
	account_entity_enqueue(cfs_rq, se);
	if (runs)
		cfs_rq->curr = se;
	else
		link_entity(s, cfs_rq, se);
	update_min_vruntime(cfs_rq);
}

static void reweight_entity(sched_t *s, cfs_rq_t *cfs_rq, entity_t *se, u32 weight)
{
	u32 old_weight = se->weight;

	if (se->on_rq) {
		reweight_queued(s, cfs_rq, se, weight);
		return;
	}
	change_weight(se, weight);
	rescale_entity(se, old_weight);
}

/* ---- delayed dequeue ---------------------------------------------------- */

/* @se falls asleep and stays, or does not any more. */
static void set_delayed(sched_t *s, cfs_rq_t *cfs_rq, entity_t *se, u8 delayed)
{
	se->sched_delayed = delayed;
	if (!group_queue(se))
		rq_of(s, cfs_rq->cpu)->cfs.nr_delayed += delayed ? 1 : -1u;
}

/* It has slept and paid, and leaves at last. */
static void leave_delayed(sched_t *s, cfs_rq_t *cfs_rq, entity_t *se)
{
	update_curr(s, cfs_rq);
	update_load_avg(s, cfs_rq, se, UPDATE_TG);
	update_entity_lag(s, cfs_rq, se);
	unlink_entity(s, cfs_rq, se);
	account_entity_dequeue(cfs_rq, se);
	update_min_vruntime(cfs_rq);
	set_delayed(s, cfs_rq, se, false);
	if (tun(s)->delay_zero && se->vlag > 0)
		se->vlag = 0;
}

/* Is @se, which wakes up, not where its lag says?  Before 7.1: is it owed time, which it shall not be? */
static u32 delayed_is_misplaced(sched_t *s, cfs_rq_t *cfs_rq, entity_t *se)
{
	if (!tun(s)->lag_of_longest && !tun(s)->delay_zero)
		return false;
	update_entity_lag(s, cfs_rq, se);
	if (tun(s)->lag_of_longest)
		return avg_vruntime(cfs_rq) - (u64)se->vlag != se->vruntime;
	if (se->vlag <= 0)
		return false;
	se->vlag = 0;
	return true;
}

/* requeue_delayed_entity(): it wakes up before it has paid, or with more than it is owed. */
static void requeue_delayed(sched_t *s, cfs_rq_t *cfs_rq, entity_t *se)
{
	u32 misplaced;

	update_curr(s, cfs_rq);
	count(s, COUNTER_delayed_wakeups, 1);
	misplaced = delayed_is_misplaced(s, cfs_rq, se);
	update_load_avg(s, cfs_rq, se, 0);
	set_delayed(s, cfs_rq, se, false);
	if (!misplaced)
		return;
	unlink_entity(s, cfs_rq, se);
	cfs_rq->nr_running--;
	place_entity(s, cfs_rq, se, 0);
	cfs_rq->nr_running++;
	link_entity(s, cfs_rq, se);
	update_min_vruntime(cfs_rq);
}

/* ---- queueing ----------------------------------------------------------- */

static void enqueue_entity(sched_t *s, cfs_rq_t *cfs_rq, entity_t *se, u32 flags)
{
	update_curr(s, cfs_rq);
	update_load_avg(s, cfs_rq, se, UPDATE_TG | DO_ATTACH);
	place_entity(s, cfs_rq, se, flags);
	account_entity_enqueue(cfs_rq, se);
	link_entity(s, cfs_rq, se);
}

/* An entity that sleeps may stay queued; one that exits or moves may not. */
static u32 dequeue_entity(sched_t *s, cfs_rq_t *cfs_rq, entity_t *se, u32 flags)
{
	u32 running = cfs_rq->curr == se, sleeps = (flags & DEQ_SLEEP) && !(flags & DEQ_SPECIAL);

	if (flags & DEQ_DELAYED) {
		leave_delayed(s, cfs_rq, se);
		return true;
	}
	update_curr(s, cfs_rq);
	clear_buddies(s, se);
	if (sleeps && tun(s)->delay_dequeue && !entity_eligible(cfs_rq, se)) {
		count(s, COUNTER_delayed_dequeues, 1);
		if (tun(s)->lag_of_longest)
			update_entity_lag(s, cfs_rq, se);
		update_load_avg(s, cfs_rq, se, 0);
		set_delayed(s, cfs_rq, se, true);
		if (running) {
			link_entity(s, cfs_rq, se);
			cfs_rq->curr = NULL;
		}
		return false;
	}
	update_load_avg(s, cfs_rq, se, dequeue_action(se, flags));
	update_entity_lag(s, cfs_rq, se);
	if (tun(s)->place_rel_deadline && !(flags & DEQ_SLEEP)) {
		se->deadline -= se->vruntime;
		se->rel_deadline = 1;
	}
	if (running)
		cfs_rq->curr = NULL;
	else
		unlink_entity(s, cfs_rq, se);
	account_entity_dequeue(cfs_rq, se);
	if (flags)
		update_min_vruntime(cfs_rq);
	return true;
}

/* What it was owed means nothing after an excursion. */
static void switched_from_fair(sched_t *s, ts_t *p)
{
	p->se.vlag = 0;
	p->se.rel_deadline = 0;
}

static void init_entity(sched_t *s, entity_t *se)
{
	set_slice(s, se, glob_of(s)->base_slice);
}

static void fork_entity(sched_t *s, task_t *parent, ts_t *child)
{
	set_task_slice(s, &child->se, task_of(child));
	if (parent && entity_runs(entity_of_task(parent)))
		update_curr(s, entity_of_task(parent)->cfs_rq);
}

/* ---- choosing ----------------------------------------------------------- */

/* Before 6.17 the protection itself is the feature RUN_TO_PARITY; from then on without it slices are protected for the base slice. */
static u32 keeps_cpu(sched_t *s, entity_t *curr)
{
	return (tun(s)->run_to_parity || tun(s)->slice_protection) && is_protected(s, curr);
}

/* pick_eevdf(); @protect: what runs is protected, and buddies count as far as they do. */
static entity_t *pick_eevdf(sched_t *s, cfs_rq_t *cfs_rq, u32 protect, u32 buddies)
{
	entity_t *curr = cfs_rq->curr;
	tree_node_t *first = cfs_rq->tasks_timeline.first, *best;
	u64 avg;

	if (cfs_rq->nr_running == 1)
		return curr ? curr : entity_of(first);
	avg = avg_vruntime(cfs_rq);
	if (buddies && cfs_rq->next && !before(avg, cfs_rq->next->vruntime))
		return cfs_rq->next;
	if (curr && before(avg, curr->vruntime))
		curr = NULL;
	if (curr && protect && keeps_cpu(s, curr))
		return curr;
	best = tree_first_within(s, &cfs_rq->tasks_timeline, avg);
	if (!best || (curr && before(curr->deadline, best->key)))
		return curr;
	return entity_of(best);
}

/* A delayed entity that is picked has become eligible, so it has paid: pick_task_fair() sees to it that it leaves. */
static entity_t *pick_entity(sched_t *s, cfs_rq_t *cfs_rq)
{
	entity_t *se = pick_eevdf(s, cfs_rq, true, true);

	if (!se)
		policy_error(s, "no task is eligible: the average vruntime is wrong", NULL);
	return se;
}

static void set_next_entity(sched_t *s, cfs_rq_t *cfs_rq, entity_t *se)
{
	clear_buddies(s, se);
	unlink_entity(s, cfs_rq, se);
	update_load_avg(s, cfs_rq, se, UPDATE_TG);
	set_protect_slice(s, cfs_rq, se);
	se->exec_start = s->now;
	se->prev_sum_exec_runtime = se->sum_exec_runtime;
	cfs_rq->curr = se;
}

static void put_prev_entity(sched_t *s, cfs_rq_t *cfs_rq, entity_t *se)
{
	update_curr(s, cfs_rq);
	update_load_avg(s, cfs_rq, se, 0);
	cfs_rq->curr = NULL;
	link_entity(s, cfs_rq, se);
}

#include "eevdf/wakeup.h"

/* ---- ticks and yields --------------------------------------------------- */

static void entity_tick(sched_t *s, cfs_rq_t *cfs_rq, entity_t *curr)
{
	update_curr(s, cfs_rq);
	update_load_avg(s, cfs_rq, curr, UPDATE_TG);
	update_cfs_group(s, curr);
}

/* entity_tick() with queued: the CPU picks again, whatever is left of the request. */
static void eevdf_hrtick(sched_t *s, u32 cpu, __unused task_t *p)
{
	rq_t *rq = rq_of(s, cpu);

	if (!rq->cfs.root.curr || rq->cfs.root.h_nr_running == 1)
		return;
	update_curr_up(s, running_entity(s, rq));
	resched_cpu(s, cpu);
}

/* The next request is due a slice later, so others come first; the time used stays what it is. */
static void yield_entity(sched_t *s, rq_t *rq, ts_t *p)
{
	entity_t *curr = &p->se;
	cfs_rq_t *cfs_rq = curr->cfs_rq;

	if (rq->cfs.root.h_nr_running == 1)
		return;
	clear_buddies(s, curr);
	update_curr(s, cfs_rq);
	if (tun(s)->yield_forfeits) {
		if (!entity_eligible(cfs_rq, curr))
			return;
		curr->vruntime = curr->deadline;
		update_min_vruntime(cfs_rq);
	}
	curr->deadline += calc_delta_fair(curr->slice, curr);
}

/* ---- its own books ------------------------------------------------------ */

#ifndef __BPF__
#define LONGEST_SLICE	(10 * NSEC_PER_SEC)

static const char *entity_problem(sched_t *s, cfs_rq_t *cfs_rq, entity_t *se)
{
	if (!se->slice || se->slice > LONGEST_SLICE)
		return "a slice is 0, or longer than any that can be asked for";
	if (se->sched_delayed && cfs_rq->curr == se)
		return "what runs is taken to be asleep";
	if (cfs_rq->curr != se && (se->run_node.key != se->deadline || se->run_node.value != se->vruntime))
		return "an entity is in the tree with another deadline or vruntime";
	return NULL;
}

/* Is min_vruntime behind the least vruntime: that of what runs, or the least in the tree? */
static u32 min_vruntime_is_late(cfs_rq_t *cfs_rq)
{
	tree_node_t *root = cfs_rq->tasks_timeline.root;

	if (cfs_rq->curr && !before(cfs_rq->min_vruntime, cfs_rq->curr->vruntime))
		return false;
	return cfs_rq->nr_running && (!root || before(cfs_rq->min_vruntime, root->least));
}

/*
 * V is an average: what the entities are owed adds up to nothing.  Where there are only groups,
 * min_vruntime is in step; a task's new nice value leaves it behind until time is next accounted for.
 */
static const char *queue_problem(sched_t *s, cfs_rq_t *cfs_rq)
{
	tree_node_t *node = cfs_rq->tasks_timeline.first;
	u32 only_groups = !cfs_rq->curr || group_queue(cfs_rq->curr);
	s64 avg = 0, load = 0;

	repeat_while(s, node) {
		entity_t *se = entity_of(node);

		avg += entity_key(cfs_rq, se) * (s64)se->weight;
		load += se->weight;
		only_groups = only_groups && group_queue(se);
		node = tree_next(s, node);
	}
	if (avg != cfs_rq->avg_vruntime || load != cfs_rq->avg_load)
		return "V is not the average of the vruntimes";
	return only_groups && min_vruntime_is_late(cfs_rq) ? "min_vruntime is behind the least vruntime" : NULL;
}
#endif

/* ---- the policy --------------------------------------------------------- */

/* A sleeper with delayed dequeue is still queued when it changes class. */
static void eevdf_exit(sched_t *s, task_t *task, __unused task_t *reaper)
{
	finish_delayed(s, ts_of(task));
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
	  "base_slice_us=700 sync_counts_delayed=0 slice_protection=1 pick_buddy=1 lazy=1 throttle_picked=1" },
	{ "6.19", "and a new task does not preempt, and who yields forfeits the rest of its request",
	  "base_slice_us=700 sync_counts_delayed=0 slice_protection=1 pick_buddy=1 lazy=1 throttle_picked=1 wakeup_rules=1 yield_forfeits=1" },
	{ "7.1", "and the CPU is interrupted when a request is served, and sleepers do not keep others from preempting",
	  "base_slice_us=700 sync_counts_delayed=0 slice_protection=1 pick_buddy=1 lazy=1 throttle_picked=1 wakeup_rules=2 yield_forfeits=1 hrtick=1 "
	  "lag_of_longest=1 reweight_in_place=1" },
	{ "6.6", "the first: lag is kept, but a task that sleeps while it owes time pays nothing meanwhile",
	  "tg_load_interval_us=0 fair_server_runtime_us=0 place_deadline_initial=0 place_rel_deadline=0 preempt_short=0 delay_dequeue=0 delay_zero=0 custom_slices=0" },
};

POLICY(eevdf,
	.summary = "Linux 6.6+ EEVDF: of the tasks that are owed time, the earliest deadline runs (6.12, 6.18, 6.19, 7.1, 6.6)",
	TUNABLES,
	VARIANTS(eevdf_variants),
	COUNTERS,
	GROUP_STATE,
	.lock = LOCK_PER_CPU,
	.promise = {
		.conserving = CONSERVING_QUEUE,
		.nice = NICE_WEIGHTED,
		.starvation_bound_ns = 0,	/* a weight of 15 among 88761s waits long: see README.md */
	},
	.init = eevdf_init,
	.exit = eevdf_exit,
	.hrtick = eevdf_hrtick,
	.set_slice = eevdf_set_slice,
	FAIR_HOOKS,
);
