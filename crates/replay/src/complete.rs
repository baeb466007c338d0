//! Do all tasks of a rebuilt workload end?

use schedlab_workload::{Op, SpecId, Workload};

/// The state of a workload whose operations take no time and whose tasks run as soon as possible.
struct Played<'a> {
    workload: &'a Workload,
    /// The next operation of each task, if it has begun.
    next: Vec<Option<usize>>,
    /// The rest of each task's transfer, if one has begun.
    left: Vec<Option<u32>>,
    semaphores: Vec<u32>,
    held: Vec<u64>,
}

/// Does every task that begins also end? Programs have no branches, so the order of tasks does not
/// matter: a task that can continue stays able to. If the ends of a channel were not separated, a
/// task may never end.
pub fn is_complete(workload: &Workload) -> bool {
    let begun = |count: u32, dormant: bool| (count > 0 || dormant).then_some(0);
    let mut played = Played {
        workload,
        next: workload
            .tasks
            .iter()
            .map(|t| begun(t.count, t.dormant))
            .collect(),
        left: vec![None; workload.tasks.len()],
        semaphores: workload.semaphores.clone(),
        held: workload
            .channels
            .iter()
            .map(|c| u64::from(c.initial))
            .collect(),
    };
    let tasks = 0..workload.tasks.len();
    while tasks.clone().filter(|task| played.runs(*task)).count() > 0 {}
    tasks.into_iter().all(|task| played.is_done(task))
}

impl Played<'_> {
    fn ops(&self, task: usize) -> &[Op] {
        let program = self.workload.tasks[task].program;
        &self.workload.programs[program.0 as usize].ops
    }

    fn is_done(&self, task: usize) -> bool {
        self.next[task].is_none_or(|next| next >= self.ops(task).len())
    }

    /// Runs a task until it has to wait; returns whether it did anything.
    fn runs(&mut self, task: usize) -> bool {
        let mut moved = false;
        while let Some(next) = self.next[task] {
            let Some(&op) = self.ops(task).get(next) else {
                return moved;
            };
            match self.does(task, op) {
                None => return moved,
                Some(finished) => {
                    moved = true;
                    let end = matches!(op, Op::Exit | Op::Rest | Op::Loop { .. });
                    let after = if end { usize::MAX } else { next + 1 };
                    self.next[task] = Some(if finished { after } else { next });
                }
            }
        }
        moved
    }

    /// Executes an operation. `None`: it has to wait; otherwise: is it finished?
    fn does(&mut self, task: usize, op: Op) -> Option<bool> {
        match op {
            Op::SemWait(semaphore) | Op::SemSleep(semaphore) => {
                let value = &mut self.semaphores[semaphore as usize];
                *value = value.checked_sub(1)?;
            }
            Op::SemPost(semaphore) => self.semaphores[semaphore as usize] += 1,
            Op::Fork(SpecId(child)) => self.next[child as usize] = Some(0),
            Op::Receive { channel, count } => return self.transfer(task, channel, count, false),
            Op::Send { channel, count } => return self.transfer(task, channel, count, true),
            _ => {}
        }
        Some(true)
    }

    fn transfer(&mut self, task: usize, channel: u32, count: u32, sends: bool) -> Option<bool> {
        let capacity = u64::from(self.workload.channels[channel as usize].capacity);
        let held = &mut self.held[channel as usize];
        let room = if sends {
            capacity.saturating_sub(*held)
        } else {
            *held
        };
        let left = self.left[task].unwrap_or(count);
        let part = u64::from(left).min(room);
        *held = if sends { *held + part } else { *held - part };
        let left = left - part as u32;
        self.left[task] = (left > 0).then_some(left);
        match (left, part) {
            (0, _) => Some(true),
            (_, 0) => None,
            _ => Some(false),
        }
    }
}
