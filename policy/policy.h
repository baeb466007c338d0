/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * policy.h - the contract between a scheduling policy and its host.
 *
 * A policy is one C file, policies/NAME/NAME.c.  It includes this header, and may include
 * headers that several policies share (policies/linux24, linux26, fair, bsd, ule, textbook).  A
 * policy that differs from another one in a few functions includes the other's file instead
 * (see o1.c and linux24.c).  A policy declares its state, fills a table of hooks with
 * designated initialisers and ends with POLICY(NAME, ...).
 * The host (the simulator, a hook-level test or the BPF back end in a real
 * kernel) allocates the state, reports events to the policy and asks which task
 * runs next.  A policy owns its run queues; it never owns tasks, CPUs or time.
 *
 * The life of a task, as a policy sees it
 * ---------------------------------------
 *
 *               fork()                      the task exists; nothing is queued
 *                 |
 *          [select_cpu()]                   a CPU is proposed (ENQ_NEW)
 *                 |
 *                 v      pick_next() returns it
 *   enqueue() -> WAITING ----------------------> RUNNING --+-- tick()
 *      ^            ^                              |  |    |   yield()
 *      |            |  still runnable: handed to   |  |  <-+
 *      |            +-- pick_next() as @prev ------+  |
 *      |                (PREV_YIELDED, _PREEMPTED)    | blocks or exits:
 *      |                                              v dequeue(), then
 *      |   wakes up: [select_cpu()]                     pick_next(PREV_BLOCKED
 *      +--------------------------------- SLEEPING      or PREV_EXITED)
 *                                                     |
 *                                          exit()  <--+  when it is reaped
 *
 * A task is *on the run queue* from enqueue() to dequeue(), running or not.
 * The policy decides whether the running task stays linked in its list (Linux 2.4 and 2.6 keep
 * it there, ELSC and ULE do not).
 *
 * Locks
 * -----
 * The host serialises the hooks that touch one run queue.  With LOCK_GLOBAL one
 * lock covers every hook; with LOCK_PER_CPU each hook holds the lock of the CPU
 * named by its @cpu argument or by @p->cpu.  A hook that uses another CPU's run
 * queue does so between rq_lock(), which may fail, and rq_unlock().
 *
 * The dialect
 * -----------
 * Freestanding C for gcc, clang and clang -target bpf: integers only, no
 * recursion, at most five arguments, little stack, and every loop through the
 * bounded macros below.  Bare loop keywords and floating types are poisoned at
 * the end of this header, so the compiler enforces this.  State lives in
 * the arena: pointers to it are written with the _t types (task_t *, list_t *),
 * which carry the BPF address space and are plain pointers natively.
 */
#ifndef SCHEDLAB_POLICY_H
#define SCHEDLAB_POLICY_H

#include "types.h"
#include "host.h"
#include "math.h"
#include "list.h"
#include "prio_array.h"

/* ---- promises of a policy ---------------------------------------------- */

/**
 * enum lock_scope - what the run-queue lock covers
 * @LOCK_GLOBAL: one lock for the whole machine, as up to Linux 2.4 and 4.3BSD.
 * @LOCK_PER_CPU: one lock for each CPU's run queue, as from Linux 2.6 on.
 *
 * The simulator makes CPUs wait for the lock as they did on real machines.
 */
enum lock_scope { LOCK_GLOBAL, LOCK_PER_CPU };

/**
 * enum conserving - can a CPU idle while a task it may run waits?
 * @CONSERVING_NO: yes, without bound.
 * @CONSERVING_QUEUE: never while a task waits on the CPU's own run queue (all
 *	run queues, with LOCK_GLOBAL).  The host checks this at every pick.
 *
 * How long a CPU idles while tasks wait on other CPUs is measured, not promised:
 * see idle-while-runnable in the reports.
 */
enum conserving { CONSERVING_NO, CONSERVING_QUEUE };

/**
 * enum nice_meaning - the effect of nice
 * @NICE_IGNORED: no effect.
 * @NICE_ORDERED: lower nice gets no less CPU time.
 * @NICE_WEIGHTED: lower nice gets more CPU time.
 *
 * The host compares SCHED_NORMAL tasks that stay runnable on one CPU for 10 s,
 * with nice values at least 5 apart, unless a user has set a tunable.
 */
