/* SPDX-License-Identifier: GPL-2.0-only */
/* tasks.h - tasks start, change and end. */
#ifndef SCHEDLAB_BPF_TASKS_H
#define SCHEDLAB_BPF_TASKS_H

/* ---- slots ------------------------------------------------------------------------ */

/*
 * Takes a free slot; NULL if there is none.  No lock: the tag makes each state of the list
 * unique.
 */
__apart u64 host_take_slot(sched_t *s __in_arena)
{
	u64 head = READ_ONCE(host_machine.free), seen;

	repeat_while(s, (u32)head) {
		host_slot_t *slot = host_slot_at((u32)head - 1);
		u64 next = ((head >> 32) + 1) << 32 | slot->next_free;

		seen = __sync_val_compare_and_swap(&host_machine.free, head, next);
		if (seen == head)
			return (u64)slot;
		head = seen;
	}
	return 0;
}

__apart u32 host_return_slot(sched_t *s __in_arena, host_slot_t *slot __in_arena)
{
	u64 head = READ_ONCE(host_machine.free), seen;
	u32 done = false;

	slot->kernel = 0;
	slot->generation++;
	repeat_while(s, !done) {
		slot->next_free = (u32)head;
		seen = __sync_val_compare_and_swap(&host_machine.free, head,
						   ((head >> 32) + 1) << 32 | (slot->index + 1));
		done = seen == head;
		head = seen;
	}
	return 0;
}

/* Holds a reference, so that the kernel's task stays valid. */
static __always_inline void host_hold_task(u32 index, struct task_struct *p)
{
	struct host_kernel_task *entry = bpf_map_lookup_elem(&host_kernel_tasks, &index);
	struct task_struct *held = bpf_task_acquire(p);

	if (held && entry)
		held = bpf_kptr_xchg(&entry->task, held);
	if (held)
		bpf_task_release(held);
}

static __always_inline void host_release_task(u32 index)
{
	struct host_kernel_task *entry = bpf_map_lookup_elem(&host_kernel_tasks, &index);
	struct task_struct *held = entry ? bpf_kptr_xchg(&entry->task, NULL) : NULL;

	if (held)
		bpf_task_release(held);
}

__apart u32 host_link_task(task_t *t __in_arena)
{
	if (!GLOBAL_LOCK)
		host_lock(&host_machine.list_lock);
	list_add_tail(&t->all, &host_machine.tasks);
	host_machine.nr_tasks++;
	if (!GLOBAL_LOCK)
		host_unlock(&host_machine.list_lock);
	return 0;
}

/*
 * Keeps t's own links: a CPU that walks the list without its lock (LOCK_PER_CPU) can continue
 * from here.
 */
__apart u32 host_unlink_task(task_t *t __in_arena)
{
	if (!GLOBAL_LOCK)
		host_lock(&host_machine.list_lock);
	t->all.prev->next = t->all.next;
	t->all.next->prev = t->all.prev;
	host_machine.nr_tasks--;
	if (!GLOBAL_LOCK)
		host_unlock(&host_machine.list_lock);
	return 0;
}

/* ---- public fields ---------------------------------------------------------------- */

static __always_inline u32 host_class_of(struct task_struct *p)
{
	if (p->policy == KERNEL_SCHED_BATCH)
		return CLASS_BATCH;
	return p->policy == KERNEL_SCHED_IDLE ? CLASS_IDLE : CLASS_NORMAL;
}

/*
 * An address space is numbered by the address of its mm_struct.  The 32 bits above the lowest 6
 * differ for all 64-byte lines within 256 GiB.  The value goes through the arena because the
 * verifier does not allow shifts of a pointer.
 */
static __always_inline void host_read_mm(struct task_struct *p, host_slot_t *slot)
{
	*(volatile u64 __arena *)&slot->kernel_mm = (u64)p->mm;
	slot->t.mm = (u32)(READ_ONCE(slot->kernel_mm) >> 6);
}

/*
 * Must @p stay on its CPU?  On kernels with preemptible RCU, running a BPF program increments
 * migration_disabled of the current task; that increment does not count.
 */
static __always_inline u32 host_is_pinned(struct task_struct *p)
{
	u32 disabled = p->migration_disabled;

	if (!disabled)
		return false;
	return disabled > 1 || !host_machine.prolog_pins || bpf_get_current_task_btf() != p;
}

__apart u32 host_set_only_cpu(sched_t *s __in_arena, task_t *t __in_arena, u32 cpu)
{
	u32 word;

	repeat(s, word, host_machine.mask_words)
		t->allowed->bits[word] = word == cpu / 64 ? 1ull << (cpu % 64) : 0;
	t->nr_allowed = 1;
	return 0;
}

__apart u32 host_read_cpus(sched_t *s __in_arena, host_slot_t *slot __in_arena)
{
	task_t *t = &slot->t;
	u64 mask = slot->kernel_mask;
	u32 word, nr = 0;

	repeat(s, word, host_machine.mask_words) {
		u64 bits = 0;

		bpf_probe_read_kernel(&bits, sizeof(bits), (const void *)(mask + word * sizeof(bits)));
		bits &= host_machine.online[word];
		t->allowed->bits[word] = bits;
		nr += count_bits(bits);
	}
	t->nr_allowed = nr;
	return 0;
}

static __always_inline void host_read_affinity(sched_t *s, struct task_struct *p, host_slot_t *slot)
{
	if (slot->pinned) {
		host_set_only_cpu(s, &slot->t, (u32)scx_bpf_task_cpu(p));
		return;
	}
	slot->kernel_mask = (u64)p->cpus_ptr;	/* an __apart function cannot take a kernel pointer */
	host_read_cpus(s, slot);
}

