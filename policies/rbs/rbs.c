/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * rbs - the Resource Based Scheduler of Roback, McMullen and Gifford, on Linux 2.6.13.4.
 *
 * The O(1) scheduler finds the best list in constant time and then takes its
 * first task.  RBS chooses among that list's tasks the one whose requirements
 * differ most from those of the task that has just run.  The only requirement it
 * knows is processor time, estimated by the length of each task's last run.  After
 * a long run it takes a task whose last run was short, and vice versa.  It
 * examines a fixed number of tasks, the window, so this takes constant time, too.
 *
 * The rest is o1.c, which is included completely.  The paper names two places to
 * change: update_cpu_clock(), which PART_RAN() extends, and the choice from
 * the list, which is choose_task().
 *
 * FIDELITY: the data a task reads and writes is not known here.  The disk metric,
 * which the paper leaves to the future, is the time a task waited for the disk
 * when it last slept.
 */
#define O1_AS_A_PART

#define PART_TUNABLES(T)										\
	T(window, 8, 0, 1000000,									\
	  "most tasks of the list that are considered, 1: as without RBS, 0: all of them [paper 6.1 has a "	\
	  "fixed number and does not give it]")								\
	T(takes_head, 0, 0, 1,										\
	  "1: account and compare as ever, but run the first of the list: the kernel that measures overhead [paper 7.4]") \
	T(updated_first, 0, 0, 1,									\
	  "the last run of the task that stops counts 0: up to its last tick, as update_cpu_clock() comes after "	\
	  "the choice [2.6.13], 1: in full [not in the paper]")						\
	T(idle_is_prev, 1, 0, 1,									\
	  "after idling 1: the idle task is the one to differ from, 0: the first of the list runs [not in the paper]") \
	T(rt_lists, 0, 0, 1,										\
	  "1: choose among real-time tasks, too, which breaks the order of SCHED_FIFO [not in the paper]") \
	T(child_inherits, 0, 0, 1,									\
	  "a child begins with 0: nothing, 1: the usage of its parent, as a copied field [not in the paper]") \
	T(run_weight, 100, 1, 100,									\
	  "weight of the latest run in a task's usage, in percent; the rest is its average so far [paper 5.1 and 9, " \
	  "future work; 100: the last run alone]")							\
	T(disk_rating, 0, 0, 10000,									\
	  "what a difference in waiting for the disk counts, in percent of one in processor time "	\
	  "[paper 5.2 and 9, future work; 0: nothing]")							\
	T(dynamic_window, 0, 0, 1,									\
	  "1: the window doubles when a choice differs from the first of the list, up to its bound, and halves "	\
	  "when looking was in vain, down to 2 [paper 6.1 and 9, future work; the rule is ours]")

#define PART_COUNTERS(C)	C(rbs_scans) C(rbs_reorders)

#define PART_TASK_STATE											\
	u64 last_runtime;	/* ns of this run so far, or of its last one */				\
	u64 cpu_usage;		/* ns: last_runtime when it last stopped, or the average of those */	\
	u64 disk_usage;		/* ns it waited for the disk when it last slept, or the average */

#define PART_RQ_STATE											\
	u32 window;		/* with dynamic_window: how many tasks to look at */

#define PART_RAN(p, ns)		((p)->last_runtime += (ns))

#include "o1/o1.c"

/* ---- usage -------------------------------------------------------------- */

/* What a task needs of each resource, in ns so that they can be compared. */
struct usage {
	u64 cpu, disk;
};

/* An exponentially weighted moving average, which is @latest where its weight is 100 %. */
static u64 averaged(sched_t *s, u64 average, u64 latest)
{
	u64 weight = (u64)tun(s)->run_weight;

	return (latest * weight + average * (100 - weight)) / 100;
}

/* The part of the current stretch on @rq that update_cpu_clock() has not booked yet. */
static u64 unbooked_ns(sched_t *s, rq_t *rq, u64 since)
{
	return tun(s)->updated_first ? s->now - max_of(since, rq->timestamp_last_tick) : 0;
}

/* The task that stops: its run ends here. */
static struct usage usage_of_prev(sched_t *s, rq_t *rq, ts_t *prev)
{
	u64 run = prev->last_runtime + unbooked_ns(s, rq, prev->timestamp);

	return (struct usage){ .cpu = averaged(s, prev->cpu_usage, run), .disk = prev->disk_usage };
}

/* The idle task runs, too, as far as update_cpu_clock() is concerned. */
static struct usage usage_of_idle(sched_t *s, rq_t *rq)
{
	u64 since = cpu_of(s, rq->cpu)->idle_since;
	u64 booked = max_of(since, rq->timestamp_last_tick) - since;

	return (struct usage){ .cpu = booked + unbooked_ns(s, rq, since) };
}

/* ---- the choice --------------------------------------------------------- */

static u64 distance(u64 a, u64 b)
{
	return a > b ? a - b : b - a;
}

/* How opposite are the needs of waiting @p?  Resources are rated against each other by a constant. */
static u64 difference(sched_t *s, struct usage *prev, ts_t *p)
{
	return distance(prev->cpu, p->cpu_usage) +
	       distance(prev->disk, p->disk_usage) * (u64)tun(s)->disk_rating / 100;
}

#define MIN_WINDOW	2	/* fewer leave no choice */

static u32 window_of(sched_t *s, rq_t *rq)
{
	u32 bound = tun(s)->window ? (u32)tun(s)->window : ~0u;

	if (!tun(s)->dynamic_window || bound <= MIN_WINDOW)
		return bound;
	return clamp_to(rq->window, MIN_WINDOW, bound);
}

