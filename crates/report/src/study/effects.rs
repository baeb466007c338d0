//! Main effects: what each level of a dimension changes, the others being equal.

use std::collections::{BTreeMap, BTreeSet};

use schedlab_measure::Summary;

use super::{Metric, Study, StudySetup};

/// The levels of a dimension that was drawn from a range are put together into this many.
const BINS: usize = 5;

/// More levels than this of numbers that were drawn are put together.
const MOST_LEVELS: usize = 12;

/// What one level of a dimension changes in a metric.
#[derive(Clone, PartialEq, Debug)]
pub struct Effect {
    /// The dimension.
    pub dimension: String,
    /// Its value, or a range of values.
    pub level: String,
    /// The change against the mean of all levels, as a part of it; an interval over the seeds if there are several.
    pub change: Summary,
}

/// The effects of all levels of a dimension on a metric.  Each seed gives one value: the mean, over all set-ups that are
/// alike in the other dimensions, of the level's part of the levels' mean.  Empty if fewer than two levels can be compared.
pub fn effects(study: &Study, dimension: &str, metric: &Metric) -> Vec<Effect> {
    let level_of = grouped(study, dimension);
    let levels: Vec<String> = {
        let mut known: Vec<&(usize, String)> = level_of.values().collect();
        known.sort();
        known.dedup();
        known.into_iter().map(|(_, level)| level.clone()).collect()
    };
    let setups: Vec<&StudySetup> = study
        .setups
        .iter()
        .filter(|s| s.labels.contains_key(dimension))
        .collect();
    let is_drawn = levels.len() < study.levels(dimension).len();
    let mut contexts: BTreeMap<Vec<(&String, &String)>, Vec<&StudySetup>> = BTreeMap::new();
    for setup in setups {
        let fixed = ["workload", "machine", "policy"];
        let context = setup.labels.iter().filter(|(name, _)| {
            // Policies do not share their tunables: they are compared over all of them.
            let is_whole = is_drawn || dimension == "policy";
            *name != dimension && (!is_whole || fixed.contains(&name.as_str()))
        });
        contexts.entry(context.collect()).or_default().push(setup);
    }
    let seeds: BTreeSet<u64> = study
        .setups
        .iter()
        .flat_map(|s| s.outcomes.iter().map(|run| run.seed))
        .collect();
    let mut by_level: Vec<Vec<f64>> = vec![Vec::new(); levels.len()];
    for seed in seeds {
        let mut sums = vec![(0.0, 0usize); levels.len()];
        for setups in contexts.values() {
            let means = means(setups, &levels, dimension, &level_of, |setup| {
                setup.value(&metric.name, seed)
            });
            let Some(means) = means else { continue };
            let all = means.iter().sum::<f64>() / means.len() as f64;
            if all == 0.0 {
                continue;
            }
            for (sum, mean) in sums.iter_mut().zip(&means) {
                *sum = (sum.0 + mean / all - 1.0, sum.1 + 1);
            }
        }
        for (values, (sum, count)) in by_level.iter_mut().zip(sums) {
            if count > 0 {
                values.push(sum / count as f64);
            }
        }
    }
    if levels.len() < 2 {
        return Vec::new();
    }
    // Seeds that change nothing are one result.
    for values in &mut by_level {
        if values.iter().all(|value| *value == values[0]) {
            values.truncate(1);
        }
    }
    let effect = |(level, values): (String, Vec<f64>)| {
        Some(Effect {
            dimension: dimension.to_string(),
            level,
            change: Summary::of(values)?,
        })
    };
    levels
        .into_iter()
        .zip(by_level)
        .filter_map(effect)
        .collect()
}

/// The mean of each level; none unless each has a value.
fn means(
    setups: &[&StudySetup],
    levels: &[String],
    dimension: &str,
    level_of: &BTreeMap<String, (usize, String)>,
    value: impl Fn(&StudySetup) -> Option<f64>,
) -> Option<Vec<f64>> {
    let mean = |level: &String| {
        let here = setups
            .iter()
            .filter(|s| level_of[&s.labels[dimension]].1 == *level);
        let values: Vec<f64> = here.filter_map(|s| value(s)).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    levels.iter().map(mean).collect()
}

/// Place and name of the level of each value: its own, or a range where there are many numbers.
pub(super) fn grouped(study: &Study, dimension: &str) -> BTreeMap<String, (usize, String)> {
    let levels = study.levels(dimension);
    let all_numbers = levels.iter().all(|level| level.parse::<f64>().is_ok());
    if levels.len() <= MOST_LEVELS || !all_numbers {
        let own = levels.into_iter().enumerate();
        return own.map(|(i, level)| (level.clone(), (i, level))).collect();
    }
    let size = levels.len().div_ceil(BINS);
    let mut grouped = BTreeMap::new();
    for (place, bin) in levels.chunks(size).enumerate() {
        let name = match bin {
            [one] => one.clone(),
            bin => format!("{}–{}", bin[0], bin[bin.len() - 1]),
        };
        for level in bin {
            grouped.insert(level.clone(), (place, name.clone()));
        }
    }
    grouped
}
