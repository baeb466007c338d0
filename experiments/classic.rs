//! Helpers of the classic tests: all policies, and tables with a row for each.

use std::sync::Arc;

use schedlab_policy::Policy;

use crate::prelude::*;

/// The variant nearest to the scheduler of Linux 2.6.20.
pub const STOCK: &str = "o1:2.6.13";

/// Variants that these tests also run.
const VARIANTS: [&str; 3] = ["cfs:2.6.24", STOCK, "staircase:12"];
/// The policies that claims are about: enough for a quick run.
const JUDGED: [&str; 5] = ["bsd4", "cfs", "eevdf", "o1", "ule14"];

/// Every policy, and the variants.
pub fn policies(lab: &Lab) -> Vec<String> {
    let names = || Policy::all().iter().map(|policy| policy.name());
    let all = lab.pick(true, false);
    let judged = names().filter(|name| all || JUDGED.contains(name));
    let mut names: Vec<String> = judged.chain(VARIANTS).map(str::to_string).collect();
    names.sort();
    names
}

/// Runs a case of each policy and notes what was run.
pub fn under_all(
    lab: &Lab,
    findings: &mut Findings,
    case: impl Fn(&str) -> Case,
) -> Result<Vec<Arc<CaseResult>>, Error> {
    let cases: Vec<Case> = policies(lab).iter().map(|policy| case(policy)).collect();
    run(lab, findings, &cases)
}

/// Runs cases and notes what was run.
pub fn run(
    lab: &Lab,
    findings: &mut Findings,
    cases: &[Case],
) -> Result<Vec<Arc<CaseResult>>, Error> {
    let done = lab.run(cases)?;
    done.iter().for_each(|outcome| findings.ran(outcome));
    Ok(done)
}

/// The outcome of a policy among several.
///
/// # Panics
/// There is none.
pub fn of<'a>(done: &'a [Arc<CaseResult>], policy: &str) -> &'a CaseResult {
    let found = done.iter().find(|outcome| outcome.case.policy == policy);
    found.unwrap_or_else(|| panic!("{policy} was not run"))
}

/// A table with a row for each outcome, named by its policy.
pub fn table(
    title: &str,
    fields: Vec<Field>,
    done: &[Arc<CaseResult>],
    cells: impl Fn(&CaseResult) -> Vec<Cell>,
) -> Table {
    let row = |outcome: &Arc<CaseResult>| Subject {
        labels: vec![outcome.case.policy.clone()],
        contest: 0,
        cells: cells(outcome),
    };
    Table {
        title: title.to_string(),
        stubs: vec!["policy".to_string()],
        fields,
        subjects: done.iter().map(row).collect(),
        layout: Layout::FieldsAsColumns,
        notes: Vec::new(),
    }
}

/// CPU time of each task of a run, the most first, as shares of their sum.
pub fn shares(metrics: &Metrics) -> Vec<f64> {
    let mut ns: Vec<f64> = metrics
        .tasks
        .iter()
        .map(|t| t.activity.run_ns.0 as f64)
        .collect();
    ns.sort_by(|a, b| b.total_cmp(a));
    let sum: f64 = ns.iter().sum();
    ns.iter().map(|x| x / sum).collect()
}

/// The least CPU time of a task divided by the largest.
pub fn least_over_most(metrics: &Metrics) -> f64 {
    let shares = shares(metrics);
    shares[shares.len() - 1] / shares[0]
}

/// The 99th percentile of the workload's times, in ns; NaN if there are none.
pub fn p99(metrics: &Metrics, mark: &str) -> f64 {
    let latency = metrics
        .marks
        .iter()
        .find(|m| m.name == mark)
        .and_then(|m| m.latency_ns);
    latency.map_or(f64::NAN, |d| d.p99.0 as f64)
}

/// The longest wait of a group, ended or not, in ns.
pub fn longest_wait(metrics: &Metrics, group: &str) -> f64 {
    let group = metrics.groups.iter().find(|g| &*g.name == group);
    let wait = group.and_then(|g| g.activity.longest_wait);
    wait.map_or(0.0, |w| w.ns.0 as f64)
}

/// Named lines over axes.
pub fn lines(
    title: &str,
    x: Axis,
    y: Axis,
    lines: impl Iterator<Item = (String, Vec<(f64, f64)>)>,
) -> schedlab_report::svg::Figure {
    let series = |(i, (name, points)): (usize, (String, Vec<(f64, f64)>))| Series {
        name,
        style: Style::Series(i),
        points,
    };
    let lines: Vec<Series> = lines.enumerate().map(series).collect();
    let mut plot = Plot::sized(title, x, y, schedlab_report::svg::WIDTH, 340.0);
    plot.lines(&lines);
    plot.finish()
}
