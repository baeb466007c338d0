/* SPDX-License-Identifier: GPL-2.0-only */
/* Goes round for ever, within the contract's loop macros. */
#define ENQUEUE looping_enqueue
#include "base.h"

static void looping_enqueue(sched_t *s, task_t *p, u32 flags)
{
	repeat_while(s, p->id < 1000)
		resched_cpu(s, p->cpu);
}

BASE(looping);
