//! Dealing out CPU time: every nanosecond of a CPU goes to a task, to overhead or to idling, once.

use schedlab_trace::{CpuId, Ns, Overhead, Time};

use super::{Span, State};
use crate::metrics::Families;
use crate::observation::Who;
use crate::AccountingError;

impl State {
    /// Deals out a CPU's time up to `to`: first the overhead it is in, then the task it runs or idling.
    #[inline]
    pub(super) fn account(&mut self, id: CpuId, to: u64, families: &mut Families) {
        let cpu = &mut self.cpus[id.index()];
        while let Some(span) = cpu.spans.front() {
            let end = span.end.min(to);
            families.overhead(id, span.kind, cpu.accounted, end);
            cpu.accounted = end;
            if end < span.end {
                return;
            }
            cpu.spans.pop_front();
        }
        let from = cpu.accounted;
        if from >= to {
            return;
        }
        cpu.accounted = to;
        match cpu.curr {
            Some(task) => {
                let group = self.tasks[task.index()].group;
                families.ran(id, Who { task, group }, from, to);
            }
            None => families.idled(id, from, to),
        }
    }

    /// Overhead begins now, or when the overhead that began at the same moment is over.
    #[inline]
    pub(super) fn overhead(&mut self, id: CpuId, kind: Overhead, ns: Ns, families: &mut Families) {
        let now = self.last;
        self.account(id, now, families);
        let cpu = &mut self.cpus[id.index()];
        let free = cpu.spans.back().map_or(now, |span| span.end);
        let end = free.saturating_add(ns.0);
        cpu.spans.push_back(Span { kind, end });
        let overlaps = std::mem::replace(&mut cpu.overhead_told, now) != now && free > now;
        if overlaps {
            self.fail_overlap(id, free - now);
        }
    }

    /// A wait for a lock ends now; the CPU did nothing else for the `ns` before.
    #[inline]
    pub(super) fn lock_wait(&mut self, id: CpuId, ns: Ns, families: &mut Families) {
        let now = self.last;
        let cpu = &self.cpus[id.index()];
        let free = cpu
            .spans
            .back()
            .map_or(cpu.accounted, |span| span.end.min(now));
        let start = now.saturating_sub(ns.0).max(free);
        if now - start < ns.0 {
            self.fail_overlap(id, ns.0 - (now - start));
        }
        self.account(id, start, families);
        families.overhead(id, Overhead::Lock, start, now);
        self.cpus[id.index()].accounted = now;
    }

    #[cold]
    fn fail_overlap(&mut self, cpu: CpuId, ns: u64) {
        self.fail(AccountingError::OverlappingOverhead {
            time: Time(self.last),
            cpu,
            ns: Ns(ns),
        });
    }
}
