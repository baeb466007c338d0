/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * averages.h - how loaded and how used tasks, groups and CPUs have been: who updates which averages when.
 *
 * Each task and each group's entity has averages, and each queue has the sum of
 * those that are attached to it.  A task that sleeps stays attached, so that its
 * CPU remembers it for a while.  It is detached when it moves.  The averages of a
 * group's entity are those of the group's queue.
 *
 * Averages are brought up to date before what they count changes: at enqueue and
 * dequeue, when something begins or ends to run, and at ticks.  Those of CPUs where nothing
 * happens are when they are balanced.
 *
 * Order and names follow kernel/sched/fair.c of 6.12.  Included by class.h.
 *
 * FIDELITY: the clock of a throttled group stands still, as in the kernel, but not that of groups within it.
 * FIDELITY: util_est is 6.12's in all variants; before 6.8 it had two parts.
 */
#ifndef SCHEDLAB_FAIR_AVERAGES_H
#define SCHEDLAB_FAIR_AVERAGES_H

#include "pelt.h"

/* On one CPU nobody asks for averages. */
static inline __unused u32 tracks_load(sched_t *s)
{
	return tun(s)->pelt && s->nr_cpus > 1;
}

/* ---- clocks ------------------------------------------------------------- */

static inline __unused u32 cpu_capacity(sched_t *s, u32 cpu)
{
#ifdef __BPF__
	return CAPACITY_SCALE;
#else
	return cpu_of(s, cpu)->capacity;
#endif
}

/*
 * update_rq_clock_pelt(): on a slow CPU time passes slowly while it works, so that a task's averages
 * say what it would need on the fastest one.  An idle CPU's clock catches up.
 */
static inline __unused u64 rq_clock_pelt(sched_t *s, rq_t *rq)
{
	u32 capacity = cpu_capacity(s, rq->cfs.cpu);
	u64 delta = sub_positive(s->now, rq->cfs.clock);

	if (capacity == CAPACITY_SCALE)
		return s->now;
	rq->cfs.clock += delta;
	if (cpu_curr(s, rq->cfs.cpu))
		rq->cfs.clock_pelt += (delta * capacity) >> CAPACITY_SHIFT;
	else
		rq->cfs.clock_pelt = rq->cfs.clock;
	return rq->cfs.clock_pelt - rq->cfs.lost_idle_time;
}

/* update_idle_rq_clock_pelt(): a CPU that was used all the time had no time left to catch up. */
static inline __unused void update_idle_clock(sched_t *s, rq_t *rq)
{
	u32 most = (PELT_MIN_DIVIDER << CAPACITY_SHIFT) - LOAD_AVG_MAX;

	if (cpu_capacity(s, rq->cfs.cpu) == CAPACITY_SCALE)
		return;
	rq_clock_pelt(s, rq);
	if (rq->cfs.root.avg.util_sum + rq->cfs.avg_rt.util_sum >= most)
		rq->cfs.lost_idle_time += rq->cfs.clock - rq->cfs.clock_pelt;
	rq->cfs.clock_pelt = rq->cfs.clock;
}

static inline __unused u64 cfs_rq_clock_pelt(sched_t *s, cfs_rq_t *cfs_rq)
{
	if (cfs_rq->throttled)
		return cfs_rq->throttled_clock - cfs_rq->throttled_clock_time;
	return rq_clock_pelt(s, rq_of(s, cfs_rq->cpu)) - cfs_rq->throttled_clock_time;
}

static inline __unused void stop_clock(sched_t *s, cfs_rq_t *cfs_rq)
{
	if (tracks_load(s))
		cfs_rq->throttled_clock = rq_clock_pelt(s, rq_of(s, cfs_rq->cpu));
}

static inline __unused void start_clock(sched_t *s, cfs_rq_t *cfs_rq)
{
	if (tracks_load(s))
		cfs_rq->throttled_clock_time += rq_clock_pelt(s, rq_of(s, cfs_rq->cpu)) - cfs_rq->throttled_clock;
}

/* ---- from a group's queue to its entity --------------------------------- */

static inline __unused void add_tg_cfs_propagate(cfs_rq_t *cfs_rq, s64 runnable_sum)
{
	cfs_rq->propagate = true;
	cfs_rq->prop_runnable_sum += runnable_sum;
}

static inline __unused void update_tg_cfs_util(avg_t *queue, avg_t *se, avg_t *gcfs)
{
	u64 old_avg = se->util_avg, old_sum = se->util_sum;

	if (gcfs->util_avg == old_avg)
		return;
	se->util_avg = gcfs->util_avg;
	se->util_sum = (u32)se->util_avg * pelt_divider(queue);
	queue->util_avg += se->util_avg;
	queue->util_sum += se->util_sum;
	sub_util_avg(queue, old_avg, old_sum);
}

