/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * main.bpf.c - makes any policy a sched_ext scheduler.
 *
 * Compiled once for each policy with -DPOLICY_SOURCE='"path"'.  Hooks are called through the
 * constant table; the compiler turns these into direct calls.
 */
#include POLICY_SOURCE
#include "kernel.h"
#include "machine.h"
#include "hooks.h"
#include "locking.h"
#include "tasks.h"
#include "schedule.h"
#include "ops.h"
#include "timers.h"
#include "start.h"
#include "statistics.h"
#include "conform.h"
#include "ending.h"

char host_license[] SEC("license") = "GPL";

SEC(".struct_ops.link") struct sched_ext_ops schedlab_ops = {
	.name = "schedlab",
	.select_cpu = (void *)select_cpu_op,
	.enqueue = (void *)enqueue_op,
	.dispatch = (void *)dispatch_op,
	.tick = (void *)tick_op,
	.quiescent = (void *)quiescent_op,
	.yield = (void *)yield_op,
	.set_weight = (void *)set_weight_op,
	.set_cpumask = (void *)set_cpumask_op,
	.enable = (void *)enable_op,
	.disable = (void *)disable_op,
	.init = (void *)init_op,
	.exit = (void *)exit_op,
};
