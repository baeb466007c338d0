/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bsd43 - the scheduler of 4.3BSD and 4.4BSD: multilevel feedback by decaying CPU usage.
 *
 * A process's priority is computed from its recent CPU time and its nice value;
 * the best priority runs, and equals alternate every 100 ms.  The decay of usage is
 * in bsd/decay.h, the order of the run queue in bsd/runq.h: FreeBSD's later
 * version shares both.
 *
 * FIDELITY: there were no scheduling classes; real-time, batch and idle tasks are ordinary processes.
 * FIDELITY: there was no sched_yield(); it sends the caller behind its equals, as the clock does.
 * FIDELITY: there were no several CPUs; here they share the one run queue as FreeBSD's first SMP kernels did.
 */
#include "policy.h"

#define POLICY_OWN_TUNABLES(T)								\
	T(hz, 100, 10, 1000, "ticks per second: hardclock() [kern_clock.c 7.1], statclock() [kern_clock.c 8.5]")	\
	T(maxpri, 127, 50, 255, "the worst priority [setpri(), kern_synch.c 7.1; MAXPRI, param.h 8.3]")	\
	T(pri_disk, 20, 0, 255, "priority of a process that wakes from waiting for a disk [PRIBIO, param.h 7.1; 16 in 8.3]")	\
	T(pri_wait, 30, 0, 255, "priority of a process that wakes from any other sleep [PWAIT, param.h 7.1; 32 in 8.3]")
#include "bsd/decay.h"

static const struct variant bsd43_variants[] = {
	{ "4.3", "4.3BSD: usage is an unsigned char, and ten minutes of ticks change nice 0 to 4", "load_counts_disk=1" },
	{ "4.4", "4.4BSD: children have their parent's priority at first, and CPU time is measured exactly",
	  "load_counts_disk=2 fork_copies_priority=1 tick_saturates=0 autonice_at_switch=1 long_sleep=1 "
	  "slptime_limit=0 pri_disk=16 pri_wait=32" },
};

POLICY_STATE(struct bsd, NO_STATE, struct bsd_task)

/* ---- priorities ------------------------------------------------------------- */

/* NQS = 32 queues of PPQ = 4 priorities. */
static u32 queue_of(sched_t *s, s32 pri)
{
	return (u32)pri / (u32)tun(s)->ppq;
}

/*
 * setpri() of 4.3BSD.  Only the worst value is bounded: at nice -20 an unused CPU
 * makes for 10, which is better than the kernel priorities of processes that wake up.
 */
static s32 user_priority(sched_t *s, task_t *p)
{
	s64 pri = tun(s)->puser + proc_of(p)->estcpu / (u32)tun(s)->estcpu_per_point;

	pri += tun(s)->nice_weight * nice_of(s, p);
	return (s32)clamp_to(pri, 0, tun(s)->maxpri);
}

/* It compares what a process would have in user mode with what runs. */
static u32 preempts(sched_t *s, task_t *p, task_t *curr)
{
	return proc_of(p)->user_pri < proc_of(curr)->pri;
}

static s32 kernel_priority(sched_t *s, task_t *p, u32 deq_flags)
{
	return (s32)((deq_flags & DEQ_UNINTERRUPTIBLE) ? tun(s)->pri_disk : tun(s)->pri_wait);
}

/* ---- hooks -------------------------------------------------------------------- */

/* wakeup() has the running process give way without a comparison; fork() does not disturb anybody. */
static void bsd43_enqueue(sched_t *s, task_t *p, u32 flags)
{
	u32 cpu;

	proc_enqueue(s, p, flags);
	if (idle_loop_takes(s, p) || (flags & ENQ_NEW))
		return;
	cpu = cpu_to_preempt(s, p);
	if (cpu != NO_CPU)
		resched_cpu(s, cpu);
}

static u32 bsd43_yield(sched_t *s, task_t *p)
{
	userret(p);
	return true;
}

POLICY(bsd43,
	.summary = "4.3BSD: priorities from decaying CPU usage, one run queue, a pass over all tasks each second",
	TUNABLES,
	VARIANTS(bsd43_variants),
	COUNTERS,
	.lock = LOCK_GLOBAL,
	.promise = {
		.conserving = CONSERVING_QUEUE,
		.nice = NICE_ORDERED,
		/* No bound: usage makes up for a limited difference in nice, and processes that wake often always come first. */
	},
	.init = decay_init,
	.fork = proc_fork,
	.exit = proc_exit,
	.enqueue = bsd43_enqueue,
	.dequeue = proc_dequeue,
	.pick_next = proc_switch,
	.switched = proc_switched,
	.tick = proc_tick,
	.yield = bsd43_yield,
	.set_nice = proc_set_nice,
	.set_cpumask = proc_set_cpumask,
	.timer = softclock,
	.priority = proc_priority,
	.queued = proc_queued,
);
