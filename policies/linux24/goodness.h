/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * goodness.h - the time slices, goodness() and reschedule_idle() of Linux 2.3.99 and 2.4.
 *
 * ELSC and the timer_ticks patch change the run queue or the use of a slice, and
 * keep the rest of the stock scheduler.  The common part is here: the length of
 * a slice, how fork, exit and the tick divide it, the goodness of a task for a
 * CPU, and the CPU that a task that became runnable preempts.
 *
 * Include it right after policy.h.  It declares the tunables: its own, whose
 * initial values are those of 2.3.99, and those the policy lists before in
 * POLICY_OWN_TUNABLES(T).  The policy's CPU state must be struct linux_cpu and
 * its task state must begin with struct linux_task.
 *
 * FIDELITY: SCHED_BATCH, SCHED_IDLE and SCHED_ISO came later; such tasks are SCHED_OTHER.
 * FIDELITY: 2.3.99 had no cpus_allowed; it is respected here as 2.4 does it.
 */
#ifndef SCHEDLAB_GOODNESS_H
#define SCHEDLAB_GOODNESS_H

#define GOODNESS_TUNABLES(T)									\
	T(hz, 100, 10, 10000,									\
	  "ticks per second [HZ on i386]")							\
	T(smp, -1, -1, 1,									\
	  "is the kernel built for SMP? 1: yes, 0: no, -1: if it has several CPUs [CONFIG_SMP]")	\
	T(nice_to_ticks, 0, 0, 1,								\
	  "slices are 0: the priority, 20 - nice at 100 Hz [2.3.99], 1: NICE_TO_TICKS() [2.4]")	\
	T(proc_change_penalty, 15, 0, 1000,							\
	  "goodness of having run on this CPU last, SMP only [PROC_CHANGE_PENALTY on i386]")	\
	T(mm_bonus, 1, 0, 1000,									\
	  "goodness of sharing the previous task's address space [goodness()]")			\
	T(mm_bonus_kthreads, 1, 0, 1,								\
	  "1: tasks without an address space get mm_bonus too [goodness()]")			\
	T(goodness_sees_yield, 0, 0, 1,								\
	  "goodness() of a task that yielded is 0: as ever, schedule() knows [2.3.99], 1: -1 [2.4]") \
	T(preempt_threshold, 0, 0, 1000,							\
	  "a woken task preempts if its goodness is greater by more than this [0; 2.4.0: 1]")	\
	T(wake_least_recent, 0, 0, 1,								\
	  "a woken task goes to 0: the highest idle CPU [2.3.99], 1: the one idle for longest [2.4]") \
	T(cache_kb, 512, 0, 1048576,								\
	  "cache of a CPU in KiB, for cacheflush_time; 0: unknown [2.3.99; Pentium II: 512]")	\
	T(cache_mb_per_s, 350, 1, 1000000,							\
	  "speed at which that cache refills, in MB/s, for cacheflush_time [2.3.99]")		\
	T(sync_checks_allowed, 0, 0, 1,								\
	  "1: a synchronous wakeup seeks a CPU if the waker's is forbidden [2.4.16]")		\
	T(fork_odd_tick, 1, 0, 1,								\
	  "1: when fork() halves a slice the child gets the odd tick [2.4; 2.3.99 unknown], 0: it is lost") \
	T(reap_cap_ms, 0, 0, 100000,								\
	  "a child's unused ticks raise its reaper's counter to at most so many ms [2.4: 200], "	\
	  "0: to 2 * priority - 1 ticks [2.3.99, from memory]")

#ifndef POLICY_OWN_TUNABLES
#define POLICY_OWN_TUNABLES(T)
#endif
#define ALL_TUNABLES(T)	GOODNESS_TUNABLES(T) POLICY_OWN_TUNABLES(T)
POLICY_TUNABLES(ALL_TUNABLES)

struct linux_task {		/* what the scheduler reads of task_struct, beside the public fields */
	struct list run_list;
	u64 avg_slice_ns;	/* how long it runs at a stretch, fading average */
	s32 counter;		/* ticks left of its slice */
	u32 yielded;		/* the SCHED_YIELD bit: it gave way and schedule() has not dealt with it */
};
typedef struct linux_task __arena linux_task_t;

