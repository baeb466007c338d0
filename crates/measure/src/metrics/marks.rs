//! What the workload counts and times, and the policy's own counters.

use std::collections::BTreeMap;

use schedlab_trace::{MarkId, Ns, TraceInfo};

use crate::distribution::{Precision, Recorder};
use crate::MarkMetrics;

#[derive(Debug)]
struct Mark {
    name: String,
    count: u64,
    latency: Recorder<u64>,
}

/// Marks by id and counters by index, as the trace's head names them.
#[derive(Debug)]
pub(crate) struct Marks {
    marks: Vec<Mark>,
    counters: Vec<(String, u64)>,
}

impl Marks {
    pub fn new(info: &TraceInfo) -> Marks {
        let mark = |name: &String| Mark {
            name: name.clone(),
            count: 0,
            latency: Recorder::new(Precision::GROUP),
        };
        Marks {
            marks: info.marks.iter().map(mark).collect(),
            counters: info.counters.iter().map(|name| (name.clone(), 0)).collect(),
        }
    }

    /// False if there is no such mark.
    #[inline]
    pub fn counted(&mut self, mark: MarkId, count: u32) -> bool {
        let mark = self.marks.get_mut(mark.0 as usize);
        mark.map(|mark| mark.count += u64::from(count)).is_some()
    }

    /// False if there is no such mark.
    #[inline]
    pub fn timed(&mut self, mark: MarkId, ns: Ns) -> bool {
        let mark = self.marks.get_mut(mark.0 as usize);
        mark.map(|mark| mark.latency.record(ns.0)).is_some()
    }

    /// False if there is no such counter.
    #[inline]
    pub fn policy_counted(&mut self, counter: u32, by: u64) -> bool {
        let counter = self.counters.get_mut(counter as usize);
        counter
            .map(|(_, sum)| *sum = sum.saturating_add(by))
            .is_some()
    }

    pub fn finish(self, duration: Ns) -> (Vec<MarkMetrics>, BTreeMap<String, u64>) {
        let metrics = |mark: Mark| MarkMetrics {
            per_second: match duration {
                Ns::ZERO => 0.0,
                _ => mark.count as f64 / duration.as_secs_f64(),
            },
            latency_ns: mark.latency.distribution(),
            name: mark.name,
            count: mark.count,
        };
        (
            self.marks.into_iter().map(metrics).collect(),
            self.counters.into_iter().collect(),
        )
    }
}
