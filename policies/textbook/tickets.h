/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * tickets.h - how many tickets a nice level holds, for lottery and stride.
 *
 * A scheduler includes it after its POLICY_STATE.  It has the tunables "tickets" and
 * "nice_ratio_pct", and its machine's state has "u64 tickets[NICE_LEVELS]".
 */
#ifndef SCHEDLAB_TEXTBOOK_TICKETS_H
#define SCHEDLAB_TEXTBOOK_TICKETS_H

#define FRACTION	1000000u	/* tickets are computed in millionths, so that ratios are good where tickets are few */

/* Each level is worth nice_ratio_pct of the next one: outwards from nice 0. */
static void init_tickets(sched_t *s)
{
	u64 ratio = (u64)tun(s)->nice_ratio_pct, up = (u64)tun(s)->tickets * FRACTION, down = up;
	u32 i;

	repeat(s, i, NICE_LEVELS / 2 + 1) {
		glob_of(s)->tickets[NICE_LEVELS / 2 - i] = max_of((up + FRACTION / 2) / FRACTION, 1);
		if (i < NICE_LEVELS / 2)
			glob_of(s)->tickets[NICE_LEVELS / 2 + i] = max_of((down + FRACTION / 2) / FRACTION, 1);
		up = up * ratio / 100;
		down = div_u64(down * 100, ratio);
	}
}

static u64 tickets_at(sched_t *s, s32 nice)
{
	return glob_of(s)->tickets[clamp_to(nice, NICE_MIN, NICE_MAX) - NICE_MIN];
}

#endif
