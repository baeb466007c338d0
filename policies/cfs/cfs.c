/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cfs - the Completely Fair Scheduler, Linux 2.6.23 to 6.5.
 *
 * Each task has a virtual runtime: the time it ran, divided by its weight.  The
 * task with the least runs next, so that all of them stay together, as they would
 * on an ideal processor that runs all tasks at once.  Waiting tasks are in a tree
 * ordered by vruntime.  min_vruntime is the least of them, and never goes back; a
 * task that has slept is placed a little before it, a new task a little behind.
 *
 * Order and names follow kernel/sched_fair.c of 2.6.24, later kernel/sched/fair.c.
 * What it calls sched_entity * is an entity_t * here.  A rule that changed between versions
 * hangs on a tunable: a variant is nothing but a set of them.  What CFS shares
 * with EEVDF, classes and load balancing, is not here: see fair/fair.h.
 *
 * FIDELITY: 2.6.24 rounds its weighted times a little otherwise, by a few ns.
 */
#include "policy.h"

/* What entities have here besides what fair/fair.h says: the queue to which vruntime belongs; NULL: it is relative to min_vruntime. */
#define FAIR_ENTITY	struct cfs_rq __arena *vruntime_of;
/* And queues, the buddies: run this, go back to that, pass over that. */
#define FAIR_QUEUE	struct sched_entity __arena *next, *last, *skip;
#include "fair/fair.h"

/* ---- tunables ----------------------------------------------------------- */

#define CFS_TUNABLES(T)								\
	T(latency_us, 6000, 1, 10000000, "sysctl_sched_latency: in which each task runs once, in us, for one CPU [SRC; 20 ms in 2.6.24]")	\
	T(min_granularity_us, 750, 1, 10000000, "sysctl_sched_min_granularity: shortest slice when many run, in us, for one CPU [SRC; 4 ms in 2.6.24]")	\
	T(wakeup_granularity_us, 1000, 0, 10000000, "sysctl_sched_wakeup_granularity: lead in vruntime with which a woken task preempts, in us, for one CPU [SRC; 10 ms in 2.6.24]")	\
	T(max_sysctl_ms, 1000000, 1, 1000000, "latency and min_granularity grow with the CPUs no further than this, in ms [MEM sched_init_granularity(): 200 in 2.6.24]")	\
	T(fair_sleepers, 1, 0, 1, "a task that wakes up is placed before min_vruntime by a latency [SRC 2.6.24 NEW_FAIR_SLEEPERS, 5.10 place_entity()]")	\
	T(gentle_fair_sleepers, 1, 0, 1, "by half of that only [SRC 5.10 GENTLE_FAIR_SLEEPERS; MEM from 2.6.32]")	\
	T(start_debit, 1, 0, 1, "a new task is placed a slice behind min_vruntime [SRC START_DEBIT]")	\
	T(place_at_fork, 1, 0, 1, "a child is placed beside its parent, and not before it [MEM task_fork_fair(); SRC 2.6.24 task_new_fair() places it on its own CPU]")	\
	T(child_runs_first, 0, 0, 1, "sysctl_sched_child_runs_first: parent and child swap places if that lets the child run first [SRC; 1 in 2.6.24]")	\
	T(new_reschedules, 0, 0, 1, "a new task always has its CPU rescheduled [SRC 2.6.24 task_new_fair()]")	\
	T(wakeup_preemption, 1, 0, 1, "woken tasks may preempt [SRC WAKEUP_PREEMPTION]")	\
	T(wakee_granularity, 1, 0, 1, "the wakeup granularity is weighted as the woken task is [SRC 5.10 wakeup_gran()]; 0: as the running one is [SRC 2.6.24 check_preempt_wakeup()]")	\
	T(buddies, 1, 0, 1, "a task that preempts is picked even if not leftmost, and the preempted one is next [SRC 5.10 pick_next_entity(), LAST_BUDDY]")	\
	T(next_buddy, 0, 0, 1, "the task woken last is preferred when many run [SRC 5.10 NEXT_BUDDY]")	\
	T(tick_catches_up, 1, 0, 1, "a tick preempts also a task that is ahead of the leftmost by a slice [SRC 5.10 check_preempt_tick()]")	\
	T(base_slice, 1, 0, 1, "no slice is shorter than min_granularity [MEM BASE_SLICE: from 5.13]")	\
	T(slice_limit, 1, 0, 1, "nor does one last longer than a latency [MEM check_preempt_tick(): from 6.3]")	\
	T(repick_renews, 0, 0, 1, "a task that is picked again begins a new slice [SRC 2.6.24 schedule()]")	\
	T(yield_skips, 1, 0, 1, "a task that yields is passed over once [SRC 5.10 yield_task_fair(); MEM from 2.6.39]; 0: it only has its time accounted for")	\
	T(compat_yield, 0, 0, 1, "sysctl_sched_compat_yield: a task that yields goes behind all others [SRC 2.6.24; SCHED_BATCH tasks always do]")	\
	T(idle_gives_way, 1, 0, 1, "SCHED_IDLE tasks are preempted by all others at once [SRC 5.10 check_preempt_wakeup()]")	\
	T(idle_core_first, 0, 0, 1, "of a group's idle CPUs one of an idle core balances first [SRC 6.6 should_we_balance()]")	\
	FAIR_TUNABLES(T)

