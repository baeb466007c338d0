/* SPDX-License-Identifier: GPL-2.0-only */
/* layout.c - the sizes and offsets ffi.rs must agree with, in the order its test lists them. */
#include "policy.h"

const u64 schedlab_layout[] = {
	sizeof(struct task), __builtin_offsetof(struct task, id), __builtin_offsetof(struct task, nr_allowed),
	sizeof(struct cpu), __builtin_offsetof(struct cpu, need_resched), __builtin_offsetof(struct cpu, node),
	sizeof(struct sched), __builtin_offsetof(struct sched, tasks), __builtin_offsetof(struct sched, error),
	__builtin_offsetof(struct sched, work), __builtin_offsetof(struct sched, counters),
	sizeof(struct policy), __builtin_offsetof(struct policy, promise), __builtin_offsetof(struct policy, init),
	__builtin_offsetof(struct policy, queued),
	sizeof(struct tunable), sizeof(struct variant), sizeof(struct cpumask),
};
