//! Results of many set-ups: tables, heat maps, main effects, trade-offs, comparison with a baseline.
//!
//! A [`Study`] holds numbers by name, and nothing of how they were measured: it is made from a sweep's file or from
//! JSON of several machines.

mod baseline;
mod condition;
mod effects;
mod front;
mod heat;
mod html;
mod name;
mod tables;

pub use baseline::{against, Difference, Verdict};
pub use condition::Condition;
pub use effects::{effects, Effect};
pub use front::{front, Front};
pub use heat::maps;
pub use html::{render_study, StudyInfo};
pub use name::find_metric;
pub use tables::{markdown, terminal};

use std::collections::{BTreeMap, BTreeSet};

use schedlab_measure::Summary;

use crate::quantity::Unit;
use crate::table::Better;

/// Results of many set-ups.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Study {
    /// What was measured, in the order to show it.
    pub metrics: Vec<Metric>,
    /// The set-ups.
    pub setups: Vec<StudySetup>,
}

/// Something measured.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Metric {
    /// Its stable name, `mark.request.latency_p99_ns`.
    pub name: String,
    /// Its name for people.
    pub label: String,
    /// Its unit.
    pub unit: Unit,
    /// Which values are better; none where neither is.
    pub better: Option<Better>,
}

/// Runs that differ in their seeds alone.
#[derive(Clone, PartialEq, Debug)]
pub struct StudySetup {
    /// What it is: a value for each dimension that it has.
    pub labels: BTreeMap<String, String>,
    /// The command that does it, without a seed.
    pub command: String,
    /// Its runs.
    pub outcomes: Vec<StudyResult>,
}

/// The result of one run.
#[derive(Clone, PartialEq, Debug)]
pub struct StudyResult {
    /// Its seed.
    pub seed: u64,
    /// The name of its trace; none if it failed.
    pub trace_hash: Option<String>,
    /// Why it failed.
    pub error: Option<String>,
    /// What was measured, by the names of metrics.
    pub values: BTreeMap<String, f64>,
}

/// The dimensions every set-up has, in the order to show them.
const FIRST: [&str; 3] = ["workload", "machine", "policy"];

/// Metrics shown by default after the workload's own.
const SHOWN: [&str; 6] = [
    "wakeup_latency_p99_ns",
    "run_delay_p99_ns",
    "longest_wait_ns",
    "scheduler_share",
    "nr_switches",
    "duration_ns",
];

/// The most of the workload's own metrics shown by default.
const MOST_OWN: usize = 4;

impl Study {
    /// The dimensions in which set-ups differ, in the order to show them.
    pub fn dimensions(&self) -> Vec<String> {
        dimensions(&self.setups.iter().collect::<Vec<_>>())
    }

    /// The values of a dimension, numbers by size.
    pub fn levels(&self, dimension: &str) -> Vec<String> {
        let values = self.setups.iter().filter_map(|s| s.labels.get(dimension));
        let values: BTreeSet<&String> = values.collect();
        let mut values: Vec<String> = values.into_iter().cloned().collect();
        values.sort_by(|a, b| order(a).total_cmp(&order(b)).then_with(|| a.cmp(b)));
        values
    }

    /// The set-ups by workload and machine, in order of first appearance.
    pub fn cases(&self) -> Vec<(String, Vec<&StudySetup>)> {
        let mut cases: Vec<(String, Vec<&StudySetup>)> = Vec::new();
        for setup in &self.setups {
            let name = setup.case();
            match cases.iter_mut().find(|(case, _)| *case == name) {
                Some((_, setups)) => setups.push(setup),
                None => cases.push((name, vec![setup])),
            }
        }
        cases
    }

    /// The metrics that are shown unless the user names some: the workloads' own, latencies, costs.
    pub fn shown(&self) -> Vec<Metric> {
        let own = self.metrics.iter().filter(|m| m.name.starts_with("mark."));
        let fixed = SHOWN
            .iter()
            .filter_map(|name| self.metrics.iter().find(|m| m.name == *name));
        let differs = |metric: &&Metric| {
            let mut values = self.setups.iter().filter_map(|s| s.median(&metric.name));
            let first = values.next();
            metric.name != "duration_ns" || values.any(|value| Some(value) != first)
        };
        own.take(MOST_OWN)
            .chain(fixed)
            .filter(differs)
            .cloned()
            .collect()
    }

