//! What a recording says before anything is mended: CPU times, and whether it is whole.

use std::fmt;

use rustc_hash::{FxHashMap, FxHashSet};
use schedlab_trace::{CpuId, Ns, Time};

use crate::event::{KernelEvent, KernelEventKind, KernelState, Pid};
use crate::recording::Recording;

/// More switches than this share away from a task that cannot have run: switches are missing on purpose.
const MOST_UNFOUNDED: f64 = 0.3;

/// Fewer switches than this show nothing.
const ENOUGH: u64 = 20;

/// What the events say as they are.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Raw {
    /// CPU time of each thread id: what `sched_stat_runtime` accounts, else between two switches that agree.
    pub run_ns: FxHashMap<Pid, Ns>,
    /// Is it the kernel's own account (`sched_stat_runtime`)?
    pub accounted: bool,
    /// Switches away from tasks.
    pub nr_switches: u64,
    /// Of these, switches away from a task that nothing in the recording had made run.
    pub nr_unfounded: u64,
    /// CPUs that tasks were queued on, but that recorded no event.
    pub blind_cpus: Vec<CpuId>,
}

/// Why a recording does not show the whole machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Partial {
    /// Most switches are missing.
    Switches {
        /// In percent.
        unfounded_percent: u64,
    },
    /// Nothing of these CPUs was recorded.
    Cpus(Vec<CpuId>),
}

impl Raw {
    /// That of a recording.
    pub fn of(recording: &Recording) -> Raw {
        let mut reader = Reader::default();
        recording.events().iter().for_each(|e| reader.event(e));
        reader.finish()
    }

    /// Why the recording does not show the whole machine; none if nothing says so.
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
                "of {unfounded_percent} % of the switches the other half is missing: only some tasks (perf record \
                 without -a) or samples (-F) were recorded"
            ),
            Partial::Cpus(cpus) => {
                let cpus: Vec<String> = cpus.iter().map(ToString::to_string).collect();
                let cpus = cpus.join(", ");
                write!(f, "nothing of CPU {cpus} was recorded (perf record -C?)")
            }
        }
    }
}

#[derive(Default)]
struct Reader {
    raw: Raw,
    /// Who runs on each CPU since when, by the last switch.
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

    /// A task is switched away from.  If the last switch named another one and the task was last seen going to sleep,
    /// it came from nowhere.
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
