//! Excerpts of which task ran where: the begin of the run, and the time around the longest wait.

use std::collections::VecDeque;

use schedlab_trace::{CpuId, TaskId, Time};

use crate::observation::WaitEnd;
use crate::{Slice, TimelinePlot, TimelineWindow};

/// Slices in each of the two excerpts.
const WINDOW_SLICES: usize = 2_000;
/// Of these, slices after the end of the longest wait.
const SLICES_AFTER: u64 = WINDOW_SLICES as u64 / 2;

/// A task's stay on a CPU that is not over.
#[derive(Clone, Copy, Debug)]
struct Open {
    task: TaskId,
    since: u64,
}

/// The first slices, and a ring of the latest ones to cut the other excerpt from.
#[derive(Debug, Default)]
pub(crate) struct Timeline {
    open: Vec<Option<Open>>,
    first: Vec<Slice>,
    /// The first excerpt, once it is full.
    start: Option<TimelineWindow>,
    latest: VecDeque<Slice>,
    /// Everything that ended after this is in the ring.
    complete_since: u64,
    nr_slices: u64,
    longest_wait_ns: u64,
    longest_wait_end: u64,
    /// The number of slices at which the other excerpt is cut.
    cut_at: Option<u64>,
    longest_wait: Option<TimelineWindow>,
}

impl Timeline {
    pub fn new(nr_cpus: u32) -> Timeline {
        Timeline {
            open: vec![None; nr_cpus as usize],
            ..Timeline::default()
        }
    }

    #[inline]
    pub fn switched_in(&mut self, cpu: CpuId, task: TaskId, now: u64) {
        self.open[cpu.index()] = Some(Open { task, since: now });
    }

    #[inline]
    pub fn switched_out(&mut self, cpu: CpuId, now: u64) {
        let Some(open) = self.open[cpu.index()].take() else {
            return;
        };
        if open.since < now {
            self.push(Slice {
                cpu,
                task: open.task,
                start_ns: Time(open.since),
                end_ns: Time(now),
            });
        }
    }

    fn push(&mut self, slice: Slice) {
        self.nr_slices += 1;
        if self.latest.len() == WINDOW_SLICES {
            let dropped = self.latest.pop_front().expect("the ring is full");
            self.complete_since = dropped.end_ns.0;
        }
        self.latest.push_back(slice);
        let now = slice.end_ns.0;
        if self.start.is_none() {
            self.first.push(slice);
            if self.first.len() == WINDOW_SLICES {
                self.cut_start(now);
            }
        }
        if self.cut_at == Some(self.nr_slices) {
            self.cut_longest_wait(now);
        }
    }

    /// The excerpt of the longest wait is cut some slices after its end, so that it shows what followed.
    #[inline]
    pub fn waited(&mut self, wait: &WaitEnd) {
        let ns = wait.end - wait.start;
        if ns > self.longest_wait_ns {
            self.longest_wait_ns = ns;
            self.longest_wait_end = wait.end;
            self.cut_at = Some(self.nr_slices + SLICES_AFTER);
        }
    }

    fn cut_start(&mut self, now: u64) {
        let slices = std::mem::take(&mut self.first);
        self.start = Some(self.window(0, now, slices));
    }

    fn cut_longest_wait(&mut self, now: u64) {
        self.cut_at = None;
        let slices = self.latest.iter().copied().collect();
        self.longest_wait = Some(self.window(self.complete_since, now, slices));
    }

    /// An excerpt, with what still runs at its end cut off there.
    fn window(&self, start: u64, end: u64, mut slices: Vec<Slice>) -> TimelineWindow {
        for (cpu, open) in self.open.iter().enumerate() {
            let Some(Open { task, since }) = *open else {
                continue;
            };
            if since < end {
                let cpu = CpuId(cpu as u32);
                slices.push(Slice {
                    cpu,
                    task,
                    start_ns: Time(since),
                    end_ns: Time(end),
                });
            }
        }
        TimelineWindow {
            start_ns: Time(start),
            end_ns: Time(end),
            slices,
        }
    }

    pub fn end(&mut self, now: u64) {
        if self.start.is_none() {
            self.cut_start(now);
        }
        if self.cut_at.is_some() {
            self.cut_longest_wait(now);
        }
    }

    pub fn finish(self) -> TimelinePlot {
        let start = self.start.unwrap_or_default();
        let shown = self.longest_wait_end <= start.end_ns.0;
        TimelinePlot {
            start,
            longest_wait: self.longest_wait.filter(|_| !shown),
        }
    }
}
