//! `schedlab dev fidelity`: the error of the simulator, measured against a real kernel.

mod compare;
mod groups;
mod seen;
mod tables;

use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use schedlab_input::Diagnostic;
use schedlab_lab::choose::{self, policies, Assignments};
use schedlab_lab::{in_parallel, threads, Cancel, Trial};
use schedlab_measure::{Measure, Metrics};
use schedlab_policy::Tuned;
use schedlab_trace::{Ns, TraceInfo};
use schedlab_vm::Machine;

use crate::arguments::{FidelityArguments, PlayedArguments, RtappArguments};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::kernel::{failure, machine, Echo, KernelSession, Scheduler, Task};
use crate::progress::Waiting;

use super::{note, print};

use compare::Compared;
pub use seen::Seen;
pub use tables::aligned;

/// The default workloads.
const WORKLOADS: [&str; 6] = [
    "hogs --nice 0,5,10 --count 2",
    "late --aligned --task vi:count=4 --task mozilla:count=2 --task compiler:count=6",
    "massive-intr -n 10",
    "producer-consumer",
    "closed-loop-server",
    "volanomark --rooms 1 --users 10",
];

/// The seed of the runs that are compared.
const SEED: u64 = 1;

/// Further seeds in the simulator, for random differences.
const OTHER_SEEDS: RangeInclusive<u64> = 2..=9;

/// The name of the place for the tables in a file, and for the table of control groups.
pub const TABLES: &str = "tables";
const GROUPS: &str = "groups";

/// Runs everything in both worlds and prints or writes the tables.
pub fn fidelity(arguments: &FidelityArguments) -> Result<(), Failure> {
    let interrupt = Interrupt::listen()?;
    let set = Assignments::read(&[], &[])?;
    let policies = policies("--policies", &arguments.policies, &set, &interrupt.stop())?;
    let workloads = match arguments.workloads.as_slice() {
        [] => WORKLOADS.map(str::to_string).to_vec(),
        some => some.to_vec(),
    };
    let name = match arguments.groups {
        Some(_) => GROUPS,
        None => TABLES,
    };
    let place = arguments.write.as_deref();
    let place = place.map(|path| Place::find(path, name)).transpose()?;
    let stop = || interrupt.signal().is_some();
    let machine = machine(&arguments.machine, &mut note, &stop);
    let pairs = Pairs {
        policies,
        workloads,
        duration: arguments.duration,
        model: schedlab_machine::find(&arguments.model)?.into(),
        machine: machine.map_err(|e| failure(e, &interrupt))?,
        timeout: Duration::from_nanos(arguments.machine.timeout.0),
        watchdog: arguments.machine.watchdog,
        jobs: arguments.jobs,
    };
    let text = match arguments.groups {
        Some(nr_trees) => groups::table(&pairs, arguments, nr_trees, &interrupt)?,
        None => pairs.tables(&interrupt)?,
    };
    match place {
        Some(place) => place.write(&text),
        None => print(&text),
    }
}

/// The runs in both worlds: each workload under each policy.
struct Pairs {
    policies: Vec<(String, Tuned)>,
    workloads: Vec<String>,
    duration: Ns,
    /// The simulated machine.
    model: Arc<schedlab_machine::Machine>,
    machine: Machine,
    timeout: Duration,
    watchdog: Option<Ns>,
    jobs: Option<u16>,
}

impl Pairs {
    fn played(&self) -> PlayedArguments {
        PlayedArguments {
            duration: Some(self.duration),
            seed: SEED,
            rtapp: RtappArguments::default(),
        }
    }

    /// Runs each workload under each policy in both worlds and returns their tables.
    fn tables(&self, interrupt: &Interrupt) -> Result<String, Failure> {
        let nr_runs = self.workloads.len() * self.policies.len();
        // By workload, then policy.
        let of = |run: usize| {
            let policy = &self.policies[run % self.policies.len()];
            (self.workloads[run / self.policies.len()].as_str(), policy)
        };
        let simulated = self.all(nr_runs, interrupt, "simulating", |run, cancel| {
            let (workload, (_, tuned)) = of(run);
            std::iter::once(SEED)
                .chain(OTHER_SEEDS)
                .map(|seed| self.simulated_one(workload, tuned, seed, interrupt, cancel))
                .collect()
        })?;
        let real = self.all(nr_runs, interrupt, "running", |run, cancel| {
            let (workload, (written, tuned)) = of(run);
            let scheduler = Scheduler::ours(written.clone(), tuned.clone())?;
            self.real_one(workload, &scheduler, interrupt, cancel)
        })?;
        let compared = simulated.iter().zip(&real);
        let compared: Vec<Compared> = compared
            .map(|(sims, real): (&Vec<Metrics>, _)| Compared::of(sims, real))
            .collect();
        let names: Vec<String> = self.policies.iter().map(|(_, t)| t.name()).collect();
        Ok(tables::markdown(&names, &self.workloads, &compared))
    }

