/* SPDX-License-Identifier: GPL-2.0-only */
/* Calls itself until the stack is full. */
#define ENQUEUE overflowing_enqueue
#include "base.h"

static u64 overflowing_deep(volatile u64 *up)
{
	volatile u64 here[64];

	here[0] = *up + 1;
	return overflowing_deep(here) + here[0];
}

static void overflowing_enqueue(sched_t *s, task_t *p, u32 flags)
{
	u64 x = 0;

	overflowing_deep(&x);
}

BASE(overflowing);