POLICY_TUNABLES(CFS_TUNABLES)

#define CFS_COUNTERS(C)	FAIR_COUNTERS(C) C(buddy_picks)
POLICY_COUNTERS(CFS_COUNTERS)

/* ---- state -------------------------------------------------------------- */

/* The sysctls, on this machine. */
struct cfs {
	struct fair fair;
	u64 sched_latency, sched_min_granularity, sched_wakeup_granularity;	/* ns */
	u64 sched_nr_latency;	/* how many tasks fit into a latency */
};

struct cfs_cpu {
	struct fair_rq cfs;
};

struct cfs_task {
	struct sched_entity se;
};

POLICY_STATE(struct cfs, struct cfs_cpu, struct cfs_task)
POLICY_GROUP_STATE(struct fair_group, struct fair_group_cpu)

#include "fair/class.h"

#define entity_before(a, b)	before((a)->vruntime, (b)->vruntime)
#define entity_of(node)		list_entry(node, entity_t, run_node)

static entity_t *first_entity(cfs_rq_t *cfs_rq)
{
	tree_node_t *first = cfs_rq->tasks_timeline.first;

	return first ? entity_of(first) : NULL;
}

/* CFS has no slices of tasks' own. */
static void update_group_slice(sched_t *s, entity_t *se)
{
}

static void resched_fair(sched_t *s, u32 cpu)
{
	resched_cpu(s, cpu);
}

/* Nothing is ever asleep in the queue; only EEVDF knows that. */
static u32 entity_delayed(entity_t *se)
{
	return false;
}

static u32 nr_asleep_in_sync(sched_t *s, rq_t *rq)
{
	return 0;
}

static void requeue_delayed(sched_t *s, cfs_rq_t *cfs_rq, entity_t *se)
{
}

/* No timer of its own ends a slice. */
static void running_changed(sched_t *s, rq_t *rq)
{
}

/* vruntime is what a task has run at its weight then; nothing follows from a new weight. */
static void rescale_entity(entity_t *se, u32 old_weight)
{
}

static void reweight_entity(sched_t *s, cfs_rq_t *cfs_rq, entity_t *se, u32 weight)
{
	if (se->on_rq) {
		if (cfs_rq->curr == se)
			update_curr(s, cfs_rq);
		add_load(cfs_rq, (s64)weight - se->weight);
	}
	change_weight(se, weight);
}

/* It belongs to its queue for good. */
static void init_entity(sched_t *s, entity_t *se)
{
	se->vruntime_of = se->cfs_rq;
}

/* ---- slices ------------------------------------------------------------- */

/* Each task runs once in a period, which is stretched when slices would become too short. */
static u64 sched_period(sched_t *s, u64 nr_running)
{
	glob_t *g = glob_of(s);

	if (nr_running <= g->sched_nr_latency)
		return g->sched_latency;
	return nr_running * g->sched_min_granularity;
}

