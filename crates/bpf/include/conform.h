/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * conform.h - plays a script of hook calls; the results are compared with the native build's.
 *
 * Not part of a scheduler: user space runs it (BPF_PROG_TEST_RUN) in an object that is loaded
 * but not attached.  Each hook is surrounded by the same steps as in the native host
 * (crates/native/src/host.rs).
 */
#ifndef SCHEDLAB_BPF_CONFORM_H
#define SCHEDLAB_BPF_CONFORM_H

#define SCRIPT_EVENTS	2048
#define SCRIPT_TASKS	64
#define NO_TASK		(~0u)
#define MOST_LOCKS	64

enum host_event_kind {
	EVENT_RESET,		/* @a CPUs, @b: SMP, @mask: the seed */
	EVENT_NEW,		/* @task with @other as parent; @a: nice, class, rt_priority, cpu, foreground; @b: mm; @mask */
	EVENT_EXIT,		/* @task, reaped by @other */
	EVENT_FORGET,
	EVENT_SELECT_CPU,	/* @a: flags */
	EVENT_SET_CPU,		/* @a: CPU */
	EVENT_ENQUEUE,		/* @a: flags */
	EVENT_DEQUEUE,		/* @a: flags */
	EVENT_PICK_NEXT,	/* @a: CPU, @task: previous, @b: why */
	EVENT_SWITCH,		/* @a: CPU, @task: previous, @other: next, @mask: start of the CPU's idle time, if it idles */
	EVENT_TICK,		/* @a: CPU */
	EVENT_YIELD,
	EVENT_SET_NICE,		/* @a: nice */
	EVENT_SET_CLASS,	/* @a: class, @b: rt_priority */
	EVENT_SET_CPUS,		/* @mask */
	EVENT_TIMER,		/* @a: number */
	EVENT_HRTICK,		/* @a: CPU */
	EVENT_PRIORITY,
};

struct host_event {
	u64 now, mask;
	u64 locks[MOST_LOCKS];	/* result of each rq_lock(): 0 is a refusal, other values the earliest time after it */
	u32 kind, this_cpu, task, other, a, b;
};

struct host_outcome {
	u64 answer;
	u64 resched;		/* CPUs asked to reschedule in this event */
	u64 placement;		/* the CPU of each task */
	u64 counted;		/* work, counters and timers up to now */
};

struct host_script {
	u32 nr_events, failed;
	struct host_event events[SCRIPT_EVENTS];
	struct host_outcome outcomes[SCRIPT_EVENTS];
};
struct host_script host_script SEC(".data.script");

/* Position in the script: the event, and the number of locks that it has asked for. */
struct {
	u32 event, nr_locks;
} host_played SEC(".data.played");

__apart u32 host_scripted_lock(sched_t *s __in_arena)
{
	struct host_event *e = &host_script.events[in_bounds(host_played.event, SCRIPT_EVENTS)];
	u32 nr = host_played.nr_locks++;
	u64 now = nr < MOST_LOCKS ? e->locks[in_bounds(nr, MOST_LOCKS)] : 0;

	s->now = max_of(s->now, now);
	return now != 0;
}

/* ---- state --------------------------------------------------------------------------------- */

static __always_inline task_t *play_task(u32 index)
{
	return index < SCRIPT_TASKS ? &host_slot_at(index)->t : NULL;
}

static __always_inline void play_clear_state(sched_t *s)
{
	host_clear(s, (u64 __arena *)HOST_ONLY(s).global_state, (POLICY_GLOBAL_SIZE + 7) / 8);
	host_clear(s, (u64 __arena *)HOST_ONLY(s).cpu_state, (u32)(((u64)host_config.nr_cpus * POLICY_CPU_SIZE + 7) / 8));
	host_clear(s, (u64 __arena *)host_machine.cpus, (u32)((u64)host_config.nr_cpus * sizeof(struct cpu) / 8));
}

