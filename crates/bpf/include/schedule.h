/* SPDX-License-Identifier: GPL-2.0-only */
/* schedule.h - schedule() and wakeups, with the same steps as in the simulator. */
#ifndef SCHEDLAB_BPF_SCHEDULE_H
#define SCHEDLAB_BPF_SCHEDULE_H

/* ---- statistics ---------------------------------------------------------------------- */

/* The bucket of times below 256: four for each power of two, chosen by the three highest bits. */
#define BUCKET_OF(n)	((n) < 4 ? (n) : (n) < 8 ? (n) : (n) < 16 ? 8 + ((n) - 8) / 2 :		\
			 (n) < 32 ? 12 + ((n) - 16) / 4 : (n) < 64 ? 16 + ((n) - 32) / 8 :		\
			 (n) < 128 ? 20 + ((n) - 64) / 16 : 24 + ((n) - 128) / 32)
#define BUCKETS_4(n)	BUCKET_OF(n), BUCKET_OF(n + 1), BUCKET_OF(n + 2), BUCKET_OF(n + 3)
#define BUCKETS_16(n)	BUCKETS_4(n), BUCKETS_4(n + 4), BUCKETS_4(n + 8), BUCKETS_4(n + 12)
#define BUCKETS_64(n)	BUCKETS_16(n), BUCKETS_16(n + 16), BUCKETS_16(n + 32), BUCKETS_16(n + 48)
static const u8 host_buckets[256] = {
	BUCKETS_64(0), BUCKETS_64(64), BUCKETS_64(128), BUCKETS_64(192)
};

/* One step of the search below.  The assembly keeps the compiler from shifting unconditionally. */
#define SHIFT_DOWN(by)								\
	({									\
		shift += (by);							\
		ns >>= (by);							\
		__asm__ volatile("" : "+r"(ns));				\
	})

