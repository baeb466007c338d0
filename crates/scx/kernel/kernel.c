/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * kernel.c - the simulated kernel as BPF programs see it: its types, its variables
 * and the functions they may call (kfuncs).
 *
 * It is compiled for its type information alone: the bodies are never run.  What a
 * kfunc does is in src/ext/kfuncs.rs and src/helpers/.  The kernel passes some
 * kfuncs an argument of its own (KF_IMPLICIT_ARGS); programs do not see it, so it
 * is not here.
 */
#include "types.h"

/* ---- variables --------------------------------------------------------------- */

#define PER_CPU __attribute__((section(".data..percpu")))

struct rq runqueues PER_CPU;
struct cpufreq_policy *cpufreq_cpu_data PER_CPU;

/*
 * ---- all types, whether or not anything uses them ----------------------------------
 *
 * The compiler leaves out types that are only pointed to.
 */

struct scx_types {
	struct task_struct task_struct;
	struct cgroup cgroup;
	struct kernfs_node kernfs_node;
	struct css_set css_set;
	struct task_group task_group;
	struct mm_struct mm_struct;
	struct mempolicy mempolicy;
	class_rcu_t class_rcu;
	struct cpufreq_policy cpufreq_policy;
	struct scx_exit_info exit_info;
	struct scx_init_task_args init_task_args;
	struct scx_exit_task_args exit_task_args;
	struct scx_cgroup_init_args cgroup_init_args;
	struct scx_cpu_acquire_args cpu_acquire_args;
	struct scx_cpu_release_args cpu_release_args;
	struct scx_dump_ctx dump_ctx;
	struct scx_sub_attach_args sub_attach_args;
	struct scx_sub_detach_args sub_detach_args;
	struct sched_ext_ops sched_ext_ops;
	struct bpf_struct_ops_sched_ext_ops value;
	struct scx_bpf_dsq_insert_vtime_args dsq_insert_vtime_args;
	struct scx_bpf_select_cpu_and_args select_cpu_and_args;
	struct scx_event_stats event_stats;
	struct bpf_cpumask bpf_cpumask;
	struct bpf_list_head bpf_list_head;
	struct bpf_list_node bpf_list_node;
	struct bpf_rb_root bpf_rb_root;
	struct bpf_rb_node bpf_rb_node;
	enum scx_public_consts public_consts;
	enum scx_consts consts;
	enum scx_dsq_id_flags dsq_id;
	enum scx_ent_flags ent;
	enum scx_ent_dsq_flags ent_dsq;
	enum scx_exit_code exit_code;
	enum scx_exit_flags exit;
	enum scx_ops_flags ops;
	enum scx_wake_flags wake;
	enum scx_enq_flags enq;
	enum scx_deq_flags deq;
	enum scx_reenq_flags reenq;
	enum scx_pick_idle_cpu_flags pick_idle_cpu;
	enum scx_kick_flags kick;
	enum scx_dsq_iter_flags dsq_iter;
	enum scx_tg_flags tg;
	enum scx_ops_state opss;
	struct list_head list_head;
	struct rb_node rb_node;
	struct bpf_timer timer;
	struct bpf_spin_lock spin_lock;
	struct bpf_refcount refcount;
	struct bpf_map map;
	atomic_long_t atomic_long;
	cpumask_var_t cpumask_var;
	s8 s8;
	s16 s16;
	u16 u16;
	__u8 __u8;
	__s32 __s32;
	__s64 __s64;
};

/* The kernel's own entry of the table of struct_ops types. */
int bpf_scx_reg(struct bpf_struct_ops_sched_ext_ops *value, struct scx_types *types) { return 0; }

/* ---- kfuncs: sched_ext, kernel/sched/ext.c and ext_idle.c ------------------------- */

s32 scx_bpf_create_dsq(u64 dsq_id, s32 node) { return 0; }
void scx_bpf_destroy_dsq(u64 dsq_id) { }
s32 scx_bpf_dsq_nr_queued(u64 dsq_id) { return 0; }
struct task_struct *scx_bpf_dsq_peek(u64 dsq_id) { return 0; }
void scx_bpf_dsq_reenq(u64 dsq_id, u64 reenq_flags) { }
u32 scx_bpf_reenqueue_local(void) { return 0; }
void scx_bpf_reenqueue_local___v2(void) { }