struct linux_cpu {		/* schedule_data */
	u64 last_schedule_ns;	/* when it switched last */
	u32 active_mm;		/* of the last task with an address space; idle borrows it */
};
typedef struct linux_cpu __arena linux_cpu_t;

#define NO_CPU		MAX_CPUS
#define RT_GOODNESS	1000

static inline __unused linux_task_t *linux_task(task_t *p)
{
	return (linux_task_t *)(p + 1);
}

static inline __unused linux_cpu_t *linux_cpu(sched_t *s, u32 cpu)
{
	return (linux_cpu_t *)cpu_state_of(s) + cpu;
}

/* Is this an SMP kernel?  One on a single CPU ("1P") behaves a little differently from a UP kernel. */
static inline __unused u32 is_smp(sched_t *s)
{
	return tun(s)->smp < 0 ? s->smp : tun(s)->smp > 0;
}

static inline __unused s32 goodness_init(sched_t *s)
{
	if (tun(s)->smp || s->nr_cpus == 1)
		return 0;
	policy_error(s, "smp=0 is a kernel without SMP support, but the machine has several CPUs", NULL);
	return -1;
}

/* ---- time slices -------------------------------------------------------- */

/* The priority of 2.3.99: DEF_PRIORITY (200 ms in ticks) for nice 0, scaled as sys_setpriority() does. */
static inline __unused s32 priority_of(sched_t *s, task_t *p)
{
	u32 def = max_of((u32)tun(s)->hz / 5, 1u);
	u32 distance = ((u32)(p->nice < 0 ? -p->nice : p->nice) * def + 10) / 20;

	if (p->nice <= 0)
		return (s32)(def + distance);
	return def > distance ? (s32)(def - distance) : 1;
}

/* NICE_TO_TICKS() of 2.4: near 50 ms for nice 0, whatever HZ is. */
static inline __unused s32 nice_to_ticks(sched_t *s, task_t *p)
{
	s32 x = 20 - p->nice;

	if (tun(s)->hz < 200)
		return (x >> 2) + 1;
	if (tun(s)->hz < 400)
		return (x >> 1) + 1;
	if (tun(s)->hz < 800)
		return x + 1;
	if (tun(s)->hz < 1600)
		return (x << 1) + 1;
	return (x << 2) + 1;
}

/* A full slice in ticks; at least 1. */
static inline __unused s32 quantum(sched_t *s, task_t *p)
{
	return tun(s)->nice_to_ticks ? nice_to_ticks(s, p) : priority_of(s, p);
}

/*
 * What a recalculation does to one task: a new slice and half of what is left
 * of the old one, so that tasks that slept come back with up to two.
 */
static inline __unused void refill(sched_t *s, task_t *p)
{
	linux_task_t *t = linux_task(p);

	t->counter = (t->counter >> 1) + quantum(s, p);
}

/* schedule() gives an exhausted SCHED_RR task a new slice; the caller then moves it behind its peers. */
static inline __unused u32 refill_rr(sched_t *s, task_t *p)
{
	if (p->class != CLASS_RR || linux_task(p)->counter)
		return false;
	linux_task(p)->counter = quantum(s, p);
	return true;
}

/* The tick takes from the running task, whatever its class. */
static inline __unused void goodness_tick(sched_t *s, u32 cpu, task_t *p)
{
	linux_task_t *t = linux_task(p);

	if (--t->counter > 0)
		return;
	t->counter = 0;
	resched_cpu(s, cpu);
}

/*
 * Parent and child share what the parent has left, so that forking does not
 * create time.  FIDELITY: tasks that exist from the start get a full slice.
 */
static inline __unused void goodness_fork(sched_t *s, task_t *parent, task_t *child)
{
	linux_task_t *from, *to = linux_task(child);

	if (!parent) {
		to->counter = quantum(s, child);
		return;
	}
	from = linux_task(parent);
	to->avg_slice_ns = from->avg_slice_ns;
	to->counter = (from->counter + (s32)tun(s)->fork_odd_tick) >> 1;
	from->counter >>= 1;
	if (!from->counter)
		resched_cpu(s, parent->cpu);
}

