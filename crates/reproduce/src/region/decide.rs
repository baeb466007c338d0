//! From points to a verdict.

use serde::Serialize;

use super::unstated::place_of;
use super::{Parameter, Range, Tried};
use crate::Verdict;

/// When a claim holds in a region: at 95 % of the points of a whole design; it fails if it holds at 5 % at most.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Points of the whole design.
    pub points: usize,
}

impl Rule {
    /// Points that may disagree.
    fn exceptions(self) -> usize {
        self.points / 20
    }

    /// The verdict, once no further point can change it.
    pub fn verdict(self, held: usize, tried: usize) -> Option<Verdict> {
        let failed = tried - held;
        match (held > self.exceptions(), failed > self.exceptions()) {
            (true, true) => Some(Verdict::Depends),
            (false, _) if tried == self.points => Some(Verdict::Fails),
            (_, false) if tried == self.points => Some(Verdict::Holds),
            _ => None,
        }
    }
}

/// A parameter that tells where a claim holds.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Split {
    /// Its place among the region's parameters.
    pub parameter: usize,
    /// Where the claim holds: "from 1.20 times on", "with 64KiB or 256KiB".
    pub holds: String,
    /// Points of which this is not true.
    pub exceptions: usize,
}

impl Split {
    /// "it holds where the work of a packet is up to 1.20 times (2 exceptions)".
    pub(super) fn text(&self, range: &Range) -> String {
        let exceptions = match self.exceptions {
            0 => "without exception".to_string(),
            1 => "1 point is an exception".to_string(),
            n => format!("{n} points are exceptions"),
        };
        format!("best told by {}: {} ({exceptions})", range.name, self.holds)
    }

    /// The split with the fewest exceptions, of the first parameter that has it, by parameters with any numbers; none if all points agree or no parameter tells
    /// more than the commoner answer does.
    pub fn best(parameters: &[(usize, &Parameter)], tried: &[Tried]) -> Option<Split> {
        let held = tried.iter().filter(|point| point.holds).count();
        let always = held.min(tried.len() - held);
        let splits = parameters
            .iter()
            .enumerate()
            .map(|(place, (_, parameter))| {
                let mut points: Vec<(f64, bool)> = tried
                    .iter()
                    .map(|point| (point.positions[place], point.holds))
                    .collect();
                points.sort_by(|a, b| a.0.total_cmp(&b.0));
                let (holds, exceptions) = match parameter.values() {
                    Some(values) => by_value(values, &points),
                    None => by_threshold(parameter, &points),
                };
                Split {
                    parameter: place,
                    holds,
                    exceptions,
                }
            });
        splits
            .min_by_key(|split| split.exceptions)
            .filter(|split| split.exceptions < always)
    }
}

/// Each value by what is true of most of its points.
fn by_value(values: &[String], points: &[(f64, bool)]) -> (String, usize) {
    let mut good = Vec::new();
    let mut exceptions = 0;
    for (place, value) in values.iter().enumerate() {
        let of = |answer: bool| {
            let own =
                |(at, holds): &&(f64, bool)| place_of(values, *at) == place && *holds == answer;
            points.iter().filter(own).count()
        };
        let (held, failed) = (of(true), of(false));
        if held > failed {
            good.push(value.as_str());
        }
        exceptions += held.min(failed);
    }
    let holds = match good.as_slice() {
        [] => "with none of its values".to_string(),
        good => format!("it holds with {}", good.join(" or ")),
    };
    (holds, exceptions)
}

/// The threshold with the fewest exceptions, halfway between two points.
fn by_threshold(parameter: &Parameter, points: &[(f64, bool)]) -> (String, usize) {
    let failed_below = |at: usize| points[..at].iter().filter(|(_, holds)| !holds).count();
    let failed = failed_below(points.len());
    let candidate = |at: usize| {
        let below = failed_below(at);
        // Exceptions if it holds above the threshold, and if it holds below.
        let above = (at - below) + (failed - below);
        let under = below + (points.len() - at) - (failed - below);
        [(above, at, true), (under, at, false)]
    };
    let all = (1..points.len()).flat_map(candidate);
    let Some((exceptions, at, above)) = all.min_by_key(|(exceptions, ..)| *exceptions) else {
        return (String::new(), points.len());
    };
    let threshold = parameter.shown((points[at - 1].0 + points[at].0) / 2.0);
    let holds = match above {
        true => format!("it holds above {threshold}"),
        false => format!("it holds below {threshold}"),
    };
    (holds, exceptions)
}
