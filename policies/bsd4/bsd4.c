/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bsd4 - FreeBSD's 4BSD scheduler: 4.3BSD's, with classes above and below it.
 *
 * The priority of a time-sharing process is computed as in 4.3BSD: from its recent
 * CPU time, which decays in bsd/decay.h, and from nice, with limits such that a
 * process much nicer than another does not run beside it at all.  Real-time
 * processes and interrupt threads are better than all of these, idle processes
 * worse; their priorities are fixed.
 *
 * FreeBSD 5 has one range of 256 priorities for them, 4.x three sets of queues:
 *
 *	FreeBSD 5	  0 interrupt  64 kernel  128 real time  160 time sharing  224 idle
 *	FreeBSD 4	-32 real time   0 kernel   50 time sharing              128 idle
 *
 * FIDELITY: idprio(1) numbers idle processes 0 to 31; here their nice value does.
 * FIDELITY: a waiting process is moved at once when its class changes; 5.x moved it at the next pass and
 * 4.x when it had run.
 */
#include "policy.h"

#define POLICY_OWN_TUNABLES(T)								\
	T(hz, 128, 10, 1000, "ticks per second that are charged [stathz, i386/isa/clock.c of 4.x and 5.x]")	\
	T(one_queue, 1, 0, 1,								\
	  "1: classes are ranges of one run queue [runq.h of 5.x], 0: they have queues of their own [kern_switch.c of 4.x]") \
	T(nice_min, -20, -20, 0, "what is taken from nice before it is weighed: PRIO_MIN [sched_4bsd.c of 5.x], 0 [kern_synch.c 1.87.2 of 4.x]") \
	T(pri_min, 160, 0, 255, "the best priority of a time-sharing process [PRI_MIN_TIMESHARE, priority.h of 5.x; 4.x: none]") \
	T(pri_max, 223, 0, 255, "the worst priority of a time-sharing process [PRI_MAX_TIMESHARE, priority.h of 5.x; MAXPRI, param.h of 4.x: 127]")	\
	T(pri_disk, 76, 0, 255, "priority of a process that wakes from waiting for a disk [PRIBIO, priority.h of 5.x; param.h of 4.x: 16]")	\
	T(pri_wait, 92, 0, 255, "priority of a process that wakes from any other sleep [PWAIT, priority.h of 5.x; param.h of 4.x: 32]")	\
	T(preempt_points, 1, 1, 255,							\
	  "a time-sharing process preempts another if its priority is better by at least this [sched_4bsd.c of 5.x; PPQ, kern_synch.c 1.87.2 of 4.x: 4]") \
	T(interrupt_rotates, 1, 0, 1,							\
	  "1: interrupts run in threads, which send the process that they preempt behind its equals [kern_intr.c of 5.x]") \
	T(yield_to_worst, 0, 0, 1,							\
	  "0: sched_yield(2): behind one's equals, 1: yield(2): to the worst time-sharing priority")
#include "bsd/decay.h"

#define FREEBSD	\
	"estcpu_per_point=8 estcpu_limit=295 decay_adds_nice=0 fork_copies_estcpu=1 exit_charges_parent=1 " \
	"slptime_limit=0 long_sleep=1 load_jitter_ms=1000 autonice_after_s=0 "

static const struct variant bsd4_variants[] = {
	{ "5.x", "FreeBSD 5.1 and 5.2: nice counts for 1, so nobody less than 37 levels away is shut out",
	  FREEBSD "puser=160 nice_weight=1 did_run_is_awake=1" },
	{ "4.x", "FreeBSD 4: nice counts for 2, so 19 levels away is shut out; classes have queues of their own",
	  FREEBSD "puser=50 nice_weight=2 nice_min=0 pri_min=0 pri_max=127 one_queue=0 pri_disk=16 pri_wait=32 "
	  "preempt_points=4 interrupt_rotates=0" },
};

POLICY_STATE(struct bsd, NO_STATE, struct bsd_task)

/* ---- classes ------------------------------------------------------------------ */

#define PRI_MAX_ITHD		63
#define PRI_MIN_REALTIME	128
#define PRI_MIN_IDLE		224
#define RTQUEUES		32	/* levels of the real-time and of the idle class */
#define MAXPRI_4		128	/* 4.x: priorities of its ordinary queues */

/* 99 real-time priorities onto @levels, best first: 0 to @levels - 1. */
static s32 rt_level(task_t *p, u32 levels)
{
	return (s32)(levels - 1 - (p->rt_priority - 1) * levels / 99);
}

static s32 idle_level(task_t *p)
{
	return (p->nice - NICE_MIN) * RTQUEUES / (NICE_MAX - NICE_MIN + 1);
}

static u32 is_timeshare(task_t *p)
{
	return !task_is_rt(p) && p->class != CLASS_IDLE;
}

