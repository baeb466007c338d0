/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * balance.h - load balancing of Linux 2.6.7 to 2.6.13: which CPU pulls tasks from which, and when.
 *
 * Each CPU balances for itself, domain by domain: periodically in
 * rebalance_tick(), and in idle_balance() when schedule() has no task to run.  It
 * finds the busiest group and the busiest run queue in it, and pulls tasks from
 * there.  If this fails repeatedly, active balancing has the busiest CPU push its
 * running task away.
 *
 * Include it after POLICY_STATE() and the functions below.  They and the fields
 * that are used here have the names they have in kernel/sched.c:
 *
 *	rq_t	nr_running, timestamp_last_tick, jiffies, next_jiffy_ns, cpu; smp
 *	ts_t	run_list, array, last_ran
 *
 *	NR_ARRAYS				how many arrays a run queue has
 *	prio_array_t *rq_array(rq, i)		number i of those, in the order in which
 *						they are pulled from (and to)
 *	void enqueue_task(p, array)		link p, without counting it
 *	void deactivate_task(p, rq)		take p off its run queue, nr_running included
 *	void check_preempt(s, p, cpu)		p has come to this CPU
 *	ts_t *pick_task(s, rq)			the best task of at least one; may follow
 *						after this header
 *
 * The policy calls update_jiffies() and, on several CPUs, rebalance_tick() in
 * its tick, pick_balanced() to choose the next task, and finish_active_balance()
 * in switched().
 *
 * FIDELITY: all CPUs read one clock, so the kernel's corrections of timestamps
 *	between run queues, which its unsynchronised clocks needed, are zero here.
 */
#ifndef SCHEDLAB_BALANCE_H
#define SCHEDLAB_BALANCE_H

#include "build_domains.h"

/* ---- time --------------------------------------------------------------- */

/*
 * FIDELITY: each CPU counts jiffies for itself, in its own tick; the kernel has
 *	one count that CPU 0 advances.  They agree but for the phase of the ticks.
 */
static inline __unused void update_jiffies(sched_t *s, rq_t *rq)
{
	u64 jiffy_ns = s->tick_ns;

	if (s->now < rq->next_jiffy_ns)
		return;
	rq->jiffies++;
	rq->next_jiffy_ns += jiffy_ns;
	if (s->now < rq->next_jiffy_ns)
		return;
	rq->jiffies = div_u64(s->now, jiffy_ns);
	rq->next_jiffy_ns = (rq->jiffies + 1) * jiffy_ns;
}

/* ---- load --------------------------------------------------------------- */

/* Low and high guesses at a CPU's load: the queue now, or the average if that is less, or more. */
static inline __unused u32 source_load(sched_t *s, u32 cpu, u32 idx)
{
	rq_t *rq = rq_of(s, cpu);
	u32 load_now = rq->nr_running * SCHED_LOAD_SCALE;

	return idx ? min_of(rq->smp.cpu_load[idx - 1], load_now) : load_now;
}

static inline __unused u32 target_load(sched_t *s, u32 cpu, u32 idx)
{
	rq_t *rq = rq_of(s, cpu);
	u32 load_now = rq->nr_running * SCHED_LOAD_SCALE;

	return idx ? max_of(rq->smp.cpu_load[idx - 1], load_now) : load_now;
}

/*
 * Average i forgets half of the past in about 2^i ticks.  Rounding up while
 * load rises keeps it from sticking one below.
 */
static inline __unused u32 average_load(u32 i, u32 old_load, u32 new_load)
{
	if (new_load > old_load)
		new_load += (1u << i) - 1;
	return (old_load * ((1u << i) - 1) + new_load) >> i;
}

/* 2.6.11 has one average, which is number 1 exactly: its variant uses load index 2 everywhere. */
static inline __unused void update_cpu_load(rq_t *rq)
{
	u32 this_load = rq->nr_running * SCHED_LOAD_SCALE;

	rq->smp.cpu_load[0] = this_load;
	rq->smp.cpu_load[1] = average_load(1, rq->smp.cpu_load[1], this_load);
	rq->smp.cpu_load[2] = average_load(2, rq->smp.cpu_load[2], this_load);
}

