/* SPDX-License-Identifier: GPL-2.0-only */
/* Forgets the task it is given. */
#define ENQUEUE losing_enqueue
#include "base.h"

static void losing_enqueue(sched_t *s, task_t *p, u32 flags)
{
	resched_cpu(s, p->cpu);
}

BASE(losing);
