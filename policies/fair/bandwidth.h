/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bandwidth.h - groups with a quota of CPU time for each period: CFS bandwidth control.
 *
 * A group has a pool that a timer fills at the begin of each period.  A CPU that
 * runs its tasks takes slices of 5 ms from it.  If the pool is empty the group is
 * throttled on that CPU: its entity leaves the queue until the next period.  What
 * a CPU has taken and has no use for it gives back, but for 1 ms, and if others
 * are throttled meanwhile a second timer deals that out (the slack).
 *
 * Time is charged at ticks and switches, so a group may run longer than it has time;
 * what it owes is taken off the next period's.
 *
 * Order and names follow kernel/sched/fair.c of 6.1 (read: "CFS bandwidth control machinery").  Included by groups.h.
 *
 * From 6.18 on (throttle_picked) a throttled group competes on until it is picked, so it leaves without a debt.
 *
 * FIDELITY: its tasks leave one by one then, each as it is picked and returns to user mode, which takes a few us; here the
 *	group's entity leaves with all of them, and tasks that wake up later do not come to its queue at all.
 * FIDELITY: periods begin at multiples of their length; from 6.7 on each group's begin at a random moment.
 * FIDELITY: all CPUs are unthrottled by the timer itself; kernels since 6.3 have each do so for its own.
 * FIDELITY: locks of run queues may be refused; what is left undone is done 100 us later.
 */
#ifndef SCHEDLAB_FAIR_BANDWIDTH_H
#define SCHEDLAB_FAIR_BANDWIDTH_H

#define BANDWIDTH_TIMER			0			/* the policy's timer for all groups */
#define MIN_CFS_RQ_RUNTIME		((s64)NSEC_PER_MSEC)	/* a CPU keeps so much */
#define MIN_BANDWIDTH_EXPIRATION	(2 * NSEC_PER_MSEC)	/* slack is not dealt out so shortly before a period ends */
#define CFS_BANDWIDTH_SLACK_PERIOD	(5 * NSEC_PER_MSEC)	/* how long slack is gathered */
#define REFUSED_LOCK_DELAY		(100 * NSEC_PER_USEC)

static inline __unused cfs_bandwidth_t *tg_cfs_bandwidth(group_t *g)
{
	return &gs_of(g)->bandwidth;
}

#define bandwidth_group(node, timer)	group_of(list_entry(node, gs_t, bandwidth.timer))

/* ---- timers ------------------------------------------------------------- */

/* The policy's timer goes off when the first of the groups' does. */
static inline __unused void program_timer(sched_t *s)
{
	tree_node_t *first = fair_of(s)->timers.first;

	if (first)
		timer_start(s, BANDWIDTH_TIMER, first->key > s->now ? first->key - s->now : 1);
	else
		timer_stop(s, BANDWIDTH_TIMER);
}

static inline __unused void cancel_timer(sched_t *s, tree_node_t *timer)
{
	if (!tree_linked(timer))
		return;
	tree_remove(s, &fair_of(s)->timers, timer);
	program_timer(s);
}

/* @is_slack tells the two timers of a group apart when they go off. */
static inline __unused void start_timer(sched_t *s, tree_node_t *timer, u64 expires, u32 is_slack)
{
	if (tree_linked(timer))
		tree_remove(s, &fair_of(s)->timers, timer);
	timer->key = expires;
	timer->value = is_slack;
	tree_insert(s, &fair_of(s)->timers, timer);
	program_timer(s);
}

/* start_cfs_bandwidth() */
static inline __unused void start_cfs_bandwidth(sched_t *s, cfs_bandwidth_t *b)
{
	if (tree_linked(&b->period_timer))
		return;
	if (b->period_expires <= s->now)
		b->period_expires += (div_u64(s->now - b->period_expires, b->period) + 1) * b->period;
	start_timer(s, &b->period_timer, b->period_expires, false);
}

static inline __unused void start_slack_timer(sched_t *s, cfs_bandwidth_t *b, u64 delay)
{
	b->slack_started = true;
	start_timer(s, &b->slack_timer, s->now + delay, true);
}

/* ---- taking time -------------------------------------------------------- */