static inline __unused u32 idle_cpu(sched_t *s, u32 cpu)
{
	return !cpu_curr(s, cpu);
}

/* ---- moving tasks ------------------------------------------------------- */

/* One balancing operation; it lives on the stack of the function that begins it. */
struct balance {
	rq_t *this_rq, *busiest;
	u32 migration;		/* the migration thread's doing: see active_load_balance() */
	task_t *preempted;	/* by that thread, so it counts as waiting */
	u32 this_cpu, level, idle;
	u32 array;		/* number of the arrays tasks leave and enter */
	u32 max_nr_move, pulled;
	u32 all_pinned;
};

__apart u32 cpu_and_siblings_are_idle(sched_t *s __in_arena, u32 cpu)
{
	domains_t *d = domains_of(s);
	u32 i = rq_of(s, cpu)->smp.position, end = d->core_end[i];

	repeat_while(s, i > 0 && d->core_end[i - 1] == end)
		i--;
	repeat_while(s, i < end && idle_cpu(s, d->by_core[i]))
		i++;
	return i == end;
}

static inline __unused u32 task_hot(ts_t *p, u64 now, sd_params_t *sd)
{
	return (s64)(now - p->last_ran) < (s64)sd->cache_hot_ns;
}

/* A task moves unless it runs, must not, or is cache-hot and we can afford to care. */
static inline __unused u32 can_migrate_task(sched_t *s, ts_t *p, struct balance *b)
{
	task_t *task = task_of(p);
	sd_params_t *sd = params_of(s, b->level);

	if (!cpu_allowed(task, b->this_cpu))
		return false;
	b->all_pinned = false;
	if (task->on_cpu && task != b->preempted)
		return false;
	if (b->this_rq->smp.sd[b->level].nr_balance_failed > sd->cache_nice_tries)
		return true;
	if (tun(s)->idle_ignores_cache && cpu_and_siblings_are_idle(s, b->this_cpu))
		return true;
	return !task_hot(p, b->busiest->timestamp_last_tick, sd);
}

static inline __unused void attach_task(sched_t *s, ts_t *p, u32 cpu, u32 array)
{
	rq_t *rq = rq_of(s, cpu);

	move_task(s, task_of(p), cpu);
	rq->nr_running++;
	enqueue_task(p, rq_array(rq, array));
	count(s, COUNTER_balance_moves, 1);
}

/* A newly idle CPU is in schedule() already: nothing to preempt. */
static inline __unused void pull_task(sched_t *s, ts_t *p, struct balance *b)
{
	b->pulled++;
	if (task_of(p)->on_cpu) {
		b->busiest->smp.pushed = task_of(p);
		b->busiest->smp.pushed_to = b->this_cpu;
		b->busiest->smp.pushed_array = b->array;
		return;
	}
	deactivate_task(p, b->busiest);
	attach_task(s, p, b->this_cpu, b->array);
	if (b->idle != NEWLY_IDLE)
		check_preempt(s, p, b->this_cpu);
}

/* Back to front: the task that waits longest runs next here, so take others. */
__apart u32 move_tasks_list(sched_t *s __in_arena, struct balance *b __on_stack, list_t *head __in_arena)
{
	list_t *curr = head->prev;

	repeat_while(s, curr != head && b->pulled < b->max_nr_move) {
		ts_t *p = list_entry(curr, ts_t, run_list);

		curr = curr->prev;
		examined(s, 1);
		if (can_migrate_task(s, p, b))
			pull_task(s, p, b);
	}
	return 0;
}

static inline __unused void move_tasks_array(sched_t *s, struct balance *b)
{
	prio_array_t *array = rq_array(b->busiest, b->array);
	u32 idx = prio_array_first(array);

	repeat_while(s, idx != PRIO_NONE && b->pulled < b->max_nr_move) {
		move_tasks_list(s, b, &array->queue[idx]);
		idx = prio_array_next(s, array, idx + 1);
	}
}