static u32 is_ithread(sched_t *s, task_t *p)
{
	return tun(s)->one_queue && task_is_rt(p) && (p->flags & TASK_KTHREAD);
}

/* The one number that never changes. */
static s32 class_priority(sched_t *s, task_t *p)
{
	if (is_ithread(s, p))
		return rt_level(p, PRI_MAX_ITHD + 1);
	if (task_is_rt(p))
		return rt_level(p, RTQUEUES) + (tun(s)->one_queue ? PRI_MIN_REALTIME : -RTQUEUES);
	return idle_level(p) + (tun(s)->one_queue ? PRI_MIN_IDLE : MAXPRI_4);
}

/* 5.x: 64 queues of 4 priorities.  4.x: 32 real-time ones, 32 of 4 priorities, 32 idle ones. */
static u32 queue_of(sched_t *s, s32 pri)
{
	u32 ppq = (u32)tun(s)->ppq;

	if (tun(s)->one_queue)
		return (u32)pri / ppq;
	if (pri < 0)
		return (u32)(pri + RTQUEUES);
	return pri < MAXPRI_4 ? RTQUEUES + (u32)pri / ppq : (u32)pri;
}

/* ---- priorities ----------------------------------------------------------------- */

static s32 user_priority(sched_t *s, task_t *p)
{
	s64 pri = tun(s)->puser + proc_of(p)->estcpu / (u32)tun(s)->estcpu_per_point;

	if (!is_timeshare(p))
		return class_priority(s, p);
	pri += tun(s)->nice_weight * (p->nice - tun(s)->nice_min);
	return (s32)clamp_to(pri, tun(s)->pri_min, tun(s)->pri_max);
}

/* 4.x compares queues where it compares time-sharing processes. */
static u32 preempts(sched_t *s, task_t *p, task_t *curr)
{
	s32 points = is_timeshare(p) && is_timeshare(curr) ? (s32)tun(s)->preempt_points : 1;

	return proc_of(curr)->pri - proc_of(p)->pri >= points;
}

/* An interrupt thread waits at its own priority; in 4.x a class is not left even in the kernel. */
static s32 kernel_priority(sched_t *s, task_t *p, u32 deq_flags)
{
	if (is_ithread(s, p) || (!is_timeshare(p) && !tun(s)->one_queue))
		return proc_of(p)->user_pri;
	return (s32)((deq_flags & DEQ_UNINTERRUPTIBLE) ? tun(s)->pri_disk : tun(s)->pri_wait);
}

/* ---- hooks ------------------------------------------------------------------------ */

/* The thread that handles an interrupt comes and goes, and leaves the process that ran before behind its equals. */
static void interrupt_thread(sched_t *s)
{
	task_t *curr = cpu_curr(s, s->this_cpu);

	if (curr && !is_ithread(s, curr))
		resched_cpu(s, s->this_cpu);
}

/* A woken process may preempt; a new one does not. */
static void bsd4_enqueue(sched_t *s, task_t *p, u32 flags)
{
	proc_enqueue(s, p, flags);
	if ((flags & ENQ_IRQ) && tun(s)->interrupt_rotates)
		interrupt_thread(s);
	if (!idle_loop_takes(s, p) && !(flags & ENQ_NEW))
		maybe_resched(s, p);
}

static u32 bsd4_yield(sched_t *s, task_t *p)
{
	userret(p);
	if (tun(s)->yield_to_worst)
		proc_of(p)->pri = (s32)tun(s)->pri_max;
	return true;
}

/* rtprio(2).  The CPU of a running process chooses again. */
static void bsd4_set_class(sched_t *s, task_t *p, u32 old_class, u32 old_rt_priority)
{
	bsd_task_t *t = proc_of(p);

	resetpriority(s, p);
	if (t->state == PROC_SLEEPING)
		return;
	change_priority(s, p, t->user_pri);
	if (p->on_cpu)
		resched_cpu(s, p->cpu);
	else if (on_runq(p))
		maybe_resched(s, p);
}

POLICY(bsd4,
	.summary = "FreeBSD's 4BSD: 4.3BSD's decaying usage, with real-time, idle and interrupt classes",
	TUNABLES,
	VARIANTS(bsd4_variants),
	COUNTERS,
	.lock = LOCK_GLOBAL,
	.promise = {
		.conserving = CONSERVING_QUEUE,
		.nice = NICE_ORDERED,
		/* No bound: a process much nicer than a hog is meant not to run. */
	},
	.init = decay_init,
	.fork = proc_fork,
	.exit = proc_exit,
	.enqueue = bsd4_enqueue,
	.dequeue = proc_dequeue,
	.pick_next = proc_switch,
	.switched = proc_switched,
	.tick = proc_tick,
	.yield = bsd4_yield,
	.set_nice = proc_set_nice,
	.set_class = bsd4_set_class,
	.set_cpumask = proc_set_cpumask,
	.timer = softclock,
	.priority = proc_priority,
	.queued = proc_queued,
);
