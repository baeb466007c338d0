/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * lottery - lottery scheduling: a task with more tickets wins more often.
 *
 * Each runnable task, a client, holds tickets.  For every quantum a winning
 * ticket is drawn at random and its holder runs.  In the long run a client's
 * share of the CPU is its share of the tickets, and no client with a ticket
 * starves.  A client that stops before its quantum is over gets compensation,
 * or it would get less than its share: until it next wins, its tickets are
 * multiplied by the quantum over the time used.
 *
 * C. A. Waldspurger and W. E. Weihl, "Lottery Scheduling: Flexible
 * Proportional-Share Resource Management", OSDI 1994: [WW94] below.
 *
 * All CPUs draw from one pool.  FIDELITY: the paper has one CPU.
 * FIDELITY: ticket transfers and currencies are omitted: a policy does not know
 *	which task waits for which, nor which belong together.  Inflation is setpriority().
 */
#include "policy.h"

/* ---- tunables ------------------------------------------------------------- */

#define LOTTERY_TUNABLES(T)							\
	T(hz, 1000, 10, 10000, "ticks per second; a quantum ends at a tick [our choice]")	\
	T(quantum_ms, 100, 1, 10000, "quantum, in ms [WW94: Mach 3.0's on the DECstation]")	\
	T(tickets, 1000, 1, 10000, "tickets of a task of nice 0 [our choice]")		\
	T(nice_ratio_pct, 125, 100, 150, "tickets of a nice level, in percent of those of the next one [our choice: as in CFS]")	\
	T(idle_tickets, 3, 1, 10000, "tickets of a SCHED_IDLE task [our choice: as in CFS]")	\
	T(compensation, 1, 0, 1, "compensation tickets for a task that did not use up its quantum [WW94]")	\
	T(max_compensation, 10000, 1, 100000, "they multiply tickets by no more than this [our choice]")	\
	T(tree, 1, 0, 1, "draw from a tree of partial sums, 0: by a walk through the list of clients [WW94 has both]")	\
	T(move_to_front, 1, 0, 1, "list: clients that win go to the front [WW94]")	\
	T(wakeup_lottery, 0, 0, 1, "a wakeup ends the quantum of the task that runs there [our choice]")
POLICY_TUNABLES(LOTTERY_TUNABLES)

#define LOTTERY_COUNTERS(C)	C(lotteries) C(redraws) C(compensations)
POLICY_COUNTERS(LOTTERY_COUNTERS)

/* ---- constants and state -------------------------------------------------- */

#define NICE_LEVELS	40
#define RT_LEVELS	99	/* list of the fixed priority: 99 - rt_priority */
#define MOST_REDRAWS	16

enum where { NOWHERE, IN_POOL, IN_RT };

struct lottery_task;
typedef struct lottery_task __arena client_t;

struct lottery {
	u64 quantum_ns;
	u64 tickets[NICE_LEVELS];	/* by nice */
	u64 total;			/* tickets in the pool */
	u32 nr_clients;			/* tasks in it; running tasks are not */
	client_t *root;
	struct list clients;
	struct prio_array rt;
};

struct lottery_task {
	struct list link;		/* in the pool's list, or in a list of rt */
	client_t *up, *left, *right;
	u64 tickets;			/* in the pool, with compensation */
	u64 sum;			/* of the tickets in the tree below it, its own included */
	u64 quantum_start;
	u64 used_ns;			/* of its last quantum */
	u32 number;			/* its place in the tree */
	u32 rt_level;
	u32 where;
};

POLICY_STATE(struct lottery, NO_STATE, struct lottery_task)

#include "textbook/tickets.h"

/* ---- tickets -------------------------------------------------------------- */

/* How many it holds of its own. */
static u64 own_tickets(sched_t *s, task_t *p)
{
	if (p->class == CLASS_IDLE)
		return (u64)tun(s)->idle_tickets;
	return tickets_at(s, p->nice);
}

