//! FreeBSD 14's ULE without a simulator: every number is calculated from the algorithm in the comment
//! beside it.
//!
//! Ticks are made 10 ms, so a slice is 100 / 10 = 10 of them and the shortest 10 / 6 = 1.  Histories
//! and %cpu are in clock ticks, ms, with ten fractional bits; a tick adds 1000 * 1024 / 100 = 10 ms.
//! Interactive threads have 120 to 151, others 152 to 223: 172 + %cpu (0 to 31) + nice.

mod cpus;
mod queues;
mod score;

use crate::script::{normal, on_cpu, real_time, Machine};
use schedlab_policy::{ffi, Class, NewTask};
use schedlab_trace::{CpuId, TaskId};

/// `struct ule14_task` in ule14.c.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Thread {
    runq_link: [usize; 2],
    runq: usize,
    slptime: u32,
    runtime: u32,
    slptick: u32,
    rltick: i32,
    ltick: u32,
    ftick: u32,
    ticks: u32,
    slice: u32,
    user_pri: u8,
    pri: u8,
    class: u8,
    bucket: u8,
    sliceend: u8,
}

/// `struct prio_array`.
#[repr(C)]
struct RunQueue {
    nr: u32,
    bitmap: [u64; 3],
    queue: [ffi::List; 192],
}

/// The beginning of `struct tdq` in ule14.c.
#[repr(C)]
struct Tdq {
    cpu: u32,
    load: u32,
    sysload: u32,
    lowpri: u32,
    idx: u32,
    ridx: u32,
    owepreempt: u32,
    core_start: u32,
    llc_start: u32,
    core_stop: u32,
    llc_stop: u32,
    realtime: RunQueue,
    timeshare: RunQueue,
    idle: RunQueue,
}

fn thread(m: &Machine, task: TaskId) -> Thread {
    // SAFETY: the layout is that of struct ule14_task.
    unsafe { *m.host.task_state(task).cast() }
}

fn tdq(m: &Machine, cpu: u32) -> &Tdq {
    // SAFETY: the layout is that of struct tdq.
    unsafe { &*m.host.cpu_state(CpuId(cpu)).cast() }
}

/// (sleep, run) in ms.
fn history(m: &Machine, task: TaskId) -> (u32, u32) {
    let t = thread(m, task);
    (t.slptime / 1024, t.runtime / 1024)
}

/// So many CPUs on which tasks start without a history.
fn machine(cpus: u32, set: &[(&str, i64)]) -> Machine {
    let base = [("hz", 100), ("initial_slptime_ms", 0)];
    let set: Vec<(&str, i64)> = base.iter().chain(set).copied().collect();
    Machine::new("ule14", cpus, &set)
}

/// Starts a task and has idle `cpu` run it.
fn run_on(m: &mut Machine, cpu: u32, new: &NewTask) -> TaskId {
    let task = m.start(&NewTask {
        cpu: CpuId(cpu),
        ..*new
    });
    assert_eq!(m.schedule(cpu), Some(task));
    task
}

/// A task that ran and then slept for this many ticks, and has been woken.
fn lived(m: &mut Machine, ran: u32, slept: u32, nice: i8) -> TaskId {
    let task = run_on(m, 0, &normal(nice));
    m.ticks(0, ran);
    m.block(0);
    m.after(u64::from(slept) * 10_000_000).wake(task);
    task
}
