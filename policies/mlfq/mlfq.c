/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mlfq - the multi-level feedback queue of the textbooks.
 *
 * Several queues, one above the other; the first task of the highest queue that
 * has one runs.  It is not known which tasks are interactive, so every task begins
 * at the top.  A task that has used up its allotment of CPU time there moves down
 * one queue, where slices are longer.  Periodically all move back to the top.
 *
 * The rules and their numbers are those of Arpaci-Dusseau, Operating Systems:
 * Three Easy Pieces, chapter 8 [OSTEP]; the idea is Corbató, Merwin-Daggett and
 * Daley's, An Experimental Time-Sharing System, 1962 [CTSS; MEM: known but not
 * read again].  [our choice] has no source.
 *
 * FIDELITY: real-time and idle classes, affinity and several CPUs are in no textbook.
 */
#include "policy.h"

/* ---- tunables --------------------------------------------------------------- */

#define MAX_LEVELS	16

#define MLFQ_TUNABLES(T)							\
	T(hz, 1000, 10, 10000, "ticks per second; time is charged exactly, slices end at ticks [our choice]")	\
	T(levels, 3, 1, MAX_LEVELS, "number of queues [OSTEP 8.2: the figures have three]")	\
	T(allotment_slices, 2, 1, 1000, "allotment at each level, in slices of that level [OSTEP 8.5, figure 8.5]")	\
	T(boost_ms, 1000, 0, 1000000, "S of rule 5: period at which all tasks move to the top, in ms; 0: never [OSTEP 8.5: a second or so in Solaris]") \
	T(forgive, 0, 0, 1, "1: a task that blocks begins a new allotment, as in rule 4b; 0: rule 4 [OSTEP 8.2, 8.4]")	\
	T(wake_at_top, 0, 0, 1, "1: a task that blocks comes back at the level where it entered [CTSS; MEM]")	\
	T(nice_levels, 0, 0, 1, "nice means 0: nothing [OSTEP], 1: the level at which a task enters and is boosted to, if positive [our choice]") \
	T(rr_slice_ms, 100, 1, 10000, "slice of SCHED_RR, in ms [our choice]")

#define MLFQ_TABLES(R)								\
	R(level_slice_ms, MAX_LEVELS, 1, 1000000, "slice of each level, in ms [OSTEP figure 8.5: 10, 20, 40; then doubled as in CTSS]", \
	  10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5120, 10240, 20480, 40960, 81920, 163840, 327680)

POLICY_TUNABLES_AND_TABLES(MLFQ_TUNABLES, MLFQ_TABLES)

#define MLFQ_COUNTERS(C)	C(demotions) C(boosts) C(preemptions)
POLICY_COUNTERS(MLFQ_COUNTERS)

/* ---- state ------------------------------------------------------------------- */

/* Lists of the one queue: real-time priorities 99 to 1, the levels, the idle class. */
#define TOP_LEVEL	100
#define IDLE_LIST	(TOP_LEVEL + MAX_LEVELS)
#define NO_LIST		(IDLE_LIST + 1)

struct mlfq {
	struct prio_array queue;	/* waiting tasks; a running one is in none */
};

struct mlfq_task {
	struct list node;
	u64 charged_until;	/* while it runs: since when its time is not yet charged */
	u64 slice_used_ns;
	u64 allotment_used_ns;	/* at its level, whatever it did in between */
	u32 level;
	u32 list;		/* where it waits, or waited */
};

POLICY_STATE(struct mlfq, NO_STATE, struct mlfq_task)

static u32 lowest_level(sched_t *s)
{
	return (u32)tun(s)->levels - 1;
}

static u64 slice_ns(sched_t *s, ts_t *p)
{
	if (task_is_rt(task_of(p)))
		return (u64)tun(s)->rr_slice_ms * NSEC_PER_MSEC;
	return (u64)tun(s)->level_slice_ms[min_of(p->level, MAX_LEVELS - 1)] * NSEC_PER_MSEC;
}