/* A CPU keeps one task, be it the migration thread. */
__apart u32 move_tasks(sched_t *s __in_arena, struct balance *b __on_stack)
{
	b->pulled = 0;
	if (b->busiest->nr_running + b->migration <= 1)
		return 0;
	b->all_pinned = true;
	repeat(s, b->array, NR_ARRAYS)
		move_tasks_array(s, b);
	return 0;
}

/* ---- finding the busiest ------------------------------------------------ */

#define NO_GROUP	MAX_CPUS

/* What find_busiest_group() learns on its round; loads are in 1/128 task per CPU. */
struct group_stats {
	u32 busiest, busiest_power, this_power;
	u32 max_load, this_load;
	u32 total_load, total_pwr;
};

/* Loads are biased so that a small difference moves nothing: ours looks high, theirs low. */
__apart u32 group_load(sched_t *s __in_arena, u32 level, u32 i, u32 local, u32 idx)
{
	u32 end = group_end(s, level, i), load = 0;

	repeat_while(s, i < end) {
		u32 cpu = group_cpu(s, level, i++);

		load += local ? target_load(s, cpu, idx) : source_load(s, cpu, idx);
	}
	return load;
}

static inline __unused u32 per_power(u32 load, u32 power)
{
	return power == SCHED_LOAD_SCALE ? load : (u32)div_u64((u64)load * SCHED_LOAD_SCALE, power);
}

__apart u32 add_group(sched_t *s __in_arena, struct balance *b __on_stack, struct group_stats *st __on_stack, u32 i)
{
	u32 local = i == b->this_rq->smp.sd[b->level].group;
	u32 idx = params_of(s, b->level)->load_idx[b->idle];
	u32 power = group_power(s, b->level, i);
	u32 load = group_load(s, b->level, i, local, idx);

	st->total_load += load;
	st->total_pwr += power;
	load = per_power(load, power);
	if (local) {
		st->this_load = load;
		st->this_power = power;
	} else if (load > st->max_load) {
		st->max_load = load;
		st->busiest = i;
		st->busiest_power = power;
	}
	return 0;
}

__apart u32 gather_stats(sched_t *s __in_arena, struct balance *b __on_stack, struct group_stats *st __on_stack)
{
	sd_t *sd = &b->this_rq->smp.sd[b->level];
	u32 i = sd->group;

	st->busiest = NO_GROUP;
	add_group(s, b, st, i);
	i = next_group(s, b->level, sd, i);
	repeat_while(s, i != sd->group) {
		add_group(s, b, st, i);
		i = next_group(s, b->level, sd, i);
	}
	return 0;
}

/*
 * Would one task more here and one less there use more CPU power in all?
 * FIDELITY: what we would add is computed as in 2.6.12; 2.6.11 differs for groups of unequal power.
 */
static inline __unused u32 power_gain_suffices(sched_t *s, struct group_stats *st)
{
	u32 task = SCHED_LOAD_SCALE * SCHED_LOAD_SCALE, tmp;
	u32 pwr_now, pwr_move = 0;

	pwr_now = st->busiest_power * min_of(SCHED_LOAD_SCALE, st->max_load) +
		  st->this_power * min_of(SCHED_LOAD_SCALE, st->this_load);
	tmp = (u32)div_u64(task, st->busiest_power);
	if (st->max_load > tmp)
		pwr_move += st->busiest_power * min_of(SCHED_LOAD_SCALE, st->max_load - tmp);
	tmp = (u32)div_u64(min_of((u64)st->max_load * st->busiest_power, task), st->this_power);
	pwr_move += st->this_power * min_of(SCHED_LOAD_SCALE, st->this_load + tmp);
	return pwr_move / SCHED_LOAD_SCALE >= pwr_now / SCHED_LOAD_SCALE + (u32)tun(s)->min_power_gain;
}

