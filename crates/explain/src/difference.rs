//! The first difference between two runs.

use std::collections::BTreeMap;

use schedlab_trace::{CpuId, Event, EventKind, Sink, TaskId, TaskInfo, Time, TraceInfo};
use serde::Serialize;

use crate::roster::Roster;

/// Keeps the tasks that ran on each CPU, in order.
#[derive(Debug, Default)]
pub struct Order {
    roster: Roster,
    policy: String,
    /// Each name once.
    numbers: BTreeMap<String, u32>,
    names: Vec<String>,
    of_task: BTreeMap<TaskId, u32>,
    cpus: Vec<Vec<(Time, u32)>>,
}

/// What a CPU did.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Step {
    /// The run, named by its policy.
    pub policy: String,
    /// The time; none if the run ended before.
    pub time: Option<Time>,
    /// What it ran from then on; none: it idled, or the run ended.
    pub task: Option<String>,
}

/// The first difference between two runs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Difference {
    /// The CPU.
    pub cpu: CpuId,
    /// How many switches of this CPU were the same before.
    pub same: u64,
    /// What it ran before, in both.
    pub after: Option<String>,
    /// What it did then, in each run.
    pub then: [Step; 2],
}

/// The number of the idle task.
const IDLE: u32 = 0;

impl Order {
    /// A sink for one trace.
    pub fn new() -> Order {
        Order {
            names: vec![String::new()],
            ..Order::default()
        }
    }

    fn number(&mut self, task: TaskId) -> u32 {
        if let Some(&number) = self.of_task.get(&task) {
            return number;
        }
        let name = self.roster.name(task);
        let next = self.names.len() as u32;
        let number = *self.numbers.entry(name.clone()).or_insert(next);
        if number == next {
            self.names.push(name);
        }
        self.of_task.insert(task, number);
        number
    }

    fn name(&self, number: u32) -> Option<String> {
        (number != IDLE).then(|| self.names[number as usize].clone())
    }

    fn step(&self, cpu: usize, index: usize) -> Step {
        let step = self.cpus[cpu].get(index);
        Step {
            policy: self.policy.clone(),
            time: step.map(|&(time, _)| time),
            task: step.and_then(|&(_, task)| self.name(task)),
        }
    }
}

/// The earliest place where a CPU ran different tasks in the two runs, regardless of for how long; none if
/// all CPUs ran the same tasks in the same order.
pub fn first_difference(a: &Order, b: &Order) -> Option<Difference> {
    let nr_cpus = a.cpus.len().min(b.cpus.len());
    let differences = (0..nr_cpus).filter_map(|cpu| {
        let (x, y) = (&a.cpus[cpu], &b.cpus[cpu]);
        let names = |step: (&(Time, u32), &(Time, u32))| {
            a.names[step.0 .1 as usize] == b.names[step.1 .1 as usize]
        };
        let same = x.iter().zip(y).take_while(|&step| names(step)).count();
        if same == x.len() && same == y.len() {
            return None;
        }
        let before = same.checked_sub(1).map(|last| x[last].1);
        let difference = Difference {
            cpu: CpuId(cpu as u32),
            same: same as u64,
            after: before.and_then(|task| a.name(task)),
            then: [a.step(cpu, same), b.step(cpu, same)],
        };
        let times = difference.then.iter().filter_map(|step| step.time);
        Some((times.min(), cpu, difference))
    });
    differences
        .min_by_key(|&(time, cpu, _)| (time, cpu))
        .map(|(_, _, difference)| difference)
}

impl Sink for Order {
    fn begin(&mut self, info: &TraceInfo) {
        self.policy = info.policy.clone();
        self.cpus = vec![Vec::new(); info.nr_cpus as usize];
    }

    fn task(&mut self, info: &TaskInfo) {
        self.roster.insert(info);
    }

    fn event(&mut self, event: &Event) {
        if let EventKind::Switch { next, .. } = event.kind {
            let number = next.map_or(IDLE, |next| self.number(next));
            if let Some(cpu) = self.cpus.get_mut(event.cpu.index()) {
                cpu.push((event.time, number));
            }
        }
    }
}
