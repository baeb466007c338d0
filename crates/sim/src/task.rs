//! A task of the simulated machine.

use std::collections::VecDeque;
use std::fmt;

use schedlab_machine::LOCAL_DISTANCE;
use schedlab_trace::{CpuId, Ns, TaskId, Time};
use schedlab_workload::{Cursor, Stream, MAX_OWN_TIMERS};

use crate::nice::Stay;

/// The state of a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    /// It will start later.
    Unborn,
    /// Runnable, in the policy's run queue.
    Waiting,
    /// Running on this CPU.
    Running(CpuId),
    /// Running on this CPU and about to sleep: it has not called schedule() yet.
    Blocking { cpu: CpuId, uninterruptible: bool },
    /// Asleep.
    Sleeping { uninterruptible: bool },
    /// Being woken or just forked: asleep until the wakeup is complete.
    Waking { uninterruptible: bool },
    /// Running on this CPU, about to end.
    Exiting(CpuId),
    /// Dead, not yet reaped.
    Zombie,
    /// Dead and reaped.
    Reaped,
}

impl fmt::Display for State {
    /// A text that continues "it is".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            State::Unborn => write!(f, "not yet started"),
            State::Waiting => write!(f, "waiting on a run queue"),
            State::Running(cpu) => write!(f, "running on CPU {cpu}"),
            State::Blocking { cpu, .. } => write!(f, "about to sleep on CPU {cpu}"),
            State::Sleeping { .. } => write!(f, "asleep"),
            State::Waking { .. } => write!(f, "being woken"),
            State::Exiting(cpu) => write!(f, "exiting on CPU {cpu}"),
            State::Zombie => write!(f, "dead"),
            State::Reaped => write!(f, "dead and reaped"),
        }
    }
}

/// Work is counted in 1/1024 ns of the fastest CPU, so that slow CPUs need no rounding.
pub(crate) const WORK_UNITS_PER_NS: u64 = 1024;

/// The current work of a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Computing {
    /// None: its next operation follows.
    Nothing,
    /// This number of work units is left.
    Work(u64),
    /// It computes until this time.
    Until(Time),
}

/// A task.
#[derive(Debug)]
pub(crate) struct Task {
    pub state: State,
    pub computing: Computing,
    /// Its specification in the workload.
    pub spec: u32,
    /// Its number among the tasks of that specification.
    pub instance: u32,
    /// Its position in its program.
    pub cursor: Cursor,
    /// It repeats an operation in which it slept, without a second system call.
    pub retrying: bool,
    /// [`Op::Uninterruptible`](schedlab_workload::Op) came before its current operation.
    pub deaf: bool,
    /// What it computes is not preempted.
    pub in_kernel: bool,
    /// It must be woken as soon as it sleeps.
    pub wanted_early: bool,
    /// The rest of the current send or receive, if it has begun.
    pub transfer_left: Option<u32>,
    /// The CPU whose run queue it waits on, or waited on last.
    pub queued_on: CpuId,
    /// The time when it was queued there.
    pub queued_since: Time,
    /// Its wait on other run queues since it ran last.
    pub waited_before: Ns,
    /// How long real-time tasks had run on that CPU when it was queued there.
    pub realtime_before: Ns,
    /// It waits and its group is throttled there.
    pub throttled: bool,
    /// Its competition with other tasks for one CPU.
    pub stay: Stay,
    /// It called sched_yield().
    pub yielding: bool,
    /// The CPU to which it moves at its next schedule().
    pub move_to: Option<CpuId>,
    pub start: Time,
    pub clock_start: Time,
    /// The clock in the message that it received last.
    pub received_clock: Time,
    pub own_timers: [Option<Time>; MAX_OWN_TIMERS],
    /// Work units requested and done, both exact.
    pub work_requested: u64,
    pub work_done: u64,
    /// The size of its working set, and the part in the cache that it used last.
    pub working_set: u64,
    pub cache: u32,
    pub warm_bytes: u64,
    /// Its last stay in that cache; 0 before the first has ended.
    pub cache_stay: u64,
    /// The node of its memory: that of the CPU on which it ran first.
    pub home: Option<u32>,
    /// The distance of that node from its CPU.
    pub distance: u32,
    /// Remaining time at half speed while its working set is loaded, in ns.
    pub refill_ns: u64,
    pub parent: Option<TaskId>,
    /// Its unreaped children, youngest first, linked through the next two fields.
    pub first_child: Option<TaskId>,
    pub next_sibling: Option<TaskId>,
    pub previous_sibling: Option<TaskId>,
    /// Its dead children, in the order of their deaths.
    pub zombies: VecDeque<TaskId>,
    /// It sleeps in wait().
    pub waits_for_child: bool,
    pub last_priority: Option<i32>,
}

impl Task {
    pub fn new(spec: u32, instance: u32, numbers: Stream, start: Time, working_set: u64) -> Task {
        Task {
            state: State::Unborn,
            computing: Computing::Nothing,
            spec,
            instance,
            cursor: Cursor::new(numbers),
            retrying: false,
            deaf: false,
            in_kernel: false,
            wanted_early: false,
            transfer_left: None,
            queued_on: CpuId(0),
            queued_since: Time::ZERO,
            waited_before: Ns::ZERO,
            realtime_before: Ns::ZERO,
            throttled: false,
            stay: Stay::NONE,
            yielding: false,
            move_to: None,
            start,
            clock_start: start,
            received_clock: start,
            own_timers: [None; MAX_OWN_TIMERS],
            work_requested: 0,
            work_done: 0,
            working_set,
            cache: u32::MAX,
            warm_bytes: 0,
            cache_stay: 0,
            home: None,
            distance: LOCAL_DISTANCE,
            refill_ns: 0,
            parent: None,
            first_child: None,
            next_sibling: None,
            previous_sibling: None,
            zombies: VecDeque::new(),
            waits_for_child: false,
            last_priority: None,
        }
    }
}
