/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * kernel.h - the parts of the kernel that the back end uses: types, helpers, kfuncs, values.
 *
 * The structures contain only the fields that are read.  Each access is a CO-RE relocation: the
 * loader finds the field by name in the running kernel, and refuses to load if the field is
 * missing.  The names are the kernel's (include/linux/sched.h, kernel/sched/ext/).  The numbers
 * of the helpers are those of enum bpf_func_id in include/uapi/linux/bpf.h, which never change.
 *
 * This file is included after the policy, so that a policy may use any name.  Names below that
 * a policy could use start with host_.
 */
#ifndef SCHEDLAB_BPF_KERNEL_H
#define SCHEDLAB_BPF_KERNEL_H

/* ---- how objects are built ----------------------------------------------- */

#define SEC(name)	__attribute__((section(name), used))
#define __always_inline	inline __attribute__((always_inline))
#define __noinline	__attribute__((noinline))
#define __weak		__attribute__((weak))
#define __ksym		__attribute__((section(".ksyms")))
#define __kptr		__attribute__((btf_type_tag("kptr")))
#define __relocated	__attribute__((preserve_access_index))
#define __uint(name, value)	int (*name)[value]
#define __type(name, of)	of *name
#define READ_ONCE(x)	(*(const volatile __typeof__(x) *)&(x))

typedef _Bool bool_t;

/* Programs of struct_ops get their arguments as an array of u64. */
#define OPS(name)	SEC("struct_ops/" #name)
#define ARGUMENT(ctx, i, of)	((of)(ctx)[i])

/* True if the running kernel has this kfunc; only for kfuncs declared __weak. */
#define host_kernel_has(kfunc)	(!!(kfunc))

/* The running kernel's value of an enumerator. */
#define host_kernel_value(of, name) \
	((u64)__builtin_preserve_enum_value(*(__typeof__(enum of) *)name, 1))

/* ---- types ------------------------------------------------------------------ */

enum bpf_map_type { BPF_MAP_TYPE_ARRAY = 2, BPF_MAP_TYPE_ARENA = 33 };
enum { BPF_F_MMAPABLE = 1 << 10 };

struct bpf_timer { u64 opaque[2]; } __attribute__((aligned(8)));

struct sched_ext_entity {
	u32 flags;
	u64 slice;
	u64 dsq_vtime;
} __relocated;

struct mm_struct;

/* CO-RE ignores ___ and what follows; a policy may have its own struct sched_entity. */
struct sched_entity___kernel {
	unsigned char custom_slice;
	u64 slice;
} __relocated;

struct task_struct {
	unsigned int __state;
	unsigned int flags;
	int static_prio;
	unsigned int policy;
	int nr_cpus_allowed;
	const void *cpus_ptr;
	unsigned short migration_disabled;
	struct mm_struct *mm;
	int exit_state;
	int pid;
	int tgid;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	char comm[16];
	struct sched_entity___kernel se;
	struct sched_ext_entity scx;
} __relocated;

enum scx_exit_kind { SCX_EXIT_NONE };

struct scx_exit_info {
	enum scx_exit_kind kind;
	s64 exit_code;
	const char *reason;
	char *msg;
	char *dump;
} __relocated;

/*
 * The loader matches the members by name with the kernel's.  It writes the first members itself
 * and knows their order (crates/live).
 */
struct sched_ext_ops {
	u64 flags;
	u64 hotplug_seq;
	u32 timeout_ms;
	u32 exit_dump_len;
	char name[128];
	s32 (*select_cpu)(struct task_struct *, s32, u64);
	void (*enqueue)(struct task_struct *, u64);
	void (*dispatch)(s32, struct task_struct *);
	void (*tick)(struct task_struct *);
	void (*quiescent)(struct task_struct *, u64);
	bool_t (*yield)(struct task_struct *, struct task_struct *);
	void (*set_weight)(struct task_struct *, u32);
	void (*set_cpumask)(struct task_struct *, const void *);
	void (*enable)(struct task_struct *);
	void (*disable)(struct task_struct *);
	s32 (*init)(void);
	void (*exit)(struct scx_exit_info *);
};