/* An entity's part of its queue's load.  One that is not queued counts as if it were. */
static u64 part_of(sched_t *s, u64 period, entity_t *se)
{
	return calc_delta(period, se->weight, inverse_weight(load_with(se->cfs_rq, se)));
}

/* A task's part of the period is in proportion to its weight, and to those of the groups it is in (base_slice: ALT_PERIOD, too). */
static u64 sched_slice(sched_t *s, rq_t *rq, entity_t *se)
{
	u32 nr_running = tun(s)->base_slice ? rq->cfs.root.h_nr_running : se->cfs_rq->nr_running;
	u64 slice = part_of(s, sched_period(s, nr_running + !se->on_rq), se);
	entity_t *parent = parent_entity(se);

	repeat_while(s, parent) {
		slice = part_of(s, slice, parent);
		parent = parent_entity(parent);
	}
	return tun(s)->base_slice ? max_of(slice, glob_of(s)->sched_min_granularity) : slice;
}

/* ---- virtual time ------------------------------------------------------- */

/* Up to the least vruntime of all, but never back. */
static void update_min_vruntime(cfs_rq_t *cfs_rq)
{
	entity_t *first = first_entity(cfs_rq);
	u64 vruntime = cfs_rq->min_vruntime;

	if (cfs_rq->curr)
		vruntime = cfs_rq->curr->vruntime;
	if (first && (!cfs_rq->curr || before(first->vruntime, vruntime)))
		vruntime = first->vruntime;
	if (before(cfs_rq->min_vruntime, vruntime))
		cfs_rq->min_vruntime = vruntime;
}

static void update_curr(sched_t *s, cfs_rq_t *cfs_rq)
{
	entity_t *curr = cfs_rq->curr;
	u64 delta_exec;

	if (!curr)
		return;
	delta_exec = update_exec_time(s, curr);
	curr->vruntime += calc_delta_fair(delta_exec, curr);
	update_min_vruntime(cfs_rq);
	account_cfs_rq_runtime(s, cfs_rq, delta_exec);
	server_update(s, cfs_rq, delta_exec);
}

/* Each run queue has a virtual time of its own: what counts is how far an entity is from it. */
static void renormalise(cfs_rq_t *cfs_rq, entity_t *se)
{
	if (se->vruntime_of == cfs_rq)
		return;
	if (se->vruntime_of)
		se->vruntime -= se->vruntime_of->min_vruntime;
	se->vruntime += cfs_rq->min_vruntime;
	se->vruntime_of = cfs_rq;
}

static void make_relative(cfs_rq_t *cfs_rq, entity_t *se)
{
	se->vruntime -= cfs_rq->min_vruntime;
	se->vruntime_of = NULL;
}

/* place_entity() of a new task: the current period is promised to the others already. */
static void place_new(sched_t *s, cfs_rq_t *cfs_rq, entity_t *se)
{
	se->vruntime = cfs_rq->min_vruntime;
	if (tun(s)->start_debit)
		se->vruntime += calc_delta_fair(sched_slice(s, rq_of(s, cfs_rq->cpu), se), se);
}

/*
 * place_entity() of a woken task: sleep up to a latency counts as waiting.  A task
 * is never placed back, unless it slept so long that its vruntime cannot be compared.
 */
static void place_woken(sched_t *s, cfs_rq_t *cfs_rq, entity_t *se)
{
	glob_t *g = glob_of(s);
	u64 thresh = entity_is_idle(se) && tun(s)->idle_gives_way ? g->sched_min_granularity : g->sched_latency;
	u64 vruntime = cfs_rq->min_vruntime;
	u32 long_sleeper = (s64)(s->now - se->exec_start) > (1ll << 53);

	if (tun(s)->fair_sleepers)
		vruntime -= tun(s)->gentle_fair_sleepers ? thresh / 2 : thresh;
	if (long_sleeper || before(se->vruntime, vruntime))
		se->vruntime = vruntime;
}

/* ---- buddies ------------------------------------------------------------ */

