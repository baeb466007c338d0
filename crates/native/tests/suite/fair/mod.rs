//! Helpers of the tests of CFS and EEVDF: the policies' entity and its tree.

#![allow(dead_code)] // Each test file uses a part of it.

mod averages;
mod balance;
mod capacity;
mod server;
pub mod tree;

use schedlab_trace::TaskId;

use crate::script::Machine;

/// Nanoseconds in a millisecond.
pub const MS: u64 = 1_000_000;

/// `struct tree_node` in policy/tree.h.
#[repr(C)]
#[derive(Debug)]
pub struct Node {
    pub parent: *const Node,
    pub child: [*const Node; 2],
    pub key: u64,
    pub value: u64,
    pub least: u64,
    pub height: u32,
}

/// `struct sched_entity` in policies/fair/fair.h, with which the state of a task begins.
#[repr(C)]
#[derive(Debug)]
pub struct Entity {
    pub node: Node,
    link: [usize; 2],
    pub vruntime: u64,
    pub exec_start: u64,
    pub sum_exec_runtime: u64,
    pub prev_sum_exec_runtime: u64,
    wakee_flip_decay_ts: u64,
    pub wakee_flips: u32,
    last_wakee: u32,
    recent_used_cpu: u32,
    pub weight: u32,
    pub inv_weight: u32,
    rt_list: u32,
    rt_time_slice: u32,
    queued_on: u32,
    pub on_rq: u8,
    pub queue: usize,
    my_queue: usize,
    parent: usize,
    attached: usize,
    pub avg: Average,
    runnable_weight: u32,
}

/// `struct sched_avg` in policies/fair/fair.h.
#[repr(C)]
#[derive(Debug)]
pub struct Average {
    last_update_time: u64,
    pub load_sum: u64,
    pub runnable_sum: u64,
    pub util_sum: u32,
    pub period_contrib: u32,
    pub load_avg: u64,
    pub runnable_avg: u64,
    pub util_avg: u64,
    util_est: u32,
}

/// The task as the policy sees it.
pub fn entity(m: &Machine, task: TaskId) -> &Entity {
    // SAFETY: both policies' task states begin with a struct sched_entity.
    unsafe { &*m.host.task_state(task).cast() }
}

pub fn vruntime(m: &Machine, task: TaskId) -> u64 {
    entity(m, task).vruntime
}

/// How far `a` is behind `b`, in virtual ns (negative if it is ahead).
pub fn behind(m: &Machine, a: TaskId, b: TaskId) -> i64 {
    vruntime(m, b).wrapping_sub(vruntime(m, a)) as i64
}

/// A SCHED_NORMAL task's weight and its inverse, as the policy has them.
pub fn weights(policy: &str, nice: i8) -> (u32, u32) {
    let mut m = Machine::new(policy, 1, &[]);
    let task = m.add(&crate::script::normal(nice));
    (entity(&m, task).weight, entity(&m, task).inv_weight)
}
