/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * statistics.h - adds the statistics of all CPUs; user space runs this program when it needs
 * them.
 */
#ifndef SCHEDLAB_BPF_STATISTICS_H
#define SCHEDLAB_BPF_STATISTICS_H

struct host_totals {
	struct host_statistics stats;
	u64 counters[MAX_COUNTERS];
	u32 nr_tasks, stopped;
};
struct host_totals host_totals SEC(".data.totals");

#define ADD(field)	host_totals.stats.field += stats->field

static __always_inline void host_add_cpu(sched_t *s, host_cpu_t *host)
{
	struct host_statistics __arena *stats = &host->stats;
	u32 i;

	ADD(schedule_calls);
	ADD(examined);
	ADD(recalculations);
	ADD(recalculated);
	ADD(switches);
	ADD(migrations);
	ADD(wakeups);
	ADD(ticks);
	ADD(locks);
	ADD(failed_locks);
	repeat(s, i, DELAY_BUCKETS)
		host_totals.stats.delay[in_bounds(i, DELAY_BUCKETS)] += stats->delay[i];
	repeat(s, i, MAX_COUNTERS)
		host_totals.counters[in_bounds(i, MAX_COUNTERS)] += HOST_ONLY(&host->s).counters[i];
}

SEC("syscall") int add_up(void *ctx)
{
	sched_t *s = &host_cpu_of(0)->s;
	u32 cpu;

	__builtin_memset(&host_totals.stats, 0, sizeof(host_totals.stats));
	__builtin_memset(&host_totals.counters, 0, sizeof(host_totals.counters));
	repeat(s, cpu, host_config.nr_cpus)
		host_add_cpu(s, host_cpu_of(cpu));
	host_totals.nr_tasks = host_machine.nr_tasks;
	host_totals.stopped = host_machine.stopped;
	return 0;
}
#endif
