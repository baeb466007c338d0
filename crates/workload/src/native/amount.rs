//! Amounts of time: "10ms", "exp(20ms)", "uniform(1ms, 3ms)".

use schedlab_input::{quantity, Diagnostic};
use schedlab_trace::Ns;

use crate::Distribution;

/// The distributions and how to write them.
const DISTRIBUTIONS: [(&str, &str); 5] = [
    ("uniform", "uniform(LEAST, MOST)"),
    ("exp", "exp(MEAN)"),
    ("normal", "normal(MEAN, STANDARD DEVIATION)"),
    ("lognormal", "lognormal(MEDIAN, SIGMA)"),
    ("pareto", "pareto(LEAST, SHAPE)"),
];

/// An amount as written.
#[derive(Debug, PartialEq)]
pub(super) enum Written {
    Fixed(Ns),
    Drawn(Distribution),
}

/// Reads a duration or a distribution of durations.
pub(super) fn amount(text: &str) -> Result<Written, Diagnostic> {
    let Some((name, rest)) = text.split_once('(') else {
        return quantity::duration(text).map(Written::Fixed);
    };
    let usages = || DISTRIBUTIONS.map(|(_, usage)| usage).join(", ");
    let Some((_, usage)) = DISTRIBUTIONS.iter().find(|(known, _)| *known == name) else {
        return Err(Diagnostic::new(format!("unknown distribution \"{name}\""))
            .expected(format!("a duration or {}", usages()))
            .suggest(name, DISTRIBUTIONS.map(|(known, _)| known)));
    };
    let parameters: Vec<&str> = rest
        .strip_suffix(')')
        .map(|inner| inner.split(',').map(str::trim).collect())
        .unwrap_or_default();
    distribution(name, &parameters).unwrap_or_else(|| {
        Err(Diagnostic::new(format!("\"{text}\" cannot be read")).expected(*usage))
    })
}

/// None: the wrong number of parameters.
fn distribution(name: &str, parameters: &[&str]) -> Option<Result<Written, Diagnostic>> {
    Some(
        match (name, parameters) {
            ("uniform", [low, high]) => uniform(low, high),
            ("exp", [mean]) => positive(mean).map(|mean| Distribution::Exponential { mean }),
            ("normal", [mean, sd]) => normal(mean, sd),
            ("lognormal", [median, sigma]) => log_normal(median, sigma),
            ("pareto", [minimum, shape]) => pareto(minimum, shape),
            _ => return None,
        }
        .map(Written::Drawn),
    )
}

fn uniform(low: &str, high: &str) -> Result<Distribution, Diagnostic> {
    let (low, high) = (quantity::duration(low)?.0, positive(high)?);
    if low > high {
        return Err(
            Diagnostic::new("the least is more than the most").expected("uniform(LEAST, MOST)")
        );
    }
    Ok(Distribution::Uniform { low, high })
}

fn normal(mean: &str, sd: &str) -> Result<Distribution, Diagnostic> {
    let (mean, sd) = (positive(mean)?, quantity::duration(sd)?.0);
    Ok(Distribution::Normal { mean, sd })
}

fn log_normal(median: &str, sigma: &str) -> Result<Distribution, Diagnostic> {
    let (median, sigma_milli) = (positive(median)?, quantity::thousandths(sigma)?);
    if sigma_milli > 5000 {
        return Err(Diagnostic::new(format!("sigma {sigma} is out of range")).expected("0 to 5"));
    }
    Ok(Distribution::LogNormal {
        median,
        sigma_milli,
    })
}

fn pareto(minimum: &str, shape: &str) -> Result<Distribution, Diagnostic> {
    let (minimum, shape_milli) = (positive(minimum)?, quantity::thousandths(shape)?);
    if !(1001..=100_000).contains(&shape_milli) {
        return Err(Diagnostic::new(format!("shape {shape} is out of range"))
            .expected("more than 1, where the mean is finite, to 100"));
    }
    Ok(Distribution::Pareto {
        minimum,
        shape_milli,
    })
}

/// A duration above 0, as distributions need it.
fn positive(text: &str) -> Result<u64, Diagnostic> {
    match quantity::duration(text)? {
        Ns(0) => Err(Diagnostic::new(format!("\"{text}\" is a duration of 0"))
            .expected("a duration of more than 0")),
        Ns(ns) => Ok(ns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_durations_or_distributions() {
        assert_eq!(amount("2ms").unwrap(), Written::Fixed(Ns(2_000_000)));
        let drawn = |text: &str| match amount(text).unwrap() {
            Written::Drawn(distribution) => distribution,
            fixed => panic!("{fixed:?}"),
        };
        assert_eq!(
            drawn("uniform(1ms, 3ms)"),
            Distribution::Uniform {
                low: 1_000_000,
                high: 3_000_000
            }
        );
        assert_eq!(
            drawn("exp(20us)"),
            Distribution::Exponential { mean: 20_000 }
        );
        assert_eq!(
            drawn("normal(5us,1us)"),
            Distribution::Normal {
                mean: 5000,
                sd: 1000
            }
        );
        assert_eq!(
            drawn("lognormal(5us, 0.5)"),
            Distribution::LogNormal {
                median: 5000,
                sigma_milli: 500
            }
        );
        assert_eq!(
            drawn("pareto(1us, 1.5)"),
            Distribution::Pareto {
                minimum: 1000,
                shape_milli: 1500
            }
        );
    }

    #[test]
    fn mistakes_say_how_it_is_written() {
        let message = |text: &str| {
            Diagnostic {
                file: "f".into(),
                ..amount(text).unwrap_err()
            }
            .to_string()
        };
        assert_eq!(
            message("expo(1ms)"),
            "f: unknown distribution \"expo\"; expected a duration or uniform(LEAST, MOST), exp(MEAN), \
             normal(MEAN, STANDARD DEVIATION), lognormal(MEDIAN, SIGMA), pareto(LEAST, SHAPE) (did you mean \"exp\"?)"
        );
        assert_eq!(
            message("exp(1ms, 2ms)"),
            "f: \"exp(1ms, 2ms)\" cannot be read; expected exp(MEAN)"
        );
        assert_eq!(
            message("exp(1ms"),
            "f: \"exp(1ms\" cannot be read; expected exp(MEAN)"
        );
        assert_eq!(
            message("exp(0ms)"),
            "f: \"0ms\" is a duration of 0; expected a duration of more than 0"
        );
        assert_eq!(
            message("uniform(3ms, 1ms)"),
            "f: the least is more than the most; expected uniform(LEAST, MOST)"
        );
        assert!(message("pareto(1ms, 1)")
            .starts_with("f: shape 1 is out of range; expected more than 1"));
        assert!(message("lognormal(1ms, x)").starts_with("f: \"x\" is not a number"));
        assert!(message("exp(3)").starts_with("f: \"3\" has no unit"));
    }
}
