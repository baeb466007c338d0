/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * elsc - Molloy and Honeyman's table-based scheduler for Linux 2.3.99 (FREENIX 2001).
 *
 * goodness() has a static part, counter + priority, which does not change while
 * a task waits, and a dynamic part, the bonuses, which depends on the CPU and its
 * last task.  ELSC sorts the waiting tasks by the static part into a table of 30
 * lists, so that schedule() examines only a few tasks of the highest list instead
 * of every task.  It aims at the stock scheduler's choices at a lower cost.
 *
 * Slices, goodness and wakeups are the stock scheduler's: see linux24/goodness.h.
 *
 * FIDELITY: the paper sets run_list.prev to NULL to say "on the run queue but in
 * no list".  Here the host knows which tasks are runnable, and linked means in a list.
 */
#include "policy.h"

#define POLICY_OWN_TUNABLES(T)									\
	T(search_limit, 0, 0, 1000000,								\
	  "tasks looked at in one list; 0: half the number of CPUs plus 5 [paper 5.2]")		\
	T(list_width, 4, 1, 1000,								\
	  "static goodness values that share a list [paper 5.1]")				\
	T(mm_shortcut, 1, 0, 1,									\
	  "1: on a UP kernel the first task with the same address space ends the search [paper 5.2]") \
	T(yield_recalculates, 0, 0, 1,								\
	  "a task that yielded and finds no other in its list runs again 0: at once [paper 5.2], "	\
	  "1: after a recalculation, as in the stock scheduler")					\
	T(yield_searches_lower, 0, 0, 1,							\
	  "before a task that yielded runs again, the lists below are 0: not searched [literal], 1: searched") \
	T(yield_moves_last, 0, 0, 1,								\
	  "a task that yielded goes 0: to the front of its list like any other [literal], 1: behind its peers") \
	T(limit_counts_skipped, 1, 0, 1,							\
	  "do tasks that run elsewhere count against search_limit? [not in the paper]")		\
	T(limit_is_hard, 1, 0, 1,								\
	  "nothing found within search_limit: 1: go on with the next list, 0: go on in this one [not in the paper]") \
	T(clamp_lists, 1, 0, 1,									\
	  "1: no SCHED_OTHER task gets into a real-time list, however great its static goodness [not in the paper]") \
	T(zero_means_none, 0, 0, 1,								\
	  "1: top = 0 means an empty table, as the paper has it; tasks of list 0 then starve")
#include "linux24/goodness.h"

#define NR_LISTS	30
#define FIRST_RT_LIST	20	/* 20 + rt_priority / 10; SCHED_OTHER below */
#define NO_LIST		(-1)

struct elsc_table {
	struct list list[NR_LISTS];	/* each: tasks with slice left, then exhausted ones */
	s32 top;			/* highest list with a task that has slice left */
	s32 next_top;			/* highest list with an exhausted task: top after a recalculation */
};

struct elsc_task {
	struct linux_task common;	/* first: linux24/goodness.h expects it there */
	s32 list;			/* its list, while it is in one */
};

POLICY_STATE(struct elsc_table, struct linux_cpu, struct elsc_task)

static s32 elsc_init(sched_t *s)
{
	u32 i;

	repeat(s, i, NR_LISTS)
		list_init(&glob_of(s)->list[i]);
	glob_of(s)->top = NO_LIST;
	glob_of(s)->next_top = NO_LIST;
	return goodness_init(s);
}

/* ---- the table -------------------------------------------------------------- */

static task_t *task_at(list_t *node)
{
	return task_of((ts_t *)list_entry(node, linux_task_t, run_list));
}

/* Waiting tasks are in the table, running ones are not. */
static u32 in_table(task_t *p)
{
	return list_linked(&linux_task(p)->run_list);
}

/* A real-time task with counter 0 is selected by the stock scheduler, so it is here (footnote 2). */
static u32 exhausted(task_t *p)
{
	return !task_is_rt(p) && !linux_task(p)->counter;
}

/* The paper's two test routines: exhausted tasks are behind all others. */
static u32 has_unexhausted(list_t *head)
{
	return !list_empty(head) && !exhausted(task_at(head->next));
}

static u32 has_exhausted(list_t *head)
{
	return !list_empty(head) && exhausted(task_at(head->prev));
}

/* An exhausted task is filed where its counter will put it once it is recalculated. */
static s32 list_index(sched_t *s, task_t *p)
{
	s32 index, last = tun(s)->clamp_lists ? FIRST_RT_LIST - 1 : NR_LISTS - 1;
	s32 counter = linux_task(p)->counter;

	if (task_is_rt(p))
		return FIRST_RT_LIST + (s32)(p->rt_priority / 10);
	if (!counter)
		counter = quantum(s, p);
	index = (s32)div_u64((u32)(counter + nice_weight(s, p)), (u64)tun(s)->list_width);
	return min_of(index, last);
}

