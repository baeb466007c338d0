/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * server.h - the fair server: real-time tasks leave fair ones 5 % of a CPU, from 6.12 on.
 *
 * A CPU where fair tasks are runnable has a reservation for them of 50 ms in each
 * second.  Whatever fair tasks run uses it up.  If there is something left when
 * only as much time is left before the deadline, the server begins to serve: fair
 * tasks run before real-time ones until the reservation is used up.  As long as
 * fair tasks wait it then serves at the begin of each period.
 *
 * Order and names follow kernel/sched/deadline.c and fair.c of 6.12 (dl_server_start() to dl_server_stop()).
 * Included by class.h.
 *
 * FIDELITY: there is no timer: the begin of serving, and of a period, is noticed at the next tick of a real-time task.
 */
#ifndef SCHEDLAB_FAIR_SERVER_H
#define SCHEDLAB_FAIR_SERVER_H

typedef struct fair_server __arena fair_server_t;

static inline __unused u32 has_fair_server(sched_t *s)
{
	return tun(s)->fair_server_runtime_us != 0;
}

static inline __unused u64 server_runtime(sched_t *s)
{
	return (u64)tun(s)->fair_server_runtime_us * NSEC_PER_USEC;
}

static inline __unused u64 server_period(sched_t *s)
{
	return (u64)tun(s)->fair_server_period_us * NSEC_PER_USEC;
}

/* Do fair tasks come first? */
static inline __unused u32 server_serves(sched_t *s, rq_t *rq)
{
	return has_fair_server(s) && rq->cfs.server.started && !rq->cfs.server.throttled;
}

/* When something happens next to a server that does not serve: it would be late, or a period begins. */
static inline __unused u64 server_timer(fair_server_t *server)
{
	return server->armed ? server->deadline - (u64)server->runtime : server->deadline;
}

/* replenish_dl_new_period() */
static inline __unused void new_server_period(sched_t *s, fair_server_t *server)
{
	server->deadline = s->now + server_period(s);
	server->runtime = (s64)server_runtime(s);
	if (!server->running)
		server->throttled = server->armed = true;
}

/* dl_entity_overflow(): would what is left until the deadline be more than its part of the CPU? */
static inline __unused u32 server_overflows(sched_t *s, fair_server_t *server)
{
	return server->runtime > 0 &&
	       (u64)server->runtime / 1024 * server_period(s) > (server->deadline - s->now) / 1024 * server_runtime(s);
}

/* dl_server_start(): the first fair task has come.  update_dl_entity(). */
static inline __unused void server_start(sched_t *s, rq_t *rq)
{
	fair_server_t *server = &rq->cfs.server;

	if (!has_fair_server(s) || server->started)
		return;
	server->started = true;
	if (!server->deadline || server->deadline < s->now || server_overflows(s, server))
		new_server_period(s, server);
	else if (!server->running)
		server->throttled = server->armed = true;
	if (server->throttled && server_timer(server) <= s->now)
		server->throttled = server->armed = false;
}

/* dl_server_stop(): the last one has gone. */
static inline __unused void server_stop(sched_t *s, rq_t *rq)
{
	if (has_fair_server(s))
		rq->cfs.server.started = rq->cfs.server.throttled = rq->cfs.server.armed = false;
}

/* dl_server_update(): fair tasks have run for @delta.  If they have had all, the server is not needed any more in this period. */
static inline __unused void server_update(sched_t *s, cfs_rq_t *cfs_rq, u64 delta)
{
	fair_server_t *server = &rq_of(s, cfs_rq->cpu)->cfs.server;

	if (!has_fair_server(s) || queue_group(cfs_rq) || !server->started)
		return;
	server->runtime -= (s64)delta;
	if (server->runtime > 0)
		return;
	if (server->throttled) {
		server->running = false;
		new_server_period(s, server);
		return;
	}
	server->throttled = true;
	resched_cpu(s, cfs_rq->cpu);
}

/* replenish_dl_entity() */
static inline __unused void replenish_server(sched_t *s, fair_server_t *server)
{
	if (server->armed && server_overflows(s, server)) {
		server->deadline = s->now + server_period(s);
		server->runtime = (s64)server_runtime(s);
	}
	repeat_while(s, server->runtime <= 0) {
		server->deadline += server_period(s);
		server->runtime += (s64)server_runtime(s);
	}
	server->throttled = server->armed = false;
}

/* dl_server_timer(), at a tick of a real-time task. */
static inline __unused void server_tick(sched_t *s, rq_t *rq)
{
	fair_server_t *server = &rq->cfs.server;

	if (!has_fair_server(s) || !server->started || !server->throttled || s->now < server_timer(server))
		return;
	server->running |= server->armed;
	replenish_server(s, server);
	resched_cpu(s, rq->cfs.cpu);
}
#endif