enum nice_meaning { NICE_IGNORED, NICE_ORDERED, NICE_WEIGHTED };

/**
 * struct promise - properties that the host checks
 * @starvation_bound_ns: longest time any runnable SCHED_NORMAL task waits until
 *	it runs, on one run queue or on several, each of at most 32 tasks; the time
 *	in which real-time tasks run on its CPU is not counted.  0 if none.
 * @bound_tunables: the tunables on which the bound depends, separated by spaces:
 *	the bound is not checked if a user has set one of them.
 */
struct promise {
	enum conserving conserving;
	enum nice_meaning nice;
	u64 starvation_bound_ns;
	const char *bound_tunables;
};

/* ---- description of a policy -------------------------------------------- */

/**
 * struct tunable - a constant that a user may change (--set NAME=VALUE)
 * @initial: its value, or those of a table's rows.
 * @rows: 1, or a table's number of rows (--set NAME[ROW]=VALUE).
 * @min, @max: the range of a value.
 * @doc: meaning and unit, then the source in brackets.
 *
 * A tunable called "hz" is special: it is the rate of the policy's tick.
 */
struct tunable {
	const char *name;
	const s64 *initial;
	u64 rows;
	s64 min, max;
	const char *doc;
};

/**
 * struct variant - a named version of the scheduler: a set of tunables
 * @set: "name=value name=value ...", applied before the user's own --set.  A
 *	table takes one value for each row: "name=value,value,...".
 */
struct variant {
	const char *name;
	const char *doc;
	const char *set;
};

/* Why pick_next() is called: the state of the task that was running. */
enum prev_state {
	PREV_NONE,	/* the CPU was idle; @prev is NULL */
	PREV_BLOCKED,	/* it sleeps; dequeue() has been called; not a candidate */
	PREV_EXITED,	/* it exited; dequeue() has been called; not a candidate */
	PREV_YIELDED,	/* sched_yield(); yield() has been called; still runnable */
	PREV_PREEMPTED,	/* a resched_cpu() took effect (slice over, or a better task came); still runnable */
	PREV_MOVED,	/* it must leave this CPU (affinity); dequeue() has been called; not a candidate */
};

/* Flags of enqueue() and of select_cpu(). */
enum enqueue_flags {
	ENQ_WAKEUP		= 1 << 0,	/* it slept and was woken */
	ENQ_NEW			= 1 << 1,	/* first time: just forked */
	ENQ_EXEC		= 1 << 2,	/* select_cpu() only: it calls exec(), a cheap moment to move */
	ENQ_MOVE		= 1 << 3,	/* it was runnable already and changes CPU for its affinity */
	ENQ_SYNC		= 1 << 4,	/* the waker is about to sleep */
	ENQ_IRQ			= 1 << 5,	/* woken from interrupt context (timer, disk) */
	ENQ_UNINTERRUPTIBLE	= 1 << 6,	/* it slept in state D */
};

/* Flags of dequeue(). */
enum dequeue_flags {
	DEQ_SLEEP		= 1 << 0,	/* it blocks */
	DEQ_EXIT		= 1 << 1,	/* it exits */
	DEQ_MOVE		= 1 << 2,	/* it stays runnable; enqueue(ENQ_MOVE) follows */
	DEQ_UNINTERRUPTIBLE	= 1 << 6,	/* with DEQ_SLEEP: in state D */
};

/**
 * struct policy - the table of hooks, in the order of a task's life
 *
 * Absent hooks do nothing; hooks that return a value have the default given here.
 * @s is the machine, the same in every call.  s->now is the time of the call
 * and s->this_cpu the CPU it is made on.
 */
struct policy {
	const char *name;
	const char *summary;		/* one line for "schedlab list" */
	u32 global_size, cpu_size, task_size, group_size, group_cpu_size;
	u32 nr_tunables, nr_variants, nr_counters;
	const struct tunable *tunables;
	const struct variant *variants;	/* the first is the default */
	const char *const *counters;
	enum lock_scope lock;
	u32 tick_when_idle;		/* tick() also comes on idle CPUs, with a NULL task */
	u32 knows_future;		/* it asks for work_left_ns() */
	struct promise promise;