static inline __unused void update_tg_cfs_runnable(avg_t *queue, avg_t *se, avg_t *gcfs)
{
	u64 old_avg = se->runnable_avg, old_sum = se->runnable_sum;

	if (gcfs->runnable_avg == old_avg)
		return;
	se->runnable_avg = gcfs->runnable_avg;
	se->runnable_sum = se->runnable_avg * pelt_divider(queue);
	queue->runnable_avg += se->runnable_avg;
	queue->runnable_sum += se->runnable_sum;
	sub_runnable_avg(queue, old_avg, old_sum);
}

/* For how long has the group been runnable, now that @runnable_sum has come, or gone? */
static inline __unused u64 group_runnable_sum(cfs_rq_t *gcfs_rq, avg_t *se, u32 divider, s64 runnable_sum)
{
	u64 sum = 0;

	if (runnable_sum >= 0)
		sum = min_of((u64)runnable_sum + se->load_sum, divider);
	else if (gcfs_rq->load)
		sum = min_of(div_u64(gcfs_rq->avg.load_sum, gcfs_rq->load), se->load_sum);
	return max_of(sum, se->util_sum >> CAPACITY_SHIFT);
}

static inline __unused void update_tg_cfs_load(avg_t *queue, entity_t *se, cfs_rq_t *gcfs_rq)
{
	s64 runnable_sum = gcfs_rq->prop_runnable_sum;
	u32 divider = pelt_divider(queue);

	if (!runnable_sum)
		return;
	gcfs_rq->prop_runnable_sum = 0;
	sub_load_avg(queue, &se->avg, se->weight);
	se->avg.load_sum = group_runnable_sum(gcfs_rq, &se->avg, divider, runnable_sum);
	se->avg.load_avg = div_u64(se->weight * se->avg.load_sum, divider);
	add_load_avg(queue, &se->avg, se->weight);
}

/* What has been attached to the group's queue, or detached, is seen in its entity: propagate_entity_load_avg(). */
static inline __unused u32 propagate_entity_load_avg(cfs_rq_t *cfs_rq, entity_t *se)
{
	cfs_rq_t *gcfs_rq = group_queue(se);

	if (!gcfs_rq || !gcfs_rq->propagate)
		return false;
	gcfs_rq->propagate = false;
	add_tg_cfs_propagate(cfs_rq, gcfs_rq->prop_runnable_sum);
	update_tg_cfs_util(&cfs_rq->avg, &se->avg, &gcfs_rq->avg);
	update_tg_cfs_runnable(&cfs_rq->avg, &se->avg, &gcfs_rq->avg);
	update_tg_cfs_load(&cfs_rq->avg, se, gcfs_rq);
	return true;
}

/* The group learns what its load on this CPU is, unless it has hardly changed. */
static inline __unused void update_tg_load_avg(sched_t *s, cfs_rq_t *cfs_rq)
{
	s64 delta = (s64)(cfs_rq->avg.load_avg - cfs_rq->tg_load_avg_contrib);

	if (!queue_group(cfs_rq) ||
	    s->now - cfs_rq->last_update_tg_load_avg < (u64)tun(s)->tg_load_interval_us * NSEC_PER_USEC)
		return;
	if ((u64)max_of(delta, -delta) <= cfs_rq->tg_load_avg_contrib / 64)
		return;
	gs_of(queue_group(cfs_rq))->load_avg += (u64)delta;
	cfs_rq->tg_load_avg_contrib = cfs_rq->avg.load_avg;
	cfs_rq->last_update_tg_load_avg = s->now;
}

/* ---- attaching and detaching -------------------------------------------- */

/* Its sums are made anew, as the queue is at another place in its period. */
static inline __unused void attach_entity_load_avg(cfs_rq_t *cfs_rq, entity_t *se)
{
	avg_t *queue = &cfs_rq->avg, *avg = &se->avg;
	u32 divider = pelt_divider(queue);

	se->attached = cfs_rq;
	avg->last_update_time = queue->last_update_time;
	avg->period_contrib = queue->period_contrib;
	avg->util_sum = (u32)avg->util_avg * divider;
	avg->runnable_sum = avg->runnable_avg * divider;
	avg->load_sum = avg->load_avg * divider;
	avg->load_sum = se->weight < avg->load_sum ? div_u64(avg->load_sum, se->weight) : 1;
	add_load_avg(queue, avg, se->weight);
	queue->util_avg += avg->util_avg;
	queue->util_sum += avg->util_sum;
	queue->runnable_avg += avg->runnable_avg;
	queue->runnable_sum += avg->runnable_sum;
	add_tg_cfs_propagate(cfs_rq, (s64)avg->load_sum);
}