enum buddies { BUDDY_NEXT = 1 << 0, BUDDY_LAST = 1 << 1, BUDDY_SKIP = 1 << 2 };

static u32 buddies_of(cfs_rq_t *cfs_rq, entity_t *se)
{
	return (cfs_rq->next == se ? BUDDY_NEXT : 0) | (cfs_rq->last == se ? BUDDY_LAST : 0) |
	       (cfs_rq->skip == se ? BUDDY_SKIP : 0);
}

/* With the groups that are buddies only because of it. */
static void clear_buddies(sched_t *s, cfs_rq_t *cfs_rq, entity_t *se)
{
	u32 as = buddies_of(cfs_rq, se);

	repeat_while(s, as) {
		if (as & BUDDY_NEXT)
			cfs_rq->next = NULL;
		if (as & BUDDY_LAST)
			cfs_rq->last = NULL;
		if (as & BUDDY_SKIP)
			cfs_rq->skip = NULL;
		se = parent_entity(se);
		if (!se)
			return;
		cfs_rq = se->cfs_rq;
		as &= buddies_of(cfs_rq, se);
	}
}

static void set_next_buddy(sched_t *s, entity_t *se)
{
	repeat_while(s, se && se->on_rq && !entity_is_idle(se)) {
		se->cfs_rq->next = se;
		se = parent_entity(se);
	}
}

static void set_last_buddy(sched_t *s, entity_t *se)
{
	repeat_while(s, se && se->on_rq && !entity_is_idle(se)) {
		se->cfs_rq->last = se;
		se = parent_entity(se);
	}
}

static void set_skip_buddy(sched_t *s, entity_t *se)
{
	repeat_while(s, se) {
		se->cfs_rq->skip = se;
		se = parent_entity(se);
	}
}

/* Who sleeps has left time of its group's slice to the others of the group: dequeue_task_fair(). */
static void prefer_entity(sched_t *s, entity_t *se)
{
	if (tun(s)->buddies)
		set_next_buddy(s, se);
}

/* Is @se so far behind @curr that it preempts?  1: yes, 0: not far enough, -1: it is not behind. */
static s32 wakeup_preempt_entity(sched_t *s, entity_t *curr, entity_t *se)
{
	s64 vdiff = (s64)(curr->vruntime - se->vruntime);
	u64 gran = glob_of(s)->sched_wakeup_granularity;

	if (vdiff <= 0)
		return -1;
	return vdiff > (s64)calc_delta_fair(gran, tun(s)->wakee_granularity ? se : curr);
}

/* ---- queueing ----------------------------------------------------------- */

static void link_entity(sched_t *s, cfs_rq_t *cfs_rq, entity_t *se)
{
	se->run_node.key = se->run_node.value = se->vruntime;
	tree_insert(s, &cfs_rq->tasks_timeline, &se->run_node);
}

/* task_new_fair() of 2.6.24, and tasks that exist from the start, which have no parent. */
static void place_first(sched_t *s, cfs_rq_t *cfs_rq, entity_t *se)
{
	task_t *parent = task_of((ts_t *)se)->parent;
	entity_t *curr = cfs_rq->curr;

	if (parent && tun(s)->place_at_fork)
		return;
	place_new(s, cfs_rq, se);
	if (!parent || !tun(s)->child_runs_first || s->this_cpu != cfs_rq->cpu || !curr || !entity_before(curr, se))
		return;
	se->vruntime ^= curr->vruntime;
	curr->vruntime ^= se->vruntime;
	se->vruntime ^= curr->vruntime;
}

static void enqueue_entity(sched_t *s, cfs_rq_t *cfs_rq, entity_t *se, u32 flags)
{
	update_curr(s, cfs_rq);
	renormalise(cfs_rq, se);
	update_load_avg(s, cfs_rq, se, UPDATE_TG | DO_ATTACH);
	if (flags & ENQ_NEW)
		place_first(s, cfs_rq, se);
	if (flags & ENQ_WAKEUP)
		place_woken(s, cfs_rq, se);
	account_entity_enqueue(cfs_rq, se);
	link_entity(s, cfs_rq, se);
	if ((flags & ENQ_NEW) && tun(s)->new_reschedules)
		resched_cpu(s, cfs_rq->cpu);
}

