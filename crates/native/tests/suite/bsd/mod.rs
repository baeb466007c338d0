//! Helpers of the tests of `bsd43` and `bsd4`: the state of `bsd/runq.h`.

#![allow(dead_code)] // Each of the two uses a part of it.

use schedlab_policy::{enq, ffi, NewTask};
use schedlab_trace::TaskId;

use super::script::{normal, Machine};

pub const SECOND: u64 = 1_000_000_000;
pub const MS: u64 = 1_000_000;

const NR_QUEUES: usize = 192;

/// `struct bsd`, up to the load average.
#[repr(C)]
struct Global {
    nr: u32,
    bitmap: [u64; 3],
    queue: [ffi::List; NR_QUEUES],
    nr_idle: u32,
    load: u32,
}

/// `struct bsd_task`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Proc {
    link: [usize; 2],
    pub pri: i32,
    pub user_pri: i32,
    queue: u32,
    pub estcpu: u32,
    pub slptime: u32,
    state: u8,
    did_run: u8,
    disk_wait: u8,
    autoniced: u8,
    cpu_time_ns: u64,
    runs_since_ns: u64,
}

pub fn proc_of(m: &Machine, task: TaskId) -> Proc {
    // SAFETY: both policies' task state is one struct bsd_task.
    unsafe { *m.host.task_state(task).cast::<Proc>() }
}

pub fn estcpu(m: &Machine, task: TaskId) -> u32 {
    proc_of(m, task).estcpu
}

/// (where it is queued or sleeps, where it belongs in user mode)
pub fn priorities(m: &Machine, task: TaskId) -> (i32, i32) {
    (proc_of(m, task).pri, proc_of(m, task).user_pri)
}

fn global(m: &Machine) -> *const Global {
    m.host.global_state().cast()
}

/// The load average, in 1/2048.
pub fn load(m: &Machine) -> u32 {
    // SAFETY: the policy's global state begins as Global does.
    unsafe { (*global(m)).load }
}

pub fn nr_idle(m: &Machine) -> u32 {
    // SAFETY: as above.
    unsafe { (*global(m)).nr_idle }
}

/// The queues that hold a task, best first, each front to back.
pub fn queues(m: &Machine) -> Vec<(usize, Vec<TaskId>)> {
    // SAFETY: as above, and list nodes come first in the task state.
    let queue = |i: usize| unsafe { (i, m.tasks_of(&raw const (*global(m)).queue[i])) };
    let populated = |(_, tasks): &(usize, Vec<TaskId>)| !tasks.is_empty();
    (0..NR_QUEUES).map(queue).filter(populated).collect()
}

/// A task that runs alone on CPU 0.
pub fn run_alone(m: &mut Machine, new: &NewTask) -> TaskId {
    let task = m.start(new);
    assert_eq!(m.schedule(0), Some(task));
    task
}

/// The task running on CPU 0 forks a child like itself, which dies at once and is reaped by it:
/// if children inherit usage and return it, its estcpu doubles.
pub fn double_estcpu(m: &mut Machine) {
    let parent = m.running(0).expect("a task runs here");
    let child = m.fork(0, &normal(0));
    m.enqueue(child, enq::NEW);
    // The parent waits for the child, which runs and exits.
    assert_eq!(m.block(0), Some(child));
    m.wake(parent);
    assert_eq!(m.die(0), Some(parent));
    m.reap(child, parent);
}

/// A task with millions of ticks of estcpu, none of which come in any more: after how many seconds
/// is a tenth left?  Between two passes usage is taken to fall exponentially.
pub fn seconds_to_a_tenth(policy: &str, load: i64) -> f64 {
    let set = [
        ("held_load", 100 * load),
        ("estcpu_limit", 100_000_000),
        ("fork_copies_estcpu", 1),
        ("exit_charges_parent", 1),
    ];
    let mut m = Machine::new(policy, 1, &set);
    let task = run_alone(&mut m, &normal(0));
    m.ticks_at_once(0, 100);
    for _ in 0..15 {
        double_estcpu(&mut m);
    }
    let before = estcpu(&m, task);
    assert_eq!(before, 100 << 15);
    time_to_a_tenth(&mut m, task, before)
}

fn time_to_a_tenth(m: &mut Machine, task: TaskId, before: u32) -> f64 {
    let goal = f64::from(before) / 10.0;
    let mut last = f64::from(before);
    for second in 0..60 {
        m.timers_for(SECOND);
        let now = f64::from(estcpu(m, task));
        if now <= goal {
            return f64::from(second) + (last / goal).ln() / (last / now).ln();
        }
        last = now;
    }
    panic!("task {task} never forgets");
}