/* __assign_cfs_rq_runtime(): up to @target from the pool.  Is there any to run with? */
static inline __unused u32 assign_cfs_rq_runtime(sched_t *s, cfs_rq_t *cfs_rq, u64 target)
{
	cfs_bandwidth_t *b = tg_cfs_bandwidth(cfs_rq->tg);
	u64 amount = target - (u64)cfs_rq->runtime_remaining;

	if (b->quota) {
		start_cfs_bandwidth(s, b);
		amount = min_of(b->runtime, amount);
		b->runtime -= amount;
		if (amount)
			b->idle = 0;
	}
	cfs_rq->runtime_remaining += (s64)amount;
	return cfs_rq->runtime_remaining > 0;
}

static inline __unused u64 bandwidth_slice(sched_t *s)
{
	return (u64)tun(s)->bandwidth_slice_us * NSEC_PER_USEC;
}

/* account_cfs_rq_runtime(): the running entity of this queue has run for @delta_exec. */
static inline __unused void account_cfs_rq_runtime(sched_t *s, cfs_rq_t *cfs_rq, u64 delta_exec)
{
	if (!queue_group(cfs_rq) || !cfs_rq->runtime_enabled)
		return;
	cfs_rq->runtime_remaining -= (s64)delta_exec;
	if (cfs_rq->runtime_remaining > 0 || cfs_rq->throttled)
		return;
	if (!assign_cfs_rq_runtime(s, cfs_rq, bandwidth_slice(s)) && cfs_rq->curr)
		resched_cpu(s, cfs_rq->cpu);
}

/* ---- throttling --------------------------------------------------------- */

/* The entity of a group that is throttled, and of those above that have nothing else, leave. */
static inline __unused void dequeue_throttled(sched_t *s, cfs_rq_t *cfs_rq)
{
	entity_t *se = group_entity(cfs_rq->tg, cfs_rq->cpu);
	u32 tasks = cfs_rq->h_nr_running, idle = cfs_rq->idle_h_nr_running, leaves = true;

	repeat_while(s, se && se->on_rq) {
		cfs_rq_t *queue = se->cfs_rq;

		if (leaves)
			dequeue_entity(s, queue, se, (u32)DEQ_SLEEP | DEQ_SPECIAL | (entity_delayed(se) ? DEQ_DELAYED : 0));
		idle = group_queue(se)->idle ? tasks : idle;
		queue->h_nr_running -= tasks;
		queue->idle_h_nr_running -= idle;
		leaves = leaves && !queue->nr_running;
		se = parent_entity(se);
	}
}

/* throttle_cfs_rq(): false if time has become available meanwhile. */
static inline __unused u32 throttle_cfs_rq(sched_t *s, cfs_rq_t *cfs_rq)
{
	if (assign_cfs_rq_runtime(s, cfs_rq, 1))
		return false;
	list_add_tail(&cfs_rq->throttled_list, &tg_cfs_bandwidth(cfs_rq->tg)->throttled_cfs_rq);
	dequeue_throttled(s, cfs_rq);
	stop_clock(s, cfs_rq);
	cfs_rq->throttled = true;
	set_throttled(s, cfs_rq->tg, cfs_rq->cpu, true);
	return true;
}

/* check_enqueue_throttle(): a group that wakes up may have no time left. */
static inline __unused void check_enqueue_throttle(sched_t *s, cfs_rq_t *cfs_rq)
{
	if (!queue_group(cfs_rq) || !cfs_rq->runtime_enabled || cfs_rq->nr_running > 1 || cfs_rq->curr || cfs_rq->throttled)
		return;
	account_cfs_rq_runtime(s, cfs_rq, 0);
	if (cfs_rq->runtime_remaining <= 0 && !tun(s)->throttle_picked)
		throttle_cfs_rq(s, cfs_rq);
}

