/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * groups.h - groups of tasks, level by level.
 *
 * A group competes as one: on each CPU where it has runnable tasks an entity stands
 * for it in the queue of the group it is in, and its own queue there holds its
 * tasks and groups.  So a choice goes down from the root's queue, and what a task
 * runs is charged to it and to all the groups it is in.
 *
 * A group's weight is for all CPUs together.  Its entity on a CPU has the part
 * that its load there is of its load on all (calc_group_shares()).
 *
 * Order and names follow kernel/sched/fair.c of 6.1 to 6.12.  Included by class.h.
 *
 * FIDELITY: without the tunable pelt a group's load on a CPU is the weight of what is queued there now, and its part of the
 *	CPU is also renewed when the group stops running there, not only at ticks, wakeups and sleeps.
 * FIDELITY: 6.6 to 6.11 scale deadlines in reweight_entity() and leave vruntime as it is or move it otherwise; here
 *	EEVDF does as 6.12.y in all variants.
 */
#ifndef SCHEDLAB_FAIR_GROUPS_H
#define SCHEDLAB_FAIR_GROUPS_H

/* ---- ways around -------------------------------------------------------- */

static inline __unused entity_t *group_entity(group_t *g, u32 cpu)
{
	return &gc_of(g, cpu)->se;
}

/* How many groups @se is in. */
static inline __unused u32 entity_depth(entity_t *se)
{
	group_t *g = queue_group(se->cfs_rq);

	return g ? g->depth + 1 : 0;
}

/* find_matching_se(): the ancestors of both, or themselves, that are in one queue. */
static inline __unused void find_matching_se(sched_t *s, entity_t **se, entity_t **pse)
{
	repeat_while(s, (*se)->cfs_rq != (*pse)->cfs_rq) {
		u32 depth = entity_depth(*se), other = entity_depth(*pse);

		if (depth >= other)
			*se = parent_entity(*se);
		if (depth <= other)
			*pse = parent_entity(*pse);
	}
}

/* What runs on this CPU of the fair class: a task, or a group whose running task has just left. */
static inline __unused entity_t *running_entity(sched_t *s, rq_t *rq)
{
	entity_t *se = rq->cfs.root.curr;

	repeat_while(s, se && group_queue(se) && group_queue(se)->curr)
		se = group_queue(se)->curr;
	return se;
}

static inline __unused u32 entity_runs(entity_t *se)
{
	return se->cfs_rq && se->cfs_rq->curr == se;
}

/* Charge @se, which runs, and the groups it is in with their time until now. */
static inline __unused void update_curr_up(sched_t *s, entity_t *se)
{
	repeat_while(s, se) {
		update_curr(s, se->cfs_rq);
		se = parent_entity(se);
	}
}

/* Is the group of this queue, or one that it is in, throttled here? */
static inline __unused u32 throttled_hierarchy(sched_t *s, cfs_rq_t *cfs_rq)
{
	if (!queue_group(cfs_rq) || !fair_of(s)->bandwidth_used)
		return false;
	repeat_while(s, queue_group(cfs_rq)) {
		if (cfs_rq->throttled)
			return true;
		cfs_rq = group_entity(queue_group(cfs_rq), cfs_rq->cpu)->cfs_rq;
	}
	return false;
}

/* Where a task is to be queued: set_task_rq(). */
static inline __unused void set_task_rq(rq_t *rq, ts_t *p)
{
	group_t *g = task_group(task_of(p));

	p->se.cfs_rq = &rq->cfs.root;
	if (!g) {
		p->se.parent = NULL;
		return;
	}
	p->se.cfs_rq = &gc_of(g, rq->cfs.cpu)->cfs_rq;
	p->se.parent = group_entity(g, rq->cfs.cpu);
}

/* ---- load --------------------------------------------------------------- */

/* A queue's load changes, and with it that of its group on all CPUs. */
static inline __unused void add_load(cfs_rq_t *cfs_rq, s64 weight)
{
	cfs_rq->load += (u64)weight;
	if (queue_group(cfs_rq))
		gs_of(queue_group(cfs_rq))->load += (u64)weight;
}

static inline __unused void account_entity_enqueue(cfs_rq_t *cfs_rq, entity_t *se)
{
	add_load(cfs_rq, se->weight);
	cfs_rq->nr_running++;
	se->on_rq = 1;
}

static inline __unused void account_entity_dequeue(cfs_rq_t *cfs_rq, entity_t *se)
{
	add_load(cfs_rq, -(s64)se->weight);
	cfs_rq->nr_running--;
	se->on_rq = 0;
}

