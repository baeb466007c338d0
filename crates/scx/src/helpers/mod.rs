//! What programs call: BPF helpers, and kfuncs that have nothing to do with sched_ext.
//!
//! Pointers are addresses as programs see them; reading outside the machine's memory gives zeros.  Everything runs
//! on one thread, so locks, RCU and preemption need nothing.

use crate::btf::Btf;
use crate::machine::{Errno, Machine};
use crate::memory::Outside;

/// Defines functions that programs call: the machine, then the arguments that matter.
macro_rules! calls {
    ($($name:ident($m:ident $(, $argument:ident)*) $body:block)*) => { $(
        pub(crate) extern "C" fn $name(
            $m: &mut $crate::machine::Machine,
            r1: u64,
            r2: u64,
            r3: u64,
            r4: u64,
            r5: u64,
        ) -> u64 {
            let [$($argument,)* ..] = [r1, r2, r3, r4, r5];
            $body
        }
    )* };
}

pub(crate) use calls;

mod arena;
mod basic;
mod cpumask;
mod format;
mod iterators;
mod maps;
mod names;
mod objects;
mod rings;
mod strings;
mod tasks;
mod timers;

pub use names::NAMES;

/// What a program calls: the machine and r1 to r5; the answer is r0.
pub type Call = extern "C" fn(&mut Machine, u64, u64, u64, u64, u64) -> u64;

/// A kfunc, found by name.
#[derive(Clone, Copy, Debug)]
pub struct Kfunc {
    /// As the kernel has it.
    pub name: &'static str,
    /// What it does.
    pub call: Call,
}

/// A helper of `enum bpf_func_id`.
#[derive(Clone, Copy, Debug)]
pub struct Helper {
    /// Its number.
    pub id: u32,
    /// What it does.
    pub call: Call,
}

impl Helper {
    /// Its name, without bpf_.
    pub fn name(&self) -> &'static str {
        NAMES[self.id as usize]
    }
}

/// Builds a table of helpers.
macro_rules! helpers {
    ($($id:literal $($call:ident)::+,)*) => {
        &[$(Helper { id: $id, call: $($call)::+ },)*]
    };
}

/// Builds a table of kfuncs; the function is called as the kfunc is, unless said otherwise.
macro_rules! kfuncs {
    ($($name:ident $module:ident::$call:ident,)*) => {
        &[$(Kfunc { name: stringify!($name), call: $module::$call },)*]
    };
}

/// The helpers there are, by number.
pub static HELPERS: &[Helper] = helpers![
    1 maps::lookup,
    2 maps::update,
    3 maps::delete,
    4 basic::probe_read,
    5 basic::ktime,
    6 format::trace_printk,
    7 basic::prandom,
    8 basic::processor_id,
    14 tasks::current_pid_tgid,
    15 basic::zero,
    16 tasks::current_comm,
    22 basic::no_such_entry,
    25 maps::perf_event_output,
    35 tasks::current,
    42 basic::numa_node_id,
    45 basic::probe_read_str,
    55 maps::perf_event_read_value,
    80 tasks::current_cgroup_id,
    87 maps::push,
    88 maps::pop,
    89 maps::peek,
    93 basic::zero,
    94 basic::zero,
    112 basic::probe_read,
    113 basic::probe_read,
    114 basic::probe_read_str,
    115 basic::probe_read_str,
    118 basic::jiffies,
    125 basic::ktime,
    130 rings::output,
    131 rings::reserve,
    132 rings::submit,
    133 rings::discard,
    134 rings::query,
    153 basic::per_cpu_ptr,
    154 basic::this_cpu_ptr,
    156 maps::storage_get,
    157 maps::storage_delete,
    158 tasks::current,
    160 basic::ktime,
    164 maps::for_each,
    165 format::snprintf,
    169 timers::init,
    170 timers::set_callback,
    171 timers::start,
    172 timers::cancel,
    177 format::trace_vprintk,
    181 basic::bpf_loop,
    182 strings::strncmp,
    194 objects::kptr_xchg,
    195 maps::lookup_percpu,
    201 rings::dynptr_read,
    203 rings::dynptr_data,
    208 basic::ktime,
    209 rings::user_drain,
    209 basic::zero,
    210 maps::storage_get,
    211 maps::storage_delete,
];