/* Looking is worth while as long as it finds something. */
static void adjust_window(sched_t *s, rq_t *rq, u32 found)
{
	u32 window = min_of(window_of(s, rq), 1u << 30);

	if (tun(s)->dynamic_window)
		rq->window = found ? window * 2 : window / 2;
}

/*
 * The first of those that differ most, so that equals take turns as ever.  The
 * task that has just run may be among them, and does not differ from itself.
 */
static ts_t *most_opposite(sched_t *s, rq_t *rq, list_t *queue, ts_t *prev, struct usage *usage)
{
	u32 window = window_of(s, rq), nr = 0;
	list_t *node = queue->next;
	ts_t *best = NULL;
	u64 most = 0;

	repeat_while(s, node != queue && nr < window) {
		ts_t *p = list_entry(node, ts_t, run_list);
		u64 differs = p == prev ? 0 : difference(s, usage, p);

		if (!best || differs > most) {
			best = p;
			most = differs;
		}
		node = node->next;
		nr++;
	}
	examined(s, nr);
	return best;
}

/* Is there nothing to choose, or no last task to compare with? */
static u32 takes_turns(sched_t *s, ts_t *head, list_t *queue, task_t *prev)
{
	if (tun(s)->window == 1 || head->run_list.next == queue)
		return true;
	if (rt_task(head) && !tun(s)->rt_lists)
		return true;
	return !prev && !tun(s)->idle_is_prev;
}

static ts_t *choose_task(sched_t *s, rq_t *rq, list_t *queue)
{
	ts_t *head = list_entry(queue->next, ts_t, run_list);
	task_t *prev = cpu_curr(s, rq->cpu);
	struct usage usage;
	ts_t *best;

	if (takes_turns(s, head, queue, prev)) {
		examined(s, 1);
		return head;
	}
	usage = prev ? usage_of_prev(s, rq, ts_of(prev)) : usage_of_idle(s, rq);
	best = most_opposite(s, rq, queue, prev ? ts_of(prev) : NULL, &usage);
	count(s, COUNTER_rbs_scans, 1);
	count(s, COUNTER_rbs_reorders, best != head);
	adjust_window(s, rq, best != head);
	return tun(s)->takes_head ? head : best;
}

/* ---- hooks -------------------------------------------------------------- */

/* A context switch: one run has ended and is remembered, the next begins at 0. */
static void rbs_switched(sched_t *s, u32 cpu, task_t *prev, task_t *next)
{
	if (prev)
		ts_of(prev)->cpu_usage = averaged(s, ts_of(prev)->cpu_usage, ts_of(prev)->last_runtime);
	if (next)
		ts_of(next)->last_runtime = 0;
	o1_switched(s, cpu, prev, next);
}

/* A sleep has ended: was it for the disk, and how long? */
static void rbs_enqueue(sched_t *s, task_t *p, u32 flags)
{
	u64 waited = flags & ENQ_UNINTERRUPTIBLE ? s->now - ts_of(p)->last_ran : 0;

	if (flags & ENQ_WAKEUP)
		ts_of(p)->disk_usage = averaged(s, ts_of(p)->disk_usage, waited);
	o1_enqueue(s, p, flags);
}

static void rbs_fork(sched_t *s, task_t *parent, task_t *child)
{
	o1_fork(s, parent, child);
	if (!parent || !tun(s)->child_inherits)
		return;
	ts_of(child)->cpu_usage = averaged(s, ts_of(parent)->cpu_usage, ts_of(parent)->last_runtime);
	ts_of(child)->disk_usage = ts_of(parent)->disk_usage;
}

/* ---- the policy --------------------------------------------------------- */

static const struct variant rbs_variants[] = {
	{ "2.6.13.4", "what the paper implements, with a window of 8", O1_2_6_13 },
	{ "overhead", "the paper's test of its own cost: as 2.6.13.4, but runs the first of the list",
	  O1_2_6_13 " takes_head=1" },
	{ "unbounded", "2.6.13.4 that looks at the whole list: as opposite as can be, and not O(1)",
	  O1_2_6_13 " window=0" },
	{ "future", "with what the paper leaves to the future: moving averages, a dynamic window and the disk",
	  O1_2_6_13 " run_weight=50 dynamic_window=1 disk_rating=100 window=16" },
};

_Static_assert(sizeof(struct o1_task) <= 128, "a million tasks must fit");

POLICY(rbs,
	.summary = "Linux 2.6.13 that runs, of the best list, the task most unlike the last one (Resource Based Scheduler)",
	TUNABLES,
	VARIANTS(rbs_variants),
	COUNTERS,
	.lock = LOCK_PER_CPU,
	.tick_when_idle = 1,
	.promise = {
		.conserving = CONSERVING_QUEUE,
		.nice = NICE_WEIGHTED,
		.starvation_bound_ns = 0,	/* none, as o1 */
	},
	.init = o1_init,
	.fork = rbs_fork,
	.exit = o1_exit,
	.select_cpu = o1_select_cpu,
	.enqueue = rbs_enqueue,
	.dequeue = o1_dequeue,
	.pick_next = o1_pick_next,
	.switched = rbs_switched,
	.tick = o1_tick,
	.yield = o1_yield,
	.set_nice = o1_set_nice,
	.set_class = o1_set_class,
	.priority = o1_priority,
	.queued = o1_queued,
);
