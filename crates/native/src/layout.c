/* SPDX-License-Identifier: GPL-2.0-only */
/* layout.c - sizes and offsets that ffi.rs must match, in the order of its test. */
#include "types.h"

#define OFFSET(of, member)	__builtin_offsetof(struct of, member)
#define HOST_OFFSET(of, member)	__builtin_offsetof(struct of, host_only.member)

#define HOST_OFFSETS								\
	HOST_OFFSET(task, moved_next), HOST_OFFSET(task, moved_from),		\
	HOST_OFFSET(task, work_left_at),					\
	HOST_OFFSET(cpu, resched_next), HOST_OFFSET(cpu, hrtick_next),		\
	sizeof(struct group), OFFSET(group, idle), HOST_OFFSET(group, cpu_state),	\
	sizeof(struct group_cpu), OFFSET(group_cpu, throttled),			\
	HOST_OFFSET(sched, rng), HOST_OFFSET(sched, error), HOST_OFFSET(sched, disturb),	\
	HOST_OFFSET(sched, work), HOST_OFFSET(sched, counters)

#include "policy.h"

const u64 schedlab_layout[] = {
	sizeof(struct task), OFFSET(task, id), OFFSET(task, util_max), OFFSET(task, period_ns),
	sizeof(struct cpu), OFFSET(cpu, need_resched), OFFSET(cpu, capacity),
	sizeof(struct sched), OFFSET(sched, tasks),
	HOST_OFFSETS,
	sizeof(struct policy), OFFSET(policy, promise), OFFSET(policy, init), OFFSET(policy, check),
	sizeof(struct tunable), sizeof(struct variant), sizeof(struct cpumask),
};
