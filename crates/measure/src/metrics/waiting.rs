//! How many tasks wait, over time.

use schedlab_trace::Ns;

use crate::series::{merge_pairs, Series, MAX_BUCKETS};
use crate::state::Load;
use crate::WaitingPlot;

/// Mean and maximum of the number of waiting tasks in equal stretches of time.
#[derive(Debug)]
pub(crate) struct Waiting {
    series: Series,
    max: [u32; MAX_BUCKETS],
    level: u32,
    since: u64,
}

impl Default for Waiting {
    fn default() -> Waiting {
        Waiting {
            series: Series::new(1),
            max: [0; MAX_BUCKETS],
            level: 0,
            since: 0,
        }
    }
}

impl Waiting {
    #[inline]
    pub fn load(&mut self, load: Load, now: u64) {
        if load.waiting_tasks != self.level {
            self.integrate(now);
            self.level = load.waiting_tasks;
        }
    }

    #[inline]
    fn integrate(&mut self, now: u64) {
        let from = std::mem::replace(&mut self.since, now);
        for _ in 0..self.series.fit(now) {
            merge_pairs(&mut self.max, u32::max);
        }
        if from == now || self.level == 0 {
            return;
        }
        self.series.add(0, from, now, u64::from(self.level));
        for bucket in self.series.buckets(from, now) {
            self.max[bucket] = self.max[bucket].max(self.level);
        }
    }

    pub fn end(&mut self, now: u64) {
        self.integrate(now);
    }

    pub fn finish(&self, duration: Ns) -> WaitingPlot {
        WaitingPlot {
            bucket_ns: Ns(self.series.width_ns()),
            mean: self.series.means(0, duration.0),
            max: self.max[..self.series.len(duration.0)].to_vec(),
        }
    }
}
