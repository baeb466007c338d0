//! The priority of one program that runs 40 ms and sleeps 50, second by second.

use schedlab_trace::{Event, EventKind, Sink, Time};

use crate::prelude::*;
use crate::ule::{self, largest, mean, seconds, BSD4, LINUX, MACHINE, SCHEDULERS, SOLARIS, ULE};

/// Duration of the paper's run, in s.
const DURATION: usize = 360;

/// "Given enough time": at 49 % Linux gains 0.02 s of its 10 s of sleep a second.
const ENOUGH: u64 = 1800;

/// The priorities that late prints, and every change.
#[derive(Clone, Debug, Default)]
struct Priorities {
    /// Once a second, at the end of a period of work: the time and the priority.
    reports: Vec<(f64, f64)>,
    changes: Vec<(f64, f64)>,
}

impl Sink for Priorities {
    fn event(&mut self, event: &Event) {
        let now = seconds(event.time);
        match event.kind {
            EventKind::Priority { priority, .. } => self.changes.push((now, f64::from(priority))),
            EventKind::Latency { .. } if now >= (self.reports.len() + 1) as f64 => {
                self.reports
                    .push((now, self.changes.last().map_or(0.0, |c| c.1)));
            }
            _ => {}
        }
    }

    fn end(&mut self, time: Time) {
        self.changes
            .push((seconds(time), self.changes.last().map_or(0.0, |c| c.1)));
    }
}

impl Priorities {
    /// The priority every tenth of a second.
    fn tenths(&self) -> Vec<f64> {
        let mut changes = self.changes.iter().peekable();
        let mut now = 0.0;
        let sample = |i: usize| {
            while let Some(change) = changes.next_if(|c| c.0 <= i as f64 / 10.0) {
                now = change.1;
            }
            now
        };
        (0..10 * DURATION).map(sample).collect()
    }

    fn reported(&self) -> Vec<f64> {
        self.reports.iter().map(|r| r.1).collect()
    }
}

fn case(policy: &str, run_ms: u64, sleep_ms: u64) -> Case {
    let workload = format!("late --task app:run={run_ms}ms,sleep={sleep_ms}ms");
    Case::new(policy, MACHINE, &workload).seconds(DURATION as u64)
}

pub fn run(lab: &Lab, _: &Paper) -> Result<Findings, Error> {
    let mut findings = Findings::new();
    let policies = SCHEDULERS.map(|(_, policy)| policy);
    let others = ["bsd43", "ule:R3", "ule:R2", "ule14"];
    let cases: Vec<Case> = policies
        .iter()
        .chain(&others)
        .map(|p| ule::from_shell(case(p, 40, 50)))
        .collect();
    let sinks = ule::observe(lab, &mut findings, &cases, Priorities::default)?;
    let of = |i: usize| &sinks[i][0];
    cycles(&mut findings, of(BSD4), of(SOLARIS), of(SCHEDULERS.len()));
    level(&mut findings, of(ULE), of(SCHEDULERS.len() + 2));
    linux(&mut findings, of(LINUX));
    credit(lab, &mut findings)?;
    for (i, (name, caption, claims)) in CAPTIONS.into_iter().enumerate() {
        let command = cases[i].command();
        findings.exhibit_of(over_minutes(name, i, of(i)), caption, claims, |c| {
            c == command
        });
    }
    let close = [BSD4, SOLARIS].map(|i| cases[i].command());
    findings.exhibit_of(
        closely(of(BSD4), of(SOLARIS)),
        "The same runs looked at ten times a second: 4BSD climbs while the program runs and is thrown back each second by the decay pass; \
         Solaris falls with each quantum used up and is lifted by the update of each second.",
        &["C1", "C2"],
        |c| close.iter().any(|own| own == c),
    );
    either_end(lab, &mut findings)?;
    Ok(findings)
}

const CAPTIONS: [(&str, &str, &[&str]); 4] = [
    ("4BSD", "Lower is better. The paper: cyclic. Sampled at the end of a period of work, as late does, the cycle of a second beats with the period of 90 to 100 ms.", &["C1"]),
    ("Solaris", "Higher is better. The paper: mimics the cycle of 4BSD without a decay pass.", &["C2"]),
    ("Linux 2.5.73", "Lower is better; the dashed line is the best of nice 0. The paper: reaches it after about 60 s.", &["C5"]),
    ("ULE", "Lower is better. The paper: starts at the shell's interactive priority, moves up to a level, stays in a small range.", &["C3", "C4"]),
];