/* What @se adds to a queue's load, or would. */
static inline __unused u64 load_with(cfs_rq_t *cfs_rq, entity_t *se)
{
	return cfs_rq->load + (se->on_rq ? 0 : se->weight);
}

/* update_cfs_rq_h_load(): up to the root, and back down with the part of each queue in the CPU's load. */
static inline __unused u64 cfs_rq_h_load(sched_t *s, cfs_rq_t *cfs_rq)
{
	entity_t *se;
	u64 load;

	cfs_rq->h_load_next = NULL;
	repeat_while(s, queue_group(cfs_rq)) {
		se = group_entity(queue_group(cfs_rq), cfs_rq->cpu);
		cfs_rq = se->cfs_rq;
		cfs_rq->h_load_next = se;
	}
	load = cfs_rq->avg.load_avg;
	repeat_while(s, queue_group(cfs_rq) || cfs_rq->h_load_next) {
		se = cfs_rq->h_load_next;
		if (!se)
			return load;
		load = div_u64(load * se->avg.load_avg, cfs_rq->avg.load_avg + 1);
		cfs_rq = group_queue(se);
	}
	return load;
}

/* task_h_load(): the part of the root queue's load that is @p's.  The queue is that where @p was queued last. */
static inline __unused u64 task_h_load(sched_t *s, ts_t *p)
{
	entity_t *se = &p->se, *parent = parent_entity(se);
	u64 load = se->weight;

	if (tracks_load(s)) {
		if (!se->cfs_rq)
			return se->avg.load_avg;
		return div_u64(se->avg.load_avg * cfs_rq_h_load(s, se->cfs_rq), se->cfs_rq->avg.load_avg + 1);
	}

	repeat_while(s, parent) {
		load = div_u64(load * parent->weight, load_with(group_queue(parent), se));
		se = parent;
		parent = parent_entity(se);
	}
	return load;
}

#define MIN_SHARES	2u

/* calc_group_shares(): of the group's weight the part of this CPU.  What is queued now counts at least. */
static inline __unused u32 calc_group_shares(sched_t *s, cfs_rq_t *cfs_rq)
{
	gs_t *gs = gs_of(queue_group(cfs_rq));
	u64 load = max_of(cfs_rq->load, cfs_rq->avg.load_avg);

	if (tracks_load(s))
		return (u32)clamp_to(div_u64(gs->shares * load, gs->load_avg - cfs_rq->tg_load_avg_contrib + load),
				     MIN_SHARES, gs->shares);
	if (gs->load == cfs_rq->load)
		return gs->shares;
	return (u32)clamp_to(div_u64(gs->shares * cfs_rq->load, gs->load), MIN_SHARES, gs->shares);
}

/* update_cfs_group(): an empty group keeps its weight. */
static inline __unused void update_cfs_group(sched_t *s, entity_t *se)
{
	cfs_rq_t *cfs_rq = group_queue(se);
	u32 shares;

	if (!cfs_rq || !cfs_rq->load || throttled_hierarchy(s, cfs_rq))
		return;
	shares = calc_group_shares(s, cfs_rq);
	if (shares != se->weight)
		reweight_entity(s, se->cfs_rq, se, shares);
}

/* It stops running.  Without averages nothing else would see to a group that never runs at a tick. */
static inline __unused void renew_part(sched_t *s, entity_t *se)
{
	if (!tracks_load(s))
		update_cfs_group(s, se);
}

#include "bandwidth.h"

/* ---- enqueue_task_fair(), dequeue_task_fair() --------------------------- */

static inline __unused void count_tasks(cfs_rq_t *cfs_rq, s32 tasks, s32 idle)
{
	cfs_rq->h_nr_running += (u32)tasks;
	cfs_rq->idle_h_nr_running += (u32)idle;
}

/* A task came to a queue below the group entity @se: queue that and those above as far as they are not, and count. */
static inline __unused void enqueue_groups(sched_t *s, entity_t *se, s32 idle)
{
	repeat_while(s, se && !group_queue(se)->throttled) {
		idle = group_queue(se)->idle ? 1 : idle;
		if (!se->on_rq) {
			update_cfs_group(s, se);
			update_group_slice(s, se);
			enqueue_entity(s, se->cfs_rq, se, ENQ_WAKEUP);
			check_enqueue_throttle(s, se->cfs_rq);
		} else {
			if (entity_delayed(se))
				requeue_delayed(s, se->cfs_rq, se);
			update_load_avg(s, se->cfs_rq, se, UPDATE_TG);
			update_cfs_group(s, se);
			update_group_slice(s, se);
		}
		count_tasks(se->cfs_rq, 1, idle);
		se = parent_entity(se);
	}
}

