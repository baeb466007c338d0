//! Staircase against hand-computed values, hook by hook.
//!
//! At HZ = 100 a jiffy is 10 ms, which is also RR_INTERVAL: every tick is a step.  A task of nice
//! n begins at priority 120 + n and has 20 - n steps; the last step is 139.

mod calls;
mod classes;
mod preempt;
mod stairs;
mod version12;
mod wakeups;

use crate::script::{random, Machine};
use schedlab_trace::TaskId;

/// Nanoseconds in a millisecond.
const MS: u64 = 1_000_000;

/// The policy's state of a task: `struct staircase_task`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct TaskState {
    run_list: [usize; 2],
    array: usize,
    timestamp: u64,
    last_ran: u64,
    runtime: u64,
    totalrun: u64,
    ns_debit: u64,
    prio: u32,
    static_prio: u32,
    slice: u32,
    time_slice: u32,
    burst: u32,
    flags: u32,
}

fn state(m: &Machine, task: TaskId) -> TaskState {
    // SAFETY: the layout is that of struct staircase_task.
    unsafe { *m.host.task_state(task).cast() }
}

/// Version 10.5 on one CPU at 100 Hz.
fn up(set: &[(&str, i64)]) -> Machine {
    let mut all = vec![("hz", 100)];
    all.extend_from_slice(set);
    Machine::new("staircase:10.5", 1, &all)
}

/// Version 12 on one CPU at 100 Hz.
fn up12(set: &[(&str, i64)]) -> Machine {
    let mut all = vec![("hz", 100)];
    all.extend_from_slice(set);
    Machine::new("staircase:12", 1, &all)
}

#[test]
fn no_task_is_lost_and_the_cpu_never_idles_needlessly() {
    let modes: [&[(&str, i64)]; 4] = [
        &[],
        &[("interactive", 0)],
        &[("compute", 1)],
        &[("unsigned_slice", 1)],
    ];
    for name in ["staircase:10.5", "staircase:12"] {
        for set in modes {
            for seed in 1..20 {
                random::live(&mut Machine::new(name, 1, set), seed, 500);
            }
        }
    }
}
