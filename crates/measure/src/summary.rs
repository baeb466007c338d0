//! Runs that differ only in their seeds, as a median with an interval.

use oorandom::Rand64;
use serde::Serialize;

use crate::{Headline, Metrics};

/// The fewest values for a bootstrap interval.
pub const BOOTSTRAP_MIN: usize = 6;
/// Number of bootstrap resamples.
const RESAMPLES: usize = 2_000;
/// The resampling's seed: the interval is a function of the values alone.
const SEED: u128 = 0x7363_6865_646c_6162;

/// What an interval says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Interval {
    /// Smallest to largest value: there are fewer than [`BOOTSTRAP_MIN`].
    Range,
    /// The median's 95 % confidence interval, by percentile bootstrap.
    Bootstrap95,
}

/// A summary of the values of several runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Number of values.
    pub n: usize,
    /// Their median.
    pub median: f64,
    /// The interval's lower end.
    pub lo: f64,
    /// The interval's upper end.
    pub hi: f64,
    /// What the interval says.
    pub interval: Interval,
}

impl Summary {
    /// Sums up values, in any order; none if there are none.
    pub fn of(mut values: Vec<f64>) -> Option<Summary> {
        values.sort_by(f64::total_cmp);
        let (&min, &max) = (values.first()?, values.last()?);
        let (lo, hi, interval) = if values.len() < BOOTSTRAP_MIN {
            (min, max, Interval::Range)
        } else {
            let (lo, hi) = bootstrap(&values);
            (lo, hi, Interval::Bootstrap95)
        };
        Some(Summary {
            n: values.len(),
            median: median(&values),
            lo,
            hi,
            interval,
        })
    }
}

impl Headline {
    /// Sums up this headline over runs that differ in their seeds alone; none if no run has it.
    pub fn summarize<'a>(&self, runs: impl IntoIterator<Item = &'a Metrics>) -> Option<Summary> {
        Summary::of(runs.into_iter().filter_map(|run| self.value(run)).collect())
    }
}

/// The middle of sorted values, which must not be empty; the mean of the two middle ones if even in number.
fn median(sorted: &[f64]) -> f64 {
    let (low, high) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
    low + (high - low) / 2.0
}

/// The 2.5th and 97.5th percentile of the medians of resamples drawn with replacement.
fn bootstrap(sorted: &[f64]) -> (f64, f64) {
    let mut random = Rand64::new(SEED);
    let mut medians: Vec<f64> = (0..RESAMPLES)
        .map(|_| resampled_median(sorted, &mut random))
        .collect();
    medians.sort_by(f64::total_cmp);
    let tail = RESAMPLES / 40;
    (medians[tail], medians[RESAMPLES - 1 - tail])
}

fn resampled_median(sorted: &[f64], random: &mut Rand64) -> f64 {
    let len = sorted.len() as u64;
    let mut sample: Vec<f64> = (0..len)
        .map(|_| sorted[random.rand_range(0..len) as usize])
        .collect();
    sample.sort_by(f64::total_cmp);
    median(&sample)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_has_no_summary() {
        assert_eq!(Summary::of(vec![]), None);
    }

    #[test]
    fn few_values_show_their_range() {
        // Sorted: 1 2 4 9; the median is (2 + 4) / 2.
        let summary = Summary::of(vec![4.0, 9.0, 1.0, 2.0]).unwrap();
        assert_eq!(
            (summary.n, summary.median, summary.lo, summary.hi),
            (4, 3.0, 1.0, 9.0)
        );
        assert_eq!(summary.interval, Interval::Range);
    }

    #[test]
    fn many_values_show_a_confidence_interval() {
        // The order-statistic interval of a median of 101 values 0..=100 is, by the binomial
        // distribution, about 50 +- 1.96 * sqrt(101) / 2 = 40.2 to 59.8.
        let summary = Summary::of((0..=100).map(f64::from).collect()).unwrap();
        assert_eq!(
            (summary.n, summary.median, summary.interval),
            (101, 50.0, Interval::Bootstrap95)
        );
        assert!((38.0..=42.0).contains(&summary.lo), "{}", summary.lo);
        assert!((58.0..=62.0).contains(&summary.hi), "{}", summary.hi);
    }

    #[test]
    fn order_does_not_matter() {
        let up = Summary::of((0..20).map(f64::from).collect());
        assert_eq!(up, Summary::of((0..20).rev().map(f64::from).collect()));
    }

    #[test]
    fn one_outlier_among_many_does_not_stretch_the_interval() {
        let mut values = vec![10.0; 19];
        values.push(1e9);
        let summary = Summary::of(values).unwrap();
        assert_eq!((summary.median, summary.lo, summary.hi), (10.0, 10.0, 10.0));
    }
}
