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
 * What it calls sched_entity * is a ts_t * here.  A rule that changed between versions
 * hangs on a tunable: a variant is nothing but a set of them.  What CFS shares
 * with EEVDF, classes and load balancing, is not here: see fair/fair.h.
 *
 * FIDELITY: 2.6.24 rounds its weighted times a little otherwise, by a few ns.
 */
#include "policy.h"
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

struct cfs_rq {
	struct fair_rq cfs;
	struct task __arena *next, *last, *skip;	/* buddies: run this, go back to that, pass over that */
};

#define NO_CPU	MAX_CPUS

struct cfs_task {
	struct sched_entity se;
	u32 vruntime_cpu;	/* its vruntime belongs to the run queue of this CPU; NO_CPU: it is relative to min_vruntime */
};

POLICY_STATE(struct cfs, struct cfs_rq, struct cfs_task)

#include "fair/class.h"

#define entity_before(a, b)	before((a)->se.vruntime, (b)->se.vruntime)
#define entity_of(node)		list_entry(node, ts_t, se.run_node)

static ts_t *first_entity(rq_t *rq)
{
	tree_node_t *first = rq->cfs.tasks_timeline.first;

	return first ? entity_of(first) : NULL;
}

/* Nothing is ever asleep in the queue; only EEVDF knows that. */
static u32 task_delayed(ts_t *p)
{
	return false;
}

static void finish_delayed(sched_t *s, rq_t *rq, ts_t *p)
{
}

