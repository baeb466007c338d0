//! Which task had the CPU when: for claims about turns.

use schedlab_trace::{Event, EventKind, Sink, TaskId, TaskInfo, Time};

/// A stay on the CPU: its task, its begin and its end, in nanoseconds.
pub type Stay = (TaskId, u64, u64);

/// All stays on the CPU of a machine with one CPU.
#[derive(Default, PartialEq, Debug)]
pub struct Turns {
    groups: Vec<String>,
    /// In their order.
    pub stays: Vec<Stay>,
    running: Option<(TaskId, Time)>,
}

impl Turns {
    /// The group of a task.
    pub fn group(&self, task: TaskId) -> &str {
        &self.groups[task.index()]
    }

    /// Stays of a group's tasks, those of the same task added up: a turn lasts until another task of the
    /// group runs.  Time of tasks outside the group does not count.
    pub fn of(&self, group: &str) -> Vec<(TaskId, u64)> {
        let mut turns: Vec<(TaskId, u64)> = Vec::new();
        for &(task, from, to) in &self.stays {
            if self.group(task) != group {
                continue;
            }
            match turns.last_mut() {
                Some((last, sum)) if *last == task => *sum += to - from,
                _ => turns.push((task, to - from)),
            }
        }
        turns
    }

    /// The mean length of a group's turns, in ns.
    pub fn mean_ns(&self, group: &str) -> f64 {
        let turns = self.of(group);
        turns.iter().map(|t| t.1 as f64).sum::<f64>() / turns.len() as f64
    }

    /// The CPU time of each task of a group as a share of that of the whole group.
    pub fn shares(&self, group: &str) -> Vec<f64> {
        let mut sums = vec![0.0; self.groups.len()];
        for (task, ns) in self.of(group) {
            sums[task.index()] += ns as f64;
        }
        let all: f64 = sums.iter().sum();
        let tasks = (0..sums.len()).filter(|i| self.groups[*i] == group);
        tasks.map(|i| sums[i] / all).collect()
    }

    fn switch(&mut self, time: Time, next: Option<TaskId>) {
        if let Some((task, since)) = self.running.take() {
            self.stays.push((task, since.0, time.0));
        }
        self.running = next.map(|task| (task, time));
    }
}

impl Sink for Turns {
    fn task(&mut self, info: &TaskInfo) {
        self.groups.push(info.group.clone());
    }

    fn event(&mut self, event: &Event) {
        if let EventKind::Switch { next, .. } = event.kind {
            self.switch(event.time, next);
        }
    }

    fn end(&mut self, time: Time) {
        self.switch(time, None);
    }
}
