//! The differences between two runs of the same workload.

use std::collections::BTreeMap;

use schedlab_measure::{Activity, Distribution, Metrics};

/// Waits that differ by less count as equal: handling a wakeup costs about this much.
const NEGLIGIBLE_NS: f64 = 100_000.0;

/// The fewest events for a rate.
const LEAST_COUNT: u64 = 20;

/// A figure in both worlds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Both {
    pub sim: f64,
    pub real: f64,
}

impl Both {
    /// The simulator's error, in percent of the kernel's figure.
    pub fn error_percent(self) -> f64 {
        match self.real {
            0.0 if self.sim == 0.0 => 0.0,
            real => (self.sim - real) / real * 100.0,
        }
    }

    /// The same for a wait.
    pub fn wait_error_percent(self) -> f64 {
        match (self.sim - self.real).abs() {
            difference if difference < NEGLIGIBLE_NS => 0.0,
            _ => self.error_percent(),
        }
    }
}

/// A figure in both worlds, and in the simulator with other seeds.
#[derive(Clone, PartialEq, Debug)]
pub struct Figure {
    pub both: Both,
    others: Vec<f64>,
}

impl Figure {
    /// `value` of each simulated run, the first of which is the one to compare, and the kernel's.
    fn of(runs: &[Both]) -> Figure {
        Figure {
            both: runs[0],
            others: runs[1..].iter().map(|run| run.sim).collect(),
        }
    }

    /// Is the kernel's figure within the simulator's range over seeds?
    pub fn by_chance(&self) -> bool {
        let all = || self.others.iter().copied().chain([self.both.sim]);
        let low = all().fold(f64::INFINITY, f64::min);
        let high = all().fold(f64::NEG_INFINITY, f64::max);
        (low..=high).contains(&self.both.real)
    }
}

/// Runs of a workload, side by side.
#[derive(Clone, Debug)]
pub struct Compared {
    /// Each group's share of all tasks' CPU time, in percent.
    pub shares: Vec<Figure>,
    /// Times tasks were switched away from.
    pub switches: Figure,
    /// Waits on a run queue, in ns: of each group, weighted by its number of waits.
    pub delay_p50: Figure,
    /// The same.
    pub delay_p99: Figure,
    /// The most frequent mark, per second; none if there are no marks.
    pub per_second: Option<Figure>,
}

impl Compared {
    /// Compares a simulated run, the first, and others with other seeds, with one in the kernel.
    pub fn of(sims: &[Metrics], real: &Metrics) -> Compared {
        let groups: Vec<Groups> = sims.iter().map(|sim| Groups::of(sim, real)).collect();
        let figure = |of: &dyn Fn(&Groups) -> Both| {
            let runs: Vec<Both> = groups.iter().map(of).collect();
            Figure::of(&runs)
        };
        let rates: Option<Vec<Both>> = sims.iter().map(|sim| throughput(sim, real)).collect();
        Compared {
            shares: (0..groups[0].0.len())
                .map(|group| figure(&|groups| groups.shares()[group]))
                .collect(),
            switches: figure(&|groups| groups.sum(|activity| activity.nr_switches as f64)),
            delay_p50: figure(&|groups| groups.delay(|delay| delay.p50.0 as f64)),
            delay_p99: figure(&|groups| groups.delay(|delay| delay.p99.0 as f64)),
            per_second: rates.map(|runs| Figure::of(&runs)),
        }
    }

    /// The largest difference of a group's share, in percentage points.
    pub fn share_points(&self) -> f64 {
        let apart = self
            .shares
            .iter()
            .map(|share| (share.both.sim - share.both.real).abs());
        apart.fold(0.0, f64::max)
    }

    /// Are the kernel's shares within the simulator's range over seeds?
    pub fn shares_by_chance(&self) -> bool {
        self.shares.iter().all(Figure::by_chance)
    }
}

/// The workload's groups in both worlds; groups that only the kernel has are left out.
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

    /// By group, in percent.
    fn shares(&self) -> Vec<Both> {
        let total = self.sum(|activity| activity.run_ns.0 as f64);
        let share = |activity: Option<&Activity>, total: f64| {
            activity.map_or(0.0, |a| a.run_ns.0 as f64 / total.max(1.0) * 100.0)
        };
        let both = |[sim, real]: &[Option<&Activity>; 2]| Both {
            sim: share(*sim, total.sim),
            real: share(*real, total.real),
        };
        self.0.values().map(both).collect()
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
        let figure = |sims: [f64; 3]| Figure::of(&sims.map(|sim| both(sim, 100.0)));
        assert!(figure([70.0, 80.0, 101.0]).by_chance());
        assert!(!figure([70.0, 80.0, 99.0]).by_chance());
    }
}
