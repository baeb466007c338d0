/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * locking.h - the steps before and after each hook.
 *
 * host_begin() takes the lock of a run queue and returns this CPU's sched_t.  host_end()
 * carries out what the hooks requested and releases the lock.  Interrupts are off in between:
 * the kernel calls us with its own run-queue locks held, or the caller disables interrupts.
 */
#ifndef SCHEDLAB_BPF_LOCKING_H
#define SCHEDLAB_BPF_LOCKING_H

/* ---- run-queue locks ------------------------------------------------------------------ */

/*
 * Locks of our own.  The kernel's bpf_res_spin_lock lives in a map, and a program that holds
 * one cannot look into a map.  A policy could then not lock the second run queue that it chose.
 *
 * The locks are not first come, first served.  Some hosts run several virtual CPUs in turn on
 * one CPU (QEMU's deterministic clock, crowded hypervisors).  With a queue of waiters, a CPU
 * that loses its turn while it holds the lock would find the other CPU queued before its next
 * acquisition, and would wait for the rest of every turn.
 */
static __always_inline u32 host_take(host_lock_t *l)
{
	return !READ_ONCE(l->held) && __sync_val_compare_and_swap(&l->held, 0, 1) == 0;
}

__apart u32 host_wait_a_while(host_lock_t *l __in_arena)
{
	u32 taken = false;

	spin_while(!taken)
		taken = host_take(l);
	return taken;
}

/*
 * Waits longer than a hook may loop: the error then names the hook that loops, not the CPU that
 * waits.
 */
__apart u32 host_wait_for_lock(host_lock_t *l __in_arena)
{
	return host_wait_a_while(l) || host_wait_a_while(l) || host_wait_a_while(l);
}

static __always_inline u32 host_lock(host_lock_t *l)
{
	return host_take(l) || host_wait_for_lock(l);
}

/* A full memory barrier: an atomic operation is one only if its result is used. */
#define host_add_and_order(at, n)						\
	({									\
		u32 before_ = __sync_fetch_and_add(at, n);			\
		__asm__ volatile("" : : "r"(before_));				\
		before_;							\
	})

static __always_inline void host_unlock(host_lock_t *l)
{
	host_add_and_order(&l->held, ~0u);	/* subtracts 1 */
}

static __always_inline host_lock_t *host_lock_of(u32 cpu)
{
	return &host_cpu_of(GLOBAL_LOCK ? 0 : cpu)->lock;
}

/* The lock that host_begin() took; LOCK_GLOBAL has one lock, in the host_cpu_t of CPU 0. */
static __always_inline host_lock_t *host_lock_held(sched_t *s, u32 cpu)
{
	return GLOBAL_LOCK ? &((host_cpu_t *)s)->lock : host_lock_of(cpu);
}

/*
 * The previous holder of the lock may have stored a later time in that run queue than the start
 * of this hook.
 */
static __always_inline void host_renew_now(sched_t *s)
{
	u64 now = bpf_ktime_get_ns();

	if (now > s->now)
		s->now = now;
}

__apart u32 host_scripted_lock(sched_t *s __in_arena);

/* Releases the lock of a run queue in which the hook may have stored its time. */
static __always_inline void host_leave_rq(sched_t *s, host_lock_t *l)
{
	l->until = s->now;
	host_unlock(l);
}

/*
 * The lock of a second run queue.  Two CPUs may want each other's lock, so the number of attempts
 * is limited.
 */
__apart u32 host_lock_second(sched_t *s __in_arena, host_lock_t *l __in_arena)
{
	u32 tries = 0, taken = false;

	spin_while(!taken && tries++ < 256)
		taken = host_take(l);
	if (!taken) {
		((host_cpu_t *)s)->stats.failed_locks++;
		return false;
	}
	host_renew_now(s);
	if (s->now < l->until)
		policy_error(s, "the time of a run queue goes backwards", NULL);
	return true;
}

static u32 host_try_lock_rq(sched_t *s, u32 cpu)
{
	if (GLOBAL_LOCK)
		return true;
	if (host_machine.scripted)
		return host_scripted_lock(s);
	return host_lock_second(s, host_lock_of(cpu));
}

static void host_unlock_rq(sched_t *s, u32 cpu)
{
	if (!GLOBAL_LOCK && !host_machine.scripted)
		host_leave_rq(s, host_lock_of(cpu));
}

/* ---- errors ----------------------------------------------------------------------------- */

enum host_hook {
	HOOK_INIT, HOOK_FORK, HOOK_EXIT, HOOK_SELECT_CPU, HOOK_ENQUEUE, HOOK_DEQUEUE, HOOK_PICK_NEXT,
	HOOK_TICK, HOOK_YIELD, HOOK_SET_NICE, HOOK_SET_CPUMASK, HOOK_HRTICK, HOOK_TIMER,
};

static __always_inline const char *host_hook_name(u32 hook)
{
	switch (hook) {
	case HOOK_INIT: return "init";
	case HOOK_FORK: return "fork";
	case HOOK_EXIT: return "exit";
	case HOOK_SELECT_CPU: return "select_cpu";
	case HOOK_ENQUEUE: return "enqueue";
	case HOOK_DEQUEUE: return "dequeue";
	case HOOK_PICK_NEXT: return "pick_next or switched";
	case HOOK_TICK: return "tick";
	case HOOK_YIELD: return "yield";
	case HOOK_SET_NICE: return "set_nice or set_class";
	case HOOK_SET_CPUMASK: return "set_cpumask";
	case HOOK_HRTICK: return "hrtick";
	default: return "timer";
	}
}