static u32 dequeue_entity(sched_t *s, cfs_rq_t *cfs_rq, entity_t *se, u32 flags)
{
	update_curr(s, cfs_rq);
	update_load_avg(s, cfs_rq, se, dequeue_action(se, flags));
	clear_buddies(s, cfs_rq, se);
	if (cfs_rq->curr == se)
		cfs_rq->curr = NULL;
	else
		tree_remove(s, &cfs_rq->tasks_timeline, &se->run_node);
	account_entity_dequeue(cfs_rq, se);
	/* Before min_vruntime moves on, in case it was this entity that held it back. */
	if (!(flags & (DEQ_SLEEP | DEQ_EXIT)))
		make_relative(cfs_rq, se);
	if (flags)
		update_min_vruntime(cfs_rq);
	return true;
}

/* It leaves as it would if it slept, and is at min_vruntime when it comes back. */
static void switched_from_fair(sched_t *s, ts_t *p)
{
	entity_t *se = &p->se;

	if (!se->vruntime_of)
		return;
	renormalise(se->cfs_rq, se);
	place_woken(s, se->cfs_rq, se);
	make_relative(se->cfs_rq, se);
}

static void fork_entity(sched_t *s, task_t *parent, ts_t *p)
{
	entity_t *child = &p->se, *curr;
	cfs_rq_t *cfs_rq;
	u64 vruntime;

	if (!parent || task_is_rt(parent) || !entity_runs(entity_of_task(parent)))
		return;
	set_task_rq(rq_of(s, parent->cpu), p);
	cfs_rq = child->cfs_rq;
	curr = cfs_rq->curr;
	if (!curr) {
		child->cfs_rq = NULL;
		return;
	}
	update_curr(s, cfs_rq);
	vruntime = curr->vruntime;
	if (tun(s)->place_at_fork) {
		place_new(s, cfs_rq, child);
		child->vruntime = before(child->vruntime, vruntime) ? vruntime : child->vruntime;
	} else {
		child->vruntime = vruntime;
	}
	if (tun(s)->place_at_fork && tun(s)->child_runs_first && entity_before(curr, child)) {
		curr->vruntime = child->vruntime;
		child->vruntime = vruntime;
		resched_cpu(s, cfs_rq->cpu);
	}
	make_relative(cfs_rq, child);
}

/* ---- choosing ----------------------------------------------------------- */

/* The one after @left, which yielded; @curr is in no tree. */
static entity_t *second_entity(sched_t *s, cfs_rq_t *cfs_rq, entity_t *left, entity_t *curr)
{
	tree_node_t *node = left == curr ? cfs_rq->tasks_timeline.first : tree_next(s, &left->run_node);
	entity_t *second = node ? entity_of(node) : NULL;

	if (left != curr && curr && (!second || entity_before(curr, second)))
		return curr;
	return second;
}

/*
 * The leftmost of all, unless it yielded and the next is not far.  Buddies are
 * preferred as long as that is not too unfair to it.
 */
static entity_t *pick_next_entity(sched_t *s, cfs_rq_t *cfs_rq, entity_t *curr)
{
	entity_t *left = first_entity(cfs_rq), *se, *second;

	if (!left || (curr && entity_before(curr, left)))
		left = curr;
	se = left;
	if (cfs_rq->skip && cfs_rq->skip == se) {
		second = second_entity(s, cfs_rq, se, curr);
		if (second && wakeup_preempt_entity(s, second, left) < 1)
			se = second;
	}
	if (cfs_rq->next && wakeup_preempt_entity(s, cfs_rq->next, left) < 1)
		se = cfs_rq->next;
	else if (cfs_rq->last && wakeup_preempt_entity(s, cfs_rq->last, left) < 1)
		se = cfs_rq->last;
	if (se != left)
		count(s, COUNTER_buddy_picks, 1);
	return se;
}

