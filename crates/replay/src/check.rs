//! Compares a replay under the recording's own scheduler with the recording.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use schedlab_measure::{Distribution, Metrics};
use schedlab_recording::Raw;
use schedlab_trace::{Ns, TaskId, TaskInfo};
use serde::Serialize;

use crate::Counts;

/// Allowed relative error of work that is not reproduced to the nanosecond.
const INEXACT_WORK: f64 = 0.05;

/// Allowed error in ns of all CPU time.
const NEGLIGIBLE_NS: f64 = 200_000.0;

/// Allowed relative error of CPU times against the events before missing ones were added.
const RAW_ERROR: f64 = 0.05;

/// Duration and throughput are predicted if at least this share of waits is understood.
const UNDERSTOOD: f64 = 0.9;

/// The unit of a distance.
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
    /// The name of the quantity.
    pub what: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// Its value in the recording.
    pub recorded: f64,
    /// Its value in the replay.
    pub replayed: f64,
    /// Allowed relative difference; `None`: no target.
    pub target: Option<f64>,
}

/// The result of a self-check, worst first. The order matters: without data flow each wakeup is
/// tied to the task that ran, so a recording may meet more targets although less is understood.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Trust {
    /// The causes of waits are unknown: the check says nothing about other schedulers.
    Nothing,
    /// The causes are known, but targets were missed.
    Missed,
    /// All targets were met.
    Met,
}

/// The comparison of a replay under the recording's own scheduler with the recording.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SelfCheck {
    /// The scheduler.
    pub policy: String,
    /// Tasks of the recording.
    pub tasks: u64,
    /// Tasks whose CPU time differs: name, recorded, replayed.
    pub differing: Vec<(String, Ns, Ns)>,
    /// The rebuilt work.
    pub work_ns: Ns,
    /// The share of waits with an understood end. The other waits end as recorded, or by a guess.
    pub understood: f64,
    /// Relative error of CPU time against the kernel's own accounts in the recording; `None`: it
    /// has none.
    pub raw_error: Option<f64>,
    /// The other quantities.
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

    /// The difference relative to the recorded value; for shares, the difference itself.
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
        // A value that cannot be compared (nothing recorded, something replayed) also misses.
        let near = |target: f64| self.relative().abs() <= target;
        self.target.is_some_and(|target| !near(target))
    }
}

impl SelfCheck {
    /// Compares the metrics of a recording and of its replay. `who` maps task ids of the replay to
    /// ids of the recording.
    pub fn new(
        policy: &str,
        counts: Counts,
        recorded: &Metrics,
        raw: Option<(&Raw, &[TaskInfo])>,
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
        // Tasks cut off by the recording's end rest afterwards; these switches have no counterpart.
        let replayed_switches = replayed.total.nr_switches.saturating_sub(counts.cut_off);
        let switches = (recorded.total.nr_switches as f64, replayed_switches as f64);
        use Unit::{Count, Ns as Time, Share};
        // Scheduling costs are charged again and depend on the schedule, so work is then not exact.
        let exact = counts.costs_ns == Ns::ZERO && !counts.ends_by_time;
        let work = if exact { 0.0 } else { INEXACT_WORK };
        let distances = vec![
            Distance::new("span", Time, both(&|m| number(m.duration_ns)), Some(0.03)),
            Distance::new("work", Time, both(&|m| number(m.total.run_ns)), Some(work)),
            Distance::new("context switches", Count, switches, Some(0.15)),
            Distance::new("run delay p50", Time, both(&delay(|d| d.p50)), Some(0.25)),
            Distance::new("run delay p99", Time, both(&delay(|d| d.p99)), Some(0.6)),
            Distance::new("idle", Share, both(&idle_share), None),
        ];
        SelfCheck {
            policy: policy.to_string(),
            tasks: recorded.tasks.len() as u64,
            differing: match exact {
                true => differing(recorded, replayed, who, 0.0),
                false => differing(recorded, replayed, who, INEXACT_WORK),
            },
            work_ns: counts.work_ns,
            understood: counts.understood_share(),
            raw_error: raw.and_then(|(raw, tasks)| raw_error(raw, tasks, replayed, who)),
            distances,
        }
    }

    /// Do the results predict other schedulers?
    pub fn is_understood(&self) -> bool {
        self.understood >= UNDERSTOOD
    }

    /// Is every target met?
    pub fn is_met(&self) -> bool {
        self.differing.is_empty()
            && !self.distances.iter().any(Distance::is_missed)
            && self.raw_error.is_none_or(|error| error <= RAW_ERROR)
    }

