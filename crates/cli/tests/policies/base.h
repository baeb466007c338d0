/* SPDX-License-Identifier: GPL-2.0-only */
/* A first-in-first-out policy; an including file replaces hooks by the macros below. */
#include "policy.h"

struct base_glob { struct list queue; };
struct base_task { struct list node; };
POLICY_STATE(struct base_glob, NO_STATE, struct base_task)

static s32 base_init(sched_t *s)
{
	list_init(&glob_of(s)->queue);
	return 0;
}

static inline __unused void base_enqueue(sched_t *s, task_t *p, u32 flags)
{
	list_add_tail(&ts_of(p)->node, &glob_of(s)->queue);
	resched_cpu(s, p->cpu);
}

static void base_dequeue(sched_t *s, task_t *p, u32 flags)
{
	if (list_linked(&ts_of(p)->node))
		list_del(&ts_of(p)->node);
}

static inline __unused task_t *base_pick_next(sched_t *s, u32 cpu, task_t *prev, u32 why)
{
	task_t *next;

	if (why == PREV_YIELDED || why == PREV_PREEMPTED)
		list_add_tail(&ts_of(prev)->node, &glob_of(s)->queue);
	if (list_empty(&glob_of(s)->queue))
		return NULL;
	next = task_of(list_entry(glob_of(s)->queue.next, ts_t, node));
	list_del(&ts_of(next)->node);
	return next;
}

static u32 base_queued(sched_t *s, task_t *p)
{
	return list_linked(&ts_of(p)->node);
}

#ifndef ENQUEUE
#define ENQUEUE	base_enqueue
#endif
#ifndef PICK_NEXT
#define PICK_NEXT	base_pick_next
#endif
#define BASE(name)							\
	POLICY(name, .summary = "broken on purpose", .lock = LOCK_GLOBAL,	\
	       .init = base_init, .enqueue = ENQUEUE, .dequeue = base_dequeue,	\
	       .pick_next = PICK_NEXT, .queued = base_queued)
