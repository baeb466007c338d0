/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * svr4 - the time-sharing class of System V Release 4, as Solaris 9 had it.
 *
 * There are 60 levels, and the highest runs.  A table gives the next level of a
 * task: each row has a quantum, and the level of a task that uses it up (tqexp),
 * that returns from sleep (slpret), or that has waited for more than maxwait
 * seconds (lwait).  These numbers are the whole policy, and an administrator could
 * load them at run time.  Once a second a pass over all tasks adds up waits.
 *
 * Names and order follow OpenSolaris' ts.c and disp.c.  Their thread and tspp are
 * a ts_t * here.  Each tunable names its source, file and revision:
 * ts.c 1.113 is OpenSolaris' of 10 November 2005, ts_dptbl.c 1.10 is of 7 April
 * 1994 (with the same table in 2004), rt_dptbl.c 1.8 of 22 October 1997, disp.c
 * 1.154 of 29 July 1999; illumos is illumos-gate.  [from memory] has not been
 * read again, [our choice] has no source.
 *
 * FIDELITY: Solaris has 60 real-time levels; here each of the 99 has its own.
 * FIDELITY: SCHED_IDLE does not exist there: it is TS with the worst user priority.
 * FIDELITY: a task that sleeps uninterruptibly is treated as one that holds kernel locks.
 */
#include "policy.h"

/* ---- tunables ------------------------------------------------------------- */

#define TS_LEVELS	60

#define SVR4_TUNABLES(T)							\
	T(hz, 100, 10, 10000, "ticks per second, in which quanta are counted [hz, ts_dptbl.c 1.10]")	\
	T(levels, TS_LEVELS, 2, TS_LEVELS, "rows of the dispatch table in use: ts_maxumdpri + 1 [ts_dptbl.c 1.10]")	\
	T(maxupri, 60, 0, TS_LEVELS, "ts_maxupri: user priority of nice -20, in levels [TSMAXUPRI, ts.c 1.113; 20 in SVR4, from memory]")	\
	T(ia_boost, 10, 0, TS_LEVELS, "IA_BOOST: levels a task in the foreground gains [sys/iapriocntl.h, ts.c 1.113]")	\
	T(ia_everyone, 0, 0, 1, "tasks not in the foreground are 0: TS, 1: IA without the focus, and lose as much [our choice]") \
	T(sleep_promote, 1, 0, 1, "ts_sleep_promote: the update raises sleeping tasks, too [ts.c 1.113]")	\
	T(kpri, 1, 0, 1, "1: a task that wakes holding kernel locks is at level 60 until it is back in user mode [ts.c 1.113], 0: never [illumos of 2019]") \
	T(update_ms, 1000, 10, 100000, "period of ts_update(), in ms; maxwait counts its calls [ts_update(), ts.c 1.113]")	\
	T(rechoose_interval, 3, 0, 100000, "a task stays where it last ran if it left that CPU no more ticks ago [RECHOOSE_INTERVAL, disp.c 1.154]")	\
	T(runq_match_pri, 16, 0, 200, "RUNQ_MATCH_PRI: below this level queue lengths are made equal [disp.c, illumos]")	\
	T(runq_max_diff, 2, 0, 100000, "RUNQ_MAX_DIFF: from there on they may differ by this [disp.c, illumos]")

#define FIVE(v)	v, v, v, v, v
#define TEN(v)	FIVE(v), FIVE(v)

/* config_ts_dptbl, column by column. */
#define SVR4_TABLES(R)								\
	R(quantum, TS_LEVELS, 1, 1000000, "ts_quantum: time slice of the level, in ticks [ts_dptbl.c 1.10]",	\
	  TEN(20), TEN(16), TEN(12), TEN(8), TEN(4), FIVE(4), 4, 4, 4, 4, 2)		\
	R(tqexp, TS_LEVELS, 0, TS_LEVELS - 1, "ts_tqexp: level of a task that uses up the quantum [ts_dptbl.c 1.10]",	\
	  TEN(0), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19,	\
	  20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39,	\
	  40, 41, 42, 43, 44, 45, 46, 47, 48, 49)					\
	R(slpret, TS_LEVELS, 0, TS_LEVELS - 1, "ts_slpret: level of a task that comes back from sleep [ts_dptbl.c 1.10]",	\
	  TEN(50), TEN(51), TEN(52), FIVE(53), FIVE(54), FIVE(55), 56, 57, 58, 58, 58,	\
	  FIVE(58), 58, 58, 58, 58, 59)							\
	R(maxwait, TS_LEVELS, 0, 32767, "ts_maxwait: updates without a full quantum that are borne; by user-mode level [ts_dptbl.c 1.10]", \
	  TEN(0), TEN(0), TEN(0), TEN(0), TEN(0), FIVE(0), 0, 0, 0, 0, 32000)		\
	R(lwait, TS_LEVELS, 0, TS_LEVELS - 1, "ts_lwait: level of a task that has waited longer [ts_dptbl.c 1.10]",	\
	  TEN(50), TEN(51), TEN(52), FIVE(53), FIVE(54), FIVE(55), 56, 57, 58, 58, 59,	\
	  FIVE(59), FIVE(59))								\
	R(rt_quantum, 6, 1, 1000000, "rt_quantum: slice of each ten real-time levels, in ticks [rt_dptbl.c 1.8]",	\
	  100, 80, 60, 40, 20, 10)

