/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * linux24 - the scheduler of Linux 2.3.99 to 2.4: one list, and the best goodness() runs.
 *
 * All runnable tasks, running ones included, are in one list under one lock.
 * schedule() walks all of it and takes the task with the greatest goodness: the
 * rest of its slice, its nice value, and small bonuses for a warm cache and
 * the same address space.  When no runnable task has any slice left, every
 * task in the system gets a new one.
 *
 * The parts shared with derived schedulers are in linux24/goodness.h.
 */
#include "policy.h"

/*
 * A scheduler that is this one but for how a slice is spent defines
 * LINUX24_AS_A_PART and the two macros, includes this file, and then supplies a
 * POLICY() of its own.
 */
#ifndef LINUX24_AS_A_PART
#define PART_TUNABLES(T)
#define PART_TASK_STATE		/* fields of a task */
#endif

#define POLICY_OWN_TUNABLES(T)									\
	T(prev_first, 1, 0, 1,									\
	  "1: the previous task is judged first and wins ties [2.3.99, 2.4.0], 0: only list order counts [2.4.16]") \
	T(yield_if_others, 0, 0, 1,								\
	  "1: sched_yield() does nothing unless more tasks are runnable than run [2.4]")	\
	T(yield_to_tail, 1, 0, 1,								\
	  "1: sched_yield() moves the task to the end of the list [2.3.99, 2.4.16], 0: not [2.4.0]")	\
	PART_TUNABLES(T)
#include "linux24/goodness.h"

#define LINUX_2_4	"nice_to_ticks=1 goodness_sees_yield=1 wake_least_recent=1 reap_cap_ms=200 yield_if_others=1 "
#define LINUX_2_4_16	LINUX_2_4 "sync_checks_allowed=1 prev_first=0"
#define LINUX_2_4_0	LINUX_2_4 "preempt_threshold=1 yield_to_tail=0"

#define NO_GOODNESS	(-1000)	/* less than any task has */

struct runqueue {
	struct list head;	/* runnable tasks; on_cpu marks those that run */
	u32 nr_running;		/* their number */
};

struct linux24_task {
	struct linux_task common;	/* first: linux24/goodness.h expects it there */
	PART_TASK_STATE
};

POLICY_STATE(struct runqueue, struct linux_cpu, struct linux24_task)

static task_t *task_at(list_t *node)
{
	return task_of((ts_t *)list_entry(node, linux_task_t, run_list));
}

static s32 linux24_init(sched_t *s)
{
	list_init(&glob_of(s)->head);
	return goodness_init(s);
}

/* ---- the run queue -------------------------------------------------------- */

/* At the front: the task that woke last wins ties. */
static void add_to_runqueue(sched_t *s, task_t *p)
{
	list_add(&linux_task(p)->run_list, &glob_of(s)->head);
	glob_of(s)->nr_running++;
}

static void del_from_runqueue(sched_t *s, task_t *p)
{
	list_del(&linux_task(p)->run_list);
	glob_of(s)->nr_running--;
}

static void move_first_runqueue(sched_t *s, task_t *p)
{
	list_del(&linux_task(p)->run_list);
	list_add(&linux_task(p)->run_list, &glob_of(s)->head);
}

static void move_last_runqueue(sched_t *s, task_t *p)
{
	list_del(&linux_task(p)->run_list);
	list_add_tail(&linux_task(p)->run_list, &glob_of(s)->head);
}

static void linux24_enqueue(sched_t *s, task_t *p, u32 flags)
{
	add_to_runqueue(s, p);
	reschedule_woken(s, p, flags);
}

static void linux24_dequeue(sched_t *s, task_t *p, u32 flags)
{
	del_from_runqueue(s, p);
}

/* ---- schedule() ----------------------------------------------------------- */

/*
 * May @cpu choose @p?  Not if another CPU runs it.  @cpu's own previous task is
 * in the list too; an SMP kernel that has judged it first skips it here, a UP
 * kernel looks at it a second time.
 */
static u32 can_schedule(sched_t *s, task_t *p, u32 cpu)
{
	if (!cpu_allowed(p, cpu))
		return false;
	if (!p->on_cpu)
		return true;
	return p->cpu == cpu && !(tun(s)->prev_first && is_smp(s));
}

/* 2.3.99 counts a task that yielded as exhausted, and forgets the yield at once. */
static s32 prev_goodness(sched_t *s, task_t *prev, u32 cpu, u32 this_mm)
{
	if (linux_task(prev)->yielded && !tun(s)->goodness_sees_yield) {
		linux_task(prev)->yielded = false;
		return 0;
	}
	return goodness(s, prev, cpu, this_mm);
}

