//! `schedlab dev whatif`: predictions from a recording, compared with what really happens.

mod figures;
mod tables;

use std::sync::Arc;
use std::time::Duration;

use schedlab_input::Diagnostic;
use schedlab_lab::choose::{self, Assignments};
use schedlab_lab::{Ending, Trial};
use schedlab_measure::{Measure, Metrics};
use schedlab_policy::Tuned;
use schedlab_readers::TextFormat;
use schedlab_recording::Recording;
use schedlab_replay::{
    fit, machine_like, own_scheduler, Counts, End, Identified, Identities, Options, Replay,
    SchedulingCosts, WithoutCosts,
};
use schedlab_trace::{Ns, TraceInfo};
use schedlab_vm::Machine;

use crate::arguments::StudyArguments;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::kernel::{failure, machine, Echo, KernelSession, Scheduler, Task};
use crate::outputs::TextFile;

use super::fidelity::{Place, Seen, TABLES};
use super::replay::rebuild;
use super::{note, print};

use figures::{Figures, Prediction, Studied};

/// What is predicted if the user does not say.
const WORKLOADS: [&str; 8] = [
    "hackbench -g 2 -l 20",
    "sh scripts/whatif/redis.sh redis-server redis-benchmark",
    "sh scripts/whatif/nginx.sh nginx ab",
    "sh scripts/whatif/pipeline.sh /usr/bin/xz /bin/busybox",
    "sysbench threads --threads=8 --events=300 --time=0 --thread-yields=10 --thread-locks=2 run",
    "sh -c 'seq 1 30000 | tr 1 2 | sort | uniq -c | tail -1'",
    "play --duration 1s 'massive-intr -n 10'",
    "play --duration 1s 'hogs --nice 0,5,10 --count 1'",
];

/// The tick of the guest's kernel.
const GUEST_HZ: u32 = 250;

/// Records, predicts, runs and compares.
pub fn study(arguments: &StudyArguments) -> Result<(), Failure> {
    let interrupt = Interrupt::listen()?;
    let stop = || interrupt.signal().is_some();
    let set = Assignments::read(&[], &[])?;
    let source = Scheduler::of_policy(&arguments.recorded_under, &set, &interrupt)?;
    let targets = Scheduler::of_list("--policies", &arguments.policies, &set, &interrupt)?;
    let workloads = match arguments.workloads.as_slice() {
        [] => WORKLOADS.map(str::to_string).to_vec(),
        some => some.to_vec(),
    };
    let place = arguments.write.as_deref();
    let place = place.map(|path| Place::find(path, TABLES)).transpose()?;
    let json = TextFile::create_if("--json", arguments.json.as_deref(), "json")?;
    let machine = machine(&arguments.machine, &mut note, &stop);
    let machine = machine.map_err(|e| failure(e, &interrupt))?;
    let study = Study {
        predicted: Machine {
            cpus: arguments.predicted_cpus.map_or(machine.cpus, u32::from),
            ..machine.clone()
        },
        machine,
        source,
        targets,
        arguments,
        interrupt: &interrupt,
    };
    let mut studied = Vec::new();
    for workload in &workloads {
        studied.push(study.workload(workload)?);
    }
    let text = tables::markdown(&studied);
    if let Some(json) = json {
        let figures = serde_json::to_string_pretty(&studied);
        let figures = figures.map_err(|error| Failure::Other(error.to_string()))?;
        json.write(&figures)?.keep()?;
    }
    match place {
        Some(place) => place.write(&text),
        None => print(&text),
    }
}

struct Study<'a> {
    /// The machine on which recordings are made.
    machine: Machine,
    /// The machine for which runs are predicted.
    predicted: Machine,
    /// The scheduler under which recordings are made.
    source: Scheduler,
    /// The schedulers under which runs are predicted.
    targets: Vec<Scheduler>,
    arguments: &'a StudyArguments,
    interrupt: &'a Interrupt,
}

