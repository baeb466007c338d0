//! Where an experiment runs its cases.

use std::any::Any;
use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use schedlab_lab::{in_parallel, Cancel, Reason};
use schedlab_measure::Measure;
use schedlab_trace::{Sink, TraceHash};

use crate::{testbed, Case, CaseResult, Error, Runner, SeedResult};

/// Where an experiment runs its cases: only on its testbed.
pub struct Lab<'a> {
    runner: &'a Runner<'a>,
    experiment: &'a str,
    testbed: &'a str,
    /// Has the work been cancelled?
    cancelled: &'a (dyn Fn() -> bool + Sync),
    /// What the paper does not state and the runner's point has changed.
    unstated: Mutex<BTreeSet<String>>,
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

/// A prepared case.
struct Ready {
    case: Case,
    /// The case for any seed.
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
            unstated: Mutex::default(),
        }
    }

    /// What the paper does not state and the runner's point has changed, by name.
    pub(crate) fn unstated(&self) -> BTreeSet<String> {
        self.names().clone()
    }

    fn names(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.unstated.lock().unwrap_or_else(PoisonError::into_inner)
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

    /// Runs each case with each of its seeds, unless that was done before, and returns them in order.
    ///
    /// # Errors
    /// A case that is wrong or cannot go on; a machine of another testbed; a signal.
    pub fn run(&self, cases: &[Case]) -> Result<Vec<Arc<CaseResult>>, Error> {
        let measured = self.once(cases, |ready, seed, cancel| {
            // No claim is about one task's latencies, and those of a thousand threads do not fit into a cache.
            let measure = Measure::without_task_distributions();
            let (hash, measure) = self.simulate(ready, seed, measure, cancel)?;
            let metrics = measure.finish();
            Ok(SeedResult { metrics, hash })
        })?;
        let outcome = |(case, runs): (&Case, _)| {
            let case = case.clone();
            Arc::new(CaseResult { case, runs })
        };
        Ok(cases.iter().zip(measured).map(outcome).collect())
    }

    /// Runs each case with each of its seeds into the experiment's own sink; nothing is kept.
    ///
    /// # Errors
    /// As [`Lab::run`].
    pub fn observe<S: Sink + Send>(
        &self,
        cases: &[Case],
        sink: impl Fn() -> S + Sync,
    ) -> Result<Vec<Vec<(TraceHash, S)>>, Error> {
        self.each(cases, |ready, seed, cancel| {
            self.simulate(ready, seed, sink(), cancel)
        })
    }

    /// The same into a sink that begins empty, unless this was done before.
    ///
    /// # Errors
    /// As [`Lab::run`].
    pub fn observe_once<S: Sink + Default + Send + Sync + 'static>(
        &self,
        cases: &[Case],
    ) -> Result<Vec<Vec<Arc<Observed<S>>>>, Error> {
        self.once(cases, |ready, seed, cancel| {
            let (hash, sink) = self.simulate(ready, seed, S::default(), cancel)?;
            Ok(Observed { hash, sink })
        })
    }

    /// Results by case and seed, earlier ones where they exist.
    fn once<T: Any + Send + Sync>(
        &self,
        cases: &[Case],
        one: impl Fn(&Ready, u64, &Cancel) -> Result<T, Error> + Sync,
    ) -> Result<Vec<Vec<Arc<T>>>, Error> {
        self.each(cases, |ready, seed, cancel| {
            let make = || one(ready, seed, cancel);
            self.runner.once(&ready.case, seed, make)
        })
    }

    /// Results by case and seed.
    fn each<T: Send>(
        &self,
        cases: &[Case],
        one: impl Fn(&Ready, u64, &Cancel) -> Result<T, Error> + Sync,
    ) -> Result<Vec<Vec<T>>, Error> {
        let ready: Vec<Ready> = cases
            .iter()
            .map(|case| self.make_ready(case))
            .collect::<Result<_, _>>()?;
        let jobs: Vec<(usize, u64)> = (0..cases.len())
            .flat_map(|i| (1..=cases[i].seeds).map(move |seed| (i, seed)))
            .collect();
        let job = |job: usize, cancel: &Cancel| {
            let (case, seed) = jobs[job];
            one(&ready[case], seed, cancel)
        };
        let results = in_parallel(jobs.len(), self.runner.threads, job, || ())?;
        let mut by_case: Vec<Vec<_>> = cases.iter().map(|_| Vec::new()).collect();
        for ((case, _), result) in jobs.iter().zip(results) {
            by_case[*case].push(result);
        }
        Ok(by_case)
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
                    run: format!("{}, seed {seed}", ready.case.command()),
                    error,
                },
                Reason::Timer(error) => Error::Elsewhere {
                    run: ready.case.command(),
                    problem: format!("timers: {error}"),
                },
            }),
        }
    }

    fn make_ready(&self, case: &Case) -> Result<Ready, Error> {
        let wrong = |problem| Error::experiment(self.experiment, problem);
        let machines = testbed::machines(self.testbed)
            .ok_or_else(|| wrong(format!("there is no testbed \"{}\"", self.testbed)))?;
        if !machines.contains(&case.machine.as_str()) {
            return Err(wrong(format!(
                "{} is not a machine of the testbed {}",
                case.machine, self.testbed
            )));
        }
        let mut case = case.clone();
        let mut machine = schedlab_machine::find(&case.machine)?;
        if let Some(point) = &self.runner.point {
            let changed = point.apply(&case, machine);
            (case, machine) = (changed.case, changed.machine);
            self.names().extend(changed.used);
        }
        let workload = case.workload()?;
        Ok(Ready {
            one: schedlab_lab::Trial {
                duration: case.duration,
                ..schedlab_lab::Trial::new(case.tuned()?, machine.into(), workload.into(), 1)
            },
            case,
        })
    }
}