static inline __unused void detach_entity_load_avg(cfs_rq_t *cfs_rq, entity_t *se)
{
	sub_load_avg(&cfs_rq->avg, &se->avg, se->weight);
	sub_util_avg(&cfs_rq->avg, se->avg.util_avg, se->avg.util_sum);
	sub_runnable_avg(&cfs_rq->avg, se->avg.runnable_avg, se->avg.runnable_sum);
	add_tg_cfs_propagate(cfs_rq, -(s64)se->avg.load_sum);
	se->attached = NULL;
}

/* __update_load_avg_blocked_se(): the time of @se, which sleeps, passes too. */
static inline __unused void update_blocked_entity(entity_t *se, u64 now)
{
	if (update_load_sum(&se->avg, now, 0, 0, 0))
		update_avg_from_sums(&se->avg, se->weight);
}

/*
 * remove_entity_load_avg(): @se, which is not queued, leaves a queue whose lock we may not have.  The queue
 * takes note.  If nobody keeps its clock, as the CPU idles, @se goes on to now (migrate_se_pelt_lag()).
 */
__apart u32 remove_entity_load_avg(sched_t *s __in_arena, entity_t *se __in_arena)
{
	cfs_rq_t *cfs_rq = se->attached;

	if (!cfs_rq)
		return 0;
	se->attached = NULL;
	update_blocked_entity(se, cfs_rq->avg.last_update_time);
	cfs_rq->removed.nr++;
	cfs_rq->removed.load_avg += se->avg.load_avg;
	cfs_rq->removed.util_avg += se->avg.util_avg;
	cfs_rq->removed.runnable_avg += se->avg.runnable_avg;
	if (!cpu_curr(s, cfs_rq->cpu) && !cfs_rq->throttled)
		update_blocked_entity(se, cfs_rq_clock_pelt(s, cfs_rq));
	return 0;
}

static inline __unused void take_removed(cfs_rq_t *cfs_rq)
{
	avg_t *avg = &cfs_rq->avg;
	u32 divider = pelt_divider(avg);
	u64 load = cfs_rq->removed.load_avg, util = cfs_rq->removed.util_avg, runnable = cfs_rq->removed.runnable_avg;

	cfs_rq->removed.load_avg = cfs_rq->removed.util_avg = cfs_rq->removed.runnable_avg = 0;
	cfs_rq->removed.nr = 0;
	avg->load_avg = sub_positive(avg->load_avg, load);
	avg->load_sum = at_least_average(sub_positive(avg->load_sum, load * divider), avg->load_avg);
	sub_util_avg(avg, util, util * divider);
	sub_runnable_avg(avg, runnable, runnable * divider);
	add_tg_cfs_propagate(cfs_rq, -(s64)((runnable * divider) >> CAPACITY_SHIFT));
}

/* ---- updating ----------------------------------------------------------- */

/* Have the queue's averages changed? */
static inline __unused u32 update_cfs_rq_load_avg(sched_t *s, cfs_rq_t *cfs_rq)
{
	u32 decayed = cfs_rq->removed.nr != 0;

	if (decayed)
		take_removed(cfs_rq);
	if (!update_load_sum(&cfs_rq->avg, cfs_rq_clock_pelt(s, cfs_rq), cfs_rq->load, cfs_rq->h_nr_running, cfs_rq->curr != NULL))
		return decayed;
	update_avg_from_sums(&cfs_rq->avg, 1);
	return true;
}

static inline __unused u32 se_runnable(entity_t *se)
{
	if (entity_delayed(se))
		return 0;
	return group_queue(se) ? se->runnable_weight : se->on_rq;
}

#define UTIL_AVG_UNCHANGED	0x80000000u	/* in util_est: util_avg is what it was then */

/* __update_load_avg_se() */
static inline __unused void update_entity_avg(sched_t *s, cfs_rq_t *cfs_rq, entity_t *se)
{
	if (!update_load_sum(&se->avg, cfs_rq_clock_pelt(s, cfs_rq), se->on_rq, se_runnable(se), cfs_rq->curr == se))
		return;
	update_avg_from_sums(&se->avg, se->weight);
	se->avg.util_est &= ~UTIL_AVG_UNCHANGED;
}

