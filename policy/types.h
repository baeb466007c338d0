/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * types.h - data shared by host and policy: tasks, CPUs, the machine.
 *
 * Layouts are identical natively and in BPF; the hosts check offsets.
 */
#ifndef SCHEDLAB_TYPES_H
#define SCHEDLAB_TYPES_H

#include "dialect.h"	/* of the back end */

#define __must_check	__attribute__((warn_unused_result))
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define NULL		((void *)0)
#define true		1u
#define false		0u

#define NSEC_PER_SEC	1000000000ull
#define NSEC_PER_MSEC	1000000ull
#define NSEC_PER_USEC	1000ull

#define MAX_CPUS	1024
#define MAX_GROUP_DEPTH	16	/* groups within groups */
#define NICE_MIN	(-20)
#define NICE_MAX	19	/* FreeBSD's largest is 20; its policies say how they treat it */

/* A node of a circular doubly linked list, and its head. */
struct list {
	struct list __arena *next, *prev;
};
typedef struct list __arena list_t;

struct cpumask {
	u64 bits[MAX_CPUS / 64];
};
typedef struct cpumask __arena cpumask_t;

/* Scheduling classes in the sense of sched_setscheduler(2). */
enum task_class {
	CLASS_NORMAL,	/* SCHED_OTHER */
	CLASS_BATCH,
	CLASS_IDLE,
	CLASS_ISO,	/* SCHED_ISO of the -ck kernels: soft real time for unprivileged tasks; normal to policies that do not know it */
	CLASS_FIFO,	/* real time, no slice; this and all later classes are real time */
	CLASS_RR,	/* real time, round robin */
};

enum task_flags {
	TASK_KTHREAD = 1 << 0,	/* a kernel thread: no address space, never "interactive" */
	TASK_FOREGROUND = 1 << 1,	/* in the user's foreground: the focused window, the terminal's foreground group */
};

/*
 * The host's private data is in the members called host_only.  policy.h poisons
 * this name: a policy that uses it does not compile.
 */

/**
 * struct task_host - the host's record of a task
 * @moved_next: the task that was moved before this one in the same hook call.
 * @moved_from: its CPU before the hook call, MAX_CPUS if it has not been moved.
 * @work_left_ns, @work_left_at: the CPU time it needs until it sleeps or ends, and the time
 *	for which that holds; only for policies that know the future.
 */
struct task_host {
	struct task __arena *moved_next;
	u32 moved_from;
	u64 work_left_ns;
	u64 work_left_at;
};

/**
 * struct group_cpu - the host's record of a group on one CPU
 * @group: the group.
 * @changed_next: the next record in the list of records with a changed @throttled.  The last one
 *	points to itself.  NULL: it is not in the list.
 * @cpu: the CPU.
 * @throttled: the last argument of set_throttled().
 */
struct group_cpu {
	struct group __arena *group;
	struct group_cpu __arena *changed_next;
	u32 cpu;
	u32 throttled;
};

/**
 * struct group_host - the host's record of a group
 * @cpus: the group on each CPU.
 * @cpu_state: the policy's state of the group on each CPU.
 */
struct group_host {
	struct group_cpu __arena *cpus;
	void __arena *cpu_state;
};

/**
 * struct group - the public fields of a group of tasks (a cgroup of the cpu controller); the policy's state follows
 * @parent: its parent group; NULL: the root, which has no struct group.
 * @quota_ns: CPU time its tasks may use in each period, all CPUs together; 0: no limit (cpu.max).
 * @period_ns: the period.
 * @burst_ns: unused quota that may be saved for later periods (cpu.max.burst).
 * @id: dense number, unique during a run.
 * @depth: 0 in the root, then one more than its parent's; below MAX_GROUP_DEPTH.
 * @shares: its weight; 1024 equals a task of nice 0, and cpu.weight 100.
 * @idle: its tasks run only when no others do (cpu.idle).
 */
struct group {
	struct group __arena *parent;
	u64 quota_ns, period_ns, burst_ns;
	u32 id;
	u32 depth;
	u32 shares;
	u32 idle;
	struct group_host host_only;
};
typedef struct group __arena group_t;

/**
 * struct task - the public fields of a task; the policy's own state follows it
 * @allowed: CPUs it may run on; never empty.
 * @parent: the task that forked it, NULL if it has none or it no longer exists.
 * @group: its group, NULL for the root.
 * @slice_ns: the slice it asked for (sched_setattr's sched_runtime), 100 us to 100 ms; 0: the policy's own.
 * @all: link in the machine's list of all tasks (for_each_task()).
 * @id: dense number, unique during a run.
 * @cpu: the CPU of its run queue: the CPU on which it runs or ran last, or the later
 *	result of select_cpu() or move_task().
 * @on_cpu: it is running now.  Changes before switched().
 * @nice: -20 (most CPU) to 19.
 * @class: enum task_class.  @rt_priority: 1 to 99 (best) for CLASS_FIFO and _RR, else 0.
 * @mm: address space; tasks with the same number share one; 0 for kernel threads.
 * @flags: enum task_flags.
 * @nr_allowed: number of CPUs in @allowed.
 * @util_min, @util_max: its utilisation clamps (uclamp), 0 to 1024 of the fastest CPU's capacity; 0 and 1024: none.
 * @runtime_ns, @deadline_ns, @period_ns: for a periodic task: its CPU time in each period, the
 *	deadline after a wakeup, and the period (sched_attr's sched_runtime,
 *	sched_deadline and sched_period); 0 if not set.
 */
