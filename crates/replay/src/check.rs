//! How far a replay under the recording's own scheduler is from the recording.

use std::fmt;

use schedlab_measure::{Distribution, Metrics};
use schedlab_trace::{Ns, TaskId};
use serde::Serialize;

use crate::Counts;

/// What a distance is measured in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// A plain number.
    Count,
    /// A share from 0 to 1.
    Share,
}

/// A number in the recording and in the replay.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Distance {
    /// What was measured.
    pub what: &'static str,
    /// In what.
    pub unit: Unit,
    /// In the recording.
    pub recorded: f64,
    /// In the replay.
    pub replayed: f64,
    /// How far the replay may be, as a share of the recording; none: there is no target.
    pub target: Option<f64>,
}

/// A replay under the recording's own scheduler compared with the recording.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SelfCheck {
    /// The scheduler.
    pub policy: String,
    /// Tasks of the recording.
    pub tasks: u64,
    /// Tasks with another CPU time in the replay, by name: recorded, replayed.
    pub differing: Vec<(String, Ns, Ns)>,
    /// The work that was rebuilt: all of it is recorded CPU time, and all of it is done again.
    pub work_ns: Ns,
    /// The rest.
    pub distances: Vec<Distance>,
}

impl Distance {
    fn new(what: &'static str, unit: Unit, both: (f64, f64), target: Option<f64>) -> Distance {
        Distance {
            what,
            unit,
            recorded: both.0,
            replayed: both.1,
            target,
        }
    }

    /// The difference as a share of what was recorded; of shares, the difference itself.
    pub fn relative(&self) -> f64 {
        let difference = self.replayed - self.recorded;
        match self.unit {
            Unit::Share => difference,
            _ if difference == 0.0 => 0.0,
            _ => difference / self.recorded,
        }
    }

    /// Is it farther than its target?
    pub fn is_missed(&self) -> bool {
        // What cannot be compared (nothing recorded, something replayed) is missed, too.
        let near = |target: f64| self.relative().abs() <= target;
        self.target.is_some_and(|target| !near(target))
    }
}

impl SelfCheck {
    /// Compares what was measured of a recording and of its replay; `who` has, by task id of the
    /// replay, the id in the recording.
    pub fn new(
        policy: &str,
        counts: Counts,
        recorded: &Metrics,
        replayed: &Metrics,
        who: &[Option<TaskId>],
    ) -> SelfCheck {
        let number = |ns: Ns| ns.0 as f64;
        let both = |get: &dyn Fn(&Metrics) -> f64| (get(recorded), get(replayed));
        let delay = |get: fn(&Distribution) -> Ns| {
            move |m: &Metrics| {
                let delay = m.total.run_delay_ns.as_deref();
                delay.map_or(0.0, |delay| get(delay).0 as f64)
            }
        };
        // Those to rest, where the recording was cut off, are no one's doing.
        let replayed_switches = replayed.total.nr_switches.saturating_sub(counts.cut_off);
        let switches = (recorded.total.nr_switches as f64, replayed_switches as f64);
        use Unit::{Count, Ns as Time, Share};
        let distances = vec![
            Distance::new("span", Time, both(&|m| number(m.duration_ns)), Some(0.03)),
            Distance::new("work", Time, both(&|m| number(m.total.run_ns)), Some(0.0)),
            Distance::new("context switches", Count, switches, Some(0.15)),
            Distance::new("run delay p50", Time, both(&delay(|d| d.p50)), Some(0.25)),
            Distance::new("run delay p99", Time, both(&delay(|d| d.p99)), None),
            Distance::new("idle", Share, both(&idle_share), None),
        ];
        SelfCheck {
            policy: policy.to_string(),
            tasks: recorded.tasks.len() as u64,
            differing: differing(recorded, replayed, who),
            work_ns: counts.work_ns,
            distances,
        }
    }

    /// Is every target met?
    pub fn is_met(&self) -> bool {
        self.differing.is_empty() && !self.distances.iter().any(Distance::is_missed)
    }

