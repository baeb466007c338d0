//! Searches for the best settings of a policy.
//!
//! Every candidate is compared with the policy's default settings on the same workloads, machines
//! and seeds (common random numbers). The winner is tested on workloads or seeds that were not used
//! in the search.

use schedlab_input::Diagnostic;
use schedlab_report::study::{find_metric, Condition, Difference, Metric, Study, StudySetup};
use schedlab_trace::Ns;

use crate::batch::{Batch, Setup};
use crate::load::study_of;
use crate::run::{run, Job, Tally, Watch};
use crate::store::{Store, StoreError};

/// After each round of successive halving one in this number of candidates remains, with a duration
/// this many times longer.
pub const ETA: usize = 3;

/// Rounds of successive halving.
pub const ROUNDS: u32 = 3;

/// How candidates are selected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// All candidates run to the end.
    Random,
    /// All run for a ninth of the time, the best third for a third, the best ninth to the end
    /// (Jamieson and Talwalkar 2016).
    Halving(Ns),
}

impl Method {
    /// Number of candidates with the same cost as `full` candidates that run to the end.
    pub fn candidates(self, full: usize) -> usize {
        match self {
            Method::Random => full,
            // n/9 + n/3 * 1/3 + n/9 = n/3.
            Method::Halving(_) => full * ETA,
        }
    }
}

/// The goal of a search.
pub struct Aim<'a> {
    /// The user's name of the metric.
    pub metric: &'a str,
    /// Are smaller values better?
    pub minimise: bool,
    /// Conditions for the winner, as in `report --fail-if`.
    pub subject_to: &'a [String],
}

/// Why a search ended without a winner.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// The file of results.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The goal is invalid.
    #[error(transparent)]
    Input(Box<Diagnostic>),
    /// The caller stopped the search.
    #[error("stopped")]
    Stopped,
    /// A run with the default settings failed, so candidates cannot be compared.
    #[error("{0}")]
    NoBaseline(String),
}

impl From<Diagnostic> for SearchError {
    fn from(mistake: Diagnostic) -> SearchError {
        SearchError::Input(Box::new(mistake))
    }
}

/// A candidate and its score; below 0 is better than the default settings.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ranked {
    /// Its index among the candidates.
    pub candidate: usize,
    /// The mean relative change over cases and seeds, relative to the larger value; infinite if it
    /// failed or does not meet the conditions.
    pub score: f64,
}

/// The result of a search.
pub struct Found {
    /// The candidates of the last round, best first.
    pub ranking: Vec<Ranked>,
    /// Counts of runs.
    pub tally: Tally,
    /// The metric.
    pub metric: Metric,
}

/// A policy's settings with a set-up for each case.
pub struct Candidate {
    /// The set-ups in the order of cases.
    pub setups: Vec<Setup>,
}

/// Groups the set-ups of a batch: a candidate has all set-ups that differ only in workload and
/// machine.
pub fn candidates(batch: &Batch) -> Vec<Candidate> {
    let mut found: Vec<(Vec<&(String, String)>, Candidate)> = Vec::new();
    for setup in &batch.setups {
        let labels = setup.labels.iter();
        let own: Vec<&(String, String)> = labels
            .filter(|(name, _)| name != "workload" && name != "machine")
            .collect();
        match found.iter_mut().find(|(labels, _)| *labels == own) {
            Some((_, candidate)) => candidate.setups.push(setup.clone()),
            None => found.push((
                own,
                Candidate {
                    setups: vec![setup.clone()],
                },
            )),
        }
    }
    found.into_iter().map(|(_, candidate)| candidate).collect()
}

/// A running search.
pub struct Search<'a, W> {
    /// The file of results; stored runs are not repeated.
    pub store: &'a mut Store,
    /// The seeds of every comparison.
    pub seeds: &'a [u64],
    /// schedlab's version.
    pub version: &'a str,
    /// Threads.
    pub threads: usize,
    /// The observer.
    pub watch: &'a W,
    /// Called ten times a second.
    pub meanwhile: &'a mut dyn FnMut(),
}

