/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * wakeup.h - when a wakeup preempts what runs: check_preempt_wakeup_fair(), since 7.1 wakeup_preempt_fair().
 *
 * Read: 6.12, 6.18.2, 6.19 and 7.1.5.  Included by eevdf.c.
 */
#ifndef SCHEDLAB_EEVDF_WAKEUP_H
#define SCHEDLAB_EEVDF_WAKEUP_H

/* do_preempt_short(), 6.12: does @pse, of a shorter slice, end the protection of @se? */
static u32 overrides(cfs_rq_t *cfs_rq, entity_t *pse, entity_t *se)
{
	if (!entity_eligible(cfs_rq, pse))
		return false;
	return before(pse->deadline, se->deadline) || !entity_eligible(cfs_rq, se);
}

/* Would @pse be picked now?  In 7.1 sleepers that are in the way leave. */
static u32 would_be_picked(sched_t *s, cfs_rq_t *cfs_rq, entity_t *pse, u32 protect)
{
	u32 drops = tun(s)->wakeup_rules == WAKEUP_7_1;
	entity_t *best = pick_eevdf(s, cfs_rq, protect, protect && drops);

	repeat_while(s, drops && best && best->sched_delayed) {
		dequeue_delayed(s, best);
		best = cfs_rq->nr_running ? pick_eevdf(s, cfs_rq, protect, protect) : NULL;
	}
	return best == pse;
}

/* set_preempt_buddy(): the deadline of the buddy there is may be sooner. */
static u32 set_preempt_buddy(sched_t *s, entity_t *pse)
{
	entity_t *next = pse->cfs_rq->next;

	if (next && before(next->deadline, pse->deadline))
		return false;
	set_next_buddy(s, pse);
	return true;
}

/* preempt_sync(): the waker says that it will sleep, and is left some time to do so. */
static u32 sync_preempts(sched_t *s, entity_t *se, entity_t *pse, u32 nr_allowed)
{
	u64 threshold = (u64)tun(s)->migration_cost_us * NSEC_PER_USEC;

	/* WF_RQ_SELECTED: it could run elsewhere, but was put here. */
	if (nr_allowed > 1)
		threshold >>= 2;
	return before(pse->deadline, se->deadline) && s->now - se->exec_start >= threshold;
}

/* enum preempt_wakeup_action: no; as the choice falls; as it falls without protection; yes. */
enum preempt_action { PREEMPT_NONE, PREEMPT_PICK, PREEMPT_SHORT, PREEMPT_RESCHED };

/* Before 6.17: a shorter slice may end the protection, whatever comes of it. */
static u32 action_by_deadline(sched_t *s, entity_t *se, entity_t *pse, u32 shorter)
{
	if (shorter && is_protected(s, se) && overrides(se->cfs_rq, pse, se))
		cancel_protect_slice(s, se);
	return PREEMPT_PICK;
}

/* How is it decided whether @pse, which is @p or a group it is in, preempts @se? */
__apart u32 preempt_action(sched_t *s __in_arena, entity_t *se __in_arena, entity_t *pse __in_arena,
			   task_t *p __in_arena, u32 flags)
{
	u32 shorter = tun(s)->preempt_short && pse->slice < se->slice;

	if (!tun(s)->slice_protection)
		return action_by_deadline(s, se, pse, shorter);
	if (shorter)
		return PREEMPT_SHORT;
	if (tun(s)->wakeup_rules == WAKEUP_6_6)
		return PREEMPT_PICK;
	if (flags & ENQ_NEW)
		return PREEMPT_NONE;
	if (tun(s)->next_buddy && set_preempt_buddy(s, pse) && (flags & ENQ_SYNC))
		return sync_preempts(s, se, pse, p->nr_allowed) ? PREEMPT_RESCHED : PREEMPT_NONE;
	return PREEMPT_PICK;
}

/* The choice did not fall on who woke up: from 6.17 on a shorter slice counts all the same, from 6.19 on any. */
static void keep_waiting(sched_t *s, entity_t *se, u32 action)
{
	u32 any = tun(s)->wakeup_rules != WAKEUP_6_6;

	if (tun(s)->slice_protection && tun(s)->run_to_parity && (any || action == PREEMPT_SHORT))
		update_protect_slice(s, se->cfs_rq, se);
}

static u32 preempts(sched_t *s, entity_t *se, entity_t *pse, u32 action)
{
	if (action == PREEMPT_NONE || action == PREEMPT_RESCHED)
		return action == PREEMPT_RESCHED;
	if (!would_be_picked(s, se->cfs_rq, pse, action == PREEMPT_PICK)) {
		keep_waiting(s, se, action);
		return false;
	}
	if (action == PREEMPT_SHORT)
		cancel_protect_slice(s, se);
	return true;
}

/* @p, or the group it is in, preempts if it would be picked now. */
static u32 wakeup_preempts(sched_t *s, rq_t *rq, ts_t *curr, ts_t *p, u32 flags)
{
	entity_t *se = &curr->se, *pse = &p->se;

	if (throttled_hierarchy(s, pse->cfs_rq))
		return false;
	if (tun(s)->next_buddy && tun(s)->wakeup_rules == WAKEUP_6_6 && !(flags & ENQ_NEW))
		set_next_buddy(s, pse);
	if ((cpu_of(s, rq->cfs.cpu)->need_resched & RESCHED) || !tun(s)->wakeup_preemption)
		return false;
	find_matching_se(s, &se, &pse);
	if (entity_is_idle(se) != entity_is_idle(pse)) {
		if (entity_is_idle(se))
			cancel_protect_slice(s, se);
		return entity_is_idle(se);
	}
	/* Batch and idle tasks wait until their turn. */
	if (task_of(p)->class != CLASS_NORMAL)
		return false;
	update_curr(s, se->cfs_rq);
	return preempts(s, se, pse, preempt_action(s, se, pse, task_of(p), flags));
}
#endif
