/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * main.bpf.c - makes any policy a sched_ext scheduler.
 *
 * Built once for each policy with -DPOLICY_SOURCE='"path"'.  Hooks are called
 * through the constant table, which folds into direct calls.
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

char host_license[] SEC("license") = "GPL";

/* ---- why it ended ------------------------------------------------------------------- */

struct host_exit_record {
	s64 code;
	char reason[128];
	char message[1024];
	char dump[32768];
	u32 kind;			/* written last */
};
struct host_exit_record exit_record SEC(".data.exit");

OPS(exit) void exit_op(u64 *ctx)
{
	struct scx_exit_info *info = (void *)ctx[0];

	bpf_probe_read_kernel_str(exit_record.reason, sizeof(exit_record.reason), info->reason);
	bpf_probe_read_kernel_str(exit_record.message, sizeof(exit_record.message), info->msg);
	bpf_probe_read_kernel_str(exit_record.dump, sizeof(exit_record.dump), info->dump);
	exit_record.code = info->exit_code;
	__sync_val_compare_and_swap(&exit_record.kind, exit_record.kind, (u32)info->kind);
}

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