void scx_bpf_dsq_insert(struct task_struct *p, u64 dsq_id, u64 slice, u64 enq_flags) { }
bool scx_bpf_dsq_insert___v2(struct task_struct *p, u64 dsq_id, u64 slice, u64 enq_flags) { return 0; }
void scx_bpf_dsq_insert_vtime(struct task_struct *p, u64 dsq_id, u64 slice, u64 vtime, u64 enq_flags) { }
bool __scx_bpf_dsq_insert_vtime(struct task_struct *p, struct scx_bpf_dsq_insert_vtime_args *args) { return 0; }

u32 scx_bpf_dispatch_nr_slots(void) { return 0; }
void scx_bpf_dispatch_cancel(void) { }
bool scx_bpf_dsq_move_to_local(u64 dsq_id) { return 0; }
bool scx_bpf_dsq_move_to_local___v2(u64 dsq_id, u64 enq_flags) { return 0; }

int bpf_iter_scx_dsq_new(struct bpf_iter_scx_dsq *it, u64 dsq_id, u64 flags) { return 0; }
struct task_struct *bpf_iter_scx_dsq_next(struct bpf_iter_scx_dsq *it) { return 0; }
void bpf_iter_scx_dsq_destroy(struct bpf_iter_scx_dsq *it) { }
void scx_bpf_dsq_move_set_slice(struct bpf_iter_scx_dsq *it__iter, u64 slice) { }
void scx_bpf_dsq_move_set_vtime(struct bpf_iter_scx_dsq *it__iter, u64 vtime) { }
bool scx_bpf_dsq_move(struct bpf_iter_scx_dsq *it__iter, struct task_struct *p, u64 dsq_id, u64 enq_flags) { return 0; }
bool scx_bpf_dsq_move_vtime(struct bpf_iter_scx_dsq *it__iter, struct task_struct *p, u64 dsq_id, u64 enq_flags) { return 0; }

/* The names of Linux 6.12, which had no others. */
void scx_bpf_dispatch(struct task_struct *p, u64 dsq_id, u64 slice, u64 enq_flags) { }
void scx_bpf_dispatch_vtime(struct task_struct *p, u64 dsq_id, u64 slice, u64 vtime, u64 enq_flags) { }
bool scx_bpf_consume(u64 dsq_id) { return 0; }
void scx_bpf_dispatch_from_dsq_set_slice(struct bpf_iter_scx_dsq *it__iter, u64 slice) { }
void scx_bpf_dispatch_from_dsq_set_vtime(struct bpf_iter_scx_dsq *it__iter, u64 vtime) { }
bool scx_bpf_dispatch_from_dsq(struct bpf_iter_scx_dsq *it__iter, struct task_struct *p, u64 dsq_id, u64 enq_flags) { return 0; }
bool scx_bpf_dispatch_vtime_from_dsq(struct bpf_iter_scx_dsq *it__iter, struct task_struct *p, u64 dsq_id, u64 enq_flags) { return 0; }

