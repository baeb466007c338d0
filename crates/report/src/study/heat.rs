//! Heat maps over two dimensions of a study.

use crate::svg::Matrix;

use super::effects::grouped;
use super::{short, Metric, Study, StudySetup};

/// The most heat maps of one report.
const MOST: usize = 48;

/// The dimensions of heat maps: those with most values, tunables first; none if there are not two.
fn pair(study: &Study) -> Option<(String, String)> {
    let mut names = study.dimensions();
    let is_first = |name: &String| ["policy", "workload", "machine"].contains(&name.as_str());
    // Two tunables of different policies never meet.
    let meet = |a: &String, b: &String| {
        let both = |s: &&StudySetup| s.labels.contains_key(a) && s.labels.contains_key(b);
        study.setups.iter().any(|s| both(&s))
    };
    names.sort_by_key(|name| (is_first(name), std::cmp::Reverse(study.levels(name).len())));
    let pairs = names
        .iter()
        .enumerate()
        .flat_map(|(i, a)| names[i + 1..].iter().map(move |b| (a, b)));
    let found = pairs.into_iter().find(|(a, b)| meet(a, b));
    found.map(|(a, b)| (a.clone(), b.clone()))
}

/// A heat map of each of these metrics in each case, with each policy: the mean of the medians of the set-ups of a cell.
/// `wanted` are the dimensions across and down.
pub fn maps(
    study: &Study,
    wanted: Option<(String, String)>,
    metrics: &[Metric],
) -> Vec<(String, Matrix)> {
    let Some((x, y)) = wanted.or_else(|| pair(study)) else {
        return Vec::new();
    };
    let (columns, rows) = (grouped(study, &x), grouped(study, &y));
    let mut maps = Vec::new();
    for (name, setups) in contexts(study, &x, &y) {
        let across = levels(&setups, &x, &columns);
        let down = levels(&setups, &y, &rows);
        if across.len() < 2 || down.len() < 2 {
            continue;
        }
        for metric in metrics {
            let cell = |row: &String, column: &String| {
                let here = setups.iter().filter(|s| {
                    rows[&s.labels[&y]].1 == *row && columns[&s.labels[&x]].1 == *column
                });
                let medians: Vec<f64> = here.filter_map(|s| s.median(&metric.name)).collect();
                (!medians.is_empty()).then(|| medians.iter().sum::<f64>() / medians.len() as f64)
            };
            let line = |row: &String| across.iter().map(|column| cell(row, column)).collect();
            let title = match name.is_empty() {
                true => metric.label.clone(),
                false => format!("{}: {name}", metric.label),
            };
            maps.push((
                metric.label.clone(),
                Matrix {
                    title,
                    cells: down.iter().map(line).collect(),
                    across: (short(&x).to_string(), across.clone()),
                    down: (short(&y).to_string(), down.clone()),
                    unit: metric.unit,
                },
            ));
        }
    }
    maps.truncate(MOST);
    maps
}

/// The set-ups that have both dimensions, by the other ones of workload, machine and policy.
fn contexts<'a>(study: &'a Study, x: &str, y: &str) -> Vec<(String, Vec<&'a StudySetup>)> {
    let varied = study.dimensions();
    let mut contexts: Vec<(String, Vec<&StudySetup>)> = Vec::new();
    for setup in &study.setups {
        if !setup.labels.contains_key(x) || !setup.labels.contains_key(y) {
            continue;
        }
        let fixed = ["workload", "machine", "policy"];
        let fixed = fixed.iter().filter(|name| **name != x && **name != y);
        let fixed = fixed.filter(|name| varied.iter().any(|v| v == *name));
        let name: Vec<&str> = fixed
            .filter_map(|name| setup.labels.get(*name))
            .map(String::as_str)
            .collect();
        let name = name.join(", ");
        match contexts.iter_mut().find(|(context, _)| *context == name) {
            Some((_, setups)) => setups.push(setup),
            None => contexts.push((name, vec![setup])),
        }
    }
    contexts
}

fn levels(
    setups: &[&StudySetup],
    dimension: &str,
    grouped: &std::collections::BTreeMap<String, (usize, String)>,
) -> Vec<String> {
    let mut levels: Vec<&(usize, String)> = setups
        .iter()
        .map(|s| &grouped[&s.labels[dimension]])
        .collect();
    levels.sort();
    levels.dedup();
    levels.into_iter().map(|(_, name)| name.clone()).collect()
}
