/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dialect.h - the BPF reading of the policy dialect.
 *
 * State lives in a BPF arena, which is address space 1.  Tunables are constants
 * of the loaded program, so the verifier prunes what they switch off.
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
 * __apart declares a function that the kernel's verifier checks once, by itself,
 * whoever calls it with whatever; else it follows every path through the function
 * from every path that leads to it.  Functions with loops that call others with
 * loops need it.  Such a function returns a number; a pointer to the arena among
 * its arguments is marked __in_arena, one to a local structure __on_stack.
 * Weak, so that the compiler may not know either what the arguments are.
 */
#define __apart		__attribute__((noinline, weak))
#define __in_arena	__attribute__((btf_decl_tag("arg:arena")))
#define __on_stack	__attribute__((btf_decl_tag("arg:nonnull")))

/* Static, so that every call through the table folds into a direct one. */
#define POLICY_LINKAGE	static
#define POLICY_SYMBOL(NAME)	the_policy

/* A section, so a map, of their own: the loader fills it without looking for a symbol. */
#define TUNABLES_STORAGE(...) \
	const volatile struct tunables load_time_tunables \
	__attribute__((section(".rodata.tunables"))) = { __VA_ARGS__ };
#define tun(s)	(&load_time_tunables)

/*
 * True until the program has looped for about 250 ms: the instruction may_goto
 * falls through until then and jumps afterwards.
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

/* A loop of the back end's own, without a machine at hand. */
#define spin_while(condition)	while ((condition) && kernel_lets_loop())

/* The kernel does the counting, without an access to memory; @loops_left says that it stopped a loop. */
#define may_loop(s)	(kernel_lets_loop() || ((s)->host_only.loops_left = 0))

/*
 * The verifier walks through every round of a loop whose counter it knows, and
 * through one with any value if it does not.
 */
#define loop_from(s, i, first) \
	((__typeof__(i))((__typeof__(i))(first) + (__typeof__(i))*(const volatile u32 __arena *)&(s)->host_only.zero))

/*
 * An index that the verifier sees to be below @n.  The compiler, which may know
 * already that it is, is kept from making the test disappear.
 */
#define in_bounds(i, n)								\
	({									\
		u32 i_ = (i);							\
		__asm__ volatile("" : "+r"(i_));				\
		i_ < (n) ? i_ : 0;						\
	})

/*
 * The CPUs to reschedule are a set behind the machine, and a word before it says that there are any:
 * several CPUs may ask for the same one at a time.
 */
#define note_resched(s, c, cpu)							\
	({									\
		u64 __arena *kicking_ = (u64 __arena *)((s) + 1);		\
		kicking_[0] = 1;						\
		kicking_[1 + (cpu) / 64] |= 1ull << ((cpu) % 64);		\
	})

/* And so are, behind that, those whose hrtick has changed. */
#define note_hrtick(s, c, cpu)							\
	({									\
		u64 __arena *ticking_ = (u64 __arena *)((s) + 1) + 1 + MAX_CPUS / 64;	\
		ticking_[0] = 1;						\
		ticking_[1 + (cpu) / 64] |= 1ull << ((cpu) % 64);		\
	})

/* What is poisoned for policies, for the back end, which comes after them. */
#define HOST_ONLY(of)	((of)->host_only)

/* Defined by the back end, after the policy. */
#define take_rq_lock(s, cpu)	host_try_lock_rq(s, cpu)
#define drop_rq_lock(s, cpu)	host_unlock_rq(s, cpu)
#define DIALECT_PROTOTYPES							\
	static u32 host_try_lock_rq(sched_t *s, u32 cpu) __unused;			\
	static void host_unlock_rq(sched_t *s, u32 cpu) __unused;
#endif
