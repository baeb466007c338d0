/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hooks.h - calling the policy: what is held before, what is done after.
 *
 * begin() takes a run queue's lock and returns the machine as this CPU sees it;
 * end() does what the hooks asked for and releases the lock.  In between runs
 * nothing but the policy and the bookkeeping that belongs to it.  Interrupts are
 * off: the kernel calls us with its own run-queue locks held, or the caller sees
 * to it.
 */
#ifndef SCHEDLAB_BPF_HOOKS_H
#define SCHEDLAB_BPF_HOOKS_H

static void host_arm_timers(sched_t *s);

/* ---- errors --------------------------------------------------------------------- */

#define NAME_OF(p)	((u64)(p))
#define POLICY_TEXT	((u64)the_policy.name)

/* The policy is wrong: the kernel goes back to its own scheduler, and says why. */
#define host_policy_failed(fmt, ...)								\
	({										\
		if (!host_machine.stopped)							\
			host_stop_scheduler("policy %s: " fmt, POLICY_TEXT, __VA_ARGS__);	\
		host_machine.stopped = 1;							\
	})

static __noinline s32 host_pid_of(task_t *t)
{
	u32 index = t ? host_slot_of_task(t)->index : ~0u;
	struct host_kernel_task *entry = bpf_map_lookup_elem(&host_kernel_tasks, &index);
	struct task_struct *p = entry ? entry->task : NULL;

	return p ? p->pid : -1;
}

static __noinline void host_report_fault(sched_t *s, const char *hook)
{
	if (s->error)
		host_policy_failed("%s() reports: %s (pid %d)", NAME_OF(hook), (u64)s->error,
			      (u64)host_pid_of(s->error_task));
	else
		host_policy_failed("%s() looped for 250 ms", NAME_OF(hook));
}

/* ---- before and after --------------------------------------------------------------- */

static __always_inline sched_t *host_view_of(u32 this_cpu)
{
	sched_t *s = &host_cpu_of(GLOBAL_LOCK ? 0 : this_cpu)->s;

	s->now = bpf_ktime_get_ns();
	s->this_cpu = this_cpu;
	s->loops_left = 1;
	s->nr_tasks = host_machine.nr_tasks;
	return s;
}

/* NULL after an error. */
static __always_inline sched_t *host_begin(u32 cpu)
{
	if (READ_ONCE(host_machine.stopped))
		return NULL;
	if (!host_lock(host_lock_of(cpu))) {
		host_policy_failed("the run queue of CPU %d stays locked", cpu);
		return NULL;
	}
	return host_view_of(bpf_get_smp_processor_id());
}

/* Sends every CPU that was asked to reschedule into schedule(). */
static __always_inline void host_kick(sched_t *s)
{
	host_cpu_t *host = (host_cpu_t *)s;
	u32 word, cpu;

	repeat(s, word, host_machine.mask_words) {
		u64 kicks = host->kicks[word];

		if (!kicks)
			continue;
		host->kicks[word] = 0;
		repeat_while(s, kicks) {
			cpu = word * 64 + find_first_bit(kicks);
			kicks &= kicks - 1;
			scx_bpf_kick_cpu((s32)cpu, host_kernel_value(scx_kick_flags, SCX_KICK_PREEMPT));
		}
	}
}

static __always_inline void host_book_work(sched_t *s)
{
	struct host_statistics __arena *stats = &((host_cpu_t *)s)->stats;

	stats->examined += s->work.examined;
	s->work.examined = 0;
	stats->locks += s->work.locks;
	s->work.locks = 0;
	if (!s->work.recalculations)
		return;
	stats->recalculations += s->work.recalculations;
	stats->recalculated += s->work.recalculated;
	s->work.recalculations = s->work.recalculated = 0;
}

static __always_inline void host_obey(sched_t *s, const char *hook)
{
	if (!s->loops_left || s->error)
		host_report_fault(s, hook);
	host_book_work(s);
	if (!s->requests)
		return;
	s->requests = 0;
	host_kick(s);
	if (s->timers_changed)
		host_arm_timers(s);
}

static __always_inline void host_end(sched_t *s, u32 cpu, const char *hook)
{
	host_obey(s, hook);
	host_unlock(host_lock_of(cpu));
}

/* The lock of the run queue @t belongs to, which may change until we have it. */
static __always_inline sched_t *host_begin_for(task_t *t, u32 *cpu)
{
	sched_t *s;

	*cpu = READ_ONCE(t->cpu);
	s = host_begin(*cpu);
	if (GLOBAL_LOCK) {
		*cpu = s ? t->cpu : *cpu;
		return s;
	}
	spin_while(s && READ_ONCE(t->cpu) != *cpu) {
		host_unlock(host_lock_of(*cpu));
		*cpu = READ_ONCE(t->cpu);
		s = host_begin(*cpu);
	}
	return s;
}

/* From one run queue to another, in the middle of a hook. */
static __always_inline sched_t *host_change_lock(sched_t *s, u32 *cpu, u32 to)
{
	if (!GLOBAL_LOCK) {
		host_unlock(host_lock_of(*cpu));
		s = host_begin(to);
	}
	*cpu = to;
	return s;
}
#endif