/// C1 and C2.
fn cycles(findings: &mut Findings, bsd4: &Priorities, solaris: &Priorities, bsd43: &Priorities) {
    let (period, strength) = cycle(&bsd4.tenths());
    let swing = swing(&bsd4.tenths());
    findings.judge_text(
        "C1",
        format!("period {period:.1} s (autocorrelation {strength:.2}), swing {swing:.1} points"),
        "",
        (period - 1.0).abs() < 0.05 && strength > 0.5 && (5.0..=9.0).contains(&swing),
    );
    findings.ablation(
        "C1",
        "4.3BSD (bsd43) in place of FreeBSD 5's 4BSD",
        &swing_of(bsd43).into(),
        Unit::Plain,
        "points of swing: 100 ticks a second and 4 to a point make 100 * 0.44 / 4 = 11, where FreeBSD 5's 128 and 8 make 7",
    );
    let (period, strength) = cycle(&solaris.tenths());
    let swing = swing_of(solaris);
    findings.judge_text(
        "C2",
        format!(
            "period {period:.1} s (autocorrelation {strength:.2}), swing {swing:.0} of 60 levels"
        ),
        "",
        (period - 1.0).abs() < 0.05 && strength > 0.5 && swing >= 20.0,
    );
}

fn swing_of(priorities: &Priorities) -> f64 {
    swing(&priorities.tenths())
}

/// C3 and C4.
fn level(findings: &mut Findings, ule: &Priorities, r2: &Priorities) {
    let reported = ule.reported();
    let settled = &reported[reported.len() / 5..];
    let level = mean(settled);
    let start = ule.changes.first().map_or(0.0, |c| c.1);
    let reached = reported
        .iter()
        .position(|p| *p >= level - 1.0)
        .unwrap_or(reported.len());
    let rising = reported[..reached].windows(2).all(|w| w[1] >= w[0] - 1.0);
    findings.judge_text(
        "C3",
        format!("from {start:.0} to {level:.0} in {} s", reached + 1),
        "",
        (160.0..180.0).contains(&start) && level - start >= 10.0 && rising && reached <= 60,
    );
    let (range, slope) = (range(settled), slope(settled));
    findings.judge_text(
        "C4",
        format!("range {range:.0} points around {level:.1}, {slope:+.1} points from the first to the last fifth of it"),
        "",
        range <= 3.0 && slope.abs() <= 1.0,
    );
    let reported = r2.reported();
    findings.ablation(
        "C4",
        "variant R2, which remembers 100 ms",
        &range_of(&reported[reported.len() / 5..]).into(),
        Unit::Plain,
        "points of range in what late prints, always after the same part of its cycle: its memory of 100 ms is one period",
    );
}

fn range_of(values: &[f64]) -> f64 {
    range(values)
}

/// The best priority of nice 0 under Linux.
const BEST: f64 = 115.0;

impl Priorities {
    /// When Linux's best was reached, in s.
    fn best_after(&self) -> f64 {
        self.changes
            .iter()
            .find(|change| change.1 <= BEST)
            .map_or(f64::INFINITY, |change| change.0)
    }
}

/// C5.
fn linux(findings: &mut Findings, priorities: &Priorities) {
    let steadily = priorities.reported().windows(2).all(|w| w[1] <= w[0]);
    let after = priorities.best_after();
    let how = if steadily { "steadily" } else { "not steadily" };
    let text = format!("reaches {BEST:.0} after {after:.0} s, {how}");
    findings.judge_text("C5", text, "", steadily && (45.0..=75.0).contains(&after));
}

/// C5 by the sleep credit the program begins with.
fn credit(lab: &Lab, findings: &mut Findings) -> Result<(), Error> {
    let credits = [0, 3_300, 10_000];
    let cases = credits.map(|ms| case(SCHEDULERS[LINUX].1, 40, 50).set("initial_sleep_avg_ms", ms));
    let sinks = ule::observe(lab, findings, &cases, Priorities::default)?;
    for (ms, runs) in credits.iter().zip(sinks) {
        let after = Sample::from(1e9 * runs[0].best_after());
        let change = format!("initial_sleep_avg_ms={ms}");
        findings.ablation(
            "C5",
            &change,
            &after,
            Unit::Time,
            "until the best priority; 5000 is what a shell passes on",
        );
    }
    Ok(())
}

