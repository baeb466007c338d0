//! The figures that are predicted, and how far a prediction is off.

use std::collections::BTreeMap;

use schedlab_measure::{Activity, Distribution, Metrics};
use serde::Serialize;

use super::{Counts, SchedulingCosts};

/// Groups that are no part of a workload.
const OTHERS: [&str; 2] = ["[kernel]", "[schedlab]"];

/// Waits are as good as equal if they differ by less.
const NEGLIGIBLE_NS: f64 = 1000.0;

/// Which of the figures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Column {
    Duration,
    Throughput,
    Switches,
    DelayP50,
    DelayP99,
}

/// All of them, in the order of the tables.
pub const COLUMNS: [Column; 5] = [
    Column::Duration,
    Column::Throughput,
    Column::Switches,
    Column::DelayP50,
    Column::DelayP99,
];

/// What is predicted of a run.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Figures {
    pub duration_ns: f64,
    /// What the workload counts most of, for each second; none if it counts nothing.
    pub per_second: Option<f64>,
    pub switches: f64,
    pub delay_p50_ns: f64,
    pub delay_p99_ns: f64,
    /// Share of CPU time of each group, in percent.
    pub shares: BTreeMap<String, f64>,
}

/// A prediction and the truth.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Prediction {
    pub policy: String,
    /// None: the replay got stuck.
    pub predicted: Option<Figures>,
    /// None: the run failed.
    pub actual: Option<Figures>,
}

/// Everything about a workload.
#[derive(Clone, Debug, Serialize)]
pub struct Studied {
    pub workload: String,
    /// The scheduler of the recording.
    pub recorded_under: String,
    pub recorded_cpus: u32,
    pub predicted_cpus: u32,
    /// The run that was recorded with system calls, and the same without.
    pub recorded: Figures,
    pub null: Figures,
    /// The replay under the recorded scheduler itself; none: it got stuck.
    pub again: Option<Figures>,
    pub counts: Counts,
    pub costs: SchedulingCosts,
    pub runs: Vec<Prediction>,
}

impl Figures {
    /// Those of a run; delays are weighted by the waits of the groups of `weights`.
    pub fn of(metrics: &Metrics, weights: &Metrics) -> Figures {
        let groups = || metrics.groups.iter().filter(|g| is_part(&g.name));
        let run_ns = |activity: &Activity| activity.run_ns.0 as f64;
        let all: f64 = groups().map(|g| run_ns(&g.activity)).sum();
        let most = metrics.marks.iter().max_by_key(|mark| mark.count);
        Figures {
            duration_ns: metrics.duration_ns.0 as f64,
            per_second: most.filter(|mark| mark.count > 0).map(|m| m.per_second),
            switches: groups().map(|g| g.activity.nr_switches as f64).sum(),
            delay_p50_ns: delay(metrics, weights, |d| d.p50.0 as f64),
            delay_p99_ns: delay(metrics, weights, |d| d.p99.0 as f64),
            shares: groups()
                .map(|g| {
                    (
                        g.name.to_string(),
                        run_ns(&g.activity) / all.max(1.0) * 100.0,
                    )
                })
                .collect(),
        }
    }

    pub fn get(&self, column: Column) -> Option<f64> {
        match column {
            Column::Duration => Some(self.duration_ns),
            Column::Throughput => self.per_second,
            Column::Switches => Some(self.switches),
            Column::DelayP50 => Some(self.delay_p50_ns),
            Column::DelayP99 => Some(self.delay_p99_ns),
        }
    }

    /// The largest difference of a group's share, in percentage points.
    pub fn share_points(&self, other: &Figures) -> f64 {
        let groups = self.shares.keys().chain(other.shares.keys());
        let share = |of: &Figures, group| of.shares.get(group).copied().unwrap_or(0.0);
        let apart = groups.map(|group| (share(self, group) - share(other, group)).abs());
        apart.fold(0.0, f64::max)
    }
}

fn is_part(group: &str) -> bool {
    !OTHERS.contains(&group)
}

/// A quantile of run delays: the groups' mean, weighted by their waits in `weights`.
fn delay(metrics: &Metrics, weights: &Metrics, quantile: impl Fn(&Distribution) -> f64) -> f64 {
    let delays = |of: &Metrics| -> BTreeMap<String, Distribution> {
        let groups = of.groups.iter().filter(|group| is_part(&group.name));
        let delay = groups.filter_map(|group| {
            let delay = group.activity.run_delay_ns.as_deref()?;
            Some((group.name.to_string(), *delay))
        });
        delay.collect()
    };
    let (delays, weights) = (delays(metrics), delays(weights));
    let (mut sum, mut all) = (0.0, 0.0);
    for (group, delay) in &delays {
        let weight = weights.get(group).map_or(0.0, |weight| weight.count as f64);
        sum += weight * quantile(delay);
        all += weight;
    }
    if all > 0.0 {
        sum / all
    } else {
        0.0
    }
}

/// By what factor one is off the other, 1 or more.
pub fn factor(one: f64, other: f64) -> f64 {
    let (one, other) = (one.max(0.0) + f64::EPSILON, other.max(0.0) + f64::EPSILON);
    (one / other).max(other / one)
}

/// The same of a column: waits of no length have no factor.
pub fn factor_of(column: Column, one: f64, other: f64) -> f64 {
    match column {
        Column::DelayP50 | Column::DelayP99 => factor(one + NEGLIGIBLE_NS, other + NEGLIGIBLE_NS),
        _ => factor(one, other),
    }
}

/// The middle one.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_the_same_both_ways() {
        assert!((factor(2.0, 1.0) - 2.0).abs() < 1e-9);
        assert!((factor(1.0, 2.0) - 2.0).abs() < 1e-9);
        assert!((factor_of(Column::DelayP50, 0.0, 1000.0) - 2.0).abs() < 1e-9);
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![]), None);
    }
}
