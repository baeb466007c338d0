//! ULE of 2003 without a simulator: every number is calculated from the algorithm in the comment beside it.
//!
//! A tick is 10 ms.  Histories are in ticks with ten fractional bits: 1 tick = 1024.  A hog's score
//! is 100 and its priority 160 + 64 * 100 / 100 + nice, cut at 223; a thread that only sleeps
//! scores 0 and has 160 + nice, cut at 160.

mod classes;
mod history;
mod queues;
mod score;
mod slices;
mod smp;
mod variants;

use crate::script::{normal, on_cpu, real_time, Machine};
use schedlab_policy::{ffi, NewTask};
use schedlab_trace::{CpuId, TaskId};

/// The history of one tick.
const TICK: u32 = 1024;

/// Tasks start without any history, unlike a shell's children.
const BLANK: (&str, i64) = ("initial_slptime_ms", 0);

/// `struct ule_task` in ule.c.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Thread {
    runq_link: [usize; 2],
    runq: usize,
    slptime: u32,
    runtime: u32,
    slp_start: u32,
    slice: i32,
    ftick: u32,
    ltick: u32,
    cpticks: u32,
    user_pri: u8,
    pri: u8,
    class: u8,
    counted: u8,
}

/// `struct prio_array`.
#[repr(C)]
struct RunQueue {
    nr: u32,
    bitmap: [u64; 3],
    queue: [ffi::List; 192],
}

/// The beginning of `struct kseq` in ule.c.
#[repr(C)]
struct Kseq {
    curr: *const RunQueue,
    next: *const RunQueue,
    cpu: u32,
    load: u32,
    loads: [u32; 4],
    nice_count: [u32; 40],
    nicemin: i32,
    idled: u32,
    sibling: u32,
    ncpus: u32,
    leader: u32,
    timeshare: [RunQueue; 2],
    idle: RunQueue,
}

fn thread(m: &Machine, task: TaskId) -> Thread {
    // SAFETY: the layout is that of struct ule_task.
    unsafe { *m.host.task_state(task).cast() }
}

fn kseq(m: &Machine, cpu: u32) -> &Kseq {
    // SAFETY: the layout is that of struct kseq.
    unsafe { &*m.host.cpu_state(CpuId(cpu)).cast() }
}

/// All threads of a run queue, best bucket first.
fn threads_of(m: &Machine, queue: *const RunQueue) -> Vec<TaskId> {
    // SAFETY: the queue belongs to this machine.
    let buckets = unsafe { &(*queue).queue };
    // SAFETY: as above; runq_link comes first in struct ule_task.
    let tasks = buckets.iter().flat_map(|head| unsafe { m.tasks_of(head) });
    tasks.collect()
}

fn current(m: &Machine, cpu: u32) -> Vec<TaskId> {
    threads_of(m, kseq(m, cpu).curr)
}

fn next(m: &Machine, cpu: u32) -> Vec<TaskId> {
    threads_of(m, kseq(m, cpu).next)
}

fn idle(m: &Machine, cpu: u32) -> Vec<TaskId> {
    threads_of(m, &kseq(m, cpu).idle)
}

/// (sleep, run) in whole ticks.
fn history(m: &Machine, task: TaskId) -> (u32, u32) {
    let t = thread(m, task);
    (t.slptime / TICK, t.runtime / TICK)
}

/// One CPU on which tasks start without a history.
fn up(set: &[(&str, i64)]) -> Machine {
    let set: Vec<(&str, i64)> = [BLANK].iter().chain(set).copied().collect();
    Machine::new("ule", 1, &set)
}

/// The same with this many CPUs.
fn smp(cpus: u32, set: &[(&str, i64)]) -> Machine {
    let set: Vec<(&str, i64)> = [BLANK].iter().chain(set).copied().collect();
    Machine::new("ule", cpus, &set)
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

/// Starts a task on idle `cpu` that has been found out as a hog: score 100, a fresh slice of 14.
fn hog_on(m: &mut Machine, cpu: u32, nice: i8) -> TaskId {
    let task = run_on(m, cpu, &normal(nice));
    assert!(m.ticks(cpu, 1), "the first slice is one tick");
    assert_eq!(m.schedule(cpu), Some(task));
    task
}

/// A task that ran and then slept for this many ticks, and has been woken; it waits or runs.
fn lived(m: &mut Machine, ran: u32, slept: u32, nice: i8) -> TaskId {
    let task = run_on(m, 0, &normal(nice));
    m.ticks(0, ran);
    m.block(0);
    m.after(u64::from(slept) * 10_000_000).wake(task);
    task
}
