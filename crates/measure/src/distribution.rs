//! Distributions of durations: exact while the samples are few, a histogram beyond that.

use hdrhistogram::{Counter, Histogram};
use schedlab_trace::Ns;

use crate::{CdfPoint, Distribution};

/// When a [`Recorder`] changes from exact samples to a histogram, and how precise that is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Precision {
    /// Number of samples that are kept exactly.
    exact: usize,
    /// Significant decimal digits of the histogram after that.
    digits: u8,
}

impl Precision {
    /// For tasks: at most 512 bytes, then about 10 KiB.
    pub const TASK: Precision = Precision {
        exact: 64,
        digits: 2,
    };
    /// For groups and marks: at most 32 KiB, then about 200 KiB.
    pub const GROUP: Precision = Precision {
        exact: 4096,
        digits: 3,
    };

    /// Bound of the histogram's relative error.
    fn relative_error(self) -> f64 {
        match self.digits {
            2 => 0.01,
            _ => 0.001,
        }
    }
}

/// A distribution being recorded.  `C` bounds how often one value can be counted.
#[derive(Debug)]
pub(crate) struct Recorder<C: Counter> {
    samples: Samples<C>,
    precision: Precision,
    count: u64,
    unfinished: u64,
    sum: u128,
    max: u64,
}

#[derive(Debug)]
enum Samples<C: Counter> {
    Exact(Vec<u64>),
    Histogram(Box<Histogram<C>>),
}

impl<C: Counter> Recorder<C> {
    pub fn new(precision: Precision) -> Recorder<C> {
        let samples = Samples::Exact(Vec::new());
        Recorder {
            samples,
            precision,
            count: 0,
            unfinished: 0,
            sum: 0,
            max: 0,
        }
    }

    /// Records a sample; returns by how many bytes the recorder grew.
    pub fn record(&mut self, ns: u64) -> usize {
        self.count += 1;
        self.sum += u128::from(ns);
        self.max = self.max.max(ns);
        match &mut self.samples {
            Samples::Exact(values) if values.len() < self.precision.exact => {
                let capacity = values.capacity();
                values.push(ns);
                (values.capacity() - capacity) * size_of::<u64>()
            }
            Samples::Exact(_) => self.upgrade() + self.count_in_histogram(ns),
            Samples::Histogram(_) => self.count_in_histogram(ns),
        }
    }

    /// Records a wait that had not ended.
    pub fn record_unfinished(&mut self, ns: u64) -> usize {
        self.unfinished += 1;
        self.record(ns)
    }

    /// Adds all samples of another recorder.
    pub fn absorb(&mut self, other: &Recorder<C>) {
        match &other.samples {
            Samples::Exact(values) => values.iter().for_each(|&ns| {
                self.record(ns);
            }),
            Samples::Histogram(theirs) => {
                self.upgrade();
                let Samples::Histogram(ours) = &mut self.samples else {
                    unreachable!()
                };
                ours.add(&**theirs)
                    .expect("an auto-resizing histogram takes every value");
                self.count += other.count;
                self.sum += other.sum;
                self.max = self.max.max(other.max);
            }
        }
        self.unfinished += other.unfinished;
    }

    /// Turns exact samples into a histogram; returns the growth in bytes.
    fn upgrade(&mut self) -> usize {
        let Samples::Exact(values) = &mut self.samples else {
            return 0;
        };
        let values = std::mem::take(values);
        let histogram = Histogram::new(self.precision.digits).expect("2 and 3 are valid digits");
        let before = histogram.distinct_values();
        self.samples = Samples::Histogram(Box::new(histogram));
        let grown: usize = values.iter().map(|&ns| self.count_in_histogram(ns)).sum();
        before * size_of::<C>() + grown
    }

    fn count_in_histogram(&mut self, ns: u64) -> usize {
        let Samples::Histogram(histogram) = &mut self.samples else {
            return 0;
        };
        let before = histogram.distinct_values();
        histogram
            .record(ns)
            .expect("an auto-resizing histogram takes every value");
        (histogram.distinct_values() - before) * size_of::<C>()
    }