static inline __unused void enqueue_task_fair(sched_t *s, rq_t *rq, ts_t *p, u32 flags)
{
	entity_t *se = &p->se;

	util_est_enqueue(s, rq, p);
	if (entity_delayed(se)) {
		requeue_delayed(s, se->cfs_rq, se);
		return;
	}
	set_task_rq(rq, p);
	if ((flags & ENQ_NEW) && tracks_load(s))
		post_init_entity_util_avg(s, se->cfs_rq, se);
	enqueue_entity(s, se->cfs_rq, se, flags);
	list_add(&se->link, &rq->cfs.cfs_tasks);
	add_leaf_cfs_rqs(s, rq, se);
	/* What it left in another CPU's cache is no use here. */
	if (se->queued_on != rq->cfs.cpu)
		se->exec_start = 0;
	se->queued_on = rq->cfs.cpu;
	check_enqueue_throttle(s, se->cfs_rq);
	count_tasks(se->cfs_rq, 1, (s32)entity_is_idle(se));
	enqueue_groups(s, parent_entity(se), (s32)entity_is_idle(se));
	if (rq->cfs.root.h_nr_running)
		server_start(s, rq);
	running_changed(s, rq);
}

/* @se leaves, and after it the groups that have nothing else.  False: @se, a task, stays queued although it sleeps. */
static inline __unused u32 dequeue_entities(sched_t *s, entity_t *se, u32 flags)
{
	s32 tasks = !group_queue(se), idle = tasks && entity_is_idle(se);
	u32 sleeps = flags & (DEQ_SLEEP | DEQ_EXIT), leaves = true;

	repeat_while(s, se) {
		cfs_rq_t *cfs_rq = se->cfs_rq;

		if (!leaves) {
			update_load_avg(s, cfs_rq, se, UPDATE_TG);
			update_cfs_group(s, se);
			update_group_slice(s, se);
		} else {
			leaves = dequeue_entity(s, cfs_rq, se, flags);
		}
		if (!leaves && !group_queue(se))
			return false;
		count_tasks(cfs_rq, -tasks, -idle);
		if (!cfs_rq->nr_running)
			return_cfs_rq_runtime(s, cfs_rq);
		if (cfs_rq->throttled)
			return true;
		idle = cfs_rq->idle ? tasks : idle;
		se = parent_entity(se);
		if (leaves && cfs_rq->nr_running) {
			leaves = false;
			if (se && sleeps && !throttled_hierarchy(s, cfs_rq))
				prefer_entity(s, se);
		}
		flags = DEQ_SLEEP;
	}
	return true;
}

/* @p is about to leave its queue. */
__apart u32 note_util_est(sched_t *s __in_arena, ts_t *p __in_arena, u32 flags)
{
	rq_t *rq = rq_of(s, p->se.queued_on);

	if (entity_delayed(&p->se))
		return 0;
	util_est_dequeue(s, rq, p);
	if (flags & DEQ_SLEEP)
		util_est_update(s, rq, p);
	return 0;
}

/* @p is neither queued nor delayed after it, unless it sleeps and this says false. */
static inline __unused u32 dequeue_task_fair(sched_t *s, ts_t *p, u32 flags)
{
	note_util_est(s, p, flags);
	if (!dequeue_entities(s, &p->se, flags))
		return false;
	list_del(&p->se.link);
	if (!rq_of(s, p->se.queued_on)->cfs.root.h_nr_running)
		server_stop(s, rq_of(s, p->se.queued_on));
	return true;
}

/* A task that is asleep but queued leaves. */
static inline __unused void finish_delayed(sched_t *s, ts_t *p)
{
	if (entity_delayed(&p->se))
		dequeue_task_fair(s, p, (u32)DEQ_SLEEP | DEQ_DELAYED);
}

/* An entity that was picked although it has nothing to run: it has paid for what it had too much, and leaves. */
static inline __unused void dequeue_delayed(sched_t *s, entity_t *se)
{
	if (group_queue(se))
		dequeue_entities(s, se, (u32)DEQ_SLEEP | DEQ_DELAYED);
	else
		finish_delayed(s, (ts_t *)se);
}

/* ---- choosing, level by level ------------------------------------------- */

/* pick_task_fair() of 6.12: NULL if no task may run. */
static inline __unused ts_t *pick_task_fair(sched_t *s, rq_t *rq)
{
	cfs_rq_t *cfs_rq = &rq->cfs.root;
	entity_t *se;

	repeat_while(s, cfs_rq->nr_running) {
		if (queue_group(cfs_rq))
			update_curr(s, cfs_rq);
		if (check_cfs_rq_runtime(s, cfs_rq)) {
			cfs_rq = &rq->cfs.root;
			continue;
		}
		se = pick_entity(s, cfs_rq);
		if (!se)
			return NULL;
		if (entity_delayed(se)) {
			dequeue_delayed(s, se);
			cfs_rq = &rq->cfs.root;
			continue;
		}
		if (!group_queue(se))
			return (ts_t *)se;
		cfs_rq = group_queue(se);
	}
	return NULL;
}

