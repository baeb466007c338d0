/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * floor.bpf.c - the smallest possible sched_ext scheduler: first come, first served.
 *
 * It has no policy; the kernel keeps the queue.  Its cost is the cost of sched_ext itself, to
 * compare with the cost of a policy.  With preempt_on_wakeup every woken task also preempts the
 * task that runs on its CPU, as many policies do.
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