	/**
	 * @init: the machine starts.  All state is zeroed, the topology and
	 * the tunables are final, no task exists.  Returns 0, or a negative
	 * number after policy_error() or row_error() when a combination of
	 * tunables is invalid.
	 */
	s32 (*init)(sched_t *s);
	/**
	 * @fork: @child is created.  Its public fields are set, its state
	 * is zeroed, it is not yet queued.  @parent runs on this CPU, or is NULL
	 * for tasks that exist from the start.
	 */
	void (*fork)(sched_t *s, task_t *parent, task_t *child);
	/**
	 * @exit: @p, which is dead and was dequeued, is reaped by @reaper (NULL if no
	 * task waits for it).  After this call @p no longer exists.  In a kernel exit() is
	 * also called for a sleeping task that changes to another scheduling class.
	 */
	void (*exit)(sched_t *s, task_t *p, task_t *reaper);
	/**
	 * @select_cpu: returns the CPU for the run queue of @p.  @flags gives the
	 * reason.  Not called for tasks that may use only one CPU.  Default: the
	 * CPU it ran on last, or its parent's.  A CPU that @p's affinity forbids
	 * is an error of the policy.
	 */
	u32 (*select_cpu)(sched_t *s, task_t *p, u32 flags);
	/**
	 * @enqueue: @p became runnable on the run queue of @p->cpu.  Queue it,
	 * and call resched_cpu() if it should preempt the running task.
	 */
	void (*enqueue)(sched_t *s, task_t *p, u32 flags);
	/** @dequeue: @p, running or waiting, is no longer runnable here. */
	void (*dequeue)(sched_t *s, task_t *p, u32 flags);
	/**
	 * @pick_next: choose the task that runs on @cpu now.  @prev ran until now
	 * and @why gives its state; with PREV_YIELDED and PREV_PREEMPTED it is a
	 * candidate like any other and must be queued again.  Returns the task,
	 * or NULL to idle.  The task must be runnable, allowed here and not
	 * running elsewhere.
	 */
	task_t *(*pick_next)(sched_t *s, u32 cpu, task_t *prev, u32 why);
	/** @switched: @cpu stopped running @prev and runs @next (never equal; either may be NULL for idle). */
	void (*switched)(sched_t *s, u32 cpu, task_t *prev, task_t *next);
	/** @tick: the periodic tick on @cpu, which runs @p.  Call resched_cpu() to end a slice. */
	void (*tick)(sched_t *s, u32 cpu, task_t *p);
	/**
	 * @yield: running @p calls sched_yield().  Returns true to have
	 * pick_next(PREV_YIELDED) called, false to return to @p at once.
	 * Default: true.
	 */
	u32 (*yield)(sched_t *s, task_t *p);
	/** @set_nice: @p->nice was @old_nice and has just changed; requeue @p if that moves it. */
	void (*set_nice)(sched_t *s, task_t *p, s32 old_nice);
	/** @set_class: @p->class and @p->rt_priority have just changed (sched_setscheduler). */
	void (*set_class)(sched_t *s, task_t *p, u32 old_class, u32 old_rt_priority);
	/**
	 * @set_slice: @p->slice_ns has just changed.  Without this hook tasks cannot choose
	 * their slice.
	 */
	void (*set_slice)(sched_t *s, task_t *p);
	/** @set_cpumask: @p->allowed has just changed.  If @p has to move, the host moves it next (DEQ_MOVE, ENQ_MOVE). */
	void (*set_cpumask)(sched_t *s, task_t *p);
	/**
	 * @group_init: @g, a control group, is created.  Its parent was created before.  Its
	 * public fields are set, its state and its state on each CPU are zeroed, and no task is
	 * in it.  Without this hook a policy has no groups: all tasks compete in the root group.
	 */
	void (*group_init)(sched_t *s, group_t *g);
	/** @group_move: @p->group was @from (NULL: the root) and has just changed; requeue @p. */
	void (*group_move)(sched_t *s, task_t *p, group_t *from);
	/** @group_set_weight: @g->shares has just changed.  No run queue's lock is held. */
	void (*group_set_weight)(sched_t *s, group_t *g);
	/** @group_set_quota: @g->quota_ns, @g->period_ns or @g->burst_ns has just changed.  No run queue's lock is held. */
	void (*group_set_quota)(sched_t *s, group_t *g);
	/** @timer: the timer @id armed with timer_start() has expired. */
	void (*timer)(sched_t *s, u32 id);
	/** @hrtick: the timer of @cpu started with hrtick_start() has expired.  @cpu runs @p (NULL: idle). */
	void (*hrtick)(sched_t *s, u32 cpu, task_t *p);
	/** @priority: @p's current priority for observers, in the policy's own numbers.  Must not change any state. */
	s32 (*priority)(sched_t *s, task_t *p);
	/**
	 * @queued: can pick_next() still find @p, which is runnable and not
	 * running?  For observers: the host calls it after every hook that handled
	 * @p, so that a lost task is noticed at once.  Must not change any state.
	 */
	u32 (*queued)(sched_t *s, task_t *p);
	/**
	 * @check: calls policy_error() if something is wrong with the policy's own state: a sum that
	 * is not the sum of its parts, say.  For observers: "schedlab check" calls it after every
	 * event, no kernel does.  Must not change any state.
	 */
	void (*check)(sched_t *s);
};

