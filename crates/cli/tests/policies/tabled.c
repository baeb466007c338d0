/* SPDX-License-Identifier: GPL-2.0-only */
/* Has a table and refuses one whose steps go down; counts what it was given. */
#include "base.h"

#define TABLED_TUNABLES(T)	T(unit, 1, 1, 10, "what a step is counted in [none]")
#define TABLED_TABLES(R)	R(step, 4, 0, 100, "the height of each step [none]", 0, 1, 2, 3)
POLICY_TUNABLES_AND_TABLES(TABLED_TUNABLES, TABLED_TABLES)

#define TABLED_COUNTERS(C)	C(first) C(last)
POLICY_COUNTERS(TABLED_COUNTERS)

static s32 tabled_init(sched_t *s)
{
	u32 row;

	repeat(s, row, 3) {
		if (tun(s)->step[row + 1] < tun(s)->step[row]) {
			row_error(s, "a step goes down", row + 1);
			return -1;
		}
	}
	return base_init(s);
}

static void tabled_enqueue(sched_t *s, task_t *p, u32 flags)
{
	count(s, COUNTER_first, (u64)(tun(s)->step[0] * tun(s)->unit));
	count(s, COUNTER_last, (u64)(tun(s)->step[3] * tun(s)->unit));
	base_enqueue(s, p, flags);
}

static const struct variant tabled_variants[] = {
	{ "plain", "as declared", "" },
	{ "steep", "ten times as high", "step=0,10,20,30 unit=2" },
};

POLICY(tabled,
	.summary = "has a table",
	TUNABLES,
	VARIANTS(tabled_variants),
	COUNTERS,
	.lock = LOCK_GLOBAL,
	.init = tabled_init,
	.enqueue = tabled_enqueue,
	.dequeue = base_dequeue,
	.pick_next = base_pick_next,
	.queued = base_queued,
);
