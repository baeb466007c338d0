//! Wakeup latency and run delay: their distributions, by task and by group.

use crate::distribution::{Precision, Recorder};
use crate::observation::WaitEnd;
use crate::{Distribution, LatencyPlot};

/// With more tasks than this their own distributions are dropped.
pub(crate) const MAX_TASKS: usize = 20_000;
/// The tasks' distributions are dropped when they take more memory than this in all.
pub(crate) const MAX_TASK_BYTES: usize = 64 << 20;

/// Both latencies of a task, a group or all.
#[derive(Debug)]
pub(crate) struct Pair<C: hdrhistogram::Counter> {
    pub wakeup_latency: Recorder<C>,
    pub run_delay: Recorder<C>,
}

impl<C: hdrhistogram::Counter> Pair<C> {
    pub fn new(precision: Precision) -> Pair<C> {
        Pair {
            wakeup_latency: Recorder::new(precision),
            run_delay: Recorder::new(precision),
        }
    }

    /// Records a wait; returns by how many bytes that made the recorders grow.
    #[inline]
    fn record(&mut self, wait: &WaitEnd) -> usize {
        let run_delay = wait.end - wait.start;
        let latency = wait.wanted.map(|wanted| wait.end - wanted);
        if wait.finished {
            self.run_delay.record(run_delay)
                + latency.map_or(0, |ns| self.wakeup_latency.record(ns))
        } else {
            self.run_delay.record_unfinished(run_delay)
                + latency.map_or(0, |ns| self.wakeup_latency.record_unfinished(ns))
        }
    }

    pub fn absorb(&mut self, other: &Pair<C>) {
        self.wakeup_latency.absorb(&other.wakeup_latency);
        self.run_delay.absorb(&other.run_delay);
    }

    /// Wakeup latency and run delay.
    pub fn distributions(&self) -> [Option<Box<Distribution>>; 2] {
        [&self.wakeup_latency, &self.run_delay].map(|r| r.distribution().map(Box::new))
    }

    pub fn plot(&self) -> LatencyPlot {
        LatencyPlot {
            wakeup_latency: self.wakeup_latency.cdf(),
            run_delay: self.run_delay.cdf(),
        }
    }
}

/// The distributions of all groups, and those of tasks while there is room.
#[derive(Debug)]
pub(crate) struct Latencies {
    /// By task; none once dropped.
    tasks: Option<Vec<Pair<u32>>>,
    task_bytes: usize,
    groups: Vec<Pair<u64>>,
}

impl Default for Latencies {
    fn default() -> Latencies {
        Latencies {
            tasks: Some(Vec::new()),
            task_bytes: 0,
            groups: Vec::new(),
        }
    }
}

impl Latencies {
    /// Makes room for a task and its group.
    pub fn announce(&mut self, task: usize, group: usize) {
        let len = self.groups.len().max(group + 1);
        self.groups.resize_with(len, || Pair::new(Precision::GROUP));
        if task >= MAX_TASKS {
            self.drop_tasks();
        }
        if let Some(tasks) = &mut self.tasks {
            tasks.resize_with(tasks.len().max(task + 1), || Pair::new(Precision::TASK));
        }
    }

    #[inline]
    pub fn waited(&mut self, wait: &WaitEnd) {
        self.groups[wait.who.group as usize].record(wait);
        if let Some(tasks) = &mut self.tasks {
            self.task_bytes += tasks[wait.who.task.index()].record(wait);
            if self.task_bytes > MAX_TASK_BYTES {
                self.drop_tasks();
            }
        }
    }

    /// Keeps only those of groups: those of tasks are too many, or not asked for.
    pub fn drop_tasks(&mut self) {
        self.tasks = None;
    }

    /// Were the tasks' own distributions dropped?
    pub fn dropped(&self) -> bool {
        self.tasks.is_none()
    }

    pub fn task(&self, index: usize) -> Option<&Pair<u32>> {
        self.tasks.as_ref().map(|tasks| &tasks[index])
    }

    pub fn group(&self, index: usize) -> &Pair<u64> {
        &self.groups[index]
    }

    /// All groups together.
    pub fn total(&self) -> Pair<u64> {
        let mut total = Pair::new(Precision::GROUP);
        self.groups.iter().for_each(|group| total.absorb(group));
        total
    }
}
