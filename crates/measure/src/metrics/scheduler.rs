//! What scheduling cost: calls, tasks examined, recalculations.

use crate::{OverheadNs, SchedulerMetrics};

/// Counts of schedule().
#[derive(Debug, Default)]
pub(crate) struct Scheduler {
    calls: u64,
    examined: u64,
    examined_max: u32,
    recalculations: u64,
}

impl Scheduler {
    #[inline]
    pub fn called(&mut self, examined: u32, recalculations: u32) {
        self.calls += 1;
        self.examined += u64::from(examined);
        self.examined_max = self.examined_max.max(examined);
        self.recalculations += u64::from(recalculations);
    }

    #[inline]
    pub fn recalculated(&mut self, passes: u32) {
        self.recalculations += u64::from(passes);
    }

    /// `cpu_time` is the duration times the number of CPUs.
    pub fn finish(&self, overhead: OverheadNs, cpu_time: u128) -> SchedulerMetrics {
        SchedulerMetrics {
            calls: self.calls,
            examined: self.examined,
            examined_mean: self.examined as f64 / self.calls.max(1) as f64,
            examined_max: u64::from(self.examined_max),
            recalculations: self.recalculations,
            ns: overhead.scheduling(),
            share: super::share(overhead.scheduling().0, cpu_time),
            lock_wait_ns: overhead.lock,
            overhead_ns: overhead,
        }
    }
}
