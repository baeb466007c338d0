/* SPDX-License-Identifier: GPL-2.0-only */
/* Calls itself for ever, in a way compilers make a loop of. */
#define ENQUEUE recursive_enqueue
#include "base.h"

static u32 recursive_spin(volatile u64 *x)
{
	*x += 1;
	return recursive_spin(x);
}

static void recursive_enqueue(sched_t *s, task_t *p, u32 flags)
{
	u64 x = 0;

	recursive_spin(&x);
}

BASE(recursive);
