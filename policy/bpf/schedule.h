/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * schedule.h - who runs: the same steps as in the simulator's schedule() and wakeups.
 */
#ifndef SCHEDLAB_BPF_SCHEDULE_H
#define SCHEDLAB_BPF_SCHEDULE_H

/* ---- statistics ---------------------------------------------------------------------- */

/* Four buckets for each power of two: the exponent, then the two bits behind the first. */
static __always_inline u32 host_delay_bucket(u64 ns)
{
	u64 rest = ns;
	u32 e = 0;

	if (ns < 4)
		return (u32)ns;
	if (rest >> 32) { e += 32; rest >>= 32; }
	if (rest >> 16) { e += 16; rest >>= 16; }
	if (rest >> 8) { e += 8; rest >>= 8; }
	if (rest >> 4) { e += 4; rest >>= 4; }
	if (rest >> 2) { e += 2; rest >>= 2; }
	if (rest >> 1) e += 1;
	return min_of((e - 1) * 4 + (u32)((ns >> (e - 2)) & 3), DELAY_BUCKETS - 1);
}

static __always_inline void host_book_run(sched_t *s, host_slot_t *slot, u32 cpu)
{
	struct host_statistics __arena *stats = &((host_cpu_t *)s)->stats;
	u64 delay = s->now > slot->runnable_since ? s->now - slot->runnable_since : 0;

	stats->delay[host_delay_bucket(delay)]++;
	if (slot->ran_on != cpu)
		stats->migrations++;
	slot->ran_on = (u16)cpu;
}

/* ---- schedule() ---------------------------------------------------------------------- */

/* May the policy answer @next?  If not, the kernel hears what is wrong with it. */
static __noinline u32 host_check_pick(sched_t *s, u32 cpu, task_t *next)
{
	host_slot_t *slot = host_slot_of_task(next);

	if (slot->index >= host_machine.max_tasks || host_slot_at(slot->index) != slot || !slot->kernel)
		host_policy_failed("pick_next() answers %p, which is no task", (u64)next);
	else if (!slot->queued)
		host_policy_failed("pick_next() chooses pid %d, which is not runnable", (u64)host_pid_of(next));
	else if (next->on_cpu)
		host_policy_failed("pick_next() chooses pid %d, which runs on CPU %d", (u64)host_pid_of(next), next->cpu);
	else if (!cpu_allowed(next, cpu))
		host_policy_failed("pick_next() chooses pid %d for CPU %d, which it may not use", (u64)host_pid_of(next), cpu);
	return !host_machine.stopped;
}

/* Updates the public fields as the CPU stops running @prev and runs @next, then tells the policy. */
static __always_inline void host_switch_to(sched_t *s, u32 cpu, task_t *prev, task_t *next)
{
	cpu_t *c = cpu_of(s, cpu);

	if (prev) {
		prev->on_cpu = 0;
		host_slot_of_task(prev)->runnable_since = s->now;
	}
	if (next) {
		host_book_run(s, host_slot_of_task(next), cpu);
		next->on_cpu = 1;
		next->cpu = cpu;
	} else {
		c->idle_since = s->now;
	}
	c->curr = next;
	host_cpu_of(cpu)->given = false;
	((host_cpu_t *)s)->stats.switches++;
	if (the_policy.switched)
		the_policy.switched(s, cpu, prev, next);
}

/* Has the policy choose who runs on @cpu, which runs @prev. */
static __always_inline void host_choose(sched_t *s, u32 cpu, task_t *prev, u32 why)
{
	task_t *next;

	cpu_of(s, cpu)->need_resched = 0;
	next = the_policy.pick_next(s, cpu, prev, why);
	((host_cpu_t *)s)->stats.schedule_calls++;
	if (next == prev && (!prev || host_slot_of_task(prev)->queued))
		return;
	if (next && !host_check_pick(s, cpu, next))
		return;
	host_switch_to(s, cpu, prev, next);
}

/* Why does @t not run on? */
static __always_inline u32 host_prev_state(host_slot_t *slot)
{
	if (!slot->queued)
		return slot->why;
	return slot->yielded ? PREV_YIELDED : PREV_PREEMPTED;
}

/*
 * @slot's task has stopped, and its CPU has not chosen another one yet, being
 * busy with a task of a higher class.  Choose for it; it will find out.
 */
static __always_inline void host_settle(sched_t *s, host_slot_t *slot)
{
	u32 cpu = slot->t.cpu;

	if (cpu_curr(s, cpu) != &slot->t)
		return;
	host_choose(s, cpu, &slot->t, slot->why);
	if (cpu_curr(s, cpu))
		resched_cpu(s, cpu);
}

/* ---- on and off the run queue ------------------------------------------------------------ */

static __always_inline void host_take_off(sched_t *s, host_slot_t *slot, u32 flags, u32 why)
{
	the_policy.dequeue(s, &slot->t, flags);
	slot->queued = false;
	slot->why = why;
}

static __always_inline void host_put_on(sched_t *s, host_slot_t *slot, u32 flags)
{
	slot->queued = true;
	slot->runnable_since = s->now;
	the_policy.enqueue(s, &slot->t, flags);
}

static __always_inline u32 host_choose_cpu(sched_t *s, task_t *t, u32 flags)
{
	u32 cpu = t->cpu;

	if (the_policy.select_cpu && t->nr_allowed > 1)
		cpu = the_policy.select_cpu(s, t, flags);
	else if (!cpu_allowed(t, cpu))
		cpu = host_first_allowed(s, t);
	if (cpu >= s->nr_cpus || !cpu_allowed(t, cpu)) {
		host_policy_failed("select_cpu() answers CPU %d, which pid %d may not use", cpu, (u64)host_pid_of(t));
		cpu = host_first_allowed(s, t);
	}
	return cpu;
}

/* A runnable task that is in no run queue goes to one it may be in.  @cpu is the one locked. */
static __always_inline sched_t *host_requeue(sched_t *s, host_slot_t *slot, u32 *cpu)
{
	u32 to = host_choose_cpu(s, &slot->t, ENQ_MOVE);

	slot->t.cpu = to;
	s = host_change_lock(s, cpu, to);
	if (s)
		host_put_on(s, slot, ENQ_MOVE);
	return s;
}

/* ---- giving a chosen task to the kernel -------------------------------------------------- */

static __always_inline void host_give_to_kernel(struct task_struct *p, u32 cpu)
{
	scx_bpf_dsq_insert___v2___(p, host_kernel_value(scx_dsq_id_flags, SCX_DSQ_LOCAL_ON) | cpu, SCX_SLICE_INF, 0);
}

static __always_inline void host_give_slot(u32 index, u32 cpu)
{
	struct host_kernel_task *entry = bpf_map_lookup_elem(&host_kernel_tasks, &index);
	struct task_struct *p = entry ? entry->task : NULL;

	if (p)
		host_give_to_kernel(p, cpu);
}
#endif
