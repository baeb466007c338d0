/* SPDX-License-Identifier: GPL-2.0-only */
/* timers.h - the policy's timers, the CPUs' hrticks, and the tick of idle CPUs. */
#ifndef SCHEDLAB_BPF_TIMERS_H
#define SCHEDLAB_BPF_TIMERS_H

#define IDLE_TICK	MAX_TIMERS	/* our own timer's number, after the policy's */
#define CPU_TIMERS	(MAX_TIMERS + 1)	/* number of CPU 0's timer */

struct host_timer {
	struct bpf_timer timer;
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, u32);
	__type(value, struct host_timer);
	__uint(max_entries, CPU_TIMERS + MAX_CPUS);
} host_timers SEC(".maps");

static __always_inline void host_start_timer(u32 id, u64 ns)
{
	struct host_timer *timer = bpf_map_lookup_elem(&host_timers, &id);

	if (timer)
		bpf_timer_start(&timer->timer, ns, 0);
}

/* A hook has started or stopped timers.  A stopped timer still fires, with no effect. */
static void host_arm_timers(sched_t *s)
{
	u32 id;

	HOST_ONLY(s).timers_changed = 0;
	repeat(s, id, MAX_TIMERS) {
		u64 expires = HOST_ONLY(s).timer_expires[id];

		if (expires == host_machine.timer_expires[id])
			continue;
		host_machine.timer_expires[id] = expires;
		if (expires)
			host_start_timer(id, expires > s->now ? expires - s->now : 1);
	}
}

static __always_inline void host_arm_hrtick(sched_t *s, u32 cpu)
{
	u64 expires = cpu_of(s, cpu)->hrtick_expires;

	if (expires)
		host_start_timer(CPU_TIMERS + cpu, expires > s->now ? expires - s->now : 1);
}

/* A CPU's timer may fire on another CPU; it acts on its own CPU's run queue. */
static void host_arm_hrticks(sched_t *s)
{
	host_cpu_t *host = (host_cpu_t *)s;

	host->ticking = 0;
	host_take_cpus(s, host->hrticks, host_arm_hrtick);
}

/*
 * As with the policy's timers: a stopped one has no effect, and a postponed one is started
 * again.
 */
__apart u32 host_hrtick(u32 cpu)
{
	sched_t *s = host_begin(cpu);
	u64 expires;

	if (!s)
		return 0;
	expires = cpu_of(s, cpu)->hrtick_expires;
	if (expires > s->now) {
		host_start_timer(CPU_TIMERS + cpu, expires - s->now);
	} else if (expires) {
		cpu_of(s, cpu)->hrtick_expires = 0;
		hook_hrtick(s, cpu, cpu_curr(s, cpu));
	}
	host_end(s, cpu, HOOK_HRTICK);
	return 0;
}

/* With LOCK_GLOBAL the lock is held; otherwise the hook takes the locks that it needs. */
static __always_inline void host_policy_timer(sched_t *s, u32 id)
{
	u64 expires = host_machine.timer_expires[id % MAX_TIMERS];

	if (!expires)
		return;
	if (expires > s->now) {
		host_start_timer(id, expires - s->now);
		return;
	}
	host_machine.timer_expires[id % MAX_TIMERS] = 0;
	HOST_ONLY(s).timer_expires[id % MAX_TIMERS] = 0;
	hook_timer(s, id);
}

__apart u32 host_idle_tick(sched_t *all __in_arena)
{
	u32 cpu;

	repeat(all, cpu, all->nr_cpus) {
		sched_t *s;

		if (cpu_curr(all, cpu) || !((host_machine.online[cpu / 64 % MASK_WORDS] >> (cpu % 64)) & 1))
			continue;
		s = host_begin(cpu);
		if (!s)
			return 0;
		s->this_cpu = cpu;
		if (!cpu_curr(s, cpu))
			host_tick_cpu(s, cpu, NULL);
		host_end(s, cpu, HOOK_TICK);
	}
	return 0;
}

static int host_timer_fired(void *map, u32 *id, struct host_timer *timer)
{
	unsigned long flags;
	sched_t *s = NULL;

	if (READ_ONCE(host_machine.stopped))
		return 0;
	bpf_local_irq_save(&flags);
	if (*id == IDLE_TICK) {
		host_idle_tick(&host_cpu_of(0)->s);
	} else if (the_policy.hrtick && *id >= CPU_TIMERS) {
		host_hrtick(*id - CPU_TIMERS);
	} else {
		s = GLOBAL_LOCK ? host_begin(0) : host_view(bpf_get_smp_processor_id());
		if (s)
			host_policy_timer(s, *id);
		if (s && GLOBAL_LOCK)
			host_end(s, 0, HOOK_TIMER);
		else if (s)
			host_obey(s, HOOK_TIMER);
	}
	bpf_local_irq_restore(&flags);
	if (*id == IDLE_TICK)
		bpf_timer_start(&timer->timer, host_cpu_of(0)->s.tick_ns, 0);
	return 0;
}

__apart u32 host_init_timers(sched_t *s __in_arena)
{
	u32 id;

	repeat(s, id, CPU_TIMERS + (the_policy.hrtick ? s->nr_cpus : 0)) {
		struct host_timer *timer = bpf_map_lookup_elem(&host_timers, &id);

		if (!timer)
			continue;
		bpf_timer_init(&timer->timer, &host_timers, CLOCK_MONOTONIC);
		bpf_timer_set_callback(&timer->timer, host_timer_fired);
	}
	if (the_policy.tick_when_idle)
		host_start_timer(IDLE_TICK, s->tick_ns);
	return 0;
}
#endif
