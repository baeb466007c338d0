/* SPDX-License-Identifier: GPL-2.0-only */
/* start.h - start-up: memory, topology, and the policy's init(). */
#ifndef SCHEDLAB_BPF_START_H
#define SCHEDLAB_BPF_START_H

#define PAGE_BYTES	4096

static __always_inline u64 __arena *host_allocate(u64 bytes)
{
	u32 pages = (u32)((bytes + PAGE_BYTES - 1) / PAGE_BYTES);

	return bpf_arena_alloc_pages(&host_arena, NULL, pages ? pages : 1, NUMA_NO_NODE, 0);
}

/* A slot's CPU set follows the policy's state of the task. */
static __always_inline void host_lay_out(void)
{
	host_machine.mask_words = (host_config.nr_cpus + 63) / 64;
	host_machine.max_tasks = host_config.max_tasks;
	host_machine.mask_offset = sizeof(struct host_slot) + (POLICY_TASK_SIZE + 7) / 8 * 8;
	host_machine.stride = host_machine.mask_offset + host_machine.mask_words * 8;
	host_machine.prolog_pins = true;
	list_init(&host_machine.tasks);
}

static __always_inline u32 host_allocate_machine(void)
{
	u32 nr = host_config.nr_cpus;

	host_machine.hosts = (host_cpu_t *)host_allocate((u64)nr * sizeof(struct host_cpu));
	host_machine.cpus = (cpu_t *)host_allocate((u64)nr * sizeof(struct cpu));
	host_machine.slots = (u8 __arena *)host_allocate((u64)host_config.max_tasks * host_machine.stride);
	return host_machine.hosts && host_machine.cpus && host_machine.slots;
}

__apart u32 host_init_slots(sched_t *s __in_arena)
{
	u32 i;

	repeat(s, i, host_machine.max_tasks) {
		host_slot_t *slot = host_slot_at(i);

		slot->index = i;
		slot->seal = host_seal(slot);
		slot->next_free = i + 1 < host_machine.max_tasks ? i + 2 : 0;
		slot->t.allowed = (cpumask_t *)((u8 __arena *)slot + host_machine.mask_offset);
		HOST_ONLY(&slot->t).moved_from = 0;		/* nothing reads the list of moved tasks: do not record it */
	}
	host_machine.free = 1;
	return 0;
}

__apart u32 host_init_cpu(u32 cpu, u64 __arena *global __in_arena, u64 __arena *cpus __in_arena)
{
	struct host_place *place = &host_config.place[cpu % MAX_CPUS];
	host_cpu_t *host = host_cpu_of(cpu);
	sched_t *s = &host->s;
	cpu_t *c = host_machine.cpus + cpu;

	c->core = place->core;
	c->llc = place->llc;
	c->node = place->node;
	c->capacity = 1024;
	if (place->online)
		host_machine.online[cpu / 64 % MASK_WORDS] |= 1ull << (cpu % 64);
	s->nr_cpus = host_config.nr_cpus;
	s->smp = host_config.smp;
	s->tick_ns = div_u64(NSEC_PER_SEC, host_config.hz > 0 ? (u64)host_config.hz : host_config.default_hz);
	HOST_ONLY(s).rng = host_first_state(host_config.seed, cpu);
	s->cpus = host_machine.cpus;
	HOST_ONLY(s).global_state = global;
	HOST_ONLY(s).cpu_state = cpus;
	s->tasks = &host_machine.tasks;
	return 0;
}

/* Returns 0, or a negative error number of the kernel. */
static __always_inline s32 host_init_machine(void)
{
	u64 __arena *global, *cpus;
	sched_t *s;
	u32 cpu;

	host_lay_out();
	global = host_allocate(POLICY_GLOBAL_SIZE);
	cpus = host_allocate((u64)host_config.nr_cpus * POLICY_CPU_SIZE);
	if (!host_allocate_machine() || !global || !cpus)
		return -12;	/* ENOMEM */
	s = &host_cpu_of(0)->s;
	repeat(s, cpu, host_config.nr_cpus)
		host_init_cpu(cpu, global, cpus);
	host_init_slots(s);
	return 0;
}

static __always_inline s32 host_init_policy(sched_t *s)
{
	s32 code = hook_init(s);

	host_obey(s, HOOK_INIT);
	if (code && !host_machine.stopped)
		host_fail("init() fails with %d", (u64)code);
	return code || host_machine.stopped ? -22 : 0;	/* EINVAL */
}

SEC("struct_ops.s/init") s32 init_op(u64 *ctx)
{
	s32 code = host_init_machine();
	sched_t *s;

	if (code)
		return code;
	s = host_view(0);
	host_init_timers(s);	/* before init(), which may start timers */
	return host_init_policy(s);
}
#endif