struct task {
	cpumask_t *allowed;
	struct task __arena *parent;
	struct group __arena *group;
	u64 slice_ns;
	struct list all;
	u32 id;
	u32 cpu;
	u32 on_cpu;
	s32 nice;
	u32 class;
	u32 rt_priority;
	u32 mm;
	u32 flags;
	u32 nr_allowed;
	u32 util_min, util_max;
	u64 runtime_ns, deadline_ns, period_ns;
	struct task_host host_only;
};
typedef struct task __arena task_t;

/**
 * struct cpu_host - the lists of CPUs with requests of a hook
 * @resched_next: CPUs to reschedule: index + 1 of the next one, 0 ends the list.
 * @hrtick_next: CPUs with a changed hrtick_expires: likewise, but the last CPU
 *	has its own index + 1; 0 is for CPUs that are not in the list.
 */
struct cpu_host {
	u32 resched_next;
	u32 hrtick_next;
};

/* Bits of need_resched. */
enum need_resched {
	RESCHED		= 1 << 0,	/* TIF_NEED_RESCHED */
	RESCHED_LAZY	= 1 << 1,	/* TIF_NEED_RESCHED_LAZY */
};

/**
 * struct cpu - one logical CPU
 * @curr: the task it runs, NULL when idle.
 * @need_resched: pick_next() will be called here as soon as the kernel can; RESCHED_LAZY alone: when it next
 *	returns to user mode.
 * @core, @llc, @node: the physical core, last-level cache and memory node it is
 *	part of.  CPUs with the same @core are SMT siblings.
 * @capacity: its speed, 1024 for the fastest CPU of the machine.
 * @idle_since: start of its idle time; undefined while @curr is set.
 * @hrtick_expires: the time of the next hrtick(), 0 for none: see hrtick_start().
 */
struct cpu {
	task_t *curr;
	u64 idle_since;
	u64 hrtick_expires;
	u32 need_resched;
	u32 core, llc, node;
	u32 capacity;
	struct cpu_host host_only;
};
typedef struct cpu __arena cpu_t;

#define MAX_TIMERS	4
#define MAX_COUNTERS	16

/* Standard counters, charged to the running hook. */
struct work {
	u32 examined;		/* tasks examined to choose one */
	u32 recalculations;	/* passes over all tasks that recalculate counters or priorities */
	u32 recalculated;	/* tasks recalculated in these passes */
	u32 locks;		/* other CPUs' run-queue locks taken */
};

struct sched;

/* Instead of a CPU whose run queue is locked. */
#define LOCKS_ALL	(~0u)		/* one lock covers all */
#define LOCKS_NONE	(~0u - 1)

/**
 * struct sched_host - the requests of one hook call, and the host's data for the helpers
 * @rng: state of random_u32(); the host seeds it.
 * @global_state, @cpu_state: the policy's state of the machine and of the CPUs.
 * @tunables: values of the tunables (native back end).
 * @error, @error_task: the report of policy_error().
 * @error_row: the report of row_error(): row + 1, 0 for none.
 * @moved: the task that move_task() moved last; see struct task_host.
 * @throttles: the record of the last set_throttled(); see struct group_cpu.
 * @resched: CPUs to reschedule: index + 1 of the first, 0 for none.
 * @hrticks: CPUs with a changed hrtick_expires: index + 1 of the first, 0 for none.
 * @loops_left: the rest of the loop budget of this hook call.
 * @requests: the hook made a request or counted something.
 * @timers_changed: the hook started or stopped a timer.
 * @zero: always 0, but unknown to the kernel's verifier.
 * @own_lock: the CPU whose run queue is locked while the hook runs; LOCKS_ALL, LOCKS_NONE.
 * @locked, @nr_locked: the locks that rq_lock() has taken: a bit for each CPU modulo 32, and their number.
 * @lock_fault, @lock_fault_cpu: the first mistake with locks (native back end).
 * @disturb: for tests (native back end): called by rq_lock(), NULL for none.
 * @disturbance: the first argument of @disturb.
 * @work: work of the hooks since the host last read it.
 * @timer_expires: when each timer expires; 0: it is not armed.
 * @counters: the policy's own counters.
 */
struct sched_host {
	u64 rng;
	void __arena *global_state;
	void __arena *cpu_state;
	const void *tunables;
	const char *error;
	struct task __arena *error_task;
	u64 error_row;
	struct task __arena *moved;
	struct group_cpu __arena *throttles;
	u32 resched;
	u32 hrticks;
	u32 loops_left;
	u32 requests;
	u32 timers_changed;
	u32 zero;
	u32 own_lock;
	u32 locked, nr_locked;
	u32 lock_fault, lock_fault_cpu;
	u32 (*disturb)(void *disturbance, struct sched __arena *s, u32 cpu);
	void *disturbance;
	struct work work;
	u64 timer_expires[MAX_TIMERS];
	u64 counters[MAX_COUNTERS];
};

/**
 * struct sched - the machine
 * @now: time of the current hook call in ns since the machine started.
 * @tick_ns: period of the policy's tick.
 * @this_cpu: the CPU the current hook runs on.
 * @nr_cpus: CPUs 0..nr_cpus-1 exist and are online.
 * @nr_tasks: tasks that exist, including exited ones not yet reaped.
 * @smp: the kernel is built with CONFIG_SMP, also if it runs on one CPU.
 * @lazy: the kernel supports lazy preemption (PREEMPT_LAZY): see resched_cpu_lazy().
 * @tasks: head of the list of all tasks, oldest first; CPUs share it.
 * @cpus: the CPUs; see cpu_of().
 */
struct sched {
	u64 now;
	u64 tick_ns;
	u32 this_cpu;
	u32 nr_cpus;
	u32 nr_tasks;
	u32 smp;
	u32 lazy;
	list_t *tasks;
	cpu_t *cpus;
	struct sched_host host_only;
};
typedef struct sched __arena sched_t;

DIALECT_PROTOTYPES
#endif
