/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * host.h - requests of a policy to its host, and helpers.
 *
 * All functions are inline and work on shared memory: a hook never calls the
 * host, so it behaves in the same way in the simulator and in a BPF program that
 * holds a lock.  The host reads the requests when the hook returns.
 */
#ifndef SCHEDLAB_HOST_H
#define SCHEDLAB_HOST_H

#include "locks.h"	/* of the back end */

/** cpu_of - the public state of CPU @cpu. */
static inline __unused cpu_t *cpu_of(sched_t *s, u32 cpu)
{
	return s->cpus + cpu;
}

/** cpu_curr - the task running on @cpu, NULL if it idles. */
static inline __unused task_t *cpu_curr(sched_t *s, u32 cpu)
{
	return cpu_of(s, cpu)->curr;
}

/** cpu_allowed - may @p run on @cpu? */
static inline __unused u32 cpu_allowed(task_t *p, u32 cpu)
{
	return (p->allowed->bits[cpu / 64] >> (cpu % 64)) & 1;
}

/** task_is_rt - is @p of class SCHED_FIFO or SCHED_RR? */
static inline __unused u32 task_is_rt(task_t *p)
{
	return p->class >= CLASS_FIFO;
}

/**
 * work_left_ns - the CPU time @p needs until it sleeps or ends, on an unloaded CPU of full speed
 *
 * No real scheduler can know this.  The policy must set .knows_future = true, reports mention it,
 * and no kernel loads the policy.  The value is exact while @p does not run; while it runs,
 * the time since it began to run is subtracted.
 */
#ifdef __bpf__
u64 work_left_ns(sched_t *s, task_t *p)
	__attribute__((error("no kernel can tell how much work a task has left: this policy runs in the simulator only")));
#else
static inline __unused u64 work_left_ns(sched_t *s, task_t *p)
{
	u64 left = p->host_only.work_left_ns, ran = p->on_cpu ? s->now - p->host_only.work_left_at : 0;

	return left > ran ? left - ran : 0;
}
#endif

/**
 * resched_cpu - request a call of pick_next() on @cpu as soon as possible
 *
 * The call comes at the end of this hook on this CPU, after an inter-processor interrupt on
 * another CPU, and at the end of the system call if the CPU is in the kernel.
 */
static inline __unused void resched_cpu(sched_t *s, u32 cpu)
{
	cpu_t *c = cpu_of(s, cpu);

	if (c->need_resched & RESCHED)
		return;
	c->need_resched |= RESCHED;
	s->host_only.requests = 1;
	note_resched(s, c, cpu);
}

/**
 * resched_cpu_lazy - request a call of pick_next() on @cpu, which need not be at once
 *
 * With lazy preemption it sends no interrupt: the CPU reschedules when it next returns to user
 * mode, at its next tick at the latest.  Other kernels and idle CPUs treat it as resched_cpu().
 */
static inline __unused void resched_cpu_lazy(sched_t *s, u32 cpu)
{
	cpu_t *c = cpu_of(s, cpu);

	if (s->lazy && c->curr)
		c->need_resched |= RESCHED_LAZY;
	else
		resched_cpu(s, cpu);
}

/**
 * move_task - waiting task @p now belongs to the run queue of @cpu
 *
 * The policy moves it between its own lists; this informs the host.  @cpu must
 * be in @p->allowed and @p must not be running.  The hook holds the locks of both run queues.
 */
static inline __unused void move_task(sched_t *s, task_t *p, u32 cpu)
{
	if (p->cpu == cpu)
		return;
	need_lock(s, p->cpu);
	need_lock(s, cpu);
	if (p->host_only.moved_from == MAX_CPUS) {
		s->host_only.requests = 1;
		p->host_only.moved_from = p->cpu;
		p->host_only.moved_next = s->host_only.moved;
		s->host_only.moved = p;
	}
	p->cpu = cpu;
}

/**
 * task_group - @p's group, NULL for the root
 *
 * Always NULL in the BPF back end, which does not support groups: code for groups is removed there.
 */
static inline __unused group_t *task_group(task_t *p)
{
#ifdef __BPF__
	return NULL;
#else
	return p->group;
#endif
}

/**
 * set_throttled - stop or restart the tasks of @g, and of the groups in it, on @cpu
 *
 * For groups that have used up their quota.  A CPU may idle while such tasks wait on its run queue.
 */
static inline __unused void set_throttled(sched_t *s, group_t *g, u32 cpu, u32 throttled)
{
	struct group_cpu __arena *gc = g->host_only.cpus + cpu;

	if (gc->throttled == throttled)
		return;
	gc->throttled = throttled;
	s->host_only.requests = 1;
	if (gc->changed_next)
		return;
	gc->changed_next = s->host_only.throttles ? s->host_only.throttles : gc;
	s->host_only.throttles = gc;
}

/**
 * rq_lock - take the lock of another CPU's run queue (LOCK_PER_CPU only)
 *
 * Returns false if another CPU holds it for too long, for example when two CPUs want each
 * other's lock.  Then continue without it and leave a consistent state.  After
 * true, s->now may be later than before: since this hook began, other hooks may
 * have changed that run queue at later times.  In the simulator the lock is
 * always free and s->now stays, but tests refuse it at random and let s->now
 * advance.
 */