__apart u32 play_reset(sched_t *s __in_arena, u32 nr_cpus, u32 smp, u64 seed)
{
	u32 i;

	play_clear_state(s);
	host_clear(s, ((host_cpu_t *)s)->kicks, MASK_WORDS);
	host_clear(s, ((host_cpu_t *)s)->hrticks, MASK_WORDS);
	host_clear(s, (u64 __arena *)HOST_ONLY(s).counters, MAX_COUNTERS);
	host_clear(s, (u64 __arena *)HOST_ONLY(s).timer_expires, MAX_TIMERS);
	repeat(s, i, nr_cpus) {
		struct host_place *place = &host_config.place[in_bounds(i, MAX_CPUS)];
		cpu_t *c = host_machine.cpus + i;

		c->core = place->core;
		c->llc = place->llc;
		c->node = place->node;
		c->capacity = 1024;
	}
	list_init(&host_machine.tasks);
	HOST_ONLY(s).work = (struct work){ 0 };
	s->nr_cpus = nr_cpus;
	s->smp = smp;
	s->nr_tasks = 0;
	HOST_ONLY(s).rng = host_first_state(seed, 0);
	HOST_ONLY(s).error = NULL;
	HOST_ONLY(s).error_row = 0;
	return (u32)hook_init(s);
}

static __always_inline void play_set_cpus(task_t *t, u64 mask)
{
	t->allowed->bits[0] = mask;
	t->nr_allowed = count_bits(mask);
}

__apart u32 play_new(sched_t *s __in_arena, u32 task, u32 a, u32 mm, u64 mask)
{
	task_t *t = play_task(task);

	if (!t)
		return 0;
	host_clear(s, (u64 __arena *)(t + 1), (POLICY_TASK_SIZE + 7) / 8);
	t->id = task;
	t->nice = (s32)(a & 0xff) - 20;
	t->class = (a >> 8) & 0xff;
	t->rt_priority = (a >> 16) & 0xff;
	t->cpu = (a >> 24) & 0x7f;
	t->on_cpu = 0;
	t->mm = mm;
	t->flags = (mm ? 0 : TASK_KTHREAD) | (a >> 31 ? TASK_FOREGROUND : 0);
	play_set_cpus(t, mask);
	list_add_tail(&t->all, &host_machine.tasks);
	s->nr_tasks++;
	return 0;
}

static __always_inline void play_switch(sched_t *s, u32 cpu, task_t *prev, task_t *next, u64 idle_since)
{
	cpu_t *c = cpu_of(s, cpu);

	if (prev)
		prev->on_cpu = 0;
	if (next) {
		next->on_cpu = 1;
		next->cpu = cpu;
	} else {
		c->idle_since = idle_since;
	}
	c->curr = next;
	hook_switched(s, cpu, prev, next);
}

/* ---- events -------------------------------------------------------------------------------- */

__apart u64 play_pick(sched_t *s __in_arena, u32 cpu, task_t *prev __in_arena, u32 why)
{
	task_t *next;

	cpu_of(s, cpu)->need_resched = 0;
	next = (task_t *)hook_pick_next(s, cpu, prev, why);
	return next ? next->id : NO_TASK;
}

static __always_inline u64 play_attribute(sched_t *s, struct host_event *e, task_t *t)
{
	s32 old_nice = t->nice;
	u32 old_class = t->class, old_rt_priority = t->rt_priority;

	if (e->kind == EVENT_SET_NICE) {
		t->nice = (s32)e->a;
		hook_set_nice(s, t, old_nice);
	} else if (e->kind == EVENT_SET_CLASS) {
		t->class = e->a;
		t->rt_priority = e->b;
		hook_set_class(s, t, old_class, old_rt_priority);
	} else {
		play_set_cpus(t, e->mask);
		hook_set_cpumask(s, t);
	}
	return 0;
}

static __always_inline u64 play_life(sched_t *s, struct host_event *e, task_t *t, task_t *other)
{
	if (e->kind == EVENT_NEW) {
		play_new(s, e->task, e->a, e->b, e->mask);
		t->parent = other;
		return hook_fork(s, other, t);
	}
	if (e->kind == EVENT_EXIT)
		return hook_exit(s, t, other);
	t->all.prev->next = t->all.next;
	t->all.next->prev = t->all.prev;
	s->nr_tasks--;
	return 0;
}

static __always_inline u64 play_run(sched_t *s, struct host_event *e, task_t *t, task_t *other)
{
	switch (e->kind) {
	case EVENT_SELECT_CPU:
		return hook_select_cpu(s, t, e->a);
	case EVENT_SET_CPU:
		t->cpu = e->a;
		return 0;
	case EVENT_ENQUEUE:
		return hook_enqueue(s, t, e->a);
	case EVENT_DEQUEUE:
		return hook_dequeue(s, t, e->a);
	case EVENT_YIELD:
		return hook_yield(s, t);
	default:
		return (u64)(s64)hook_priority(s, t);
	}
}