    /// So many runs, in parallel.
    fn all<T: Send>(
        &self,
        nr_runs: usize,
        interrupt: &Interrupt,
        what: &str,
        one: impl Fn(usize, &Cancel) -> Result<T, Failure> + Sync,
    ) -> Result<Vec<T>, Failure> {
        let mut waiting = Waiting::new();
        let results = in_parallel(nr_runs, threads(self.jobs), one, || waiting.show(what));
        drop(waiting);
        interrupt.check()?;
        results
    }

    /// In the simulator.
    fn simulated_one(
        &self,
        workload: &str,
        tuned: &Tuned,
        seed: u64,
        interrupt: &Interrupt,
        cancel: &Cancel,
    ) -> Result<Metrics, Failure> {
        let mut played = choose::workload(workload, &self.played().rtapp.options())?;
        played.open_to_signals = true;
        let machine = Arc::clone(&self.model);
        let trial = Trial {
            duration: Some(self.duration),
            ..Trial::new(tuned.clone(), machine, played.into(), seed)
        };
        let ran = trial.run(Seen::new(Measure::new()), |_| {
            interrupt.signal().is_some() || cancel.cancelled()
        });
        let ran = ran.map_err(|unfinished| {
            let name = format!("{workload}, {}", trial.name());
            Failure::of_run(name, unfinished.reason)
        })?;
        Ok(ran.sink.into_inner().finish())
    }

    /// In the kernel.
    fn real_one(
        &self,
        workload: &str,
        scheduler: &Scheduler,
        interrupt: &Interrupt,
        cancel: &Cancel,
    ) -> Result<Metrics, Failure> {
        let session = KernelSession {
            machine: self.machine.clone(),
            task: Task::Workload(workload.to_string(), self.played()),
            with: Vec::new(),
            record: true,
            data_flow: false,
            timeout: self.timeout,
            watchdog: self.watchdog,
        };
        let mut said = Vec::new();
        let mut echo = Echo {
            stdout: &mut std::io::sink(),
            stderr: &mut said,
            beat: &mut |_| (),
        };
        let stop = || interrupt.signal().is_some() || cancel.cancelled();
        let name = scheduler.full_name();
        let named = |problem: String| Failure::Other(format!("{workload}, {name}: {problem}"));
        let outcome = session.run(scheduler, &mut echo, &stop);
        let outcome = outcome.map_err(|error| match failure(error, interrupt) {
            Failure::Other(problem) => named(problem),
            other => other,
        })?;
        if outcome.ended.exit.code() != 0 {
            return Err(named(String::from_utf8_lossy(&said).trim().to_string()));
        }
        let recording = outcome.recording;
        let recording = recording.ok_or_else(|| named("nothing was recorded".into()))?;
        let mut seen = Seen::new(Measure::new());
        recording.play(&TraceInfo::default(), &mut seen);
        note(&format!("{workload}, {name}: done"));
        Ok(seen.into_inner().finish())
    }
}

/// A file with a place for the tables.
pub struct Place<'a> {
    path: &'a Path,
    /// The text up to the line that begins the place, and from the line that ends it.
    before: String,
    after: String,
}

impl Place<'_> {
    /// The place with this name: "tables" or another.
    pub fn find<'a>(path: &'a Path, name: &str) -> Result<Place<'a>, Failure> {
        let [begin, end] = ["begin", "end"].map(|edge| format!("<!-- {name}: {edge} -->"));
        let text = schedlab_input::read_text(path)?;
        let missing = || {
            let problem = format!("{} has no place for \"{name}\"", path.display());
            let mistake = Diagnostic::new(problem).at("--write", 0);
            mistake.expected(format!("lines \"{begin}\" and \"{end}\""))
        };
        let (before, rest) = text.split_once(&begin).ok_or_else(missing)?;
        let (_, after) = rest.split_once(&end).ok_or_else(missing)?;
        Ok(Place {
            path,
            before: format!("{before}{begin}\n"),
            after: format!("{end}{after}"),
        })
    }

    pub fn write(&self, tables: &str) -> Result<(), Failure> {
        let text = format!("{}{tables}{}", self.before, self.after);
        std::fs::write(self.path, text).map_err(Failure::writing(self.path))
    }
}
