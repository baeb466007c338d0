//! A task's history while its recording is read.

use schedlab_recording::flow::Flow;
use schedlab_recording::is_kernel_thread;
use schedlab_trace::{Ns, PrevState, TaskId, TaskInfo, Time};
use schedlab_workload::{Amount, Op};

use crate::call::Call;
use crate::costs::{Measured, Point};
use crate::waits::Wait;

/// An operation without effect: the placeholder of a wakeup that is not confirmed yet, or of a wait
/// with a cause not known yet.
pub const NOTHING: Op = Op::Run(Amount::Fixed(Ns::ZERO));

/// A task's history up to now.
#[derive(Debug)]
pub struct Life {
    pub info: TaskInfo,
    pub ops: Vec<Op>,
    /// Where in the program time was spent on scheduling and recording.
    pub points: Vec<(usize, Point)>,
    /// Work since the last operation.
    pub owed: u64,
    /// All work.
    pub done: u64,
    /// The system call it is in.
    pub call: Option<Call>,
    pub begin: Begin,
    pub place: Place,
    /// Its last waker, if it has not run since.
    pub wanted: Option<Want>,
    /// A child has died and woken it.
    pub bereaved: bool,
    pub parent: Option<TaskId>,
    pub dying: bool,
    /// A wait in poll with a cause that is not known yet.
    pub polled: Option<Wait>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Begin {
    /// It has done nothing yet.
    Unseen,
    /// It begins at this time, caused from outside.
    At(Time),
    /// It begins when it is first woken.
    Dormant,
    /// It begins when it is forked.
    Forked,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// It existed at the start; it is unknown whether it slept.
    Unknown,
    Waiting,
    Running {
        since: Time,
    },
    Asleep {
        since: Time,
        device: bool,
    },
    Dead,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Want {
    /// This task, at this index in its program.
    By(TaskId, usize),
    /// An interrupt.
    Outside(Time),
    /// An interrupt, or the task that it interrupted.
    Unclear(Time),
}

impl Life {
    pub fn new(info: &TaskInfo) -> Life {
        Life {
            info: info.clone(),
            ops: Vec::new(),
            points: Vec::new(),
            owed: 0,
            done: 0,
            call: None,
            begin: Begin::Unseen,
            place: Place::Unknown,
            wanted: None,
            bereaved: false,
            parent: None,
            dying: false,
            polled: None,
        }
    }

    pub fn is_kernel(&self) -> bool {
        self.info.group == "[kernel]" || is_kernel_thread(&self.info.name)
    }

    /// Does the recording show only work and timers for this task?
    pub fn paces_itself(&self) -> bool {
        let paces = |op: &Op| {
            matches!(
                op,
                Op::Run(_) | Op::Sleep(_) | Op::Yield | Op::Mark { .. } | Op::Rest
            )
        };
        self.done > 0 && self.ops.iter().all(paces)
    }

    pub fn is_runnable(&self) -> bool {
        matches!(self.place, Place::Waiting | Place::Running { .. })
    }

    /// Adds the CPU time until now to the work.
    pub fn account(&mut self, now: Time) {
        if let Place::Running { since } = &mut self.place {
            let ran = now.since(*since).0;
            self.owed += ran;
            self.done += ran;
            *since = now;
        }
    }

    /// It wakes another task. In a write, the data is in the channel at this point.
    pub fn wakes(&mut self) {
        self.points.push((self.ops.len(), Point::Wakeup));
        let Some(call) = &mut self.call else { return };
        call.wakes += 1;
        if let (Flow::Write { .. }, false) = (call.flow, call.placed) {
            self.ops.extend(call.op());
            call.placed = true;
        }
    }

    /// It slept in a read or a write; the operation waits at this point.
    pub fn sleeps_for_data(&mut self) -> bool {
        let Some(call) = &mut self.call else {
            return false;
        };
        call.sleeps += 1;
        let Some(op) = call.op() else { return false };
        if !std::mem::replace(&mut call.placed, true) {
            self.ops.push(op);
        }
        true
    }

    /// Its system call returns.
    pub fn returns(&mut self, now: Time, cost: Ns) -> Option<Measured> {
        self.put_down(now);
        let call = self.call.take()?;
        match (call.op(), call.flow) {
            (Some(op), Flow::Read { .. }) if !call.placed => self.ops[call.entry] = op,
            (Some(op), _) if !call.placed => self.ops.push(op),
            _ => {}
        }
        if cost > Ns::ZERO {
            self.points.push((self.ops.len(), Point::Recording));
        }
        Some(Measured {
            reads: matches!(call.flow, Flow::Read { .. }),
            writes: matches!(call.flow, Flow::Write { .. }),
            sleeps: call.sleeps,
            wakes: call.wakes,
            ns: self.done - call.done,
        })
    }

    /// Writes the work until now as an operation, because another operation follows.
    pub fn put_down(&mut self, now: Time) {
        self.account(now);
        if self.owed > 0 {
            let work = Ns(std::mem::take(&mut self.owed));
            self.ops.push(Op::Run(Amount::Fixed(work)));
        }
    }

    pub fn leave(&mut self, now: Time, state: PrevState) {
        self.account(now);
        self.place = match state {
            PrevState::Preempted | PrevState::Yielded | PrevState::Moved => Place::Waiting,
            PrevState::Exited => {
                self.put_down(now);
                self.ops.push(Op::Exit);
                Place::Dead
            }
            PrevState::Sleeping | PrevState::DiskSleep | PrevState::Idle => {
                self.put_down(now);
                let device = state == PrevState::DiskSleep;
                Place::Asleep { since: now, device }
            }
        };
    }

    /// The trace ends; the task does nothing more.
    pub fn rest(&mut self, end: Time) {
        self.put_down(end);
        if self.place != Place::Dead {
            self.ops.push(Op::Rest);
        }
    }
}
