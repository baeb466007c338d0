/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * runq.h - the run queue of 4.3BSD and its successors: buckets of neighbouring priorities.
 *
 * Lower numbers are better.  One array of first-in first-out queues serves all
 * CPUs, each queue holding a few neighbouring priorities (PPQ), and a bitmap
 * finds the best in constant time.  Running processes are in no queue.  The
 * meaning of a priority is defined elsewhere: see decay.h.
 *
 * decay.h includes this; the policy defines the queue of a priority:
 *
 *	static u32 queue_of(sched_t *s, s32 pri);	less than PRIO_LEVELS
 *
 * FIDELITY: these kernels had no CPU affinity; processes that may not run here are passed over.
 * FIDELITY: idle CPUs poll the run queue in a loop.  Here one of them is notified of work, and is
 * assumed to see it before the CPU that woke the process reschedules itself.
 */
#ifndef SCHEDLAB_BSD_RUNQ_H
#define SCHEDLAB_BSD_RUNQ_H

enum proc_state { PROC_IDL, PROC_SLEEPING, PROC_RUNNABLE, PROC_ZOMBIE };

struct bsd_task {		/* struct proc, or what a ksegrp, a kse and a thread have of it */
	struct list link;	/* in a queue, while it waits */
	s32 pri;		/* p_priority, td_priority: where it is queued */
	s32 user_pri;		/* p_usrpri, kg_user_pri: where it belongs in user mode */
	u32 queue;
	u32 estcpu;		/* p_cpu, p_estcpu: ticks used of late */
	u32 slptime;		/* seconds asleep, as the pass of each second counts them */
	u8 state;		/* enum proc_state */
	u8 did_run;		/* since the last such pass */
	u8 disk_wait;		/* it sleeps, or slept last, for a disk */
	u8 autoniced;		/* it has run for too long: its nice 0 is another; see autonice() */
	u64 cpu_time_ns;	/* u_ru.ru_utime, p_rtime */
	u64 runs_since_ns;	/* while it runs */
};
typedef struct bsd_task __arena bsd_task_t;

struct bsd {
	struct prio_array queues;
	u32 nr_idle;		/* CPUs in the idle loop */
	u32 load;		/* the one-minute load average, times FSCALE */
	u64 next_second_ns, next_load_ns, next_roundrobin_ns;
};
typedef struct bsd __arena bsd_t;

#define NO_CPU	MAX_CPUS

static u32 queue_of(sched_t *s, s32 pri);

static inline __unused bsd_t *bsd_of(sched_t *s)
{
	return (bsd_t *)global_state_of(s);
}

static inline __unused bsd_task_t *proc_of(task_t *p)
{
	return (bsd_task_t *)(p + 1);
}

static inline __unused task_t *proc_at(list_t *node)
{
	return (task_t *)list_entry(node, bsd_task_t, link) - 1;
}

static inline __unused void runq_init(sched_t *s)
{
	prio_array_init(s, &bsd_of(s)->queues);
	bsd_of(s)->nr_idle = s->nr_cpus;
}

static inline __unused u32 on_runq(task_t *p)
{
	return list_linked(&proc_of(p)->link);
}

/* ---- queues --------------------------------------------------------------- */

/* Always at the tail. */
static inline __unused void setrunqueue(sched_t *s, task_t *p)
{
	bsd_task_t *t = proc_of(p);

	t->queue = queue_of(s, t->pri);
	prio_array_add_tail(&bsd_of(s)->queues, &t->link, t->queue);
}

static inline __unused void remrunqueue(sched_t *s, task_t *p)
{
	bsd_task_t *t = proc_of(p);

	prio_array_del(&bsd_of(s)->queues, &t->link, t->queue);
}