/* A client that used the fraction f of its quantum counts 1/f times until it starts its next one. */
static u64 compensated_tickets(sched_t *s, task_t *p)
{
	u64 quantum = glob_of(s)->quantum_ns, used = ts_of(p)->used_ns;

	if (!tun(s)->compensation || used >= quantum)
		return own_tickets(s, p);
	used = max_of(used, div_u64(quantum, (u64)tun(s)->max_compensation));
	return div_u64(own_tickets(s, p) * quantum, max_of(used, 1));
}

/* 0 to @n - 1, evenly: @n is far less than 2^64, so the bias of the remainder does not matter. */
static u64 random_below(sched_t *s, u64 n)
{
	u64 high = random_u32(s);
	u64 r = high << 32 | random_u32(s);

	return r - div_u64(r, n) * n;
}

/* ---- the tree of partial sums --------------------------------------------- */

/*
 * Clients are numbered from 1, and number n has the children 2n and 2n + 1, so the
 * tree is as flat as can be and the binary digits of a number, but for the first, say
 * the way to it: 0 left, 1 right.  (The paper has clients at the leaves only.)
 */
static client_t *tree_at(sched_t *s, u32 number)
{
	client_t *client = glob_of(s)->root;
	u32 digit = 1;

	repeat_while(s, digit <= number / 2)
		digit <<= 1;
	repeat_while(s, digit >>= 1)
		client = number & digit ? client->right : client->left;
	return client;
}

/* @change may be less than 0, modulo 2^64. */
static void tree_add(sched_t *s, client_t *client, u64 change)
{
	repeat_while(s, client) {
		client->sum += change;
		client = client->up;
	}
}

/* Whatever is at @number is @client from now on. */
static void tree_link(sched_t *s, client_t *up, u32 number, client_t *client)
{
	if (!up)
		glob_of(s)->root = client;
	else if (number & 1)
		up->right = client;
	else
		up->left = client;
}

static void tree_insert(sched_t *s, client_t *client)
{
	u32 number = glob_of(s)->nr_clients;

	client->number = number;
	client->up = number > 1 ? tree_at(s, number / 2) : NULL;
	client->left = client->right = NULL;
	client->sum = 0;
	tree_link(s, client->up, number, client);
	tree_add(s, client, client->tickets);
}

static void tree_replace(sched_t *s, client_t *old, client_t *client)
{
	client->number = old->number;
	client->up = old->up;
	client->left = old->left;
	client->right = old->right;
	client->sum = old->sum;
	tree_link(s, client->up, client->number, client);
	if (client->left)
		client->left->up = client;
	if (client->right)
		client->right->up = client;
}

/* The last client takes its place. */
static void tree_remove(sched_t *s, client_t *client)
{
	client_t *last = tree_at(s, glob_of(s)->nr_clients);

	tree_add(s, last, 0 - last->tickets);
	tree_link(s, last->up, last->number, NULL);
	if (last == client)
		return;
	tree_add(s, client, last->tickets - client->tickets);
	tree_replace(s, client, last);
}

/* The holder of a ticket.  Tickets of the left subtree have the lowest numbers. */
static client_t *tree_draw(sched_t *s, u64 ticket)
{
	client_t *client = glob_of(s)->root, *winner = NULL;
	u32 nr = 0;

	repeat_while(s, client && !winner) {
		u64 left = client->left ? client->left->sum : 0;

		nr++;
		if (ticket < left) {
			client = client->left;
		} else if (ticket < left + client->tickets) {
			winner = client;
		} else {
			ticket -= left + client->tickets;
			client = client->right;
		}
	}
	examined(s, nr);
	return winner;
}

/* ---- the pool ------------------------------------------------------------- */

