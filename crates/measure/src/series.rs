//! Quantities over time in a bounded number of buckets; the duration is not known in advance.

/// The most points in a plot over time.
pub(crate) const MAX_BUCKETS: usize = 400;
/// The first bucket width: 2^10 ns, about a microsecond.
const FIRST_SHIFT: u32 = 10;

/// Integrals of several quantities, the rows, over equal stretches of time.  When time
/// outgrows the buckets, pairs of them merge and their width doubles.
#[derive(Debug)]
pub(crate) struct Series {
    /// A bucket is 2^shift ns wide.
    shift: u32,
    rows: Vec<[u64; MAX_BUCKETS]>,
}

impl Series {
    pub fn new(rows: usize) -> Series {
        Series {
            shift: FIRST_SHIFT,
            rows: vec![[0; MAX_BUCKETS]; rows],
        }
    }

    pub fn width_ns(&self) -> u64 {
        1 << self.shift
    }

    /// Makes buckets wide enough for time before `to`; says how often they doubled.
    #[inline]
    pub fn fit(&mut self, to: u64) -> u32 {
        let mut doubled = 0;
        while to.saturating_sub(1) >> self.shift >= MAX_BUCKETS as u64 {
            self.rows
                .iter_mut()
                .for_each(|row| merge_pairs(row, u64::saturating_add));
            self.shift += 1;
            doubled += 1;
        }
        doubled
    }

    /// Which buckets a stretch of time that is not empty touches.
    #[inline]
    pub fn buckets(&self, from: u64, to: u64) -> std::ops::RangeInclusive<usize> {
        (from >> self.shift) as usize..=((to - 1) >> self.shift) as usize
    }

    /// The quantity was `value` from `from` to `to`.  Call [`fit`](Series::fit) first.
    #[inline]
    pub fn add(&mut self, row: usize, from: u64, to: u64, value: u64) {
        if from == to || value == 0 {
            return;
        }
        let buckets = self.buckets(from, to);
        if buckets.start() == buckets.end() {
            return accumulate(&mut self.rows[row][*buckets.start()], to - from, value);
        }
        for bucket in buckets {
            let start = (bucket as u64) << self.shift;
            let end = start.saturating_add(self.width_ns()).min(to);
            accumulate(&mut self.rows[row][bucket], end - start.max(from), value);
        }
    }

    /// How many buckets time until `duration` needs.
    pub fn len(&self, duration: u64) -> usize {
        duration.div_ceil(self.width_ns()) as usize
    }

    /// Each bucket's mean of a row over time until `duration`, which must fit.
    pub fn means(&self, row: usize, duration: u64) -> Vec<f64> {
        let mean = |bucket: usize| {
            let start = (bucket as u64) << self.shift;
            let length = self.width_ns().min(duration - start);
            self.rows[row][bucket] as f64 / length as f64
        };
        (0..self.len(duration)).map(mean).collect()
    }
}

/// A damaged trace may claim any time, so sums saturate.
#[inline]
fn accumulate(sum: &mut u64, ns: u64, value: u64) {
    *sum = sum.saturating_add(ns.saturating_mul(value));
}

/// Merges buckets 2i and 2i+1 into bucket i and empties the second half.
pub(crate) fn merge_pairs<T: Copy + Default>(
    row: &mut [T; MAX_BUCKETS],
    merge: impl Fn(T, T) -> T,
) {
    for i in 0..MAX_BUCKETS / 2 {
        row[i] = merge(row[2 * i], row[2 * i + 1]);
    }
    row[MAX_BUCKETS / 2..].fill(T::default());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integrals_are_split_at_bucket_borders() {
        let mut series = Series::new(1);
        // Buckets of 1024 ns: 24 ns of the first, all of the second, 52 of the third.
        series.add(0, 1_000, 2_100, 3);
        assert_eq!(series.rows[0][..4], [72, 3_072, 156, 0]);
    }

    #[test]
    fn nothing_is_lost_when_buckets_double() {
        let mut series = Series::new(2);
        let (mut from, mut sum) = (0, 0);
        for i in 0..3_000 {
            let to = from + i * 1_000;
            series.fit(to);
            series.add(1, from, to, i);
            sum += (to - from) * i;
            from = to;
        }
        assert_eq!(series.rows[1].iter().sum::<u64>(), sum);
        assert!(
            (MAX_BUCKETS / 2..=MAX_BUCKETS).contains(&series.len(from)),
            "{}",
            series.len(from)
        );
    }

    #[test]
    fn the_last_mean_is_over_the_time_there_was() {
        let mut series = Series::new(1);
        series.add(0, 0, 1_124, 5);
        assert_eq!(series.means(0, 1_124), [5.0, 5.0]);
        assert_eq!(series.means(0, 0), [0.0; 0]);
    }

    #[test]
    fn all_of_time_fits() {
        let mut series = Series::new(1);
        series.fit(u64::MAX);
        series.add(0, 0, u64::MAX, 1);
        assert_eq!(
            series.rows[0].iter().map(|&v| u128::from(v)).sum::<u128>(),
            u128::from(u64::MAX)
        );
    }
}