impl Study<'_> {
    /// One workload: recorded once, predicted and run under each scheduler.
    fn workload(&self, workload: &str) -> Result<Studied, Failure> {
        let recording = self.run(workload, &self.machine, &self.source, true)?;
        note(&format!("{workload}: recorded"));
        let replay = self.rebuild(workload, &recording);
        let null = measured(&self.run(workload, &self.machine, &self.source, false)?);
        let release = recording.release.as_deref();
        let again = self.predict(&replay, &self.machine, self.policy(&self.source, release)?)?;
        let mut study = Studied {
            workload: workload.to_string(),
            recorded_under: self.source.full_name(),
            recorded_cpus: self.machine.cpus,
            predicted_cpus: self.predicted.cpus,
            recorded: Figures::of(&measured(&recording), &null),
            null: Figures::of(&null, &null),
            again: again.map(|m| Figures::of(&m, &null)),
            counts: replay.counts,
            costs: replay.costs,
            runs: Vec::new(),
        };
        for target in &self.targets {
            let name = target.full_name();
            if name == study.recorded_under && self.machine.cpus == self.predicted.cpus {
                continue;
            }
            let predicted =
                self.predict(&replay, &self.predicted, self.policy(target, release)?)?;
            // A policy may starve a task so long that the kernel throws it out.
            let actual = match self.run(workload, &self.predicted, target, false) {
                Ok(recording) => Some(measured(&recording)),
                Err(problem) => {
                    self.interrupt.check()?;
                    note(&format!("{workload}, {name}: {problem:?}"));
                    None
                }
            };
            let groups = actual.as_ref().unwrap_or(&null);
            note(&format!("{workload}, {name}: done"));
            study.runs.push(Prediction {
                policy: name,
                predicted: predicted.map(|m| Figures::of(&m, groups)),
                actual: actual.as_ref().map(|m| Figures::of(m, groups)),
            });
        }
        Ok(study)
    }

    /// The policy that stands for a scheduler of the kernel in predictions.
    fn policy(&self, scheduler: &Scheduler, release: Option<&str>) -> Result<Tuned, Failure> {
        match scheduler {
            Scheduler::Policy { tuned, .. } => Ok(tuned.clone()),
            Scheduler::Own => {
                let set = Assignments::read(&[], &[])?;
                let name = own_scheduler(release);
                Ok(choose::policy(
                    "--policies",
                    name,
                    &set,
                    &self.interrupt.stop(),
                )?)
            }
            Scheduler::Program(words) => Err(Diagnostic::new(format!(
                "{} is a program, of which nothing is predicted",
                words[0]
            ))
            .at("--policies", 0)
            .expected("policies, or none")
            .into()),
        }
    }

    /// A recording of a real run, or the one that was kept.
    fn run(
        &self,
        workload: &str,
        machine: &Machine,
        scheduler: &Scheduler,
        data_flow: bool,
    ) -> Result<Recording, Failure> {
        let keep = self.arguments.keep.as_deref();
        // What a program notes of itself is in no text.
        let Some(folder) = keep.filter(|_| !workload.starts_with("play ")) else {
            return self.run_now(workload, machine, scheduler, data_flow);
        };
        let path = folder.join(file_name(workload, machine, scheduler, data_flow));
        if path.exists() {
            return Ok(schedlab_readers::read(&path)?.0);
        }
        let recording = self.run_now(workload, machine, scheduler, data_flow)?;
        std::fs::create_dir_all(folder).map_err(Failure::writing(folder))?;
        let mut text = Vec::new();
        schedlab_readers::write_text(&recording, TextFormat::Ftrace, &mut text)
            .and_then(|_| std::fs::write(&path, text))
            .map_err(Failure::writing(&path))?;
        Ok(recording)
    }

    fn run_now(
        &self,
        workload: &str,
        machine: &Machine,
        scheduler: &Scheduler,
        data_flow: bool,
    ) -> Result<Recording, Failure> {
        let words = shlex::split(workload).unwrap_or_default();
        let command = match words.first().map(String::as_str) {
            Some("play") => [vec!["schedlab".to_string()], words].concat(),
            _ => words,
        };
        let session = KernelSession {
            machine: machine.clone(),
            task: Task::Command(command),
            with: self.arguments.machine.with.clone(),
            record: true,
            data_flow,
            timeout: Duration::from_nanos(self.arguments.machine.timeout.0),
            watchdog: self.arguments.machine.watchdog,
        };
        let mut said = Vec::new();
        let mut echo = Echo {
            stdout: &mut std::io::sink(),
            stderr: &mut said,
            beat: &mut |_| (),
        };
        let stop = || self.interrupt.signal().is_some();
        let outcome = session.run(scheduler, &mut echo, &stop);
        let outcome = outcome.map_err(|error| failure(error, self.interrupt))?;
        if outcome.ended.exit.code() != 0 {
            let said = String::from_utf8_lossy(&said);
            return Err(Failure::Other(format!("{workload}: {}", said.trim())));
        }
        let nothing = || Failure::Other(format!("{workload}: nothing was recorded"));
        outcome.recording.ok_or_else(nothing)
    }

    fn rebuild(&self, workload: &str, recording: &Recording) -> Replay {
        let info = TraceInfo::default();
        let options = Options {
            end: End::Auto,
            // The real runs are not recorded like that.
            call_cost_ns: Ns(recording.call_cost_ns),
            ..Options::default()
        };
        rebuild(recording, &info, &options, workload, workload)
    }

    /// The recorded work under another policy.
    fn predict(
        &self,
        replay: &Replay,
        on: &Machine,
        tuned: Tuned,
    ) -> Result<Option<Metrics>, Failure> {
        let mut machine = machine_like(replay, on.cpus, GUEST_HZ);
        machine.kernel_hz = Some(GUEST_HZ);
        let name = tuned.name();
        let mut workload = replay.workload.clone();
        fit(&mut workload, on.cpus);
        let workload = Arc::new(workload);
        let trial = Trial::new(tuned, Arc::new(machine), workload, 1);
        let sink = Identified::new(
            Identities::of(replay),
            WithoutCosts(Seen::new(Measure::new())),
        );
        let ran = trial.run(sink, |_| self.interrupt.signal().is_some());
        let ran = ran.map_err(|unfinished| Failure::of_run(name, unfinished.reason))?;
        if let Ending::Deadlock(waits) = &ran.ending {
            note(&format!("stuck: {waits}"));
            return Ok(None);
        }
        let (_, WithoutCosts(seen)) = ran.sink.into_parts();
        Ok(Some(seen.into_inner().finish()))
    }
}

fn file_name(workload: &str, machine: &Machine, scheduler: &Scheduler, data_flow: bool) -> String {
    let cpus = match machine.cpus {
        1 => String::new(),
        n => format!(" {n} cpus"),
    };
    let calls = if data_flow { " calls" } else { "" };
    let name = format!("{workload} {}{cpus}{calls}", scheduler.full_name());
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    format!("{}.ftrace", name.chars().map(plain).collect::<String>())
}

fn measured(recording: &Recording) -> Metrics {
    let mut seen = Seen::new(Measure::new());
    recording.play(&TraceInfo::default(), &mut seen);
    seen.into_inner().finish()
}