/// Kfuncs of this part.
pub static KFUNCS: &[Kfunc] = kfuncs![
    bpf_rcu_read_lock basic::zero,
    bpf_rcu_read_unlock basic::zero,
    bpf_preempt_disable basic::zero,
    bpf_preempt_enable basic::zero,
    bpf_local_irq_save basic::zero,
    bpf_local_irq_restore basic::zero,
    bpf_res_spin_lock basic::zero,
    bpf_res_spin_unlock basic::zero,
    bpf_res_spin_lock_irqsave basic::zero,
    bpf_res_spin_unlock_irqrestore basic::zero,
    bpf_cast_to_kern_ctx basic::same,
    bpf_rdonly_cast basic::same,
    bpf_throw basic::throw,
    bpf_task_acquire basic::same,
    bpf_task_release basic::zero,
    bpf_task_from_pid tasks::task_from_pid,
    bpf_task_from_vpid tasks::task_from_pid,
    bpf_task_under_cgroup tasks::task_under_cgroup,
    bpf_cgroup_acquire basic::same,
    bpf_cgroup_release basic::zero,
    bpf_cgroup_from_id tasks::cgroup_from_id,
    bpf_cgroup_ancestor tasks::cgroup_ancestor,
    bpf_cpumask_create cpumask::create,
    bpf_cpumask_acquire cpumask::acquire,
    bpf_cpumask_release cpumask::release,
    bpf_cpumask_first cpumask::first,
    bpf_cpumask_first_zero cpumask::first_zero,
    bpf_cpumask_first_and cpumask::first_and,
    bpf_cpumask_set_cpu cpumask::set_cpu,
    bpf_cpumask_clear_cpu cpumask::clear_cpu,
    bpf_cpumask_test_cpu cpumask::test_cpu,
    bpf_cpumask_test_and_set_cpu cpumask::test_and_set_cpu,
    bpf_cpumask_test_and_clear_cpu cpumask::test_and_clear_cpu,
    bpf_cpumask_setall cpumask::setall,
    bpf_cpumask_clear cpumask::clear,
    bpf_cpumask_and cpumask::and,
    bpf_cpumask_or cpumask::or,
    bpf_cpumask_xor cpumask::xor,
    bpf_cpumask_equal cpumask::equal,
    bpf_cpumask_intersects cpumask::intersects,
    bpf_cpumask_subset cpumask::subset,
    bpf_cpumask_empty cpumask::empty,
    bpf_cpumask_full cpumask::full,
    bpf_cpumask_copy cpumask::copy,
    bpf_cpumask_any_distribute cpumask::any_distribute,
    bpf_cpumask_any_and_distribute cpumask::any_and_distribute,
    bpf_cpumask_weight cpumask::weight,
    bpf_cpumask_populate cpumask::populate,
    bpf_iter_num_new iterators::num_new,
    bpf_iter_num_next iterators::num_next,
    bpf_iter_num_destroy basic::zero,
    bpf_iter_bits_new iterators::bits_new,
    bpf_iter_bits_next iterators::bits_next,
    bpf_iter_bits_destroy iterators::bits_destroy,
    bpf_iter_task_new iterators::task_new,
    bpf_iter_task_next iterators::task_next,
    bpf_iter_task_destroy basic::zero,
    bpf_iter_css_task_new iterators::css_task_new,
    bpf_iter_css_task_next iterators::css_task_next,
    bpf_iter_css_task_destroy iterators::css_task_destroy,
    bpf_iter_css_new iterators::css_new,
    bpf_iter_css_next iterators::css_next,
    bpf_iter_css_destroy iterators::css_destroy,
    bpf_obj_new objects::new,
    bpf_obj_new_impl objects::new,
    bpf_obj_drop objects::drop_object,
    bpf_obj_drop_impl objects::drop_object,
    bpf_percpu_obj_new objects::new_per_cpu,
    bpf_percpu_obj_new_impl objects::new_per_cpu,
    bpf_percpu_obj_drop objects::drop_per_cpu,
    bpf_percpu_obj_drop_impl objects::drop_per_cpu,
    bpf_refcount_acquire objects::acquire,
    bpf_refcount_acquire_impl objects::acquire,
    bpf_list_push_front objects::push_front,
    bpf_list_push_front_impl objects::push_front,
    bpf_list_push_back objects::push_back,
    bpf_list_push_back_impl objects::push_back,
    bpf_list_pop_front objects::pop_front,
    bpf_list_pop_back objects::pop_back,
    bpf_list_front objects::front,
    bpf_list_back objects::back,
    bpf_rbtree_add objects::tree_add,
    bpf_rbtree_add_impl objects::tree_add,
    bpf_rbtree_remove objects::tree_remove,
    bpf_rbtree_first objects::tree_first,
    bpf_arena_alloc_pages arena::alloc_pages,
    bpf_arena_free_pages arena::free_pages,
    bpf_arena_reserve_pages arena::reserve_pages,
    bpf_strcmp strings::compare,
    bpf_strcasecmp strings::compare_any_case,
    bpf_strchr strings::find_byte,
    bpf_strrchr strings::find_last_byte,
    bpf_strlen strings::length,
    bpf_strnlen strings::length_within,
    bpf_strspn strings::span,
    bpf_strcspn strings::span_without,
    bpf_strstr strings::find,
    bpf_strnstr strings::find_within,
    bpf_stream_vprintk format::stream_vprintk,
    bpf_stream_vprintk_impl format::stream_vprintk,
];