POLICY_TUNABLES_AND_TABLES(SVR4_TUNABLES, SVR4_TABLES)

/* A string, five and ten times. */
#define X5(v)	v v v v v
#define X10(v)	X5(v) X5(v)

/* config_ts_dptbl_server: long quanta, small steps, and two seconds of patience. */
#define LARGE_SERVER								\
	"quantum=40," X10("38,") X5("38,") "38,38,38,38," X10("36,") X10("36,") "36,"	\
		X10("34,") X5("34,") "34,34,34,34 "					\
	"tqexp=0,0,1,1,2,2,3,3,4,4,5,5,6,6,7,7,8,8,9,9,10,11,12,13,14,15,16,17,18,19,"	\
		"20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,"		\
		"40,41,42,43,44,45,46,47,48,49 "						\
	"slpret=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30," \
		"31,32,33,34,35,36,37,38,39,40,41,42,43,44,45,46,47,48,49,50,51,52,53,54,55,56,57,58,59,59 " \
	"maxwait=" X10("2,") X10("2,") X10("2,") X10("2,") X10("2,") X5("2,") "2,2,2,2,2 "	\
	"lwait=" X10("40,") X10("40,") X10("40,") X10("40,")				\
		"41,42,43,44,45,46,47,48,49,50,51,52,53,54,55,56,57,58,59,59"

/* The ten rows that the manual of SVR4.2 shows. */
#define SVR4_2_ROW(row, quantum, tqexp, slpret)	\
	"quantum[" row "]=" quantum " tqexp[" row "]=" tqexp " slpret[" row "]=" slpret	\
	" maxwait[" row "]=5 lwait[" row "]=" slpret " "
#define SVR4_2_SAMPLE								\
	"levels=10 maxupri=20 "							\
	SVR4_2_ROW("0", "100", "0", "1") SVR4_2_ROW("1", "90", "0", "2")		\
	SVR4_2_ROW("2", "80", "1", "3") SVR4_2_ROW("3", "70", "1", "4")			\
	SVR4_2_ROW("4", "60", "2", "5") SVR4_2_ROW("5", "50", "2", "6")			\
	SVR4_2_ROW("6", "40", "3", "7") SVR4_2_ROW("7", "30", "3", "8")			\
	SVR4_2_ROW("8", "20", "4", "9") SVR4_2_ROW("9", "10", "4", "9")

#define SVR4_COUNTERS(C)	\
	C(quantum_expiries) C(sleep_returns) C(wait_promotions) C(forks_paid) C(queue_moves) C(steals)
POLICY_COUNTERS(SVR4_COUNTERS)

/* ---- constants and state ---------------------------------------------------- */

/* Dispatch levels, higher is better: TS and IA 0 to 59, then these. */
#define SYS_LEVEL	60	/* kernel threads, and tasks that hold kernel locks */
#define RT_LEVEL(rt)	(SYS_LEVEL + (s32)(rt))			/* 61 to 159 */
#define INTR_LEVEL(rt)	(RT_LEVEL(99) + 1 + (s32)(rt) / 10)	/* interrupt threads, 160 to 169 */

#define NR_LEVELS	170

#define RT_GLOBAL	100	/* Solaris counts real-time levels from here */
#define NR_RT		99
#define LOCK_TRIES	4	/* of thread_lock() */
#define NO_CPU		MAX_CPUS
#define TSLISTS		16	/* ts_update() begins with another sixteenth each time */

