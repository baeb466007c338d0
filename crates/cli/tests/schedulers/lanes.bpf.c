/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A scheduler for tests that needs its user-space part: tasks are in two lanes by their process ids, and only the lane
 * that user space has opened runs.
 */

#define SEC(name) __attribute__((section(name), used))
#define KFUNC __attribute__((section(".ksyms")))
#define __uint(name, value) int (*name)[value]
#define __type(name, value) typeof(value) *name

typedef unsigned long long u64;
typedef unsigned int u32;
typedef int s32;

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

static u64 (*bpf_ktime_get_ns)(void) = (void *)5;
static void *(*bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;

/* Written by user space, where both see it. */
volatile u32 open_lane;

/* Read and written by user space with bpf(2): how often each lane was given a task. */
struct {
	__uint(type, 1); /* BPF_MAP_TYPE_HASH */
	__uint(max_entries, 2);
	__type(key, u32);
	__type(value, u64);
} given SEC(".maps");

SEC("struct_ops/lanes_enqueue")
int lanes_enqueue(u64 *arguments)
{
	struct task_struct *p = (struct task_struct *)arguments[0];
	u32 lane = p->pid & 1;
	u64 *count = bpf_map_lookup_elem(&given, &lane);

	if (count)
		++*count;
	scx_bpf_dsq_insert(p, lane, 5000000, arguments[1]);
	return 0;
}

SEC("struct_ops/lanes_dispatch")
int lanes_dispatch(u64 *arguments)
{
	scx_bpf_dsq_move_to_local(open_lane);
	return 0;
}

SEC("struct_ops.s/lanes_init")
int lanes_init(u64 *arguments)
{
	return scx_bpf_create_dsq(0, -1) ?: scx_bpf_create_dsq(1, -1);
}

/* Tells the time; run by user space. */
SEC("syscall")
int tell_time(u64 *context)
{
	*context = bpf_ktime_get_ns();
	return 0;
}

SEC(".struct_ops.link")
struct sched_ext_ops lanes = {
	.enqueue = (void *)lanes_enqueue,
	.dispatch = (void *)lanes_dispatch,
	.init = (void *)lanes_init,
	.name = "lanes",
};

char gpl[] SEC("license") = "GPL";
