//! Tries the points of a region until verdicts are certain.

use std::sync::Arc;

use schedlab_lab::design::{stratified, Rand64};
use schedlab_trace::TraceHash;

use super::{parameters, Parameter, Point, Region, Rule, Split, Tried};
use crate::{Beat, Error, Experiment, Report, Runner, Verdict};

/// Points between two looks at which experiments are decided.
const ROUND: usize = 5;

/// The points of a region.
#[derive(Clone, Copy, Debug)]
pub struct Design {
    /// How many; fewer are tried of an experiment whose verdicts are certain.
    pub points: usize,
    /// Costs of machines vary by up to this part (0.3: ±30 %); none: by what `unstated.toml` says.
    pub machine: Option<f64>,
}

/// The progress of the work.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The point, from 1; 0: the experiments as they are written.
    pub point: usize,
    /// Experiments that are tried at it.
    pub experiments: usize,
    /// Progress at this point.
    pub beat: Beat,
}

/// An experiment at the points tried so far.
struct Open {
    experiment: &'static Experiment,
    written: Report,
    reports: Vec<Report>,
}

/// Runs the quick form of experiments as they are written, and at the points of a region.  Each claim gets its region and the
/// verdict over it.  `runner` makes a runner without results.
///
/// # Errors
/// As [`Runner::reproduce`].
pub fn explore<'a>(
    experiments: &[&'static Experiment],
    design: &Design,
    runner: impl Fn() -> Runner<'a>,
    mut meanwhile: impl FnMut(&Step),
) -> Result<Vec<Report>, Error> {
    let mut try_at = |point: usize, runner: &Runner, chosen: &[&'static Experiment]| {
        let experiments = chosen.len();
        runner.reproduce(chosen, |beat| {
            meanwhile(&Step {
                point,
                experiments,
                beat: *beat,
            });
        })
    };
    let written = try_at(0, &runner(), experiments)?;
    let all = experiments.iter().zip(written);
    let mut all: Vec<Open> = all.map(|(e, written)| Open::new(e, written)).collect();
    let points = design.points();
    for (round, some) in points.chunks(ROUND).enumerate() {
        let undecided = |one: &&mut Open| !one.is_decided(design.points);
        let mut open: Vec<&mut Open> = all.iter_mut().filter(undecided).collect();
        if open.is_empty() {
            break;
        }
        let chosen: Vec<&'static Experiment> = open.iter().map(|one| one.experiment).collect();
        for (i, point) in some.iter().enumerate() {
            let runner = runner().at(point.clone());
            let reports = try_at(round * ROUND + i + 1, &runner, &chosen)?;
            for (one, report) in open.iter_mut().zip(reports) {
                one.reports.push(report);
            }
        }
    }
    let judged = all.into_iter().map(|one| one.judged(design, &points));
    Ok(judged.collect())
}

impl Design {
    /// A Latin hypercube.  Its columns depend on the parameters' names alone, so experiments with a common parameter share its
    /// values.
    fn points(&self) -> Vec<Point> {
        let parameters = Arc::new(parameters(self.machine));
        let column = |parameter: &Parameter| {
            let seed = TraceHash::of_all([parameter.name.as_str()]);
            stratified(self.points, &mut Rand64::new(seed.0))
        };
        let columns: Vec<Vec<f64>> = parameters.iter().map(column).collect();
        let point = |i: usize| Point {
            parameters: Arc::clone(&parameters),
            positions: columns.iter().map(|column| column[i]).collect(),
        };
        (0..self.points).map(point).collect()
    }
}

impl Open {
    fn new(experiment: &'static Experiment, written: Report) -> Open {
        Open {
            experiment,
            written,
            reports: Vec::new(),
        }
    }

    /// At how many points a claim, by its place, holds.
    fn held(&self, claim: usize) -> usize {
        let holds = |report: &&Report| report.findings.claims[claim].verdict == Verdict::Holds;
        self.reports.iter().filter(holds).count()
    }

    /// Can no further point change a verdict?
    fn is_decided(&self, points: usize) -> bool {
        let tried = self.reports.len();
        if tried > 0 && self.reports.iter().all(|report| report.unstated.is_empty()) {
            return true;
        }
        let claims = self.written.findings.claims.iter().enumerate();
        let mut judged = claims.filter(|(_, claim)| claim.verdict != Verdict::NotTestable);
        let rule = Rule { points };
        judged.all(|(i, _)| rule.verdict(self.held(i), tried).is_some())
    }

    /// The experiment as it is written, whose claims have their regions.
    fn judged(mut self, design: &Design, points: &[Point]) -> Report {
        let parameters = parameters(design.machine);
        let used = |(_, parameter): &(usize, &Parameter)| {
            let uses = |report: &Report| report.unstated.contains(&parameter.name);
            self.reports.iter().any(uses)
        };
        let own: Vec<(usize, &Parameter)> = parameters.iter().enumerate().filter(used).collect();
        if own.is_empty() {
            return self.written;
        }
        for i in 0..self.written.findings.claims.len() {
            let verdict = Rule {
                points: design.points,
            }
            .verdict(self.held(i), self.reports.len());
            let mut region = self.region(i, &own, points);
            if verdict == Some(Verdict::Depends) {
                region.decided_by = Split::best(&own, &region.points);
            }
            let claim = &mut self.written.findings.claims[i];
            if claim.verdict != Verdict::NotTestable {
                claim.verdict = verdict.unwrap_or(claim.verdict);
                claim.region = Some(region);
            }
        }
        self.written
    }

    /// The region of a claim, by its place, over parameters with their places.
    fn region(&self, claim: usize, own: &[(usize, &Parameter)], points: &[Point]) -> Region {
        let tried = |(report, point): (&Report, &Point)| {
            let claim = &report.findings.claims[claim];
            Tried {
                positions: own
                    .iter()
                    .map(|(place, _)| point.positions[*place])
                    .collect(),
                measured: claim.measured.clone(),
                holds: claim.verdict == Verdict::Holds,
            }
        };
        let tried: Vec<Tried> = self.reports.iter().zip(points).map(tried).collect();
        Region {
            parameters: own.iter().map(|(_, parameter)| parameter.range()).collect(),
            points: tried,
            decided_by: None,
        }
    }
}
