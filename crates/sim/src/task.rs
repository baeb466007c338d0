//! A task as the simulated kernel knows it.

use std::collections::VecDeque;
use std::fmt;

use schedlab_machine::LOCAL_DISTANCE;
use schedlab_trace::{CpuId, TaskId, Time};
use schedlab_workload::{Cursor, Stream, MAX_OWN_TIMERS};

use crate::nice::Stay;

/// Where a task is.  Exactly one of these at any time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    /// It will start later.
    Unborn,
    /// Runnable, in the policy's hands.
    Waiting,
    /// Running on this CPU.
    Running(CpuId),
    /// Running on this CPU, but about to sleep: it has yet to call schedule().
    Blocking { cpu: CpuId, uninterruptible: bool },
    /// Asleep.
    Sleeping { uninterruptible: bool },
    /// Somebody is waking it, or has just forked it: asleep until its wakeup is through.
    Waking { uninterruptible: bool },
    /// Running on this CPU for the last time.
    Exiting(CpuId),
    /// Dead, not yet reaped.
    Zombie,
    /// Gone.
    Reaped,
}

impl fmt::Display for State {
    /// As a clause: "it is asleep".
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

/// What a task computes right now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Computing {
    /// Nothing: it has a next operation to start.
    Nothing,
    /// So many work units are left.
    Work(u64),
    /// Until this time, whatever work that is.
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
    /// Where it is in its program.
    pub cursor: Cursor,
    /// It does an operation over again after sleeping in it: no second system call.
    pub retrying: bool,
    /// Its operation at hand was announced by an [`Op::Uninterruptible`](schedlab_workload::Op).
    pub deaf: bool,
    /// What it computes is not preempted.
    pub in_kernel: bool,
    /// It is to be woken as soon as it sleeps.
    pub wanted_early: bool,
    /// What is left of the current send or receive, if that has begun.
    pub transfer_left: Option<u32>,
    /// The CPU whose run queue it waits on, or waited on last.
    pub queued_on: CpuId,
    /// Since when.
    pub queued_since: Time,
    /// It waits, but its group is throttled there.
    pub throttled: bool,
    /// Its competition with others for one CPU.
    pub stay: Stay,
    /// It asked to give up the CPU.
    pub yielding: bool,
    /// It must leave its CPU for this one as soon as it calls schedule().
    pub move_to: Option<CpuId>,
    pub start: Time,
    pub clock_start: Time,
    /// The clock that came with the message it received last.
    pub received_clock: Time,
    pub own_timers: [Option<Time>; MAX_OWN_TIMERS],
    /// Work units it has asked for and done.  Both stay exact.
    pub work_requested: u64,
    pub work_done: u64,
    /// Its memory: what it touches, and how much of it the cache it used last holds.
    pub working_set: u64,
    pub cache: u32,
    pub warm_bytes: u64,
    /// Its last stay in that cache; 0 before the first has ended.
    pub cache_stay: u64,
    /// The memory node its memory is on: that of the CPU it ran on first.
    pub home: Option<u32>,
    /// The distance of that node from its CPU.
    pub distance: u32,
    /// Time it still runs at half speed because its working set is being fetched, in ns.
    pub refill_ns: u64,
    pub parent: Option<TaskId>,
    /// Its children that have not been reaped, youngest first, linked through the next two.
    pub first_child: Option<TaskId>,
    pub next_sibling: Option<TaskId>,
    pub previous_sibling: Option<TaskId>,
    /// Those of them that are dead, in the order they died.
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
