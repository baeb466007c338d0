//! Shares of CPU time by group, over time.

use std::sync::Arc;

use schedlab_trace::Ns;

use crate::series::Series;
use crate::{ShareOf, ShareRow, SharesPlot, MAX_PLOT_GROUPS};

const OTHERS: usize = MAX_PLOT_GROUPS;
const OVERHEAD: usize = OTHERS + 1;
const IDLE: usize = OVERHEAD + 1;

/// CPU time of the first groups, the others, overhead and idling.
#[derive(Debug)]
pub(crate) struct Shares(Series);

impl Default for Shares {
    fn default() -> Shares {
        Shares(Series::new(IDLE + 1))
    }
}

impl Shares {
    #[inline]
    pub fn ran(&mut self, group: u32, from: u64, to: u64) {
        self.add((group as usize).min(OTHERS), from, to);
    }

    #[inline]
    pub fn idled(&mut self, from: u64, to: u64) {
        self.add(IDLE, from, to);
    }

    #[inline]
    pub fn overhead(&mut self, from: u64, to: u64) {
        self.add(OVERHEAD, from, to);
    }

    #[inline]
    fn add(&mut self, row: usize, from: u64, to: u64) {
        self.0.fit(to);
        self.0.add(row, from, to, 1);
    }

    pub fn end(&mut self, now: u64) {
        self.0.fit(now);
    }

    pub fn finish(
        &self,
        groups: &[Arc<str>],
        duration: Ns,
        nr_cpus: u32,
        has_costs: bool,
    ) -> SharesPlot {
        let of_group = |group: &Arc<str>| ShareOf::Group(group.clone());
        let own = groups.iter().map(of_group).take(OTHERS).enumerate();
        let others = (groups.len() > OTHERS).then_some((OTHERS, ShareOf::OtherGroups));
        let overhead = has_costs.then_some((OVERHEAD, ShareOf::Overhead));
        let rows = own
            .chain(others)
            .chain(overhead)
            .chain([(IDLE, ShareOf::Idle)]);
        let share = |row| {
            let means = self.0.means(row, duration.0);
            means
                .into_iter()
                .map(|mean| mean / f64::from(nr_cpus))
                .collect()
        };
        SharesPlot {
            bucket_ns: Ns(self.0.width_ns()),
            rows: rows
                .map(|(row, of)| ShareRow {
                    of,
                    share: share(row),
                })
                .collect(),
        }
    }
}