impl<W: Watch> Search<'_, W> {
    /// Compares the candidates with the default settings and selects the best.
    ///
    /// # Errors
    /// The file cannot be written, the goal is invalid, a run with default settings fails,
    /// or the search was stopped.
    pub fn find(
        &mut self,
        candidates: &[Candidate],
        default: &Candidate,
        aim: &Aim,
        method: Method,
    ) -> Result<Found, SearchError> {
        let mut left: Vec<usize> = (0..candidates.len()).collect();
        let mut tally = Tally::default();
        let durations: Vec<Option<Ns>> = match method {
            Method::Random => vec![None],
            Method::Halving(full) => (0..ROUNDS)
                .rev()
                .map(|round| Some(Ns((full.0 / (ETA as u64).pow(round)).max(1))))
                .collect(),
        };
        let last = durations.len() - 1;
        let mut ranking = Vec::new();
        let mut metric = None;
        for (round, duration) in durations.into_iter().enumerate() {
            let lasting = |candidate: &Candidate| -> Vec<Setup> {
                let setups = candidate.setups.iter();
                setups
                    .map(|setup| match duration {
                        Some(duration) => setup.lasting(duration, self.version),
                        None => setup.clone(),
                    })
                    .collect()
            };
            let before = lasting(default);
            let mut all = before.clone();
            let runners: Vec<Vec<Setup>> = left.iter().map(|&i| lasting(&candidates[i])).collect();
            all.extend(runners.iter().flatten().cloned());
            let study = self.run(all, &mut tally)?;
            let judge = Judge::new(&study, aim, &before, duration)?;
            ranking = left
                .iter()
                .zip(&runners)
                .map(|(&candidate, setups)| Ranked {
                    candidate,
                    score: judge.score(setups),
                })
                .collect();
            ranking.sort_by(|a, b| {
                a.score
                    .total_cmp(&b.score)
                    .then(a.candidate.cmp(&b.candidate))
            });
            metric = Some(judge.metric.clone());
            if round < last {
                let keep = left.len().div_ceil(ETA);
                left = ranking
                    .iter()
                    .take(keep)
                    .map(|ranked| ranked.candidate)
                    .collect();
            }
        }
        Ok(Found {
            ranking,
            tally,
            metric: metric.expect("there is a round"),
        })
    }

    /// Compares the winner with the default settings: a difference for each case.
    ///
    /// # Errors
    /// As [`Search::find`].
    pub fn judge(
        &mut self,
        winner: &Candidate,
        default: &Candidate,
        metric: &Metric,
    ) -> Result<Vec<(StudySetup, Option<Difference>)>, SearchError> {
        let all = [default.setups.as_slice(), &winner.setups].concat();
        let study = self.run(all, &mut Tally::default())?;
        let pairs = winner.setups.iter().zip(&default.setups);
        let judged = pairs.filter_map(|(winner, default)| {
            let (now, before) = (of(&study, winner)?, of(&study, default)?);
            Some((now.clone(), Difference::of(metric, before, now)))
        });
        Ok(judged.collect())
    }

    fn run(&mut self, setups: Vec<Setup>, tally: &mut Tally) -> Result<Study, SearchError> {
        let jobs = self
            .seeds
            .iter()
            .flat_map(|&seed| (0..setups.len()).map(move |setup| Job { setup, seed }));
        let jobs: Vec<Job> = jobs.collect();
        let batch = Batch {
            setups,
            seeds: self.seeds.to_vec(),
            excluded: 0,
            notes: Vec::new(),
        };
        let done = run(
            self.store,
            &batch,
            &jobs,
            self.threads,
            self.watch,
            &mut self.meanwhile,
        )?;
        tally.done += done.done;
        tally.known += done.known;
        tally.failed += done.failed;
        if self.watch.stop() {
            return Err(SearchError::Stopped);
        }
        Ok(study_of(self.store, &batch.setups, self.seeds)?)
    }
}

