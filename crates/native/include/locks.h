/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * locks.h - which run queues' locks a hook holds, and what it does wrong with them.
 *
 * One hook runs at a time here, so no lock is needed.  The host notes them all the
 * same: in a kernel the mistake would be a race or a deadlock.
 */
#ifndef SCHEDLAB_NATIVE_LOCKS_H
#define SCHEDLAB_NATIVE_LOCKS_H

/* What is wrong; the host knows these numbers. */
enum lock_fault { LOCK_NOT_HELD = 1, LOCK_TWICE, LOCK_MISSING };

static inline __unused void lock_fault(sched_t *s, u32 fault, u32 cpu)
{
	if (s->host_only.lock_fault)
		return;
	s->host_only.lock_fault = fault;
	s->host_only.lock_fault_cpu = cpu;
}

static inline __unused u32 lock_bit(u32 cpu)
{
	return 1u << (cpu % 32);
}

/* One bit stands for several CPUs of a large machine, which lets some mistakes pass there. */
static inline __unused u32 lock_is_held(sched_t *s, u32 cpu)
{
	return s->host_only.own_lock == cpu || s->host_only.own_lock == LOCKS_ALL ||
	       (s->host_only.locked & lock_bit(cpu));
}

/* After rq_lock(). */
static inline __unused void note_locked(sched_t *s, u32 cpu)
{
	if (s->host_only.own_lock == cpu || (s->nr_cpus <= 32 && (s->host_only.locked & lock_bit(cpu))))
		lock_fault(s, LOCK_TWICE, cpu);
	s->host_only.locked |= lock_bit(cpu);
	s->host_only.nr_locked++;
}

/* Before rq_unlock(). */
static inline __unused void note_unlocked(sched_t *s, u32 cpu)
{
	if (!s->host_only.nr_locked || !(s->host_only.locked & lock_bit(cpu))) {
		lock_fault(s, LOCK_NOT_HELD, cpu);
		return;
	}
	s->host_only.nr_locked--;
	if (s->nr_cpus <= 32 || !s->host_only.nr_locked)
		s->host_only.locked &= ~lock_bit(cpu);
}

/* What follows changes the run queue of @cpu. */
static inline __unused void need_lock(sched_t *s, u32 cpu)
{
	if (!lock_is_held(s, cpu))
		lock_fault(s, LOCK_MISSING, cpu);
}
#endif
