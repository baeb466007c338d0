/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * floor.bpf.c - the least a sched_ext scheduler can do: first come, first served.
 *
 * No policy and no contract: the kernel keeps the queue.  What it costs is the
 * price of sched_ext itself, beside which that of a policy is to be seen.  With
 * preempt_on_wakeup it also does the one thing that a queue in order of arrival
 * never needs, and many policies do: whoever wakes ends the run of who is there.
 */
#include "types.h"
#include "kernel.h"
#include "ending.h"

char floor_license[] SEC("license") = "GPL";

#define GLOBAL_QUEUE	((1ull << 63) | 1)	/* SCX_DSQ_GLOBAL */
#define SLICE_NS	20000000		/* SCX_SLICE_DFL */

/* The loader sets it. */
const volatile u32 preempt_on_wakeup SEC(".rodata.floor") = 0;

OPS(enqueue) void enqueue_op(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];

	scx_bpf_dsq_insert___v2___schedlab(p, GLOBAL_QUEUE, SLICE_NS, ctx[1]);
	if (preempt_on_wakeup && ctx[1] & host_kernel_value(scx_enq_flags, SCX_ENQ_WAKEUP))
		scx_bpf_kick_cpu(scx_bpf_task_cpu(p), host_kernel_value(scx_kick_flags, SCX_KICK_PREEMPT));
}

SEC(".struct_ops.link") struct sched_ext_ops schedlab_ops = {
	.name = "schedlab_floor",
	.enqueue = (void *)enqueue_op,
	.exit = (void *)exit_op,
};
