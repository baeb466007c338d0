/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * decay.h - priorities by decaying CPU usage, in 4.3BSD, 4.4BSD and FreeBSD's 4BSD scheduler.
 *
 * Each tick adds one to the running process's estcpu; a larger estcpu makes the
 * priority worse.  Once a second a pass over all processes lets every process
 * forget a part of it:
 *
 *	estcpu = estcpu * 2 * load / (2 * load + 1)
 *
 * where load is the one-minute load average, so that 90 % is forgotten in about
 * 5 * load seconds.  The pass skips a process asleep for more than a second; it
 * catches up when it wakes.  Every 100 ms the running process goes behind its
 * equals.  A sleeping process has a kernel priority that depends on its wait, is
 * queued at it when it wakes, and returns to its user priority in user mode.
 *
 * The policy that includes this, right after policy.h, may list tunables of its
 * own in POLICY_OWN_TUNABLES(T) before.  Its state begins with struct bsd, that
 * of a task with struct bsd_task (see runq.h), and it defines the priorities:
 *
 *	static s32 user_priority(sched_t *s, task_t *p);
 *		@p's priority in user mode
 *	static s32 kernel_priority(sched_t *s, task_t *p, u32 deq_flags);
 *		@p's priority while it sleeps
 *	static u32 preempts(sched_t *s, task_t *p, task_t *curr);
 *		@p has a new priority: does it preempt @curr, which runs?
 *
 * FIDELITY: 4.3BSD kept the load average and its decay factor in floating point; here they are the later
 * kernels' fixed point (FSCALE is 2048) throughout.
 * FIDELITY: code in the kernel between wakeup and return to user mode takes no time, so a woken process
 * is at its user priority as soon as it runs.
 */
#ifndef SCHEDLAB_DECAY_H
#define SCHEDLAB_DECAY_H

#define FSHIFT	11
#define FSCALE	(1u << FSHIFT)

#define DECAY_TUNABLES(T)								\
	T(puser, 50, 0, 255,								\
	  "PUSER: priorities from here on are a user's and follow estcpu; below are the kernel's [param.h 7.1 and 8.3]") \
	T(nice_weight, 2, 0, 10,							\
	  "points of priority for each nice level [setpri(), kern_synch.c 7.1; NICE_WEIGHT in FreeBSD]")	\
	T(estcpu_per_point, 4, 1, 1000,							\
	  "ticks of estcpu that cost one point of priority [setpri(), kern_synch.c 7.1; INVERSE_ESTCPU_WEIGHT in FreeBSD]") \
	T(estcpu_limit, 255, 1, 100000000,						\
	  "estcpu grows no further [p_cpu is an unsigned char in proc.h 7.1; UCHAR_MAX in kern_synch.c 8.9]")	\
	T(tick_saturates, 1, 0, 1,							\
	  "1: estcpu is limited at each tick [kern_clock.c 7.1], 0: by the pass of each second alone [kern_clock.c 8.5]") \
	T(decay_adds_nice, 1, 0, 1,							\
	  "1: the pass of each second adds nice to estcpu [schedcpu(), kern_synch.c 7.1 and 8.9]")	\
	T(nice_wraps, 0, 0, 1,								\
	  "1: that sum is unsigned, so one below 0 becomes the greatest estcpu [as kern_synch.c 8.9 is written]") \
	T(fork_copies_estcpu, 0, 0, 1,							\
	  "1: a child starts with its parent's estcpu [FreeBSD], 0: with none [kern_fork.c 7.1; p_startzero in proc.h 8.15]") \
	T(fork_copies_priority, 0, 0, 1,						\
	  "1: a child has its parent's priorities until they are recomputed [p_startcopy in proc.h 8.15]")	\
	T(exit_charges_parent, 0, 0, 1,							\
	  "1: the process that reaps a child adds the child's estcpu to its own [FreeBSD], 0: not [kern_exit.c 7.1 and 8.10]")	\
	T(did_run_is_awake, 0, 0, 1,							\
	  "1: a process that ran in the last second counts as awake in the pass even if it sleeps now [FreeBSD 5]") \
	T(slptime_limit, 127, 0, 1000000,						\
	  "seconds of sleep that count [schedcpu(), kern_synch.c 7.1]; 0: all [kern_synch.c 8.9]")	\
	T(long_sleep, 0, 0, 2,								\
	  "a sleep of more than 10 * load seconds clears estcpu: 0: no such rule [kern_synch.c 7.1], "	\
	  "1: compares seconds with the fixed point load, so practically never [updatepri(), kern_synch.c 8.9], 2: as meant") \
	T(autonice_after_s, 600, 0, 1000000,						\
	  "nice 0 becomes autonice for a process that used more seconds of CPU time; 0: never [kern_clock.c 7.1, kern_synch.c 8.9]") \
	T(autonice, 4, 1, 19, "what it becomes: NZERO + 4 [kern_clock.c 7.1, kern_synch.c 8.9]")	\
	T(autonice_at_switch, 0, 0, 1,							\
	  "0: each tick looks, and counts ticks [softclock(), kern_clock.c 7.1], "		\
	  "1: each switch from the process, which is timed [mi_switch(), kern_synch.c 8.9]")	\
	T(quantum_ms, 100, 1, 10000, "period at which equals take turns, in ms [roundrobin(), kern_synch.c 7.1: hz / 10]") \
	T(load_period_ms, 5000, 100, 60000, "period at which the load average is sampled, in ms [vm_meter.c 7.1]") \
	T(load_jitter_ms, 0, 0, 5000, "each period is up to this much shorter or longer at random, in ms [FreeBSD: 1000]") \
	T(load_kept, 1884, 0, 2047,							\
	  "part of the load average that a sample leaves, in 1/2048 [cexp[0], vm_meter.c 7.1: exp(-1/12) = 0.92004]") \
	T(load_counts_disk, 0, 0, 2,							\
	  "do disk waits count as load? 0: no [FreeBSD], 1: yes [vm_meter.c 7.1], 2: in their first second [vm_meter.c 8.7]") \
	T(held_load, -1, -1, 1000000, "constant load average, in hundredths; -1: it is measured [our choice]") \
	T(ppq, 4, 2, 64, "neighbouring priorities that share a queue [PPQ, kern_synch.c 7.1; RQ_PPQ in FreeBSD's runq.h]")