/* The kernel does not report that a task's migration was disabled, so test it. */
static __always_inline void host_follow_affinity(sched_t *s, struct task_struct *p, host_slot_t *slot)
{
	u32 pinned = host_is_pinned(p);

	if (slot->pinned == pinned)
		return;
	slot->pinned = (u8)pinned;
	host_read_affinity(s, p, slot);
	hook_set_cpumask(s, &slot->t);
}

/* May @p run on CPU @cpu, for the policy and for the kernel? */
static __always_inline u32 host_may_run(struct task_struct *p, host_slot_t *slot, u32 cpu)
{
	return cpu_allowed(&slot->t, cpu) && (!slot->pinned || (u32)scx_bpf_task_cpu(p) == cpu);
}

/* ---- beginning and end ------------------------------------------------------------- */

__apart u32 host_clear(sched_t *s __in_arena, u64 __arena *words __in_arena, u32 nr)
{
	u32 i;

	repeat(s, i, nr)
		words[i] = 0;
	return 0;
}

/* The slice that the task asked for with sched_setattr(), in ns; 0 if none. */
static __always_inline u64 host_slice_of(struct task_struct *p)
{
	return p->se.custom_slice ? p->se.slice : 0;
}

static __always_inline void host_fill_slot(sched_t *s, host_slot_t *slot, struct task_struct *p)
{
	task_t *t = &slot->t;

	host_clear(s, (u64 __arena *)(t + 1), (POLICY_TASK_SIZE + 7) / 8);
	slot->born = 1;
	slot->queued = slot->yielded = 0;
	slot->waker = NO_WAKER;
	slot->wake_flags = 0;
	slot->parent = NULL;
	t->id = host_machine.last_id++;
	t->cpu = (u32)scx_bpf_task_cpu(p);
	slot->ran_on = (u16)t->cpu;
	t->on_cpu = 0;
	t->nice = p->static_prio - DEFAULT_PRIO;
	t->class = host_class_of(p);
	t->rt_priority = 0;
	host_read_mm(p, slot);
	t->slice_ns = host_slice_of(p);
	t->util_min = 0;
	t->util_max = 1024;
	t->flags = p->flags & PF_KTHREAD ? TASK_KTHREAD : 0;
	t->parent = NULL;
	slot->pinned = (u8)host_is_pinned(p);
	host_read_affinity(s, p, slot);
}

static __always_inline void host_set_parent(host_slot_t *slot, host_slot_t *parent)
{
	slot->parent = parent;
	slot->parent_generation = parent->generation;
	slot->t.parent = &parent->t;
}

/* Removes the parent if it has ended. */
static __always_inline void host_check_parent(host_slot_t *slot)
{
	if (slot->parent && slot->parent->generation != slot->parent_generation) {
		slot->parent = NULL;
		slot->t.parent = NULL;
	}
}

/* The task that forks @p; NULL if @p existed before the scheduler was loaded. */
static __always_inline host_slot_t *host_forking_parent(struct task_struct *p)
{
	if (!(p->__state & TASK_NEW))
		return NULL;
	return host_slot_of(bpf_get_current_task_btf());
}

static __always_inline void host_task_begins(struct task_struct *p)
{
	host_slot_t *parent = host_forking_parent(p), *slot;
	u32 cpu = parent ? parent->t.cpu : (u32)scx_bpf_task_cpu(p);
	sched_t *s = host_begin(cpu);

	if (!s)
		return;
	slot = (host_slot_t *)host_take_slot(s);
	if (!slot) {
		host_fail("task limit of %d reached; see --max-tasks", host_machine.max_tasks);
		host_end(s, cpu, HOOK_FORK);
		return;
	}
	slot->kernel = (u64)p;
	host_hold_task(slot->index, p);
	scx_bpf_task_set_dsq_vtime(p, (u64)slot);
	host_fill_slot(s, slot, p);
	if (parent)
		host_set_parent(slot, parent);
	host_link_task(&slot->t);
	s->nr_tasks = host_machine.nr_tasks;
	call_hook(fork, s, parent ? &parent->t : NULL, &slot->t);
	host_end(s, cpu, HOOK_FORK);
}

static __always_inline void host_task_ends(struct task_struct *p, host_slot_t *slot)
{
	host_slot_t *reaper = p->__state & TASK_DEAD ? host_slot_of(p->real_parent) : NULL;
	task_t *where = reaper ? &reaper->t : &slot->t;
	sched_t *s = host_begin_for(where);

	if (s) {
		u32 cpu = where->cpu;

		if (reaper && host_slot_of(p->real_parent) != reaper)
			reaper = NULL;	/* it ended while we waited for the lock */
		host_check_parent(slot);
		call_hook(exit, s, &slot->t, reaper ? &reaper->t : NULL);
		host_unlink_task(&slot->t);
		host_return_slot(s, slot);
		host_end(s, cpu, HOOK_EXIT);
	}
	host_release_task(slot->index);
}

/* ---- attributes -------------------------------------------------------------------- */

static __always_inline void host_follow_attributes(sched_t *s, struct task_struct *p, task_t *t)
{
	u32 class = host_class_of(p), old_class = t->class;
	s32 nice = p->static_prio - DEFAULT_PRIO, old_nice = t->nice;

	t->nice = nice;
	t->class = class;
	if (nice != old_nice)
		hook_set_nice(s, t, old_nice);
	if (class != old_class)
		hook_set_class(s, t, old_class, 0);
	if (host_slice_of(p) != t->slice_ns) {
		t->slice_ns = host_slice_of(p);
		hook_set_slice(s, t);
	}
}
#endif
