//! CPU times and completeness of a recording before missing events are added.

use std::fmt;

use rustc_hash::{FxHashMap, FxHashSet};
use schedlab_trace::{CpuId, Ns, Time};

use crate::event::{KernelEvent, KernelEventKind, KernelState, Pid};
use crate::recording::Recording;

/// If a larger share of the switches is unfounded (see [`Raw::nr_unfounded`]), the recorder left
/// out switches.
const MOST_UNFOUNDED: f64 = 0.3;

/// With fewer switches the share means nothing.
const ENOUGH: u64 = 20;

/// Facts from the recorded events alone.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Raw {
    /// CPU time of each thread id: the sum of `sched_stat_runtime`; without it, of the times
    /// between two matching switches.
    pub run_ns: FxHashMap<Pid, Ns>,
    /// Are the CPU times those of `sched_stat_runtime`?
    pub accounted: bool,
    /// Switches away from tasks.
    pub nr_switches: u64,
    /// Of these, switches away from a task that, by the events before, did not run.
    pub nr_unfounded: u64,
    /// CPUs with queued tasks but without any event.
    pub blind_cpus: Vec<CpuId>,
}

/// A reason why a recording does not show the whole machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Partial {
    /// Many switches are missing.
    Switches {
        /// The share of unfounded switches.
        unfounded_percent: u64,
    },
    /// CPUs without events.
    Cpus(Vec<CpuId>),
}

impl Raw {
    /// The facts of a recording.
    pub fn of(recording: &Recording) -> Raw {
        let mut reader = Reader::default();
        recording.events().iter().for_each(|e| reader.event(e));
        reader.finish()
    }

    /// Why the recording does not show the whole machine; `None` if nothing indicates that.
    pub fn partial(&self) -> Option<Partial> {
        let share = self.nr_unfounded as f64 / self.nr_switches.max(1) as f64;
        if self.nr_switches >= ENOUGH && share > MOST_UNFOUNDED {
            let unfounded_percent = (share * 100.0) as u64;
            return Some(Partial::Switches { unfounded_percent });
        }
        (!self.blind_cpus.is_empty()).then(|| Partial::Cpus(self.blind_cpus.clone()))
    }
}

impl fmt::Display for Partial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Partial::Switches { unfounded_percent } => write!(
                f,
                "{unfounded_percent} % of the switches leave a task that no recorded event made run: only some tasks (perf record \
                 without -a) or samples (-F) were recorded"
            ),
            Partial::Cpus(cpus) => {
                let cpus: Vec<String> = cpus.iter().map(ToString::to_string).collect();
                let cpus = cpus.join(", ");
                write!(f, "CPU {cpus} was not recorded (perf record -C?)")
            }
        }
    }
}

#[derive(Default)]
struct Reader {
    raw: Raw,
    /// The running task of each CPU and its start, from the last switch.
    running: FxHashMap<CpuId, (Time, Pid)>,
    asleep: FxHashSet<Pid>,
    accounts: FxHashMap<Pid, Ns>,
    targets: FxHashMap<CpuId, u64>,
    seen: FxHashSet<CpuId>,
}

impl Reader {
    fn event(&mut self, event: &KernelEvent) {
        self.seen.insert(event.cpu);
        match event.kind {
            KernelEventKind::Switch {
                prev,
                prev_state,
                next,
            } => {
                self.left(event, prev.pid);
                let sleeps = !matches!(
                    prev_state,
                    KernelState::Runnable | KernelState::PreemptedInKernel
                );
                if sleeps && prev.pid != Pid::IDLE {
                    self.asleep.insert(prev.pid);
                }
                self.asleep.remove(&next.pid);
                self.running.insert(event.cpu, (event.time, next.pid));
            }
            KernelEventKind::Waking { task, .. } => {
                self.asleep.remove(&task.pid);
            }
            KernelEventKind::Wakeup { task, target, .. } => {
                self.asleep.remove(&task.pid);
                *self.targets.entry(target).or_default() += 1;
            }
            KernelEventKind::Runtime { task, ns } => {
                *self.accounts.entry(task.pid).or_default() += Ns(ns);
            }
            _ => {}
        }
    }

    /// A task is switched away from. The switch is unfounded if the CPU's last switch was to
    /// another task and this task was last seen going to sleep.
    fn left(&mut self, event: &KernelEvent, prev: Pid) {
        if prev == Pid::IDLE {
            return;
        }
        self.raw.nr_switches += 1;
        match self.running.get(&event.cpu) {
            Some((since, running)) if *running == prev => {
                *self.raw.run_ns.entry(prev).or_default() += event.time.since(*since);
            }
            Some(_) if self.asleep.contains(&prev) => self.raw.nr_unfounded += 1,
            _ => {}
        }
    }

    fn finish(mut self) -> Raw {
        let blind = self
            .targets
            .iter()
            .filter(|(cpu, _)| !self.seen.contains(cpu));
        self.raw.blind_cpus = blind.map(|(cpu, _)| *cpu).collect();
        self.raw.blind_cpus.sort_unstable();
        self.raw.accounted = !self.accounts.is_empty();
        if self.raw.accounted {
            self.raw.run_ns = self.accounts;
        }
        self.raw
    }
}
