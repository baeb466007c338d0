// SPDX-License-Identifier: GPL-2.0
/*
 * The types and functions of the simulated kernel that BPF programs see.  Only its BTF is used.
 */

typedef unsigned char u8;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;
typedef _Bool bool;

struct cpumask {
	unsigned long bits[16];
};

struct bpf_cpumask {
	struct cpumask cpumask;
	u32 usage;
};

struct sched_ext_entity {
	u32 flags;
	u32 weight;
	u64 slice;
	u64 dsq_vtime;
};

struct task_struct {
	u32 flags;
	s32 pid;
	s32 tgid;
	const struct cpumask *cpus_ptr;
	struct sched_ext_entity scx;
	char comm[16];
};

struct rq {
	s32 cpu;
};

struct rq runqueues __attribute__((section(".data..percpu")));

struct bpf_cpumask *bpf_cpumask_create(void) { return 0; }

u64 scx_bpf_now(void) { return 0; }

struct task_struct *bpf_task_from_pid(s32 pid) { return 0; }
