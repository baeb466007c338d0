//! svr4 without a simulator: every row of its tables, and each event that moves a task between them.
//!
//! A tick is 10 ms.  Unless said otherwise tasks are new members of TS with nice 0: level 29, the
//! middle of the table, with quantum 12, tqexp 19, slpret 52, maxwait 0, lwait 52.

mod classes;
mod cpus;
mod life;
mod tables;
mod update;

use crate::script::{normal, random, real_time, Machine};
use schedlab_policy::{ffi, Class, NewTask, Policy, Tuned};
use schedlab_trace::TaskId;

const TICK_NS: u64 = 10_000_000;
const NOTHING: u8 = 0;

/// struct svr4_task
#[repr(C)]
struct Task {
    node: ffi::List,
    disp_tick: u64,
    pri: i32,
    cpupri: i32,
    upri: i32,
    boost: i32,
    umdpri: i32,
    timeleft: i32,
    dispwait: u32,
    backq: u8,
    kpri: u8,
    trapret: u8,
    at_back: u8,
}

#[allow(clippy::mut_from_ref)]
fn state(m: &Machine, task: TaskId) -> &mut Task {
    // SAFETY: the policy's task state is one Task; no test holds two references to it.
    unsafe { &mut *m.host.task_state(task).cast_mut().cast() }
}

/// (cpupri, umdpri, timeleft, dispwait)
fn standing(m: &Machine, task: TaskId) -> (i32, i32, i32, u32) {
    let t = state(m, task);
    (t.cpupri, t.umdpri, t.timeleft, t.dispwait)
}

/// Puts a task that is in no queue into a row of the table.
fn place(m: &Machine, task: TaskId, row: i32, quantum: i32, dispwait: u32) {
    let t = state(m, task);
    (t.cpupri, t.umdpri, t.pri) = (row, row, row);
    (t.timeleft, t.dispwait) = (quantum, dispwait);
}

/// One CPU that runs a task of level 29.
fn one_running() -> (Machine, TaskId) {
    let mut m = Machine::new("svr4", 1, &[]);
    m.after(100 * TICK_NS);
    let task = m.start(&normal(0));
    assert_eq!(m.schedule(0), Some(task));
    (m, task)
}

#[test]
fn it_compiles_at_run_time_too() {
    let source = std::path::Path::new("../../policies/svr4/svr4.c");
    assert_eq!(Policy::compile(source).unwrap().name(), "svr4");
}

#[test]
fn random_lives_lose_no_task_and_waste_no_cpu() {
    let switches: [&[(&str, i64)]; 4] = [
        &[("update_ms", 20)],
        &[("update_ms", 50), ("ia_everyone", 1), ("kpri", 0)],
        &[
            ("update_ms", 10),
            ("sleep_promote", 0),
            ("rechoose_interval", 0),
        ],
        &[("maxupri", 20), ("runq_max_diff", 0)],
    ];
    for set in switches {
        for cpus in [1, 2, 5] {
            for seed in 1..=10 {
                let mut m = Machine::new("svr4", cpus, set);
                random::live(&mut m, seed, 500);
            }
        }
    }
}

#[test]
fn kernel_threads_and_real_time_are_above_every_user() {
    let mut m = Machine::new("svr4", 1, &[]);
    let best = m.start(&normal(-20));
    let kernel = m.start(&crate::script::on_cpu(0, 0));
    let thread = m.start(&NewTask {
        mm: 0,
        ..normal(19)
    });
    let rt = m.start(&real_time(Class::Rr, 1));
    let levels = [best, kernel, thread, rt].map(|task| m.priority(task));
    assert_eq!(levels, [59, 29, 60, 100]);
}
