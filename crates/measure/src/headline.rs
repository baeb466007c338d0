//! The numbers a comparison shows first, defined once for every table and figure.

use std::borrow::Cow;

use serde::Serialize;

use crate::{Activity, Distribution, Metrics};

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
    /// Neither: it explains the others.
    Neither,
}

/// The unit of a headline's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum HeadlineUnit {
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Ns,
    /// Events for each second of the run.
    #[serde(rename = "1/s")]
    PerSecond,
    /// A plain number.
    #[serde(rename = "1")]
    Count,
    /// A share from 0 to 1.
    #[serde(rename = "share")]
    Share,
}

/// How a headline gets its value.
#[derive(Clone, Debug)]
enum Source {
    Fixed(fn(&Metrics) -> Option<f64>),
    MarkRate(String),
    MarkP99(String),
    Group(String, fn(&Activity) -> Option<f64>),
}

/// One number of a run worth a line in a comparison.
#[derive(Clone, Debug, Serialize)]
pub struct Headline {
    /// Stable name, for machines: `wakeup_latency_p99_ns`, `mark.message.per_second`.
    pub id: Cow<'static, str>,
    /// Name for people.
    pub label: Cow<'static, str>,
    /// The unit of the values.
    pub unit: HeadlineUnit,
    /// Which way is better.
    pub better: Direction,
    #[serde(skip)]
    source: Source,
}

impl Headline {
    /// All headlines of the given runs, in the order to show them: first the marks of the workloads
    /// in order of appearance, then the headlines that every workload has.
    pub fn all<'a>(runs: impl IntoIterator<Item = &'a Metrics>) -> Vec<Headline> {
        let mut headlines: Vec<Headline> = Vec::new();
        for mark in runs.into_iter().flat_map(|run| &run.marks) {
            let counted = (mark.count > 0).then(|| mark_rate(&mark.name));
            let timed = mark.latency_ns.is_some().then(|| mark_latency(&mark.name));
            for headline in counted.into_iter().chain(timed) {
                if headlines.iter().all(|h| h.id != headline.id) {
                    headlines.push(headline);
                }
            }
        }
        headlines.extend(FIXED.iter().map(fixed));
        headlines
    }

    /// All headlines, and latencies and shares of each group of tasks.
    pub fn with_groups(run: &Metrics) -> Vec<Headline> {
        let groups = run.groups.iter().flat_map(|group| {
            GROUPS
                .iter()
                .map(|&(id, label, unit, better, get)| Headline {
                    id: format!("group.{}.{id}", group.name).into(),
                    label: format!("{}: {label}", group.name).into(),
                    unit,
                    better,
                    source: Source::Group(group.name.to_string(), get),
                })
        });
        Headline::all([run]).into_iter().chain(groups).collect()
    }

    /// The run's value; none if the run does not have it.
    pub fn value(&self, run: &Metrics) -> Option<f64> {
        let mark = |name: &str| run.marks.iter().find(|mark| mark.name == name);
        match &self.source {
            Source::Fixed(get) => get(run),
            Source::MarkRate(name) => mark(name).map(|m| m.per_second),
            Source::Group(name, get) => {
                let mut groups = run.groups.iter();
                get(&groups.find(|group| *group.name == **name)?.activity)
            }
            Source::MarkP99(name) => mark(name)
                .and_then(|m| m.latency_ns)
                .map(|d| d.p99.0 as f64),
        }
    }
}

fn mark_rate(name: &str) -> Headline {
    Headline {
        id: format!("mark.{name}.per_second").into(),
        label: format!("{name} throughput").into(),
        unit: HeadlineUnit::PerSecond,
        better: Direction::Higher,
        source: Source::MarkRate(name.into()),
    }
}

fn mark_latency(name: &str) -> Headline {
    Headline {
        id: format!("mark.{name}.latency_p99_ns").into(),
        label: format!("{name} latency p99").into(),
        unit: HeadlineUnit::Ns,
        better: Direction::Lower,
        source: Source::MarkP99(name.into()),
    }
}

type Row = (
    &'static str,
    &'static str,
    HeadlineUnit,
    Direction,
    fn(&Metrics) -> Option<f64>,
);

fn fixed(&(id, label, unit, better, get): &Row) -> Headline {
    Headline {
        id: id.into(),
        label: label.into(),
        unit,
        better,
        source: Source::Fixed(get),
    }
}

