/* SPDX-License-Identifier: GPL-2.0-only */
/* recorder.h - what the schedulers of the tests are made of: they note each call of an operation. */
#include "types.h"

#define OP(name) __attribute__((section("ops/" #name), used)) u64 op_##name(u64 *ctx)
#define TRACEPOINT(name) __attribute__((section("tp_btf/" #name), used)) u64 on_##name(u64 *ctx)
#define CALLBACK static __attribute__((noinline, used))

/* ---- what they call ------------------------------------------------------ */

extern s32 scx_bpf_create_dsq(u64 dsq_id, s32 node);
extern void scx_bpf_destroy_dsq(u64 dsq_id);
extern s32 scx_bpf_dsq_nr_queued(u64 dsq_id);
extern struct task_struct *scx_bpf_dsq_peek(u64 dsq_id);
extern void scx_bpf_dsq_reenq(u64 dsq_id, u64 flags);
extern void scx_bpf_dsq_insert(struct task_struct *p, u64 dsq_id, u64 slice, u64 enq_flags);
extern void scx_bpf_dsq_insert_vtime(struct task_struct *p, u64 dsq_id, u64 slice, u64 vtime, u64 enq_flags);
extern bool scx_bpf_dsq_move_to_local(u64 dsq_id);
extern u32 scx_bpf_dispatch_nr_slots(void);
extern void scx_bpf_dispatch_cancel(void);
extern int bpf_iter_scx_dsq_new(struct bpf_iter_scx_dsq *it, u64 dsq_id, u64 flags);
extern struct task_struct *bpf_iter_scx_dsq_next(struct bpf_iter_scx_dsq *it);
extern void bpf_iter_scx_dsq_destroy(struct bpf_iter_scx_dsq *it);
extern void scx_bpf_dsq_move_set_slice(struct bpf_iter_scx_dsq *it, u64 slice);
extern bool scx_bpf_dsq_move(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq_id, u64 enq_flags);
extern s32 scx_bpf_select_cpu_dfl(struct task_struct *p, s32 prev_cpu, u64 wake_flags, bool *is_idle);
extern s32 scx_bpf_select_cpu_and(struct task_struct *p, s32 prev_cpu, u64 wake_flags, const struct cpumask *cpus_allowed, u64 flags);
extern const struct cpumask *scx_bpf_get_idle_cpumask(void);
extern const struct cpumask *scx_bpf_get_idle_smtmask(void);
extern s32 scx_bpf_pick_idle_cpu(const struct cpumask *cpus_allowed, u64 flags);
extern s32 scx_bpf_pick_any_cpu(const struct cpumask *cpus_allowed, u64 flags);
extern bool scx_bpf_test_and_clear_cpu_idle(s32 cpu);
extern void scx_bpf_kick_cpu(s32 cpu, u64 flags);
extern void scx_bpf_error_bstr(char *fmt, unsigned long long *data, u32 data__sz);
extern void scx_bpf_exit_bstr(s64 exit_code, char *fmt, unsigned long long *data, u32 data__sz);
extern void scx_bpf_dump_bstr(char *fmt, unsigned long long *data, u32 data__sz);
extern struct rq *scx_bpf_locked_rq(void);
extern struct task_struct *scx_bpf_cpu_curr(s32 cpu);
extern struct cgroup *scx_bpf_task_cgroup(struct task_struct *p);
extern bool scx_bpf_task_running(const struct task_struct *p);
extern u64 scx_bpf_now(void);

static void *(*const bpf_get_current_task_btf)(void) = (void *)158;

/* ---- what they note -------------------------------------------------------- */

struct note {
	char what[16];
	u64 who, number;
};

/* Read by the tests: it comes first, in a section of its own. */
__attribute__((section(".bss.notes"), used)) struct notes {
	u64 count;
	struct note notes[512];
} notes;

/* Numbers the tests set before a run, in a section of their own. */
__attribute__((section(".data.set"), used)) volatile u64 set[8] = { 0 };

static inline __attribute__((always_inline)) void note(const char *what, u64 who, u64 number)
{
	struct note *n = &notes.notes[notes.count % 512];

	__builtin_memset(n->what, 0, sizeof(n->what));
	for (int i = 0; i < 15 && what[i]; i++)
		n->what[i] = what[i];
	n->who = who;
	n->number = number;
	notes.count++;
}

static inline __attribute__((always_inline)) u64 number_of(struct task_struct *p)
{
	return p ? (u64)p->pid : 0;
}

#define TASK	((struct task_struct *)ctx[0])
#define SLICE	20000000ULL
