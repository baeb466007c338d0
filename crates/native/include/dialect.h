/* SPDX-License-Identifier: GPL-2.0-only */
/* dialect.h - the policy dialect as plain C with plain pointers. */
#ifndef SCHEDLAB_NATIVE_DIALECT_H
#define SCHEDLAB_NATIVE_DIALECT_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char s8;
typedef short s16;
typedef int s32;
typedef long long s64;

#define __arena
#define __unused	__attribute__((unused))

/* Each policy is its own object file; the host links them by these names. */
#define POLICY_LINKAGE
#define POLICY_SYMBOL(NAME)	schedlab_policy_##NAME

/* Many machines run in one process, so each has its own tunables. */
#define TUNABLES_STORAGE(...)
#define tun(s)	((const struct tunables *)(s)->host_only.tunables)

/* A loop may run another iteration if this hook call has budget left. */
#define may_loop(s)	((s)->host_only.loops_left ? ((s)->host_only.loops_left--, 1) : 0)

/* Only the BPF back end needs it: see crates/bpf/include/dialect.h. */
#define __apart		static inline __unused
#define __in_arena
#define __on_stack

#define loop_from(s, i, first)	(first)
#define in_bounds(i, n)		(i)

/* The CPUs to reschedule are a list. */
#define note_resched(s, c, cpu)	((c)->host_only.resched_next = (s)->host_only.resched, (s)->host_only.resched = (cpu) + 1)

/* The CPUs whose hrtick has changed are a list, too; each is on it once. */
#define note_hrtick(s, c, cpu)							\
	((c)->host_only.hrtick_next ? (void)0 :						\
	 (void)((c)->host_only.hrtick_next = (s)->host_only.hrticks ? (s)->host_only.hrticks : (cpu) + 1, (s)->host_only.hrticks = (cpu) + 1))

/*
 * One hook runs at a time, so the second lock is free, except in tests: see
 * crates/native/src/disturbance.rs.
 */
#define take_rq_lock(s, cpu)							\
	(!(s)->host_only.disturb || (s)->host_only.disturb((s)->host_only.disturbance, (s), (cpu)))
#define drop_rq_lock(s, cpu)	((void)0)
#define DIALECT_PROTOTYPES
#endif