static __always_inline u64 play_cpu(sched_t *s, struct host_event *e, task_t *t, task_t *other)
{
	switch (e->kind) {
	case EVENT_PICK_NEXT:
		return play_pick(s, e->a, t, e->b);
	case EVENT_SWITCH:
		play_switch(s, e->a, t, other, e->mask);
		return 0;
	case EVENT_TICK:
		return hook_tick(s, e->a, t);
	case EVENT_HRTICK:
		cpu_of(s, e->a)->hrtick_expires = 0;
		return hook_hrtick(s, e->a, t);
	default:
		HOST_ONLY(s).timer_expires[e->a % MAX_TIMERS] = 0;
		return hook_timer(s, e->a % MAX_TIMERS);
	}
}

/* FNV-1a, as in crates/live/src/conform.rs. */
static __always_inline u64 play_mix(u64 hash, u64 value)
{
	return (hash ^ value) * 0x100000001b3ull;
}

__apart u64 play_placement(sched_t *s __in_arena)
{
	u64 hash = 0xcbf29ce484222325ull;
	list_t *node;
	task_t *t;

	for_each_task(s, t, node)
		hash = play_mix(play_mix(hash, t->id), t->cpu);
	return hash;
}

__apart u64 play_counted(sched_t *s __in_arena)
{
	u64 hash = 0xcbf29ce484222325ull;
	u32 i;

	hash = play_mix(hash, HOST_ONLY(s).work.examined);
	hash = play_mix(hash, HOST_ONLY(s).work.recalculations);
	hash = play_mix(hash, HOST_ONLY(s).work.recalculated);
	hash = play_mix(hash, HOST_ONLY(s).work.locks);
	repeat(s, i, MAX_COUNTERS)
		hash = play_mix(hash, HOST_ONLY(s).counters[i]);
	repeat(s, i, MAX_TIMERS)
		hash = play_mix(hash, HOST_ONLY(s).timer_expires[i]);
	if (the_policy.hrtick)
		repeat(s, i, s->nr_cpus)
			hash = play_mix(hash, cpu_of(s, i)->hrtick_expires);
	return hash;
}

__apart u32 play_event(sched_t *s __in_arena, u32 i)
{
	struct host_event *e = &host_script.events[in_bounds(i, SCRIPT_EVENTS)];
	struct host_outcome *outcome = &host_script.outcomes[in_bounds(i, SCRIPT_EVENTS)];
	task_t *t = play_task(e->task), *other = play_task(e->other);

	host_played.event = i;
	host_played.nr_locks = 0;
	s->now = e->now;
	s->this_cpu = e->this_cpu;
	HOST_ONLY(s).loops_left = 1;
	if (e->kind == EVENT_RESET)
		outcome->answer = play_reset(s, e->a, e->b, e->mask);
	else if (e->kind <= EVENT_FORGET)
		outcome->answer = play_life(s, e, t, other);
	else if (e->kind >= EVENT_SET_NICE && e->kind <= EVENT_SET_CPUS)
		outcome->answer = play_attribute(s, e, t);
	else if (e->kind == EVENT_PICK_NEXT || e->kind == EVENT_SWITCH || e->kind == EVENT_TICK ||
		 e->kind == EVENT_TIMER || e->kind == EVENT_HRTICK)
		outcome->answer = play_cpu(s, e, t, other);
	else
		outcome->answer = play_run(s, e, t, other);
	outcome->resched = ((host_cpu_t *)s)->kicks[0];
	((host_cpu_t *)s)->kicks[0] = 0;
	outcome->placement = play_placement(s);
	outcome->counted = play_counted(s);
	if (!HOST_ONLY(s).loops_left || HOST_ONLY(s).error)
		host_script.failed = i + 1;
	return 0;
}

SEC("syscall") int prepare(void *ctx)
{
	host_machine.scripted = true;
	return host_init_machine();
}

SEC("syscall") int play(void *ctx)
{
	sched_t *s = &host_cpu_of(0)->s;
	u32 i;

	repeat(s, i, host_script.nr_events)
		play_event(s, i);
	return 0;
}
#endif