enum scx_enq_flags { SCX_ENQ_WAKEUP = 1 };
enum scx_deq_flags { SCX_DEQ_SLEEP = 1 };
enum scx_wake_flags { SCX_WAKE_FORK = 4, SCX_WAKE_TTWU = 8, SCX_WAKE_SYNC = 16 };
enum scx_kick_flags { SCX_KICK_IDLE = 1, SCX_KICK_PREEMPT = 2 };
enum scx_dsq_id_flags { SCX_DSQ_LOCAL_ON = 0xc000000000000000ull };

/* Constants of the user-space interface, and constants that never changed. */
#define SCX_SLICE_INF		(~0ull)
#define NUMA_NO_NODE		(-1)
#define CLOCK_MONOTONIC		1
#define KERNEL_SCHED_BATCH		3
#define KERNEL_SCHED_IDLE		5
#define PF_EXITING		0x00000004
#define PF_KTHREAD		0x00200000
#define TASK_UNINTERRUPTIBLE	0x00000002
#define TASK_DEAD		0x00000080
#define TASK_NOLOAD		0x00000400
#define TASK_NEW		0x00000800
#define DEFAULT_PRIO		120
#define HARDIRQ_AND_SOFTIRQ	0x000fff00u	/* bits of the preemption count: in an interrupt or a softirq */
#define IN_SOFTIRQ_DISABLED	0x0000fe00u	/* softirqs are disabled, counted in steps of two */

/* ---- helpers and kfuncs ------------------------------------------------------- */

static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static u64 (*const bpf_ktime_get_ns)(void) = (void *)5;
static u32 (*const bpf_get_smp_processor_id)(void) = (void *)8;
static long (*const bpf_probe_read_kernel)(void *to, u32 size, const void *from) = (void *)113;
static long (*const bpf_probe_read_kernel_str)(void *to, u32 size, const void *from) = (void *)115;
static void *(*const bpf_this_cpu_ptr)(const void *percpu) = (void *)154;
static struct task_struct *(*const bpf_get_current_task_btf)(void) = (void *)158;
static long (*const bpf_timer_init)(struct bpf_timer *, void *map, u64 flags) = (void *)169;
static long (*const bpf_timer_set_callback)(struct bpf_timer *, void *callback) = (void *)170;
static long (*const bpf_timer_start)(struct bpf_timer *, u64 ns, u64 flags) = (void *)171;
static void *(*const bpf_kptr_xchg)(void *at, void *kptr) = (void *)194;

extern struct task_struct *bpf_task_acquire(struct task_struct *p) __ksym;
extern void bpf_task_release(struct task_struct *p) __ksym;
extern void bpf_rcu_read_lock(void) __ksym;
extern void bpf_rcu_read_unlock(void) __ksym;
extern void bpf_local_irq_save(unsigned long *flags) __ksym;
extern void bpf_local_irq_restore(unsigned long *flags) __ksym;
extern void __arena *bpf_arena_alloc_pages(void *map, void __arena *at, u32 pages, int node, u64 flags) __ksym;
extern s32 scx_bpf_task_cpu(const struct task_struct *p) __ksym;
extern void scx_bpf_kick_cpu(s32 cpu, u64 flags) __ksym;
extern void scx_bpf_error_bstr(char *fmt, unsigned long long *data, u32 size) __ksym;
extern bool_t scx_bpf_task_set_slice(struct task_struct *p, u64 slice) __ksym;
extern bool_t scx_bpf_task_set_dsq_vtime(struct task_struct *p, u64 vtime) __ksym;
/* Up to 6.18 it returned nothing.  CO-RE ignores the last ___ and what follows. */
extern bool_t scx_bpf_dsq_insert___v2___schedlab(struct task_struct *p, u64 dsq, u64 slice, u64 flags) __ksym;

extern const u32 __preempt_count __ksym __weak;

/*
 * Stops this scheduler with a message; at most three arguments, numbers or strings of the
 * kernel or of .rodata.
 */
#define host_stop_scheduler(fmt, ...)						\
	({									\
		static char format_[] SEC(".data.messages") = fmt;		\
		unsigned long long data_[] = { __VA_ARGS__ };			\
		scx_bpf_error_bstr(format_, data_, sizeof(data_));		\
	})
#endif
