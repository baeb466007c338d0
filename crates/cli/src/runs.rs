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
    /// Where their traces go; none: nowhere.
    pub traces: Option<Traces>,
    /// The tasks of the recording that a workload's tasks stand for; empty unless it is a replay.
    pub identities: Identities,
}

/// A run that came to its end, as its trial's number among those of the command.
pub struct RunResult {
    pub trial: usize,
    pub end: Time,
    pub ending: Ending,
    pub trace_hash: TraceHash,
    pub metrics: Metrics,
    pub trace: Option<Finished>,
    /// By task id: the task of the recording it stands for, if this is a replay.
    pub recorded: Vec<Option<TaskId>>,
}

/// What the runs of a command came to.
#[derive(Default)]
pub struct Results {
    /// Those that came to their end, in the order of the trials.
    pub finished: Vec<RunResult>,
    /// Why the others did not.
    pub failures: Vec<Failure>,
    /// The traces of the others, up to where they got.
    pub partial: Vec<Finished>,
}

/// Everything that listens to a run.
type Listeners = Identified<Tee<Measure, Option<TraceFile>>>;

impl Runs<'_> {
    /// Does all runs.  A run that fails ends no other one; a signal ends all.
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
        // A run that is not done leaves no trace.
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

    /// The trace file of each run, if there shall be one.
    fn trace_files(&self) -> Result<Vec<Mutex<Option<TraceFile>>>, Failure> {
        let file = |trial: &Trial| {
            let create =
                |traces: &Traces| traces.create(traces.path_of(self.label(trial).as_deref()));
            let file = self.traces.as_ref().map(create).transpose()?;
            Ok(Mutex::new(file))
        };
        self.trials.iter().map(file).collect()
    }

    /// What tells a run from the others of this command; none if it is the only one.
    fn label(&self, trial: &Trial) -> Option<String> {
        let first = self.trials.first()?;
        let several_seeds = self.trials.iter().any(|other| other.seed != first.seed);
        let always = self.traces.as_ref().is_some_and(Traces::names_every_run);
        let name = file_name(&trial.tuned.name());
        match (self.trials.len(), several_seeds) {
            (1, _) if !always => None,
            (_, false) => Some(name),
            (_, true) => Some(format!("{name}-seed{}", trial.seed)),
        }
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

/// Shows how far runs are, and stops them when a signal comes.
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
