/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What translated BPF programs include: memory, atomics, division, calls.
 *
 * Registers hold addresses as programs see them.  An address is in the machine's region if its upper bits are
 * those of REGION; adding m->delta gives the host's.  The offset of an instruction may lead 32 KiB out of the
 * region: the host keeps a guard on both sides.
 */

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char s8;
typedef short s16;
typedef int s32;
typedef long long s64;

typedef u8 __attribute__((may_alias)) mem8;
typedef u16 __attribute__((may_alias, aligned(1))) mem16;
typedef u32 __attribute__((may_alias, aligned(1))) mem32;
typedef u64 __attribute__((may_alias, aligned(1))) mem64;

/* The start of a machine; struct Shared in machine.rs has the same. */
struct machine {
	u64 delta;
	u64 now_ns;
	s64 budget;
	u64 stack;
	u64 stack_end;
	u64 zero_loads;
	u64 left_out_stores;
	u32 this_cpu;
	u32 nr_cpus;
	u32 failed;
	u32 depth;
};

typedef u64 (*call_t)(struct machine *, u64, u64, u64, u64, u64);
typedef u64 (function_t)(struct machine *, u64, u64, u64, u64, u64);

#define REGION_SHIFT 36
#define REGION (0xffff888000000000ull >> REGION_SHIFT)
#define PER_CPU_STRIDE ((16ull << 20) + 65 * 64)
#define MAY_GOTO_MOST 8388608u

#define inline static inline __attribute__((always_inline))
#define cold static __attribute__((noinline, cold))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* What a program calls; the first three are the host's own. */
extern call_t calls[NR_CALLS] __attribute__((visibility("hidden")));
#define CALL_STORE calls[0]
#define CALL_LIMIT calls[1]
#define CALL_POISON calls[2]
enum { LOOPED, TOO_DEEP };

cold void bad_store(struct machine *m, u64 address, u64 site)
{
	CALL_STORE(m, address, site, 0, 0, 0);
}

cold void limit(struct machine *m, u64 kind, u64 site)
{
	CALL_LIMIT(m, kind, site, 0, 0, 0);
}

cold u64 poison(struct machine *m, u64 number, u64 site)
{
	return CALL_POISON(m, number, site, 0, 0, 0);
}

#define INSIDE(base) likely((base) >> REGION_SHIFT == REGION)

/*
 * Access to BPF addresses: base + off, base being a register.  `d` is m->delta.  F*: an address that is surely
 * inside, as the frame's.
 */
