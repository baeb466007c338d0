/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * disp.h - the dispatcher of Solaris: queues, the choice of a CPU, stealing by idle CPUs.
 *
 * It belongs to svr4.c as disp.c belongs to ts.c: svr4.c decides a task's level,
 * this file does the rest.  Include it after POLICY_STATE, with
 *
 *	rq_t	queue	a priority array: list PRIO_LEVELS - 1 - level, the running task in none
 *		length	tasks in each of NR_LEVELS levels
 *	ts_t	node	its place in a queue
 *		pri	the level it runs or is queued at
 *		at_back	it was last queued at the back
 *
 * the tunables runq_match_pri and runq_max_diff and the counter steals.
 */
#ifndef SCHEDLAB_DISP_H
#define SCHEDLAB_DISP_H

#define IDLE_LEVEL	(-1)	/* what an idle CPU runs at, an empty queue holds */

/* ---- queues ----------------------------------------------------------------- */

static u32 list_of(s32 level)
{
	return (u32)(PRIO_LEVELS - 1 - level);
}

/* disp_maxrunpri: the best level that waits. */
static s32 maxrunpri(rq_t *rq)
{
	u32 list = prio_array_first(&rq->queue);

	return list == PRIO_NONE ? IDLE_LEVEL : (s32)(PRIO_LEVELS - 1 - list);
}

static u32 waiting(ts_t *p)
{
	return list_linked(&p->node);
}

static void dispenq(sched_t *s, ts_t *p, u32 back)
{
	rq_t *rq = rq_of(s, task_of(p)->cpu);

	if (back)
		prio_array_add_tail(&rq->queue, &p->node, list_of(p->pri));
	else
		prio_array_add(&rq->queue, &p->node, list_of(p->pri));
	p->at_back = (u8)back;
	rq->length[p->pri]++;
}

static void dispdeq(sched_t *s, ts_t *p)
{
	rq_t *rq = rq_of(s, task_of(p)->cpu);

	prio_array_del(&rq->queue, &p->node, list_of(p->pri));
	rq->length[p->pri]--;
}

static void setfrontdq(sched_t *s, ts_t *p)
{
	dispenq(s, p, false);
}

static void setbackdq(sched_t *s, ts_t *p)
{
	dispenq(s, p, true);
}

/* cpu_surrender(), if @p, which runs, is no longer the best of its CPU. */
static u32 must_surrender(sched_t *s, ts_t *p)
{
	u32 cpu = task_of(p)->cpu;

	if (p->pri >= maxrunpri(rq_of(s, cpu)))
		return false;
	resched_cpu(s, cpu);
	return true;
}

/* cpu_wakeup(): an idle CPU, if there is one, comes to take @p. */
static void wake_idle_cpu(sched_t *s, task_t *t)
{
	u32 cpu;

	for_each_cpu(s, cpu) {
		if (cpu_curr(s, cpu) || cpu_of(s, cpu)->need_resched || !cpu_allowed(t, cpu))
			continue;
		resched_cpu(s, cpu);
		return;
	}
}

/* cpu_resched(): @p has been queued.  Only a better task preempts. */
static void cpu_resched(sched_t *s, ts_t *p)
{
	task_t *t = task_of(p), *curr = cpu_curr(s, t->cpu);

	if (!curr || p->pri > ts_of(curr)->pri)
		resched_cpu(s, t->cpu);
	else
		wake_idle_cpu(s, t);
}

/* ---- choosing a CPU ----------------------------------------------------------- */

/* What a newcomer to @cpu must beat: its running task and the best that waits. */
static s32 cpu_pri(sched_t *s, u32 cpu)
{
	task_t *curr = cpu_curr(s, cpu);
	s32 queued = maxrunpri(rq_of(s, cpu));

	return curr ? max_of(ts_of(curr)->pri, queued) : queued;
}

/* disp_lowpri_cpu(): the CPU of the lowest priority, of equal ones the task's own. */
static u32 disp_lowpri_cpu(sched_t *s, task_t *t)
{
	u32 cpu, best = t->cpu;
	s32 lowest = cpu_allowed(t, best) ? cpu_pri(s, best) : NR_LEVELS;

	for_each_cpu(s, cpu) {
		s32 pri = cpu_pri(s, cpu);

		if (pri >= lowest || !cpu_allowed(t, cpu))
			continue;
		lowest = pri;
		best = cpu;
	}
	return best;
}

/*
 * The tail of setbackdq(): to the next CPU if fewer tasks wait there at this
 * level.  @others wait on @cpu.
 */
static u32 match_queues(sched_t *s, task_t *t, u32 cpu, s32 level, u32 others)
{
	u32 next = cpu + 1 < s->nr_cpus ? cpu + 1 : 0;
	s64 most = others;

	if (level >= tun(s)->runq_match_pri)
		most -= tun(s)->runq_max_diff;
	if (most <= 0 || !cpu_allowed(t, next) || rq_of(s, next)->length[level] >= most)
		return cpu;
	return next;
}

/* ---- idle CPUs help ------------------------------------------------------------- */

/* disp_getbest(): the best task of a queue that may run on @cpu. */
static ts_t *disp_getbest(sched_t *s, rq_t *rq, u32 cpu)
{
	u32 list = prio_array_first(&rq->queue), nr = 0;
	ts_t *found = NULL;
	list_t *node;

	repeat_while(s, list != PRIO_NONE && !found) {
		list_for_each(s, node, &rq->queue.queue[list]) {
			ts_t *p = list_entry(node, ts_t, node);

			nr++;
			if (cpu_allowed(task_of(p), cpu)) {
				found = p;
				break;
			}
		}
		list = prio_array_next(s, &rq->queue, list + 1);
	}
	examined(s, nr);
	return found;
}

/* Takes the best task that @from has for @cpu.  A refused lock is no answer: @cpu looks again. */
static ts_t *steal(sched_t *s, u32 cpu, u32 from)
{
	ts_t *p;

	if (from == cpu || !rq_of(s, from)->queue.nr)
		return NULL;
	if (!rq_lock(s, from)) {
		resched_cpu(s, cpu);
		return NULL;
	}
	p = disp_getbest(s, rq_of(s, from), cpu);
	if (p) {
		dispdeq(s, p);
		move_task(s, task_of(p), cpu);
		setbackdq(s, p);
		count(s, COUNTER_steals, 1);
	}
	rq_unlock(s, from);
	return p;
}

/* disp_getwork(): an idle CPU helps where the best task waits, or where there is one it may run. */
static ts_t *disp_getwork(sched_t *s, u32 cpu)
{
	u32 other, best = cpu;
	ts_t *p;

	for_each_cpu(s, other)
		if (maxrunpri(rq_of(s, other)) > maxrunpri(rq_of(s, best)))
			best = other;
	p = steal(s, cpu, best);
	for_each_cpu(s, other) {
		if (p)
			break;
		p = steal(s, cpu, other);
	}
	return p;
}
#endif
