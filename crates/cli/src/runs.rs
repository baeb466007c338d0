//! The simulations of a command: run on all CPUs, with a line of progress and their trace files.

use std::sync::{Mutex, PoisonError};

use schedlab_lab::{run_all, threads, Beat, Done, Ending, Ran, Trial, Unfinished, Watch};
use schedlab_measure::{Measure, Metrics};
use schedlab_replay::{Identified, Identities};
use schedlab_trace::{TaskId, Tee, Time, TraceHash};

use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::outputs::{Finished, TraceFile, Traces};
use crate::progress::{Line, Progress};

/// The simulations of a command.
pub struct Runs<'a> {
    pub trials: &'a [Trial],
    /// Threads; none: one for each CPU.
    pub jobs: Option<u16>,
    /// Their trace files; none: no traces are written.
    pub traces: Option<Traces>,
    /// The recorded task of each of the workload's tasks; empty unless it is a replay.
    pub identities: Identities,
}

/// A finished run, with the number of its trial in the command.
pub struct RunResult {
    pub trial: usize,
    pub end: Time,
    pub ending: Ending,
    pub trace_hash: TraceHash,
    pub metrics: Metrics,
    pub trace: Option<Finished>,
    /// By task id: its recorded task, if this is a replay.
    pub recorded: Vec<Option<TaskId>>,
}

/// The results of a command's runs.
#[derive(Default)]
pub struct Results {
    /// The finished runs, in the order of the trials.
    pub finished: Vec<RunResult>,
    /// The failures of the others.
    pub failures: Vec<Failure>,
    /// The traces of the others, up to their failures.
    pub partial: Vec<Finished>,
}

/// All sinks of a run.
type Listeners = Identified<Tee<Measure, Option<TraceFile>>>;

impl Runs<'_> {
    /// Does all runs.  A failed run does not end the others; a signal ends all.
    ///
    /// # Errors
    /// A trace file that cannot be written.
    pub fn run(&self, interrupt: &Interrupt) -> Result<Results, Failure> {
        let files = self.trace_files()?;
        let take = |trial: usize| {
            files[trial]
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take()
        };
        let sink = |trial: usize| {
            let shown = Tee(Measure::new(), take(trial));
            Identified::new(self.identities.clone(), shown)
        };
        let followed = Followed {
            progress: Progress::new(self.trials.len()),
            interrupt,
        };
        let mut line = Line::new();
        let threads = threads(self.jobs);
        // A run that is skipped writes no trace file.
        let once = self.traces.is_none();
        let meanwhile = || line.show(&followed.progress);
        let done = run_all(self.trials, threads, once, sink, &followed, meanwhile);
        self.results(done, interrupt)
    }

    fn results(
        &self,
        done: Vec<Done<Listeners>>,
        interrupt: &Interrupt,
    ) -> Result<Results, Failure> {
        let mut results = Results::default();
        for (trial, done) in done.into_iter().enumerate() {
            match done {
                Done::Run(ran) => match *ran {
                    Ok(ran) => results.finished.push(finished(trial, ran)?),
                    Err(unfinished) => self.unfinished(trial, unfinished, &mut results)?,
                },
                Done::SameAs(first) => {
                    let mut firsts = results.finished.iter();
                    if let Some(result) = firsts.find(|result| result.trial == first) {
                        let equal = result.same_as(trial);
                        results.finished.push(equal);
                    }
                }
            }
        }
        if let Some(signal) = interrupt.signal() {
            // One message for all runs that the signal ended.
            let ended = |failure: &Failure| matches!(failure, Failure::Interrupted(_));
            results.failures.retain(|failure| !ended(failure));
            results.failures.push(Failure::Interrupted(signal));
        }
        Ok(results)
    }

    fn unfinished(
        &self,
        trial: usize,
        unfinished: Unfinished<Listeners>,
        results: &mut Results,
    ) -> Result<(), Failure> {
        if let (_, Tee(_, Some(trace))) = unfinished.sink.into_parts() {
            results.partial.push(trace.finish()?);
        }
        let name = self.trials[trial].name();
        let failure = Failure::of_run(name, unfinished.reason);
        results.failures.push(failure);
        Ok(())
    }

    /// The trace file of each run, if traces are written.
    fn trace_files(&self) -> Result<Vec<Mutex<Option<TraceFile>>>, Failure> {
        let file = |trial: &Trial| {
            let create =
                |traces: &Traces| traces.create(traces.path_of(self.label(trial).as_deref()));
            let file = self.traces.as_ref().map(create).transpose()?;
            Ok(Mutex::new(file))
        };
        self.trials.iter().map(file).collect()
    }

    /// A label that distinguishes a run from the others of this command; none if it is the only one.
    fn label(&self, trial: &Trial) -> Option<String> {
        let always = self.traces.as_ref().is_some_and(Traces::names_every_run);
        if self.trials.len() == 1 && !always {
            return None;
        }
        let differ = |part: &dyn Fn(&Trial) -> bool| self.trials.iter().any(part);
        let namesake = |other: &Trial| {
            other.tuned.name() == trial.tuned.name() && !other.tuned.equals(&trial.tuned)
        };
        let mut name = match differ(&namesake) {
            true => file_name(&trial.tuned.full_name()),
            false => file_name(&trial.tuned.name()),
        };
        if differ(&|other| other.workload.name != trial.workload.name) {
            name += &format!("-{}", file_name(&trial.workload.name));
        }
        if differ(&|other| other.machine.name != trial.machine.name) {
            name += &format!("-{}", file_name(&trial.machine.name));
        }
        if differ(&|other| other.seed != trial.seed) {
            name += &format!("-seed{}", trial.seed);
        }
        Some(name)
    }
}

/// A policy's name within a file's name: schedulers have options, and paths.
fn file_name(name: &str) -> String {
    let keep = |c: char| match c.is_alphanumeric() || "._-".contains(c) {
        true => c,
        false => '-',
    };
    name.trim_start_matches(['.', '/'])
        .chars()
        .map(keep)
        .collect()
}

impl RunResult {
    /// The result of another trial that gives the same run.
    fn same_as(&self, trial: usize) -> RunResult {
        RunResult {
            trial,
            end: self.end,
            ending: self.ending.clone(),
            trace_hash: self.trace_hash,
            metrics: self.metrics.clone(),
            trace: None,
            recorded: self.recorded.clone(),
        }
    }
}

fn finished(trial: usize, ran: Ran<Listeners>) -> Result<RunResult, Failure> {
    let (recorded, Tee(measure, trace)) = ran.sink.into_parts();
    Ok(RunResult {
        trial,
        end: ran.end,
        ending: ran.ending,
        trace_hash: ran.trace_hash,
        metrics: measure.finish(),
        trace: trace.map(TraceFile::finish).transpose()?,
        recorded,
    })
}

/// Shows the progress of runs, and stops them when a signal comes.
struct Followed<'a> {
    progress: Progress,
    interrupt: &'a Interrupt,
}

impl Watch for Followed<'_> {
    fn beat(&self, trial: usize, beat: &Beat) -> bool {
        self.progress.set(trial, beat.now, beat.end, beat.events);
        self.interrupt.signal().is_some()
    }

    fn over(&self, trial: usize) {
        self.progress.done(trial);
    }
}