fn of<'a>(study: &'a Study, setup: &Setup) -> Option<&'a StudySetup> {
    study.setups.iter().find(|one| {
        one.labels
            .iter()
            .map(|(a, b)| (a.as_str(), b.as_str()))
            .eq(sorted(setup))
    })
}

fn sorted(setup: &Setup) -> Vec<(&str, &str)> {
    let mut labels: Vec<(&str, &str)> = setup
        .labels
        .iter()
        .map(|(a, b)| (a.as_str(), b.as_str()))
        .collect();
    labels.sort_unstable();
    labels
}

/// Compares candidates with the default settings.
struct Judge<'a> {
    study: &'a Study,
    metric: &'a Metric,
    minimise: bool,
    conditions: Vec<Condition>,
    before: Vec<&'a StudySetup>,
}

impl<'a> Judge<'a> {
    fn new(
        study: &'a Study,
        aim: &Aim,
        before: &[Setup],
        duration: Option<Ns>,
    ) -> Result<Judge<'a>, SearchError> {
        let before: Vec<&StudySetup> = before.iter().filter_map(|setup| of(study, setup)).collect();
        if let Some((setup, seed, error)) = study
            .failures()
            .first()
            .filter(|(failed, ..)| before.contains(failed))
        {
            return Err(SearchError::NoBaseline(format!(
                "{}, seed {seed}: {error}",
                setup.name()
            )));
        }
        let flag = if aim.minimise {
            "--minimise"
        } else {
            "--maximise"
        };
        let metric = find_metric(study, aim.metric).map_err(|mut mistake| {
            if let Some(duration) = duration {
                // A short run may not reach the metric's first value.
                mistake.problem += &format!(" in runs of {duration}");
            }
            mistake.at(flag, 0)
        })?;
        let conditions = aim.subject_to.iter().map(|text| {
            Condition::parse(text, study).map_err(|mistake| mistake.at("--subject-to", 0))
        });
        Ok(Judge {
            study,
            metric,
            minimise: aim.minimise,
            conditions: conditions.collect::<Result<_, _>>()?,
            before,
        })
    }

    /// The mean change over cases and seeds; below 0 is better.
    fn score(&self, setups: &[Setup]) -> f64 {
        let mut changes = Vec::new();
        for (setup, before) in setups.iter().zip(&self.before) {
            let Some(now) = of(self.study, setup) else {
                return f64::INFINITY;
            };
            let meets = |one: &Condition| one.is_met(now, Some(before));
            if now.outcomes.iter().any(|run| run.error.is_some())
                || !self.conditions.iter().all(meets)
            {
                return f64::INFINITY;
            }
            for run in &now.outcomes {
                let then = before.value(&self.metric.name, run.seed);
                let pair = run.values.get(&self.metric.name).zip(then);
                let Some((&now, then)) = pair else {
                    return f64::INFINITY;
                };
                changes.push(change(then, now));
            }
        }
        let mean = changes.iter().sum::<f64>() / changes.len().max(1) as f64;
        match self.minimise {
            true => mean,
            false => -mean,
        }
    }
}

/// The change relative to the larger value, -1 to 1. It is symmetric, and zero needs no special
/// case.
fn change(before: f64, now: f64) -> f64 {
    match before.abs().max(now.abs()) {
        0.0 => 0.0,
        largest => (now - before) / largest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_symmetric() {
        assert_eq!(change(100.0, 50.0), -0.5);
        assert_eq!(change(50.0, 100.0), 0.5);
        assert_eq!((change(0.0, 0.0), change(0.0, 5.0)), (0.0, 1.0));
    }

    /// n candidates for a ninth, n/3 for a third and n/9 to the end cost n/3 full runs.
    #[test]
    fn halving_sees_three_times_as_many_candidates_at_equal_cost() {
        let n = Method::Halving(Ns::from_secs(9)).candidates(27);
        let cost = n as f64 / 9.0 + n as f64 / 3.0 / 3.0 + n as f64 / 9.0;
        assert_eq!((n, cost), (81, 27.0));
    }
}
