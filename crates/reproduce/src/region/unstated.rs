//! The parameters that papers do not state: `experiments/unstated.toml`.

use std::collections::BTreeMap;

use schedlab_input::quantity;
use schedlab_machine::Machine;
use serde::Deserialize;

use super::Range;

/// A parameter that papers do not state, and what is plausible.
#[derive(Debug)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Why its range is plausible.
    pub reason: String,
    pub(super) change: Change,
}

/// What a parameter changes.
#[derive(Debug)]
pub(super) enum Change {
    /// These costs of the machine are multiplied by one factor.
    Costs { costs: Vec<String>, factor: Factor },
    /// These times of a workload are multiplied by one factor.
    Times {
        workload: String,
        options: BTreeMap<String, String>,
        factor: Factor,
    },
    /// This option of a workload has one of these values.
    Option {
        workload: String,
        option: String,
        values: Vec<String>,
    },
}

/// Two factors; between them a factor's logarithm is drawn evenly.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(from = "[f64; 2]")]
pub(super) struct Factor {
    pub low: f64,
    pub high: f64,
}

impl From<[f64; 2]> for Factor {
    fn from([low, high]: [f64; 2]) -> Factor {
        assert!(0.0 < low && low < high, "factors {low} to {high}");
        Factor { low, high }
    }
}

impl Factor {
    /// The factor at a position from 0 to 1.
    pub fn at(self, position: f64) -> f64 {
        self.low * (self.high / self.low).powf(position)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    cost: Vec<Cost>,
    scale: Vec<Scale>,
    option: Vec<Choice>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cost {
    name: String,
    costs: Vec<String>,
    factor: Factor,
    reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scale {
    name: String,
    workload: String,
    options: BTreeMap<String, String>,
    factor: Factor,
    reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Choice {
    name: String,
    workload: String,
    option: String,
    values: Vec<String>,
    reason: String,
}

/// All parameters, those of machines first; costs of machines vary by up to `machine` (0.3: ±30 %) if it is given.
///
/// # Panics
/// The file is wrong; a test keeps that from happening.
pub fn parameters(machine: Option<f64>) -> Vec<Parameter> {
    let text = include_str!("../../../../experiments/unstated.toml");
    let file: File = toml::from_str(text).unwrap_or_else(|error| panic!("unstated.toml: {error}"));
    let given = machine.map(|part| Factor::from([1.0 - part, 1.0 + part]));
    let costs = file.cost.into_iter().map(|cost| Parameter {
        name: cost.name,
        reason: cost.reason,
        change: Change::Costs {
            costs: cost.costs,
            factor: given.unwrap_or(cost.factor),
        },
    });
    let scales = file.scale.into_iter().map(|scale| Parameter {
        name: scale.name,
        reason: scale.reason,
        change: Change::Times {
            workload: scale.workload,
            options: scale.options,
            factor: scale.factor,
        },
    });
    let choices = file.option.into_iter().map(|choice| Parameter {
        name: choice.name,
        reason: choice.reason,
        change: Change::Option {
            workload: choice.workload,
            option: choice.option,
            values: choice.values,
        },
    });
    costs.chain(scales).chain(choices).collect()
}

impl Parameter {
    /// What a position from 0 to 1 stands for: "1.20 times", "64KiB".
    pub fn shown(&self, position: f64) -> String {
        match &self.change {
            Change::Costs { factor, .. } | Change::Times { factor, .. } => {
                format!("{:.2} times", factor.at(position))
            }
            Change::Option { values, .. } => chosen(values, position).to_string(),
        }
    }

    /// The values that it is a choice of, which have no order; none for a factor.
    pub(super) fn values(&self) -> Option<&[String]> {
        match &self.change {
            Change::Option { values, .. } => Some(values),
            _ => None,
        }
    }

    /// Its range, to be shown.
    pub(super) fn range(&self) -> Range {
        let ends = || [0.0, 1.0].map(|position| self.shown(position)).to_vec();
        Range {
            name: self.name.clone(),
            values: self.values().map_or_else(ends, <[String]>::to_vec),
            is_choice: self.values().is_some(),
            reason: self.reason.clone(),
        }
    }

    /// Changes a machine; false: none of these costs is modelled there.
    pub(super) fn change_machine(&self, machine: &mut Machine, position: f64) -> bool {
        let Change::Costs { costs, factor } = &self.change else {
            return false;
        };
        let factor = factor.at(position);
        let scaled = costs.iter().map(|cost| machine.scale(cost, factor));
        scaled.fold(false, |any, one| any | one)
    }

    /// The options that it adds to a workload's command line; none if the workload is another one, or sets one of them.
    pub(super) fn options(&self, line: &str, position: f64) -> Option<String> {
        match &self.change {
            Change::Costs { .. } => None,
            Change::Times {
                workload,
                options,
                factor,
            } => {
                let free = is_of(line, workload) && !options.keys().any(|o| sets(line, o));
                let one = |(option, time): (&String, &String)| {
                    let time = quantity::duration(time).expect("unstated.toml has durations");
                    let time = (time.0 as f64 * factor.at(position)).round();
                    format!(" --{option} {time}ns")
                };
                free.then(|| options.iter().map(one).collect())
            }
            Change::Option {
                workload,
                option,
                values,
            } => {
                let free = is_of(line, workload) && !sets(line, option);
                free.then(|| format!(" --{option} {}", chosen(values, position)))
            }
        }
    }
}

fn chosen(values: &[String], position: f64) -> &str {
    &values[place_of(values, position)]
}

/// The place of the value that a position below 1 stands for.
pub(super) fn place_of(values: &[String], position: f64) -> usize {
    ((position * values.len() as f64) as usize).min(values.len() - 1)
}

fn is_of(line: &str, workload: &str) -> bool {
    line.split_whitespace().next() == Some(workload)
}

fn sets(line: &str, option: &str) -> bool {
    let words = line.split_whitespace();
    let names = words.filter_map(|word| word.strip_prefix("--"));
    names
        .map(|name| name.split('=').next())
        .any(|name| name == Some(option))
}
