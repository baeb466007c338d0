/* SPDX-License-Identifier: GPL-2.0-only */
/* Never picks a task. */
#define PICK_NEXT lazy_pick_next
#include "base.h"

static task_t *lazy_pick_next(sched_t *s, u32 cpu, task_t *prev, u32 why)
{
	base_pick_next(s, cpu, prev, why);
	return NULL;
}

BASE(lazy);
