//! EEVDF without a simulator: every number is calculated from the formulas in policies/eevdf/README.md.
//!
//! A slice is 3 ms here and a tick 10 ms.  On one CPU the slice is not scaled.

mod choice;
mod delay;
mod hrtick;
mod lag;
mod slices;

use crate::fair::Entity;
use crate::script::{random, Machine};
use schedlab_policy::{Policy, Tuned};
use schedlab_trace::TaskId;

/// `struct eevdf_task` in eevdf.c.
#[repr(C)]
#[derive(Debug)]
struct State {
    se: Entity,
    vlag: i64,
    deadline: u64,
    slice: u64,
    vprot: u64,
    sched_delayed: u8,
    rel_deadline: u8,
}

fn state(m: &Machine, task: TaskId) -> &State {
    // SAFETY: the layout is that of the C file.
    unsafe { &*m.host.task_state(task).cast() }
}

/// Virtual ns of its request that are left.
fn left(m: &Machine, task: TaskId) -> i64 {
    let task = state(m, task);
    task.deadline.wrapping_sub(task.se.vruntime) as i64
}

/// What each task is owed, in ns of CPU time: weight * (V - v) / 1024, V being the weighted average of v.
fn lags(m: &Machine, queued: &[TaskId]) -> Vec<f64> {
    let entities: Vec<&Entity> = queued.iter().map(|t| &state(m, *t).se).collect();
    let base = entities[0].vruntime;
    let v = |e: &Entity| e.vruntime.wrapping_sub(base) as i64 as f64;
    let load: f64 = entities.iter().map(|e| f64::from(e.weight)).sum();
    let average = entities
        .iter()
        .map(|e| v(e) * f64::from(e.weight))
        .sum::<f64>()
        / load;
    let lag = |e: &&Entity| (average - v(e)) * f64::from(e.weight) / 1024.0;
    entities.iter().map(lag).collect()
}

fn machine(more: &[(&str, i64)]) -> Machine {
    with_variant("eevdf:6.12", more)
}

fn with_variant(policy: &str, more: &[(&str, i64)]) -> Machine {
    let mut set = vec![("hz", 100), ("base_slice_us", 3000)];
    set.extend_from_slice(more);
    Machine::new(policy, 1, &set)
}

#[test]
fn the_default_is_6_12() {
    assert_eq!(
        Tuned::defaults(Policy::find("eevdf").unwrap()).variant,
        "6.12"
    );
}

#[test]
fn the_tree_is_ordered_and_balanced_and_knows_the_least() {
    for seed in 1..6 {
        crate::fair::tree::random_life("eevdf", seed, 60, 400);
        crate::fair::tree::random_life("eevdf:6.6", seed, 60, 400);
    }
}

#[test]
fn random_lives() {
    for variant in [
        "eevdf:6.12",
        "eevdf:6.18",
        "eevdf:6.19",
        "eevdf:7.1",
        "eevdf:6.6",
    ] {
        for seed in 1..20 {
            random::live(&mut Machine::new(variant, 1, &[("hz", 100)]), seed, 300);
        }
    }
}
