//! How far two runs of the same workload are apart.

use std::collections::BTreeMap;

use schedlab_measure::{Activity, Distribution, Metrics};

/// Waits that differ by less count as equal: it is what handling a wakeup costs.
const NEGLIGIBLE_NS: f64 = 100_000.0;

/// Fewer of something say nothing about how often it happens.
const LEAST_COUNT: u64 = 20;

/// A figure in both worlds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Both {
    pub sim: f64,
    pub real: f64,
}

impl Both {
    /// How far the simulator is off, in percent of the kernel's figure.
    pub fn error_percent(self) -> f64 {
        match self.real {
            0.0 if self.sim == 0.0 => 0.0,
            real => (self.sim - real) / real * 100.0,
        }
    }

    /// The same of a wait.
    pub fn wait_error_percent(self) -> f64 {
        match (self.sim - self.real).abs() {
            difference if difference < NEGLIGIBLE_NS => 0.0,
            _ => self.error_percent(),
        }
    }
}

/// Two runs of a workload, side by side.
#[derive(Clone, Debug)]
pub struct Compared {
    /// The largest difference of a group's share of all tasks' CPU time, in percentage points.
    pub share_points: f64,
    /// Times tasks were switched away from.
    pub switches: Both,
    /// Waits on a run queue, in ns: of each group, weighted by its number of waits.
    pub delay_p50: Both,
    /// The same.
    pub delay_p99: Both,
    /// What the workload counts most of, for each second; none if it counts nothing.
    pub per_second: Option<Both>,
}

impl Compared {
    /// Compares.
    pub fn of(sim: &Metrics, real: &Metrics) -> Compared {
        let groups = Groups::of(sim, real);
        Compared {
            share_points: groups.share_points(),
            switches: groups.sum(|activity| activity.nr_switches as f64),
            delay_p50: groups.delay(|delay| delay.p50.0 as f64),
            delay_p99: groups.delay(|delay| delay.p99.0 as f64),
            per_second: throughput(sim, real),
        }
    }
}

/// The workload's groups in both worlds; what only the kernel has is left out.
struct Groups<'a>(BTreeMap<&'a str, [Option<&'a Activity>; 2]>);

impl<'a> Groups<'a> {
    fn of(sim: &'a Metrics, real: &'a Metrics) -> Groups<'a> {
        let mut groups = BTreeMap::new();
        for group in &sim.groups {
            groups.insert(&*group.name, [Some(&group.activity), None]);
        }
        for group in &real.groups {
            if let Some(both) = groups.get_mut(&*group.name) {
                both[1] = Some(&group.activity);
            }
        }
        Groups(groups)
    }

    fn sum(&self, part: impl Fn(&Activity) -> f64) -> Both {
        let world = |world: usize| {
            let activities = self.0.values().filter_map(|both| both[world]);
            activities.map(&part).sum()
        };
        Both {
            sim: world(0),
            real: world(1),
        }
    }

    fn share_points(&self) -> f64 {
        let total = self.sum(|activity| activity.run_ns.0 as f64);
        let share = |activity: Option<&Activity>, total: f64| {
            activity.map_or(0.0, |a| a.run_ns.0 as f64 / total.max(1.0) * 100.0)
        };
        let groups = self.0.values();
        let apart =
            groups.map(|[sim, real]| (share(*sim, total.sim) - share(*real, total.real)).abs());
        apart.fold(0.0, f64::max)
    }

    /// A quantile of run delays: the groups' mean, weighted by the number of waits in the simulator.
    fn delay(&self, quantile: impl Fn(&Distribution) -> f64) -> Both {
        let mut sums = [0.0; 2];
        let mut weights = 0.0;
        for [sim, real] in self.0.values() {
            let delay = |a: &Option<&'a Activity>| a.and_then(|a| a.run_delay_ns.as_deref());
            if let (Some(sim), Some(real)) = (delay(sim), delay(real)) {
                let weight = sim.count as f64;
                weights += weight;
                sums[0] += weight * quantile(sim);
                sums[1] += weight * quantile(real);
            }
        }
        let mean = |sum: f64| if weights > 0.0 { sum / weights } else { 0.0 };
        Both {
            sim: mean(sums[0]),
            real: mean(sums[1]),
        }
    }
}

fn throughput(sim: &Metrics, real: &Metrics) -> Option<Both> {
    let most = real.marks.iter().max_by_key(|mark| mark.count)?;
    let same = sim.marks.iter().find(|mark| mark.name == most.name)?;
    let enough = most.count.max(same.count) >= LEAST_COUNT;
    enough.then_some(Both {
        sim: same.per_second,
        real: most.per_second,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_relative_to_the_kernel_and_small_waits_are_equal() {
        let both = |sim, real| Both { sim, real };
        assert_eq!(both(110.0, 100.0).error_percent(), 10.0);
        assert_eq!(both(0.0, 0.0).error_percent(), 0.0);
        assert_eq!(both(0.0, 90_000.0).wait_error_percent(), 0.0);
        assert_eq!(both(1_000_000.0, 2_000_000.0).wait_error_percent(), -50.0);
    }
}