static entity_t *pick_entity(sched_t *s, cfs_rq_t *cfs_rq)
{
	entity_t *curr = cfs_rq->curr, *se;

	se = pick_next_entity(s, cfs_rq, curr);
	clear_buddies(s, cfs_rq, se);
	if (se == curr && tun(s)->repick_renews)
		se->prev_sum_exec_runtime = se->sum_exec_runtime;
	return se;
}

static void set_next_entity(sched_t *s, cfs_rq_t *cfs_rq, entity_t *se)
{
	tree_remove(s, &cfs_rq->tasks_timeline, &se->run_node);
	update_load_avg(s, cfs_rq, se, UPDATE_TG);
	se->exec_start = s->now;
	se->prev_sum_exec_runtime = se->sum_exec_runtime;
	cfs_rq->curr = se;
}

static void put_prev_entity(sched_t *s, cfs_rq_t *cfs_rq, entity_t *se)
{
	update_curr(s, cfs_rq);
	update_load_avg(s, cfs_rq, se, 0);
	link_entity(s, cfs_rq, se);
	cfs_rq->curr = NULL;
}

/* ---- preemption --------------------------------------------------------- */

/* check_preempt_wakeup(), where the entities of both that compete with each other are known. */
static u32 entity_preempts(sched_t *s, entity_t *se, entity_t *pse, u32 many)
{
	if (tun(s)->idle_gives_way && entity_is_idle(se) != entity_is_idle(pse))
		return entity_is_idle(se);
	update_curr(s, se->cfs_rq);
	if (wakeup_preempt_entity(s, se, pse) < 1)
		return false;
	if (tun(s)->buddies) {
		set_next_buddy(s, pse);
		if (many && !group_queue(se) && !entity_is_idle(se))
			set_last_buddy(s, se);
	}
	return true;
}

static u32 wakeup_preempts(sched_t *s, rq_t *rq, ts_t *curr, ts_t *p, u32 flags)
{
	entity_t *se = &curr->se, *pse = &p->se;
	u32 many = se->cfs_rq->nr_running >= glob_of(s)->sched_nr_latency;

	if (throttled_hierarchy(s, pse->cfs_rq))
		return false;
	if (tun(s)->next_buddy && many && !(flags & ENQ_NEW))
		set_next_buddy(s, pse);
	if (cpu_of(s, rq->cfs.cpu)->need_resched)
		return false;
	if (tun(s)->idle_gives_way && entity_is_idle(se) && !entity_is_idle(pse))
		return true;
	/* Batch tasks wait for the tick, and so do idle ones. */
	if (task_of(p)->class != CLASS_NORMAL || !tun(s)->wakeup_preemption)
		return false;
	find_matching_se(s, &se, &pse);
	return entity_preempts(s, se, pse, many);
}

static void check_preempt_tick(sched_t *s, cfs_rq_t *cfs_rq, entity_t *curr)
{
	u64 ideal_runtime = sched_slice(s, rq_of(s, cfs_rq->cpu), curr);
	u64 delta_exec = curr->sum_exec_runtime - curr->prev_sum_exec_runtime;
	entity_t *first = first_entity(cfs_rq);

	if (tun(s)->slice_limit)
		ideal_runtime = min_of(ideal_runtime, glob_of(s)->sched_latency);
	if (delta_exec > ideal_runtime) {
		resched_cpu(s, cfs_rq->cpu);
		/* It has had its slice: buddies must not bring it back. */
		clear_buddies(s, cfs_rq, curr);
		return;
	}
	/* A task that almost preempted when it woke up does not wait for a whole slice. */
	if (!tun(s)->tick_catches_up || delta_exec < glob_of(s)->sched_min_granularity || !first)
		return;
	if ((s64)(curr->vruntime - first->vruntime) > (s64)ideal_runtime)
		resched_cpu(s, cfs_rq->cpu);
}

static void entity_tick(sched_t *s, cfs_rq_t *cfs_rq, entity_t *curr)
{
	update_curr(s, cfs_rq);
	update_load_avg(s, cfs_rq, curr, UPDATE_TG);
	update_cfs_group(s, curr);
	if (cfs_rq->nr_running > 1)
		check_preempt_tick(s, cfs_rq, curr);
}