    /// The sample at each rank, from 1 for the smallest; ranks ascend and do not exceed the count.
    fn at_ranks(&self, ranks: &[u64]) -> Vec<u64> {
        match &self.samples {
            Samples::Exact(values) => {
                let mut sorted = values.clone();
                sorted.sort_unstable();
                ranks
                    .iter()
                    .map(|&rank| sorted[rank as usize - 1])
                    .collect()
            }
            Samples::Histogram(histogram) => histogram_ranks(histogram, ranks, self.max),
        }
    }

    /// What was recorded; none if nothing was.
    pub fn distribution(&self) -> Option<Distribution> {
        if self.count == 0 {
            return None;
        }
        let ranks = [500_000, 950_000, 990_000, 999_000].map(|ppm| rank(ppm, self.count));
        let values = self.at_ranks(&ranks);
        Some(Distribution {
            count: self.count,
            unfinished: self.unfinished,
            mean: self.sum as f64 / self.count as f64,
            p50: Ns(values[0]),
            p95: Ns(values[1]),
            p99: Ns(values[2]),
            p999: Ns(values[3]),
            max: Ns(self.max),
            relative_error: match self.samples {
                Samples::Exact(_) => 0.0,
                Samples::Histogram(_) => self.precision.relative_error(),
            },
        })
    }

    /// Points of the cumulative distribution: every percent, the tail finer and finer.
    pub fn cdf(&self) -> Vec<CdfPoint> {
        let mut ranks: Vec<u64> = cdf_ppm().map(|ppm| rank(ppm, self.count)).collect();
        ranks.dedup();
        ranks.retain(|&rank| rank > 0);
        let share = |rank: u64| rank as f64 / self.count as f64;
        let values = self.at_ranks(&ranks);
        ranks
            .iter()
            .zip(values)
            .map(|(&r, ns)| CdfPoint {
                ns: Ns(ns),
                share: share(r),
            })
            .collect()
    }
}

/// The highest value the histogram cannot tell from the sample at each rank, but at most `max`.
fn histogram_ranks<C: Counter>(histogram: &Histogram<C>, ranks: &[u64], max: u64) -> Vec<u64> {
    let mut values = Vec::with_capacity(ranks.len());
    let mut seen = 0;
    for step in histogram.iter_recorded() {
        seen += step.count_at_value().as_u64();
        let value = histogram
            .highest_equivalent(step.value_iterated_to())
            .min(max);
        while values.len() < ranks.len() && ranks[values.len()] <= seen {
            values.push(value);
        }
    }
    // Counters that saturated may leave the last ranks unreached.
    values.resize(ranks.len(), max);
    values
}

/// The rank of a percentile given in millionths: the smallest that covers this share of the samples.
fn rank(ppm: u64, count: u64) -> u64 {
    (u128::from(ppm) * u128::from(count)).div_ceil(1_000_000) as u64
}

