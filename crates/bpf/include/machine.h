/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * machine.h - the machine in the arena: CPUs, tasks, and the lock of each run queue.
 */
#ifndef SCHEDLAB_BPF_MACHINE_H
#define SCHEDLAB_BPF_MACHINE_H

struct {
	__uint(type, BPF_MAP_TYPE_ARENA);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1 << 19);	/* pages of address space; memory is allocated on demand */
} host_arena SEC(".maps");

#define MASK_WORDS	(MAX_CPUS / 64)
#define DELAY_BUCKETS	192		/* four for each power of two, from 1 ns to 4 days */
#define NO_WAKER	MAX_CPUS

/* Parameters that the loader sets before the program starts. */
struct host_place {
	u32 core, llc, node, online;
};
struct host_config {
	u32 nr_cpus;			/* highest number + 1 */
	u32 smp;
	u32 max_tasks;
	u32 default_hz;			/* for policies without a tunable "hz" */
	s64 hz;				/* value of the tunable "hz", 0 if there is none */
	u64 seed;
	struct host_place place[MAX_CPUS];
};
struct host_config host_config SEC(".data.config");

/* A spinning CPU has interrupts off. */
struct host_lock {
	u32 held;	/* 0 or 1 */
	u32 unused;
	u64 until;	/* the holder's time when it released the lock */
};
typedef struct host_lock __arena host_lock_t;

struct host_statistics {
	u64 schedule_calls, examined, recalculations, recalculated;
	u64 switches, migrations, wakeups, ticks, locks, failed_locks;
	u32 delay[DELAY_BUCKETS];	/* time from runnable to running */
};

/*
 * One CPU.  The sets of kicks and hrticks must directly follow the sched_t: see note_resched()
 * and note_hrtick().
 */
struct host_cpu {
	struct sched s;
	u64 kicking;
	u64 kicks[MASK_WORDS];
	u64 ticking;
	u64 hrticks[MASK_WORDS];
	struct host_lock lock;
	u64 next_tick_ns;
	struct host_statistics stats;
};
typedef struct host_cpu __arena host_cpu_t;

/*
 * One task: the host's fields, then the policy's.
 *
 *	queued	on_cpu
 *	0	0	asleep
 *	1	0	waits in the policy's queues
 *	1	1	runs, or was chosen to run
 *	0	1	has stopped; its CPU has not chosen another task yet; @why is the reason
 */
struct host_slot {
	u64 kernel;			/* address of its task_struct; 0: the slot is free */
	u64 kernel_mask, kernel_mm;	/* addresses of its set of CPUs and its address space */
	u64 runnable_since;
	struct host_slot __arena *parent;
	u32 parent_generation, generation;
	u32 index, next_free;		/* next_free: index + 1 of the next free slot */
	u32 why;			/* enum prev_state */
	u32 waker;			/* the CPU on which its waker runs */
	u32 handed_over;		/* number of calls of ops.enqueue(); the increment is a memory barrier */
	u16 wake_flags;
	u16 ran_on;
	u8 queued, born, yielded, pinned;
	u8 given;			/* the kernel got the task after the policy chose it */
	u64 seal;			/* a value that only a slot contains, see host_seal() */
	struct task t;
};
typedef struct host_slot __arena host_slot_t;

struct host_machine {
	host_cpu_t *hosts;
	cpu_t *cpus;
	u8 __arena *slots;
	u32 stride, mask_offset;	/* size of a slot and offset of its CPU set, in bytes */
	u32 max_tasks, mask_words;
	u32 stopped;			/* an error occurred: no hook is called any more */
	u32 scripted;			/* a script decides which locks are refused: see conform.h */
	u32 nr_tasks, last_id;
	u32 prolog_pins;		/* running a BPF program increments migration_disabled of the current task */
	u64 free;			/* index + 1 of the first free slot; upper half: a tag against reuse */
	u64 timer_expires[MAX_TIMERS];
	u64 online[MASK_WORDS];
	struct list tasks;
	struct host_lock list_lock;
};
struct host_machine __arena host_machine;

/* The kernel's task_struct of each slot. */
struct host_kernel_task {
	struct task_struct __kptr *task;
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, u32);
	__type(value, struct host_kernel_task);
	__uint(max_entries, 1);		/* set by the loader */
} host_kernel_tasks SEC(".maps");

/* One step of SplitMix64 (Steele, Lea, Flood 2014). */
static __always_inline u64 host_mix(u64 seed)
{
	u64 x = seed + 0x9e3779b97f4a7c15ull;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

/* The first state of a CPU's random generator; see first_state() in crates/native/src/host.rs. */
static __always_inline u64 host_first_state(u64 seed, u32 cpu)
{
	u64 state = host_mix(host_mix(seed) + cpu);

	return state ? state : 1;
}

#define GLOBAL_LOCK	(the_policy.lock == LOCK_GLOBAL)

static __always_inline host_cpu_t *host_cpu_of(u32 cpu)
{
	return host_machine.hosts + cpu;
}

static __always_inline host_slot_t *host_slot_at(u32 index)
{
	return (host_slot_t *)(host_machine.slots + (u64)index * host_machine.stride);
}

/* A value by which pick_next()'s result is recognised as a slot. */
static __always_inline u64 host_seal(host_slot_t *slot)
{
	return (u64)slot ^ 0x5eed51075eed5107ull;
}

static __always_inline host_slot_t *host_slot_of_task(task_t *t)
{
	return list_entry(t, host_slot_t, t);
}

/*
 * The slot of a kernel task; NULL if it has none.  The slot's address is kept in dsq_vtime, a
 * field that a scheduler may write.  The kernel reads it only for ordered dispatch queues,
 * which we do not use.  A stale address is detected.
 */
static __always_inline host_slot_t *host_slot_of(struct task_struct *p)
{
	host_slot_t *slot = (host_slot_t *)p->scx.dsq_vtime;

	return slot && slot->kernel == (u64)p ? slot : NULL;
}
#endif