/* ---- declaring state, tunables and counters ------------------------------ */

/** global_state_of - the policy's state of the machine, for headers that several policies share. */
static inline __unused void __arena *global_state_of(sched_t *s)
{
	return s->host_only.global_state;
}

/** cpu_state_of - the policy's states of the CPUs, for headers that several policies share. */
static inline __unused void __arena *cpu_state_of(sched_t *s)
{
	return s->host_only.cpu_state;
}

/** group_cpu_state_of - the policy's states of @g on the CPUs. */
static inline __unused void __arena *group_cpu_state_of(group_t *g)
{
	return g->host_only.cpu_state;
}

/**
 * POLICY_STATE - declare the three state types and their access functions
 *
 * @G: one for the machine, @C: one for each CPU, @T: one for each task; NO_STATE
 * where there is none.  The host allocates them zeroed and aligned to 8 bytes.
 * Gives the arena types glob_t, rq_t and ts_t, and
 *
 *	glob_t *glob_of(s);  rq_t *rq_of(s, cpu);  ts_t *ts_of(p);  task_t *task_of(ts);
 */
#define POLICY_STATE(G, C, T)							\
	typedef G __arena glob_t;						\
	typedef C __arena rq_t;							\
	typedef T __arena ts_t;							\
	enum {									\
		POLICY_GLOBAL_SIZE = sizeof(G),					\
		POLICY_CPU_SIZE = sizeof(C),					\
		POLICY_TASK_SIZE = sizeof(T),					\
	};									\
	static inline __unused glob_t *glob_of(sched_t *s)			\
	{ return (glob_t *)global_state_of(s); }					\
	static inline __unused rq_t *rq_of(sched_t *s, u32 cpu)			\
	{ return (rq_t *)cpu_state_of(s) + cpu; }					\
	static inline __unused ts_t *ts_of(task_t *p)				\
	{ return (ts_t *)(p + 1); }						\
	static inline __unused task_t *task_of(ts_t *ts)			\
	{ return (task_t *)ts - 1; }

/**
 * POLICY_GROUP_STATE - declare the state of a group, and that of a group on each CPU
 *
 * For policies with group_init().  Gives the arena types gs_t and gc_t, and
 *
 *	gs_t *gs_of(g);  gc_t *gc_of(g, cpu);  group_t *group_of(gs);
 *
 * and GROUP_STATE, to be named in POLICY().
 */
#define POLICY_GROUP_STATE(G, C)						\
	typedef G __arena gs_t;							\
	typedef C __arena gc_t;							\
	enum {									\
		POLICY_GROUP_SIZE = sizeof(G),					\
		POLICY_GROUP_CPU_SIZE = sizeof(C),				\
	};									\
	static inline __unused gs_t *gs_of(group_t *g)				\
	{ return (gs_t *)(g + 1); }						\
	static inline __unused gc_t *gc_of(group_t *g, u32 cpu)			\
	{ return (gc_t *)group_cpu_state_of(g) + cpu; }				\
	static inline __unused group_t *group_of(gs_t *gs)			\
	{ return (group_t *)gs - 1; }