#ifndef POLICY_OWN_TUNABLES
#define POLICY_OWN_TUNABLES(T)
#endif
#define ALL_TUNABLES(T)	POLICY_OWN_TUNABLES(T) DECAY_TUNABLES(T)
POLICY_TUNABLES(ALL_TUNABLES)

/* Passes of each second, processes they looked at and moved, seconds of sleep made up for at wakeups. */
#define DECAY_COUNTERS(C)	\
	C(second_passes) C(processes_passed) C(requeued) C(load_samples) C(seconds_caught_up)
POLICY_COUNTERS(DECAY_COUNTERS)

#include "runq.h"

enum { SOFTCLOCK };	/* the timer */

static s32 user_priority(sched_t *s, task_t *p);
static s32 kernel_priority(sched_t *s, task_t *p, u32 deq_flags);
static u32 preempts(sched_t *s, task_t *p, task_t *curr);

/* ---- the load average ------------------------------------------------------- */

static inline __unused u32 counts_as_load(sched_t *s, task_t *p)
{
	bsd_task_t *t = proc_of(p);

	if (p->flags & TASK_KTHREAD)
		return false;
	if (t->state != PROC_SLEEPING)
		return t->state != PROC_ZOMBIE;
	if (!t->disk_wait)
		return false;
	return tun(s)->load_counts_disk == 1 || (tun(s)->load_counts_disk == 2 && t->slptime <= 1);
}

/* loadav(): another walk over all processes. */
static inline __unused void loadav(sched_t *s)
{
	u64 kept = (u64)tun(s)->load_kept, nrun = 0;
	list_t *node;
	task_t *p;

	count(s, COUNTER_load_samples, 1);
	if (tun(s)->held_load >= 0)
		return;
	for_each_task(s, p, node)
		nrun += counts_as_load(s, p);
	recalculated(s, s->nr_tasks);
	bsd_of(s)->load = (u32)((kept * bsd_of(s)->load + nrun * FSCALE * (FSCALE - kept)) >> FSHIFT);
}

/* Kernels that want to avoid sampling in step with periodic processes wait 4 to 6 s. */
static inline __unused u64 load_period_ns(sched_t *s)
{
	u64 ms = (u64)tun(s)->load_period_ms, jitter = (u64)tun(s)->load_jitter_ms;

	if (jitter)
		ms = max_of(ms + random_u32(s) % (2 * jitter + 1), jitter + 1) - jitter;
	return ms * NSEC_PER_MSEC;
}