/* How many tasks should move from the busiest group to ours? */
static inline __unused u32 calculate_imbalance(sched_t *s, u32 imbalance_pct, struct group_stats *st)
{
	u32 rounding = (u32)tun(s)->imbalance_rounding;
	u32 avg_load;
	u64 imbalance;

	if (st->busiest == NO_GROUP || st->this_load >= st->max_load)
		return 0;
	avg_load = per_power(st->total_load, st->total_pwr);
	if (st->this_load >= avg_load || 100 * (u64)st->max_load <= (u64)imbalance_pct * st->this_load)
		return 0;
	/* Neither push ourselves above the average nor the busiest below: that would ping-pong. */
	imbalance = min_of((u64)(st->max_load - avg_load) * st->busiest_power,
			   (u64)(avg_load - st->this_load) * st->this_power) / SCHED_LOAD_SCALE;
	if (imbalance >= SCHED_LOAD_SCALE - rounding)
		return (u32)(imbalance + rounding) / SCHED_LOAD_SCALE;
	if (st->max_load - st->this_load >= SCHED_LOAD_SCALE * 2)
		return 1;
	return power_gain_suffices(s, st);
}

/* Sets b->max_nr_move; returns the first position of the group, or NO_GROUP. */
__apart u32 find_busiest_group(sched_t *s __in_arena, struct balance *b __on_stack)
{
	struct group_stats st = {};

	gather_stats(s, b, &st);
	b->max_nr_move = calculate_imbalance(s, params_of(s, b->level)->imbalance_pct, &st);
	if (b->max_nr_move)
		return st.busiest;
	/* Balanced, but we have nothing to do. */
	if (tun(s)->aggressive_idle && (b->idle == NEWLY_IDLE ||
	    (b->idle == SCHED_IDLE && st.max_load > SCHED_LOAD_SCALE))) {
		b->max_nr_move = 1;
		return st.busiest;
	}
	return NO_GROUP;
}

/* Sets b->busiest, to NULL if no CPU of the group has a task. */
__apart u32 find_busiest_queue(sched_t *s __in_arena, struct balance *b __on_stack, u32 group)
{
	u32 end = group_end(s, b->level, group), max_load = 0;

	b->busiest = NULL;
	repeat_while(s, group < end) {
		u32 cpu = group_cpu(s, b->level, group++);
		u32 load = source_load(s, cpu, (u32)tun(s)->busiest_queue_idx);

		if (load > max_load) {
			max_load = load;
			b->busiest = rq_of(s, cpu);
		}
	}
	return 0;
}

/* Returns false if all is balanced; else b->busiest is set and b->pulled tasks have come over. */
static inline __unused u32 try_balance(sched_t *s, struct balance *b)
{
	u32 group = find_busiest_group(s, b);

	count(s, COUNTER_balance_attempts, 1);
	if (group == NO_GROUP)
		return false;
	find_busiest_queue(s, b, group);
	if (!b->busiest)
		return false;
	if (b->busiest->nr_running > 1 && rq_lock(s, b->busiest->cpu)) {
		move_tasks(s, b);
		rq_unlock(s, b->busiest->cpu);
	}
	return true;
}

/* ---- balancing ---------------------------------------------------------- */

/*
 * Nothing but the running task could move, and that only when something runs
 * in its place: ask the busiest CPU to see to that.  Returns true if we did.
 */
static inline __unused u32 kick_active_balance(sched_t *s, struct balance *b)
{
	sd_t *sd = &b->this_rq->smp.sd[b->level];
	u32 tries = params_of(s, b->level)->cache_nice_tries;

	if (++sd->nr_balance_failed <= tries + 2)
		return false;
	if (!rq_lock(s, b->busiest->cpu))
		return false;
	if (!b->busiest->smp.active_balance) {
		b->busiest->smp.active_balance = 1;
		b->busiest->smp.push_cpu = b->this_cpu;
		resched_cpu(s, b->busiest->cpu);
		count(s, COUNTER_active_balance, 1);
	}
	rq_unlock(s, b->busiest->cpu);
	sd->nr_balance_failed = tries + (u32)tun(s)->active_retries;
	return true;
}

