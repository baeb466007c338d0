//! Trade-offs: the set-ups that no other one beats in two metrics.

use crate::table::Better;

use super::{Metric, Study, StudySetup};

/// The set-ups of a case by two metrics, and those no other is better than in both.
#[derive(Clone, PartialEq, Debug)]
pub struct Front<'a> {
    /// The case.
    pub case: String,
    /// The metric across.
    pub x: Metric,
    /// The metric up.
    pub y: Metric,
    /// Each set-up with both, and whether it is on the front.
    pub points: Vec<(&'a StudySetup, f64, f64, bool)>,
}

/// The fronts of throughput (or what else is better when higher) against latency; none if there is no such pair, or
/// fewer than three set-ups.
pub fn front<'a>(study: &'a Study, shown: &[Metric]) -> Vec<Front<'a>> {
    let first = |better: Better, prefers: &str| {
        let mut fit = shown.iter().filter(|m| m.better == Some(better));
        fit.clone()
            .find(|m| m.name.contains(prefers))
            .or(fit.next())
            .cloned()
    };
    let pair = first(Better::Higher, "per_second").zip(first(Better::Lower, "p99"));
    let Some((x, y)) = pair else {
        return Vec::new();
    };
    let one = |(case, setups): (String, Vec<&'a StudySetup>)| {
        let points: Vec<(&StudySetup, f64, f64)> = setups
            .into_iter()
            .filter_map(|s| Some((s, s.median(&x.name)?, s.median(&y.name)?)))
            .collect();
        (points.len() > 2).then(|| Front {
            case,
            points: points
                .iter()
                .map(|&(setup, a, b)| {
                    let beaten = points
                        .iter()
                        .any(|&(_, c, d)| c >= a && d <= b && (c > a || d < b));
                    (setup, a, b, !beaten)
                })
                .collect(),
            x: x.clone(),
            y: y.clone(),
        })
    };
    study.cases().into_iter().filter_map(one).collect()
}