s32 scx_bpf_select_cpu_dfl(struct task_struct *p, s32 prev_cpu, u64 wake_flags, bool *is_idle) { return 0; }
s32 scx_bpf_select_cpu_and(struct task_struct *p, s32 prev_cpu, u64 wake_flags, const struct cpumask *cpus_allowed, u64 flags) { return 0; }
s32 __scx_bpf_select_cpu_and(struct task_struct *p, const struct cpumask *cpus_allowed, struct scx_bpf_select_cpu_and_args *args) { return 0; }
const struct cpumask *scx_bpf_get_idle_cpumask(void) { return 0; }
const struct cpumask *scx_bpf_get_idle_cpumask_node(s32 node) { return 0; }
const struct cpumask *scx_bpf_get_idle_smtmask(void) { return 0; }
const struct cpumask *scx_bpf_get_idle_smtmask_node(s32 node) { return 0; }
void scx_bpf_put_idle_cpumask(const struct cpumask *idle_mask) { }
bool scx_bpf_test_and_clear_cpu_idle(s32 cpu) { return 0; }
s32 scx_bpf_pick_idle_cpu(const struct cpumask *cpus_allowed, u64 flags) { return 0; }
s32 scx_bpf_pick_idle_cpu_node(const struct cpumask *cpus_allowed, s32 node, u64 flags) { return 0; }
s32 scx_bpf_pick_any_cpu(const struct cpumask *cpus_allowed, u64 flags) { return 0; }
s32 scx_bpf_pick_any_cpu_node(const struct cpumask *cpus_allowed, s32 node, u64 flags) { return 0; }
s32 scx_bpf_cpu_node(s32 cpu) { return 0; }
void scx_bpf_kick_cpu(s32 cpu, u64 flags) { }

void scx_bpf_exit_bstr(s64 exit_code, char *fmt, unsigned long long *data, u32 data__sz) { }
void scx_bpf_error_bstr(char *fmt, unsigned long long *data, u32 data__sz) { }
void scx_bpf_dump_bstr(char *fmt, unsigned long long *data, u32 data__sz) { }

u32 scx_bpf_cpuperf_cap(s32 cpu) { return 0; }
u32 scx_bpf_cpuperf_cur(s32 cpu) { return 0; }
void scx_bpf_cpuperf_set(s32 cpu, u32 perf) { }
u32 scx_bpf_nr_node_ids(void) { return 0; }
u32 scx_bpf_nr_cpu_ids(void) { return 0; }
const struct cpumask *scx_bpf_get_possible_cpumask(void) { return 0; }
const struct cpumask *scx_bpf_get_online_cpumask(void) { return 0; }
void scx_bpf_put_cpumask(const struct cpumask *cpumask) { }
bool scx_bpf_task_running(const struct task_struct *p) { return 0; }
s32 scx_bpf_task_cpu(const struct task_struct *p) { return 0; }
struct rq *scx_bpf_cpu_rq(s32 cpu) { return 0; }
struct rq *scx_bpf_locked_rq(void) { return 0; }
struct task_struct *scx_bpf_cpu_curr(s32 cpu) { return 0; }
struct cgroup *scx_bpf_task_cgroup(struct task_struct *p) { return 0; }
u64 scx_bpf_now(void) { return 0; }
void scx_bpf_events(struct scx_event_stats *events, size_t events__sz) { }
bool scx_bpf_task_set_slice(struct task_struct *p, u64 slice) { return 0; }
bool scx_bpf_task_set_dsq_vtime(struct task_struct *p, u64 vtime) { return 0; }

/* ---- kfuncs: CPU masks, kernel/bpf/cpumask.c ---------------------------------------- */

