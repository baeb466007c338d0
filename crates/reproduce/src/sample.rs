//! Values of runs that differ only in their seeds.

use schedlab_measure::Summary;
use schedlab_report::table::Cell;

/// A value of each seed.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Sample(Vec<f64>);

impl Sample {
    /// The values, by seed.
    pub fn values(&self) -> &[f64] {
        &self.0
    }

    /// The median.
    pub fn median(&self) -> f64 {
        self.summary().map_or(f64::NAN, |s| s.median)
    }

    /// Arithmetic mean.
    pub fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.0.len() as f64
    }

    /// Standard deviation of the sample; 0 for a single value.
    pub fn sd(&self) -> f64 {
        if self.0.len() < 2 {
            return 0.0;
        }
        let mean = self.mean();
        let squares: f64 = self.0.iter().map(|x| (x - mean) * (x - mean)).sum();
        (squares / (self.0.len() - 1) as f64).sqrt()
    }

    /// The smallest.
    pub fn min(&self) -> f64 {
        self.0.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// The largest.
    pub fn max(&self) -> f64 {
        self.0.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }

    /// Each value changed in the same way.
    pub fn map(&self, change: impl Fn(f64) -> f64) -> Sample {
        self.0.iter().map(|x| change(*x)).collect()
    }

    /// Seed by seed, this divided by `other`.
    pub fn over(&self, other: &Sample) -> Sample {
        self.with(other, |a, b| a / b)
    }

    /// Seed by seed, this minus `other`.
    pub fn minus(&self, other: &Sample) -> Sample {
        self.with(other, |a, b| a - b)
    }

    fn with(&self, other: &Sample, combine: impl Fn(f64, f64) -> f64) -> Sample {
        assert_eq!(
            self.0.len(),
            other.0.len(),
            "samples of different numbers of seeds"
        );
        self.0
            .iter()
            .zip(&other.0)
            .map(|(a, b)| combine(*a, *b))
            .collect()
    }

    /// Median and interval; none without values or if one is not a number.
    pub fn summary(&self) -> Option<Summary> {
        match self.0.iter().all(|x| x.is_finite()) {
            true => Summary::of(self.0.clone()),
            false => None,
        }
    }

    /// For a table: the median with its interval, if there were several seeds.
    pub fn cell(&self) -> Cell {
        match self.summary() {
            None => Cell::Missing,
            Some(s) if s.n == 1 => Cell::number(s.median),
            Some(s) => Cell::Number {
                value: s.median,
                interval: Some((s.lo, s.hi)),
            },
        }
    }
}

impl FromIterator<f64> for Sample {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Sample {
        Sample(values.into_iter().collect())
    }
}

impl From<f64> for Sample {
    fn from(value: f64) -> Sample {
        Sample(vec![value])
    }
}
