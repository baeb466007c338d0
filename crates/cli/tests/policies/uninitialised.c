/* SPDX-License-Identifier: GPL-2.0-only */
/* Uses a variable that has no value yet. */
#define ENQUEUE uninitialised_enqueue
#include "base.h"

static void uninitialised_enqueue(sched_t *s, task_t *p, u32 flags)
{
	static const u32 powers[4] = { 1, 2, 4, 8 };
	u32 which;

	if (powers[which] > p->id)
		resched_cpu(s, p->cpu);
	base_enqueue(s, p, flags);
}

BASE(uninitialised);