#define ACCESS(w) \
inline u64 L##w(struct machine *m, u64 d, u64 base, s64 off) \
{ \
	if (INSIDE(base)) \
		return *(mem##w *)(d + base + (u64)off); \
	m->zero_loads++; \
	return 0; \
} \
inline void S##w(struct machine *m, u64 d, u64 base, s64 off, u64 value, u64 site) \
{ \
	if (INSIDE(base)) \
		*(mem##w *)(d + base + (u64)off) = (u##w)value; \
	else \
		bad_store(m, base + (u64)off, site); \
} \
inline u64 FL##w(u64 at) { return *(mem##w *)at; } \
inline void FS##w(u64 at, u64 value) { *(mem##w *)at = (u##w)value; } \
inline u64 XCHG##w(struct machine *m, u64 d, u64 base, s64 off, u64 value, u64 site) \
{ \
	u64 old = L##w(m, d, base, off); \
	S##w(m, d, base, off, value, site); \
	return old; \
} \
inline u64 CMPXCHG##w(struct machine *m, u64 d, u64 base, s64 off, u64 expected, u64 value, u64 site) \
{ \
	u64 old = L##w(m, d, base, off); \
	S##w(m, d, base, off, old == (u##w)expected ? value : old, site); \
	return old; \
} \
inline u64 ADD##w(struct machine *m, u64 d, u64 base, s64 off, u64 value, u64 site) \
{ \
	u64 old = L##w(m, d, base, off); \
	S##w(m, d, base, off, old + value, site); \
	return old; \
} \
inline u64 OR##w(struct machine *m, u64 d, u64 base, s64 off, u64 value, u64 site) \
{ \
	u64 old = L##w(m, d, base, off); \
	S##w(m, d, base, off, old | value, site); \
	return old; \
} \
inline u64 AND##w(struct machine *m, u64 d, u64 base, s64 off, u64 value, u64 site) \
{ \
	u64 old = L##w(m, d, base, off); \
	S##w(m, d, base, off, old & value, site); \
	return old; \
} \
inline u64 XOR##w(struct machine *m, u64 d, u64 base, s64 off, u64 value, u64 site) \
{ \
	u64 old = L##w(m, d, base, off); \
	S##w(m, d, base, off, old ^ value, site); \
	return old; \
}

ACCESS(8)
ACCESS(16)
ACCESS(32)
ACCESS(64)

/* Division by zero is defined; the smallest number divided by -1 is itself. */
inline u64 DIV64(u64 a, u64 b) { return b ? a / b : 0; }
inline u64 MOD64(u64 a, u64 b) { return b ? a % b : a; }
inline u64 DIV32(u64 a, u64 b) { return (u32)b ? (u32)a / (u32)b : 0; }
inline u64 MOD32(u64 a, u64 b) { return (u32)b ? (u32)a % (u32)b : (u32)a; }

inline u64 SDIV64(u64 a, u64 b)
{
	if (b + 1 <= 1)
		return b ? -a : 0;
	return (u64)((s64)a / (s64)b);
}

inline u64 SMOD64(u64 a, u64 b)
{
	if (b + 1 <= 1)
		return b ? 0 : a;
	return (u64)((s64)a % (s64)b);
}

inline u64 SDIV32(u64 a, u64 b)
{
	if ((u32)b + 1 <= 1)
		return (u32)b ? -(u32)a : 0;
	return (u32)((s32)a / (s32)b);
}

inline u64 SMOD32(u64 a, u64 b)
{
	if ((u32)b + 1 <= 1)
		return (u32)b ? 0 : (u32)a;
	return (u32)((s32)a % (s32)b);
}

/* Casts of arena pointers: both worlds have the lower 32 bits in common; NULL stays NULL. */
#define CAST(x, high) ((u32)(x) ? (high) | (u32)(x) : 0)

/* ---- what is called often ---------------------------------------------------------------- */

/* Behind the address of a map, before what programs see of it; struct Head in maps.rs has the same. */
#define MAP_HEAD 64
#define MAP_ENTRIES (8 - MAP_HEAD)

inline u64 lookup_array(struct machine *m, u64 d, u64 map, u64 key, u64 values, u64 stride)
{
	u32 index = (u32)L32(m, d, key, 0);

	return likely(index < *(mem32 *)(d + map + (u64)MAP_ENTRIES)) ? values + index * stride : 0;
}

inline u64 lookup_per_cpu(struct machine *m, u64 d, u64 map, u64 key, u64 values, u64 stride, u64 cpu)
{
	u64 value = lookup_array(m, d, map, key, values, stride);

	return value && (u32)cpu < m->nr_cpus ? value + (u32)cpu * PER_CPU_STRIDE : 0;
}

inline u64 per_cpu_ptr(struct machine *m, u64 pointer, u64 cpu)
{
	return pointer && (u32)cpu < m->nr_cpus ? pointer + (u32)cpu * PER_CPU_STRIDE : 0;
}

/* Before an object that owns storage; machine.rs has the same. */
#define OWNER 0x7363785f6f776e72ull

inline u64 storage_get(struct machine *m, u64 d, u64 map, u64 owner, u64 value, u64 flags, u64 before, call_t get)
{
	if (INSIDE(owner) && *(mem64 *)(d + owner - 8) == OWNER) {
		u64 found = *(mem64 *)(d + owner - before);

		if (likely(found))
			return found;
	}
	return get(m, map, owner, value, flags, 0);
}

/* struct bpf_iter_num_kern: int cur, int end. */
inline u64 iter_num_new(struct machine *m, u64 d, u64 iterator, u64 start, u64 end)
{
	s64 rounds = (s64)(s32)end - (s64)(s32)start;

	if (unlikely(rounds < 0 || rounds > 8388608)) {
		S64(m, d, iterator, 0, 0, 0);
		return (u64)(rounds < 0 ? -22 : -7);
	}
	S32(m, d, iterator, 0, start - 1, 0);
	S32(m, d, iterator, 4, end, 0);
	return 0;
}

inline u64 iter_num_next(struct machine *m, u64 d, u64 iterator)
{
	s64 next = (s64)(s32)L32(m, d, iterator, 0) + 1;

	if (next >= (s32)L32(m, d, iterator, 4)) {
		S64(m, d, iterator, 0, 0, 0);
		return 0;
	}
	S32(m, d, iterator, 0, (u64)next, 0);
	return iterator;
}

inline u64 cpumask_test_cpu(struct machine *m, u64 d, u64 cpu, u64 mask)
{
	if (unlikely((u32)cpu >= m->nr_cpus))
		return 0;
	return L64(m, d, mask, (s64)((u32)cpu / 64 * 8)) >> ((u32)cpu % 64) & 1;
}
