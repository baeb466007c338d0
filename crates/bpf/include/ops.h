/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ops.h - which callback of sched_ext becomes which hook.
 *
 *	kernel			policy
 *	enable			fork (the first time)
 *	select_cpu		select_cpu
 *	enqueue			enqueue, if the task slept; otherwise see enqueue_op()
 *	quiescent		dequeue, if the task goes to sleep or dies
 *	dispatch		pick_next, switched
 *	tick			tick, at the policy's own rate
 *	yield			yield, at the next dispatch
 *	set_weight, set_cpumask	set_nice and set_class, set_cpumask
 *	disable			exit; dequeue before it, if the task changes its class
 *
 * The policy's view is one step ahead of the kernel's: a task runs on a CPU from the moment the
 * policy chose it until the next pick_next() on that CPU.  Slices are infinite, so only the
 * policy's requests end a run.
 *
 * The two views may differ in three ways (kernel/sched/ext):
 *
 * - pick_next() put a task back, and another CPU chooses it before the kernel passes it to
 *   ops.enqueue().
 *
 * - A change of attributes removes a task from the CPU to which it was given; it comes back
 *   through ops.enqueue().
 *
 * - A task of a higher class keeps a CPU from noticing that its task sleeps.
 */
#ifndef SCHEDLAB_BPF_OPS_H
#define SCHEDLAB_BPF_OPS_H

/* ---- waking ------------------------------------------------------------------------------ */

/* True in a hard interrupt or a softirq. */
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

/* The task slept, or it is new. */
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

/* The task may no longer run on its CPU; it is requeued when that CPU reschedules. */
static __always_inline void host_must_move(sched_t *s, host_slot_t *slot)
{
	host_take_off(s, slot, DEQ_MOVE, PREV_MOVED);
	resched_cpu(s, slot->t.cpu);
}

/*
 * The kernel hands over @slot's task.  Returns true if the policy already has it in a run
 * queue.  No lock is needed: a CPU that chooses the task later finds it already handed over,
 * and the memory barrier of host_add_and_order() makes an earlier choice visible here.
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

/* Updates what the policy may read of @p before pick_next(). */
static __always_inline void host_refresh_prev(sched_t *s, struct task_struct *p, host_slot_t *slot)
{
	host_read_mm(p, slot);
	host_follow_affinity(s, p, slot);
}

/* @prev is runnable and yielded: does the policy want to choose again? */
static __always_inline void host_yield(sched_t *s, host_slot_t *prev)
{
	if (prev->yielded)
		prev->yielded = hook_yield(s, &prev->t) != 0;
}

/*
 * @running: the kernel's previous task is runnable and is also the policy's current task.
 * Returns the index of the slot to give to the kernel, or ~0 for none.  @keep: it runs on.
 */
static __always_inline u32 host_reschedule(sched_t *s, u32 cpu, u32 running, u32 *keep)
{
	cpu_t *c = cpu_of(s, cpu);
	task_t *prev = c->curr;
	host_slot_t *slot = host_slot_of_task(prev);

	if (running && !c->need_resched && !slot->yielded) {
		*keep = true;	/* the request was already served */
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
		slot->yielded = false;	/* another CPU chose it after the yield */
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
		slot->why = PREV_BLOCKED;	/* it was to be requeued */
	}
	host_end(s, cpu, HOOK_DEQUEUE);
}

/*
 * Is a tick of the policy due?  The kernel's ticks come some ns early or late, and an early one
 * must count.  FIDELITY: if the policy's rate differs from the kernel's, a tick may come up to
 * an eighth of its period early.
 */
static __always_inline u32 host_tick_is_due(sched_t *s, host_cpu_t *host)
{
	return s->now + s->tick_ns / 8 >= host->next_tick_ns;
}

/* Calls tick() as often as the policy's period has passed; @t is NULL on an idle CPU. */
static __always_inline void host_tick_cpu(sched_t *s, u32 cpu, task_t *t)
{
	host_cpu_t *host = host_cpu_of(cpu);
	u32 ticks;

	if (s->now > host->next_tick_ns + 16 * s->tick_ns)
		host->next_tick_ns = s->now;	/* the CPU had no tick for long */
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
		/*
		 * Needed if the kick that should end this run arrived while a task of a higher
		 * class ran.
		 */
		resched = cpu_of(s, cpu)->need_resched;
		((host_cpu_t *)s)->kicks[cpu / 64 % MASK_WORDS] &= ~(1ull << (cpu % 64));
	}
	host_end(s, cpu, HOOK_TICK);
	if (resched)
		scx_bpf_task_set_slice(p, 0);
}

/* The policy's yield() hook runs in ops.dispatch(), which follows at once. */
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

/*
 * The task dies or changes its class.  If it returns, it is a new task: the kernel has
 * forgotten its slot.
 */
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