struct svr4 {
	u32 updates;
};

/* A CPU's dispatch queue. */
struct disp {
	struct prio_array queue;	/* list PRIO_LEVELS - 1 - level; the running task is in none */
	u32 length[NR_LEVELS];		/* tasks in each */
};

struct svr4_task {
	struct list node;	/* in a dispatch queue while it waits */
	u64 disp_tick;		/* t_disp_time: the tick in which it last left a CPU; 0: it never ran */
	s32 pri;		/* t_pri: the level it runs or is queued at */
	s32 cpupri;		/* what its behaviour has earned: row of the table */
	s32 upri;		/* what nice says */
	s32 boost;		/* what the foreground says */
	s32 umdpri;		/* the sum: level in user mode */
	s32 timeleft;		/* ticks left of the quantum */
	u32 dispwait;		/* updates since it last used up a quantum or was raised */
	u8 backq;		/* TSBACKQ: goes to the back, with a new quantum, when preempted */
	u8 kpri;		/* TSKPRI: at SYS_LEVEL until back in user mode */
	u8 trapret;		/* t_trapret: the update found it running */
	u8 at_back;		/* it was last queued at the back */
};

POLICY_STATE(struct svr4, struct disp, struct svr4_task)
#include "svr4/disp.h"

static u32 is_ts(task_t *t)
{
	return !task_is_rt(t) && !(t->flags & TASK_KTHREAD);
}

/* With a bound that a verifier sees. */
static u32 row(s32 level)
{
	return (u32)clamp_to(level, 0, TS_LEVELS - 1);
}

static u64 lbolt(sched_t *s)
{
	return div_u64(s->now, s->tick_ns);
}

/* ---- priorities --------------------------------------------------------------- */

static void ts_newumdpri(sched_t *s, ts_t *p)
{
	p->umdpri = clamp_to(p->cpupri + p->upri + p->boost, 0, (s32)tun(s)->levels - 1);
}

static void fresh_quantum(sched_t *s, ts_t *p)
{
	p->timeleft = (s32)tun(s)->quantum[row(p->cpupri)];
}

/* nice 20 would be -maxupri; 19 is the most there is. */
static s32 nice_to_upri(sched_t *s, task_t *t)
{
	if (t->class == CLASS_IDLE)
		return -(s32)tun(s)->maxupri;
	return -t->nice * (s32)tun(s)->maxupri / 20;
}

/* The quantum is used up, or spent on a fork. */
static void quantum_expired(sched_t *s, ts_t *p)
{
	p->cpupri = (s32)tun(s)->tqexp[row(p->cpupri)];
	ts_newumdpri(s, p);
	p->dispwait = 0;
	p->pri = p->umdpri;
}

static u32 waited_long(sched_t *s, ts_t *p)
{
	return p->dispwait > tun(s)->maxwait[row(p->umdpri)];
}

/*
 * Entering or leaving sleep is rewarded if no quantum was used up since the
 * update before: that is all that makes a task interactive.
 */
static void sleep_return(sched_t *s, ts_t *p)
{
	if (waited_long(s, p)) {
		p->cpupri = (s32)tun(s)->slpret[row(p->cpupri)];
		ts_newumdpri(s, p);
		fresh_quantum(s, p);
		p->dispwait = 0;
		count(s, COUNTER_sleep_returns, 1);
	}
	p->pri = p->umdpri;
}

static s32 rt_quantum(sched_t *s, task_t *t)
{
	u32 ten = (min_of(t->rt_priority, NR_RT) - 1) * 60 / NR_RT / 10;

	return (s32)tun(s)->rt_quantum[min_of(ten, 5u)];
}

/* A task gets a class: fixed level and quantum in RT, the middle of the table in TS. */
static void enter_class(sched_t *s, ts_t *p)
{
	task_t *t = task_of(p);

	p->kpri = p->trapret = p->backq = false;
	p->dispwait = 0;
	if (task_is_rt(t)) {
		p->pri = t->flags & TASK_KTHREAD ? INTR_LEVEL(t->rt_priority) : RT_LEVEL(t->rt_priority);
		p->timeleft = rt_quantum(s, t);
		return;
	}
	p->cpupri = (s32)(tun(s)->levels - 1) / 2;
	p->upri = nice_to_upri(s, t);
	if (t->flags & TASK_FOREGROUND)
		p->boost = (s32)tun(s)->ia_boost;
	else
		p->boost = tun(s)->ia_everyone ? -(s32)tun(s)->ia_boost : 0;
	ts_newumdpri(s, p);
	fresh_quantum(s, p);
	p->pri = t->flags & TASK_KTHREAD ? SYS_LEVEL : p->umdpri;
}