    /// Runs that failed: set-up, seed and error.
    pub fn failures(&self) -> Vec<(&StudySetup, u64, &str)> {
        self.setups
            .iter()
            .flat_map(|setup| {
                let errors = setup.outcomes.iter();
                errors.filter_map(move |run| Some((setup, run.seed, run.error.as_deref()?)))
            })
            .collect()
    }
}

/// The dimensions in which these set-ups differ.
fn dimensions(setups: &[&StudySetup]) -> Vec<String> {
    let names: BTreeSet<&String> = setups.iter().flat_map(|s| s.labels.keys()).collect();
    let differs = |name: &&&String| {
        let mut values = setups.iter().map(|s| s.labels.get(**name));
        let first = values.next();
        values.any(|value| Some(value) != first)
    };
    let mut names: Vec<String> = names
        .iter()
        .filter(differs)
        .map(|name| (*name).clone())
        .collect();
    let place = |name: &String| {
        FIRST
            .iter()
            .position(|first| first == name)
            .unwrap_or(FIRST.len())
    };
    names.sort_by_key(|name| (place(name), name.clone()));
    names
}

/// The number at the beginning of a text; texts come after numbers.
fn order(text: &str) -> f64 {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '-');
    let number = text[..end.unwrap_or(text.len())].parse::<f64>().ok();
    let unit = match &text[end.unwrap_or(text.len())..] {
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "min" => 6e10,
        _ => 1.0,
    };
    number
        .filter(|n| n.is_finite())
        .map_or(f64::MAX, |n| n * unit)
}

impl StudySetup {
    /// "late on desktop".
    pub fn case(&self) -> String {
        let label = |name: &str| self.labels.get(name).map_or("", String::as_str);
        format!("{} on {}", label("workload"), label("machine"))
    }

    /// What tells it from the others of its case: "o1:2.6.11 max_timeslice_ms=50".
    pub fn name(&self) -> String {
        let policy = self.labels.get("policy").cloned();
        let others = self
            .labels
            .iter()
            .filter(|(name, _)| !FIRST.contains(&name.as_str()));
        let others = others.map(|(name, value)| format!("{}={value}", short(name)));
        policy
            .into_iter()
            .chain(others)
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Do several seeds all have one trace?  Then nothing in the runs is random.
    pub fn is_equal_for_all_seeds(&self) -> bool {
        let mut hashes = self
            .outcomes
            .iter()
            .filter_map(|run| run.trace_hash.as_ref());
        let first = hashes.next();
        let rest: Vec<&String> = hashes.collect();
        !rest.is_empty() && rest.iter().all(|hash| Some(*hash) == first)
    }

    /// The runs used for statistics: one if all seeds have the same trace.
    pub fn results(&self) -> Vec<&StudyResult> {
        let finished = self.outcomes.iter().filter(|run| run.error.is_none());
        match self.is_equal_for_all_seeds() {
            true => finished.take(1).collect(),
            false => finished.collect(),
        }
    }

    /// Median and interval of a metric.
    pub fn summary(&self, metric: &str) -> Option<Summary> {
        let results = self.results().into_iter();
        Summary::of(
            results
                .filter_map(|run| run.values.get(metric).copied())
                .collect(),
        )
    }

    /// The median of a metric.
    pub fn median(&self, metric: &str) -> Option<f64> {
        self.summary(metric).map(|summary| summary.median)
    }

    /// The value of a metric with a seed; any, if all seeds are equal.
    pub fn value(&self, metric: &str, seed: u64) -> Option<f64> {
        let same = self
            .outcomes
            .iter()
            .find(|run| run.seed == seed && run.error.is_none());
        let any = || {
            self.results()
                .into_iter()
                .next()
                .filter(|_| self.is_equal_for_all_seeds())
        };
        same.or_else(any)?.values.get(metric).copied()
    }
}

/// A dimension's name without the policy it belongs to.
fn short(dimension: &str) -> &str {
    dimension.rsplit('.').next().unwrap_or(dimension)
}
