//! Results beside those of a baseline, seed by seed.

use schedlab_measure::Summary;

use crate::table::Better;

use super::{Metric, Study, StudySetup};

/// What a difference means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It is better beyond the interval.
    Better,
    /// It is worse beyond the interval.
    Worse,
    /// It differs beyond the interval, and neither way is better.
    Different,
    /// The interval of the differences contains zero.
    NoDifference,
    /// All common seeds have the same value.
    Equal,
}

impl Verdict {
    /// As words.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Better => "better",
            Verdict::Worse => "worse",
            Verdict::Different => "different",
            Verdict::NoDifference => "no difference beyond the interval",
            Verdict::Equal => "equal",
        }
    }
}

/// A metric of a set-up beside the same of the baseline.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Difference {
    /// The baseline's median.
    pub before: f64,
    /// The median now.
    pub now: f64,
    /// The differences of the common seeds: now less before.
    pub difference: Summary,
    /// What it means.
    pub verdict: Verdict,
}

impl Difference {
    /// Compares two set-ups by their common seeds; none if they have none.
    pub fn of(metric: &Metric, before: &StudySetup, now: &StudySetup) -> Option<Difference> {
        let seeds = now.results().into_iter().map(|run| run.seed);
        let mut seeds: Vec<u64> = seeds.collect();
        if now.is_equal_for_all_seeds() {
            seeds = before.results().into_iter().map(|run| run.seed).collect();
        }
        let pair = |seed: u64| {
            let (before, now) = (
                before.value(&metric.name, seed)?,
                now.value(&metric.name, seed)?,
            );
            Some((before, now))
        };
        let pairs: Vec<(f64, f64)> = seeds.into_iter().filter_map(pair).collect();
        let median = |part: fn(&(f64, f64)) -> f64| {
            Summary::of(pairs.iter().map(part).collect()).map(|summary| summary.median)
        };
        let difference = Summary::of(pairs.iter().map(|(before, now)| now - before).collect())?;
        Some(Difference {
            before: median(|pair| pair.0)?,
            now: median(|pair| pair.1)?,
            difference,
            verdict: verdict(metric, &pairs, &difference),
        })
    }

    /// How much it changed, as a part of the baseline; none if that was zero.
    pub fn relative(&self) -> Option<f64> {
        (self.before != 0.0).then(|| self.now / self.before - 1.0)
    }
}

fn verdict(metric: &Metric, pairs: &[(f64, f64)], difference: &Summary) -> Verdict {
    if pairs.iter().all(|(before, now)| before == now) {
        return Verdict::Equal;
    }
    let up = difference.lo > 0.0;
    let down = difference.hi < 0.0;
    match (metric.better, up, down) {
        (_, false, false) => Verdict::NoDifference,
        (Some(Better::Lower), up, _) if !up => Verdict::Better,
        (Some(Better::Higher), true, _) => Verdict::Better,
        (Some(_), ..) => Verdict::Worse,
        (None, ..) => Verdict::Different,
    }
}

/// Each set-up that the baseline has, too, with the differences of these metrics.
pub fn against<'a>(
    study: &'a Study,
    baseline: &'a Study,
    metrics: &[Metric],
) -> Vec<(&'a StudySetup, Vec<Option<Difference>>)> {
    let same = |setup: &StudySetup| {
        let mut others = baseline.setups.iter();
        others.find(|other| other.labels == setup.labels)
    };
    let compared = |setup: &'a StudySetup| {
        let before = same(setup)?;
        let differences = metrics.iter().map(|m| Difference::of(m, before, setup));
        Some((setup, differences.collect()))
    };
    study.setups.iter().filter_map(compared).collect()
}
