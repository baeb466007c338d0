/* SPDX-License-Identifier: GPL-2.0-only */
/* Divides by zero. */
#define ENQUEUE dividing_enqueue
#include "base.h"

static void dividing_enqueue(sched_t *s, task_t *p, u32 flags)
{
	volatile u64 zero = 0;

	resched_cpu(s, (u32)(s->now / zero));
}

BASE(dividing);
