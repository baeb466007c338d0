/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ops.h - what the kernel tells a sched_ext scheduler, and what the policy hears of it.
 *
 *	kernel			policy
 *	enable			fork (the first time)
 *	select_cpu		select_cpu
 *	enqueue			enqueue, if the task slept; else see enqueue_op()
 *	quiescent		dequeue, if the task goes to sleep or dies
 *	dispatch		pick_next, switched
 *	tick			tick, as often as the policy's own rate wants
 *	yield			yield, at the next dispatch
 *	set_weight, set_cpumask	set_nice and set_class, set_cpumask
 *	disable			exit; dequeue before, if the task leaves for another class
 *
 * The policy's view is kept one step ahead of the kernel's: a task runs on a CPU
 * from the moment the policy chose it until the policy is asked again.  Slices
 * are infinite, so only the policy's own requests end a run.
 *
 * The steps between the two views, from kernel/sched/ext: a task that pick_next()
 * put back may be chosen by another CPU before the kernel hands it over in
 * ops.enqueue(); a task given to a CPU may be taken off it again by a change of
 * its attributes, and comes back through ops.enqueue(); a task of a higher class
 * may keep a CPU from noticing that its task sleeps.
 */
#ifndef SCHEDLAB_BPF_OPS_H
#define SCHEDLAB_BPF_OPS_H

/* ---- waking ------------------------------------------------------------------------------ */

/* In an interrupt or in its bottom half? */
static __always_inline u32 host_in_interrupt(void)
{
	const u32 *count = host_kernel_has(&__preempt_count) ? bpf_this_cpu_ptr(&__preempt_count) : NULL;

	return count && (*count & HARDIRQ_AND_SOFTIRQ & ~IN_SOFTIRQ_DISABLED);
}

static __always_inline u32 host_wake_flags(struct task_struct *p, u64 flags)
{
	u32 enq = host_in_interrupt() ? ENQ_IRQ : 0;

	if (flags & host_kernel_value(scx_wake_flags, SCX_WAKE_FORK))
		return ENQ_NEW;
	if (flags & host_kernel_value(scx_wake_flags, SCX_WAKE_SYNC))
		enq |= ENQ_SYNC;
	return enq | ENQ_WAKEUP;
}

OPS(select_cpu) s32 select_cpu_op(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	s32 prev_cpu = (s32)ctx[1];
	host_slot_t *slot = host_slot_of(p);
	u32 cpu, answer;
	sched_t *s;

	if (!slot)
		return prev_cpu;
	s = host_begin_for(&slot->t);
	if (!s)
		return prev_cpu;
	cpu = slot->t.cpu;
	if (slot->t.on_cpu)
		host_settle(s, slot);
	host_follow_affinity(s, p, slot);
	slot->wake_flags = (u16)((slot->wake_flags & ENQ_UNINTERRUPTIBLE) | host_wake_flags(p, ctx[2]));
	slot->waker = s->this_cpu;
	answer = host_choose_cpu(s, &slot->t, slot->born ? ENQ_NEW : slot->wake_flags);
	host_end(s, cpu, HOOK_SELECT_CPU);
	return (s32)answer;
}

/* It slept, or never ran. */
static __always_inline void host_wake(sched_t *s, host_slot_t *slot, struct task_struct *p)
{
	u32 cpu = slot->t.cpu, idle = !cpu_curr(s, cpu);
	u32 flags = slot->born ? ENQ_NEW : ENQ_WAKEUP | slot->wake_flags;

	host_read_mm(p, slot);
	if (slot->born)
		host_check_parent(slot);
	if (slot->waker != NO_WAKER)
		s->this_cpu = slot->waker;
	host_put_on(s, slot, flags);
	slot->born = false;
	slot->wake_flags = 0;
	slot->waker = NO_WAKER;
	((host_cpu_t *)s)->stats.wakeups++;
	if (idle)	/* the kernel itself sends an idle CPU into schedule() for this task */
		((host_cpu_t *)s)->kicks[cpu / 64 % MASK_WORDS] &= ~(1ull << (cpu % 64));
}

/* Its CPU may no longer run it: it will be requeued when that CPU has noticed. */
static __always_inline void host_must_move(sched_t *s, host_slot_t *slot)
{
	host_take_off(s, slot, DEQ_MOVE, PREV_MOVED);
	resched_cpu(s, slot->t.cpu);
}

/*
 * Does the policy know already that @slot's task, which the kernel hands over, waits?  Asked
 * without a lock: who chooses it from now on finds it with the kernel, and who has chosen it
 * before is seen, since the kernel noted that it hands the task over before we look.
 */
static __always_inline u32 host_waits_already(struct task_struct *p, host_slot_t *slot)
{
	host_add_and_order(&slot->handed_over, 1);
	return slot->queued && !slot->t.on_cpu && slot->pinned == host_is_pinned(p) &&
	       cpu_allowed(&slot->t, READ_ONCE(slot->t.cpu));
}