/* The entities that throttling took away come back, up to one that is throttled itself. */
static inline __unused void enqueue_unthrottled(sched_t *s, cfs_rq_t *cfs_rq)
{
	entity_t *se = group_entity(cfs_rq->tg, cfs_rq->cpu);
	u32 tasks = cfs_rq->h_nr_running, idle = cfs_rq->idle_h_nr_running;

	repeat_while(s, se && !group_queue(se)->throttled) {
		cfs_rq_t *queue = se->cfs_rq;

		if (entity_delayed(se))
			dequeue_entity(s, queue, se, (u32)DEQ_SLEEP | DEQ_DELAYED);
		update_cfs_group(s, se);
		if (!se->on_rq) {
			enqueue_entity(s, queue, se, ENQ_WAKEUP);
			check_enqueue_throttle(s, queue);
		}
		idle = group_queue(se)->idle ? tasks : idle;
		queue->h_nr_running += tasks;
		queue->idle_h_nr_running += idle;
		se = parent_entity(se);
	}
}

/* unthrottle_cfs_rq(), with the lock of its CPU. */
static inline __unused void unthrottle_cfs_rq(sched_t *s, cfs_rq_t *cfs_rq)
{
	start_clock(s, cfs_rq);
	cfs_rq->throttled = false;
	set_throttled(s, cfs_rq->tg, cfs_rq->cpu, false);
	list_del(&cfs_rq->throttled_list);
	if (!cfs_rq->nr_running)
		return;
	enqueue_unthrottled(s, cfs_rq);
	if (!cpu_curr(s, cfs_rq->cpu) && rq_of(s, cfs_rq->cpu)->cfs.root.nr_running)
		resched_cpu(s, cfs_rq->cpu);
}

/* check_cfs_rq_runtime(): no time left; the group is throttled if it was not. */
static inline __unused u32 check_cfs_rq_runtime(sched_t *s, cfs_rq_t *cfs_rq)
{
	if (!queue_group(cfs_rq) || !cfs_rq->runtime_enabled || cfs_rq->runtime_remaining > 0)
		return false;
	return cfs_rq->throttled || throttle_cfs_rq(s, cfs_rq);
}

/* ---- slack -------------------------------------------------------------- */

/* Does the next period begin in less than @ns? */
static inline __unused u32 runtime_refresh_within(sched_t *s, cfs_bandwidth_t *b, u64 ns)
{
	return tree_linked(&b->period_timer) && b->period_expires < s->now + ns;
}

/* return_cfs_rq_runtime(): a queue that is empty keeps 1 ms. */
static inline __unused void return_cfs_rq_runtime(sched_t *s, cfs_rq_t *cfs_rq)
{
	s64 slack = cfs_rq->runtime_remaining - MIN_CFS_RQ_RUNTIME;
	cfs_bandwidth_t *b;

	if (!queue_group(cfs_rq) || !cfs_rq->runtime_enabled || slack <= 0)
		return;
	b = tg_cfs_bandwidth(cfs_rq->tg);
	cfs_rq->runtime_remaining -= slack;
	if (!b->quota)
		return;
	b->runtime += (u64)slack;
	if (b->runtime > bandwidth_slice(s) && !list_empty(&b->throttled_cfs_rq) && !b->slack_started &&
	    !runtime_refresh_within(s, b, CFS_BANDWIDTH_SLACK_PERIOD + MIN_BANDWIDTH_EXPIRATION))
		start_slack_timer(s, b, CFS_BANDWIDTH_SLACK_PERIOD);
}

/* ---- dealing out -------------------------------------------------------- */

/* To one throttled CPU what it owes and 1 ns, so that it comes and takes a slice.  False if the lock was refused. */
static inline __unused u32 distribute_to(sched_t *s, cfs_bandwidth_t *b, cfs_rq_t *cfs_rq)
{
	u64 amount = min_of(1 - (u64)cfs_rq->runtime_remaining, b->runtime);

	if (!rq_lock(s, cfs_rq->cpu))
		return false;
	b->runtime -= amount;
	cfs_rq->runtime_remaining += (s64)amount;
	if (cfs_rq->runtime_remaining > 0)
		unthrottle_cfs_rq(s, cfs_rq);
	rq_unlock(s, cfs_rq->cpu);
	return true;
}

/* distribute_cfs_runtime(): to all that are throttled, who waits longest first, as far as it lasts. */
static inline __unused void distribute_cfs_runtime(sched_t *s, cfs_bandwidth_t *b)
{
	list_t *node = b->throttled_cfs_rq.next;
	u32 refused = false;

	repeat_while(s, node != &b->throttled_cfs_rq && b->runtime) {
		cfs_rq_t *cfs_rq = list_entry(node, cfs_rq_t, throttled_list);

		node = node->next;
		if (!distribute_to(s, b, cfs_rq))
			refused = true;
	}
	if (refused)
		start_slack_timer(s, b, REFUSED_LOCK_DELAY);
}

