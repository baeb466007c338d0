/* SPDX-License-Identifier: GPL-2.0-only */
/* Says that it can never get here, and gets here. */
#define ENQUEUE trapping_enqueue
#include "base.h"

static void trapping_enqueue(sched_t *s, task_t *p, u32 flags)
{
	__builtin_trap();
}

BASE(trapping);