/// What the prelude does for a kfunc that is called often, so that there is no call.
pub(crate) fn inlined(name: &str) -> Option<&'static str> {
    Some(match name {
        "bpf_rcu_read_lock"
        | "bpf_rcu_read_unlock"
        | "bpf_preempt_disable"
        | "bpf_preempt_enable"
        | "bpf_task_release"
        | "bpf_cgroup_release"
        | "bpf_iter_num_destroy" => "0",
        "bpf_task_acquire" | "bpf_cgroup_acquire" | "bpf_rdonly_cast" => "r1",
        "bpf_iter_num_new" => "iter_num_new(m, d, r1, r2, r3)",
        "bpf_iter_num_next" => "iter_num_next(m, d, r1)",
        "bpf_cpumask_test_cpu" => "cpumask_test_cpu(m, d, r1, r2)",
        _ => return None,
    })
}

/// What helpers and kfuncs keep between calls.
#[derive(Clone, Default, Debug)]
pub struct Kept {
    pub(crate) objects: objects::Collections,
    /// Of each CPU, the last answer of bpf_cpumask_any_distribute().
    pub(crate) distributed: Vec<u32>,
}

/// Where the fields of the kernel's structures are that helpers look at; none: the kernel has no such field.
#[derive(Clone, Debug)]
pub(crate) struct Offsets {
    pub pid: Option<u64>,
    pub tgid: Option<u64>,
    pub comm: Option<u64>,
    /// task_struct.cgroups.
    pub cgroups: Option<u64>,
    /// css_set.dfl_cgrp.
    pub dfl_cgrp: Option<u64>,
    /// cgroup_subsys_state.cgroup.
    pub css_cgroup: Option<u64>,
    /// cgroup.kn and kernfs_node.id.
    pub kn: Option<u64>,
    pub kn_id: Option<u64>,
    pub level: Option<u64>,
    pub ancestors: Option<u64>,
    /// cgroup.self.
    pub cgroup_self: u64,
    /// bpf_cpumask.usage, and bytes of the whole.
    pub usage: Option<u64>,
    pub bpf_cpumask: u64,
}

impl Offsets {
    pub fn new(btf: &Btf) -> Offsets {
        let offset =
            |name: &str, path: &str| btf.field(name, path).map(|field| u64::from(field.offset));
        Offsets {
            pid: offset("task_struct", "pid"),
            tgid: offset("task_struct", "tgid"),
            comm: offset("task_struct", "comm"),
            cgroups: offset("task_struct", "cgroups"),
            dfl_cgrp: offset("css_set", "dfl_cgrp"),
            css_cgroup: offset("cgroup_subsys_state", "cgroup"),
            kn: offset("cgroup", "kn"),
            kn_id: offset("kernfs_node", "id"),
            level: offset("cgroup", "level"),
            ancestors: offset("cgroup", "ancestors"),
            cgroup_self: offset("cgroup", "self").unwrap_or(0),
            usage: offset("bpf_cpumask", "usage"),
            bpf_cpumask: u64::from(btf.size_of("bpf_cpumask").unwrap_or(0)).max(136),
        }
    }
}

/// 0, or the error as a program gets it.
fn answer(result: Result<(), Errno>) -> u64 {
    result.map_or_else(Errno::answer, |()| 0)
}

/// An error as a program gets it.
fn error(number: i32) -> u64 {
    Errno(number).answer()
}

impl From<Outside> for Errno {
    fn from(_: Outside) -> Errno {
        Errno(libc::EFAULT)
    }
}