/* ---- priorities ------------------------------------------------------------- */

static inline __unused void maybe_resched(sched_t *s, task_t *p)
{
	u32 cpu = cpu_to_preempt(s, p);

	if (cpu != NO_CPU && preempts(s, p, cpu_curr(s, cpu)))
		resched_cpu(s, cpu);
}

/* What @p's nice value is for the scheduler. */
static inline __unused s32 nice_of(sched_t *s, task_t *p)
{
	return proc_of(p)->autoniced && !p->nice ? (s32)tun(s)->autonice : p->nice;
}

/* Changes user_pri alone: a waiting or sleeping process keeps the priority it is queued or sleeps at. */
static inline __unused void resetpriority(sched_t *s, task_t *p)
{
	proc_of(p)->user_pri = user_priority(s, p);
	maybe_resched(s, p);
}

/* It goes back to user mode: a kernel thread never does. */
static inline __unused void userret(task_t *p)
{
	if (!(p->flags & TASK_KTHREAD))
		proc_of(p)->pri = proc_of(p)->user_pri;
}

/* ---- forgetting ------------------------------------------------------------- */

static inline __unused u32 loadfactor(sched_t *s)
{
	return 2 * bsd_of(s)->load;
}

/* What a second leaves: fixed point, rounded down. */
static inline __unused u32 decay_cpu(u32 loadfac, u32 estcpu)
{
	return (u32)div_u64((u64)loadfac * estcpu, (u64)loadfac + FSCALE);
}

static inline __unused u32 estcpu_limited(sched_t *s, s64 estcpu)
{
	return (u32)clamp_to(estcpu, 0, tun(s)->estcpu_limit);
}

/* What a second leaves of estcpu.  Nice enters here, and once more in the priority. */
static inline __unused u32 estcpu_after_second(sched_t *s, task_t *p)
{
	s64 estcpu = decay_cpu(loadfactor(s), proc_of(p)->estcpu);

	if (tun(s)->decay_adds_nice)
		estcpu += nice_of(s, p);
	if (estcpu < 0 && tun(s)->nice_wraps)
		return (u32)tun(s)->estcpu_limit;
	return estcpu_limited(s, estcpu);
}

/* Does it count as asleep in this second's pass?  Counts the seconds. */
static inline __unused void count_sleep(sched_t *s, task_t *p)
{
	bsd_task_t *t = proc_of(p);
	u32 awake = t->state != PROC_SLEEPING || (t->did_run && tun(s)->did_run_is_awake);

	t->did_run = p->on_cpu != 0;
	if (awake)
		t->slptime = 0;
	else if (t->slptime != tun(s)->slptime_limit || !tun(s)->slptime_limit)
		t->slptime++;
}

/* Only a process still at its user priority moves: one at a kernel priority returns to it later. */
static inline __unused void pass_over(sched_t *s, task_t *p)
{
	bsd_task_t *t = proc_of(p);

	count_sleep(s, p);
	if (t->slptime > 1)
		return;
	t->estcpu = estcpu_after_second(s, p);
	resetpriority(s, p);
	if (t->pri >= tun(s)->puser)
		change_priority(s, p, t->user_pri);
}

/* schedcpu(): once a second, all processes. */
static inline __unused void schedcpu(sched_t *s)
{
	u32 nr = 0;
	list_t *node;
	task_t *p;

	for_each_task(s, p, node) {
		if (proc_of(p)->state == PROC_ZOMBIE)
			continue;
		pass_over(s, p);
		nr++;
	}
	recalculated(s, nr);
	count(s, COUNTER_second_passes, 1);
	count(s, COUNTER_processes_passed, nr);
}

static inline __unused u32 slept_long(sched_t *s, bsd_task_t *t, u32 loadfac)
{
	u64 limit = 5 * (u64)loadfac;

	if (tun(s)->long_sleep == 2)
		limit >>= FSHIFT;
	return tun(s)->long_sleep && t->slptime > limit;
}

/* updatepri(): at the wakeup from more than a second of sleep, of which the pass has seen the first. */
static inline __unused void updatepri(sched_t *s, task_t *p)
{
	bsd_task_t *t = proc_of(p);
	u32 loadfac = loadfactor(s), seconds = t->slptime - 2;

	if (slept_long(s, t, loadfac))
		t->estcpu = 0;
	repeat_while(s, t->estcpu && seconds) {
		t->estcpu = decay_cpu(loadfac, t->estcpu);
		seconds--;
		count(s, COUNTER_seconds_caught_up, 1);
	}
	resetpriority(s, p);
}

