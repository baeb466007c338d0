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

/** find_first_bit - index of the lowest set bit of @word, which must not be 0. */
static inline __unused u32 find_first_bit(u64 word)
{
#ifdef __BPF__
	/* BPF has no count-trailing-zeros instruction: isolate the bit and look it up by halves. */
	u64 bit = word & (0 - word);
	u32 n = 0;

	if (!(bit & 0x00000000ffffffffull)) n += 32;
	if (!(bit & 0x0000ffff0000ffffull)) n += 16;
	if (!(bit & 0x00ff00ff00ff00ffull)) n += 8;
	if (!(bit & 0x0f0f0f0f0f0f0f0full)) n += 4;
	if (!(bit & 0x3333333333333333ull)) n += 2;
	if (!(bit & 0x5555555555555555ull)) n += 1;
	return n;
#else
	return (u32)__builtin_ctzll(word);
#endif
}
#endif
