//! The work a task has left until it sleeps or ends, for policies that may know it
//! (`knows_future`).

use schedlab_trace::{Ns, TaskId};
use schedlab_workload::{Cursor, Op, LONGEST};

use crate::engine::Simulation;
use crate::task::{Computing, WORK_UNITS_PER_NS};

/// Most operations examined. A task with more operations before it sleeps has [`LONGEST`] left.
const MOST_OPS: u32 = 1000;

impl Simulation<'_> {
    /// Tells the policy how much work the task has left, if it may know.
    pub(crate) fn tell_work_left(&mut self, task: TaskId) {
        if self.setup.tuned.policy.knows_future() {
            let left = self.work_left(task);
            self.host.set_work_left(task, left, self.now);
        }
    }

    /// The work of its operations before the next one in which it may sleep. Random amounts are
    /// those that it will draw.
    fn work_left(&self, task: TaskId) -> Ns {
        let t = self.task(task);
        let at_hand = match t.computing {
            Computing::Nothing => 0,
            Computing::Work(units) => units.div_ceil(WORK_UNITS_PER_NS),
            Computing::Until(end) => end.since(self.now.min(end)).0,
        };
        let mut cursor = t.cursor;
        if t.retrying {
            // The operation in which it slept continues without another sleep.
            cursor.step(self.program(t.spec));
        }
        Ns(at_hand
            .saturating_add(self.work_ahead(t.spec, cursor))
            .min(LONGEST.0))
    }

    fn work_ahead(&self, spec: u32, mut cursor: Cursor) -> u64 {
        let (ops, distributions) = (self.program(spec), &self.setup.workload.distributions);
        let mut work: u64 = 0;
        for _ in 0..MOST_OPS {
            let ns = match cursor.step(ops) {
                None => return work,
                Some(op) if may_sleep(&op) => return work,
                Some(Op::Run(amount) | Op::RunFor(amount)) => {
                    cursor.amount(amount, distributions).0
                }
                Some(Op::RunInKernel(ns)) => ns.0,
                Some(_) => 0,
            };
            work = work.saturating_add(ns);
            if work >= LONGEST.0 {
                break;
            }
        }
        LONGEST.0
    }
}

/// Can the task sleep in this operation, or end?
fn may_sleep(op: &Op) -> bool {
    matches!(
        op,
        Op::Sleep(_)
            | Op::SleepUntil(_)
            | Op::Rest
            | Op::TimedSleep(_)
            | Op::Timer { .. }
            | Op::Lock(_)
            | Op::CondWait { .. }
            | Op::SemWait(_)
            | Op::SemSleep(_)
            | Op::Barrier(_)
            | Op::Send { .. }
            | Op::Receive { .. }
            | Op::ReceiveAll { .. }
            | Op::Disk { .. }
            | Op::WaitChild
            | Op::WaitAll
            | Op::Exit
    )
}