/* ---- auto-nice ---------------------------------------------------------------- */

/* The kernels compare whole seconds. */
static inline __unused u32 ran_too_long(sched_t *s, task_t *p)
{
	u64 limit_ns = ((u64)tun(s)->autonice_after_s + 1) * NSEC_PER_SEC;

	return tun(s)->autonice_after_s && proc_of(p)->cpu_time_ns >= limit_ns && !(p->flags & TASK_KTHREAD);
}

/*
 * A process of nice 0 that has used ten minutes of CPU time makes room for others.
 * FIDELITY: the kernels spare the superuser's processes; here no task has a user.
 * FIDELITY: 4.3BSD counts time in user mode only; here every tick of a process counts.
 */
static inline __unused u32 autonice(sched_t *s, task_t *p)
{
	bsd_task_t *t = proc_of(p);

	if (p->nice || t->autoniced || !ran_too_long(s, p))
		return false;
	t->autoniced = true;
	resetpriority(s, p);
	return true;
}

/* softclock() of 4.3BSD, at a tick of @p, which also takes its new priority. */
static inline __unused void autonice_at_tick(sched_t *s, task_t *p)
{
	bsd_task_t *t = proc_of(p);

	if (tun(s)->autonice_at_switch)
		return;
	t->cpu_time_ns += s->tick_ns;
	if (autonice(s, p))
		t->pri = t->user_pri;
}

/* mi_switch() of 4.4BSD, with @p leaving the CPU, if only to be chosen again. */
static inline __unused void autonice_at_switch(sched_t *s, task_t *p)
{
	bsd_task_t *t = proc_of(p);

	if (!tun(s)->autonice_at_switch)
		return;
	t->cpu_time_ns += s->now - t->runs_since_ns;
	autonice(s, p);
}

/* ---- a process's life --------------------------------------------------------- */

/* A child that is created with another nice value than its parent's has been reniced at once. */
static inline __unused void proc_fork(sched_t *s, task_t *parent, task_t *child)
{
	bsd_task_t *t = proc_of(child), *from = proc_of(parent);
	u32 alike = parent && child->nice == parent->nice && child->class == parent->class;

	if (parent && tun(s)->fork_copies_estcpu)
		t->estcpu = from->estcpu;
	if (alike)
		t->autoniced = from->autoniced;
	t->user_pri = user_priority(s, child);
	t->pri = t->user_pri;
	if (!alike || !tun(s)->fork_copies_priority)
		return;
	t->user_pri = from->user_pri;
	t->pri = from->pri;
}

/* The reaper pays for what the child used; its priority follows at its next tick or second. */
static inline __unused void proc_exit(sched_t *s, task_t *p, task_t *reaper)
{
	bsd_task_t *t;

	if (!reaper || !tun(s)->exit_charges_parent)
		return;
	t = proc_of(reaper);
	t->estcpu = estcpu_limited(s, (s64)t->estcpu + proc_of(p)->estcpu);
}

/* sched_clock(): the running process pays.  That its priority gets worse does not make it give way. */
static inline __unused void proc_tick(sched_t *s, u32 cpu, task_t *p)
{
	bsd_task_t *t = proc_of(p);

	t->estcpu = tun(s)->tick_saturates ? estcpu_limited(s, (s64)t->estcpu + 1) : t->estcpu + 1;
	if (t->estcpu % (u32)tun(s)->estcpu_per_point == 0) {
		resetpriority(s, p);
		if (t->pri >= tun(s)->puser)
			t->pri = t->user_pri;
	}
	autonice_at_tick(s, p);
}

/* It leaves the CPU or its queue: to sleep, to die, or because it must use another CPU. */
static inline __unused void proc_dequeue(sched_t *s, task_t *p, u32 flags)
{
	bsd_task_t *t = proc_of(p);

	if (on_runq(p))
		remrunqueue(s, p);
	if (flags & DEQ_EXIT)
		t->state = PROC_ZOMBIE;
	if (!(flags & DEQ_SLEEP))
		return;
	t->state = PROC_SLEEPING;
	t->disk_wait = (flags & DEQ_UNINTERRUPTIBLE) != 0;
	t->slptime = 0;
	t->pri = kernel_priority(s, p, flags);
}

