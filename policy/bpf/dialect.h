/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dialect.h - the BPF reading of the policy dialect.
 *
 * State lives in a BPF arena, which is address space 1.  Tunables are constants
 * of the loaded program, so the verifier prunes what they switch off.
 */
#ifndef SCHEDLAB_BPF_DIALECT_H
#define SCHEDLAB_BPF_DIALECT_H

#ifndef __VMLINUX_H__	/* the kernel's own types come first in a real build */
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char s8;
typedef short s16;
typedef int s32;
typedef long long s64;
#endif

#ifndef __arena
#define __arena		__attribute__((address_space(1)))
#endif
#define __unused	__attribute__((unused))

/* Static, so that every call through the table folds into a direct one. */
#define POLICY_LINKAGE	static
#define POLICY_SYMBOL(NAME)	the_policy

#define TUNABLES_STORAGE(...) \
	const volatile struct tunables load_time_tunables = { __VA_ARGS__ };
#define tun(s)	(&load_time_tunables)

#define may_loop(s)	((s)->loops_left ? ((s)->loops_left--, 1) : 0)
#endif