static u64 allotment_ns(sched_t *s, ts_t *p)
{
	return slice_ns(s, p) * (u64)tun(s)->allotment_slices;
}

/* Rule 3: the top.  nice 1 to 19 spread over the levels below. */
static u32 entry_level(sched_t *s, task_t *t)
{
	if (!tun(s)->nice_levels || t->nice <= 0)
		return 0;
	return min_of((u32)t->nice * (u32)tun(s)->levels / 20, lowest_level(s));
}

static u32 list_of(task_t *t)
{
	if (task_is_rt(t))
		return TOP_LEVEL - 1 - min_of(t->rt_priority, 99u);
	return t->class == CLASS_IDLE ? IDLE_LIST : TOP_LEVEL + ts_of(t)->level;
}

static u32 waiting(ts_t *p)
{
	return list_linked(&p->node);
}

static void enter_level(ts_t *p, u32 level)
{
	p->level = level;
	p->slice_used_ns = 0;
	p->allotment_used_ns = 0;
}

/* ---- the queue ---------------------------------------------------------------- */

static void add_front(sched_t *s, ts_t *p)
{
	p->list = list_of(task_of(p));
	prio_array_add(&glob_of(s)->queue, &p->node, p->list);
}

static void add_back(sched_t *s, ts_t *p)
{
	p->list = list_of(task_of(p));
	p->slice_used_ns = 0;
	prio_array_add_tail(&glob_of(s)->queue, &p->node, p->list);
}

static void del(sched_t *s, ts_t *p)
{
	prio_array_del(&glob_of(s)->queue, &p->node, p->list);
}

/* Rule 1: the higher queue first; rule 2: its first task.  Tasks that may not run here wait. */
static ts_t *first_for(sched_t *s, u32 cpu)
{
	prio_array_t *queue = &glob_of(s)->queue;
	u32 list = prio_array_first(queue), nr = 0;
	ts_t *found = NULL;
	list_t *node;

	repeat_while(s, list != PRIO_NONE && !found) {
		list_for_each(s, node, &queue->queue[list]) {
			ts_t *p = list_entry(node, ts_t, node);

			nr++;
			if (cpu_allowed(task_of(p), cpu)) {
				found = p;
				break;
			}
		}
		list = prio_array_next(s, queue, list + 1);
	}
	examined(s, nr);
	return found;
}

/* ---- preemption ------------------------------------------------------------------ */

/* How bad what @cpu runs is; an idle CPU is worst, and one that reschedules anyway is spoken for. */
static u32 badness(sched_t *s, u32 cpu)
{
	task_t *curr = cpu_curr(s, cpu);

	if (cpu_of(s, cpu)->need_resched)
		return 0;
	return curr ? list_of(curr) : NO_LIST;
}

/* A task waits: the CPU that does the worst shall look, its last one of equals. */
static void preempt_for(sched_t *s, ts_t *p)
{
	task_t *t = task_of(p);
	u32 cpu, victim = t->cpu, worst = cpu_allowed(t, victim) ? badness(s, victim) : 0;

	for_each_cpu(s, cpu) {
		if (!cpu_allowed(t, cpu) || badness(s, cpu) <= worst)
			continue;
		victim = cpu;
		worst = badness(s, cpu);
	}
	if (worst <= p->list)
		return;
	count(s, COUNTER_preemptions, worst != NO_LIST);
	resched_cpu(s, victim);
}

/* ---- charging: rule 4 --------------------------------------------------------------- */

/*
 * The allotment is charged to the nanosecond, however often the task gives up
 * the CPU in between: there is nothing to be gained by blocking just before the
 * end of a slice.
 */
static void charge(sched_t *s, ts_t *p)
{
	u64 ran = s->now - p->charged_until;

	p->charged_until = s->now;
	p->slice_used_ns += ran;
	p->allotment_used_ns += ran;
}

