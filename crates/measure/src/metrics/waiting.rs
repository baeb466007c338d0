//! How many tasks wait, over time: on all run queues together, and on each.

use schedlab_trace::{CpuId, Ns};

use crate::observation::Load;
use crate::series::{merge_pairs, Series, MAX_BUCKETS};
use crate::{WaitingPlot, MAX_PLOT_CPUS};

/// The row of all run queues together; the CPUs' rows follow.
const ALL: usize = 0;

/// A number of tasks since it last changed.
#[derive(Clone, Copy, Debug, Default)]
struct Level {
    tasks: u32,
    since: u64,
}

/// Mean numbers of waiting tasks in equal stretches of time, and the maximum of all together.
#[derive(Debug)]
pub(crate) struct Waiting {
    series: Series,
    levels: Vec<Level>,
    max: [u32; MAX_BUCKETS],
}

impl Waiting {
    pub fn new(nr_cpus: u32) -> Waiting {
        let plotted = if nr_cpus as usize <= MAX_PLOT_CPUS {
            nr_cpus as usize
        } else {
            0
        };
        Waiting {
            series: Series::new(1 + plotted),
            levels: vec![Level::default(); 1 + plotted],
            max: [0; MAX_BUCKETS],
        }
    }

    /// One more task waits on a CPU's queue.
    #[inline]
    pub fn enqueued(&mut self, cpu: CpuId, now: u64) {
        if let Some(level) = self.integrate(1 + cpu.index(), now) {
            level.tasks += 1;
        }
    }

    /// One task fewer waits on a CPU's queue.
    #[inline]
    pub fn dequeued(&mut self, cpu: CpuId, now: u64) {
        if let Some(level) = self.integrate(1 + cpu.index(), now) {
            level.tasks -= 1;
        }
    }

    #[inline]
    pub fn load(&mut self, load: Load, now: u64) {
        let Level { tasks, since } = self.levels[ALL];
        if tasks == load.waiting_tasks {
            return;
        }
        self.integrate(ALL, now);
        self.note_max(tasks, since, now);
        self.levels[ALL].tasks = load.waiting_tasks;
    }

    /// Brings a row up to date, if it is kept.
    #[inline]
    fn integrate(&mut self, row: usize, now: u64) -> Option<&mut Level> {
        let level = self.levels.get_mut(row)?;
        let from = std::mem::replace(&mut level.since, now);
        for _ in 0..self.series.fit(now) {
            merge_pairs(&mut self.max, u32::max);
        }
        self.series.add(row, from, now, u64::from(level.tasks));
        Some(level)
    }

    #[inline]
    fn note_max(&mut self, tasks: u32, from: u64, to: u64) {
        if from == to || tasks == 0 {
            return;
        }
        for bucket in self.series.buckets(from, to) {
            self.max[bucket] = self.max[bucket].max(tasks);
        }
    }

    pub fn end(&mut self, now: u64) {
        let Level { tasks, since } = self.levels[ALL];
        for row in 0..self.levels.len() {
            self.integrate(row, now);
        }
        self.note_max(tasks, since, now);
    }

    pub fn finish(&self, duration: Ns) -> WaitingPlot {
        let means = |row| self.series.means(row, duration.0);
        WaitingPlot {
            bucket_ns: Ns(self.series.width_ns()),
            mean: means(ALL),
            max: self.max[..self.series.len(duration.0)].to_vec(),
            cpus: (ALL + 1..self.levels.len()).map(means).collect(),
        }
    }
}
