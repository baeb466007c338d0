/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * kseq_smp.h - several CPUs in ULE of 2003: pull, push and hand-off.
 *
 * A CPU that runs out of work pulls a thread from the most loaded kseq.  A timer
 * balances the two most unbalanced ones, because pulling has no effect while all
 * CPUs are busy.  A thread that wakes up on a busy CPU is handed to an idle one.
 * For each a tunable of its name selects a revision's rule, or none.
 *
 * Include it after POLICY_STATE() and these, which are as in sched_ule.c:
 *
 *	rq_t	cpu, curr, next, idle, load, loads[], idled, sibling, ncpus, leader
 *	ts_t	runq_link, class
 *	class_of_task(p), kseq_runq_rem(p), kseq_load_rem(s, kseq, p), sched_add(s, kseq, p)
 *	tunables push, pull, idle_polls, handoff, smt_one_kseq
 *	counters pushed, pulled, handed_off
 *
 * FIDELITY: a thread sent to another CPU is inserted there under that CPU's lock, not put on its list of assigned threads.
 * FIDELITY: an idle loop that polls sees a waiting thread in no time.
 * FIDELITY: smt_one_kseq leaves each logical CPU its own queues; see kseq_unit_load().
 */
#ifndef SCHEDLAB_KSEQ_SMP_H
#define SCHEDLAB_KSEQ_SMP_H

#define BALANCE_TIMER	0

/* ---- what a kseq is ----------------------------------------------------- */

/*
 * What one kseq of the paper holds: a CPU's threads, or with smt_one_kseq those
 * of all logical CPUs of a core.  A queue shared by CPUs would need a lock they
 * share; as each has its own, siblings exchange threads freely instead.
 */
static inline __unused u32 kseq_unit_load(sched_t *s, rq_t *kseq, u32 without_ithd)
{
	u32 i, load = 0, cpus = tun(s)->smt_one_kseq ? kseq->ncpus : 1;

	repeat(s, i, cpus) {
		load += kseq->load - (without_ithd ? kseq->loads[PRI_ITHD] : 0);
		kseq = rq_of(s, kseq->sibling);
	}
	return load;
}

static inline __unused u32 kseq_unit_cpus(sched_t *s, rq_t *kseq)
{
	return tun(s)->smt_one_kseq ? kseq->ncpus : 1;
}

/* With @most, the logical CPU that has most to give, else the one that has least. */
static inline __unused rq_t *unit_member(sched_t *s, rq_t *kseq, u32 most)
{
	rq_t *member = kseq;
	u32 i;

	repeat(s, i, kseq_unit_cpus(s, kseq)) {
		kseq = rq_of(s, kseq->sibling);
		if (most ? kseq->load > member->load : kseq->load < member->load)
			member = kseq;
	}
	return member;
}

/* What push and pull may take from a kseq. */
#define STEAL_ITHD	1u	/* interrupt threads, too: from R3 on these stay where the interrupt was */
#define STEAL_NEXT_FIRST	2u	/* R4: threads that have to wait for a switch of the queues before others */

static inline __unused u32 pull_flags(s64 rule)
{
	return (rule < PULL_NO_INTERRUPTS ? STEAL_ITHD : 0) | (rule == PULL_SIBLINGS ? STEAL_NEXT_FIRST : 0);
}

static inline __unused u32 push_flags(s64 rule)
{
	return (rule < PUSH_SURPLUS ? STEAL_ITHD : 0) | (rule == PUSH_NEXT_FIRST ? STEAL_NEXT_FIRST : 0);
}

static inline __unused u32 can_steal(ts_t *p, u32 cpu, u32 flags)
{
	return cpu_allowed(task_of(p), cpu) && !task_of(p)->on_cpu && ((flags & STEAL_ITHD) || p->class != PRI_ITHD);
}

/* The best thread of @rq that may go to @cpu. */
static inline __unused ts_t *runq_steal(sched_t *s, prio_array_t *rq, u32 cpu, u32 flags)
{
	u32 bucket = prio_array_next(s, rq, 0);
	list_t *node;

	repeat_while(s, bucket != PRIO_NONE) {
		list_for_each(s, node, &rq->queue[bucket]) {
			ts_t *p = list_entry(node, ts_t, runq_link);

			examined(s, 1);
			if (can_steal(p, cpu, flags))
				return p;
		}
		bucket = prio_array_next(s, rq, bucket + 1);
	}
	return NULL;
}

/* The highest priority thread that may go to @cpu. */
static inline __unused ts_t *kseq_steal(sched_t *s, rq_t *kseq, u32 cpu, u32 flags)
{
	ts_t *p = runq_steal(s, flags & STEAL_NEXT_FIRST ? kseq->next : kseq->curr, cpu, flags);

	if (!p)
		p = runq_steal(s, flags & STEAL_NEXT_FIRST ? kseq->curr : kseq->next, cpu, flags);
	return p ? p : runq_steal(s, &kseq->idle, cpu, flags);
}

