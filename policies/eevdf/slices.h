/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * slices.h - how long a request of a task is, and the shortest and longest in a queue.
 *
 * The kernel's tree knows the least and most of each subtree.  Here a second tree has
 * the entities whose slice is not the policy's own, as few or none have.
 *
 * Order and names follow kernel/sched/fair.c of 6.12 to 7.1.  Included by eevdf.c.
 */
#ifndef SCHEDLAB_EEVDF_SLICES_H
#define SCHEDLAB_EEVDF_SLICES_H

/* @se, which is in no tree, has this slice from its next request on. */
static void set_slice(sched_t *s, entity_t *se, u64 slice)
{
	se->slice = slice;
	se->custom_slice = slice != glob_of(s)->base_slice;
}

/* The slice a task asks for: __setparam_fair(). */
static void set_task_slice(sched_t *s, entity_t *se, task_t *task)
{
	set_slice(s, se, tun(s)->custom_slices && task->slice_ns ? task->slice_ns : glob_of(s)->base_slice);
}

static void link_slice(sched_t *s, cfs_rq_t *cfs_rq, entity_t *se)
{
	if (!se->custom_slice)
		return;
	se->slice_node.key = se->slice;
	tree_insert(s, &cfs_rq->slices, &se->slice_node);
	cfs_rq->nr_custom++;
}

static void unlink_slice(sched_t *s, cfs_rq_t *cfs_rq, entity_t *se)
{
	if (!tree_linked(&se->slice_node))
		return;
	tree_remove(s, &cfs_rq->slices, &se->slice_node);
	cfs_rq->nr_custom--;
}

/* Is anything in the tree that has the policy's own slice? */
static u32 has_base_slice(cfs_rq_t *cfs_rq)
{
	return cfs_rq->nr_running > cfs_rq->nr_custom + (cfs_rq->curr ? 1 : 0);
}

/* cfs_rq_min_slice(): ~0 if nothing is queued. */
static u64 min_slice(sched_t *s, cfs_rq_t *cfs_rq)
{
	tree_node_t *first = cfs_rq->slices.first;
	u64 slice = cfs_rq->curr ? cfs_rq->curr->slice : ~0ull;

	if (first)
		slice = min_of(slice, first->key);
	return has_base_slice(cfs_rq) ? min_of(slice, glob_of(s)->base_slice) : slice;
}

/* cfs_rq_max_slice() */
static u64 max_slice(sched_t *s, cfs_rq_t *cfs_rq)
{
	u64 slice = cfs_rq->curr ? cfs_rq->curr->slice : 0;

	if (cfs_rq->slices.root)
		slice = max_of(slice, tree_last(s, &cfs_rq->slices)->key);
	return has_base_slice(cfs_rq) ? max_of(slice, glob_of(s)->base_slice) : slice;
}

/* A group has the shortest slice of what is queued in it. */
static void update_group_slice(sched_t *s, entity_t *se)
{
	u64 slice = min_slice(s, group_queue(se));
	u32 linked = tree_linked(&se->run_node);

	if (!tun(s)->custom_slices || slice == ~0ull || slice == se->slice)
		return;
	if (linked)
		unlink_slice(s, se->cfs_rq, se);
	set_slice(s, se, slice);
	if (linked)
		link_slice(s, se->cfs_rq, se);
}

/* The same for all groups upwards from @se. */
static void update_group_slices(sched_t *s, entity_t *se)
{
	repeat_while(s, se) {
		update_group_slice(s, se);
		se = parent_entity(se);
	}
}

/* __setparam_fair(): the new slice counts from the next request on. */
static void eevdf_set_slice(sched_t *s, task_t *task)
{
	ts_t *p = ts_of(task);
	u32 linked = tree_linked(&p->se.run_node);

	if (linked)
		unlink_slice(s, p->se.cfs_rq, &p->se);
	set_task_slice(s, &p->se, task);
	if (linked)
		link_slice(s, p->se.cfs_rq, &p->se);
	if (p->se.on_rq && !task_is_rt(task))
		update_group_slices(s, parent_entity(&p->se));
}
#endif
