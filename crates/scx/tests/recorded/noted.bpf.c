/* SPDX-License-Identifier: GPL-2.0-only */
/* noted.bpf.c - noted.h in a real kernel: notes go to the trace buffer. */
#define SEC(name) __attribute__((section(name), used))
#define KFUNC __attribute__((section(".ksyms")))
#define SCX_DSQ_LOCAL (1ULL << 63 | 2)
#define SLICE 20000000

typedef unsigned long long u64;
typedef unsigned int u32;
typedef int s32;

struct task_struct {
	s32 pid;
} __attribute__((preserve_access_index));
struct scx_init_task_args;
struct scx_exit_task_args;

struct sched_ext_ops {
	s32 (*select_cpu)(struct task_struct *p, s32 prev_cpu, u64 wake_flags);
	void (*enqueue)(struct task_struct *p, u64 enq_flags);
	void (*dequeue)(struct task_struct *p, u64 deq_flags);
	void (*dispatch)(s32 cpu, struct task_struct *prev);
	void (*tick)(struct task_struct *p);
	void (*runnable)(struct task_struct *p, u64 enq_flags);
	void (*running)(struct task_struct *p);
	void (*stopping)(struct task_struct *p, _Bool runnable);
	void (*quiescent)(struct task_struct *p, u64 deq_flags);
	void (*set_weight)(struct task_struct *p, u32 weight);
	void (*enable)(struct task_struct *p);
	void (*disable)(struct task_struct *p);
	s32 (*init_task)(struct task_struct *p, struct scx_init_task_args *args);
	void (*exit_task)(struct task_struct *p, struct scx_exit_task_args *args);
	s32 (*init)(void);
	char name[128];
};

extern s32 scx_bpf_create_dsq(u64 dsq_id, s32 node) KFUNC;
extern void scx_bpf_dsq_insert(struct task_struct *p, u64 dsq_id, u64 slice, u64 enq_flags) KFUNC;
extern _Bool scx_bpf_dsq_move_to_local(u64 dsq_id) KFUNC;
extern s32 scx_bpf_select_cpu_dfl(struct task_struct *p, s32 prev_cpu, u64 wake_flags, _Bool *is_idle) KFUNC;

static long (*const bpf_trace_printk)(const char *fmt, u32 size, ...) = (void *)6;

#define note(what, who, number) ({						\
	static const char format[] = "@" what " %d %llx";			\
	bpf_trace_printk(format, sizeof(format), who, (u64)(number));		\
})

static inline __attribute__((always_inline)) s32 number_of(struct task_struct *p)
{
	return p ? p->pid : 0;
}

#define TASK ((struct task_struct *)ctx[0])
#define OP(name) __attribute__((section("struct_ops/" #name), used)) int noted_##name(u64 *ctx)
#define OP_SLEEPS(name) __attribute__((section("struct_ops.s/" #name), used)) int noted_##name(u64 *ctx)
#include "noted.h"

#define MEMBER(name) .name = (void *)noted_##name
SEC(".struct_ops.link")
struct sched_ext_ops noted = {
	MEMBER(select_cpu), MEMBER(enqueue), MEMBER(dequeue), MEMBER(dispatch), MEMBER(tick), MEMBER(runnable),
	MEMBER(running), MEMBER(stopping), MEMBER(quiescent), MEMBER(set_weight), MEMBER(enable), MEMBER(disable),
	MEMBER(init_task), MEMBER(exit_task), MEMBER(init),
	.name = "noted",
};

char _license[] SEC("license") = "GPL";