static void enter_pool(sched_t *s, task_t *p, u32 at_front)
{
	glob_t *g = glob_of(s);
	ts_t *client = ts_of(p);

	client->tickets = compensated_tickets(s, p);
	count(s, COUNTER_compensations, client->tickets > own_tickets(s, p));
	client->where = IN_POOL;
	if (at_front)
		list_add(&client->link, &g->clients);
	else
		list_add_tail(&client->link, &g->clients);
	g->nr_clients++;
	g->total += client->tickets;
	if (tun(s)->tree)
		tree_insert(s, client);
}

static void leave_pool(sched_t *s, ts_t *client)
{
	glob_t *g = glob_of(s);

	if (tun(s)->tree)
		tree_remove(s, client);
	list_del(&client->link);
	g->nr_clients--;
	g->total -= client->tickets;
}

static void change_tickets(sched_t *s, ts_t *client, u64 tickets)
{
	u64 change = tickets - client->tickets;

	client->tickets = tickets;
	glob_of(s)->total += change;
	if (tun(s)->tree)
		tree_add(s, client, change);
}

/* ---- the run queue: pool and fixed priorities ----------------------------- */

static void enter_rt(sched_t *s, task_t *p, u32 at_front)
{
	ts_t *client = ts_of(p);

	client->rt_level = RT_LEVELS - p->rt_priority;
	client->where = IN_RT;
	if (at_front)
		prio_array_add(&glob_of(s)->rt, &client->link, client->rt_level);
	else
		prio_array_add_tail(&glob_of(s)->rt, &client->link, client->rt_level);
}

static void enter(sched_t *s, task_t *p, u32 at_front)
{
	if (task_is_rt(p))
		enter_rt(s, p, at_front);
	else
		enter_pool(s, p, at_front);
}

static void leave(sched_t *s, ts_t *client)
{
	if (client->where == IN_RT)
		prio_array_del(&glob_of(s)->rt, &client->link, client->rt_level);
	else
		leave_pool(s, client);
	client->where = NOWHERE;
}

static u64 used_of(sched_t *s, ts_t *client)
{
	return min_of(s->now - client->quantum_start, glob_of(s)->quantum_ns);
}

/* ---- which CPU? ----------------------------------------------------------- */

/* The less it matters what @cpu runs, the greater. */
static u32 rank_of(sched_t *s, u32 cpu)
{
	task_t *curr = cpu_curr(s, cpu);

	if (!curr)
		return RT_LEVELS + 1;
	return task_is_rt(curr) ? RT_LEVELS - curr->rt_priority : RT_LEVELS;
}

/* The CPU @p may use that runs what matters least and has not been asked to reschedule; its own of equals. */
static u32 least_cpu(sched_t *s, task_t *p, u32 *rank)
{
	u32 cpu, best = p->cpu;

	*rank = 0;
	for_each_cpu(s, cpu) {
		u32 r = rank_of(s, cpu);

		if (!cpu_allowed(p, cpu) || cpu_of(s, cpu)->need_resched)
			continue;
		if (r > *rank || (r == *rank && cpu == p->cpu)) {
			*rank = r;
			best = cpu;
		}
	}
	return best;
}

/* @p waits.  An idle CPU runs it at once, and a real-time task preempts; others wait for the next lottery. */
static void find_cpu_for(sched_t *s, task_t *p)
{
	u32 rank, cpu = least_cpu(s, p, &rank);
	u32 own = task_is_rt(p) ? RT_LEVELS - p->rt_priority : RT_LEVELS;

	if (rank > own)
		resched_cpu(s, cpu);
}

/* With wakeup_lottery a wakeup on a busy CPU has a drawing held there, unless a real-time task runs. */
static void end_quantum(sched_t *s, task_t *p)
{
	if (!task_is_rt(p) && rank_of(s, p->cpu) == RT_LEVELS)
		resched_cpu(s, p->cpu);
}

/* ---- a task's life -------------------------------------------------------- */

static void lottery_fork(sched_t *s, task_t *parent, task_t *child)
{
	ts_of(child)->used_ns = glob_of(s)->quantum_ns;
}