OPS(enqueue) void enqueue_op(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	host_slot_t *slot = host_slot_of(p);
	u32 cpu, given_to = MAX_CPUS;
	sched_t *s;

	if (!slot || host_waits_already(p, slot))
		return;
	if (!slot->queued && !slot->t.on_cpu)
		slot->t.cpu = (u32)scx_bpf_task_cpu(p);
	s = host_begin_for(&slot->t);
	if (!s)
		return;
	cpu = slot->t.cpu;
	host_follow_affinity(s, p, slot);
	if (!slot->queued && slot->t.on_cpu && slot->why != PREV_MOVED)
		host_settle(s, slot);
	if (!slot->t.on_cpu && !slot->queued)
		host_wake(s, slot, p);
	else if (!slot->t.on_cpu && !cpu_allowed(&slot->t, cpu)) {
		host_take_off(s, slot, DEQ_MOVE, PREV_MOVED);
		s = (sched_t *)host_requeue(s, slot, cpu);
		cpu = slot->t.cpu;
	} else if (slot->t.on_cpu && slot->queued) {
		if (host_may_run(p, slot, cpu))
			given_to = cpu;
		else
			host_must_move(s, slot);
	}
	if (s)
		host_end(s, cpu, HOOK_ENQUEUE);
	if (given_to < MAX_CPUS)
		host_give_to_kernel(p, given_to);
}

/* ---- running ------------------------------------------------------------------------------- */

/* What the policy must know of @p before it is asked. */
static __always_inline void host_refresh_prev(sched_t *s, struct task_struct *p, host_slot_t *slot)
{
	host_read_mm(p, slot);
	host_follow_affinity(s, p, slot);
}

/* @prev, which could run on, yielded: does the policy want to choose? */
static __always_inline void host_yield(sched_t *s, host_slot_t *prev)
{
	if (prev->yielded)
		prev->yielded = hook_yield(s, &prev->t) != 0;
}

/*
 * @running: the kernel's previous task is the one the policy believes to run, and
 * could run on.  Returns the index of the slot to give to the kernel, or MAX.
 */
static __always_inline u32 host_reschedule(sched_t *s, u32 cpu, u32 running, u32 *keep)
{
	cpu_t *c = cpu_of(s, cpu);
	task_t *prev = c->curr;
	host_slot_t *slot = host_slot_of_task(prev);

	if (running && !c->need_resched && !slot->yielded) {
		*keep = true;	/* it has been dealt with in the meantime */
		return ~0u;
	}
	if (!prev || running || !slot->queued) {
		host_choose(s, cpu, prev, prev ? host_prev_state(slot) : PREV_NONE);
		if (prev)
			slot->yielded = false;
		*keep = running && c->curr == prev;
	}
	if (*keep || !c->curr)
		return ~0u;
	slot = host_slot_of_task(c->curr);
	if (slot->given)
		return ~0u;
	slot->given = true;
	return slot->index;
}

OPS(dispatch) void dispatch_op(u64 *ctx)
{
	u32 cpu = (u32)ctx[0], locked = cpu, keep = false, chosen, running;
	struct task_struct *p = (void *)ctx[1];
	host_slot_t *slot = p ? host_slot_of(p) : NULL;
	sched_t *s = host_begin(cpu);
	task_t *prev;

	if (!s)
		return;
	prev = cpu_curr(s, cpu);
	running = slot && &slot->t == prev && slot->queued;
	if (running) {
		host_refresh_prev(s, p, slot);
		host_yield(s, slot);
	} else if (slot) {
		slot->yielded = false;	/* another CPU has chosen it since */
	}
	chosen = host_reschedule(s, cpu, running, &keep);
	if (prev && !prev->on_cpu) {
		host_slot_t *left = host_slot_of_task(prev);

		if (!left->queued && left->why == PREV_MOVED) {
			host_obey(s, HOOK_PICK_NEXT);
			s = (sched_t *)host_requeue(s, left, cpu);
			locked = left->t.cpu;
		}
	}
	if (s)
		host_end(s, locked, HOOK_PICK_NEXT);
	if (keep && p)
		scx_bpf_task_set_slice(p, SCX_SLICE_INF);
	if (chosen != ~0u)
		host_give_slot(chosen, cpu);
}