/* thread_change_pri(): to its user-mode level; was it in a queue? */
static u32 thread_change_pri(sched_t *s, ts_t *p, u32 back)
{
	if (!waiting(p)) {
		p->pri = p->umdpri;
		return false;
	}
	dispdeq(s, p);
	p->pri = p->umdpri;
	dispenq(s, p, back);
	cpu_resched(s, p);
	return true;
}

/* ---- choosing a CPU --------------------------------------------------------------- */

/* The level it will have when it is awake. */
static s32 level_awake(sched_t *s, ts_t *p)
{
	s32 cpupri = (s32)tun(s)->slpret[row(p->cpupri)];

	if (!is_ts(task_of(p)) || p->kpri || !waited_long(s, p))
		return p->pri;
	return clamp_to(cpupri + p->upri + p->boost, 0, (s32)tun(s)->levels - 1);
}

static u32 foreground(ts_t *p)
{
	return (task_of(p)->flags & TASK_FOREGROUND) && is_ts(task_of(p));
}

/* A task of the foreground goes in front of its equals, and so does one of TS that was running a moment ago. */
static u32 goes_in_front(sched_t *s, ts_t *p)
{
	if (foreground(p) || p->kpri || tun(s)->ia_everyone)
		return foreground(p);
	return p->disp_tick == lbolt(s);
}

/*
 * Where it last ran, if that is not long ago; or else the CPU of the lowest
 * priority, which is an idle one if there is any.
 * FIDELITY: real-time tasks have one queue for all CPUs in Solaris (kp_queue).
 */
static u32 svr4_select_cpu(sched_t *s, task_t *t, u32 flags)
{
	ts_t *p = ts_of(t);
	u32 cpu = t->cpu, warm = p->disp_tick && lbolt(s) - p->disp_tick <= (u64)tun(s)->rechoose_interval;
	s32 level = level_awake(s, p);

	if (flags == ENQ_EXEC)
		return cpu;
	if (task_is_rt(t) || !warm || !cpu_allowed(t, cpu) ||
	    (foreground(p) && level < maxrunpri(rq_of(s, cpu))))
		cpu = disp_lowpri_cpu(s, t);
	if (foreground(p) || !is_ts(t))
		return cpu;
	return match_queues(s, t, cpu, level, rq_of(s, cpu)->length[level]);
}

/* ---- fork and exit ------------------------------------------------------------------ */

/* The child takes after its parent, if both are of this class. */
static void svr4_fork(sched_t *s, task_t *parent, task_t *child)
{
	ts_t *p = ts_of(child);

	enter_class(s, p);
	if (!parent || !is_ts(parent) || !is_ts(child))
		return;
	p->cpupri = ts_of(parent)->cpupri;
	ts_newumdpri(s, p);
	fresh_quantum(s, p);
	p->pri = p->umdpri;
}

/* What is at the end of ts_setrun() and ts_wakeup(). */
static void ts_enqueue(sched_t *s, ts_t *p)
{
	p->backq = false;
	dispenq(s, p, !goes_in_front(s, p));
}

/*
 * ts_forkret(): a fork costs the parent as much as a quantum, so that the child
 * runs first.  The parent goes through ts_setrun(), and then swtch().
 */
static void forkret(sched_t *s, task_t *parent)
{
	ts_t *p = ts_of(parent);

	quantum_expired(s, p);
	fresh_quantum(s, p);
	p->backq = !goes_in_front(s, p);
	count(s, COUNTER_forks_paid, 1);
	resched_cpu(s, parent->cpu);
}

/*
 * Only fork() ends in ts_forkret(): neither vfork() nor lwp_create() does.  What
 * these two create shares its creator's address space.
 */
static void start(sched_t *s, task_t *child)
{
	task_t *parent = child->parent;

	if (!is_ts(child)) {
		setbackdq(s, ts_of(child));
		return;
	}
	ts_enqueue(s, ts_of(child));
	if (parent && parent == cpu_curr(s, s->this_cpu) && is_ts(parent) && parent->mm != child->mm)
		forkret(s, parent);
}

/* ---- sleep and wakeup ----------------------------------------------------------------- */