static void lottery_enqueue(sched_t *s, task_t *p, u32 flags)
{
	enter(s, p, false);
	find_cpu_for(s, p);
	if (tun(s)->wakeup_lottery)
		end_quantum(s, p);
}

static void lottery_dequeue(sched_t *s, task_t *p, u32 flags)
{
	ts_t *client = ts_of(p);

	if (client->where != NOWHERE)
		leave(s, client);
	else
		client->used_ns = used_of(s, client);
}

/* ---- the lottery ---------------------------------------------------------- */

static client_t *list_draw(sched_t *s, u64 ticket)
{
	client_t *winner = NULL;
	list_t *node;
	u32 nr = 0;

	list_for_each(s, node, &glob_of(s)->clients) {
		client_t *client = list_entry(node, client_t, link);

		nr++;
		if (ticket < client->tickets) {
			winner = client;
			break;
		}
		ticket -= client->tickets;
	}
	examined(s, nr);
	return winner;
}

/* Tickets of the tasks that may run on @cpu; or, given one of these tickets, its holder in *@winner. */
static u64 allowed_tickets(sched_t *s, u32 cpu, u64 ticket, client_t **winner)
{
	u64 sum = 0;
	list_t *node;

	list_for_each(s, node, &glob_of(s)->clients) {
		client_t *client = list_entry(node, client_t, link);

		if (!cpu_allowed(task_of(client), cpu))
			continue;
		sum += client->tickets;
		if (winner && ticket < sum) {
			*winner = client;
			break;
		}
	}
	examined(s, glob_of(s)->nr_clients);
	return sum;
}

/* A lottery among the tasks that may run on @cpu. */
static client_t *allowed_draw(sched_t *s, u32 cpu)
{
	u64 total = allowed_tickets(s, cpu, 0, NULL);
	client_t *winner = NULL;

	if (total)
		allowed_tickets(s, cpu, random_below(s, total), &winner);
	return winner;
}

/* If the winner may not run here, the lottery is held again, which leaves the others' chances in proportion. */
static client_t *hold_lottery(sched_t *s, u32 cpu)
{
	glob_t *g = glob_of(s);
	u32 i;

	if (!g->nr_clients)
		return NULL;
	count(s, COUNTER_lotteries, 1);
	repeat(s, i, MOST_REDRAWS) {
		u64 ticket = random_below(s, g->total);
		client_t *winner = tun(s)->tree ? tree_draw(s, ticket) : list_draw(s, ticket);

		if (winner && cpu_allowed(task_of(winner), cpu))
			return winner;
		count(s, COUNTER_redraws, 1);
	}
	return allowed_draw(s, cpu);
}

/* The first of the best list that may run here. */
static client_t *pick_rt(sched_t *s, u32 cpu)
{
	prio_array_t *rt = &glob_of(s)->rt;
	u32 level = prio_array_first(rt);
	client_t *next = NULL;
	list_t *node;

	repeat_while(s, level != PRIO_NONE && !next) {
		list_for_each(s, node, &rt->queue[level]) {
			examined(s, 1);
			if (cpu_allowed(task_of(list_entry(node, client_t, link)), cpu)) {
				next = list_entry(node, client_t, link);
				break;
			}
		}
		level = prio_array_next(s, rt, level + 1);
	}
	return next;
}

/* A client that won goes to the front, where it is found soon; a preempted real-time task is still first. */
static void put_back(sched_t *s, task_t *prev, u32 why)
{
	ts_t *client = ts_of(prev);
	u32 at_front = (u32)tun(s)->move_to_front;

	client->used_ns = used_of(s, client);
	if (task_is_rt(prev))
		at_front = why == PREV_PREEMPTED &&
			   (prev->class == CLASS_FIFO || client->used_ns < glob_of(s)->quantum_ns);
	enter(s, prev, at_front);
}