static u32 used_up(sched_t *s, ts_t *p)
{
	task_t *t = task_of(p);

	return !task_is_rt(t) && t->class != CLASS_IDLE && p->allotment_used_ns >= allotment_ns(s, p);
}

static u32 slice_over(sched_t *s, ts_t *p)
{
	return task_of(p)->class != CLASS_FIFO && p->slice_used_ns >= slice_ns(s, p);
}

/* It moves down one queue, and is there among equals. */
static u32 demote_if_used_up(sched_t *s, ts_t *p)
{
	if (!used_up(s, p))
		return false;
	count(s, COUNTER_demotions, p->level < lowest_level(s));
	enter_level(p, min_of(p->level + 1, lowest_level(s)));
	return true;
}

static void mlfq_tick(sched_t *s, u32 cpu, task_t *t)
{
	charge(s, ts_of(t));
	if (slice_over(s, ts_of(t)) || used_up(s, ts_of(t)))
		resched_cpu(s, cpu);
}

/* ---- fork, wakeup, sleep -------------------------------------------------------------- */

static void mlfq_fork(sched_t *s, task_t *parent, task_t *child)
{
	enter_level(ts_of(child), entry_level(s, child));
}

static void mlfq_enqueue(sched_t *s, task_t *t, u32 flags)
{
	add_back(s, ts_of(t));
	preempt_for(s, ts_of(t));
}

static void mlfq_dequeue(sched_t *s, task_t *t, u32 flags)
{
	ts_t *p = ts_of(t);

	if (waiting(p))
		del(s, p);
	else
		charge(s, p);
	demote_if_used_up(s, p);
	if (!(flags & DEQ_SLEEP))
		return;
	if (tun(s)->forgive)
		enter_level(p, p->level);
	if (tun(s)->wake_at_top)
		enter_level(p, entry_level(s, t));
}

/* ---- pick_next() ----------------------------------------------------------------------- */

/* A task preempted within its slice goes on with it later; one at the end of its slice goes to the back. */
static void put_back(sched_t *s, ts_t *p, u32 yields)
{
	charge(s, p);
	if (demote_if_used_up(s, p) || slice_over(s, p) || yields)
		add_back(s, p);
	else
		add_front(s, p);
}

static task_t *mlfq_pick_next(sched_t *s, u32 cpu, task_t *prev, u32 why)
{
	ts_t *next;

	if (why == PREV_YIELDED || why == PREV_PREEMPTED)
		put_back(s, ts_of(prev), why == PREV_YIELDED);
	next = first_for(s, cpu);
	if (!next)
		return NULL;
	del(s, next);
	next->charged_until = s->now;
	return task_of(next);
}

/* What was pushed aside may be better than what another CPU runs. */
static void mlfq_switched(sched_t *s, u32 cpu, task_t *prev, task_t *next)
{
	if (prev && waiting(ts_of(prev)))
		preempt_for(s, ts_of(prev));
}

/* ---- rule 5: the boost -------------------------------------------------------------------- */

/* Whole queues move in order, so that in each the task that has waited longest stays first. */
static void boost_queue(sched_t *s, u32 level)
{
	list_t *head = &glob_of(s)->queue.queue[TOP_LEVEL + level], *last = head->prev;
	u32 done = list_empty(head);

	repeat_while(s, !done) {
		ts_t *p = list_entry(head->next, ts_t, node);

		done = head->next == last;
		del(s, p);
		enter_level(p, entry_level(s, task_of(p)));
		add_back(s, p);
	}
}

static void mlfq_timer(sched_t *s, u32 id)
{
	list_t *node;
	task_t *t;
	u32 level, cpu;

	timer_start(s, id, (u64)tun(s)->boost_ms * NSEC_PER_MSEC);
	repeat(s, level, (u32)tun(s)->levels)
		boost_queue(s, level);
	for_each_task(s, t, node) {
		if (!waiting(ts_of(t)))
			enter_level(ts_of(t), entry_level(s, t));
	}
	for_each_cpu(s, cpu) {
		if (cpu_curr(s, cpu))
			resched_cpu(s, cpu);
	}
	count(s, COUNTER_boosts, 1);
	recalculated(s, s->nr_tasks);
}