/* Finds the greatest goodness on @cpu and its task, @next; NO_GOODNESS and NULL (idle) if no task can run. */
static s32 best_goodness(sched_t *s, u32 cpu, task_t *still_running, u32 this_mm, task_t **next)
{
	s32 c = NO_GOODNESS;
	u32 nr = 0;
	list_t *node;

	*next = NULL;
	if (still_running && tun(s)->prev_first) {
		c = prev_goodness(s, still_running, cpu, this_mm);
		*next = still_running;
	}
	list_for_each(s, node, &glob_of(s)->head) {
		task_t *p = task_at(node);
		s32 weight;

		nr++;
		if (!can_schedule(s, p, cpu))
			continue;
		weight = goodness(s, p, cpu, this_mm);
		if (weight > c) {
			c = weight;
			*next = p;
		}
	}
	examined(s, nr);
	return c;
}

/* Renews the slice of every task, sleeping and running ones included. */
static void recalculate(sched_t *s)
{
	list_t *node;
	task_t *p;

	for_each_task(s, p, node)
		refill(s, p);
	recalculated(s, s->nr_tasks);
}

/*
 * The best candidate's goodness is 0 when all runnable tasks are exhausted (or, in
 * 2.3.99, when the only other one is the task that yielded).  After one
 * recalculation it cannot be 0 again.
 */
static task_t *linux24_pick_next(sched_t *s, u32 cpu, task_t *prev, u32 why)
{
	u32 still_running = why == PREV_YIELDED || why == PREV_PREEMPTED;
	u32 this_mm = active_mm(s, cpu, prev);
	task_t *candidate = still_running ? prev : NULL;
	task_t *next;

	if (prev && refill_rr(s, prev) && still_running)
		move_last_runqueue(s, prev);
	if (!best_goodness(s, cpu, candidate, this_mm, &next)) {
		recalculate(s);
		best_goodness(s, cpu, candidate, this_mm, &next);
	}
	if (next && next == prev)
		linux_task(prev)->yielded = false;
	return next;
}

static void linux24_switched(sched_t *s, u32 cpu, task_t *prev, task_t *next)
{
	schedule_tail(s, cpu, prev);
}

/* ---- system calls ---------------------------------------------------------- */

/* setpriority() writes a field that goodness() reads the next time: there is no hook for it. */

/* Is any runnable task not running already? */
static u32 others_pending(sched_t *s)
{
	u32 cpu, nr_pending = glob_of(s)->nr_running;

	for_each_cpu(s, cpu)
		nr_pending -= cpu_curr(s, cpu) != NULL;
	return nr_pending != 0;
}

static u32 linux24_yield(sched_t *s, task_t *p)
{
	if (tun(s)->yield_if_others && !others_pending(s))
		return false;
	if (!task_is_rt(p))
		linux_task(p)->yielded = true;
	if (tun(s)->yield_to_tail)
		move_last_runqueue(s, p);
	return true;
}

/* sched_setscheduler() writes the whole policy field, the yield bit too, and reschedules its caller. */
static void linux24_set_class(sched_t *s, task_t *p, u32 old_class, u32 old_rt_priority)
{
	linux_task(p)->yielded = false;
	if (list_linked(&linux_task(p)->run_list))
		move_first_runqueue(s, p);
	resched_cpu(s, s->this_cpu);
}

/* For the checks. */
static u32 linux24_queued(sched_t *s, task_t *p)
{
	return list_linked(&linux_task(p)->run_list);
}

#ifndef LINUX24_AS_A_PART
static const struct variant linux24_variants[] = {
	{ "2.4.16", "late 2.4: only list order breaks ties", LINUX_2_4_16 },
	{ "2.4.0", "early 2.4: the previous task wins ties, a woken task must be better by 2", LINUX_2_4_0 },
	{ "2.3.99", "what the ELSC paper compares with: slices of 200 ms, every yield counts", "" },
};

POLICY(linux24,
	.summary = "Linux 2.4: one list, the task with the best goodness() runs",
	TUNABLES,
	VARIANTS(linux24_variants),
	.lock = LOCK_GLOBAL,
	.promise = {
		.conserving = CONSERVING_QUEUE,
		.nice = NICE_ORDERED,	/* neighbouring values can have equal slices */
		/* No bound: a task that sleeps at every tick is never charged and can starve the rest. */
	},
	.init = linux24_init,
	.fork = goodness_fork,
	.exit = goodness_exit,
	.enqueue = linux24_enqueue,
	.dequeue = linux24_dequeue,
	.pick_next = linux24_pick_next,
	.switched = linux24_switched,
	.tick = goodness_tick,
	.yield = linux24_yield,
	.set_class = linux24_set_class,
	.priority = goodness_priority,
	.queued = linux24_queued,
);
#endif