/* It is queued: after a sleep at the kernel priority it slept at. */
static inline __unused void proc_enqueue(sched_t *s, task_t *p, u32 flags)
{
	bsd_task_t *t = proc_of(p);

	if ((flags & ENQ_WAKEUP) && t->slptime > 1)
		updatepri(s, p);
	t->slptime = 0;
	t->state = PROC_RUNNABLE;
	setrunqueue(s, p);
}

/* mi_switch(): the process that ran goes behind its equals, the best runs. */
static inline __unused task_t *proc_switch(sched_t *s, u32 cpu, task_t *prev, u32 why)
{
	task_t *next;

	if (why == PREV_PREEMPTED)
		userret(prev);
	if (why == PREV_PREEMPTED || why == PREV_YIELDED)
		setrunqueue(s, prev);
	if (prev)
		autonice_at_switch(s, prev);
	next = choose(s, cpu);
	if (next) {
		userret(next);
		proc_of(next)->did_run = true;
		proc_of(next)->runs_since_ns = s->now;
	}
	idle_loops(s, cpu);
	return next;
}

static inline __unused void proc_switched(sched_t *s, u32 cpu, task_t *prev, task_t *next)
{
	runq_switched(s, prev, next);
}

static inline __unused void proc_set_cpumask(sched_t *s, task_t *p)
{
	if (on_runq(p))
		idle_loop_takes(s, p);
}

/* setpriority(2).  A waiting process moves at the pass of the next second, or after it has run. */
static inline __unused void proc_set_nice(sched_t *s, task_t *p, s32 old_nice)
{
	proc_of(p)->autoniced = false;
	resetpriority(s, p);
}

/* For observers: the user priority, since the kernel's are for an instant only. */
static inline __unused s32 proc_priority(sched_t *s, task_t *p)
{
	return proc_of(p)->user_pri;
}

/* For the checks. */
static inline __unused u32 proc_queued(sched_t *s, task_t *p)
{
	return on_runq(p);
}

/* ---- the clock -------------------------------------------------------------- */

/* Every 100 ms all CPUs put their process behind its equals, except what never takes turns. */
static inline __unused void roundrobin(sched_t *s)
{
	u32 cpu;

	for_each_cpu(s, cpu)
		if (cpu_curr(s, cpu) && cpu_curr(s, cpu)->class != CLASS_FIFO)
			resched_cpu(s, cpu);
}

/* A callout is set anew for a period after it was due; periods nobody could serve are lost. */
static inline __unused u64 next_time(sched_t *s, u64 due_ns, u64 period_ns)
{
	return max_of(due_ns, s->now - min_of(s->now, period_ns - 1)) + period_ns;
}

static inline __unused void arm_softclock(sched_t *s)
{
	bsd_t *b = bsd_of(s);
	u64 next_ns = min_of(b->next_second_ns, b->next_load_ns);

	timer_start(s, SOFTCLOCK, min_of(next_ns, b->next_roundrobin_ns) - s->now);
}

/* softclock(): the callouts that are due, and only then the choice they ask for. */
static inline __unused void softclock(sched_t *s, u32 id)
{
	u64 quantum_ns = (u64)tun(s)->quantum_ms * NSEC_PER_MSEC;
	bsd_t *b = bsd_of(s);

	if (s->now >= b->next_second_ns) {
		b->next_second_ns = next_time(s, b->next_second_ns, NSEC_PER_SEC);
		schedcpu(s);
	}
	if (s->now >= b->next_load_ns) {
		b->next_load_ns = next_time(s, b->next_load_ns, load_period_ns(s));
		loadav(s);
	}
	if (s->now >= b->next_roundrobin_ns) {
		b->next_roundrobin_ns = next_time(s, b->next_roundrobin_ns, quantum_ns);
		roundrobin(s);
	}
	arm_softclock(s);
}

static inline __unused s32 decay_init(sched_t *s)
{
	bsd_t *b = bsd_of(s);

	runq_init(s);
	if (tun(s)->held_load >= 0)
		b->load = (u32)div_u64((u64)tun(s)->held_load * FSCALE, 100);
	b->next_second_ns = s->now + NSEC_PER_SEC;
	b->next_load_ns = s->now + load_period_ns(s);
	b->next_roundrobin_ns = s->now + (u64)tun(s)->quantum_ms * NSEC_PER_MSEC;
	arm_softclock(s);
	return 0;
}
#endif
