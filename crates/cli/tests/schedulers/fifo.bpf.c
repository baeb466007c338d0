/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A scheduler for tests: one queue for all, first in, first out.  MISSING names a kfunc that no kernel has, BARE leaves
 * out the table of operations.
 */

#define SEC(name) __attribute__((section(name), used))
#define KFUNC __attribute__((section(".ksyms")))
#define LOCAL (1ULL << 63 | 2)
#define QUEUE 0

typedef unsigned long long u64;
typedef unsigned int u32;
typedef int s32;

/* Nothing of it is looked at, but libbpf compares functions by the kinds of their types. */
struct task_struct {
	s32 pid;
} __attribute__((preserve_access_index));

struct sched_ext_ops {
	void (*enqueue)(struct task_struct *p, u64 enq_flags);
	void (*dispatch)(s32 cpu, struct task_struct *prev);
	s32 (*init)(void);
	u64 flags;
	char name[128];
};

extern s32 scx_bpf_create_dsq(u64 dsq_id, s32 node) KFUNC;
extern void scx_bpf_dsq_insert(struct task_struct *p, u64 dsq_id, u64 slice, u64 enq_flags) KFUNC;
extern _Bool scx_bpf_dsq_move_to_local(u64 dsq_id) KFUNC;
extern void scx_bpf_of_no_kernel(void) KFUNC;

const volatile u64 slice_ns = 5000000;

SEC("struct_ops/fifo_enqueue")
int fifo_enqueue(u64 *arguments)
{
#ifdef MISSING
	scx_bpf_of_no_kernel();
#endif
	scx_bpf_dsq_insert((struct task_struct *)arguments[0], QUEUE, slice_ns, arguments[1]);
	return 0;
}

SEC("struct_ops/fifo_dispatch")
int fifo_dispatch(u64 *arguments)
{
	scx_bpf_dsq_move_to_local(QUEUE);
	return 0;
}

SEC("struct_ops.s/fifo_init")
int fifo_init(u64 *arguments)
{
	return scx_bpf_create_dsq(QUEUE, -1);
}

#ifndef BARE
SEC(".struct_ops.link")
struct sched_ext_ops fifo = {
	.enqueue = (void *)fifo_enqueue,
	.dispatch = (void *)fifo_dispatch,
	.init = (void *)fifo_init,
	.name = "fifo",
};
#endif

char _license[] SEC("license") = "GPL";
