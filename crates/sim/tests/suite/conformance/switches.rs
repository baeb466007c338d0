//! The order and length of turns, for claims about them.

use schedlab_machine::Machine;
use schedlab_measure::{Measure, Metrics};
use schedlab_policy::{Policy, Tuned};
use schedlab_sim::Setup;
use schedlab_trace::{CpuId, Event, EventKind, Ns, Sink, TaskId, TaskInfo, Tee, Time};
use schedlab_workload::Workload;

/// Every switch of a run.
#[derive(Default, PartialEq, Eq, Debug)]
pub struct Switches {
    groups: Vec<String>,
    switches: Vec<(Time, CpuId, Option<TaskId>)>,
    end: Time,
}

impl Sink for Switches {
    fn task(&mut self, info: &TaskInfo) {
        assert_eq!(info.id.index(), self.groups.len());
        self.groups.push(info.group.clone());
    }

    fn event(&mut self, event: &Event) {
        if let EventKind::Switch { next, .. } = event.kind {
            self.switches.push((event.time, event.cpu, next));
        }
    }

    fn end(&mut self, time: Time) {
        self.end = time;
    }
}

impl Switches {
    /// Which tasks of this group had their turn on the one CPU, and how long in ns each ran until
    /// another task of the group did.  Time of other tasks in between does not count.
    pub fn turns(&self, group: &str) -> Vec<(TaskId, u64)> {
        let mut turns: Vec<(TaskId, u64)> = Vec::new();
        let ends = self.switches.iter().skip(1).map(|s| s.0);
        for (&(from, _, task), to) in self.switches.iter().zip(ends.chain([self.end])) {
            let Some(task) = task.filter(|t| self.groups[t.index()] == group) else {
                continue;
            };
            let ns = to.0 - from.0;
            match turns.last_mut() {
                Some((last, sum)) if *last == task => *sum += ns,
                _ => turns.push((task, ns)),
            }
        }
        turns
    }

    /// The mean length of those turns, in ticks of 10 ms.
    pub fn mean_turn_ticks(&self, group: &str) -> f64 {
        let turns = self.turns(group);
        let sum: u64 = turns.iter().map(|t| t.1).sum();
        sum as f64 / turns.len() as f64 / 1e7
    }
}

/// A policy in one of its variants with some tunables set.
pub fn tuned(policy: &str, set: &[(&str, i64)]) -> Tuned {
    let (name, variant) = match policy.split_once(':') {
        Some((name, variant)) => (name, Some(variant)),
        None => (policy, None),
    };
    let set: Vec<(String, i64)> = set.iter().map(|&(n, v)| (n.to_string(), v)).collect();
    Tuned::new(Policy::find(name).unwrap(), variant, &set).unwrap()
}

/// Runs a workload with seed 1.
pub fn run(tuned: &Tuned, machine: &Machine, workload: &Workload, end: Ns) -> (Switches, Metrics) {
    let setup = Setup {
        duration: Some(end),
        ..Setup::new(machine, workload, tuned)
    };
    let sink = Tee(Switches::default(), Measure::new());
    let (_, Tee(switches, measure)) = setup.run(sink).unwrap();
    let metrics = measure.finish();
    assert_eq!(metrics.accounting_error, None);
    (switches, metrics)
}
