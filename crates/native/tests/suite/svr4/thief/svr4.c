/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * svr4.c - svr4 on a machine with a second CPU that moves while a hook waits for a lock.
 *
 * The native back end runs one hook at a time and every lock is free, so nothing
 * changes between a look at a task and the lock of its queue.  Here an idle
 * CPU takes a task from the queue just before a hook gets that queue's lock, as
 * it may in a kernel.  If the hook then changes a task of a queue that it has not
 * locked, the policy reports an error.
 */
#include "dialect.h"

#undef take_rq_lock
#undef drop_rq_lock
#undef DIALECT_PROTOTYPES
#define take_rq_lock(s, cpu)	lock_after_theft(s, cpu)
#define drop_rq_lock(s, cpu)	look_and_unlock(s, cpu)
#define DIALECT_PROTOTYPES				\
	static u32 lock_after_theft(sched_t *s, u32 cpu);	\
	static void look_and_unlock(sched_t *s, u32 cpu);

#include "svr4/svr4.c"

#define THIEF	1u	/* the CPU that steals */

static u32 locked;	/* locks held, a bit for each CPU */
static ts_t *stolen;
static s32 stolen_pri;

/* As steal() does it, which holds both locks. */
static void help_oneself(sched_t *s, u32 from)
{
	ts_t *p = disp_getbest(s, rq_of(s, from), THIEF);

	if (!p)
		return;
	note_locked(s, from);
	note_locked(s, THIEF);
	dispdeq(s, p);
	move_task(s, task_of(p), THIEF);
	setbackdq(s, p);
	note_unlocked(s, THIEF);
	note_unlocked(s, from);
	stolen = p;
	stolen_pri = p->pri;
}

static u32 lock_after_theft(sched_t *s, u32 cpu)
{
	if (!locked && cpu != THIEF && !cpu_curr(s, THIEF))
		help_oneself(s, cpu);
	locked |= 1u << cpu;
	return true;
}

static void look_and_unlock(sched_t *s, u32 cpu)
{
	if (stolen && stolen->pri != stolen_pri && !(locked & 1u << THIEF))
		policy_error(s, "a task of a queue that is not locked was changed", task_of(stolen));
	if (cpu == THIEF)
		stolen = NULL;
	locked &= ~(1u << cpu);
}