/* vruntime is what a task has run at its weight then; nothing follows from a new weight. */
static void reweight_entity(ts_t *p, u32 old_weight)
{
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

/* A task's part of the period is in proportion to its weight.  One that is not queued counts as if it were. */
static u64 sched_slice(sched_t *s, rq_t *rq, ts_t *p)
{
	u64 load = rq->cfs.load + (p->se.on_rq ? 0 : p->se.weight);
	u64 period = sched_period(s, rq->cfs.nr_running + !p->se.on_rq);
	u64 slice = calc_delta(s, period, p->se.weight, inverse_weight(load));

	return tun(s)->base_slice ? max_of(slice, glob_of(s)->sched_min_granularity) : slice;
}

/* ---- virtual time ------------------------------------------------------- */

/* Up to the least vruntime of all, but never back. */
static void update_min_vruntime(rq_t *rq)
{
	ts_t *first = first_entity(rq);
	u64 vruntime = rq->cfs.min_vruntime;

	if (rq->cfs.curr)
		vruntime = ts_of(rq->cfs.curr)->se.vruntime;
	if (first && (!rq->cfs.curr || before(first->se.vruntime, vruntime)))
		vruntime = first->se.vruntime;
	if (before(rq->cfs.min_vruntime, vruntime))
		rq->cfs.min_vruntime = vruntime;
}

static void update_curr(sched_t *s, rq_t *rq)
{
	ts_t *curr;

	if (!rq->cfs.curr)
		return;
	curr = ts_of(rq->cfs.curr);
	curr->se.vruntime += calc_delta_fair(s, update_exec_time(s, curr), curr);
	update_min_vruntime(rq);
}

/* Each run queue has a virtual time of its own: what counts is how far a task is from it. */
static void renormalise(sched_t *s, rq_t *rq, ts_t *p)
{
	if (p->vruntime_cpu == rq->cfs.cpu)
		return;
	if (p->vruntime_cpu != NO_CPU)
		p->se.vruntime -= rq_of(s, p->vruntime_cpu)->cfs.min_vruntime;
	p->se.vruntime += rq->cfs.min_vruntime;
	p->vruntime_cpu = rq->cfs.cpu;
}

static void make_relative(rq_t *rq, ts_t *p)
{
	p->se.vruntime -= rq->cfs.min_vruntime;
	p->vruntime_cpu = NO_CPU;
}

/* place_entity() of a new task: the current period is promised to the others already. */
static void place_new(sched_t *s, rq_t *rq, ts_t *p)
{
	p->se.vruntime = rq->cfs.min_vruntime;
	if (tun(s)->start_debit)
		p->se.vruntime += calc_delta_fair(s, sched_slice(s, rq, p), p);
}

/*
 * place_entity() of a woken task: sleep up to a latency counts as waiting.  A task
 * is never placed back, unless it slept so long that its vruntime cannot be compared.
 */
static void place_woken(sched_t *s, rq_t *rq, ts_t *p)
{
	glob_t *g = glob_of(s);
	u64 thresh = entity_is_idle(p) && tun(s)->idle_gives_way ? g->sched_min_granularity : g->sched_latency;
	u64 vruntime = rq->cfs.min_vruntime;
	u32 long_sleeper = (s64)(s->now - p->se.exec_start) > (1ll << 53);

	if (tun(s)->fair_sleepers)
		vruntime -= tun(s)->gentle_fair_sleepers ? thresh / 2 : thresh;
	if (long_sleeper || before(p->se.vruntime, vruntime))
		p->se.vruntime = vruntime;
}

/* ---- buddies ------------------------------------------------------------ */

static void clear_buddies(rq_t *rq, ts_t *p)
{
	task_t *task = task_of(p);

	if (rq->next == task)
		rq->next = NULL;
	if (rq->last == task)
		rq->last = NULL;
	if (rq->skip == task)
		rq->skip = NULL;
}

static void set_next_buddy(rq_t *rq, ts_t *p)
{
	if (!entity_is_idle(p))
		rq->next = task_of(p);
}

/* Is @p so far behind @curr that it preempts?  1: yes, 0: not far enough, -1: it is not behind. */
static s32 wakeup_preempt_entity(sched_t *s, ts_t *curr, ts_t *p)
{
	s64 vdiff = (s64)(curr->se.vruntime - p->se.vruntime);
	u64 gran = glob_of(s)->sched_wakeup_granularity;

	if (vdiff <= 0)
		return -1;
	return vdiff > (s64)calc_delta_fair(s, gran, tun(s)->wakee_granularity ? p : curr);
}

/* ---- queueing ----------------------------------------------------------- */

static void link_entity(sched_t *s, rq_t *rq, ts_t *p)
{
	p->se.run_node.key = p->se.run_node.value = p->se.vruntime;
	tree_insert(s, &rq->cfs.tasks_timeline, &p->se.run_node);
}

/* task_new_fair() of 2.6.24, and tasks that exist from the start, which have no parent. */
static void place_first(sched_t *s, rq_t *rq, ts_t *p)
{
	task_t *parent = task_of(p)->parent;
	ts_t *curr = rq->cfs.curr ? ts_of(rq->cfs.curr) : NULL;

	if (parent && tun(s)->place_at_fork)
		return;
	place_new(s, rq, p);
	if (!parent || !tun(s)->child_runs_first || s->this_cpu != rq->cfs.cpu || !curr || !entity_before(curr, p))
		return;
	p->se.vruntime ^= curr->se.vruntime;
	curr->se.vruntime ^= p->se.vruntime;
	p->se.vruntime ^= curr->se.vruntime;
}

static void enqueue_entity(sched_t *s, rq_t *rq, ts_t *p, u32 flags)
{
	update_curr(s, rq);
	renormalise(s, rq, p);
	if (flags & ENQ_NEW)
		place_first(s, rq, p);
	if (flags & ENQ_WAKEUP)
		place_woken(s, rq, p);
	account_entity_enqueue(rq, p);
	link_entity(s, rq, p);
	if ((flags & ENQ_NEW) && tun(s)->new_reschedules)
		resched_cpu(s, rq->cfs.cpu);
}

static void dequeue_entity(sched_t *s, rq_t *rq, ts_t *p, u32 flags)
{
	update_curr(s, rq);
	clear_buddies(rq, p);
	if (rq->cfs.curr == task_of(p))
		rq->cfs.curr = NULL;
	else
		tree_remove(s, &rq->cfs.tasks_timeline, &p->se.run_node);
	account_entity_dequeue(rq, p);
	/* Before min_vruntime moves on, in case it was this task that held it back. */
	if (!(flags & (DEQ_SLEEP | DEQ_EXIT)))
		make_relative(rq, p);
	if (flags)
		update_min_vruntime(rq);
}

/* It leaves as it would if it slept, and is at min_vruntime when it comes back. */
static void switched_from_fair(sched_t *s, rq_t *rq, ts_t *p)
{
	if (p->vruntime_cpu == NO_CPU)
		return;
	renormalise(s, rq, p);
	place_woken(s, rq, p);
	make_relative(rq, p);
}

static void fork_entity(sched_t *s, task_t *parent, ts_t *child)
{
	rq_t *rq;
	ts_t *curr;
	u64 vruntime;

	child->vruntime_cpu = NO_CPU;
	if (!parent || task_is_rt(parent) || rq_of(s, parent->cpu)->cfs.curr != parent)
		return;
	rq = rq_of(s, parent->cpu);
	curr = ts_of(parent);
	update_curr(s, rq);
	vruntime = curr->se.vruntime;
	if (tun(s)->place_at_fork) {
		place_new(s, rq, child);
		child->se.vruntime = before(child->se.vruntime, vruntime) ? vruntime : child->se.vruntime;
	} else {
		child->se.vruntime = vruntime;
	}
	if (tun(s)->place_at_fork && tun(s)->child_runs_first && entity_before(curr, child)) {
		curr->se.vruntime = child->se.vruntime;
		child->se.vruntime = vruntime;
		resched_cpu(s, rq->cfs.cpu);
	}
	make_relative(rq, child);
}

/* ---- choosing ----------------------------------------------------------- */

/* The one after @left, which yielded; @curr is in no tree. */
static ts_t *second_entity(sched_t *s, rq_t *rq, ts_t *left, ts_t *curr)
{
	tree_node_t *node = left == curr ? rq->cfs.tasks_timeline.first : tree_next(s, &left->se.run_node);
	ts_t *second = node ? entity_of(node) : NULL;

	if (left != curr && curr && (!second || entity_before(curr, second)))
		return curr;
	return second;
}

/*
 * The leftmost of all, unless it yielded and the next is not far.  Buddies are
 * preferred as long as that is not too unfair to it.
 */
static ts_t *pick_next_entity(sched_t *s, rq_t *rq, ts_t *curr)
{
	ts_t *left = first_entity(rq), *p, *second;

	if (!left || (curr && entity_before(curr, left)))
		left = curr;
	p = left;
	if (rq->skip && rq->skip == task_of(p)) {
		second = second_entity(s, rq, p, curr);
		if (second && wakeup_preempt_entity(s, second, left) < 1)
			p = second;
	}
	if (rq->next && wakeup_preempt_entity(s, ts_of(rq->next), left) < 1)
		p = ts_of(rq->next);
	else if (rq->last && wakeup_preempt_entity(s, ts_of(rq->last), left) < 1)
		p = ts_of(rq->last);
	if (p != left)
		count(s, COUNTER_buddy_picks, 1);
	return p;
}

static ts_t *pick_entity(sched_t *s, rq_t *rq)
{
	ts_t *curr = rq->cfs.curr ? ts_of(rq->cfs.curr) : NULL, *p;

	p = pick_next_entity(s, rq, curr);
	clear_buddies(rq, p);
	if (p == curr && tun(s)->repick_renews)
		p->se.prev_sum_exec_runtime = p->se.sum_exec_runtime;
	return p;
}

static void set_next_entity(sched_t *s, rq_t *rq, ts_t *p)
{
	tree_remove(s, &rq->cfs.tasks_timeline, &p->se.run_node);
	p->se.exec_start = s->now;
	p->se.prev_sum_exec_runtime = p->se.sum_exec_runtime;
	rq->cfs.curr = task_of(p);
}

static void put_prev_entity(sched_t *s, rq_t *rq, ts_t *p)
{
	update_curr(s, rq);
	link_entity(s, rq, p);
	rq->cfs.curr = NULL;
}

/* ---- preemption --------------------------------------------------------- */

static u32 wakeup_preempts(sched_t *s, rq_t *rq, ts_t *curr, ts_t *p, u32 flags)
{
	u32 many = rq->cfs.nr_running >= glob_of(s)->sched_nr_latency;

	if (tun(s)->next_buddy && many && !(flags & ENQ_NEW))
		set_next_buddy(rq, p);
	if (cpu_of(s, rq->cfs.cpu)->need_resched)
		return false;
	if (tun(s)->idle_gives_way && entity_is_idle(curr) && !entity_is_idle(p))
		return true;
	/* Batch tasks wait for the tick, and so do idle ones. */
	if (task_of(p)->class != CLASS_NORMAL || !tun(s)->wakeup_preemption)
		return false;
	update_curr(s, rq);
	if (wakeup_preempt_entity(s, curr, p) < 1)
		return false;
	if (tun(s)->buddies) {
		set_next_buddy(rq, p);
		if (many && !entity_is_idle(curr))
			rq->last = task_of(curr);
	}
	return true;
}

static void check_preempt_tick(sched_t *s, rq_t *rq, ts_t *curr)
{
	u64 ideal_runtime = sched_slice(s, rq, curr);
	u64 delta_exec = curr->se.sum_exec_runtime - curr->se.prev_sum_exec_runtime;
	ts_t *first = first_entity(rq);

	if (tun(s)->slice_limit)
		ideal_runtime = min_of(ideal_runtime, glob_of(s)->sched_latency);
	if (delta_exec > ideal_runtime) {
		resched_cpu(s, rq->cfs.cpu);
		/* It has had its slice: buddies must not bring it back. */
		clear_buddies(rq, curr);
		return;
	}
	/* A task that almost preempted when it woke up does not wait for a whole slice. */
	if (!tun(s)->tick_catches_up || delta_exec < glob_of(s)->sched_min_granularity || !first)
		return;
	if ((s64)(curr->se.vruntime - first->se.vruntime) > (s64)ideal_runtime)
		resched_cpu(s, rq->cfs.cpu);
}

static void entity_tick(sched_t *s, rq_t *rq, ts_t *curr)
{
	update_curr(s, rq);
	if (rq->cfs.nr_running > 1)
		check_preempt_tick(s, rq, curr);
}

static void yield_entity(sched_t *s, rq_t *rq, ts_t *curr)
{
	tree_node_t *last = tree_last(s, &rq->cfs.tasks_timeline);

	if (rq->cfs.nr_running == 1)
		return;
	clear_buddies(rq, curr);
	if (tun(s)->compat_yield || (!tun(s)->yield_skips && task_of(curr)->class == CLASS_BATCH)) {
		if (last && !before(last->key, curr->se.vruntime))
			curr->se.vruntime = last->key + 1;
		return;
	}
	update_curr(s, rq);
	if (tun(s)->yield_skips)
		rq->skip = task_of(curr);
}

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
	{ "6.5", "the last of them, also 5.13 to 6.4 but for details: gentle sleepers, buddies, 0.75 to 6 ms per slice", "" },
	{ "4.3", "as 6.5 but for its balancer, which looks at loads alone, and details",
	  "load_only=1 base_slice=0 slice_limit=0 idle_policy_is_idle=0 newidle_cost_us=500 busy_factor=32 imbalance_pct=125 active_balance=2" },
	{ "2.6.24", "the first with vruntime: 4 to 20 ms per slice, generous sleepers, children first; its balancer is the later one",
	  "latency_us=20000 min_granularity_us=4000 wakeup_granularity_us=10000 scaling_cpus_max=1024 max_sysctl_ms=200 "
	  "gentle_fair_sleepers=0 place_at_fork=0 child_runs_first=1 new_reschedules=1 wakee_granularity=0 buddies=0 "
	  "tick_catches_up=0 base_slice=0 slice_limit=0 repick_renews=1 yield_skips=0 idle_gives_way=0 "
	  "select_idle=0 wake_wide=0 idle_policy_is_idle=0 newidle_cost_us=0 busy_factor=32 imbalance_pct=125 active_balance=2" },
};

POLICY(cfs,
	.summary = "Linux 2.6.23 to 6.5 CFS: the task that ran least, by weight, runs next (6.5, 4.3, 2.6.24)",
	TUNABLES,
	VARIANTS(cfs_variants),
	COUNTERS,
	.lock = LOCK_PER_CPU,
	.promise = {
		.conserving = CONSERVING_QUEUE,
		.nice = NICE_WEIGHTED,
		.starvation_bound_ns = 0,	/* a weight of 15 among 88761s waits long: see README.md */
	},
	.init = cfs_init,
	FAIR_HOOKS,
);