struct bpf_cpumask *bpf_cpumask_create(void) { return 0; }
struct bpf_cpumask *bpf_cpumask_acquire(struct bpf_cpumask *cpumask) { return 0; }
void bpf_cpumask_release(struct bpf_cpumask *cpumask) { }
u32 bpf_cpumask_first(const struct cpumask *cpumask) { return 0; }
u32 bpf_cpumask_first_zero(const struct cpumask *cpumask) { return 0; }
u32 bpf_cpumask_first_and(const struct cpumask *src1, const struct cpumask *src2) { return 0; }
void bpf_cpumask_set_cpu(u32 cpu, struct bpf_cpumask *cpumask) { }
void bpf_cpumask_clear_cpu(u32 cpu, struct bpf_cpumask *cpumask) { }
bool bpf_cpumask_test_cpu(u32 cpu, const struct cpumask *cpumask) { return 0; }
bool bpf_cpumask_test_and_set_cpu(u32 cpu, struct bpf_cpumask *cpumask) { return 0; }
bool bpf_cpumask_test_and_clear_cpu(u32 cpu, struct bpf_cpumask *cpumask) { return 0; }
void bpf_cpumask_setall(struct bpf_cpumask *cpumask) { }
void bpf_cpumask_clear(struct bpf_cpumask *cpumask) { }
bool bpf_cpumask_and(struct bpf_cpumask *dst, const struct cpumask *src1, const struct cpumask *src2) { return 0; }
void bpf_cpumask_or(struct bpf_cpumask *dst, const struct cpumask *src1, const struct cpumask *src2) { }
void bpf_cpumask_xor(struct bpf_cpumask *dst, const struct cpumask *src1, const struct cpumask *src2) { }
bool bpf_cpumask_equal(const struct cpumask *src1, const struct cpumask *src2) { return 0; }
bool bpf_cpumask_intersects(const struct cpumask *src1, const struct cpumask *src2) { return 0; }
bool bpf_cpumask_subset(const struct cpumask *src1, const struct cpumask *src2) { return 0; }
bool bpf_cpumask_empty(const struct cpumask *cpumask) { return 0; }
bool bpf_cpumask_full(const struct cpumask *cpumask) { return 0; }
void bpf_cpumask_copy(struct bpf_cpumask *dst, const struct cpumask *src) { }
u32 bpf_cpumask_any_distribute(const struct cpumask *cpumask) { return 0; }
u32 bpf_cpumask_any_and_distribute(const struct cpumask *src1, const struct cpumask *src2) { return 0; }
u32 bpf_cpumask_weight(const struct cpumask *cpumask) { return 0; }
int bpf_cpumask_populate(struct bpf_cpumask *cpumask, void *src, size_t src__sz) { return 0; }

/* ---- kfuncs: tasks, groups, iterators, kernel/bpf/helpers.c ---------------------------- */

void bpf_rcu_read_lock(void) { }
void bpf_rcu_read_unlock(void) { }
void bpf_preempt_disable(void) { }
void bpf_preempt_enable(void) { }
void bpf_local_irq_save(unsigned long *flags__irq_flag) { }
void bpf_local_irq_restore(unsigned long *flags__irq_flag) { }
int bpf_res_spin_lock(struct bpf_res_spin_lock *lock) { return 0; }
void bpf_res_spin_unlock(struct bpf_res_spin_lock *lock) { }
int bpf_res_spin_lock_irqsave(struct bpf_res_spin_lock *lock, unsigned long *flags__irq_flag) { return 0; }
void bpf_res_spin_unlock_irqrestore(struct bpf_res_spin_lock *lock, unsigned long *flags__irq_flag) { }
void *bpf_cast_to_kern_ctx(void *obj) { return 0; }
void *bpf_rdonly_cast(const void *obj__ign, u32 btf_id__k) { return 0; }
void bpf_throw(u64 cookie) { }

struct task_struct *bpf_task_acquire(struct task_struct *p) { return 0; }
void bpf_task_release(struct task_struct *p) { }
struct task_struct *bpf_task_from_pid(s32 pid) { return 0; }
struct task_struct *bpf_task_from_vpid(s32 vpid) { return 0; }
long bpf_task_under_cgroup(struct task_struct *task, struct cgroup *ancestor) { return 0; }
struct cgroup *bpf_cgroup_acquire(struct cgroup *cgrp) { return 0; }
void bpf_cgroup_release(struct cgroup *cgrp) { }
struct cgroup *bpf_cgroup_ancestor(struct cgroup *cgrp, int level) { return 0; }
struct cgroup *bpf_cgroup_from_id(u64 cgid) { return 0; }