/* Longer times are first shifted into the table's range; each shifted bit adds four buckets. */
static __always_inline u32 host_delay_bucket(u64 ns)
{
	u32 shift = 0;

	if (ns >= 1ull << 32) {
		if (ns >= 1ull << 48)
			return DELAY_BUCKETS - 1;
		SHIFT_DOWN(24);
	}
	if (ns >= 1ull << 20)
		SHIFT_DOWN(12);
	if (ns >= 1ull << 14)
		SHIFT_DOWN(12);
	if (ns >= 1ull << 8)
		SHIFT_DOWN(6);
	return host_buckets[in_bounds((u32)ns, 256)] + 4 * shift;
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

static __always_inline u32 host_is_task(host_slot_t *slot)
{
	return slot->seal == host_seal(slot) && slot->kernel;
}

/* Reports what is wrong with the task that pick_next() returned. */
__apart u32 host_refuse_pick(task_t *next __in_arena, u32 cpu)
{
	host_slot_t *slot = host_slot_of_task(next);
	s32 pid;

	if (!host_is_task(slot)) {
		host_fail("pick_next() answers %p, which is no task", (u64)next);
		return 0;
	}
	pid = host_pid_of(next);
	if (!slot->queued)
		host_fail("pick_next() chooses pid %d, which is not runnable", (u64)pid);
	else if (next->on_cpu)
		host_fail("pick_next() chooses pid %d, which runs on CPU %d", (u64)pid, next->cpu);
	else
		host_fail("pick_next() chooses pid %d for CPU %d, which it may not use", (u64)pid, cpu);
	return 0;
}

/* May pick_next() return @next for @cpu? */
static __always_inline u32 host_check_pick(task_t *next, u32 cpu)
{
	host_slot_t *slot = host_slot_of_task(next);

	if (host_is_task(slot) && slot->queued && !next->on_cpu && cpu_allowed(next, cpu))
		return true;
	host_refuse_pick(next, cpu);
	return false;
}

/* Ticks that became due while the CPU idled are not delivered. */
__apart u32 host_skip_idle_ticks(sched_t *s __in_arena, u32 cpu)
{
	host_cpu_t *host = host_cpu_of(cpu);

	if (s->now >= host->next_tick_ns)
		host->next_tick_ns += (div_u64(s->now - host->next_tick_ns, s->tick_ns) + 1) * s->tick_ns;
	return 0;
}

/* Updates the public fields as the CPU stops running @prev and runs @next, then tells the policy. */
static __always_inline void host_switch(sched_t *s, u32 cpu, task_t *prev, task_t *next)
{
	cpu_t *c = cpu_of(s, cpu);

	if (!prev && !the_policy.tick_when_idle)
		host_skip_idle_ticks(s, cpu);
	if (prev) {
		prev->on_cpu = 0;
		host_slot_of_task(prev)->runnable_since = s->now;
	}
	if (next) {
		host_book_run(s, host_slot_of_task(next), cpu);
		host_slot_of_task(next)->given = false;
		next->on_cpu = 1;
		next->cpu = cpu;
	} else {
		c->idle_since = s->now;
	}
	c->curr = next;
	((host_cpu_t *)s)->stats.switches++;
	call_hook(switched, s, cpu, prev, next);
}

/* Calls pick_next() on @cpu, whose current task is @prev. */
static __always_inline void host_choose(sched_t *s, u32 cpu, task_t *prev, u32 why)
{
	task_t *next;

	cpu_of(s, cpu)->need_resched = 0;
	next = (task_t *)hook_pick_next(s, cpu, prev, why);
	((host_cpu_t *)s)->stats.schedule_calls++;
	if (next == prev && (!prev || host_slot_of_task(prev)->queued))
		return;
	if (!next || host_check_pick(next, cpu))
		host_switch(s, cpu, prev, next);
}

/* The reason why @slot's task stops running. */
static __always_inline u32 host_prev_state(host_slot_t *slot)
{
	if (!slot->queued)
		return slot->why;
	return slot->yielded ? PREV_YIELDED : PREV_PREEMPTED;
}

/*
 * @slot's task has stopped, but its CPU runs a task of a higher class and has not chosen
 * another one.  Choose for that CPU; it gets the result when it reschedules.
 */
__apart u32 host_settle(sched_t *s __in_arena, host_slot_t *slot __in_arena)
{
	u32 cpu = slot->t.cpu;

	if (cpu_curr(s, cpu) != &slot->t)
		return 0;
	host_choose(s, cpu, &slot->t, slot->why);
	if (cpu_curr(s, cpu))
		resched_cpu(s, cpu);
	return 0;
}

/* ---- on and off the run queue ------------------------------------------------------------ */

static __always_inline void host_take_off(sched_t *s, host_slot_t *slot, u32 flags, u32 why)
{
	hook_dequeue(s, &slot->t, flags);
	slot->queued = false;
	slot->why = why;
}

static __always_inline void host_put_on(sched_t *s, host_slot_t *slot, u32 flags)
{
	slot->queued = true;
	slot->runnable_since = s->now;
	hook_enqueue(s, &slot->t, flags);
}

__apart u32 host_first_allowed(sched_t *s __in_arena, task_t *t __in_arena)
{
	u32 word;

	repeat(s, word, host_machine.mask_words) {
		if (t->allowed->bits[word])
			return word * 64 + find_first_bit(t->allowed->bits[word]);
	}
	return 0;
}

__apart u32 host_choose_cpu(sched_t *s __in_arena, task_t *t __in_arena, u32 flags)
{
	u32 cpu = t->cpu;

	if (the_policy.select_cpu && t->nr_allowed > 1)
		cpu = hook_select_cpu(s, t, flags);
	else if (!cpu_allowed(t, cpu))
		cpu = host_first_allowed(s, t);
	if (cpu < s->nr_cpus && cpu_allowed(t, cpu))
		return cpu;
	host_fail("select_cpu() answers CPU %d, which pid %d may not use", cpu, (u64)host_pid_of(t));
	return host_first_allowed(s, t);
}

/*
 * Puts a runnable task that is in no run queue into one that it may use.  CPU @locked's lock is
 * held at the start, the new CPU's at the end.
 */
__apart u64 host_requeue(sched_t *s __in_arena, host_slot_t *slot __in_arena, u32 locked)
{
	u32 to = host_choose_cpu(s, &slot->t, ENQ_MOVE);

	slot->t.cpu = to;
	if (!GLOBAL_LOCK) {
		host_leave_rq(s, host_lock_of(locked));
		s = host_begin(to);
	}
	if (s)
		host_put_on(s, slot, ENQ_MOVE);
	return (u64)s;
}

/* ---- giving a chosen task to the kernel -------------------------------------------------- */

static __always_inline void host_give_to_kernel(struct task_struct *p, u32 cpu)
{
	scx_bpf_dsq_insert___v2___schedlab(p, host_kernel_value(scx_dsq_id_flags, SCX_DSQ_LOCAL_ON) | cpu, SCX_SLICE_INF, 0);
}

static __always_inline void host_give_slot(u32 index, u32 cpu)
{
	struct host_kernel_task *entry = bpf_map_lookup_elem(&host_kernel_tasks, &index);
	struct task_struct *p = entry ? entry->task : NULL;

	if (p)
		host_give_to_kernel(p, cpu);
}
#endif