static void ts_wakeup(sched_t *s, ts_t *p)
{
	if (!p->kpri)
		sleep_return(s, p);
	ts_enqueue(s, p);
}

static void wakeup(sched_t *s, task_t *t)
{
	ts_t *p = ts_of(t);

	if (is_ts(t)) {
		ts_wakeup(s, p);
		return;
	}
	if (task_is_rt(t))
		p->timeleft = rt_quantum(s, t);
	p->backq = false;
	setbackdq(s, p);
}

static void svr4_enqueue(sched_t *s, task_t *t, u32 flags)
{
	if (flags & ENQ_NEW)
		start(s, t);
	else if (flags & ENQ_WAKEUP)
		wakeup(s, t);
	else
		setbackdq(s, ts_of(t));
	cpu_resched(s, ts_of(t));
}

/* A task that sleeps holding kernel locks keeps its reward for the way back to user mode. */
static void ts_sleep(sched_t *s, ts_t *p, u32 flags)
{
	p->trapret = false;
	if ((flags & DEQ_UNINTERRUPTIBLE) && tun(s)->kpri) {
		p->kpri = true;
		p->pri = SYS_LEVEL;
		return;
	}
	p->kpri = false;
	sleep_return(s, p);
}

static void svr4_dequeue(sched_t *s, task_t *t, u32 flags)
{
	ts_t *p = ts_of(t);

	if (waiting(p))
		dispdeq(s, p);
	if ((flags & DEQ_SLEEP) && is_ts(t))
		ts_sleep(s, p, flags);
}

/* ts_trapret(): back in user mode, after a sleep with kernel locks or an update. */
static void ts_trapret(sched_t *s, ts_t *p)
{
	p->kpri = p->trapret = false;
	sleep_return(s, p);
	must_surrender(s, p);
}

/* ---- the tick ---------------------------------------------------------------------------- */

static void ts_tick(sched_t *s, ts_t *p)
{
	if (--p->timeleft <= 0) {
		quantum_expired(s, p);
		count(s, COUNTER_quantum_expiries, 1);
		p->backq = true;
		resched_cpu(s, task_of(p)->cpu);
	} else if (must_surrender(s, p)) {
		p->backq = true;
	}
	if (p->trapret)
		ts_trapret(s, p);
}

/* SCHED_FIFO is RT with an infinite quantum; interrupt threads have no slice at all. */
static void rt_tick(sched_t *s, ts_t *p)
{
	task_t *t = task_of(p);

	if (t->class != CLASS_RR || (t->flags & TASK_KTHREAD) || --p->timeleft > 0)
		return;
	p->backq = true;
	resched_cpu(s, t->cpu);
}

static void svr4_tick(sched_t *s, u32 cpu, task_t *t)
{
	if (is_ts(t))
		ts_tick(s, ts_of(t));
	else if (task_is_rt(t))
		rt_tick(s, ts_of(t));
}

/* ---- swtch() ------------------------------------------------------------------------------ */

/* A used-up quantum is renewed behind the others of the level; a task preempted before stays in front. */
static void preempt(sched_t *s, ts_t *p)
{
	if (!p->backq) {
		setfrontdq(s, p);
		return;
	}
	p->backq = false;
	p->dispwait = 0;
	if (task_is_rt(task_of(p)))
		p->timeleft = rt_quantum(s, task_of(p));
	else
		fresh_quantum(s, p);
	setbackdq(s, p);
}

static void yield(sched_t *s, ts_t *p)
{
	if (p->backq) {
		preempt(s, p);	/* its quantum is over in the same moment */
		return;
	}
	setbackdq(s, p);
}

static task_t *svr4_pick_next(sched_t *s, u32 cpu, task_t *prev, u32 why)
{
	rq_t *rq = rq_of(s, cpu);
	ts_t *next;

	if (why == PREV_PREEMPTED)
		preempt(s, ts_of(prev));
	else if (why == PREV_YIELDED)
		yield(s, ts_of(prev));
	if (!rq->queue.nr && !disp_getwork(s, cpu))
		return NULL;
	next = list_entry(rq->queue.queue[prio_array_first(&rq->queue)].next, ts_t, node);
	examined(s, 1);
	dispdeq(s, next);
	return task_of(next);
}

/*
 * What setfrontdq() and setbackdq() do at once: a task that was preempted goes
 * where its level wins, one that finished a quantum where fewer wait at its level.
 */