/* There was an imbalance.  How soon do we look again? */
static inline __unused void adjust_interval(sched_t *s, struct balance *b, u32 kicked)
{
	sd_t *sd = &b->this_rq->smp.sd[b->level];
	sd_params_t *params = params_of(s, b->level);
	u32 interval = sd->balance_interval;

	if (b->pulled || (!tun(s)->failed_adds_ms && !kicked))
		interval = params->min_interval;
	else if (interval < params->max_interval)
		interval = tun(s)->failed_adds_ms ? interval + 1 : interval * 2;
	if (interval != sd->balance_interval)
		set_balance_interval(s, b->level, sd, interval);
}

/* There was none, or nothing that may move. */
static inline __unused void back_off(sched_t *s, struct balance *b)
{
	sd_t *sd = &b->this_rq->smp.sd[b->level];
	sd_params_t *params = params_of(s, b->level);
	u32 limit = params->max_interval;

	if (tun(s)->balanced_clears_failed)
		sd->nr_balance_failed = 0;
	if (b->all_pinned)
		limit = max_of(limit, (u32)tun(s)->max_pinned_interval_ms);
	if (sd->balance_interval < limit)
		set_balance_interval(s, b->level, sd, sd->balance_interval * 2);
}

/* Make this CPU's load even with the busiest one's.  Returns the number of tasks that came. */
__apart u32 load_balance(sched_t *s __in_arena, u32 this_cpu, rq_t *this_rq __in_arena, u32 level, u32 idle)
{
	struct balance b = {
		.this_rq = this_rq, .this_cpu = this_cpu, .level = level, .idle = idle,
	};
	u32 kicked = false;

	if (!try_balance(s, &b) || (b.all_pinned && tun(s)->max_pinned_interval_ms)) {
		back_off(s, &b);
		return 0;
	}
	if (b.pulled)
		this_rq->smp.sd[level].nr_balance_failed = 0;
	else
		kicked = kick_active_balance(s, &b);
	adjust_interval(s, &b, kicked);
	return b.pulled;
}

/* schedule() has nothing to run: get something, from near if possible. */
__apart u32 idle_balance(sched_t *s __in_arena, u32 this_cpu, rq_t *this_rq __in_arena)
{
	u32 level;

	repeat(s, level, SD_LEVELS) {
		struct balance b = {
			.this_rq = this_rq, .this_cpu = this_cpu, .level = level, .idle = NEWLY_IDLE,
		};
		u32 unbalanced;

		if (this_rq->nr_running || !sd_has(s, this_rq, level, SD_BALANCE_NEWIDLE))
			continue;
		unbalanced = try_balance(s, &b);
		if (tun(s)->balanced_clears_failed && (b.pulled || !unbalanced))
			this_rq->smp.sd[level].nr_balance_failed = 0;
	}
	return 0;
}

/* Each domain in its own interval, the smallest first. */
static inline __unused void rebalance_tick(sched_t *s, u32 this_cpu, rq_t *this_rq, u32 idle)
{
	u64 j = this_rq->jiffies + this_rq->smp.jiffies_offset;
	u32 level;

	update_cpu_load(this_rq);
	repeat(s, level, SD_LEVELS) {
		sd_t *sd = &this_rq->smp.sd[level];
		u32 interval = sd->interval[idle];

		if (!sd_has(s, this_rq, level, SD_LOAD_BALANCE) || j - sd->last_balance < interval)
			continue;
		if (load_balance(s, this_cpu, this_rq, level, idle))
			idle = NOT_IDLE;
		sd->last_balance += interval;
	}
}

/* Push one task from @busiest to @target. */
__apart u32 push_one(sched_t *s __in_arena, rq_t *busiest __in_arena, u32 target, u32 level,
		     task_t *preempted __in_arena)
{
	struct balance b = {
		.this_rq = rq_of(s, target), .this_cpu = target, .level = level, .idle = SCHED_IDLE,
		.busiest = busiest, .migration = 1, .preempted = preempted, .max_nr_move = 1,
	};

	if (!rq_lock(s, target))
		return 0;
	move_tasks(s, &b);
	rq_unlock(s, target);
	return 0;
}