type GroupRow = (
    &'static str,
    &'static str,
    HeadlineUnit,
    Direction,
    fn(&Activity) -> Option<f64>,
);

/// The headlines of a group of tasks.
const GROUPS: &[GroupRow] = {
    use Direction::{Lower, Neither};
    use HeadlineUnit::{Ns, Share};
    &[
        ("cpu_share", "CPU share", Share, Neither, |a| {
            Some(a.cpu_share)
        }),
        (
            "wakeup_latency_p99_ns",
            "wakeup latency p99",
            Ns,
            Lower,
            |a| a.wakeup_latency_ns.as_deref().map(|d| d.p99.0 as f64),
        ),
        ("run_delay_p99_ns", "run delay p99", Ns, Lower, |a| {
            a.run_delay_ns.as_deref().map(|d| d.p99.0 as f64)
        }),
    ]
};

/// The headlines every workload has.
const FIXED: &[Row] = {
    use Direction::{Higher, Lower, Neither};
    use HeadlineUnit::{Count, Ns, Share};
    &[
        ("duration_ns", "Duration", Ns, Lower, |m| {
            Some(m.duration_ns.0 as f64)
        }),
        (
            "wakeup_latency_p50_ns",
            "Wakeup latency p50",
            Ns,
            Lower,
            |m| wakeup(m, |d| d.p50.0),
        ),
        (
            "wakeup_latency_p99_ns",
            "Wakeup latency p99",
            Ns,
            Lower,
            |m| wakeup(m, |d| d.p99.0),
        ),
        (
            "wakeup_latency_max_ns",
            "Wakeup latency max",
            Ns,
            Lower,
            |m| wakeup(m, |d| d.max.0),
        ),
        ("run_delay_p50_ns", "Run delay p50", Ns, Lower, |m| {
            delay(m, |d| d.p50.0)
        }),
        ("run_delay_p99_ns", "Run delay p99", Ns, Lower, |m| {
            delay(m, |d| d.p99.0)
        }),
        ("longest_wait_ns", "Longest wait", Ns, Lower, |m| {
            m.total.longest_wait.map(|w| w.ns.0 as f64)
        }),
        ("jain", "Jain's fairness index", Share, Higher, |m| {
            m.fairness.jain
        }),
        ("cpu_share", "CPU time for tasks", Share, Neither, |m| {
            Some(m.total.cpu_share)
        }),
        (
            "scheduler_share",
            "CPU time for scheduling",
            Share,
            Lower,
            |m| m.scheduler.map(|s| s.share),
        ),
        ("lock_wait_ns", "Run-queue lock wait", Ns, Lower, |m| {
            m.scheduler.map(|s| s.lock_wait_ns.0 as f64)
        }),
        ("schedule_calls", "schedule() calls", Count, Neither, |m| {
            m.scheduler.map(|s| s.calls as f64)
        }),
        (
            "examined_per_call",
            "Tasks examined per call",
            Count,
            Lower,
            |m| m.scheduler.map(|s| s.examined_mean),
        ),
        ("recalculations", "Recalculations", Count, Lower, |m| {
            m.scheduler.map(|s| s.recalculations as f64)
        }),
        (
            "idle_while_runnable_share",
            "Idle while runnable",
            Share,
            Lower,
            |m| Some(m.idle_while_runnable.share),
        ),
        ("nr_switches", "Context switches", Count, Neither, |m| {
            Some(m.total.nr_switches as f64)
        }),
        (
            "nr_involuntary_switches",
            "Preemptions",
            Count,
            Neither,
            |m| Some(m.total.nr_involuntary_switches as f64),
        ),
        ("nr_yields", "Yields", Count, Neither, |m| {
            Some(m.total.nr_yields as f64)
        }),
        ("nr_migrations", "Migrations", Count, Neither, |m| {
            Some(m.total.nr_migrations as f64)
        }),
    ]
};

fn wakeup(run: &Metrics, get: fn(&Distribution) -> u64) -> Option<f64> {
    run.total
        .wakeup_latency_ns
        .as_deref()
        .map(|d| get(d) as f64)
}

fn delay(run: &Metrics, get: fn(&Distribution) -> u64) -> Option<f64> {
    run.total.run_delay_ns.as_deref().map(|d| get(d) as f64)
}
