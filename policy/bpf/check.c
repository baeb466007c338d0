/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * check.c - compiles a policy for BPF and calls every hook it has.
 *
 * Built by the tests with -DPOLICY_SOURCE='"path"': what does not compile here
 * cannot be loaded into a kernel.  The hooks are called through the constant
 * table exactly as the real back end calls them, so a table that does not fold
 * into direct calls shows up as data in the object.
 */
#include POLICY_SOURCE

#define ENTRY(name)	u64 name(sched_t *s, task_t *p, task_t *q, u32 a, u32 b)

#define CALL(hook, ...)	do_##hook(s, p, q, a, b)
#define DEFINE(hook, ...)							\
	__attribute__((section("struct_ops/" #hook), used)) ENTRY(do_##hook)	\
	{									\
		if (the_policy.hook)						\
			return (u64)(the_policy.hook(__VA_ARGS__));		\
		return 0;							\
	}
#define DEFINE_VOID(hook, ...)							\
	__attribute__((section("struct_ops/" #hook), used)) ENTRY(do_##hook)	\
	{									\
		if (the_policy.hook)						\
			the_policy.hook(__VA_ARGS__);				\
		return 0;							\
	}

DEFINE(init, s)
DEFINE_VOID(fork, s, p, q)
DEFINE_VOID(exit, s, p, q)
DEFINE(select_cpu, s, p, a)
DEFINE_VOID(enqueue, s, p, a)
DEFINE_VOID(dequeue, s, p, a)
DEFINE(pick_next, s, a, p, b)
DEFINE_VOID(switched, s, a, p, q)
DEFINE_VOID(tick, s, a, p)
DEFINE(yield, s, p)
DEFINE_VOID(set_nice, s, p, (s32)a)
DEFINE_VOID(set_class, s, p, a, b)
DEFINE_VOID(set_cpumask, s, p)
DEFINE_VOID(timer, s, a)
DEFINE(priority, s, p)
DEFINE(queued, s, p)