/* The policy made an error: the kernel returns to its own scheduler and reports the message. */
#define host_fail(fmt, ...)									\
	({											\
		if (!host_machine.stopped)							\
			host_stop_scheduler("policy %s: " fmt, (u64)the_policy.name, __VA_ARGS__); \
		host_machine.stopped = 1;							\
	})

__apart s32 host_pid_of(task_t *t __in_arena)
{
	u32 index = t ? host_slot_of_task(t)->index : ~0u;
	struct host_kernel_task *entry = bpf_map_lookup_elem(&host_kernel_tasks, &index);
	struct task_struct *p = entry ? entry->task : NULL;

	return p ? p->pid : -1;
}

__apart u32 host_report_fault(sched_t *s __in_arena, u32 hook)
{
	u64 name = (u64)host_hook_name(hook);

	if (HOST_ONLY(s).error)
		host_fail("%s() reports: %s (pid %d)", name, (u64)HOST_ONLY(s).error, (u64)host_pid_of(HOST_ONLY(s).error_task));
	else
		host_fail("%s() looped for 250 ms", name);
	return 0;
}

/* ---- before and after ------------------------------------------------------------------- */

static __always_inline sched_t *host_view(u32 this_cpu)
{
	sched_t *s = &host_cpu_of(GLOBAL_LOCK ? 0 : this_cpu)->s;

	s->now = bpf_ktime_get_ns();
	s->this_cpu = this_cpu;
	HOST_ONLY(s).loops_left = 1;
	s->nr_tasks = host_machine.nr_tasks;
	return s;
}

__apart u32 host_stays_locked(u32 cpu)
{
	host_fail("the run queue of CPU %d stays locked", cpu);
	return 0;
}

/* Returns NULL after an error. */
static __always_inline sched_t *host_begin(u32 cpu)
{
	if (READ_ONCE(host_machine.stopped))
		return NULL;
	if (!host_lock(host_lock_of(cpu))) {
		host_stays_locked(cpu);
		return NULL;
	}
	return host_view(bpf_get_smp_processor_id());
}

/* Takes the lock of @t's run queue; @t may move to another CPU until the lock is held. */
__apart u64 host_begin_elsewhere(task_t *t __in_arena, u32 cpu)
{
	sched_t *s = NULL;
	u32 again = true;

	spin_while(again) {
		host_unlock(host_lock_of(cpu));
		cpu = READ_ONCE(t->cpu);
		s = host_begin(cpu);
		again = s && READ_ONCE(t->cpu) != cpu;
	}
	return (u64)s;
}

static __always_inline sched_t *host_begin_for(task_t *t)
{
	u32 cpu = READ_ONCE(t->cpu);
	sched_t *s = host_begin(cpu);

	if (GLOBAL_LOCK || !s || READ_ONCE(t->cpu) == cpu)
		return s;
	return (sched_t *)host_begin_elsewhere(t, cpu);
}

/* Empties a set of CPUs and visits each CPU in ascending order. */
static __always_inline void host_take_cpus(sched_t *s, u64 __arena *set, void (*visit)(sched_t *s, u32 cpu))
{
	u32 word;

	repeat(s, word, host_machine.mask_words) {
		u64 left = set[word];

		set[word] = 0;
		repeat_while(s, left) {
			u32 cpu = word * 64 + find_first_bit(left);

			left &= left - 1;
			visit(s, cpu);
		}
	}
}

static __always_inline void host_kick_cpu(__unused sched_t *s, u32 cpu)
{
	scx_bpf_kick_cpu((s32)cpu, host_kernel_value(scx_kick_flags, SCX_KICK_PREEMPT));
}

/* Makes every CPU that a hook asked to reschedule call schedule(). */
__apart u32 host_kick(sched_t *s __in_arena)
{
	host_cpu_t *host = (host_cpu_t *)s;

	host->kicking = 0;
	host_take_cpus(s, host->kicks, host_kick_cpu);
	return 0;
}

static __always_inline void host_book_work(sched_t *s)
{
	struct host_statistics __arena *stats = &((host_cpu_t *)s)->stats;

	stats->examined += HOST_ONLY(s).work.examined;
	HOST_ONLY(s).work.examined = 0;
	stats->locks += HOST_ONLY(s).work.locks;
	HOST_ONLY(s).work.locks = 0;
	stats->recalculations += HOST_ONLY(s).work.recalculations;
	stats->recalculated += HOST_ONLY(s).work.recalculated;
	HOST_ONLY(s).work.recalculations = 0;
	HOST_ONLY(s).work.recalculated = 0;
}

static void host_arm_timers(sched_t *s);
static void host_arm_hrticks(sched_t *s);

__apart u32 host_do_requests(sched_t *s __in_arena)
{
	HOST_ONLY(s).requests = 0;
	if (((host_cpu_t *)s)->kicking)
		host_kick(s);
	if (HOST_ONLY(s).timers_changed)
		host_arm_timers(s);
	if (the_policy.hrtick && ((host_cpu_t *)s)->ticking)
		host_arm_hrticks(s);
	return 0;
}

static __always_inline void host_obey(sched_t *s, u32 hook)
{
	if (!HOST_ONLY(s).loops_left || HOST_ONLY(s).error)
		host_report_fault(s, hook);
	host_book_work(s);
	if (HOST_ONLY(s).requests)
		host_do_requests(s);
}

static __always_inline void host_end(sched_t *s, u32 cpu, u32 hook)
{
	host_obey(s, hook);
	host_leave_rq(s, host_lock_held(s, cpu));
}
#endif