/* __refill_cfs_bandwidth_runtime(): what was not used is lost, but for the burst. */
static inline __unused void refill_cfs_bandwidth_runtime(cfs_bandwidth_t *b)
{
	b->runtime = min_of(b->runtime + b->quota, b->quota + b->burst);
}

/* do_sched_cfs_period_timer(): a period begins.  A group that has asked for nothing in the last one has no timer. */
static inline __unused void do_sched_cfs_period_timer(sched_t *s, cfs_bandwidth_t *b)
{
	u32 throttled = !list_empty(&b->throttled_cfs_rq);

	if (!b->quota)
		return;
	refill_cfs_bandwidth_runtime(b);
	if (b->idle && !throttled)
		return;
	b->idle = !throttled;
	start_cfs_bandwidth(s, b);
	if (throttled)
		distribute_cfs_runtime(s, b);
}

/* do_sched_cfs_slack_timer(), and what refused locks left undone. */
static inline __unused void do_sched_cfs_slack_timer(sched_t *s, cfs_bandwidth_t *b)
{
	b->slack_started = false;
	if (b->quota && !runtime_refresh_within(s, b, MIN_BANDWIDTH_EXPIRATION))
		distribute_cfs_runtime(s, b);
}

/* ---- limits that change ------------------------------------------------- */

/* One CPU learns the group's limits, with its lock. */
static inline __unused void set_runtime_enabled(sched_t *s, cfs_bandwidth_t *b, cfs_rq_t *cfs_rq)
{
	cfs_rq->bandwidth_version = b->version;
	cfs_rq->runtime_enabled = b->quota != 0;
	cfs_rq->runtime_remaining = 0;
	if (cfs_rq->throttled)
		unthrottle_cfs_rq(s, cfs_rq);
}

/* All CPUs that do not know them yet. */
static inline __unused void spread_bandwidth(sched_t *s, group_t *g)
{
	cfs_bandwidth_t *b = tg_cfs_bandwidth(g);
	u32 cpu, refused = false;

	for_each_cpu(s, cpu) {
		cfs_rq_t *cfs_rq = &gc_of(g, cpu)->cfs_rq;

		if (cfs_rq->bandwidth_version == b->version)
			continue;
		if (!rq_lock(s, cpu)) {
			refused = true;
			continue;
		}
		set_runtime_enabled(s, b, cfs_rq);
		rq_unlock(s, cpu);
	}
	if (refused)
		start_slack_timer(s, b, REFUSED_LOCK_DELAY);
}

static inline __unused void tg_set_cfs_bandwidth(sched_t *s, group_t *g)
{
	cfs_bandwidth_t *b = tg_cfs_bandwidth(g);

	fair_of(s)->bandwidth_used = true;
	b->quota = g->quota_ns;
	b->period = g->period_ns;
	b->burst = g->burst_ns;
	b->version++;
	refill_cfs_bandwidth_runtime(b);
	cancel_timer(s, &b->period_timer);
	if (b->quota)
		start_cfs_bandwidth(s, b);
	spread_bandwidth(s, g);
}

/* ---- the hook ----------------------------------------------------------- */

static inline __unused void expire(sched_t *s, tree_node_t *timer)
{
	u32 is_slack = (u32)timer->value;
	group_t *g = is_slack ? bandwidth_group(timer, slack_timer) : bandwidth_group(timer, period_timer);

	tree_remove(s, &fair_of(s)->timers, timer);
	if (!is_slack) {
		do_sched_cfs_period_timer(s, tg_cfs_bandwidth(g));
		return;
	}
	spread_bandwidth(s, g);
	do_sched_cfs_slack_timer(s, tg_cfs_bandwidth(g));
}

static inline __unused void fair_timer(sched_t *s, __unused u32 id)
{
	tree_t *timers = &fair_of(s)->timers;

	repeat_while(s, timers->first && timers->first->key <= s->now)
		expire(s, timers->first);
	program_timer(s);
}
#endif