#define GROUP_STATE								\
	.group_size = POLICY_GROUP_SIZE, .group_cpu_size = POLICY_GROUP_CPU_SIZE

struct no_state { u64 unused; };
#define NO_STATE struct no_state

/**
 * POLICY_TUNABLES - declare tunables from a list T(name, default, min, max, doc)
 *
 * Gives tun(s)->name, an s64 that never changes during a run.
 */
#define POLICY_TUNABLES(LIST)	POLICY_TUNABLES_AND_TABLES(LIST, NO_TABLES_)
#define TUNABLE_FIELD_(name_, default_, min_, max_, doc_) s64 name_;
#define TUNABLE_VALUE_(name_, default_, min_, max_, doc_) .name_ = default_,
#define TUNABLE_ENTRY_(name_, default_, min_, max_, doc_) \
	{ #name_, (const s64[]){ default_ }, 1, min_, max_, doc_ },

/**
 * POLICY_TUNABLES_AND_TABLES - declare tunables, and tables from a second list R(name, rows,
 * min, max, doc, defaults...), with a default for each of at least two rows
 *
 * Gives tun(s)->name[row] as well.  In BPF @row must be known to be in bounds.
 */
#define POLICY_TUNABLES_AND_TABLES(LIST, TABLES)				\
	struct tunables { LIST(TUNABLE_FIELD_) TABLES(TABLE_FIELD_) };		\
	TUNABLES_STORAGE(LIST(TUNABLE_VALUE_) TABLES(TABLE_VALUE_))		\
	static __unused const struct tunable policy_tunables_[] =		\
		{ LIST(TUNABLE_ENTRY_) TABLES(TABLE_ENTRY_) };
#define NO_TABLES_(R)
#define TABLE_FIELD_(name_, rows_, min_, max_, doc_, ...)			\
	s64 name_[rows_];							\
	_Static_assert((rows_) > 1 && ARRAY_SIZE(((const s64[]){ __VA_ARGS__ })) == (rows_),	\
		       "table " #name_ " needs a default for each row");
#define TABLE_VALUE_(name_, rows_, min_, max_, doc_, ...) .name_ = { __VA_ARGS__ },
#define TABLE_ENTRY_(name_, rows_, min_, max_, doc_, ...) \
	{ #name_, (const s64[]){ __VA_ARGS__ }, rows_, min_, max_, doc_ },

/**
 * POLICY_COUNTERS - declare event counters from a list C(name)
 *
 * Gives COUNTER_name for count(s, COUNTER_name, n).
 */
#define POLICY_COUNTERS(LIST)							\
	enum { LIST(COUNTER_ID_) NR_POLICY_COUNTERS_ };				\
	static __unused const char *const policy_counters_[] = { LIST(COUNTER_NAME_) };
#define COUNTER_ID_(name_) COUNTER_##name_,
#define COUNTER_NAME_(name_) #name_,

#define TUNABLES	.tunables = policy_tunables_, .nr_tunables = ARRAY_SIZE(policy_tunables_)
#define VARIANTS(v_)	.variants = (v_), .nr_variants = ARRAY_SIZE(v_)
#define COUNTERS	.counters = policy_counters_, .nr_counters = NR_POLICY_COUNTERS_

/**
 * POLICY - define the policy NAME; the last thing in its file
 *
 * Natively the table is a symbol the host finds by the folder's name.  The BPF
 * back end includes the policy's source and calls the hooks through this
 * constant table, which the compiler folds into direct calls.
 */
#define POLICY(NAME, ...)							\
	POLICY_LINKAGE const struct policy POLICY_SYMBOL(NAME) = {		\
		.name = #NAME,							\
		.global_size = POLICY_GLOBAL_SIZE,				\
		.cpu_size = POLICY_CPU_SIZE,					\
		.task_size = POLICY_TASK_SIZE,					\
		__VA_ARGS__							\
	}

/*
 * Every loop in a policy is one of for_each_cpu(), for_each_task(), list_for_each() and the
 * repeat macros.  They are bounded, so that an error or a corrupt list cannot hang a kernel.
 * Macros defined above this line may use the keywords.
 *
 * host_only is for the host and the inline functions of host.h.
 */
#pragma GCC poison for while do goto float double
#pragma GCC poison host_only
#endif