static void yield_entity(sched_t *s, rq_t *rq, ts_t *p)
{
	entity_t *curr = &p->se;
	cfs_rq_t *cfs_rq = curr->cfs_rq;
	tree_node_t *last = tree_last(s, &cfs_rq->tasks_timeline);

	if (rq->cfs.root.h_nr_running == 1)
		return;
	clear_buddies(s, cfs_rq, curr);
	if (tun(s)->compat_yield || (!tun(s)->yield_skips && task_of(p)->class == CLASS_BATCH)) {
		if (last && !before(last->key, curr->vruntime))
			curr->vruntime = last->key + 1;
		return;
	}
	update_curr(s, cfs_rq);
	if (tun(s)->yield_skips)
		set_skip_buddy(s, curr);
}

/* ---- its own books ------------------------------------------------------ */

#ifndef __BPF__
static const char *entity_problem(sched_t *s, cfs_rq_t *cfs_rq, entity_t *se)
{
	if (cfs_rq->curr != se && se->run_node.key != se->vruntime)
		return "an entity is in the tree with another vruntime";
	return NULL;
}

static const char *queue_problem(sched_t *s, cfs_rq_t *cfs_rq)
{
	return NULL;
}
#endif

/* ---- the policy --------------------------------------------------------- */

static s32 cfs_init(sched_t *s)
{
	u64 limit = (u64)tun(s)->max_sysctl_ms * NSEC_PER_MSEC;
	glob_t *g = glob_of(s);

	g->sched_latency = min_of(scaled_ns(s, tun(s)->latency_us), limit);
	g->sched_min_granularity = min_of(scaled_ns(s, tun(s)->min_granularity_us), limit);
	g->sched_wakeup_granularity = scaled_ns(s, tun(s)->wakeup_granularity_us);
	/* From the values for one CPU, as both grow alike. */
	g->sched_nr_latency = (u64)((tun(s)->latency_us + tun(s)->min_granularity_us - 1) / tun(s)->min_granularity_us);
	fair_init(s);
	return 0;
}

static const struct variant cfs_variants[] = {
	{ "6.5", "the last of them, also 5.13 to 6.4 but for details: gentle sleepers, buddies, 0.75 to 6 ms per slice", "tg_load_interval_us=0 fair_server_runtime_us=0" },
	{ "4.3", "as 6.5 but for its balancer, which looks at loads alone, and details",
	  "load_only=1 fair_server_runtime_us=0 pelt=0 sis_util=0 numa_imbalance=0 base_slice=0 slice_limit=0 idle_policy_is_idle=0 newidle_cost_us=500 busy_factor=32 imbalance_pct=125 active_balance=2" },
	{ "2.6.24", "the first with vruntime: 4 to 20 ms per slice, generous sleepers, children first; its balancer is the later one",
	  "latency_us=20000 min_granularity_us=4000 wakeup_granularity_us=10000 scaling_cpus_max=1024 max_sysctl_ms=200 "
	  "gentle_fair_sleepers=0 place_at_fork=0 child_runs_first=1 new_reschedules=1 wakee_granularity=0 buddies=0 "
	  "tick_catches_up=0 base_slice=0 slice_limit=0 repick_renews=1 yield_skips=0 idle_gives_way=0 "
	  "select_idle=0 fair_server_runtime_us=0 pelt=0 sis_util=0 numa_imbalance=0 wake_wide=0 idle_policy_is_idle=0 newidle_cost_us=0 busy_factor=32 imbalance_pct=125 active_balance=2" },
};

POLICY(cfs,
	.summary = "Linux 2.6.23 to 6.5 CFS: the task that ran least, by weight, runs next (6.5, 4.3, 2.6.24)",
	TUNABLES,
	VARIANTS(cfs_variants),
	COUNTERS,
	GROUP_STATE,
	.lock = LOCK_PER_CPU,
	.promise = {
		.conserving = CONSERVING_QUEUE,
		.nice = NICE_WEIGHTED,
		.starvation_bound_ns = 0,	/* a weight of 15 among 88761s waits long: see README.md */
	},
	.init = cfs_init,
	FAIR_HOOKS,
);
