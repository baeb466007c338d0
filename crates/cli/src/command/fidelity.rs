//! `schedlab dev fidelity`: the error of the simulator, measured against a real kernel.

mod compare;
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

/// Where the tables go in a file.
const BEGIN: &str = "<!-- tables: begin -->";
const END: &str = "<!-- tables: end -->";

/// Runs everything in both worlds and prints or writes the tables.
pub fn fidelity(arguments: &FidelityArguments) -> Result<(), Failure> {
    let interrupt = Interrupt::listen()?;
    let set = Assignments::read(&[], &[])?;
    let policies = policies("--policies", &arguments.policies, &set, &interrupt.stop())?;
    let workloads = match arguments.workloads.as_slice() {
        [] => WORKLOADS.map(str::to_string).to_vec(),
        some => some.to_vec(),
    };
    let place = arguments.write.as_deref().map(Place::find).transpose()?;
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
    let simulated = pairs.all(&interrupt, "simulating", |workload, (_, tuned), cancel| {
        std::iter::once(SEED)
            .chain(OTHER_SEEDS)
            .map(|seed| pairs.simulated_one(workload, tuned, seed, &interrupt, cancel))
            .collect()
    })?;
    let real = pairs.all(&interrupt, "running", |workload, policy, cancel| {
        pairs.real_one(workload, policy, &interrupt, cancel)
    })?;
    let compared = simulated.iter().zip(&real);
    let compared: Vec<Compared> = compared
        .map(|(sims, real): (&Vec<Metrics>, _)| Compared::of(sims, real))
        .collect();
    let names: Vec<String> = pairs.policies.iter().map(|(_, t)| t.name()).collect();
    let text = tables::markdown(&names, &pairs.workloads, &compared);
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

    /// Each workload under each policy: by workload, then policy.
    fn all<'a, T: Send>(
        &'a self,
        interrupt: &Interrupt,
        what: &str,
        one: impl Fn(&'a str, &'a (String, Tuned), &Cancel) -> Result<T, Failure> + Sync,
    ) -> Result<Vec<T>, Failure> {
        let nr_runs = self.workloads.len() * self.policies.len();
        let mut waiting = Waiting::new();
        let run = |run: usize, cancel: &Cancel| {
            let policy = &self.policies[run % self.policies.len()];
            one(&self.workloads[run / self.policies.len()], policy, cancel)
        };
        let results = in_parallel(nr_runs, threads(self.jobs), run, || waiting.show(what));
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
        (written, tuned): &(String, Tuned),
        interrupt: &Interrupt,
        cancel: &Cancel,
    ) -> Result<Metrics, Failure> {
        let scheduler = Scheduler::ours(written.clone(), tuned.clone())?;
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
        let named = |problem: String| Failure::Other(format!("{workload}, {written}: {problem}"));
        let outcome = session.run(&scheduler, &mut echo, &stop);
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
        note(&format!("{workload}, {}: done", tuned.name()));
        Ok(seen.into_inner().finish())
    }
}

/// A file with a place for the tables.
pub struct Place<'a> {
    path: &'a Path,
    before: String,
    after: String,
}

impl Place<'_> {
    pub fn find(path: &Path) -> Result<Place<'_>, Failure> {
        let text = schedlab_input::read_text(path)?;
        let missing = || {
            let problem = format!("{} has no place for the tables", path.display());
            let mistake = Diagnostic::new(problem).at("--write", 0);
            mistake.expected(format!("lines \"{BEGIN}\" and \"{END}\""))
        };
        let (before, rest) = text.split_once(BEGIN).ok_or_else(missing)?;
        let (_, after) = rest.split_once(END).ok_or_else(missing)?;
        Ok(Place {
            path,
            before: before.to_string(),
            after: after.to_string(),
        })
    }

    pub fn write(&self, tables: &str) -> Result<(), Failure> {
        let text = format!("{}{BEGIN}\n{tables}{END}{}", self.before, self.after);
        std::fs::write(self.path, text).map_err(Failure::writing(self.path))
    }
}
