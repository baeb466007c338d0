/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hooks.h - one function for each hook of the policy.
 *
 * A hook that the policy lacks does nothing, or the default that policy.h names.  Hooks of the
 * hot paths are called with call_hook(): a hook that the policy lacks then costs nothing.
 */
#ifndef SCHEDLAB_BPF_HOOKS_H
#define SCHEDLAB_BPF_HOOKS_H

#define call_hook(name, ...)	((void)(the_policy.name && hook_##name(__VA_ARGS__)))

__apart s32 hook_init(sched_t *s __in_arena)
{
	return the_policy.init ? the_policy.init(s) : 0;
}

__apart u32 hook_fork(sched_t *s __in_arena, task_t *parent __in_arena, task_t *child __in_arena)
{
	if (the_policy.fork)
		the_policy.fork(s, parent, child);
	return 0;
}

__apart u32 hook_exit(sched_t *s __in_arena, task_t *p __in_arena, task_t *reaper __in_arena)
{
	if (the_policy.exit)
		the_policy.exit(s, p, reaper);
	return 0;
}

__apart u32 hook_select_cpu(sched_t *s __in_arena, task_t *p __in_arena, u32 flags)
{
	return the_policy.select_cpu ? the_policy.select_cpu(s, p, flags) : p->cpu;
}

__apart u32 hook_enqueue(sched_t *s __in_arena, task_t *p __in_arena, u32 flags)
{
	the_policy.enqueue(s, p, flags);
	return 0;
}

__apart u32 hook_dequeue(sched_t *s __in_arena, task_t *p __in_arena, u32 flags)
{
	the_policy.dequeue(s, p, flags);
	return 0;
}

__apart u64 hook_pick_next(sched_t *s __in_arena, u32 cpu, task_t *prev __in_arena, u32 why)
{
	return (u64)the_policy.pick_next(s, cpu, prev, why);
}

__apart u32 hook_switched(sched_t *s __in_arena, u32 cpu, task_t *prev __in_arena, task_t *next __in_arena)
{
	if (the_policy.switched)
		the_policy.switched(s, cpu, prev, next);
	return 0;
}

__apart u32 hook_tick(sched_t *s __in_arena, u32 cpu, task_t *p __in_arena)
{
	if (the_policy.tick)
		the_policy.tick(s, cpu, p);
	return 0;
}

__apart u32 hook_yield(sched_t *s __in_arena, task_t *p __in_arena)
{
	return the_policy.yield ? the_policy.yield(s, p) : true;
}

__apart u32 hook_set_nice(sched_t *s __in_arena, task_t *p __in_arena, s32 old_nice)
{
	if (the_policy.set_nice)
		the_policy.set_nice(s, p, old_nice);
	return 0;
}

__apart u32 hook_set_class(sched_t *s __in_arena, task_t *p __in_arena, u32 old_class, u32 old_rt_priority)
{
	if (the_policy.set_class)
		the_policy.set_class(s, p, old_class, old_rt_priority);
	return 0;
}

__apart u32 hook_set_slice(sched_t *s __in_arena, task_t *p __in_arena)
{
	if (the_policy.set_slice)
		the_policy.set_slice(s, p);
	return 0;
}

__apart u32 hook_set_cpumask(sched_t *s __in_arena, task_t *p __in_arena)
{
	if (the_policy.set_cpumask)
		the_policy.set_cpumask(s, p);
	return 0;
}

__apart u32 hook_timer(sched_t *s __in_arena, u32 id)
{
	if (the_policy.timer)
		the_policy.timer(s, id);
	return 0;
}

__apart u32 hook_hrtick(sched_t *s __in_arena, u32 cpu, task_t *p __in_arena)
{
	if (the_policy.hrtick)
		the_policy.hrtick(s, cpu, p);
	return 0;
}

__apart s32 hook_priority(sched_t *s __in_arena, task_t *p __in_arena)
{
	return the_policy.priority ? the_policy.priority(s, p) : 0;
}
#endif