/* top and next_top may be too high after a removal, never too low. */
static void lower_tops(sched_t *s)
{
	glob_t *t = glob_of(s);

	repeat_while(s, t->top != NO_LIST && !has_unexhausted(&t->list[t->top]))
		t->top--;
	repeat_while(s, t->next_top != NO_LIST && !has_exhausted(&t->list[t->next_top]))
		t->next_top--;
}

static void add_to_runqueue(sched_t *s, task_t *p)
{
	glob_t *t = glob_of(s);
	s32 i = list_index(s, p);

	ts_of(p)->list = i;
	if (exhausted(p)) {
		list_add_tail(&linux_task(p)->run_list, &t->list[i]);
		t->next_top = max_of(t->next_top, i);
	} else {
		list_add(&linux_task(p)->run_list, &t->list[i]);
		t->top = max_of(t->top, i);
	}
}

static void del_from_runqueue(sched_t *s, task_t *p)
{
	list_del(&linux_task(p)->run_list);
	lower_tops(s);
}

/* Behind its peers, but before the exhausted tasks if it is not one of them. */
static void move_last_runqueue(sched_t *s, task_t *p)
{
	list_t *head = &glob_of(s)->list[ts_of(p)->list];
	list_t *last;

	list_del(&linux_task(p)->run_list);
	last = head->prev;
	if (!exhausted(p))
		repeat_while(s, last != head && exhausted(task_at(last)))
			last = last->prev;
	list_insert(&linux_task(p)->run_list, last);
}

static void elsc_enqueue(sched_t *s, task_t *p, u32 flags)
{
	add_to_runqueue(s, p);
	reschedule_woken(s, p, flags);
}

static void elsc_dequeue(sched_t *s, task_t *p, u32 flags)
{
	if (in_table(p))
		del_from_runqueue(s, p);
}

/* ---- schedule() --------------------------------------------------------------- */

/*
 * Every task gets a new slice.  Exhausted tasks are filed in the right list
 * already, which is the point of predicting.  Other waiting tasks are not, but
 * there are none when the paper recalculates; see choose() for when there are.
 */
static void recalculate(sched_t *s)
{
	glob_t *t = glob_of(s);
	list_t *node;
	task_t *p;

	for_each_task(s, p, node) {
		u32 stale = in_table(p) && !exhausted(p);

		if (stale)
			list_del(&linux_task(p)->run_list);
		refill(s, p);
		if (stale)
			add_to_runqueue(s, p);
	}
	t->top = max_of(t->top, t->next_top);
	t->next_top = NO_LIST;
	lower_tops(s);
	recalculated(s, s->nr_tasks);
}

static s64 search_limit(sched_t *s)
{
	return tun(s)->search_limit ? tun(s)->search_limit : s->nr_cpus / 2 + 5;
}

/* What a list's candidates are compared by; its real-time lists know no bonuses. */
static s32 utility(sched_t *s, task_t *p, u32 cpu, u32 this_mm)
{
	if (ts_of(p)->list >= FIRST_RT_LIST)
		return (s32)p->rt_priority;
	return static_goodness(s, p) + goodness_bonus(s, p, cpu, this_mm);
}

/* Without SMP the address space is the only bonus: no later task can have a greater one. */
static u32 ends_search(sched_t *s, task_t *p, u32 this_mm)
{
	return tun(s)->mm_shortcut && !is_smp(s) && !task_is_rt(p) && mm_matches(s, p, this_mm);
}

/*
 * search_list - the best of the first few tasks of list @i, or NULL
 *
 * A task that has just yielded is only noted in @yielder.  "Still running
 * elsewhere" happens where a kernel switches after it has dropped the lock.
 * FIDELITY: 2.3.99 had no affinity.  Tasks that may not run here are passed over
 * without counting, or else a CPU would idle beside a task further down.
 */
static task_t *search_list(sched_t *s, u32 cpu, s32 i, u32 this_mm, task_t **yielder)
{
	list_t *node, *head = &glob_of(s)->list[i];
	s64 left = search_limit(s);
	task_t *best = NULL;
	s32 best_utility = -1;
	u32 nr = 0;

	list_for_each(s, node, head) {
		task_t *p = task_at(node);
		s32 value;

		if (left <= 0 && (best || tun(s)->limit_is_hard))
			break;
		nr++;
		if (!cpu_allowed(p, cpu))
			continue;
		if (p->on_cpu && p->cpu != cpu) {
			left -= tun(s)->limit_counts_skipped;
			continue;
		}
		if (exhausted(p))
			break;
		left--;
		if (linux_task(p)->yielded) {
			*yielder = p;
			continue;
		}
		value = utility(s, p, cpu, this_mm);
		if (ends_search(s, p, this_mm)) {
			best = p;
			break;
		}
		if (value > best_utility) {
			best_utility = value;
			best = p;
		}
	}
	examined(s, nr);
	return best;
}

/* The lowest list that "top" can point to. */
static s32 lowest_list(sched_t *s)
{
	return tun(s)->zero_means_none ? 1 : 0;
}

