/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * types.h - the types of the simulated kernel that BPF programs see.
 *
 * Modelled after Linux 7.1 (stable tree): names, meanings and values of what the
 * model of sched_ext keeps up to date.  A field, an enumerator or a type that is
 * not here does not exist in this kernel: bpf_core_field_exists() and the like
 * say no, and libbpf refuses what cannot do without.  The order of fields is our
 * own; programs are relocated by their loaders.
 */
#ifndef SCHEDLAB_SCX_TYPES_H
#define SCHEDLAB_SCX_TYPES_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char s8;
typedef short s16;
typedef int s32;
typedef long long s64;
typedef u8 __u8;
typedef u32 __u32;
typedef u64 __u64;
typedef s32 __s32;
typedef s64 __s64;
typedef _Bool bool;
typedef unsigned long size_t;

typedef struct {
	int counter;
} atomic_t;

typedef struct {
	long counter;
} atomic_long_t;

struct refcount_struct {
	atomic_t refs;
};
typedef struct refcount_struct refcount_t;

struct list_head {
	struct list_head *next, *prev;
};

struct rb_node {
	unsigned long __rb_parent_color;
	struct rb_node *rb_right, *rb_left;
};

/* CONFIG_NR_CPUS is 1024. */
struct cpumask {
	unsigned long bits[16];
};
typedef struct cpumask cpumask_t;
typedef struct cpumask *cpumask_var_t;

/* ---- control groups -------------------------------------------------------- */

struct cgroup;

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
	int id;
	unsigned int flags;
};

struct kernfs_node {
	const char *name;
	u64 id;
};

/* The root, and groups within groups: MAX_GROUP_DEPTH of policy/types.h. */
#define MAX_CGROUP_LEVELS 17