    /// The result of the check.
    pub fn trust(&self) -> Trust {
        match (self.is_understood(), self.is_met()) {
            (false, _) => Trust::Nothing,
            (true, false) => Trust::Missed,
            (true, true) => Trust::Met,
        }
    }

    /// The first line of a report: can the replay be trusted, and where not?
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
        if let Some(error) = self.raw_error.filter(|error| *error > RAW_ERROR) {
            let percent = error * 100.0;
            misses.push(format!(
                "CPU time differs by {percent:.0} % from the recording"
            ));
        }
        let checked = match misses.is_empty() {
            true => format!("self-check under {}: all targets met", self.policy),
            false => format!(
                "self-check under {} MISSES: {}",
                self.policy,
                misses.join(", ")
            ),
        };
        match self.is_understood() {
            true => checked,
            false => format!("{}; {checked}", self.not_predicted()),
        }
    }

    /// Why the results do not predict another scheduler.
    fn not_predicted(&self) -> String {
        format!(
            "NOT PREDICTED under other schedulers: duration and throughput, because only {:.0} % of the waits are \
             understood",
            (self.understood * 100.0).floor()
        )
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

/// The error of the replayed CPU times of thread ids against the kernel's accounts, relative to
/// their sum; `None` without accounts.
fn raw_error(
    raw: &Raw,
    tasks: &[TaskInfo],
    replayed: &Metrics,
    who: &[Option<TaskId>],
) -> Option<f64> {
    let pids: BTreeMap<TaskId, u32> = tasks
        .iter()
        .filter_map(|task| Some((task.id, task.pid?)))
        .collect();
    let mut again: BTreeMap<u32, u64> = BTreeMap::new();
    for task in &replayed.tasks {
        let recorded = who.get(task.id.index()).copied().flatten();
        if let Some(&pid) = recorded.and_then(|recorded| pids.get(&recorded)) {
            *again.entry(pid).or_default() += task.activity.run_ns.0;
        }
    }
    let recorded: BTreeMap<u32, u64> = raw.run_ns.iter().map(|(p, ns)| (p.0, ns.0)).collect();
    let all: u64 = recorded.values().sum();
    let pids: BTreeSet<u32> = recorded.keys().chain(again.keys()).copied().collect();
    let of = |times: &BTreeMap<u32, u64>, pid| times.get(&pid).copied().unwrap_or(0);
    let off = pids
        .iter()
        .map(|&pid| of(&recorded, pid).abs_diff(of(&again, pid)));
    (raw.accounted && all > 0).then(|| off.sum::<u64>() as f64 / 2.0 / all as f64)
}

/// Tasks whose CPU time differs from the recorded one by more than `tolerance`.
fn differing(
    recorded: &Metrics,
    replayed: &Metrics,
    who: &[Option<TaskId>],
    tolerance: f64,
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
        let off = was.0.abs_diff(is.0) as f64;
        // Less than the time of some switches is negligible.
        let differs = off > was.0 as f64 * tolerance && (tolerance == 0.0 || off > NEGLIGIBLE_NS);
        differs.then(|| (task.name.clone(), was, is))
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
            understood: 1.0,
            raw_error: Some(0.01),
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

    /// A replay that ties each wakeup to the running task reproduces the recording and predicts
    /// nothing.
    #[test]
    fn what_is_not_understood_is_not_predicted() {
        let check = SelfCheck {
            policy: "eevdf".into(),
            tasks: 3,
            differing: vec![],
            work_ns: Ns(5),
            understood: 0.127,
            raw_error: None,
            distances: vec![distance(2e6, 2e6, Some(0.03))],
        };
        assert!(check.is_met() && check.trust() == Trust::Nothing);
        assert_eq!(
            check.verdict(),
            "NOT PREDICTED under other schedulers: duration and throughput, because only 12 % of the waits are understood; \
             self-check under eevdf: all targets met"
        );
    }

    #[test]
    fn cpu_time_is_compared_with_what_was_recorded_before_it_was_mended() {
        let check = SelfCheck {
            policy: "eevdf".into(),
            tasks: 3,
            differing: vec![],
            work_ns: Ns(5),
            understood: 1.0,
            raw_error: Some(0.24),
            distances: vec![],
        };
        let verdict = "self-check under eevdf MISSES: CPU time differs by 24 % from the recording";
        assert_eq!(check.verdict(), verdict);
    }
}