/* From the top list down, until a list has a task to run. */
static task_t *search_table(sched_t *s, u32 cpu, u32 this_mm)
{
	task_t *next, *yielder = NULL;
	s32 i;

	repeat_down(s, i, glob_of(s)->top, lowest_list(s)) {
		next = search_list(s, cpu, i, this_mm, &yielder);
		if (next)
			return next;
		if (yielder && !tun(s)->yield_searches_lower)
			break;
	}
	return yielder;
}

/*
 * Does an exhausted task wait that may run on @cpu?  Where all tasks may run
 * everywhere that is whether next_top is set, and the first look tells.
 */
static u32 exhausted_for(sched_t *s, u32 cpu)
{
	list_t *node, *head;
	s32 i;

	repeat_down(s, i, glob_of(s)->next_top, lowest_list(s)) {
		head = &glob_of(s)->list[i];
		list_for_each_back(s, node, head) {
			if (!exhausted(task_at(node)))
				break;
			if (cpu_allowed(task_at(node), cpu))
				return true;
			examined(s, 1);
		}
	}
	return false;
}

/*
 * The task to run; all candidates are in the table.  If top is not set the search
 * finds none; if next_top is not set either the table is empty and the CPU
 * idles.  FIDELITY: with affinity it can also be that tasks with slice left
 * may not run here and tasks that may run here are exhausted; stock recalculates then, and
 * so does this.
 */
static task_t *choose(sched_t *s, u32 cpu, u32 this_mm)
{
	task_t *next = search_table(s, cpu, this_mm);

	if (!next && exhausted_for(s, cpu)) {
		recalculate(s);
		next = search_table(s, cpu, this_mm);
	}
	if (next && linux_task(next)->yielded && tun(s)->yield_recalculates) {
		linux_task(next)->yielded = false;
		recalculate(s);
		next = search_table(s, cpu, this_mm);
	}
	return next;
}

static task_t *elsc_pick_next(sched_t *s, u32 cpu, task_t *prev, u32 why)
{
	u32 still_running = why == PREV_YIELDED || why == PREV_PREEMPTED;
	task_t *next;

	if (still_running) {
		add_to_runqueue(s, prev);
		if (tun(s)->yield_moves_last && linux_task(prev)->yielded)
			move_last_runqueue(s, prev);
	}
	if (prev && refill_rr(s, prev) && still_running)
		move_last_runqueue(s, prev);
	next = choose(s, cpu, active_mm(s, cpu, prev));
	if (next)
		del_from_runqueue(s, next);
	if (prev)
		linux_task(prev)->yielded = false;
	return next;
}

static void elsc_switched(sched_t *s, u32 cpu, task_t *prev, task_t *next)
{
	schedule_tail(s, cpu, prev);
}

/* ---- what else moves a task in the table ---------------------------------------- */

/* sched_yield() also calls move_last_runqueue(), but a running task is in no list: only the bit matters. */
static u32 elsc_yield(sched_t *s, task_t *p)
{
	if (!task_is_rt(p))
		linux_task(p)->yielded = true;
	return true;
}

/* The reaper's counter grows; should it be waiting, it has to be filed anew. */
static void elsc_exit(sched_t *s, task_t *p, task_t *reaper)
{
	u32 waiting = reaper && in_table(reaper);

	if (waiting)
		del_from_runqueue(s, reaper);
	goodness_exit(s, p, reaper);
	if (waiting)
		add_to_runqueue(s, reaper);
}

/* "its priority almost never changes, though when it does, the ELSC scheduler adapts accordingly" */
static void file_anew(sched_t *s, task_t *p)
{
	if (!in_table(p))
		return;
	del_from_runqueue(s, p);
	add_to_runqueue(s, p);
}

static void elsc_set_nice(sched_t *s, task_t *p, s32 old_nice)
{
	file_anew(s, p);
}

/* As sched_setscheduler() in the stock scheduler: to the front, and the caller reschedules. */
static void elsc_set_class(sched_t *s, task_t *p, u32 old_class, u32 old_rt_priority)
{
	linux_task(p)->yielded = false;
	file_anew(s, p);
	resched_cpu(s, s->this_cpu);
}

/* For the checks. */
static u32 elsc_queued(sched_t *s, task_t *p)
{
	return in_table(p);
}

POLICY(elsc,
	.summary = "ELSC: Linux 2.3.99 with tasks sorted by static goodness, a few examined",
	TUNABLES,
	.lock = LOCK_GLOBAL,
	.promise = {
		.conserving = CONSERVING_QUEUE,
		.nice = NICE_ORDERED,
		/* No bound, for the stock scheduler's reason: a task that sleeps at every tick is never charged. */
	},
	.init = elsc_init,
	.fork = goodness_fork,
	.exit = elsc_exit,
	.enqueue = elsc_enqueue,
	.dequeue = elsc_dequeue,
	.pick_next = elsc_pick_next,
	.switched = elsc_switched,
	.tick = goodness_tick,
	.yield = elsc_yield,
	.set_nice = elsc_set_nice,
	.set_class = elsc_set_class,
	.priority = goodness_priority,
	.queued = elsc_queued,
);