struct cgroup {
	struct cgroup_subsys_state self;
	unsigned long flags;
	int level;
	struct kernfs_node *kn;
	struct cgroup *ancestors[MAX_CGROUP_LEVELS];
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct task_group {
	struct cgroup_subsys_state css;
	struct task_group *parent;
};

/* ---- tasks ------------------------------------------------------------------- */

struct thread_info {
	unsigned long flags;
	u32 status;
	u32 cpu;
};

struct load_weight {
	unsigned long weight;
	u32 inv_weight;
};

struct sched_entity {
	struct load_weight load;
	u64 exec_start;
	u64 sum_exec_runtime;
	u64 nr_migrations;
};

struct sched_info {
	unsigned long pcount;
	unsigned long long run_delay;
	unsigned long long last_arrival;
	unsigned long long last_queued;
};

struct task_struct;

struct sched_ext_entity {
	u32 flags;
	u32 weight;
	s32 selected_cpu;
	unsigned long runnable_at;
	u64 ddsp_dsq_id;
	u64 ddsp_enq_flags;
	u64 slice;
	u64 dsq_vtime;
	bool disallow;
};

struct mm_struct {
	u64 number;
};

/* Where a task wants its memory: no task of a workload says so. */
typedef struct {
	unsigned long bits[16];
} nodemask_t;

struct mempolicy {
	atomic_t refcnt;
	unsigned short mode;
	unsigned short flags;
	nodemask_t nodes;
	int home_node;
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state;
	unsigned int flags;
	int on_cpu;
	int wake_cpu;
	int on_rq;
	int prio;
	int static_prio;
	int normal_prio;
	unsigned int rt_priority;
	struct sched_entity se;
	struct sched_ext_entity scx;
	struct task_group *sched_task_group;
	unsigned int policy;
	int nr_cpus_allowed;
	const cpumask_t *cpus_ptr;
	cpumask_t cpus_mask;
	unsigned short migration_disabled;
	struct sched_info sched_info;
	struct mm_struct *mm;
	struct mempolicy *mempolicy;
	int exit_state;
	s32 pid;
	s32 tgid;
	struct task_struct *real_parent;
	struct task_struct *parent;
	struct task_struct *group_leader;
	u64 utime;
	u64 stime;
	unsigned long nvcsw;
	unsigned long nivcsw;
	u64 start_time;
	u64 start_boottime;
	char comm[16];
	struct css_set *cgroups;
};

/* What guard(rcu)() of a program has on its stack. */
typedef struct {
	void *lock;
} class_rcu_t;

/* ---- run queues ---------------------------------------------------------------- */

struct scx_rq {
	u32 nr_running;
	u32 cpuperf_target;
};

struct rq {
	unsigned int nr_running;
	struct scx_rq scx;
	struct task_struct *curr;
	struct task_struct *idle;
	u64 clock;
	u64 clock_task;
	u64 clock_pelt;
	unsigned long lost_idle_time;
	int cpu;
};

/* The frequency driver of a CPU; the machines simulated have none, so there is no such object. */
struct cpufreq_cpuinfo {
	unsigned int max_freq;
	unsigned int min_freq;
};

struct cpufreq_policy {
	struct cpufreq_cpuinfo cpuinfo;
	unsigned int min;
	unsigned int max;
	unsigned int cur;
};

/* ---- numbers of sched_ext ------------------------------------------------------ */

enum scx_public_consts {
	SCX_OPS_NAME_LEN	= 128,
	SCX_SLICE_DFL		= 20 * 1000000,
	SCX_SLICE_BYPASS	= 5 * 1000000,
	SCX_SLICE_INF		= 0xffffffffffffffffULL,
};

enum scx_consts {
	SCX_DSP_DFL_MAX_BATCH		= 32,
	SCX_DSP_MAX_LOOPS		= 32,
	SCX_EXIT_BT_LEN			= 64,
	SCX_EXIT_MSG_LEN		= 1024,
	SCX_EXIT_DUMP_DFL_LEN		= 32768,
	SCX_CPUPERF_ONE			= 1024,
	SCX_TASK_ITER_BATCH		= 32,
	SCX_REENQ_LOCAL_MAX_REPEAT	= 256,
};

enum scx_dsq_id_flags {
	SCX_DSQ_FLAG_BUILTIN	= 1ULL << 63,
	SCX_DSQ_FLAG_LOCAL_ON	= 1ULL << 62,
	SCX_DSQ_INVALID		= 1ULL << 63,
	SCX_DSQ_GLOBAL		= 1ULL << 63 | 1,
	SCX_DSQ_LOCAL		= 1ULL << 63 | 2,
	SCX_DSQ_BYPASS		= 1ULL << 63 | 3,
	SCX_DSQ_LOCAL_ON	= 1ULL << 63 | 1ULL << 62,
	SCX_DSQ_LOCAL_CPU_MASK	= 0xffffffffULL,
};

enum scx_ent_flags {
	SCX_TASK_QUEUED			= 1 << 0,
	SCX_TASK_IN_CUSTODY		= 1 << 1,
	SCX_TASK_RESET_RUNNABLE_AT	= 1 << 2,
	SCX_TASK_DEQD_FOR_SLEEP		= 1 << 3,
	SCX_TASK_IMMED			= 1 << 5,
	SCX_TASK_STATE_SHIFT		= 8,
	SCX_TASK_STATE_BITS		= 3,
	SCX_TASK_STATE_MASK		= 7 << 8,
	SCX_TASK_NONE			= 0,
	SCX_TASK_INIT_BEGIN		= 1 << 8,
	SCX_TASK_INIT			= 2 << 8,
	SCX_TASK_READY			= 3 << 8,
	SCX_TASK_ENABLED		= 4 << 8,
	SCX_TASK_DEAD			= 5 << 8,
	SCX_TASK_REENQ_REASON_SHIFT	= 12,
	SCX_TASK_REENQ_REASON_BITS	= 2,
	SCX_TASK_REENQ_REASON_MASK	= 3 << 12,
	SCX_TASK_REENQ_NONE		= 0,
	SCX_TASK_REENQ_KFUNC		= 1 << 12,
	SCX_TASK_REENQ_IMMED		= 2 << 12,
	SCX_TASK_REENQ_PREEMPTED	= 3 << 12,
};

enum scx_ent_dsq_flags {
	SCX_TASK_DSQ_ON_PRIQ	= 1 << 0,
};

enum scx_exit_kind {
	SCX_EXIT_NONE		= 0,
	SCX_EXIT_DONE		= 1,
	SCX_EXIT_UNREG		= 64,
	SCX_EXIT_UNREG_BPF	= 65,
	SCX_EXIT_UNREG_KERN	= 66,
	SCX_EXIT_SYSRQ		= 67,
	SCX_EXIT_PARENT		= 68,
	SCX_EXIT_ERROR		= 1024,
	SCX_EXIT_ERROR_BPF	= 1025,
	SCX_EXIT_ERROR_STALL	= 1026,
};

enum scx_exit_code {
	SCX_ECODE_RSN_HOTPLUG		= 1ULL << 32,
	SCX_ECODE_RSN_CGROUP_OFFLINE	= 2ULL << 32,
	SCX_ECODE_ACT_RESTART		= 1ULL << 48,
};

enum scx_exit_flags {
	SCX_EFLAG_INITIALIZED	= 1ULL << 0,
};

enum scx_ops_flags {
	SCX_OPS_KEEP_BUILTIN_IDLE	= 1ULL << 0,
	SCX_OPS_ENQ_LAST		= 1ULL << 1,
	SCX_OPS_ENQ_EXITING		= 1ULL << 2,
	SCX_OPS_SWITCH_PARTIAL		= 1ULL << 3,
	SCX_OPS_ENQ_MIGRATION_DISABLED	= 1ULL << 4,
	SCX_OPS_ALLOW_QUEUED_WAKEUP	= 1ULL << 5,
	SCX_OPS_BUILTIN_IDLE_PER_NODE	= 1ULL << 6,
	SCX_OPS_ALWAYS_ENQ_IMMED	= 1ULL << 7,
	SCX_OPS_ALL_FLAGS		= 0xff,
	SCX_OPS_HAS_CPU_PREEMPT		= 1ULL << 56,
};

enum scx_wake_flags {
	SCX_WAKE_FORK	= 4,
	SCX_WAKE_TTWU	= 8,
	SCX_WAKE_SYNC	= 16,
};

enum scx_enq_flags {
	SCX_ENQ_WAKEUP		= 1ULL << 0,
	SCX_ENQ_HEAD		= 1ULL << 16,
	SCX_ENQ_CPU_SELECTED	= 1ULL << 20,
	SCX_ENQ_PREEMPT		= 1ULL << 32,
	SCX_ENQ_IMMED		= 1ULL << 33,
	SCX_ENQ_REENQ		= 1ULL << 40,
	SCX_ENQ_LAST		= 1ULL << 41,
	SCX_ENQ_CLEAR_OPSS	= 1ULL << 56,
	SCX_ENQ_DSQ_PRIQ	= 1ULL << 57,
	SCX_ENQ_NESTED		= 1ULL << 58,
	SCX_ENQ_GDSQ_FALLBACK	= 1ULL << 59,
};

enum scx_deq_flags {
	SCX_DEQ_SLEEP		= 1ULL << 0,
	SCX_DEQ_CORE_SCHED_EXEC	= 1ULL << 32,
	SCX_DEQ_SCHED_CHANGE	= 1ULL << 33,
};

enum scx_reenq_flags {
	SCX_REENQ_ANY	= 1ULL << 0,
};

enum scx_pick_idle_cpu_flags {
	SCX_PICK_IDLE_CORE	= 1ULL << 0,
	SCX_PICK_IDLE_IN_NODE	= 1ULL << 1,
};

enum scx_kick_flags {
	SCX_KICK_IDLE		= 1ULL << 0,
	SCX_KICK_PREEMPT	= 1ULL << 1,
	SCX_KICK_WAIT		= 1ULL << 2,
};

enum scx_dsq_iter_flags {
	SCX_DSQ_ITER_REV	= 1U << 16,
};

enum scx_tg_flags {
	SCX_TG_ONLINE	= 1U << 0,
	SCX_TG_INITED	= 1U << 1,
};

enum scx_ops_state {
	SCX_OPSS_NONE,
	SCX_OPSS_QUEUEING,
	SCX_OPSS_QUEUED,
	SCX_OPSS_DISPATCHING,
	SCX_OPSS_QSEQ_SHIFT = 2,
};

enum scx_cpu_preempt_reason {
	SCX_CPU_PREEMPT_RT,
	SCX_CPU_PREEMPT_DL,
	SCX_CPU_PREEMPT_STOP,
	SCX_CPU_PREEMPT_UNKNOWN,
};

/* ---- what operations are given -------------------------------------------------- */

struct scx_exit_info {
	enum scx_exit_kind kind;
	s64 exit_code;
	u64 flags;
	const char *reason;
	unsigned long *bt;
	u32 bt_len;
	char *msg;
	char *dump;
};

struct scx_init_task_args {
	bool fork;
	struct cgroup *cgroup;
};

struct scx_exit_task_args {
	bool cancelled;
};

struct scx_cgroup_init_args {
	u32 weight;
	u64 bw_period_us;
	u64 bw_quota_us;
	u64 bw_burst_us;
};

struct scx_cpu_acquire_args {
};

struct scx_cpu_release_args {
	enum scx_cpu_preempt_reason reason;
	struct task_struct *task;
};

struct scx_dump_ctx {
	enum scx_exit_kind kind;
	s64 exit_code;
	const char *reason;
	u64 at_ns;
	u64 at_jiffies;
};

struct sched_ext_ops;

struct scx_sub_attach_args {
	struct sched_ext_ops *ops;
	char *cgroup_path;
};

struct scx_sub_detach_args {
	struct sched_ext_ops *ops;
	char *cgroup_path;
};

/* The operations of a scheduler. */
struct sched_ext_ops {
	s32 (*select_cpu)(struct task_struct *p, s32 prev_cpu, u64 wake_flags);
	void (*enqueue)(struct task_struct *p, u64 enq_flags);
	void (*dequeue)(struct task_struct *p, u64 deq_flags);
	void (*dispatch)(s32 cpu, struct task_struct *prev);
	void (*tick)(struct task_struct *p);
	void (*runnable)(struct task_struct *p, u64 enq_flags);
	void (*running)(struct task_struct *p);
	void (*stopping)(struct task_struct *p, bool runnable);
	void (*quiescent)(struct task_struct *p, u64 deq_flags);
	bool (*yield)(struct task_struct *from, struct task_struct *to);
	bool (*core_sched_before)(struct task_struct *a, struct task_struct *b);
	void (*set_weight)(struct task_struct *p, u32 weight);
	void (*set_cpumask)(struct task_struct *p, const struct cpumask *cpumask);
	void (*update_idle)(s32 cpu, bool idle);
	void (*cpu_acquire)(s32 cpu, struct scx_cpu_acquire_args *args);
	void (*cpu_release)(s32 cpu, struct scx_cpu_release_args *args);
	s32 (*init_task)(struct task_struct *p, struct scx_init_task_args *args);
	void (*exit_task)(struct task_struct *p, struct scx_exit_task_args *args);
	void (*enable)(struct task_struct *p);
	void (*disable)(struct task_struct *p);
	void (*dump)(struct scx_dump_ctx *ctx);
	void (*dump_cpu)(struct scx_dump_ctx *ctx, s32 cpu, bool idle);
	void (*dump_task)(struct scx_dump_ctx *ctx, struct task_struct *p);
	s32 (*cgroup_init)(struct cgroup *cgrp, struct scx_cgroup_init_args *args);
	void (*cgroup_exit)(struct cgroup *cgrp);
	s32 (*cgroup_prep_move)(struct task_struct *p, struct cgroup *from, struct cgroup *to);
	void (*cgroup_move)(struct task_struct *p, struct cgroup *from, struct cgroup *to);
	void (*cgroup_cancel_move)(struct task_struct *p, struct cgroup *from, struct cgroup *to);
	void (*cgroup_set_weight)(struct cgroup *cgrp, u32 weight);
	void (*cgroup_set_bandwidth)(struct cgroup *cgrp, u64 period_us, u64 quota_us, u64 burst_us);
	void (*cgroup_set_idle)(struct cgroup *cgrp, bool idle);
	s32 (*sub_attach)(struct scx_sub_attach_args *args);
	void (*sub_detach)(struct scx_sub_detach_args *args);
	void (*cpu_online)(s32 cpu);
	void (*cpu_offline)(s32 cpu);
	s32 (*init)(void);
	void (*exit)(struct scx_exit_info *info);
	u32 dispatch_max_batch;
	u64 flags;
	u32 timeout_ms;
	u32 exit_dump_len;
	u64 hotplug_seq;
	u64 sub_cgroup_id;
	char name[128];
	void *priv;
};

enum bpf_struct_ops_state {
	BPF_STRUCT_OPS_STATE_INIT,
	BPF_STRUCT_OPS_STATE_INUSE,
	BPF_STRUCT_OPS_STATE_TOBEFREE,
	BPF_STRUCT_OPS_STATE_READY,
};

struct bpf_struct_ops_common_value {
	refcount_t refcnt;
	enum bpf_struct_ops_state state;
};

/* What BPF_MAP_UPDATE_ELEM of a struct_ops map is given. */
struct bpf_struct_ops_sched_ext_ops {
	struct bpf_struct_ops_common_value common;
	struct sched_ext_ops data __attribute__((aligned(64)));
};

/* ---- arguments and iterators of kfuncs -------------------------------------------- */

struct scx_bpf_dsq_insert_vtime_args {
	u64 dsq_id;
	u64 slice;
	u64 vtime;
	u64 enq_flags;
};

struct scx_bpf_select_cpu_and_args {
	s32 prev_cpu;
	u64 wake_flags;
	u64 flags;
};

struct scx_event_stats {
	s64 SCX_EV_SELECT_CPU_FALLBACK;
	s64 SCX_EV_DISPATCH_LOCAL_DSQ_OFFLINE;
	s64 SCX_EV_DISPATCH_KEEP_LAST;
	s64 SCX_EV_ENQ_SKIP_EXITING;
	s64 SCX_EV_ENQ_SKIP_MIGRATION_DISABLED;
	s64 SCX_EV_REENQ_IMMED;
	s64 SCX_EV_REENQ_LOCAL_REPEAT;
	s64 SCX_EV_REFILL_SLICE_DFL;
	s64 SCX_EV_BYPASS_DURATION;
	s64 SCX_EV_BYPASS_DISPATCH;
	s64 SCX_EV_BYPASS_ACTIVATE;
	s64 SCX_EV_INSERT_NOT_OWNED;
	s64 SCX_EV_SUB_BYPASS_DISPATCH;
};

struct bpf_iter_scx_dsq {
	u64 __opaque[6];
} __attribute__((aligned(8)));

struct bpf_iter_num {
	__u64 __opaque[1];
} __attribute__((aligned(8)));

struct bpf_iter_bits {
	__u64 __opaque[2];
} __attribute__((aligned(8)));

struct bpf_iter_task {
	__u64 __opaque[3];
} __attribute__((aligned(8)));

struct bpf_iter_css_task {
	__u64 __opaque[1];
} __attribute__((aligned(8)));

struct bpf_iter_css {
	__u64 __opaque[3];
} __attribute__((aligned(8)));

/* ---- objects of BPF programs ------------------------------------------------------- */

struct bpf_cpumask {
	cpumask_t cpumask;
	refcount_t usage;
};

struct bpf_timer {
	__u64 __opaque[2];
} __attribute__((aligned(8)));

struct bpf_spin_lock {
	__u32 val;
};

struct bpf_res_spin_lock {
	u32 val;
};

struct bpf_refcount {
	__u32 __opaque[1];
} __attribute__((aligned(4)));

struct bpf_list_head {
	__u64 __opaque[2];
} __attribute__((aligned(8)));

struct bpf_list_node {
	__u64 __opaque[3];
} __attribute__((aligned(8)));

struct bpf_rb_root {
	__u64 __opaque[2];
} __attribute__((aligned(8)));

struct bpf_rb_node {
	__u64 __opaque[4];
} __attribute__((aligned(8)));

enum bpf_map_type {
	BPF_MAP_TYPE_UNSPEC = 0,
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_HASH = 5,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
	BPF_MAP_TYPE_CGRP_STORAGE = 32,
	BPF_MAP_TYPE_ARENA = 33,
};

struct bpf_map {
	enum bpf_map_type map_type;
	u32 key_size;
	u32 value_size;
	u32 max_entries;
	u32 map_flags;
	u32 id;
};

#endif
