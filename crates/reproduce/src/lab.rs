//! Where trials are run: in parallel, each once.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::{Arc, Mutex, PoisonError};

use schedlab_machine::Machine;
use schedlab_measure::Measure;
use schedlab_parallel::{in_parallel, Cancel};
use schedlab_policy::Tuned;
use schedlab_sim::{Limits, Setup, Simulation, Status, TieBreak};
use schedlab_trace::{HashSink, Ns, Sink, Tee, Time};
use schedlab_workload::Workload;

use crate::{testbed, Error, Outcome, Run, Trial};

/// Simulated time between two looks at the world.
const STRETCH: Ns = Ns::from_ms(250);

/// Where the lab is: for a line of progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beat {
    /// The experiment.
    pub experiment: String,
    /// Runs of the current batch.
    pub runs: usize,
}

/// Runs trials.  Results do not depend on the number of threads.
pub struct Lab<'a> {
    /// Less of everything, for the same verdicts.
    pub quick: bool,
    threads: usize,
    stop: &'a (dyn Fn() -> bool + Sync),
    meanwhile: &'a (dyn Fn(&Beat) + Sync),
    /// The experiment and its testbed.
    current: Mutex<(String, String)>,
    done: Mutex<BTreeMap<Trial, Arc<Outcome>>>,
}

/// A trial made ready.
struct Ready {
    trial: Trial,
    tuned: Tuned,
    machine: Machine,
    workload: Workload,
}

impl<'a> Lab<'a> {
    /// A lab with so many threads (none: one for each CPU) that asks `stop` now and then whether to
    /// give up, and calls `meanwhile` ten times a second.
    pub fn new(
        quick: bool,
        threads: Option<usize>,
        stop: &'a (dyn Fn() -> bool + Sync),
        meanwhile: &'a (dyn Fn(&Beat) + Sync),
    ) -> Lab<'a> {
        let cpus = || std::thread::available_parallelism().map_or(1, NonZero::get);
        Lab {
            quick,
            threads: threads.unwrap_or_else(cpus),
            stop,
            meanwhile,
            current: Mutex::default(),
            done: Mutex::default(),
        }
    }

    /// One of two, by whether it shall be quick.
    pub fn pick<T>(&self, full: T, quick: T) -> T {
        match self.quick {
            true => quick,
            false => full,
        }
    }

    pub(crate) fn enter(&self, experiment: &str, testbed: &str) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        *current = (experiment.to_string(), testbed.to_string());
    }

    /// Runs each trial with each of its seeds, unless an experiment before did, and returns them in order.
    ///
    /// # Errors
    /// A trial that is wrong or cannot go on; a machine of another testbed; a signal.
    pub fn run(&self, trials: &[Trial]) -> Result<Vec<Arc<Outcome>>, Error> {
        let mut missing: Vec<Trial> = Vec::new();
        for trial in trials {
            let done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
            if !done.contains_key(trial) && !missing.contains(trial) {
                missing.push(trial.clone());
            }
        }
        let observed = self.observe(&missing, Measure::new)?;
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        for (trial, runs) in missing.into_iter().zip(observed) {
            let measured = |(hash, measure): (_, Measure)| Run {
                metrics: measure.finish(),
                hash,
            };
            let outcome = Outcome {
                trial: trial.clone(),
                runs: runs.into_iter().map(measured).collect(),
            };
            done.insert(trial, Arc::new(outcome));
        }
        Ok(trials
            .iter()
            .map(|trial| Arc::clone(&done[trial]))
            .collect())
    }

    /// Runs each trial with each of its seeds before a sink of one's own; nothing is kept.
    ///
    /// # Errors
    /// As [`Lab::run`].
    pub fn observe<S: Sink + Send>(
        &self,
        trials: &[Trial],
        sink: impl Fn() -> S + Sync,
    ) -> Result<Vec<Vec<(schedlab_trace::TraceHash, S)>>, Error> {
        let (experiment, testbed) = {
            let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
            current.clone()
        };
        let ready: Vec<Ready> = trials
            .iter()
            .map(|trial| make_ready(trial, &experiment, &testbed))
            .collect::<Result<_, _>>()?;
        let jobs: Vec<(usize, u64)> = (0..trials.len())
            .flat_map(|i| (1..=trials[i].seeds).map(move |seed| (i, seed)))
            .collect();
        let beat = Beat {
            experiment,
            runs: jobs.len(),
        };
        let one = |job: usize, cancel: &Cancel| {
            let (trial, seed) = jobs[job];
            self.one(&ready[trial], seed, sink(), cancel)
        };
        let meanwhile = || (self.meanwhile)(&beat);
        let results = in_parallel(jobs.len(), self.threads, one, meanwhile)?;
        let mut by_trial: Vec<Vec<_>> = trials.iter().map(|_| Vec::new()).collect();
        for ((trial, _), result) in jobs.iter().zip(results) {
            by_trial[*trial].push(result);
        }
        Ok(by_trial)
    }

    fn one<S: Sink>(
        &self,
        ready: &Ready,
        seed: u64,
        sink: S,
        cancel: &Cancel,
    ) -> Result<(schedlab_trace::TraceHash, S), Error> {
        let setup = Setup {
            machine: &ready.machine,
            workload: &ready.workload,
            tuned: &ready.tuned,
            seed,
            duration: ready.trial.duration,
            limits: Limits::default(),
            tie_break: TieBreak::Canonical,
        };
        let failed = |error| Error::Simulation {
            run: format!("{}, seed {seed}", ready.trial.command()),
            error: Box::new(error),
        };
        let sink = Tee(HashSink::default(), sink);
        let mut simulation = Simulation::new(&setup, sink).map_err(failed)?;
        let mut until = Time::ZERO;
        loop {
            until += STRETCH;
            if let Status::Ended(_) = simulation.run_until(until).map_err(failed)? {
                break;
            }
            if (self.stop)() || cancel.cancelled() {
                return Err(Error::Stopped);
            }
        }
        let (_, Tee(hash, sink)) = simulation.finish().map_err(failed)?;
        Ok((hash.finish(), sink))
    }
}

fn make_ready(trial: &Trial, experiment: &str, testbed: &str) -> Result<Ready, Error> {
    let machines = testbed::machines(testbed).ok_or_else(|| {
        Error::experiment(experiment, format!("there is no testbed \"{testbed}\""))
    })?;
    if !machines.contains(&trial.machine.as_str()) {
        let problem = format!(
            "{} is not a machine of the testbed {testbed}",
            trial.machine
        );
        return Err(Error::experiment(experiment, problem));
    }
    Ok(Ready {
        trial: trial.clone(),
        tuned: trial.tuned()?,
        machine: schedlab_machine::find(&trial.machine)?,
        workload: trial.workload()?,
    })
}
