/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * math.h - integer arithmetic with one meaning everywhere.
 *
 * Division by zero traps on x86 and yields 0 in BPF, so the two divisions below
 * define it as 0.  Signed division truncates toward zero, as C's does.
 */
#ifndef SCHEDLAB_MATH_H
#define SCHEDLAB_MATH_H

#define min_of(a, b)		((a) < (b) ? (a) : (b))
#define max_of(a, b)		((a) > (b) ? (a) : (b))
#define clamp_to(x, lo, hi)	min_of(max_of(x, lo), hi)

static inline __unused u64 div_u64(u64 a, u64 b)
{
	return b ? a / b : 0;
}

static inline __unused s64 div_s64(s64 a, s64 b)
{
	u64 q = div_u64(a < 0 ? 0 - (u64)a : (u64)a, b < 0 ? 0 - (u64)b : (u64)b);

	return (a < 0) != (b < 0) ? (s64)(0 - q) : (s64)q;
}

/** count_bits - how many bits of @x are set: pairs, nibbles, bytes (Warren, Hacker's Delight, 5-1). */
static inline __unused u32 count_bits(u64 x)
{
	x -= (x >> 1) & 0x5555555555555555ull;
	x = (x & 0x3333333333333333ull) + ((x >> 2) & 0x3333333333333333ull);
	x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0full;
	return (u32)((x * 0x0101010101010101ull) >> 56);
}

/** find_first_bit - index of the lowest set bit of @word, which must not be 0. */
static inline __unused u32 find_first_bit(u64 word)
{
#ifdef __BPF__
	/*
	 * BPF has no instruction for this.  Count the bits below, without branches:
	 * the kernel's verifier would follow each of them.
	 */
	return count_bits((word & (0 - word)) - 1);
#else
	return (u32)__builtin_ctzll(word);
#endif
}

/** find_last_set - 1 + index of the highest set bit of @x; 0 if @x is 0.  Without branches, as find_first_bit(). */
static inline __unused u32 find_last_set(u64 x)
{
	x |= x >> 1;
	x |= x >> 2;
	x |= x >> 4;
	x |= x >> 8;
	x |= x >> 16;
	x |= x >> 32;
	return count_bits(x);
}
#endif