/* A process that waits changes its place only if the new priority belongs to another queue. */
static inline __unused void change_priority(sched_t *s, task_t *p, s32 pri)
{
	bsd_task_t *t = proc_of(p);

	if (!on_runq(p) || queue_of(s, pri) == t->queue) {
		t->pri = pri;
		return;
	}
	remrunqueue(s, p);
	t->pri = pri;
	setrunqueue(s, p);
	count(s, COUNTER_requeued, 1);
}

/* The first process, in order of queues, that may run on @cpu. */
static inline __unused task_t *best_for(sched_t *s, u32 cpu, u32 *nr)
{
	prio_array_t *queues = &bsd_of(s)->queues;
	u32 queue = prio_array_first(queues);
	list_t *node;

	repeat_while(s, queue != PRIO_NONE) {
		list_for_each(s, node, &queues->queue[queue]) {
			task_t *p = proc_at(node);

			++*nr;
			if (cpu_allowed(p, cpu))
				return p;
		}
		queue = prio_array_next(s, queues, queue + 1);
	}
	return NULL;
}

/* choosethread(): takes it out of its queue. */
static inline __unused task_t *choose(sched_t *s, u32 cpu)
{
	u32 nr = 0;
	task_t *p = best_for(s, cpu, &nr);

	examined(s, nr);
	if (p)
		remrunqueue(s, p);
	return p;
}

/* ---- which CPU should look? ------------------------------------------------- */

/* In the idle loop, and nobody has told it yet. */
static inline __unused u32 idles(sched_t *s, u32 cpu)
{
	return !cpu_curr(s, cpu) && !cpu_of(s, cpu)->need_resched;
}

/* An idle CPU that may run @p, this one first. */
static inline __unused u32 idle_cpu_for(sched_t *s, task_t *p)
{
	u32 cpu;

	if (!bsd_of(s)->nr_idle)
		return NO_CPU;
	if (cpu_allowed(p, s->this_cpu) && idles(s, s->this_cpu))
		return s->this_cpu;
	for_each_cpu(s, cpu)
		if (cpu_allowed(p, cpu) && idles(s, cpu))
			return cpu;
	return NO_CPU;
}

/* An idle CPU will see @p at once.  Returns false if there is none. */
static inline __unused u32 idle_loop_takes(sched_t *s, task_t *p)
{
	u32 cpu = idle_cpu_for(s, p);

	if (cpu == NO_CPU)
		return false;
	resched_cpu(s, cpu);
	return true;
}

/* After @cpu has chosen: does what it left suit a CPU that idles? */
static inline __unused void idle_loops(sched_t *s, u32 cpu)
{
	u32 other, nr = 0;

	if (!bsd_of(s)->nr_idle || !bsd_of(s)->queues.nr)
		return;
	for_each_cpu(s, other) {
		if (other != cpu && idles(s, other) && best_for(s, other, &nr)) {
			resched_cpu(s, other);
			return;
		}
	}
}

/*
 * The CPU a process that became runnable may preempt.  The kernels knew of one
 * only, the CPU they ran on; where affinity forbids that, it is the one whose
 * process has the worst priority.  NO_CPU: the CPUs it may use have yet to choose.
 */
static inline __unused u32 cpu_to_preempt(sched_t *s, task_t *p)
{
	u32 cpu, worst = NO_CPU;

	if (cpu_allowed(p, s->this_cpu))
		return cpu_curr(s, s->this_cpu) ? s->this_cpu : NO_CPU;
	for_each_cpu(s, cpu) {
		task_t *curr = cpu_curr(s, cpu);

		if (!curr || !cpu_allowed(p, cpu))
			continue;
		if (worst == NO_CPU || proc_of(curr)->pri > proc_of(cpu_curr(s, worst))->pri)
			worst = cpu;
	}
	return worst;
}

/* Counts the idle CPUs; for switched(). */
static inline __unused void runq_switched(sched_t *s, task_t *prev, task_t *next)
{
	bsd_of(s)->nr_idle -= !prev;
	bsd_of(s)->nr_idle += !next;
}
#endif