enum update_load_flags {
	UPDATE_TG	= 1 << 0,	/* the group is told */
	DO_ATTACH	= 1 << 1,	/* @se is about to be queued */
	DO_DETACH	= 1 << 2,	/* it leaves for another CPU */
};

/* update_load_avg(), for what has averages. */
__apart u32 update_tracked_load(sched_t *s __in_arena, cfs_rq_t *cfs_rq __in_arena, entity_t *se __in_arena, u32 flags)
{
	u32 decayed;

	if (se->attached == cfs_rq)
		update_entity_avg(s, cfs_rq, se);
	decayed = update_cfs_rq_load_avg(s, cfs_rq);
	decayed |= propagate_entity_load_avg(cfs_rq, se);
	if ((flags & DO_ATTACH) && se->attached != cfs_rq) {
		remove_entity_load_avg(s, se);
		attach_entity_load_avg(cfs_rq, se);
		update_tg_load_avg(s, cfs_rq);
	} else if ((flags & DO_DETACH) && se->attached == cfs_rq) {
		detach_entity_load_avg(cfs_rq, se);
		update_tg_load_avg(s, cfs_rq);
	} else if (decayed && (flags & UPDATE_TG)) {
		update_tg_load_avg(s, cfs_rq);
	}
	if (group_queue(se))
		se->runnable_weight = group_queue(se)->h_nr_running;
	return 0;
}

/* Before anything of @se, or of its queue, changes. */
static inline __unused void update_load_avg(sched_t *s, cfs_rq_t *cfs_rq, entity_t *se, u32 flags)
{
	if (tracks_load(s))
		update_tracked_load(s, cfs_rq, se, flags);
}

/* What dequeue_entity() asks for. */
static inline __unused u32 dequeue_action(entity_t *se, u32 flags)
{
	return !group_queue(se) && (flags & DEQ_MOVE) ? DO_DETACH : UPDATE_TG;
}

/* The weight of @se changes, and with it its load. */
static inline __unused void change_weight(entity_t *se, u32 weight)
{
	if (se->attached)
		sub_load_avg(&se->attached->avg, &se->avg, se->weight);
	set_weight(se, weight);
	if (!se->attached)
		return;
	se->avg.load_avg = div_u64(weight * se->avg.load_sum, pelt_divider(&se->avg));
	add_load_avg(&se->attached->avg, &se->avg, weight);
}

/* ---- queues that nothing happens in ------------------------------------- */

/* list_add_leaf_cfs_rq(): the queues from @se's on outwards have averages that pass with time. */
static inline __unused void add_leaf_cfs_rqs(sched_t *s, rq_t *rq, entity_t *se)
{
	list_t *after = &rq->cfs.leaf_cfs_rqs;

	if (!tracks_load(s))
		return;
	repeat_while(s, se && queue_group(se->cfs_rq)) {
		if (!se->cfs_rq->leaf.next)
			list_add(&se->cfs_rq->leaf, after);
		after = &se->cfs_rq->leaf;
		se = parent_entity(se);
	}
}

static inline __unused u32 cfs_rq_is_decayed(cfs_rq_t *cfs_rq)
{
	return !cfs_rq->load && !cfs_rq->avg.load_sum && !cfs_rq->avg.util_sum && !cfs_rq->avg.runnable_sum;
}

static inline __unused void update_blocked_group(sched_t *s, cfs_rq_t *cfs_rq)
{
	entity_t *se = &gc_of(cfs_rq->tg, cfs_rq->cpu)->se;

	if (update_cfs_rq_load_avg(s, cfs_rq))
		update_tg_load_avg(s, cfs_rq);
	update_tracked_load(s, se->cfs_rq, se, UPDATE_TG);
	if (!cfs_rq_is_decayed(cfs_rq))
		return;
	list_del(&cfs_rq->leaf);
	cfs_rq->leaf.next = NULL;
}

/* Inner ones first. */
static inline __unused void update_blocked_groups(sched_t *s, rq_t *rq)
{
#ifndef __BPF__
	list_t *node = rq->cfs.leaf_cfs_rqs.next;

	repeat_while(s, node != &rq->cfs.leaf_cfs_rqs) {
		cfs_rq_t *cfs_rq = list_entry(node, cfs_rq_t, leaf);

		node = node->next;
		if (!cfs_rq->throttled)
			update_blocked_group(s, cfs_rq);
	}
#endif
}

static inline __unused void update_rt_avg(sched_t *s, rq_t *rq, u32 running)
{
	if (!tracks_load(s) || (!running && !rq->cfs.avg_rt.util_sum))
		return;
	if (update_load_sum(&rq->cfs.avg_rt, rq_clock_pelt(s, rq), running, running, running))
		update_avg_from_sums(&rq->cfs.avg_rt, 1);
}

