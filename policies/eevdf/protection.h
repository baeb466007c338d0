/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * protection.h - for how long what runs keeps the CPU although others have earlier deadlines: RUN_TO_PARITY.
 *
 * Before 6.17 until its request is served, which is noted as the deadline it was
 * picked with.  Since then until vprot, which a shorter slice in the queue brings
 * forward.
 *
 * Order and names follow kernel/sched/fair.c of 6.12 to 7.1.  Included by eevdf.c.
 */
#ifndef SCHEDLAB_EEVDF_PROTECTION_H
#define SCHEDLAB_EEVDF_PROTECTION_H

static u64 earlier(u64 a, u64 b)
{
	return before(b, a) ? b : a;
}

/* set_next_entity(): before 6.17 it keeps the deadline in vlag, which means nothing while a task runs. */
static void set_protect_slice(sched_t *s, cfs_rq_t *cfs_rq, entity_t *se)
{
	u64 slice = (u64)tun(s)->base_slice_us * NSEC_PER_USEC;

	se->vlag = (s64)se->deadline;
	if (!tun(s)->slice_protection)
		return;
	if (tun(s)->run_to_parity)
		slice = min_slice(s, cfs_rq);
	se->vprot = se->deadline;
	if (slice < se->slice)
		se->vprot = earlier(se->vprot, se->vruntime + calc_delta_fair(slice, se));
}

/* Somebody with a shorter slice may be waiting now. */
__apart u32 update_protect_slice(sched_t *s __in_arena, cfs_rq_t *cfs_rq __in_arena, entity_t *se __in_arena)
{
	se->vprot = earlier(se->vprot, se->vruntime + calc_delta_fair(min_slice(s, cfs_rq), se));
	return 0;
}

static void cancel_protect_slice(sched_t *s, entity_t *se)
{
	se->vlag = (s64)(se->deadline + 1);
	se->vprot = earlier(se->vprot, se->vruntime);
}

/* Is @curr, which runs, to keep the CPU while it is eligible? */
static u32 is_protected(sched_t *s, entity_t *curr)
{
	if (tun(s)->slice_protection)
		return before(curr->vruntime, curr->vprot);
	return curr->vlag == (s64)curr->deadline;
}

/* Its request was served, or others may have the CPU for another reason: is @curr to be rescheduled? */
static u32 protection_has_ended(sched_t *s, cfs_rq_t *cfs_rq, entity_t *curr)
{
	if (is_protected(s, curr))
		return false;
	return tun(s)->slice_protection || (tun(s)->preempt_short && !entity_eligible(cfs_rq, curr));
}
#endif