static u32 better_cpu(sched_t *s, ts_t *p)
{
	task_t *t = task_of(p);
	u32 cpu;

	if (p->at_back && is_ts(t))
		return match_queues(s, t, t->cpu, p->pri, rq_of(s, t->cpu)->length[p->pri] - 1);
	cpu = disp_lowpri_cpu(s, t);
	return cpu_pri(s, cpu) < p->pri ? cpu : t->cpu;
}

static void replace_prev(sched_t *s, ts_t *p)
{
	task_t *t = task_of(p);
	u32 cpu = better_cpu(s, p), back = p->at_back;

	if (cpu != t->cpu && rq_lock(s, cpu)) {
		dispdeq(s, p);
		move_task(s, t, cpu);
		dispenq(s, p, back);
		count(s, COUNTER_queue_moves, 1);
		cpu_resched(s, p);
		rq_unlock(s, cpu);
		return;
	}
	wake_idle_cpu(s, t);
}

/* The way back to user mode takes no time here. */
static void svr4_switched(sched_t *s, u32 cpu, task_t *prev, task_t *next)
{
	if (prev)
		ts_of(prev)->disp_tick = lbolt(s);
	if (prev && waiting(ts_of(prev)) && prev->cpu == cpu)
		replace_prev(s, ts_of(prev));
	if (next && ts_of(next)->kpri)
		ts_trapret(s, ts_of(next));
}

/* ---- ts_update() --------------------------------------------------------------------------- */

/*
 * thread_lock(): the lock of the queue @t belongs to, which may change until it
 * is held.  Returns the CPU, or NO_CPU if the lock cannot be had: then the update
 * passes the task over, as if it had come a moment too early.
 */
static u32 thread_lock(sched_t *s, task_t *t)
{
	u32 tries;

	repeat(s, tries, LOCK_TRIES) {
		u32 cpu = t->cpu;

		if (!rq_lock(s, cpu))
			continue;
		if (t->cpu == cpu)
			return cpu;
		rq_unlock(s, cpu);
	}
	return NO_CPU;
}

/* ts_change_priority(): to the level of user mode, with the quantum that belongs to it. */
static void change_priority(sched_t *s, ts_t *p)
{
	if (!task_of(p)->on_cpu) {
		if (thread_change_pri(s, p, !foreground(p)))
			fresh_quantum(s, p);
		else
			p->backq = true;
		return;
	}
	p->pri = p->umdpri;
	if (must_surrender(s, p))
		p->backq = true;
	else
		fresh_quantum(s, p);
}

/* It has waited, or slept, too long.  A task that is at its new level already keeps its turn. */
static void wait_promotion(sched_t *s, ts_t *p)
{
	p->cpupri = (s32)tun(s)->lwait[row(p->cpupri)];
	ts_newumdpri(s, p);
	p->dispwait = 0;
	count(s, COUNTER_wait_promotions, 1);
	if (p->umdpri != p->pri)
		change_priority(s, p);
}

/* A running task only learns of it at its next trap: that is, its next tick. */
static void update_locked(sched_t *s, task_t *t)
{
	ts_t *p = ts_of(t);

	if (!is_ts(t))
		return;
	p->dispwait++;
	if (!waited_long(s, p) || p->kpri)
		return;
	if (t->on_cpu || (!waiting(p) && !tun(s)->sleep_promote))
		p->trapret = true;
	else
		wait_promotion(s, p);
}

__apart u32 ts_update_task(sched_t *s __in_arena, task_t *t __in_arena)
{
	u32 cpu = thread_lock(s, t);

	if (cpu == NO_CPU)
		return 0;
	update_locked(s, t);
	rq_unlock(s, cpu);
	return 0;
}

static void ts_update_list(sched_t *s, u32 first, u32 end)
{
	list_t *node;
	task_t *t;
	u32 i = loop_from(s, first, 0);

	for_each_task(s, t, node) {
		if (i >= first && i < end)
			ts_update_task(s, t);
		i++;
	}
}

/*
 * Every task in any state.
 * FIDELITY: the kernel hashes them into 16 lists and begins with another each
 * time, so that no task is always raised first; here a sixteenth is the sixteenth
 * of the tasks in order of age.
 */
static void svr4_timer(sched_t *s, u32 id)
{
	u32 first = (u32)((u64)s->nr_tasks * (glob_of(s)->updates++ % TSLISTS) / TSLISTS);

	timer_start(s, id, (u64)tun(s)->update_ms * NSEC_PER_MSEC);
	ts_update_list(s, first, ~0u);
	ts_update_list(s, 0, first);
	recalculated(s, s->nr_tasks);
}