/// C6: the final priority of a program that runs a given part of every 100 ms.
fn either_end(lab: &Lab, findings: &mut Findings) -> Result<(), Error> {
    let all = [10, 20, 30, 40, 45, 48, 49, 51, 52, 55, 60, 70, 80, 90];
    let percent: &[u64] = lab.pick(&all, &[10, 45, 49, 51, 55, 90]);
    let cases: Vec<Case> = percent
        .iter()
        .map(|p| case(SCHEDULERS[LINUX].1, *p, 100 - p).seconds(ENOUGH))
        .collect();
    let started: Vec<Case> = cases
        .iter()
        .map(|t| t.clone().set("initial_sleep_avg_ms", 10_000))
        .collect();
    let rows =
        [cases, started].map(|cases| ule::observe(lab, findings, &cases, Priorities::default));
    let [low, high] = rows;
    let ends = |sinks: Vec<Vec<Priorities>>| -> Vec<f64> {
        sinks
            .iter()
            .map(|s| s[0].changes.last().map_or(0.0, |c| c.1))
            .collect()
    };
    let (low, high) = (ends(low?), ends(high?));
    let expected = |percent: u64| if percent < 50 { 115.0 } else { 125.0 };
    let right = |ends: &[f64]| {
        percent
            .iter()
            .zip(ends)
            .all(|(p, end)| *end == expected(*p))
    };
    let wrong: Vec<String> = percent
        .iter()
        .zip(low.iter().zip(&high))
        .filter(|(p, (low, high))| **low != expected(**p) || **high != expected(**p))
        .map(|(p, (low, high))| format!("{p} %: {low:.0} and {high:.0}"))
        .collect();
    let text = match wrong.is_empty() {
        true => "115 below 50 % of the CPU, 125 above, whether it starts without sleep or with all"
            .to_string(),
        false => format!("115 below 50 %, 125 above, but for {}", wrong.join(", ")),
    };
    findings.judge_text("C6", text, "", right(&low) && right(&high));
    let points = |ends: &[f64]| {
        percent
            .iter()
            .zip(ends)
            .map(|(p, e)| (*p as f64 / 100.0, *e))
            .collect()
    };
    let mut plot = Plot::new(
        "Linux 2.5.73: priority in the end, by CPU time wanted",
        Axis::linear("part of each 100 ms it runs", Unit::Share, 0.0, 1.0),
        Axis::linear("priority", Unit::Count, 112.0, 128.0),
    );
    let line = |name: &str, style, ends: &[f64]| Series {
        name: name.to_string(),
        style: Style::Series(style),
        points: points(ends),
    };
    plot.lines(&[
        line("starts without sleep", 0, &low),
        line("starts with 10 s of sleep", 1, &high),
    ]);
    let caption = "Lower is better. The paper: the best priority if it runs less than it sleeps, the worst otherwise.";
    findings.exhibit_of(plot.finish(), caption, &["C6"], |command| {
        command.contains("--duration 30min")
    });
    Ok(())
}

/// The lag of the largest autocorrelation between 0.3 and 3 s over the second half, in s, and its value.
fn cycle(tenths: &[f64]) -> (f64, f64) {
    let half = &tenths[tenths.len() / 2..];
    let lags = (3..=30).map(|lag| (lag as f64 / 10.0, autocorrelation(half, lag)));
    // The first of equal peaks: a cycle of one second also repeats every two seconds.
    lags.fold((0.0, f64::NEG_INFINITY), |best, now| {
        if now.1 > best.1 + 0.02 {
            now
        } else {
            best
        }
    })
}

fn autocorrelation(values: &[f64], lag: usize) -> f64 {
    let mean = mean(values);
    let pairs: f64 = values
        .windows(lag + 1)
        .map(|w| (w[0] - mean) * (w[lag] - mean))
        .sum();
    let all: f64 = values.iter().map(|x| (x - mean) * (x - mean)).sum();
    pairs / all
}

/// The mean distance between the best and the worst priority within a second, over the second half.
fn swing(tenths: &[f64]) -> f64 {
    let swings: Vec<f64> = tenths[tenths.len() / 2..].chunks(10).map(range).collect();
    mean(&swings)
}

fn range(values: &[f64]) -> f64 {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    largest(values) - least
}

/// Mean of the last fifth less that of the first.
fn slope(values: &[f64]) -> f64 {
    let fifth = values.len() / 5;
    mean(&values[values.len() - fifth..]) - mean(&values[..fifth])
}

fn over_minutes(name: &str, style: usize, priorities: &Priorities) -> schedlab_report::svg::Figure {
    let values = priorities.reported();
    let (low, high) = (
        values.iter().copied().fold(f64::INFINITY, f64::min),
        largest(&values),
    );
    let start = priorities.changes.first().map_or(low, |c| c.1);
    let mut plot = Plot::new(
        &format!("Priority of one program, 40 of 90 ms: {name}"),
        Axis::linear("time", Unit::Time, 0.0, DURATION as f64 * 1e9),
        Axis::linear(
            "priority",
            Unit::Count,
            low.min(start) - 2.0,
            high.max(start) + 2.0,
        ),
    );
    let mut points = vec![(0.0, start)];
    points.extend(priorities.reports.iter().map(|(t, p)| (t * 1e9, *p)));
    plot.lines(&[Series {
        name: "once a second".to_string(),
        style: Style::Series(style),
        points,
    }]);
    if name.starts_with("Linux") {
        plot.reference(115.0, "best of nice 0");
    }
    plot.finish()
}

/// Ten seconds of the two cyclic schedulers; 4BSD's points are plotted above its best, so that both fit.
fn closely(bsd4: &Priorities, solaris: &Priorities) -> schedlab_report::svg::Figure {
    let mut plot = Plot::new(
        "Ten seconds of it: 4BSD above 160, and Solaris",
        Axis::linear("time", Unit::Time, 200e9, 210e9),
        Axis::linear("priority", Unit::Count, 0.0, 60.0),
    );
    let part = |name: &str, style, p: &Priorities, base: f64| Series {
        name: name.to_string(),
        style: Style::Series(style),
        points: p.tenths()[2000..2100]
            .iter()
            .enumerate()
            .map(|(i, y)| (200e9 + i as f64 * 1e8, y - base))
            .collect(),
    };
    plot.steps(&[
        part("4BSD", BSD4, bsd4, 160.0),
        part("Solaris", SOLARIS, solaris, 0.0),
    ]);
    plot.finish()
}