/* The most ticks @reaper can have from reaping children. */
static inline __unused s32 reap_cap(sched_t *s, task_t *reaper)
{
	if (!tun(s)->reap_cap_ms)
		return 2 * priority_of(s, reaper) - 1;
	return (s32)((u64)(tun(s)->reap_cap_ms * tun(s)->hz) / 1000);
}

/* The ticks a dead child did not use go to its reaper, up to a limit. */
static inline __unused void goodness_exit(sched_t *s, task_t *p, task_t *reaper)
{
	linux_task_t *t;

	if (!reaper)
		return;
	t = linux_task(reaper);
	t->counter = min_of(t->counter + linux_task(p)->counter, reap_cap(s, reaper));
}

/* ---- goodness ----------------------------------------------------------- */

/* What nice adds to goodness. */
static inline __unused s32 nice_weight(sched_t *s, task_t *p)
{
	return tun(s)->nice_to_ticks ? 20 - p->nice : priority_of(s, p);
}

/* The part of a SCHED_OTHER task's goodness that does not depend on who asks. */
static inline __unused s32 static_goodness(sched_t *s, task_t *p)
{
	return linux_task(p)->counter + nice_weight(s, p);
}

/* Would running @p after a task with @this_mm save an address-space switch? */
static inline __unused u32 mm_matches(sched_t *s, task_t *p, u32 this_mm)
{
	return p->mm ? p->mm == this_mm : tun(s)->mm_bonus_kthreads != 0;
}

/* The dynamic part: a warm cache on the CPU it ran on last, and the same address space. */
static inline __unused s32 goodness_bonus(sched_t *s, task_t *p, u32 cpu, u32 this_mm)
{
	s32 bonus = 0;

	if (is_smp(s) && p->cpu == cpu)
		bonus += (s32)tun(s)->proc_change_penalty;
	if (mm_matches(s, p, this_mm))
		bonus += (s32)tun(s)->mm_bonus;
	return bonus;
}

/* goodness - how desirable is it to run @p on @cpu after a task with @this_mm?  0: its slice is used up. */
static inline __unused s32 goodness(sched_t *s, task_t *p, u32 cpu, u32 this_mm)
{
	if (linux_task(p)->yielded && tun(s)->goodness_sees_yield)
		return -1;
	if (task_is_rt(p))
		return RT_GOODNESS + (s32)p->rt_priority;
	if (!linux_task(p)->counter)
		return 0;
	return static_goodness(s, p) + goodness_bonus(s, p, cpu, this_mm);
}

/* For observers: goodness without the bonuses. */
static inline __unused s32 goodness_priority(sched_t *s, task_t *p)
{
	if (task_is_rt(p))
		return RT_GOODNESS + (s32)p->rt_priority;
	return linux_task(p)->counter ? static_goodness(s, p) : 0;
}

/* The address space @cpu is in while it runs @curr (NULL: idle), or has just stopped to. */
static inline __unused u32 active_mm(sched_t *s, u32 cpu, task_t *curr)
{
	return curr && curr->mm ? curr->mm : linux_cpu(s, cpu)->active_mm;
}

/* How much better for busy @cpu than the task it runs would @p be? */
static inline __unused s32 preemption_goodness(sched_t *s, u32 cpu, task_t *p)
{
	task_t *curr = cpu_curr(s, cpu);
	u32 mm = active_mm(s, cpu, curr);

	return goodness(s, p, cpu, mm) - goodness(s, curr, cpu, mm);
}

/* ---- which CPU should a runnable task disturb? ---------------------------- */

static inline __unused u32 idle_for(sched_t *s, task_t *p, u32 cpu)
{
	return cpu_allowed(p, cpu) && !cpu_curr(s, cpu);
}

/* Anything is better than the idle task. */
static inline __unused u32 preempts(sched_t *s, task_t *p, u32 cpu)
{
	if (!cpu_allowed(p, cpu))
		return false;
	return !cpu_curr(s, cpu) || preemption_goodness(s, cpu, p) > tun(s)->preempt_threshold;
}

