/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * runq.h - FreeBSD's run queue: 256 priorities in 64 buckets of 4, first in, first out in each.
 *
 * Lower numbers are better.  Priorities in one bucket are not distinguished.
 */
#ifndef SCHEDLAB_RUNQ_H
#define SCHEDLAB_RUNQ_H

#define RQ_NQS	64	/* buckets */
#define RQ_PPQ	4	/* priorities in each */

/** runq_bucket - where priority @pri (0 to 255) is queued. */
static inline __unused u32 runq_bucket(u32 pri)
{
	return pri / RQ_PPQ;
}

/** runq_first - the first node of the best bucket, NULL if all are empty. */
static inline __unused list_t *runq_first(prio_array_t *rq)
{
	return rq->nr ? rq->queue[prio_array_first(rq)].next : NULL;
}

/** runq_first_from - the same for a calendar: bucket @start is the best, the one before it the worst. */
static inline __unused list_t *runq_first_from(sched_t *s, prio_array_t *rq, u32 start)
{
	u32 bucket;

	if (!rq->nr)
		return NULL;
	bucket = prio_array_next(s, rq, start);
	return rq->queue[bucket == PRIO_NONE ? prio_array_first(rq) : bucket].next;
}
#endif