/// The shares, in millionths, at which a cumulative distribution is drawn: 1 and 137 more.
fn cdf_ppm() -> impl Iterator<Item = u64> {
    let percents = (1..=99).map(|p| p * 10_000);
    let tail = |start: u64, step: u64| (1..=9).map(move |i| start + i * step);
    std::iter::once(1)
        .chain(percents)
        .chain(tail(990_000, 1_000))
        .chain(tail(999_000, 100))
        .chain(tail(999_900, 10))
        .chain(tail(999_990, 1))
        .chain(std::iter::once(1_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(precision: Precision, values: impl Iterator<Item = u64>) -> Recorder<u32> {
        let mut recorder = Recorder::new(precision);
        values.for_each(|ns| {
            recorder.record(ns);
        });
        recorder
    }

    #[test]
    fn nothing_recorded_has_no_distribution() {
        let recorder = Recorder::<u32>::new(Precision::TASK);
        assert_eq!(recorder.distribution(), None);
        assert_eq!(recorder.cdf(), vec![]);
    }

    #[test]
    fn few_samples_are_exact() {
        // 10, 20, ... 400: the 95th percentile is number ceil(0.95 * 40) = 38.
        let d = recorded(Precision::TASK, (1..=40).rev().map(|i| i * 10))
            .distribution()
            .unwrap();
        assert_eq!((d.count, d.mean, d.relative_error), (40, 205.0, 0.0));
        assert_eq!(
            (d.p50, d.p95, d.p99, d.p999, d.max),
            (Ns(200), Ns(380), Ns(400), Ns(400), Ns(400))
        );
    }

    #[test]
    fn many_samples_keep_the_stated_error() {
        for precision in [Precision::TASK, Precision::GROUP] {
            let d = recorded(precision, (1..=100_000).map(|i| i * 1_000))
                .distribution()
                .unwrap();
            assert_eq!((d.count, d.max), (100_000, Ns(100_000_000)));
            assert_eq!(d.mean, 50_000_500.0);
            for (got, exact) in [
                (d.p50, 50e6),
                (d.p95, 95e6),
                (d.p99, 99e6),
                (d.p999, 99.9e6),
            ] {
                assert!(
                    (got.0 as f64 / exact - 1.0).abs() <= d.relative_error,
                    "{got:?} {exact}"
                );
            }
        }
    }

    #[test]
    fn growth_is_reported_to_the_byte() {
        let mut recorder = Recorder::<u32>::new(Precision::TASK);
        let grown: usize = (0..1_000).map(|i| recorder.record(i * i * i)).sum();
        let Samples::Histogram(histogram) = &recorder.samples else {
            panic!("not upgraded")
        };
        // The 64 exact samples were counted too, and their memory given back.
        assert_eq!(grown, histogram.distinct_values() * 4 + 64 * 8);
    }

    #[test]
    fn the_largest_time_there_is_can_be_recorded() {
        let d = recorded(Precision::TASK, (0..100).map(|_| u64::MAX))
            .distribution()
            .unwrap();
        assert!(d.p50 >= Ns(u64::MAX - 1), "{:?}", d.p50);
        assert_eq!(d.max, Ns(u64::MAX));
    }

    #[test]
    fn absorbing_equals_recording_together() {
        for (a, b) in [
            (10, 20),
            (10, 5_000),
            (5_000, 10),
            (5_000, 6_000),
            (4_000, 4_000),
        ] {
            let mut left = recorded(Precision::GROUP, (0..a).map(|i| i * 7));
            left.absorb(&recorded(Precision::GROUP, (0..b).map(|i| i * 11)));
            let both = (0..a).map(|i| i * 7).chain((0..b).map(|i| i * 11));
            assert_eq!(
                left.distribution(),
                recorded(Precision::GROUP, both).distribution()
            );
        }
    }

    #[test]
    fn cdf_of_few_samples_has_them_all() {
        let cdf = recorded(Precision::TASK, [30, 10, 20, 20].into_iter()).cdf();
        let points: Vec<(u64, f64)> = cdf.iter().map(|p| (p.ns.0, p.share)).collect();
        assert_eq!(points, [(10, 0.25), (20, 0.5), (20, 0.75), (30, 1.0)]);
    }

    #[test]
    fn cdf_of_many_samples_is_bounded_and_monotonic() {
        let cdf = recorded(Precision::GROUP, (0..3_000_000).map(|i| i % 1_000_003)).cdf();
        assert!((100..=200).contains(&cdf.len()), "{}", cdf.len());
        assert!(cdf
            .windows(2)
            .all(|w| w[0].ns <= w[1].ns && w[0].share < w[1].share));
        assert_eq!(
            cdf.last().map(|p| (p.ns, p.share)),
            Some((Ns(1_000_002), 1.0))
        );
    }
}