/* ---- system calls ---------------------------------------------------------------------------- */

static void svr4_set_nice(sched_t *s, task_t *t, s32 old_nice)
{
	ts_t *p = ts_of(t);

	p->upri = nice_to_upri(s, t);
	ts_newumdpri(s, p);
	if (!is_ts(t))
		return;
	p->dispwait = 0;
	if (!p->kpri)
		change_priority(s, p);
}

static void svr4_set_class(sched_t *s, task_t *t, u32 old_class, u32 old_rt_priority)
{
	ts_t *p = ts_of(t);
	u32 queued = waiting(p);

	if (queued)
		dispdeq(s, p);
	enter_class(s, p);
	if (queued) {
		setbackdq(s, p);
		cpu_resched(s, p);
	} else if (t->on_cpu) {
		must_surrender(s, p);
	}
}

/* ---- observers ----------------------------------------------------------------------------------- */

/* The global priority, in which Solaris leaves room between SYS and RT. */
static s32 svr4_priority(sched_t *s, task_t *t)
{
	s32 level = ts_of(t)->pri;

	return level > SYS_LEVEL ? level - RT_LEVEL(1) + RT_GLOBAL : level;
}

static u32 svr4_queued(sched_t *s, task_t *t)
{
	return waiting(ts_of(t));
}

/* ---- init: the table must make sense --------------------------------------------------------------- */

static const char *absurdity(sched_t *s, u32 level)
{
	u32 i = in_bounds(level, TS_LEVELS);
	s64 best = max_of(max_of(tun(s)->tqexp[i], tun(s)->slpret[i]), tun(s)->lwait[i]);

	if (best >= tun(s)->levels)
		return "the dispatch table leads to a level that it does not have";
	if (tun(s)->tqexp[i] > i)
		return "tqexp is above its row: a task would gain by using up a quantum";
	if (tun(s)->slpret[i] < i)
		return "slpret is below its row: a task would lose by sleeping";
	if (tun(s)->lwait[i] < i)
		return "lwait is below its row: a task would lose by waiting";
	return NULL;
}

static s32 svr4_init(sched_t *s)
{
	u32 i, cpu;

	repeat(s, i, row((s32)tun(s)->levels - 1) + 1) {
		const char *what = absurdity(s, i);

		if (what) {
			row_error(s, what, i);
			return -1;
		}
	}
	for_each_cpu(s, cpu)
		prio_array_init(s, &rq_of(s, cpu)->queue);
	timer_start(s, 0, (u64)tun(s)->update_ms * NSEC_PER_MSEC);
	return 0;
}

/* ---- the policy --------------------------------------------------------------------------------------- */

static const struct variant svr4_variants[] = {
	{ "solaris", "the table of Solaris 2.4 to 11, kernel of 2005", "" },
	{ "illumos", "the same without kernel priorities: the kernel of 2019", "kpri=0" },
	{ "large-server", "the other table in Solaris: quanta of 340 to 400 ms, small steps", LARGE_SERVER },
	{ "svr4.2", "the ten rows that the manual of SVR4.2 shows", SVR4_2_SAMPLE },
};

_Static_assert(sizeof(struct svr4_task) <= 96, "a million tasks must fit");

POLICY(svr4,
	.summary = "SVR4 and Solaris TS: a dispatch table rewards sleep and waiting, punishes used-up quanta; IA, RT, SYS",
	TUNABLES,
	VARIANTS(svr4_variants),
	COUNTERS,
	.lock = LOCK_PER_CPU,
	.promise = {
		.conserving = CONSERVING_QUEUE,
		.nice = NICE_ORDERED,	/* but for -15 beside -10: see README.md */
		.starvation_bound_ns = 0,	/* nice 5 starves beside nice 0: see README.md */
	},
	.init = svr4_init,
	.fork = svr4_fork,
	.select_cpu = svr4_select_cpu,
	.enqueue = svr4_enqueue,
	.dequeue = svr4_dequeue,
	.pick_next = svr4_pick_next,
	.switched = svr4_switched,
	.tick = svr4_tick,
	.set_nice = svr4_set_nice,
	.set_class = svr4_set_class,
	.timer = svr4_timer,
	.priority = svr4_priority,
	.queued = svr4_queued,
);
