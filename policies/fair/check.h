/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * check.h - are the fair class's own books right?  The hook check().
 *
 * What is kept as a sum is added up again, and what should be in step is compared.
 * Nothing here changes any state, and no kernel runs it.  Several rules are written
 * down by kSTEP (OSDI 2026) as what faults of Linux broke.
 *
 * The policy says what holds for its entities and queues beside this: entity_problem()
 * and queue_problem() return what is wrong, or NULL.
 *
 * Included by class.h.
 */
#ifndef SCHEDLAB_FAIR_CHECK_H
#define SCHEDLAB_FAIR_CHECK_H
#ifndef __BPF__

static const char *entity_problem(sched_t *s, cfs_rq_t *cfs_rq, entity_t *se);
static const char *queue_problem(sched_t *s, cfs_rq_t *cfs_rq);

/* What a queue's entities add up to. */
struct queue_sums {
	u64 load;
	u32 nr_running, h_nr_running;
};

static inline __unused void check_entity(sched_t *s, cfs_rq_t *cfs_rq, entity_t *se, struct queue_sums *sums)
{
	cfs_rq_t *mine = group_queue(se);
	const char *problem = entity_problem(s, cfs_rq, se);

	if (!se->on_rq || se->cfs_rq != cfs_rq)
		problem = "an entity in a queue's tree is not on that queue";
	if (mine && mine->throttled)
		problem = "a throttled group is queued";
	if (problem)
		policy_error(s, problem, mine ? NULL : task_of((ts_t *)se));
	sums->load += se->weight;
	sums->nr_running++;
	sums->h_nr_running += mine ? mine->h_nr_running : 1;
}

/* An average that is not 0 has a sum that is not 0. */
static inline __unused u32 average_without_sum(avg_t *avg)
{
	return (avg->load_avg && !avg->load_sum) || (avg->util_avg && !avg->util_sum) ||
	       (avg->runnable_avg && !avg->runnable_sum);
}

static inline __unused void check_queue(sched_t *s, cfs_rq_t *cfs_rq)
{
	struct queue_sums sums = { 0 };
	tree_node_t *node = cfs_rq->tasks_timeline.first;
	const char *problem = queue_problem(s, cfs_rq);

	repeat_while(s, node) {
		check_entity(s, cfs_rq, list_entry(node, entity_t, run_node), &sums);
		node = tree_next(s, node);
	}
	if (cfs_rq->curr)
		check_entity(s, cfs_rq, cfs_rq->curr, &sums);
	if (sums.nr_running != cfs_rq->nr_running || sums.h_nr_running != cfs_rq->h_nr_running)
		problem = "a queue's numbers of tasks are wrong";
	if (sums.load != cfs_rq->load)
		problem = "a queue's load is not the sum of its entities' weights";
	if (average_without_sum(&cfs_rq->avg))
		problem = "a queue has an average without a sum";
	if (problem)
		policy_error(s, problem, NULL);
}

/* update_idle_clock(): a CPU that was used all the time and idles has lost the time that its clock is behind. */
static inline __unused void check_idle_clock(sched_t *s, rq_t *rq)
{
	u32 most = (PELT_MIN_DIVIDER << CAPACITY_SHIFT) - LOAD_AVG_MAX;

	if (!tracks_load(s) || rq_nr_running(rq) || cpu_curr(s, rq->cfs.cpu))
		return;
	if (rq->cfs.root.avg.util_sum + rq->cfs.avg_rt.util_sum >= most && rq->cfs.clock_pelt != rq->cfs.clock)
		policy_error(s, "an idle CPU was used all the time, and its idle time is not counted as lost", NULL);
}

/* One CPU of each group balances for it, whoever asks. */
static inline __unused void check_who_balances(sched_t *s, u32 level, u32 first)
{
	u32 end = group_end(s, level, first), i = first, nr = 0;

	repeat_while(s, i < end) {
		rq_t *rq = rq_of(s, cpu_at(s, i++));
		struct lb_env env = { .dst = rq, .this_rq = rq, .level = (u8)level, .idle = CPU_IDLE };

		nr += should_we_balance(s, &env);
	}
	if (nr > 1)
		policy_error(s, "several CPUs of a group balance for it", NULL);
}

static inline __unused void check_domains(sched_t *s)
{
	u32 level, i;

	repeat(s, level, NR_LEVELS)
		repeat(s, i, s->nr_cpus)
			if (domain_exists(s, level, i) && group_start(s, level, i) == i)
				check_who_balances(s, level, i);
}

/* The groups that tasks are in, on all CPUs. */
static inline __unused void check_groups(sched_t *s)
{
	list_t *node;
	task_t *p;
	u32 cpu;

	for_each_task(s, p, node) {
		group_t *g = task_group(p);

		repeat_while(s, g) {
			for_each_cpu(s, cpu)
				check_queue(s, &gc_of(g, cpu)->cfs_rq);
			g = g->parent;
		}
	}
}

static inline __unused void check_delayed(sched_t *s, rq_t *rq)
{
	u32 nr = 0;
	list_t *node;

	list_for_each(s, node, &rq->cfs.cfs_tasks)
		nr += entity_delayed(&list_entry(node, ts_t, se.link)->se);
	if (nr != rq->cfs.nr_delayed)
		policy_error(s, "the number of sleepers that are still queued is wrong", NULL);
}

static inline __unused void fair_check(sched_t *s)
{
	u32 cpu;

	for_each_cpu(s, cpu) {
		check_delayed(s, rq_of(s, cpu));
		check_queue(s, &rq_of(s, cpu)->cfs.root);
		check_idle_clock(s, rq_of(s, cpu));
	}
	check_groups(s);
	check_domains(s);
}
#endif
#endif
