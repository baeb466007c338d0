//! Queues of waiting tasks.

use std::sync::atomic::Ordering::Relaxed;

use crate::stage::{Stage, TaskSlot};

/// Waiting tasks; the first has waited longest.
#[derive(Clone, Copy, Default, Debug)]
pub struct Queue {
    /// Plus 1; 0 means none.
    first: u32,
    last: u32,
    length: u32,
}

impl Queue {
    /// Puts a task behind all others.
    pub fn push(&mut self, stage: &Stage, task: TaskSlot) {
        stage.slot(task).next.store(0, Relaxed);
        match self.last {
            0 => self.first = task.0 + 1,
            last => stage.slots[last as usize - 1]
                .next
                .store(task.0 + 1, Relaxed),
        }
        self.last = task.0 + 1;
        self.length += 1;
    }

    /// Takes the task that has waited longest.
    pub fn pop(&mut self, stage: &Stage) -> Option<TaskSlot> {
        let first = TaskSlot(self.first.checked_sub(1)?);
        self.first = stage.slot(first).next.load(Relaxed);
        if self.first == 0 {
            self.last = 0;
        }
        self.length -= 1;
        Some(first)
    }

    /// The number of waiting tasks.
    pub fn length(&self) -> u32 {
        self.length
    }
}