OPS(quiescent) void quiescent_op(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	host_slot_t *slot = host_slot_of(p);
	u32 cpu, state, flags = DEQ_SLEEP;
	sched_t *s;

	if (!slot || !(ctx[1] & host_kernel_value(scx_deq_flags, SCX_DEQ_SLEEP)))
		return;
	s = host_begin_for(&slot->t);
	if (!s)
		return;
	cpu = slot->t.cpu;
	state = p->__state;
	if (slot->queued && p->flags & PF_EXITING && p->exit_state) {
		host_take_off(s, slot, DEQ_EXIT, PREV_EXITED);
	} else if (slot->queued) {
		if ((state & (TASK_UNINTERRUPTIBLE | TASK_NOLOAD)) == TASK_UNINTERRUPTIBLE)
			flags |= DEQ_UNINTERRUPTIBLE;
		slot->wake_flags = flags & DEQ_UNINTERRUPTIBLE ? ENQ_UNINTERRUPTIBLE : 0;
		host_take_off(s, slot, flags, PREV_BLOCKED);
	} else {
		slot->why = PREV_BLOCKED;	/* it was about to move */
	}
	host_end(s, cpu, HOOK_DEQUEUE);
}

/*
 * Is a tick of the policy due?  The kernel's come some ns early or late, and one that is early must not be lost.
 * FIDELITY: at another rate than the kernel's a tick of the policy may come up to an eighth of its period early.
 */
static __always_inline u32 host_tick_is_due(sched_t *s, host_cpu_t *host)
{
	return s->now + s->tick_ns / 8 >= host->next_tick_ns;
}

/* Time has passed on a CPU, with or without a task: as many ticks of the policy as that is. */
static __always_inline void host_tick_cpu(sched_t *s, u32 cpu, task_t *t)
{
	host_cpu_t *host = host_cpu_of(cpu);
	u32 ticks;

	if (s->now > host->next_tick_ns + 16 * s->tick_ns)
		host->next_tick_ns = s->now;	/* it idled; or nobody ran for long */
	repeat(s, ticks, 17) {
		if (!host_tick_is_due(s, host))
			return;
		host->next_tick_ns += s->tick_ns;
		host->stats.ticks++;
		call_hook(tick, s, cpu, t);
	}
}

OPS(tick) void tick_op(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	host_slot_t *slot = host_slot_of(p);
	u32 cpu = bpf_get_smp_processor_id(), resched = false;
	sched_t *s;

	if (!slot)
		return;
	if (!p->migration_disabled && bpf_get_current_task_btf() == p)
		host_machine.prolog_pins = false;
	s = host_begin(cpu);
	if (!s)
		return;
	if (cpu_curr(s, cpu) == &slot->t && slot->queued) {
		host_tick_cpu(s, cpu, &slot->t);
		/* Also when the kick that should have ended its run met a task of a higher class. */
		resched = cpu_of(s, cpu)->need_resched;
		((host_cpu_t *)s)->kicks[cpu / 64 % MASK_WORDS] &= ~(1ull << (cpu % 64));
	}
	host_end(s, cpu, HOOK_TICK);
	if (resched)
		scx_bpf_task_set_slice(p, 0);
}

/* The policy hears of it when the kernel asks who is next, which it does at once. */
OPS(yield) bool_t yield_op(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	host_slot_t *slot = host_slot_of(p);

	if (ctx[1] || READ_ONCE(host_machine.stopped) || !slot)
		return false;
	slot->yielded = true;
	scx_bpf_task_set_slice(p, 0);
	return true;
}

/* ---- attributes ------------------------------------------------------------------------------ */

OPS(set_weight) void set_weight_op(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	host_slot_t *slot = host_slot_of(p);
	u32 cpu;
	sched_t *s;

	if (!slot)
		return;
	s = host_begin_for(&slot->t);
	if (!s)
		return;
	cpu = slot->t.cpu;
	host_follow_attributes(s, p, &slot->t);
	host_end(s, cpu, HOOK_SET_NICE);
}

OPS(set_cpumask) void set_cpumask_op(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	host_slot_t *slot = host_slot_of(p);
	u32 cpu;
	sched_t *s;

	if (!slot)
		return;
	s = host_begin_for(&slot->t);
	if (!s)
		return;
	cpu = slot->t.cpu;
	slot->pinned = (u8)host_is_pinned(p);
	host_read_affinity(s, p, slot);
	hook_set_cpumask(s, &slot->t);
	host_end(s, cpu, HOOK_SET_CPUMASK);
}

/* ---- beginning and end -------------------------------------------------------------------------- */

OPS(enable) void enable_op(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];

	if (!host_slot_of(p))
		host_task_begins(p);
}

/* It dies, or it leaves for another class; should it come back it is a new one, for the kernel forgets its slot. */
OPS(disable) void disable_op(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	host_slot_t *slot = host_slot_of(p);
	sched_t *s;
	u32 cpu;

	if (!slot)
		return;
	s = host_begin_for(&slot->t);
	if (s) {
		cpu = slot->t.cpu;
		if (slot->queued)
			host_take_off(s, slot, DEQ_SLEEP, PREV_BLOCKED);
		if (slot->t.on_cpu)
			host_settle(s, slot);
		host_end(s, cpu, HOOK_DEQUEUE);
	}
	host_task_ends(p, slot);
}
#endif