/* Both locks are held. */
static inline __unused u32 kseq_move(sched_t *s, rq_t *from, rq_t *to, u32 flags)
{
	ts_t *p = kseq_steal(s, from, to->cpu, flags);

	if (!p)
		return false;
	kseq_runq_rem(p);
	kseq_load_rem(s, from, p);
	move_task(s, task_of(p), to->cpu);
	sched_add(s, to, p);
	return true;
}

/* The logical CPUs of a core are a ring. */
static inline __unused void find_siblings(sched_t *s, rq_t *kseq)
{
	u32 cpu, core = cpu_of(s, kseq->cpu)->core, first = s->nr_cpus, next = s->nr_cpus;

	for_each_cpu(s, cpu) {
		if (cpu_of(s, cpu)->core != core)
			continue;
		kseq->ncpus++;
		first = min_of(first, cpu);
		if (cpu > kseq->cpu)
			next = min_of(next, cpu);
	}
	kseq->leader = first;
	kseq->sibling = next < s->nr_cpus ? next : first;
}

/* ---- pull CPU migration ------------------------------------------------- */

/* A refused lock is no answer: the CPU looks again, as nobody else would tell it. */
static inline __unused u32 pull_from(sched_t *s, rq_t *from, rq_t *to, s64 rule)
{
	u32 moved;

	if (from == to)
		return false;
	if (!rq_lock(s, from->cpu)) {
		resched_cpu(s, to->cpu);
		return false;
	}
	moved = kseq_move(s, from, to, pull_flags(rule));
	rq_unlock(s, from->cpu);
	count(s, COUNTER_pulled, moved);
	return moved;
}

/* Threads of the same kseq, and R4's only source. */
static inline __unused u32 pull_from_siblings(sched_t *s, rq_t *kseq, s64 rule)
{
	rq_t *sibling = kseq;
	u32 i, moved = false;

	repeat(s, i, kseq->ncpus - 1) {
		sibling = rq_of(s, sibling->sibling);
		if (!moved && sibling->load > 1)
			moved = pull_from(s, sibling, kseq, rule);
	}
	return moved;
}

/* The most loaded kseq that has more threads than it can run; NULL if none has. */
static inline __unused rq_t *kseq_load_highest(sched_t *s, s64 rule)
{
	u32 cpu, most = 0;
	rq_t *highest = NULL;

	for_each_cpu(s, cpu) {
		rq_t *kseq = rq_of(s, cpu);
		u32 cpus = kseq_unit_cpus(s, kseq), load = kseq_unit_load(s, kseq, rule >= PULL_NO_INTERRUPTS);

		if (cpus > 1 && kseq->leader != cpu)
			continue;
		if (load > max_of(most, rule == PULL_ANY_LOAD ? 0 : cpus)) {
			most = load;
			highest = kseq;
		}
	}
	return highest ? unit_member(s, highest, true) : NULL;
}

/* This CPU has nothing better than idle threads: did it get a thread from elsewhere? */
static inline __unused u32 kseq_find(sched_t *s, rq_t *kseq)
{
	s64 rule = tun(s)->pull;
	rq_t *highest;

	if (rule == PULL_OFF || s->nr_cpus == 1)
		return false;
	if ((rule == PULL_SIBLINGS || tun(s)->smt_one_kseq) && pull_from_siblings(s, kseq, rule))
		return true;
	if (rule == PULL_SIBLINGS)
		return false;
	highest = kseq_load_highest(s, rule);
	return highest && pull_from(s, highest, kseq, rule);
}

/*
 * Up to R2 the idle loop looks at the other CPUs' queues without a pause, so it
 * notices at once that @p waits behind another; from R3 on it waits to be told.
 */
static inline __unused void idle_loop_sees(sched_t *s, rq_t *kseq, task_t *p)
{
	u32 cpu;

	if (!tun(s)->idle_polls || tun(s)->pull == PULL_OFF || kseq->load < 2)
		return;
	for_each_cpu(s, cpu) {
		rq_t *poller = rq_of(s, cpu);

		if (!poller->idled || cpu_curr(s, cpu) || !cpu_allowed(p, cpu))
			continue;
		poller->idled = false;
		resched_cpu(s, cpu);
		return;
	}
}

/* ---- push CPU migration ------------------------------------------------- */

/* Half of the difference, rounded up; R3 does not count what the busiest CPU can run at once. */
static inline __unused u32 threads_to_push(sched_t *s, rq_t *high, rq_t *low)
{
	s64 from = kseq_unit_load(s, high, false), to = kseq_unit_load(s, low, false);

	if (tun(s)->push == PUSH_SURPLUS)
		from = (s64)kseq_unit_load(s, high, true) - kseq_unit_cpus(s, high);
	if (from <= to || (tun(s)->push == PUSH_ANY_IMBALANCE && from < 2))
		return 0;
	return (u32)(from - to + 1) / 2;
}

static inline __unused u32 push_to(sched_t *s, rq_t *from, rq_t *to)
{
	u32 moved = false;

	if (from == to || !rq_lock(s, from->cpu))
		return false;
	if (rq_lock(s, to->cpu)) {
		moved = kseq_move(s, from, to, push_flags(tun(s)->push));
		rq_unlock(s, to->cpu);
	}
	rq_unlock(s, from->cpu);
	count(s, COUNTER_pushed, moved);
	return moved;
}