/* ---- system calls ---------------------------------------------------------------------------- */

/* It is filed anew, at the back, or its CPU looks whether it still is the best. */
static void refile(sched_t *s, task_t *t)
{
	ts_t *p = ts_of(t);

	if (waiting(p)) {
		del(s, p);
		add_back(s, p);
		preempt_for(s, p);
	} else if (t->on_cpu) {
		resched_cpu(s, t->cpu);
	}
}

/* A worse nice counts at once, a better one from the next boost: renice is no way to the top. */
static void mlfq_set_nice(sched_t *s, task_t *t, s32 old_nice)
{
	u32 entry = entry_level(s, t);

	if (entry <= ts_of(t)->level)
		return;
	if (waiting(ts_of(t))) {
		del(s, ts_of(t));
		enter_level(ts_of(t), entry);
		add_back(s, ts_of(t));
		return;
	}
	enter_level(ts_of(t), entry);
	refile(s, t);
}

static void mlfq_set_class(sched_t *s, task_t *t, u32 old_class, u32 old_rt_priority)
{
	refile(s, t);
}

/* More CPUs than before may come and take it. */
static void mlfq_set_cpumask(sched_t *s, task_t *t)
{
	if (waiting(ts_of(t)))
		preempt_for(s, ts_of(t));
}

/* ---- observers ----------------------------------------------------------------------------------- */

/* Lower is better: real-time tasks 0 to 98, the queues from 100 on. */
static s32 mlfq_priority(sched_t *s, task_t *t)
{
	return (s32)list_of(t);
}

static u32 mlfq_queued(sched_t *s, task_t *t)
{
	return waiting(ts_of(t));
}

static s32 mlfq_init(sched_t *s)
{
	prio_array_init(s, &glob_of(s)->queue);
	if (tun(s)->boost_ms)
		timer_start(s, 0, (u64)tun(s)->boost_ms * NSEC_PER_MSEC);
	return 0;
}

/* ---- the policy --------------------------------------------------------------------------------------- */

static const struct variant mlfq_variants[] = {
	{ "ostep", "rules 1 to 5: allotments count across blocks, a boost every second", "" },
	{ "naive", "rules 1 to 4b, the first attempt: a task that blocks in time stays on top, tasks below can starve",
	  "forgive=1 allotment_slices=1 boost_ms=0" },
	{ "ctss", "in the manner of 1962: nine queues, slices of 16 ms doubled, the top after each wait for the user",
	  "levels=9 allotment_slices=1 boost_ms=0 wake_at_top=1 "
	  "level_slice_ms=16,32,64,128,256,512,1024,2048,4096,8192,16384,32768,65536,131072,262144,524288" },
};

_Static_assert(sizeof(struct mlfq_task) <= 96, "a million tasks must fit");

POLICY(mlfq,
	.summary = "the textbook multi-level feedback queue: a task that uses up its allotment moves down, all move up now and then",
	TUNABLES,
	VARIANTS(mlfq_variants),
	COUNTERS,
	.lock = LOCK_GLOBAL,
	.promise = {
		.conserving = CONSERVING_QUEUE,
		.nice = NICE_IGNORED,
		.starvation_bound_ns = 0,	/* none without a boost */
	},
	.init = mlfq_init,
	.fork = mlfq_fork,
	.enqueue = mlfq_enqueue,
	.dequeue = mlfq_dequeue,
	.pick_next = mlfq_pick_next,
	.switched = mlfq_switched,
	.tick = mlfq_tick,
	.set_nice = mlfq_set_nice,
	.set_class = mlfq_set_class,
	.set_cpumask = mlfq_set_cpumask,
	.timer = mlfq_timer,
	.priority = mlfq_priority,
	.queued = mlfq_queued,
);
