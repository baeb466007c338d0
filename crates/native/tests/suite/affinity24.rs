//! affinity24 without a simulator: every number is calculated from the patch in the comment beside it.
//!
//! Notation: 6/2 is a task with a counter of 6 of which 2 ticks are used (timer_ticks).  Goodness is
//! linux24's: counter + 20 - nice, and 1 more in the previous task's address space.

mod family;
mod hogs;
mod slices;

use crate::script::{normal, random, real_time, Machine};
use schedlab_policy::{Class, Policy, Tuned};
use schedlab_trace::TaskId;

const VARIANTS: [&str; 3] = [
    "affinity24:2.4.15-pre1",
    "affinity24:2.4.16",
    "affinity24:stock",
];

/// `struct linux24_task` as affinity24.c extends it.
#[repr(C)]
#[derive(Clone, Copy)]
struct State {
    run_list: [usize; 2],
    avg_slice_ns: u64,
    counter: i32,
    yielded: u32,
    timer_ticks: i32,
}

/// Its counter and timer_ticks.
fn slice(m: &Machine, task: TaskId) -> (i32, i32) {
    // SAFETY: the layout is that of the policy's task state.
    let state: State = unsafe { *m.host.task_state(task).cast() };
    (state.counter, state.timer_ticks)
}

fn up(variant: &str) -> Machine {
    Machine::new(variant, 1, &[])
}

/// A task of this nice that runs on CPU 0.
fn running(m: &mut Machine, nice: i8) -> TaskId {
    let task = m.start(&normal(nice));
    assert_eq!(m.schedule(0), Some(task));
    task
}

/// The CPU idles, so a nice 19 task with its slice of one tick ends an epoch after each: every
/// sleeping task goes from c to c / 2 + slice.
fn epochs(m: &mut Machine, n: u32) {
    let ender = running(m, 19);
    for _ in 0..n {
        m.work();
        assert!(m.ticks(0, 1));
        assert_eq!(m.schedule(0), Some(ender));
        assert_eq!(m.work().recalculations, 1);
    }
    m.block(0);
}

#[test]
fn the_default_is_the_patched_kernel_and_tasks_are_small() {
    let policy = Policy::find("affinity24").unwrap();
    assert_eq!(Tuned::defaults(policy).variant, "2.4.15-pre1");
    assert!(policy.task_size() <= 96);
}

#[test]
fn random_lives_lose_no_task_and_waste_no_cpu() {
    for name in VARIANTS {
        for cpus in [1, 2, 5] {
            for seed in 1..=20 {
                random::live(&mut Machine::new(name, cpus, &[]), seed, 500);
            }
        }
    }
}
