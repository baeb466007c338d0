/* SPDX-License-Identifier: GPL-2.0-only */
/* Follows a stray pointer. */
#define ENQUEUE stray_enqueue
#include "base.h"

static void stray_enqueue(sched_t *s, task_t *p, u32 flags)
{
	*(volatile u64 *)(s->now + 8) = 1;
}

BASE(stray);