    /// The first line of a report: whether the replay can be trusted, and where it cannot.
    pub fn verdict(&self) -> String {
        let missed = self
            .distances
            .iter()
            .filter(|distance| distance.is_missed());
        let mut misses: Vec<String> = missed.map(ToString::to_string).collect();
        if !self.differing.is_empty() {
            let (differ, tasks) = (self.differing.len(), self.tasks);
            misses.insert(0, format!("CPU time of {differ} of {tasks} tasks"));
        }
        match misses.is_empty() {
            true => format!("self-check under {}: all targets met", self.policy),
            false => format!(
                "self-check under {} MISSES: {}",
                self.policy,
                misses.join(", ")
            ),
        }
    }
}

impl fmt::Display for Distance {
    /// "span 1.72 s, recorded 1.71 s (+0.4 %, target 3 %)"
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |value: f64| match self.unit {
            Unit::Ns => Ns(value as u64).to_string(),
            Unit::Count => format!("{value:.0}"),
            Unit::Share => format!("{:.1} %", value * 100.0),
        };
        let (recorded, replayed) = (show(self.recorded), show(self.replayed));
        write!(f, "{} {replayed}, recorded {recorded}", self.what)?;
        let points = match self.unit {
            Unit::Share => "points",
            _ => "%",
        };
        write!(f, " ({:+.1} {points}", self.relative() * 100.0)?;
        match self.target {
            Some(0.0) => write!(f, ", must be equal)"),
            Some(target) => write!(f, ", target {:.0} %)", target * 100.0),
            None => write!(f, ")"),
        }
    }
}

fn idle_share(metrics: &Metrics) -> f64 {
    let idle: u64 = metrics.cpus.iter().map(|cpu| cpu.idle_ns.0).sum();
    let all = metrics.duration_ns.0 * u64::from(metrics.nr_cpus);
    match all {
        0 => 0.0,
        all => idle as f64 / all as f64,
    }
}

/// Tasks with a CPU time that differs from the recorded one, to the nanosecond.
fn differing(
    recorded: &Metrics,
    replayed: &Metrics,
    who: &[Option<TaskId>],
) -> Vec<(String, Ns, Ns)> {
    let most = recorded.tasks.iter().map(|task| task.id.index() + 1).max();
    let mut again = vec![Ns::ZERO; most.unwrap_or(0)];
    for task in &replayed.tasks {
        if let Some(Some(recorded)) = who.get(task.id.index()) {
            again[recorded.index()] += task.activity.run_ns;
        }
    }
    let differ = recorded.tasks.iter().filter_map(|task| {
        let (was, is) = (task.activity.run_ns, again[task.id.index()]);
        (was != is).then(|| (task.name.clone(), was, is))
    });
    differ.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distance(recorded: f64, replayed: f64, target: Option<f64>) -> Distance {
        Distance::new("span", Unit::Ns, (recorded, replayed), target)
    }

    #[test]
    fn a_target_is_a_share_of_what_was_recorded() {
        assert!(!distance(100.0, 103.0, Some(0.03)).is_missed());
        assert!(distance(100.0, 103.1, Some(0.03)).is_missed());
        assert!(distance(100.0, 96.0, Some(0.03)).is_missed());
        assert!(!distance(100.0, 1.0, None).is_missed());
        assert!(!distance(0.0, 0.0, Some(0.0)).is_missed());
        assert!(distance(0.0, 1.0, Some(0.25)).is_missed());
    }

    #[test]
    fn the_verdict_names_what_is_missed() {
        let mut check = SelfCheck {
            policy: "eevdf".into(),
            tasks: 3,
            differing: vec![],
            work_ns: Ns(5),
            distances: vec![distance(2e6, 2e6, Some(0.03))],
        };
        assert_eq!(check.verdict(), "self-check under eevdf: all targets met");
        check.distances.push(distance(2e6, 3e6, Some(0.03)));
        check.differing.push(("a".into(), Ns(1), Ns(2)));
        assert_eq!(
            check.verdict(),
            "self-check under eevdf MISSES: CPU time of 1 of 3 tasks, \
             span 3.00 ms, recorded 2.00 ms (+50.0 %, target 3 %)"
        );
    }
}
