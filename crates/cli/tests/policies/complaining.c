/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds fault with itself. */
#define ENQUEUE complaining_enqueue
#include "base.h"

static void complaining_enqueue(sched_t *s, task_t *p, u32 flags)
{
	policy_error(s, "cannot cope", p);
}

BASE(complaining);
