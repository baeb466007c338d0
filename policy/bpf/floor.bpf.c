/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * floor.bpf.c - the least a sched_ext scheduler can do: first come, first served.
 *
 * No policy and no contract: the kernel keeps the queue.  What it costs is the
 * price of sched_ext itself, beside which that of a policy is to be seen.
 */
#include "types.h"
#include "kernel.h"
#include "ending.h"

char floor_license[] SEC("license") = "GPL";

#define GLOBAL_QUEUE	((1ull << 63) | 1)	/* SCX_DSQ_GLOBAL */
#define SLICE_NS	20000000		/* SCX_SLICE_DFL */

OPS(enqueue) void enqueue_op(u64 *ctx)
{
	scx_bpf_dsq_insert___v2___schedlab((struct task_struct *)ctx[0], GLOBAL_QUEUE, SLICE_NS, ctx[1]);
}

SEC(".struct_ops.link") struct sched_ext_ops schedlab_ops = {
	.name = "schedlab_floor",
	.enqueue = (void *)enqueue_op,
	.exit = (void *)exit_op,
};
