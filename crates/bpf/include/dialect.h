/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dialect.h - the policy dialect as BPF C.
 *
 * State lives in a BPF arena, which is address space 1.  Tunables are constants of the loaded
 * program, so the verifier does not follow branches that they disable.
 */
#ifndef SCHEDLAB_BPF_DIALECT_H
#define SCHEDLAB_BPF_DIALECT_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char s8;
typedef short s16;
typedef int s32;
typedef long long s64;

#ifndef __arena
#define __arena		__attribute__((address_space(1)))
#endif
#define __unused	__attribute__((unused))

/*
 * __apart declares a function that the verifier checks once, for all possible arguments.  Other
 * functions are verified again on every path that leads to them.  A function with loops that
 * calls another function with loops must be __apart.  It returns a number.  A pointer argument
 * is marked __in_arena if it points into the arena, and __on_stack if it points to a local
 * structure.  The function is weak, so that the compiler assumes nothing about arguments.
 */
#define __apart		__attribute__((noinline, weak))
#define __in_arena	__attribute__((btf_decl_tag("arg:arena")))
#define __on_stack	__attribute__((btf_decl_tag("arg:nonnull")))

/* Static: the compiler turns every call through the table into a direct call. */
#define POLICY_LINKAGE	static
#define POLICY_SYMBOL(NAME)	the_policy

/*
 * Tunables have their own section and so their own map: the loader writes it without looking up
 * a symbol.
 */
#define TUNABLES_STORAGE(...) \
	const volatile struct tunables load_time_tunables \
	__attribute__((section(".rodata.tunables"))) = { __VA_ARGS__ };
#define tun(s)	(&load_time_tunables)

/*
 * True until the program has looped for about 250 ms: may_goto falls through until then and
 * jumps afterwards.
 */
#define kernel_lets_loop()							\
	({									\
		__label__ stop_, done_;						\
		u32 again_ = 1;							\
		__asm__ volatile goto("may_goto %l[stop_]" : : : : stop_);	\
		goto done_;							\
	stop_:									\
		again_ = 0;							\
	done_:									\
		again_;								\
	})

/* A loop of the back end in a function that has no sched_t. */
#define spin_while(condition)	while ((condition) && kernel_lets_loop())

/* The kernel counts, without a memory access; loops_left is set to 0 when it stops a loop. */
#define may_loop(s)	(kernel_lets_loop() || ((s)->host_only.loops_left = 0))

/*
 * If the verifier knows the first value of a loop counter, it follows every iteration; if not,
 * it follows one iteration with any value.
 */
#define loop_from(s, i, first) \
	((__typeof__(i))((__typeof__(i))(first) + (__typeof__(i))*(const volatile u32 __arena *)&(s)->host_only.zero))

/*
 * An index that the verifier knows to be below @n.  The assembly keeps the compiler, which may
 * know the bound itself, from removing the test.
 */
#define in_bounds(i, n)								\
	({									\
		u32 i_ = (i);							\
		__asm__ volatile("" : "+r"(i_));				\
		i_ < (n) ? i_ : 0;						\
	})

/*
 * The CPUs to reschedule are a set after the sched_t.  The word before the set says that it is
 * not empty.  Each CPU has its own set, because several CPUs may reschedule the same CPU.
 */
#define note_resched(s, c, cpu)							\
	({									\
		u64 __arena *kicking_ = (u64 __arena *)((s) + 1);		\
		kicking_[0] = 1;						\
		kicking_[1 + (cpu) / 64] |= 1ull << ((cpu) % 64);		\
	})

/* The set of CPUs whose hrtick has changed follows the set of CPUs to reschedule. */
#define note_hrtick(s, c, cpu)							\
	({									\
		u64 __arena *ticking_ = (u64 __arena *)((s) + 1) + 1 + MAX_CPUS / 64;	\
		ticking_[0] = 1;						\
		ticking_[1 + (cpu) / 64] |= 1ull << ((cpu) % 64);		\
	})

/* The back end comes after the policy and reads the members that are poisoned for policies. */
#define HOST_ONLY(of)	((of)->host_only)

/* The back end defines it after the policy. */
#define take_rq_lock(s, cpu)	host_try_lock_rq(s, cpu)
#define drop_rq_lock(s, cpu)	host_unlock_rq(s, cpu)
#define DIALECT_PROTOTYPES							\
	static u32 host_try_lock_rq(sched_t *s, u32 cpu) __unused;			\
	static void host_unlock_rq(sched_t *s, u32 cpu) __unused;
#endif
