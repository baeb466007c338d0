//! Where an experiment runs its trials.

use std::any::Any;
use std::ops::Deref;
use std::sync::Arc;

use schedlab_lab::{in_parallel, Cancel, Reason};
use schedlab_measure::Measure;
use schedlab_trace::{Sink, TraceHash};

use crate::{testbed, Error, Outcome, Run, Runner, Trial};

/// Where an experiment runs its trials: only on its testbed.
pub struct Lab<'a> {
    runner: &'a Runner<'a>,
    experiment: &'a str,
    testbed: &'a str,
    /// Has the work been cancelled?
    cancelled: &'a (dyn Fn() -> bool + Sync),
}

/// What an experiment's own sink recorded of a run.
#[derive(Debug)]
pub struct Observed<S> {
    /// The name of the run's trace.
    pub hash: TraceHash,
    sink: S,
}

impl<S> Deref for Observed<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.sink
    }
}

/// A prepared trial.
struct Ready {
    trial: Trial,
    /// The trial for any seed.
    one: schedlab_lab::Trial,
}

impl<'a> Lab<'a> {
    pub(crate) fn new(
        runner: &'a Runner<'a>,
        experiment: &'a str,
        testbed: &'a str,
        cancelled: &'a (dyn Fn() -> bool + Sync),
    ) -> Lab<'a> {
        Lab {
            runner,
            experiment,
            testbed,
            cancelled,
        }
    }

    /// `quick` in a quick run, else `full`.
    pub fn pick<T>(&self, full: T, quick: T) -> T {
        match self.runner.quick {
            true => quick,
            false => full,
        }
    }

    /// Are claims that hold also tried without a mechanism or with other parameters?  Not in a quick run: this
    /// changes no verdict.
    pub fn thorough(&self) -> bool {
        !self.runner.quick
    }

    /// Runs each trial with each of its seeds, unless that was done before, and returns them in order.
    ///
    /// # Errors
    /// A trial that is wrong or cannot go on; a machine of another testbed; a signal.
    pub fn run(&self, trials: &[Trial]) -> Result<Vec<Arc<Outcome>>, Error> {
        let measured = self.once(trials, |ready, seed, cancel| {
            // No claim is about one task's latencies, and those of a thousand threads do not fit into a cache.
            let measure = Measure::without_task_distributions();
            let (hash, measure) = self.simulate(ready, seed, measure, cancel)?;
            let metrics = measure.finish();
            Ok(Run { metrics, hash })
        })?;
        let outcome = |(trial, runs): (&Trial, _)| {
            let trial = trial.clone();
            Arc::new(Outcome { trial, runs })
        };
        Ok(trials.iter().zip(measured).map(outcome).collect())
    }

    /// Runs each trial with each of its seeds into the experiment's own sink; nothing is kept.
    ///
    /// # Errors
    /// As [`Lab::run`].
    pub fn observe<S: Sink + Send>(
        &self,
        trials: &[Trial],
        sink: impl Fn() -> S + Sync,
    ) -> Result<Vec<Vec<(TraceHash, S)>>, Error> {
        self.each(trials, |ready, seed, cancel| {
            self.simulate(ready, seed, sink(), cancel)
        })
    }

    /// The same into a sink that begins empty, unless this was done before.
    ///
    /// # Errors
    /// As [`Lab::run`].
    pub fn observe_once<S: Sink + Default + Send + Sync + 'static>(
        &self,
        trials: &[Trial],
    ) -> Result<Vec<Vec<Arc<Observed<S>>>>, Error> {
        self.once(trials, |ready, seed, cancel| {
            let (hash, sink) = self.simulate(ready, seed, S::default(), cancel)?;
            Ok(Observed { hash, sink })
        })
    }

    /// Results by trial and seed, earlier ones where they exist.
    fn once<T: Any + Send + Sync>(
        &self,
        trials: &[Trial],
        one: impl Fn(&Ready, u64, &Cancel) -> Result<T, Error> + Sync,
    ) -> Result<Vec<Vec<Arc<T>>>, Error> {
        self.each(trials, |ready, seed, cancel| {
            let make = || one(ready, seed, cancel);
            self.runner.once(&ready.trial, seed, make)
        })
    }

    /// Results by trial and seed.
    fn each<T: Send>(
        &self,
        trials: &[Trial],
        one: impl Fn(&Ready, u64, &Cancel) -> Result<T, Error> + Sync,
    ) -> Result<Vec<Vec<T>>, Error> {
        let ready: Vec<Ready> = trials
            .iter()
            .map(|trial| self.make_ready(trial))
            .collect::<Result<_, _>>()?;
        let jobs: Vec<(usize, u64)> = (0..trials.len())
            .flat_map(|i| (1..=trials[i].seeds).map(move |seed| (i, seed)))
            .collect();
        let job = |job: usize, cancel: &Cancel| {
            let (trial, seed) = jobs[job];
            one(&ready[trial], seed, cancel)
        };
        let results = in_parallel(jobs.len(), self.runner.threads, job, || ())?;
        let mut by_trial: Vec<Vec<_>> = trials.iter().map(|_| Vec::new()).collect();
        for ((trial, _), result) in jobs.iter().zip(results) {
            by_trial[*trial].push(result);
        }
        Ok(by_trial)
    }

    fn simulate<S: Sink>(
        &self,
        ready: &Ready,
        seed: u64,
        sink: S,
        cancel: &Cancel,
    ) -> Result<(TraceHash, S), Error> {
        let trial = schedlab_lab::Trial {
            seed,
            ..ready.one.clone()
        };
        let _permit = self.runner.permit();
        let stop = || self.runner.stopped() || (self.cancelled)() || cancel.cancelled();
        if stop() {
            return Err(Error::Stopped);
        }
        match trial.run(sink, |_| stop()) {
            Ok(ran) => Ok((ran.trace_hash, ran.sink)),
            Err(unfinished) => Err(match unfinished.reason {
                Reason::Stopped => Error::Stopped,
                Reason::Failed(error) => Error::Simulation {
                    run: format!("{}, seed {seed}", ready.trial.command()),
                    error,
                },
                Reason::Timer(error) => Error::Elsewhere {
                    run: ready.trial.command(),
                    problem: format!("timers: {error}"),
                },
            }),
        }
    }

    fn make_ready(&self, trial: &Trial) -> Result<Ready, Error> {
        let wrong = |problem| Error::experiment(self.experiment, problem);
        let machines = testbed::machines(self.testbed)
            .ok_or_else(|| wrong(format!("there is no testbed \"{}\"", self.testbed)))?;
        if !machines.contains(&trial.machine.as_str()) {
            return Err(wrong(format!(
                "{} is not a machine of the testbed {}",
                trial.machine, self.testbed
            )));
        }
        let machine = schedlab_machine::find(&trial.machine)?;
        let workload = trial.workload()?;
        Ok(Ready {
            trial: trial.clone(),
            one: schedlab_lab::Trial {
                duration: trial.duration,
                ..schedlab_lab::Trial::new(trial.tuned()?, machine.into(), workload.into(), 1)
            },
        })
    }
}
