//! The Resource Based Scheduler against hand-computed values, hook by hook.
//!
//! At 250 Hz ticks come every 4 ms, at multiples of 4 ms.  Without bonuses (`EQUAL`) all tasks of
//! one nice value are in one list, in the order in which they were woken.

mod choice;
mod future;
mod usage;

use crate::o1::kernel::{normal, Kernel, TaskState, MS};
use crate::script::random;
use schedlab_policy::{enq, Policy, Tuned};
use schedlab_trace::TaskId;

const IRQ: u32 = enq::WAKEUP | enq::IRQ;
const DISK: u32 = enq::WAKEUP | enq::UNINTERRUPTIBLE;
const EQUAL: (&str, i64) = ("prio_bonus_ratio", 0);

/// `struct o1_task` as rbs.c extends it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct State {
    o1: TaskState,
    last_runtime: u64,
    cpu_usage: u64,
    disk_usage: u64,
}

fn state(k: &Kernel, task: TaskId) -> State {
    // SAFETY: the layout is that of the policy's task state.
    unsafe { *k.host.task_state(task).cast() }
}

/// One CPU with equal tasks.
fn up(set: &[(&str, i64)]) -> Kernel {
    let mut all = vec![EQUAL];
    all.extend_from_slice(set);
    Kernel::up("rbs:2.6.13.4", &all)
}

/// A task that has run for `ms` and sleeps; the CPU idles.
fn ran(k: &mut Kernel, ms: u64) -> TaskId {
    let task = k.sleeper(normal());
    k.enqueue(task, IRQ);
    k.settle();
    assert_eq!(k.curr(0), Some(task));
    k.after(ms * MS).block();
    assert_eq!(state(k, task).cpu_usage, ms * MS);
    task
}

/// Time passes until the next tick has just been.
fn to_tick(k: &mut Kernel) {
    k.after(4 * MS - k.now % (4 * MS));
}

/// A task runs for `ms` from a tick on; meanwhile others are woken in this order; it blocks.  Who
/// runs next?
fn after_a_run_of(k: &mut Kernel, ms: u64, waiting: &[TaskId]) -> TaskId {
    let prev = k.sleeper(normal());
    to_tick(k);
    k.enqueue(prev, IRQ);
    k.settle();
    k.after(ms * MS);
    for &task in waiting {
        assert_eq!(k.enqueue(task, IRQ), [], "equals do not preempt");
    }
    k.host.take_work();
    k.block();
    k.running(0)
}

#[test]
fn declarations() {
    let policy = Policy::find("rbs").unwrap();
    assert_eq!(Tuned::defaults(policy).variant, "2.6.13.4");
    assert!(policy.task_size() <= 128);
}

#[test]
fn a_policy_with_a_part_compiles_far_from_its_sources() {
    for name in ["rbs", "affinity24"] {
        let folder = tempfile::tempdir().unwrap();
        let source = format!(
            "{}/../../policies/{name}/{name}.c",
            env!("CARGO_MANIFEST_DIR")
        );
        let copy = folder.path().join(format!("{name}.c"));
        std::fs::copy(source, &copy).unwrap();
        assert_eq!(Policy::compile(&copy).unwrap().name(), name);
    }
}

#[test]
fn random_lives_lose_no_task_and_waste_no_cpu() {
    let variants = Policy::find("rbs").unwrap().variants();
    assert!(variants.len() >= 4);
    for variant in variants {
        let name = format!("rbs:{}", variant.name);
        // On one CPU: several may idle beside each other's tasks until they balance.
        for seed in 1..=30 {
            random::live(&mut crate::script::Machine::new(&name, 1, &[]), seed, 500);
        }
    }
}