static task_t *lottery_pick_next(sched_t *s, u32 cpu, task_t *prev, u32 why)
{
	client_t *next;

	if (why == PREV_YIELDED || why == PREV_PREEMPTED)
		put_back(s, prev, why);
	next = pick_rt(s, cpu);
	if (!next)
		next = hold_lottery(s, cpu);
	if (!next)
		return NULL;
	leave(s, next);
	next->quantum_start = s->now;
	return task_of(next);
}

/* Another CPU may have room for the task that had to make way. */
static void lottery_switched(sched_t *s, u32 cpu, task_t *prev, task_t *next)
{
	if (prev && ts_of(prev)->where != NOWHERE)
		find_cpu_for(s, prev);
}

static void lottery_tick(sched_t *s, u32 cpu, task_t *p)
{
	if (p->class != CLASS_FIFO && used_of(s, ts_of(p)) >= glob_of(s)->quantum_ns)
		resched_cpu(s, cpu);
}

/* ---- system calls --------------------------------------------------------- */

/* Inflation and deflation: it takes effect on the next drawing. */
static void lottery_set_nice(sched_t *s, task_t *p, s32 old_nice)
{
	if (ts_of(p)->where == IN_POOL)
		change_tickets(s, ts_of(p), compensated_tickets(s, p));
}

static void lottery_set_class(sched_t *s, task_t *p, u32 old_class, u32 old_rt_priority)
{
	if (p->on_cpu)
		resched_cpu(s, p->cpu);
	if (ts_of(p)->where == NOWHERE)
		return;
	leave(s, ts_of(p));
	enter(s, p, false);
	find_cpu_for(s, p);
}

static void lottery_set_cpumask(sched_t *s, task_t *p)
{
	if (ts_of(p)->where != NOWHERE)
		find_cpu_for(s, p);
}

/* ---- observers ------------------------------------------------------------ */

#define RT_PRIORITY	2000000000	/* beyond all tickets */

/* Tickets, with the compensation it would have if it waited; real-time tasks come first. */
static s32 lottery_priority(sched_t *s, task_t *p)
{
	if (task_is_rt(p))
		return RT_PRIORITY + (s32)p->rt_priority;
	return (s32)min_of(compensated_tickets(s, p), RT_PRIORITY);
}

static u32 lottery_queued(sched_t *s, task_t *p)
{
	return ts_of(p)->where != NOWHERE;
}

/* ---- init ----------------------------------------------------------------- */

static s32 lottery_init(sched_t *s)
{
	glob_t *g = glob_of(s);

	g->quantum_ns = (u64)tun(s)->quantum_ms * NSEC_PER_MSEC;
	list_init(&g->clients);
	prio_array_init(s, &g->rt);
	init_tickets(s);
	return 0;
}

/* ---- the policy ----------------------------------------------------------- */

static const struct variant lottery_variants[] = {
	{ "tree", "draws in O(log n) from a tree of partial sums", "" },
	{ "list", "draws by walking a list of clients with move to front, as the paper's prototype does", "tree=0" },
};

_Static_assert(sizeof(struct lottery_task) <= 96, "a million tasks must fit");

POLICY(lottery,
	.summary = "Waldspurger and Weihl's lottery: tickets by nice, a drawing for every quantum, compensation",
	TUNABLES,
	VARIANTS(lottery_variants),
	COUNTERS,
	.lock = LOCK_GLOBAL,
	.promise = {
		.conserving = CONSERVING_QUEUE,
		.nice = NICE_WEIGHTED,
		.starvation_bound_ns = 0,	/* chance has none: see README.md */
	},
	.init = lottery_init,
	.fork = lottery_fork,
	.enqueue = lottery_enqueue,
	.dequeue = lottery_dequeue,
	.pick_next = lottery_pick_next,
	.switched = lottery_switched,
	.tick = lottery_tick,
	.set_nice = lottery_set_nice,
	.set_class = lottery_set_class,
	.set_cpumask = lottery_set_cpumask,
	.priority = lottery_priority,
	.queued = lottery_queued,
);