/* 2.6.11: a task each for all idle cores, the nearest first. */
static inline __unused void push_to_idle_cores(sched_t *s, rq_t *busiest, task_t *preempted)
{
	u32 level, i;

	repeat(s, level, SD_LEVELS) {
		sd_t *sd = &busiest->smp.sd[level];

		i = sd->start;
		repeat_while(s, i < sd->end && sd_has(s, busiest, level, SD_LOAD_BALANCE)) {
			u32 cpu = span_cpu(s, level, i++);

			if (cpu == busiest->cpu || !busiest->nr_running || busiest->smp.pushed ||
			    rq_of(s, cpu)->nr_running || !cpu_and_siblings_are_idle(s, cpu))
				continue;
			push_one(s, busiest, cpu, level, preempted);
		}
	}
}

/* From 2.6.12: a task for the CPU that asked, in the smallest domain it shares with us. */
static inline __unused void push_to_caller(sched_t *s, rq_t *busiest, task_t *preempted)
{
	rq_t *target = rq_of(s, busiest->smp.push_cpu);
	u32 level, found = false;

	repeat(s, level, SD_LEVELS) {
		if (found || !sd_has(s, target, level, SD_LOAD_BALANCE) ||
		    !in_span(s, &target->smp.sd[level], busiest->cpu))
			continue;
		found = true;
		push_one(s, busiest, busiest->smp.push_cpu, level, preempted);
	}
}

/*
 * What the kernel's migration thread does after load_balance() woke it.  Its
 * point is that it preempts the running task, which thereby becomes movable.
 * It counts as running itself, so a CPU may be left with nothing else.
 *
 * FIDELITY: there is no migration thread.  pick_next() does its work, so it
 *	costs no context switch; and a running task can only leave when the
 *	switch is made, so it is left waiting here and not picked until
 *	switched().  2.6.11 could push further tasks after that one; we stop.
 */
static inline __unused void active_load_balance(sched_t *s, rq_t *busiest, task_t *prev)
{
	busiest->smp.active_balance = 0;
	if (tun(s)->active_searches)
		push_to_idle_cores(s, busiest, prev);
	else
		push_to_caller(s, busiest, prev);
}

/*
 * The second half, once the running task has stopped.  If it stays after all,
 * because the lock is refused, it waits here as if it had just come: this CPU
 * chose without it and may idle.
 */
static inline __unused void finish_active_balance(sched_t *s, rq_t *rq)
{
	task_t *task = rq->smp.pushed;
	rq_t *target = rq_of(s, rq->smp.pushed_to);
	ts_t *p;

	if (!task)
		return;
	p = ts_of(task);
	rq->smp.pushed = NULL;
	if (task->on_cpu || !p->array)
		return;
	if (!cpu_allowed(task, target->cpu) || !rq_lock(s, target->cpu)) {
		check_preempt(s, p, rq->cpu);
		return;
	}
	deactivate_task(p, rq);
	attach_task(s, p, target->cpu, rq->smp.pushed_array);
	check_preempt(s, p, target->cpu);
	rq_unlock(s, target->cpu);
}

/* ---- schedule() --------------------------------------------------------- */

static ts_t *pick_task(sched_t *s, rq_t *rq);

/* Idle only if nothing can be had elsewhere. */
static inline __unused ts_t *pick_or_pull(sched_t *s, rq_t *rq)
{
	if (!rq->nr_running && s->nr_cpus > 1)
		idle_balance(s, rq->cpu, rq);
	return rq->nr_running ? pick_task(s, rq) : NULL;
}

/* Choose while the task that is about to be pushed away is out of the way. */
static inline __unused ts_t *pick_without(sched_t *s, rq_t *rq, ts_t *pushed)
{
	prio_array_t *array = pushed->array;
	ts_t *next;

	deactivate_task(pushed, rq);
	next = pick_or_pull(s, rq);
	enqueue_task(pushed, array);
	rq->nr_running++;
	return next;
}

/* The task that runs next; NULL if there is none. */
static inline __unused ts_t *pick_balanced(sched_t *s, rq_t *rq, task_t *prev)
{
	if (rq->smp.active_balance)
		active_load_balance(s, rq, prev);
	return rq->smp.pushed ? pick_without(s, rq, ts_of(rq->smp.pushed)) : pick_or_pull(s, rq);
}
#endif