/* All that runs down to @se is put back; what has left its queue since is not. */
static inline __unused void put_prev(sched_t *s, entity_t *se)
{
	if (!entity_runs(se))
		return;
	if (queue_group(se->cfs_rq)) {
		update_curr(s, se->cfs_rq);
		if (!tun(s)->throttle_picked)
			check_cfs_rq_runtime(s, se->cfs_rq);
	}
	put_prev_entity(s, se->cfs_rq, se);
	if (se->on_rq)
		renew_part(s, se);
}

/* Put back everything from @se upwards: put_prev_task_fair(). */
static inline __unused void put_prev_up(sched_t *s, entity_t *se)
{
	repeat_while(s, se) {
		put_prev(s, se);
		se = parent_entity(se);
	}
}

/* @p, which is queued, and the groups it is in run from now on: set_next_task_fair(). */
static inline __unused void set_next_up(sched_t *s, entity_t *se)
{
	repeat_while(s, se && se->on_rq && !entity_runs(se)) {
		set_next_entity(s, se->cfs_rq, se);
		se = parent_entity(se);
	}
}

/*
 * pick_next_task_fair(): from what ran, @pse, to @se, either of which may be NULL.  A group that both
 * are in goes on running.
 */
static inline __unused void put_prev_set_next_entity(sched_t *s, entity_t *pse, entity_t *se)
{
	repeat_while(s, pse && se && pse->cfs_rq != se->cfs_rq) {
		u32 depth = entity_depth(se), other = entity_depth(pse);

		if (depth <= other) {
			put_prev(s, pse);
			pse = parent_entity(pse);
		}
		if (depth >= other) {
			set_next_entity(s, se->cfs_rq, se);
			se = parent_entity(se);
		}
	}
	if (!se || !pse) {
		put_prev_up(s, pse);
		set_next_up(s, se);
		return;
	}
	if (pse != se && entity_runs(pse)) {
		put_prev_entity(s, pse->cfs_rq, pse);
		renew_part(s, pse);
	}
	/* Groups above run already, unless what ran had been moved to a throttled group. */
	set_next_up(s, se);
}

/* ---- hooks -------------------------------------------------------------- */

static inline __unused u32 group_shares(group_t *g)
{
	return g->idle ? WEIGHT_IDLEPRIO : max_of(g->shares, MIN_SHARES);
}

/* init_tg_cfs_entry() */
static inline __unused void group_init_cpu(sched_t *s, group_t *g, u32 cpu)
{
	gc_t *gc = gc_of(g, cpu);

	gc->cfs_rq.cpu = cpu;
	gc->cfs_rq.tg = g;
	gc->cfs_rq.idle = g->idle;
	gc->se.my_q = &gc->cfs_rq;
	gc->se.queued_on = cpu;
	gc->se.cfs_rq = g->parent ? &gc_of(g->parent, cpu)->cfs_rq : &rq_of(s, cpu)->cfs.root;
	gc->se.parent = g->parent ? group_entity(g->parent, cpu) : NULL;
	set_weight(&gc->se, gs_of(g)->shares);
	init_entity(s, &gc->se);
}

/* alloc_fair_sched_group() */
static inline __unused void fair_group_init(sched_t *s, group_t *g)
{
	u32 cpu;

	gs_of(g)->shares = group_shares(g);
	list_init(&gs_of(g)->bandwidth.throttled_cfs_rq);
	for_each_cpu(s, cpu)
		group_init_cpu(s, g, cpu);
	if (g->quota_ns)
		tg_set_cfs_bandwidth(s, g);
}

/* sched_group_set_shares().  Where the lock is refused the next tick there sees to it. */
static inline __unused void fair_group_set_weight(sched_t *s, group_t *g)
{
	u32 cpu;

	gs_of(g)->shares = group_shares(g);
	for_each_cpu(s, cpu) {
		entity_t *se = group_entity(g, cpu);

		if (!rq_lock(s, cpu))
			continue;
		repeat_while(s, se) {
			update_cfs_group(s, se);
			se = parent_entity(se);
		}
		rq_unlock(s, cpu);
	}
}

/* tg_set_cfs_bandwidth() */
static inline __unused void fair_group_set_quota(sched_t *s, group_t *g)
{
	tg_set_cfs_bandwidth(s, g);
}
#endif
