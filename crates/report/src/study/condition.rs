//! Conditions on results, for continuous integration.

use schedlab_input::{quantity, Diagnostic};

use crate::quantity::Unit;

use super::baseline::{against, Difference, Verdict};
use super::{find_metric, Metric, Study, StudySetup};

/// "METRIC > VALUE", "METRIC < PART of baseline", "METRIC worse", or "worse".
#[derive(Clone, PartialEq, Debug)]
pub struct Condition {
    text: String,
    kind: Kind,
}

#[derive(Clone, PartialEq, Debug)]
enum Kind {
    /// Any metric shown is worse than in the baseline.
    AnyWorse,
    /// This one is.
    Worse(Metric),
    /// Its median is above (or below) a value.
    Value(Metric, Sign, f64),
    /// Its median is above (or below) a part of the baseline's.
    Part(Metric, Sign, f64),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sign {
    Above,
    AtLeast,
    Below,
    AtMost,
}

const SIGNS: [(&str, Sign); 4] = [
    (">=", Sign::AtLeast),
    ("<=", Sign::AtMost),
    (">", Sign::Above),
    ("<", Sign::Below),
];

impl Sign {
    fn holds(self, a: f64, b: f64) -> bool {
        match self {
            Sign::Above => a > b,
            Sign::AtLeast => a >= b,
            Sign::Below => a < b,
            Sign::AtMost => a <= b,
        }
    }
}

const FORM: &str =
    "METRIC > VALUE, METRIC < PART of baseline, \"METRIC worse\" or \"worse\", such as \"request.p99 > 10ms\"";

impl Condition {
    /// Reads one about a study.
    ///
    /// # Errors
    /// It has another form, or names no metric of the study.
    pub fn parse(text: &str, study: &Study) -> Result<Condition, Diagnostic> {
        let kind = kind(text.trim(), study).map_err(|mistake| {
            let expected = match mistake.expected.is_empty() {
                true => FORM.to_string(),
                false => mistake.expected.clone(),
            };
            mistake.at("--fail-if", 0).key(text).expected(expected)
        })?;
        Ok(Condition {
            text: text.trim().to_string(),
            kind,
        })
    }

    /// Does it hold of one set-up, beside the same of a baseline?
    pub fn is_met(&self, setup: &StudySetup, before: Option<&StudySetup>) -> bool {
        let median = |metric: &Metric| setup.median(&metric.name);
        match &self.kind {
            Kind::Value(metric, sign, bound) => {
                median(metric).is_some_and(|now| sign.holds(now, *bound))
            }
            Kind::Part(metric, sign, part) => {
                let before = before.and_then(|before| before.median(&metric.name));
                let pair = median(metric).zip(before);
                pair.is_some_and(|(now, before)| sign.holds(now, part * before))
            }
            Kind::Worse(metric) => before
                .and_then(|before| Difference::of(metric, before, setup))
                .is_some_and(|difference| difference.verdict == Verdict::Worse),
            Kind::AnyWorse => false,
        }
    }

    /// Does it need a baseline?
    pub fn needs_baseline(&self) -> bool {
        !matches!(self.kind, Kind::Value(..))
    }

    /// The set-ups of which it holds, a sentence each.
    pub fn holds(&self, study: &Study, baseline: Option<&Study>, shown: &[Metric]) -> Vec<String> {
        match (&self.kind, baseline) {
            (Kind::Value(metric, sign, bound), _) => {
                self.beyond(study, metric, |median, _| sign.holds(median, *bound), None)
            }
            (Kind::Part(metric, sign, part), Some(baseline)) => self.beyond(
                study,
                metric,
                |median, before| before.is_some_and(|before| sign.holds(median, part * before)),
                Some(baseline),
            ),
            (Kind::Worse(metric), Some(baseline)) => {
                self.worse(study, baseline, std::slice::from_ref(metric))
            }
            (Kind::AnyWorse, Some(baseline)) => self.worse(study, baseline, shown),
            (_, None) => Vec::new(),
        }
    }

    fn beyond(
        &self,
        study: &Study,
        metric: &Metric,
        is_beyond: impl Fn(f64, Option<f64>) -> bool,
        baseline: Option<&Study>,
    ) -> Vec<String> {
        let sentence = |setup: &StudySetup| {
            let median = setup.median(&metric.name)?;
            let before = baseline.and_then(|baseline| {
                let mut others = baseline.setups.iter();
                let same = others.find(|other| other.labels == setup.labels)?;
                same.median(&metric.name)
            });
            let then = before.map_or(String::new(), |b| {
                format!(", the baseline {}", metric.unit.show(b))
            });
            is_beyond(median, before).then(|| {
                let (case, name) = (setup.case(), setup.name());
                format!(
                    "{case}, {name}: {} is {}{then} ({})",
                    metric.label,
                    metric.unit.show(median),
                    self.text
                )
            })
        };
        study.setups.iter().filter_map(sentence).collect()
    }

    fn worse(&self, study: &Study, baseline: &Study, metrics: &[Metric]) -> Vec<String> {
        let mut sentences = Vec::new();
        for (setup, differences) in against(study, baseline, metrics) {
            for (metric, difference) in metrics.iter().zip(differences) {
                let Some(difference) = difference.filter(|d| d.verdict == Verdict::Worse) else {
                    continue;
                };
                let show = |value| metric.unit.show(value);
                sentences.push(format!(
                    "{}, {}: {} is worse: {} instead of {}",
                    setup.case(),
                    setup.name(),
                    metric.label,
                    show(difference.now),
                    show(difference.before)
                ));
            }
        }
        sentences
    }
}

fn kind(text: &str, study: &Study) -> Result<Kind, Diagnostic> {
    if text == "worse" {
        return Ok(Kind::AnyWorse);
    }
    if let Some(metric) = text.strip_suffix(" worse") {
        return Ok(Kind::Worse(find_metric(study, metric)?.clone()));
    }
    let found = SIGNS
        .iter()
        .find_map(|&(word, sign)| Some((text.split_once(word)?, sign)));
    let Some(((metric, value), sign)) = found else {
        return Err(Diagnostic::new("this is no condition"));
    };
    let metric = find_metric(study, metric)?.clone();
    let value = value.trim();
    if let Some(part) = value.strip_suffix("of baseline") {
        let part = number(part.trim(), Unit::Share)?;
        return Ok(Kind::Part(metric, sign, part));
    }
    let value = number(value, metric.unit)?;
    Ok(Kind::Value(metric, sign, value))
}

/// A value in the unit of a metric.
fn number(text: &str, unit: Unit) -> Result<f64, Diagnostic> {
    if unit == Unit::Time {
        return quantity::duration(text).map(|ns| ns.0 as f64);
    }
    let (text, factor) = match (text.strip_suffix('%'), unit) {
        (Some(text), Unit::Share) => (text, 0.01),
        _ => (text.strip_suffix("/s").unwrap_or(text), 1.0),
    };
    let number = text.trim().parse::<f64>().ok().filter(|n| n.is_finite());
    number
        .map(|n| n * factor)
        .ok_or_else(|| Diagnostic::new(format!("\"{text}\" is not a number")))
}