/* sched_balance_update_blocked_averages(), with the lock of @rq. */
__apart u32 update_blocked_averages(sched_t *s __in_arena, rq_t *rq __in_arena)
{
	task_t *curr = cpu_curr(s, rq->cfs.cpu);

	if (!tracks_load(s))
		return 0;
	update_rt_avg(s, rq, curr && task_is_rt(curr));
	update_blocked_groups(s, rq);
	update_cfs_rq_load_avg(s, &rq->cfs.root);
	return 0;
}

/* ---- new tasks ---------------------------------------------------------- */

/* init_entity_runnable_average(): a new task counts as heavy until more is known of it. */
static inline __unused void init_task_average(ts_t *p)
{
	p->se.avg.load_avg = p->se.weight;
}

/* post_init_entity_util_avg(): used as much as the others here are by weight, and at most half of what is left. */
static inline __unused void post_init_entity_util_avg(sched_t *s, cfs_rq_t *cfs_rq, entity_t *se)
{
	s64 cap = ((s64)cpu_capacity(s, cfs_rq->cpu) - (s64)cfs_rq->avg.util_avg) / 2;

	if (cap > 0) {
		se->avg.util_avg = (u64)cap;
		if (cfs_rq->avg.util_avg)
			se->avg.util_avg = min_of(div_u64(cfs_rq->avg.util_avg * se->weight, cfs_rq->avg.load_avg + 1), (u64)cap);
	}
	se->avg.runnable_avg = se->avg.util_avg;
}

/* ---- estimated utilisation ---------------------------------------------- */

#define UTIL_EST_WEIGHT_SHIFT	2
#define UTIL_EST_MARGIN		(CAPACITY_SCALE / 100)

static inline __unused u32 last_util_est(ts_t *p)
{
	return p->se.avg.util_est & ~UTIL_AVG_UNCHANGED;
}

static inline __unused u64 task_util_est(ts_t *p)
{
	return max_of(p->se.avg.util_avg, last_util_est(p));
}

static inline __unused void util_est_enqueue(sched_t *s, rq_t *rq, ts_t *p)
{
	if (tracks_load(s))
		rq->cfs.root.avg.util_est += last_util_est(p);
}

static inline __unused void util_est_dequeue(sched_t *s, rq_t *rq, ts_t *p)
{
	if (tracks_load(s))
		rq->cfs.root.avg.util_est -= min_of(rq->cfs.root.avg.util_est, last_util_est(p));
}

/* A task that falls asleep is expected to need as much when it comes back; less only little by little. */
static inline __unused void util_est_update(sched_t *s, rq_t *rq, ts_t *p)
{
	avg_t *avg = &p->se.avg;
	u32 ewma = avg->util_est, util = (u32)avg->util_avg;

	if (!tracks_load(s) || (ewma & UTIL_AVG_UNCHANGED))
		return;
	if (ewma > util && ewma - util >= UTIL_EST_MARGIN) {
		if (util > cpu_capacity(s, rq->cfs.cpu))
			return;
		/* If it had to wait, it would have needed more than it got. */
		if (util + UTIL_EST_MARGIN >= avg->runnable_avg)
			ewma = ((ewma << UTIL_EST_WEIGHT_SHIFT) - (ewma - util)) >> UTIL_EST_WEIGHT_SHIFT;
	}
	avg->util_est = max_of(ewma, util) | UTIL_AVG_UNCHANGED;
}

/* ---- of CPUs ------------------------------------------------------------ */

static inline __unused u64 cpu_load(sched_t *s, rq_t *rq)
{
	return tracks_load(s) ? rq->cfs.root.avg.load_avg : rq->cfs.root.load;
}

static inline __unused u64 cpu_runnable(rq_t *rq)
{
	return rq->cfs.root.avg.runnable_avg;
}

/* cpu_util_cfs() */
static inline __unused u64 cpu_util(sched_t *s, rq_t *rq)
{
	u64 util = max_of(rq->cfs.root.avg.util_avg, rq->cfs.root.avg.util_est);

	return min_of(util, cpu_capacity(s, rq->cfs.cpu));
}

/* scale_rt_capacity(): what real-time tasks leave. */
static inline __unused u64 capacity_of(sched_t *s, rq_t *rq)
{
	u64 capacity = cpu_capacity(s, rq->cfs.cpu), used = tracks_load(s) ? rq->cfs.avg_rt.util_avg : 0;

	return used >= capacity ? 1 : capacity - used;
}
#endif