/* The two most unbalanced kseqs share out their threads. */
static inline __unused void sched_balance(sched_t *s)
{
	rq_t *high = rq_of(s, 0), *low = high;
	u32 cpu, i, n;

	for_each_cpu(s, cpu) {
		rq_t *kseq = rq_of(s, cpu);
		u32 load = kseq_unit_load(s, kseq, false);

		if (tun(s)->smt_one_kseq && kseq->leader != cpu)
			continue;
		if (load > kseq_unit_load(s, high, false))
			high = kseq;
		if (load < kseq_unit_load(s, low, false))
			low = kseq;
	}
	n = threads_to_push(s, high, low);
	repeat(s, i, n)
		if (!push_to(s, unit_member(s, high, true), unit_member(s, low, false)))
			return;
}

static inline __unused void start_balance_timer(sched_t *s)
{
	u64 delay_ns = (u64)tun(s)->balance_ms * NSEC_PER_MSEC;

	if (s->nr_cpus == 1 || tun(s)->push == PUSH_OFF)
		return;
	if (tun(s)->balance_random)
		delay_ns = div_u64(2 * delay_ns * (random_u32(s) >> 16), 1 << 16);
	timer_start(s, BALANCE_TIMER, delay_ns);
}

/* ---- hand-off ----------------------------------------------------------- */

/* R4: a core is idle when all its CPUs are. */
static inline __unused u32 core_idled(sched_t *s, rq_t *kseq)
{
	u32 i, idled = true;

	repeat(s, i, kseq->ncpus) {
		idled = idled && kseq->idled;
		kseq = rq_of(s, kseq->sibling);
	}
	return idled;
}

/* The first idle CPU @p may use, with @cores one whose whole core is idle; @home if there is none. */
static inline __unused rq_t *first_idled(sched_t *s, task_t *p, rq_t *home, u32 cores)
{
	u32 cpu;

	for_each_cpu(s, cpu) {
		rq_t *kseq = rq_of(s, cpu);

		if (kseq->idled && cpu_allowed(p, cpu) && (!cores || core_idled(s, kseq)))
			return kseq;
	}
	return home;
}

static inline __unused rq_t *idled_sibling(sched_t *s, task_t *p, rq_t *home)
{
	rq_t *sibling = home;
	u32 i;

	repeat(s, i, home->ncpus - 1) {
		sibling = rq_of(s, sibling->sibling);
		if (sibling->idled && cpu_allowed(p, sibling->cpu))
			return sibling;
	}
	return home;
}

static inline __unused u32 core_load(sched_t *s, rq_t *kseq)
{
	u32 i, load = 0;

	repeat(s, i, kseq->ncpus) {
		load += kseq->load;
		kseq = rq_of(s, kseq->sibling);
	}
	return load;
}

/* R4 and R5: @p would be one more here.  An idle core if it would be one too many, else a sibling. */
static inline __unused rq_t *handoff_by_core(sched_t *s, task_t *p, rq_t *home)
{
	u32 crowded = tun(s)->handoff == HANDOFF_BUSY_CPU || core_load(s, home) + 1 > home->ncpus;
	rq_t *to = home;

	if (!home->load)
		return home;
	if (crowded)
		to = first_idled(s, p, home, true);
	return to == home ? idled_sibling(s, p, home) : to;
}

/* Where @p should go instead of @home. */
static inline __unused rq_t *handoff(sched_t *s, task_t *p, rq_t *home)
{
	if (tun(s)->smt_one_kseq && home->load && idled_sibling(s, p, home) != home)
		return idled_sibling(s, p, home);
	if (tun(s)->handoff == HANDOFF_OFF || class_of_task(p) == PRI_ITHD)
		return home;
	if (tun(s)->handoff >= HANDOFF_CROWDED_CORE)
		return handoff_by_core(s, p, home);
	if (kseq_unit_load(s, home, true) < kseq_unit_cpus(s, home))
		return home;
	return first_idled(s, p, home, false);
}

static inline __unused rq_t *first_allowed(sched_t *s, task_t *p)
{
	u32 cpu;

	for_each_cpu(s, cpu)
		if (cpu_allowed(p, cpu))
			return rq_of(s, cpu);
	return rq_of(s, p->cpu);
}

/* Affinity is simply the CPU it was on; real-time and interrupt threads start where they are woken. */
static inline __unused u32 kseq_pickcpu(sched_t *s, task_t *p, u32 flags)
{
	u32 cpu = class_of_task(p) <= PRI_REALTIME && cpu_allowed(p, s->this_cpu) ? s->this_cpu : p->cpu;
	rq_t *home = rq_of(s, cpu), *to;

	if ((flags & ENQ_EXEC) && !(flags & ENQ_NEW) && cpu_allowed(p, p->cpu))
		return p->cpu;
	if (!cpu_allowed(p, cpu))
		home = first_allowed(s, p);
	to = handoff(s, p, home);
	if (to != home) {
		to->idled = false;
		count(s, COUNTER_handed_off, 1);
	}
	return to->cpu;
}
#endif