static inline __unused __must_check u32 rq_lock(sched_t *s, u32 cpu)
{
	s->host_only.work.locks++;
	if (!take_rq_lock(s, cpu))
		return false;
	note_locked(s, cpu);
	return true;
}

/** rq_unlock - release a lock taken with rq_lock(). */
static inline __unused void rq_unlock(sched_t *s, u32 cpu)
{
	note_unlocked(s, cpu);
	drop_rq_lock(s, cpu);
}

/** examined - @n more tasks were examined for this choice; the machine charges their cost. */
static inline __unused void examined(sched_t *s, u32 n)
{
	s->host_only.work.examined += n;
}

/** recalculated - one pass over all tasks renewed @n of them; the machine charges its cost. */
static inline __unused void recalculated(sched_t *s, u32 n)
{
	s->host_only.work.recalculations++;
	s->host_only.work.recalculated += n;
}

/** count - add @n to the policy's own counter @counter (COUNTER_name). */
static inline __unused void count(sched_t *s, u32 counter, u64 n)
{
	s->host_only.requests = 1;
	s->host_only.counters[counter % MAX_COUNTERS] += n;
}

/**
 * timer_start - call timer(@id) after @delay_ns (at least 1); restarts a running timer
 *
 * In the simulator a timer that expires more than 10000 times within a millisecond
 * is an error of the policy, because the run would hardly advance.  The same holds
 * for hrticks.
 */
static inline __unused void timer_start(sched_t *s, u32 id, u64 delay_ns)
{
	s->host_only.timer_expires[id % MAX_TIMERS] = s->now + (delay_ns ? delay_ns : 1);
	s->host_only.requests = 1;
	s->host_only.timers_changed = 1;
}

/** timer_stop - stop timer @id. */
static inline __unused void timer_stop(sched_t *s, u32 id)
{
	s->host_only.timer_expires[id % MAX_TIMERS] = 0;
	s->host_only.requests = 1;
	s->host_only.timers_changed = 1;
}

/**
 * hrtick_start - call hrtick(@cpu) on that CPU after @delay_ns (at least 1); restarts a running hrtick
 *
 * Each CPU has one such timer, independent of the ticks.  The lock of the CPU's run queue protects it.
 */
static inline __unused void hrtick_start(sched_t *s, u32 cpu, u64 delay_ns)
{
	cpu_t *c = cpu_of(s, cpu);

	c->hrtick_expires = s->now + (delay_ns ? delay_ns : 1);
	s->host_only.requests = 1;
	note_hrtick(s, c, cpu);
}

/** hrtick_stop - stop the hrtick of @cpu. */
static inline __unused void hrtick_stop(sched_t *s, u32 cpu)
{
	cpu_t *c = cpu_of(s, cpu);

	if (!c->hrtick_expires)
		return;
	c->hrtick_expires = 0;
	s->host_only.requests = 1;
	note_hrtick(s, c, cpu);
}

/** policy_error - stop: the policy found an error in its own state.  @what is a constant string. */
static inline __unused void policy_error(sched_t *s, const char *what, task_t *p)
{
	if (!s->host_only.error) {
		s->host_only.error = what;
		s->host_only.error_task = p;
	}
}

/** row_error - stop: row @row of a table of tunables is invalid.  For init(). */
static inline __unused void row_error(sched_t *s, const char *what, u32 row)
{
	policy_error(s, what, NULL);
	s->host_only.error_row = (u64)row + 1;
}

/** random_u32 - the next number of the machine's seeded generator (xorshift64*, Vigna 2016). */
static inline __unused u32 random_u32(sched_t *s)
{
	u64 x = s->host_only.rng;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	s->host_only.rng = x;
	return (u32)((x * 0x2545f4914f6cdd1dull) >> 32);
}

/* ---- bounded loops ------------------------------------------------------ */

/*
 * loop_from(s, counter, first) sets a loop's counter to @first and hides this value from the
 * kernel's verifier.  The macros below use it; any other counter that affects a branch needs it,
 * too.  in_bounds(i, n) is @i, checked to be below @n, for rows of tables among the tunables.
 */

/** repeat - do the following statement with @i from 0 to @n - 1. */
#define repeat(s, i, n) \
	for ((i) = loop_from(s, i, 0); (i) < (n) && may_loop(s); (i)++)

/** repeat_down - do the following statement with signed @i from @from down to @to. */
#define repeat_down(s, i, from, to) \
	for ((i) = loop_from(s, i, from); (i) >= (to) && may_loop(s); (i)--)

/** repeat_while - do the following statement as long as @condition holds. */
#define repeat_while(s, condition) \
	while ((condition) && may_loop(s))

/** for_each_cpu - every CPU of the machine in ascending order. */
#define for_each_cpu(s, cpu)	repeat(s, cpu, (s)->nr_cpus)

/** for_each_task - every task of the system, oldest first; @n is a list_t * used as the cursor. */
#define for_each_task(s, p, n)							\
	for ((n) = (s)->tasks->next;						\
	     (n) != (s)->tasks && ((p) = list_entry(n, task_t, all), 1) && may_loop(s);	\
	     (n) = (n)->next)
#endif