/* The time a CPU needs to fill its cache: SMP boot code works it out from the cache's size. */
static inline __unused u64 cacheflush_time_ns(sched_t *s)
{
	u64 bytes = (u64)tun(s)->cache_kb << 10;

	return div_u64(bytes * NSEC_PER_USEC, (u64)tun(s)->cache_mb_per_s);
}

/*
 * 2.3.99: the last CPU if it idles, else any idle one, highest number first,
 * else preempt on the last CPU.  Real-time tasks and those that run too briefly
 * to profit from a warm cache may also preempt on another.
 */
static inline __unused u32 wake_target_2_3(sched_t *s, task_t *p)
{
	s32 cpu, last = (s32)s->nr_cpus - 1;

	if (idle_for(s, p, p->cpu))
		return p->cpu;
	repeat_down(s, cpu, last, 0)
		if (idle_for(s, p, (u32)cpu))
			return (u32)cpu;
	if (preempts(s, p, p->cpu))
		return p->cpu;
	if (!task_is_rt(p) && linux_task(p)->avg_slice_ns >= cacheflush_time_ns(s))
		return NO_CPU;
	repeat_down(s, cpu, last, 0)
		if (preempts(s, p, (u32)cpu))
			return (u32)cpu;
	return NO_CPU;
}

/*
 * 2.4: the last CPU if it idles, else the idle one that switched longest ago and
 * has the coldest cache, else preempt where that gains most.
 */
static inline __unused u32 wake_target_2_4(sched_t *s, task_t *p)
{
	u64 oldest_idle = ~0ull;
	s32 max_prio = (s32)tun(s)->preempt_threshold;
	u32 cpu, target = NO_CPU;

	if (idle_for(s, p, p->cpu))
		return p->cpu;
	for_each_cpu(s, cpu) {
		u64 last_schedule = linux_cpu(s, cpu)->last_schedule_ns;
		s32 prio;

		if (!cpu_allowed(p, cpu))
			continue;
		if (!cpu_curr(s, cpu)) {
			if (last_schedule < oldest_idle) {
				oldest_idle = last_schedule;
				target = cpu;
			}
		} else if (oldest_idle == ~0ull) {
			prio = preemption_goodness(s, cpu, p);
			if (prio > max_prio) {
				max_prio = prio;
				target = cpu;
			}
		}
	}
	return target;
}

/* reschedule_idle - @p became runnable: is there a CPU that should schedule() for it? */
static inline __unused void reschedule_idle(sched_t *s, task_t *p)
{
	u32 target;

	if (!is_smp(s))
		target = preempts(s, p, 0) ? 0 : NO_CPU;
	else if (tun(s)->wake_least_recent)
		target = wake_target_2_4(s, p);
	else
		target = wake_target_2_3(s, p);
	if (target != NO_CPU)
		resched_cpu(s, target);
}

/* The second half of wake_up_process(): a synchronous waker is about to sleep and leaves @p its own CPU. */
static inline __unused void reschedule_woken(sched_t *s, task_t *p, u32 flags)
{
	u32 waker_forbidden = !cpu_allowed(p, s->this_cpu);

	if ((flags & ENQ_SYNC) && !(waker_forbidden && tun(s)->sync_checks_allowed))
		return;
	reschedule_idle(s, p);
}

/*
 * schedule_tail - @cpu has switched away from @prev: a task that can still run
 * tries its luck elsewhere, unless it had yielded and 2.4 still knows.  What can
 * still run is on the run queue again by now.
 */
static inline __unused void schedule_tail(sched_t *s, u32 cpu, task_t *prev)
{
	linux_cpu_t *c = linux_cpu(s, cpu);
	u64 slice_ns = s->now - c->last_schedule_ns;
	linux_task_t *t;
	u32 yielded;

	c->last_schedule_ns = s->now;
	if (!prev)
		return;
	c->active_mm = active_mm(s, cpu, prev);
	t = linux_task(prev);
	t->avg_slice_ns = (slice_ns + t->avg_slice_ns) / 2;
	yielded = t->yielded;
	t->yielded = false;
	if (is_smp(s) && list_linked(&t->run_list) && !yielded)
		reschedule_idle(s, prev);
}
#endif
