//! The costs of scheduling in the recording, measured from system calls.
//!
//! A read that sleeps takes longer than one that does not, by the time of switching away and back.
//! A write that wakes takes longer by the time of a wakeup. The number of sleeps and wakeups
//! depends on the scheduler. So these times are removed from the recorded work, and the machine
//! charges them instead.

use schedlab_trace::Ns;
use schedlab_workload::{Amount, Op};
use serde::Serialize;

use crate::Counts;

/// With fewer calls of a kind no cost is computed.
const ENOUGH: usize = 20;

/// Medians of scheduling costs; `None`: unknown, so they are part of the recorded work.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct SchedulingCosts {
    /// Switching away from a task and back.
    pub switch_ns: Option<Ns>,
    /// Waking a task.
    pub wakeup_ns: Option<Ns>,
    /// Recording a system call.
    pub call_ns: Ns,
}

/// An event in a program with a cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Point {
    /// The task was switched away from.
    Switch,
    /// It woke another one.
    Wakeup,
    /// One of its system calls was recorded.
    Recording,
}

/// A system call that has returned.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    pub reads: bool,
    pub writes: bool,
    pub sleeps: u32,
    pub wakes: u32,
    /// CPU time in it.
    pub ns: u64,
}

/// Collects CPU times of system calls.
#[derive(Debug, Default)]
pub struct Costs {
    /// CPU times of reads that did not sleep, and of reads that slept once.
    reads: [Vec<u64>; 2],
    /// CPU times of writes that woke no task, and of writes that woke one.
    writes: [Vec<u64>; 2],
    pub call_ns: Ns,
}

impl Costs {
    pub fn add(&mut self, call: &Measured) {
        match *call {
            Measured {
                reads: true,
                sleeps: sleeps @ (0 | 1),
                wakes: 0,
                ns,
                ..
            } => self.reads[sleeps as usize].push(ns),
            Measured {
                writes: true,
                sleeps: 0,
                wakes: wakes @ (0 | 1),
                ns,
                ..
            } => self.writes[wakes as usize].push(ns),
            _ => {}
        }
    }

    pub fn measured(self) -> SchedulingCosts {
        SchedulingCosts {
            switch_ns: difference(self.reads),
            wakeup_ns: difference(self.writes),
            call_ns: self.call_ns,
        }
    }
}

/// The difference of the medians: second minus first.
fn difference([without, with]: [Vec<u64>; 2]) -> Option<Ns> {
    let (without, with) = (median(without)?, median(with)?);
    Some(Ns(with.saturating_sub(without)))
}

fn median(mut took: Vec<u64>) -> Option<u64> {
    let middle = took.len() / 2;
    (took.len() >= ENOUGH).then(|| *took.select_nth_unstable(middle).1)
}

impl SchedulingCosts {
    fn of(&self, point: Point) -> u64 {
        let known = match point {
            Point::Switch => self.switch_ns,
            Point::Wakeup => self.wakeup_ns,
            Point::Recording => Some(self.call_ns),
        };
        known.map_or(0, |cost| cost.0)
    }

    /// Removes these costs from a program: each is subtracted from the work that follows, as far as
    /// possible.
    pub fn taken_out(
        &self,
        mut ops: Vec<Op>,
        points: &[(usize, Point)],
        counts: &mut Counts,
    ) -> Vec<Op> {
        let (mut points, mut due) = (points.iter().peekable(), 0);
        for (at, op) in ops.iter_mut().enumerate() {
            while let Some((_, point)) = points.next_if(|(place, _)| *place <= at) {
                due += self.of(*point);
            }
            if let Op::Run(Amount::Fixed(work)) = op {
                let taken = due.min(work.0);
                due -= taken;
                work.0 -= taken;
                counts.costs_ns += Ns(taken);
            }
        }
        ops
    }
}
