/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * rules.h - the rules of ULE's revisions of 2003 to 2005, where they differ by more than a number.
 *
 * A tunable selects each rule by number, which is that of the first revision
 * with the rule (pull has further numbers).  Numbers without a rule are refused
 * when the machine starts.
 */
#ifndef SCHEDLAB_ULE_RULES_H
#define SCHEDLAB_ULE_RULES_H

/* curr_rule: which threads are filed under current, beside the interactive ones. */
enum curr_rule {
	CURR_LIGHT_SLEEPERS = 0,	/* [R0] those that sleep somewhat more than they run, and not the interactive */
	CURR_KERNEL_PRIORITY = 2,	/* [P, R2] those at a priority of the kernel */
	CURR_CHANGED_PRIORITY = 3,	/* [R3] those at another priority than the user's */
	CURR_RAISED_PRIORITY = 4,	/* [R4] those at a better priority than the user's */
};

/* history_bound: what is kept of a history that has grown too long. */
enum history_rule {
	HISTORY_FOUR_FIFTHS = 0,	/* [R4], or half if that is not enough */
	HISTORY_HALF = 1,		/* [R3] */
	HISTORY_TENTH_AT_SLICE = 2,	/* [R2, R0] a tenth, but only when a slice is computed */
};

/* userret_resched: which threads look for a better one when they return to user mode. */
enum userret_rule {
	USERRET_NONE = 0,	/* [R3] */
	USERRET_IDLE = 1,	/* [P] idle threads */
	USERRET_ALL = 2,	/* [R2] */
};

/* push: how the timer evens out the most and the least loaded kseq. */
enum push_rule {
	PUSH_OFF = 0,
	PUSH_ANY_IMBALANCE = 2,	/* [P, R2] half of the difference, rounded up: an imbalance of one moves one */
	PUSH_SURPLUS = 3,	/* [R3] interrupt threads and what the busiest CPU can run at once do not count */
	PUSH_NEXT_FIRST = 4,	/* [R4] half of the difference, and threads under next before those under current */
};

/* pull: where a CPU without work looks for a thread. */
enum pull_rule {
	PULL_OFF = 0,
	PULL_ANY_LOAD = 1,	/* [R0] at kseqs with a load above 0 */
	PULL_SURPLUS = 2,	/* [R2] at kseqs with a load above 1 */
	PULL_NO_INTERRUPTS = 3,	/* [P, R3] the same, but interrupt threads neither count nor move */
	PULL_SIBLINGS = 4,	/* [R4] at the other logical CPUs of the core only, and threads under next first */
};

/* handoff: when a waking thread goes to an idle CPU instead of its own. */
enum handoff_rule {
	HANDOFF_OFF = 0,	/* [P, R2] */
	HANDOFF_BUSY_KSEQ = 3,	/* [R3] if its kseq has no CPU to spare */
	HANDOFF_CROWDED_CORE = 4,	/* [R4] to an idle core if its core has more threads than CPUs, else to a sibling */
	HANDOFF_BUSY_CPU = 5,	/* [R5] to an idle core if its CPU has a thread, else to a sibling */
};

/* Returns the name of the tunable with a number that selects no rule, NULL if there is none. */
static inline __unused const char *rule_missing(sched_t *s)
{
	if (tun(s)->curr_rule == 1)
		return "curr_rule=1 is no rule: 0, 2, 3 and 4 are";
	if (tun(s)->push == 1)
		return "push=1 is no rule: 0, 2, 3 and 4 are";
	if (tun(s)->handoff == 1 || tun(s)->handoff == 2)
		return "handoff=1 and handoff=2 are no rules: 0, 3, 4 and 5 are";
	return NULL;
}
#endif
