//! The reason of each wait, and its operation in the program.

use schedlab_recording::flow::{Flow, Reason};
use schedlab_trace::{Ns, TaskId, Time};
use schedlab_workload::{Amount, Op};

use crate::life::{Want, NOTHING};
use crate::rebuild::Rebuild;
use crate::Mode;

/// A sleep that has ended.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    /// When it began and ended.
    pub since: Time,
    pub until: Time,
    /// It slept in state D.
    pub device: bool,
    /// The waker.
    pub wanted: Option<Want>,
    pub reason: Reason,
    /// The task waited for an absolute time.
    pub absolute: bool,
    /// Its index in the program.
    pub at: usize,
}

impl Rebuild {
    /// A sleeping task is woken.
    pub(crate) fn unblock(&mut self, now: Time, task: TaskId, since: Time, device: bool) {
        let Some(life) = self.life(task) else { return };
        let wanted = life.wanted.take();
        let call = life.call;
        if life.sleeps_for_data() {
            self.counts.slept_for_data();
            return;
        }
        if device {
            life.ops.push(Op::Uninterruptible);
        }
        life.ops.push(NOTHING);
        let wait = Wait {
            since,
            until: now,
            device,
            wanted,
            reason: call.map_or(Reason::Unknown, |call| call.reason),
            absolute: call.is_some_and(|call| call.flow == Flow::Sleep { absolute: true }),
            at: life.ops.len() - 1,
        };
        match wait.reason {
            // The next read tells what it waited for.
            Reason::Poll => {
                self.give_up_poll(task);
                if let Some(life) = self.life(task) {
                    life.polled = Some(wait);
                }
            }
            _ => self.explain(task, wait),
        }
    }

    /// The task enters a system call. If it waited in poll before, a read shows what it waited for.
    pub(crate) fn after_poll(&mut self, task: TaskId, flow: &Flow, reason: Reason) -> bool {
        let Some(life) = self.life(task) else {
            return false;
        };
        let Some(wait) = life.polled else {
            return false;
        };
        match (flow, reason) {
            (Flow::Read { channel, bytes }, _) => {
                life.polled = None;
                life.ops[wait.at] = Op::Receive {
                    channel: channel.0,
                    count: *bytes,
                };
                self.counts.slept_for_data();
                true
            }
            (Flow::Closed, _) => {
                life.polled = None;
                self.explain(task, Wait { reason, ..wait });
                false
            }
            // Other tasks may need this before the read, so the wait stays at its place.
            (Flow::Write { .. } | Flow::Exit, _)
            // It waits again.
            | (_, Reason::Poll | Reason::Futex | Reason::Time | Reason::Child | Reason::Signal) => {
                self.give_up_poll(task);
                false
            }
            _ => false,
        }
    }

    /// The cause of a wait in poll stays unknown.
    pub(crate) fn give_up_poll(&mut self, task: TaskId) {
        let polled = self.life(task).and_then(|life| life.polled.take());
        if let Some(wait) = polled {
            self.explain(task, wait);
        }
    }

    /// A wait for something other than data ends as recorded.
    fn explain(&mut self, task: TaskId, wait: Wait) {
        let understood = self.is_understood(task, &wait);
        self.counts.waited(wait.reason, understood);
        let op = match wait.wanted {
            Some(Want::By(waker, at)) => {
                self.counts.woken_by_tasks += 1;
                self.post(waker, at, task);
                // Without data flow all wakeups of the task sleep as often as recorded.
                match understood && self.counts.has_flow {
                    true => Op::SemWait(task.0),
                    false => Op::SemSleep(task.0),
                }
            }
            Some(Want::Outside(time) | Want::Unclear(time)) => {
                self.counts.woken_from_outside += 1;
                self.outside(task, &wait, time)
            }
            None => {
                self.counts.woken_from_outside += 1;
                self.counts.woken_by_unknown += 1;
                self.outside(task, &wait, wait.until)
            }
        };
        if let Some(life) = self.life(task) {
            life.ops[wait.at] = op;
        }
    }

    /// The operation of a wait that ended from outside at this time.
    fn outside(&mut self, task: TaskId, wait: &Wait, time: Time) -> Op {
        // Timers of kernel threads do not depend on when the thread waits.
        let is_kernel = self.life(task).is_some_and(|life| life.is_kernel());
        match self.options.mode {
            Mode::Closed if !is_kernel && !wait.absolute => {
                // If it was woken before it slept, it sleeps for 0 ns.
                let slept = time.0.saturating_sub(wait.since.0);
                Op::Sleep(Amount::Fixed(Ns(slept)))
            }
            _ => Op::SleepUntil(time.since(Time::ZERO)),
        }
    }

    /// Would the same event end this wait under another scheduler?
    fn is_understood(&mut self, task: TaskId, wait: &Wait) -> bool {
        match wait.wanted {
            Some(Want::By(waker, _)) => {
                let Some(waker) = self.life(waker) else {
                    return false;
                };
                let ends = waker.dying || waker.call.is_some_and(|call| call.flow == Flow::Exit);
                let is_child = waker.parent == Some(task);
                // A parent in vfork waits in state D until its child execs.
                let by_end = ends || is_child && wait.device;
                let by_nature = matches!(wait.reason, Reason::Child | Reason::Closed);
                by_nature || by_end || self.life(task).is_some_and(|life| life.is_kernel())
            }
            Some(Want::Outside(_)) => {
                !self.options.wakers_are_guessed || wait.reason == Reason::Time
            }
            Some(Want::Unclear(_)) | None => wait.reason == Reason::Time,
        }
    }

    /// Replaces the placeholder by the wakeup.
    pub(crate) fn post(&mut self, waker: TaskId, at: usize, task: TaskId) {
        if let Some(waker) = self.life(waker) {
            waker.ops[at] = Op::SemPost(task.0);
        }
    }
}
