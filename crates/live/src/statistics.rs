//! What a loaded scheduler counts.

/// Counts since the scheduler was loaded.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Statistics {
    /// Calls of pick_next().
    pub schedule_calls: u64,
    /// Tasks examined in these calls.
    pub examined: u64,
    /// Passes over all tasks that recalculate counters or priorities.
    pub recalculations: u64,
    /// Tasks recalculated in these passes.
    pub recalculated: u64,
    /// Context switches, including those from and to idle.
    pub switches: u64,
    /// Switches to a task that had run on another CPU before.
    pub migrations: u64,
    /// Tasks that woke up or started.
    pub wakeups: u64,
    /// Ticks of the policy.
    pub ticks: u64,
    /// Second run-queue locks taken.
    pub locks: u64,
    /// Second run-queue locks refused, because another CPU held them.
    pub failed_locks: u64,
    /// Times from runnable to running.
    pub delay: Histogram,
    /// The policy's own counters, in the order it declares them.
    pub counters: Vec<u64>,
    /// Tasks that the scheduler has now.
    pub tasks: u32,
}

const FIELDS: usize = 10;
const BUCKETS: usize = 192;
const COUNTERS: usize = 16;

impl Statistics {
    /// Reads `struct host_totals`.
    pub(crate) fn read(totals: &[u8], counters: usize) -> Option<Statistics> {
        let at = |byte: usize| {
            let bytes = totals.get(byte..byte + 8)?;
            Some(u64::from_ne_bytes(bytes.try_into().ok()?))
        };
        let at32 = |byte: usize| {
            let bytes = totals.get(byte..byte + 4)?;
            Some(u32::from_ne_bytes(bytes.try_into().ok()?))
        };
        let delays = FIELDS * 8;
        let after_delays = delays + BUCKETS * 4;
        let mut delay = Histogram::default();
        for bucket in 0..BUCKETS {
            delay.counts[bucket] = at32(delays + bucket * 4)?;
        }
        Some(Statistics {
            schedule_calls: at(0)?,
            examined: at(8)?,
            recalculations: at(16)?,
            recalculated: at(24)?,
            switches: at(32)?,
            migrations: at(40)?,
            wakeups: at(48)?,
            ticks: at(56)?,
            locks: at(64)?,
            failed_locks: at(72)?,
            delay,
            counters: (0..counters)
                .map(|i| at(after_delays + i * 8))
                .collect::<Option<_>>()?,
            tasks: at32(after_delays + COUNTERS * 8)?,
        })
    }

    /// What was counted since `earlier`.
    pub fn since(&self, earlier: &Statistics) -> Statistics {
        let counters = self.counters.iter().enumerate();
        Statistics {
            schedule_calls: self.schedule_calls - earlier.schedule_calls,
            examined: self.examined - earlier.examined,
            recalculations: self.recalculations - earlier.recalculations,
            recalculated: self.recalculated - earlier.recalculated,
            switches: self.switches - earlier.switches,
            migrations: self.migrations - earlier.migrations,
            wakeups: self.wakeups - earlier.wakeups,
            ticks: self.ticks - earlier.ticks,
            locks: self.locks - earlier.locks,
            failed_locks: self.failed_locks - earlier.failed_locks,
            delay: self.delay.since(&earlier.delay),
            counters: counters
                .map(|(i, n)| n - earlier.counters.get(i).unwrap_or(&0))
                .collect(),
            tasks: self.tasks,
        }
    }

    /// Mean number of tasks examined by a call of pick_next().
    pub fn examined_per_call(&self) -> f64 {
        self.examined as f64 / (self.schedule_calls.max(1)) as f64
    }
}

/// A histogram of times; each power of two has four buckets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Histogram {
    counts: [u32; BUCKETS],
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram {
            counts: [0; BUCKETS],
        }
    }
}

impl Histogram {
    /// The number of times.
    pub fn total(&self) -> u64 {
        self.counts.iter().map(|&n| u64::from(n)).sum()
    }

    /// An upper bound, in ns and at most a quarter too high, of the times' quantile `share` (0 to
    /// 1).
    pub fn percentile_ns(&self, share: f64) -> Option<u64> {
        let total = self.total();
        let wanted = ((total as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        let bucket = self.counts.iter().position(|&n| {
            seen += u64::from(n);
            seen >= wanted
        });
        bucket
            .filter(|_| total > 0)
            .map(|b| lower_bound_ns(b + 1) - 1)
    }

    // A bucket's count wraps after days; the difference is still correct.
    fn since(&self, earlier: &Histogram) -> Histogram {
        let mut counts = [0; BUCKETS];
        for (i, count) in counts.iter_mut().enumerate() {
            *count = self.counts[i].wrapping_sub(earlier.counts[i]);
        }
        Histogram { counts }
    }
}

/// The lower bound of a bucket; delay_bucket() in schedule.h fills the buckets.
fn lower_bound_ns(bucket: usize) -> u64 {
    if bucket < 4 {
        return bucket as u64;
    }
    let exponent = bucket / 4 + 1;
    (4 + bucket as u64 % 4) << (exponent - 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_quarters_of_powers_of_two() {
        // 4 = 2^2 starts bucket 4; 5, 6, 7 follow; 8 starts the next four, 2 wide each.
        assert_eq!(lower_bound_ns(4), 4);
        assert_eq!(lower_bound_ns(7), 7);
        assert_eq!(lower_bound_ns(8), 8);
        assert_eq!(lower_bound_ns(9), 10);
        assert_eq!(lower_bound_ns(12), 16);
    }

    #[test]
    fn percentiles_are_upper_bounds() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.percentile_ns(0.5), None);
        histogram.counts[8] = 1; // 8 or 9 ns
        histogram.counts[12] = 1; // 16 to 19 ns
        assert_eq!(histogram.percentile_ns(0.5), Some(9));
        assert_eq!(histogram.percentile_ns(0.99), Some(19));
    }
}
