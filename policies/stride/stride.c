/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * stride - stride scheduling: shares in proportion to tickets, without chance.
 *
 * A task's stride is inversely proportional to its tickets.  While it runs, its pass
 * advances by its stride, and the task with the least pass runs next.  So all passes
 * advance alike, and a task's share is its share of the tickets.  On one CPU the error
 * stays below a quantum for each pair of tasks, where the lottery's grows with
 * the square root of the number of drawings.
 *
 * The global pass advances as that of a task would that had all tickets and the
 * CPU.  A task that sleeps keeps its distance to it, so it loses nothing and gains
 * nothing.
 *
 * C. A. Waldspurger and W. E. Weihl, "Stride Scheduling: Deterministic Proportional-
 * Share Resource Management", MIT/LCS/TM-528, 1995 [WW95]; Arpaci-Dusseau,
 * Operating Systems: Three Easy Pieces, chapter 9 [OSTEP].
 *
 * A pass is in ns: that of a task of nice 0 advances by the time it runs.
 * FIDELITY: the paper has one CPU.  Here all CPUs share one queue, and the global
 * pass advances by as many CPUs as can be busy.  A task whose share is more than a
 * CPU gets one CPU.
 */
#include "policy.h"
#include "textbook/queue.h"

#define NICE_LEVELS	40
#define STRIDE_SHIFT	16

#define STRIDE_TUNABLES(T)							\
	T(hz, 1000, 10, 10000, "ticks per second; a quantum ends at a tick [our choice]")	\
	T(quantum_ms, 10, 1, 10000, "quantum, in ms [our choice; the lottery's is 100]")	\
	T(tickets, 1000, 1, 10000, "tickets of a task of nice 0 [our choice]")		\
	T(nice_ratio_pct, 125, 100, 150, "tickets of a nice level, in percent of those of the next one [our choice: as in CFS]")
POLICY_TUNABLES(STRIDE_TUNABLES)

struct stride {
	struct textbook book;
	u64 tickets[NICE_LEVELS];
	u64 all_tickets;	/* of runnable tasks */
	u32 nr_runnable;
	u64 global_pass;
	u64 global_until;	/* the time for which it stands */
};

struct stride_task {
	struct textbook_task book;
	u64 pass;
	u64 charged_until;	/* while it runs: the time for which its pass stands */
	s64 remain;		/* while it sleeps: its pass less the global pass */
	u64 quantum_end;
};

POLICY_STATE(struct stride, NO_STATE, struct stride_task)

#include "textbook/tickets.h"

/* By how much a pass advances while a task of this nice runs for @ns. */
static u64 advance(sched_t *s, u64 ns, s32 nice)
{
	u64 stride = div_u64((u64)tun(s)->tickets << STRIDE_SHIFT, tickets_at(s, nice));

	return ns * stride >> STRIDE_SHIFT;
}

static u64 number_of(sched_t *s, task_t *p)
{
	return ts_of(p)->pass;
}

/* The paper's tasks run for whole quanta. */
static u32 preemptive(sched_t *s)
{
	return false;
}

static void charge(sched_t *s, task_t *p, s32 nice)
{
	ts_of(p)->pass += advance(s, s->now - ts_of(p)->charged_until, nice);
	ts_of(p)->charged_until = s->now;
}

/* ---- the global pass: figure 3 of [WW95] ------------------------------------ */

static void global_pass_update(sched_t *s)
{
	glob_t *g = glob_of(s);
	u64 elapsed = s->now - g->global_until;

	g->global_until = s->now;
	if (g->all_tickets)
		g->global_pass += div_u64(elapsed * min_of(s->nr_cpus, g->nr_runnable) * (u64)tun(s)->tickets,
					  g->all_tickets);
}

static void global_tickets_update(sched_t *s, s64 delta, s32 nr)
{
	global_pass_update(s);
	glob_of(s)->all_tickets += (u64)delta;
	glob_of(s)->nr_runnable += (u32)nr;
}

/* ---- hooks ------------------------------------------------------------------ */

static void stride_enqueue(sched_t *s, task_t *p, u32 flags)
{
	global_tickets_update(s, (s64)tickets_at(s, p->nice), 1);
	ts_of(p)->pass = (u64)max_of((s64)glob_of(s)->global_pass + ts_of(p)->remain, (s64)0);
	queue_enqueue(s, p, flags);
}

static void stride_dequeue(sched_t *s, task_t *p, u32 flags)
{
	if (!waits(p))
		charge(s, p, p->nice);
	queue_dequeue(s, p, flags);
	global_tickets_update(s, -(s64)tickets_at(s, p->nice), -1);
	ts_of(p)->remain = (s64)(ts_of(p)->pass - glob_of(s)->global_pass);
}

static task_t *stride_pick_next(sched_t *s, u32 cpu, task_t *prev, u32 why)
{
	task_t *next;

	if (why == PREV_YIELDED || why == PREV_PREEMPTED)
		charge(s, prev, prev->nice);
	next = queue_pick_next(s, cpu, prev, why);
	if (next) {
		ts_of(next)->charged_until = s->now;
		ts_of(next)->quantum_end = s->now + (u64)tun(s)->quantum_ms * NSEC_PER_MSEC;
	}
	return next;
}

/* SCHED_FIFO has no quanta. */
static void stride_tick(sched_t *s, u32 cpu, task_t *p)
{
	charge(s, p, p->nice);
	if (p->class != CLASS_FIFO && s->now >= ts_of(p)->quantum_end)
		resched_cpu(s, cpu);
}

/* Its distance to the global pass is scaled with its stride: section 3.2 of [WW95]. */
static void stride_set_nice(sched_t *s, task_t *p, s32 old_nice)
{
	s64 ahead;

	if (!waits(p) && !p->on_cpu) {
		ts_of(p)->remain = div_s64(ts_of(p)->remain * (s64)tickets_at(s, old_nice), (s64)tickets_at(s, p->nice));
		return;
	}
	if (p->on_cpu)
		charge(s, p, old_nice);
	global_tickets_update(s, (s64)tickets_at(s, p->nice) - (s64)tickets_at(s, old_nice), 0);
	ahead = (s64)(ts_of(p)->pass - glob_of(s)->global_pass);
	ahead = div_s64(ahead * (s64)tickets_at(s, old_nice), (s64)tickets_at(s, p->nice));
	ts_of(p)->pass = (u64)max_of((s64)glob_of(s)->global_pass + ahead, (s64)0);
	queue_changed(s, p);
}

static s32 stride_init(sched_t *s)
{
	init_tickets(s);
	return 0;
}

POLICY(stride,
	.summary = "stride scheduling: the lottery's shares without chance (textbook)",
	TUNABLES,
	QUEUE_HOOKS,
	.promise = {
		.conserving = CONSERVING_QUEUE,
		.nice = NICE_WEIGHTED,
	},
	.init = stride_init,
	.enqueue = stride_enqueue,
	.dequeue = stride_dequeue,
	.pick_next = stride_pick_next,
	.tick = stride_tick,
	.set_nice = stride_set_nice,
);
