//! Verdicts over a region: points drawn from what papers do not state, and how many of them a claim holds at.
//!
//! A [`Point`] gives each [`Parameter`] a position in its range.  Positions depend on the parameter's name and the number of points,
//! not on the experiment, so experiments that share runs share them at each point, too.

mod decide;
mod explore;
mod unstated;

pub use decide::{Rule, Split};
pub use explore::{explore, Design, Step};
pub use unstated::{parameters, Parameter};

use std::collections::BTreeSet;
use std::sync::Arc;

use schedlab_machine::Machine;
use schedlab_report::svg::{Figure, Strip, StripDot, Strips};
use serde::Serialize;

use crate::{Case, Work};

/// A value for each parameter that papers do not state.
#[derive(Clone, Debug)]
pub struct Point {
    parameters: Arc<Vec<Parameter>>,
    /// Positions from 0 to 1, by the parameters' places.
    positions: Vec<f64>,
}

/// A case as it is run at a point.
pub(crate) struct Changed {
    /// With further options of its workload.
    pub case: Case,
    /// With other costs.
    pub machine: Machine,
    /// The names of the parameters that changed something.
    pub used: BTreeSet<String>,
}

impl Point {
    /// The case and its machine with this point's values in place of those that the experiment did not set itself.
    pub(crate) fn apply(&self, case: &Case, mut machine: Machine) -> Changed {
        let mut case = case.clone();
        let mut used = BTreeSet::new();
        for (parameter, position) in self.parameters.iter().zip(&self.positions) {
            if parameter.change_machine(&mut machine, *position)
                || add_options(&mut case, parameter, *position)
            {
                used.insert(parameter.name.clone());
            }
        }
        Changed {
            case,
            machine,
            used,
        }
    }
}

fn add_options(case: &mut Case, parameter: &Parameter, position: f64) -> bool {
    let Work::Named(line) = &mut case.work else {
        return false;
    };
    let options = parameter.options(line, position);
    let changed = options.is_some();
    line.push_str(&options.unwrap_or_default());
    changed
}

/// A claim over its region.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Region {
    /// The parameters that change its experiment's runs.
    pub parameters: Vec<Range>,
    /// The points that were tried.
    pub points: Vec<Tried>,
    /// The parameter that decides best whether it holds, where that depends.
    pub decided_by: Option<Split>,
}

/// A parameter of a region.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Range {
    /// Its name.
    pub name: String,
    /// Its ends: "0.70 times", "1.30 times"; or all values of a choice.
    pub values: Vec<String>,
    /// Is it a choice?
    pub is_choice: bool,
    /// Why these are plausible.
    pub reason: String,
}

impl Range {
    /// "0.70 to 1.30 times", "64KiB, 256KiB".
    pub fn text(&self) -> String {
        self.values.join(if self.is_choice { ", " } else { " to " })
    }
}

/// A point of a region.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Tried {
    /// Positions from 0 to 1, by the region's parameters.
    pub positions: Vec<f64>,
    /// What was measured.
    pub measured: String,
    /// Does the claim hold there?
    pub holds: bool,
}

impl Region {
    /// The number of points at which the claim holds.
    pub fn held(&self) -> usize {
        self.points.iter().filter(|point| point.holds).count()
    }

    /// "holds at 47 of 50 points; it holds where … (1 point is an exception)".
    pub fn text(&self) -> String {
        let mut text = format!("holds at {} of {} points", self.held(), self.points.len());
        if let Some(split) = &self.decided_by {
            text += &format!("; {}", split.text(&self.parameters[split.parameter]));
        }
        text
    }

    /// The points along each parameter.
    pub fn figure(&self, claim: &str) -> Figure {
        let strip = |(i, range): (usize, &Range)| Strip {
            name: range.name.clone(),
            marks: range.values.clone(),
            is_choice: range.is_choice,
            dots: self.points.iter().map(|point| point.dot(i)).collect(),
        };
        let strips = Strips {
            title: format!("Where {claim} holds"),
            answers: ["holds", "fails"].map(String::from),
            strips: self.parameters.iter().enumerate().map(strip).collect(),
        };
        strips.figure()
    }
}

impl Tried {
    fn dot(&self, parameter: usize) -> StripDot {
        StripDot {
            at: self.positions[parameter],
            yes: self.holds,
            tip: self.measured.clone(),
        }
    }
}