int bpf_iter_num_new(struct bpf_iter_num *it, int start, int end) { return 0; }
int *bpf_iter_num_next(struct bpf_iter_num *it) { return 0; }
void bpf_iter_num_destroy(struct bpf_iter_num *it) { }
int bpf_iter_bits_new(struct bpf_iter_bits *it, const u64 *unsafe_ptr__ign, u32 nr_words) { return 0; }
int *bpf_iter_bits_next(struct bpf_iter_bits *it) { return 0; }
void bpf_iter_bits_destroy(struct bpf_iter_bits *it) { }
int bpf_iter_task_new(struct bpf_iter_task *it, struct task_struct *task__nullable, unsigned int flags) { return 0; }
struct task_struct *bpf_iter_task_next(struct bpf_iter_task *it) { return 0; }
void bpf_iter_task_destroy(struct bpf_iter_task *it) { }
int bpf_iter_css_task_new(struct bpf_iter_css_task *it, struct cgroup_subsys_state *css, unsigned int flags) { return 0; }
struct task_struct *bpf_iter_css_task_next(struct bpf_iter_css_task *it) { return 0; }
void bpf_iter_css_task_destroy(struct bpf_iter_css_task *it) { }
int bpf_iter_css_new(struct bpf_iter_css *it, struct cgroup_subsys_state *start, unsigned int flags) { return 0; }
struct cgroup_subsys_state *bpf_iter_css_next(struct bpf_iter_css *it) { return 0; }
void bpf_iter_css_destroy(struct bpf_iter_css *it) { }

/* ---- kfuncs: objects, kernel/bpf/helpers.c ---------------------------------------------- */

void *bpf_obj_new_impl(u64 local_type_id__k, void *meta__ign) { return 0; }
void bpf_obj_drop_impl(void *p__alloc, void *meta__ign) { }
void *bpf_percpu_obj_new_impl(u64 local_type_id__k, void *meta__ign) { return 0; }
void bpf_percpu_obj_drop_impl(void *p__alloc, void *meta__ign) { }
void *bpf_refcount_acquire_impl(void *p__refcounted_kptr, void *meta__ign) { return 0; }
int bpf_list_push_front_impl(struct bpf_list_head *head, struct bpf_list_node *node, void *meta__ign, u64 off) { return 0; }
int bpf_list_push_back_impl(struct bpf_list_head *head, struct bpf_list_node *node, void *meta__ign, u64 off) { return 0; }
struct bpf_list_node *bpf_list_pop_front(struct bpf_list_head *head) { return 0; }
struct bpf_list_node *bpf_list_pop_back(struct bpf_list_head *head) { return 0; }
struct bpf_list_node *bpf_list_front(struct bpf_list_head *head) { return 0; }
struct bpf_list_node *bpf_list_back(struct bpf_list_head *head) { return 0; }
int bpf_rbtree_add_impl(struct bpf_rb_root *root, struct bpf_rb_node *node, bool (*less)(struct bpf_rb_node *a, const struct bpf_rb_node *b), void *meta__ign, u64 off) { return 0; }
struct bpf_rb_node *bpf_rbtree_remove(struct bpf_rb_root *root, struct bpf_rb_node *node) { return 0; }
struct bpf_rb_node *bpf_rbtree_first(struct bpf_rb_root *root) { return 0; }

/* ---- kfuncs: arenas, strings, streams ------------------------------------------------------ */

#define ARENA __attribute__((address_space(1)))

void ARENA *bpf_arena_alloc_pages(void *p__map, void ARENA *addr__ign, u32 page_cnt, int node_id, u64 flags) { return 0; }
void bpf_arena_free_pages(void *p__map, void ARENA *ptr__ign, u32 page_cnt) { }
int bpf_arena_reserve_pages(void *p__map, void ARENA *ptr__ign, u32 page_cnt) { return 0; }

int bpf_strcmp(const char *s1__ign, const char *s2__ign) { return 0; }
int bpf_strcasecmp(const char *s1__ign, const char *s2__ign) { return 0; }
int bpf_strchr(const char *s__ign, char c) { return 0; }
int bpf_strrchr(const char *s__ign, int c) { return 0; }
int bpf_strlen(const char *s__ign) { return 0; }
int bpf_strnlen(const char *s__ign, size_t count) { return 0; }
int bpf_strspn(const char *s__ign, const char *accept__ign) { return 0; }
int bpf_strcspn(const char *s__ign, const char *reject__ign) { return 0; }
int bpf_strstr(const char *s1__ign, const char *s2__ign) { return 0; }
int bpf_strnstr(const char *s1__ign, const char *s2__ign, size_t len) { return 0; }
int bpf_stream_vprintk(int stream_id, const char *fmt__str, const void *args, u32 len__sz) { return 0; }
