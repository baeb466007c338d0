//! How nine hogs of different nice share a CPU.

use std::sync::Arc;

use crate::prelude::*;
use crate::ule::{self, BSD4, LINUX, MACHINE, NICE, SCHEDULERS, SOLARIS, ULE};

/// Durations of the sweep, in s; the middle one is shown.
const DURATIONS: [u64; 3] = [30, 60, 180];
const SHOWN: usize = 1;

fn case(policy: &str, seconds: u64) -> Case {
    let nice = NICE.map(|n| n.to_string()).join(",");
    ule::from_shell(Case::new(policy, MACHINE, &format!("hogs --nice={nice}")).seconds(seconds))
}

/// The share of each hog, in the order of nice.
fn shares(outcome: &CaseResult) -> Vec<f64> {
    NICE.iter()
        .map(|nice| outcome.share(&format!("hog-nice{nice}")).median())
        .collect()
}

pub fn run(lab: &Lab, _: &Paper) -> Result<Findings, Error> {
    let mut findings = Findings::new();
    let mut by_policy = Vec::new();
    for (_, policy) in SCHEDULERS {
        by_policy.push(lab.run(&DURATIONS.map(|seconds| case(policy, seconds)))?);
    }
    by_policy
        .iter()
        .flatten()
        .for_each(|outcome| findings.ran(outcome));
    let of = |i: usize, duration: usize| shares(&by_policy[i][duration]);
    bias(&mut findings, "C7", &of(BSD4, 2));
    bias(&mut findings, "C8", &of(SOLARIS, 2));
    evenness(&mut findings, |i| of(i, 2));
    cutoffs(lab, &mut findings, |i| of(i, 2))?;
    past_the_window(lab, &mut findings, &by_policy[ULE])?;
    let shown = SCHEDULERS.map(|(_, policy)| case(policy, DURATIONS[SHOWN]).command());
    findings.exhibit_of(
        figure(|i| of(i, SHOWN)),
        "Share of the CPU against nice, 60 s. The paper's statements: the two older schedulers favour nice -20 out of proportion, ULE and Linux are even, \
         only Linux gives CPU time to all.",
        &["C7", "C8", "C9", "C10", "C11", "C12"],
        |command| shown.iter().any(|own| own == command),
    );
    findings.table(table(&by_policy));
    Ok(findings)
}

/// The ratio of each hog's share to its neighbour's, where both get CPU time.
fn steps(shares: &[f64]) -> Vec<f64> {
    shares
        .windows(2)
        .take_while(|w| w[1] > 0.01)
        .map(|w| w[0] / w[1])
        .collect()
}

fn percent(shares: &[f64]) -> String {
    let texts: Vec<String> = shares.iter().map(|s| format!("{:.1}", 100.0 * s)).collect();
    format!("{} %", texts.join("/"))
}

/// C7 and C8: nice -20 against -15, beside the next steps.
fn bias(findings: &mut Findings, id: &str, shares: &[f64]) {
    let steps = steps(shares);
    let next = steps[1..3.min(steps.len())]
        .iter()
        .copied()
        .fold(0.0, f64::max);
    findings.judge_text(
        id,
        format!(
            "{} (180 s): -20 gets {:.1} times as much as -15, the next steps are at most {next:.1}",
            percent(shares),
            steps[0]
        ),
        "",
        steps[0] > 1.3 * next,
    );
}

/// C9: the fit of a straight line to the shares above zero.
fn evenness(findings: &mut Findings, of: impl Fn(usize) -> Vec<f64>) {
    let fits: Vec<f64> = (0..SCHEDULERS.len())
        .map(|i| straightness(&of(i)))
        .collect();
    let texts: Vec<String> = SCHEDULERS
        .iter()
        .zip(&fits)
        .map(|((name, _), fit)| format!("{name} {fit:.3}"))
        .collect();
    let new = fits[ULE].min(fits[LINUX]);
    let holds = new > 0.95 && new > fits[BSD4].max(fits[SOLARIS]) + 0.05;
    findings.judge_text(
        "C9",
        format!("R² of a straight line: {}", texts.join(", ")),
        "",
        holds,
    );
}

/// R² of share against nice over hogs with more than 1 %.
fn straightness(shares: &[f64]) -> f64 {
    let points: Vec<(f64, f64)> = NICE
        .iter()
        .zip(shares)
        .filter(|(_, s)| **s > 0.01)
        .map(|(n, s)| (f64::from(*n), *s))
        .collect();
    let n = points.len() as f64;
    let (mx, my) = (
        points.iter().map(|p| p.0).sum::<f64>() / n,
        points.iter().map(|p| p.1).sum::<f64>() / n,
    );
    let sum = |f: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(f).sum::<f64>();
    let (xy, xx, yy) = (
        sum(&|p| (p.0 - mx) * (p.1 - my)),
        sum(&|p| (p.0 - mx) * (p.0 - mx)),
        sum(&|p| (p.1 - my) * (p.1 - my)),
    );
    xy * xy / (xx * yy)
}

/// C10 and C11.
fn cutoffs(
    lab: &Lab,
    findings: &mut Findings,
    of: impl Fn(usize) -> Vec<f64>,
) -> Result<(), Error> {
    let worst = |i: usize| of(i)[NICE.len() - 1];
    findings.judge(
        "C10",
        &worst(LINUX).into(),
        Unit::Share,
        worst(LINUX) > 0.002,
    );
    let others = [BSD4, SOLARIS, ULE];
    let starved = |i: usize| {
        let first = of(i).iter().position(|s| *s < 0.005);
        let from = first.map_or("nobody".to_string(), |at| {
            format!("nice {} and up", NICE[at])
        });
        format!(
            "{} {from} ({:.2} % at 19)",
            SCHEDULERS[i].0,
            100.0 * worst(i)
        )
    };
    let holds = others.iter().all(|i| worst(*i) < 0.005);
    findings.judge_text(
        "C11",
        format!("below 0.5 % in 180 s: {}", others.map(starved).join(", ")),
        "",
        holds,
    );
    let variants = [
        (case("bsd4:4.x", 180), "the weights of FreeBSD 4, which the paper's text describes: from nice 5 on, and nearly from -15 on, nobody runs"),
        (case("bsd4", 180).set("ppq", 2), "run queues of two priorities in place of four: nice 19 no longer shares the last queue of nice -20's hog"),
        (case("bsd43", 180), "4.3BSD, which the others come from"),
    ];
    for (case, lesson) in variants {
        let outcome = &lab.run(std::slice::from_ref(&case))?[0];
        findings.ran(outcome);
        let set = case
            .set
            .iter()
            .map(|(name, value)| format!(" {name}={value}"))
            .collect::<String>();
        let share = shares(outcome)[NICE.len() - 1];
        findings.ablation(
            "C11",
            &format!("{}{set}", case.policy),
            &share.into(),
            Unit::Share,
            lesson,
        );
    }
    Ok(())
}

/// C12: the hogs of ULE that have no slice.
fn past_the_window(
    lab: &Lab,
    findings: &mut Findings,
    by_duration: &[Arc<CaseResult>],
) -> Result<(), Error> {
    let past = |outcome: &CaseResult| {
        let all = shares(outcome);
        all[4..].iter().sum::<f64>() / all[4..].len() as f64
    };
    let means: Vec<f64> = by_duration.iter().map(|o| past(o)).collect();
    let texts: Vec<String> = DURATIONS
        .iter()
        .zip(&means)
        .map(|(d, m)| format!("{:.2} % in {d} s", 100.0 * m))
        .collect();
    let holds = means.iter().all(|m| *m > 0.0 && *m < 0.01) && means.is_sorted_by(|a, b| a > b);
    findings.judge_text(
        "C12",
        format!("nice 0 to 19, each: {}", texts.join(", ")),
        "",
        holds,
    );
    let case = case("ule", 60).set("initial_slptime_ms", 0);
    let outcome = &lab.run(&[case])?[0];
    findings.ran(outcome);
    findings.ablation(
        "C12",
        "initial_slptime_ms=0, hogs that inherit no sleep from a shell (60 s)",
        &past(outcome).into(),
        Unit::Share,
        "what remains is each one's first slice: the cause here is how hogs start, not the paper's slice after the others' exit, which would add at most 140 ms",
    );
    Ok(())
}

fn figure(of: impl Fn(usize) -> Vec<f64>) -> schedlab_report::svg::Figure {
    let mut plot = Plot::new(
        "CPU time of nine hogs by nice, 60 s",
        Axis::linear("nice", Unit::Count, -20.0, 20.0),
        Axis::linear("share of the CPU", Unit::Share, 0.0, 0.65),
    );
    let line = |i: usize| Series {
        name: SCHEDULERS[i].0.to_string(),
        style: Style::Series(i),
        points: NICE
            .iter()
            .zip(of(i))
            .map(|(n, s)| (f64::from(*n), s))
            .collect(),
    };
    plot.lines(&[0, 1, 2, 3].map(line));
    plot.finish()
}

fn table(by_policy: &[Vec<Arc<CaseResult>>]) -> Table {
    let rows = by_policy.iter().zip(SCHEDULERS).enumerate().flat_map(
        |(contest, (outcomes, (name, _)))| {
            outcomes
                .iter()
                .zip(DURATIONS)
                .map(move |(outcome, seconds)| Subject {
                    labels: vec![name.to_string(), format!("{seconds} s")],
                    contest,
                    cells: shares(outcome).into_iter().map(Cell::number).collect(),
                })
        },
    );
    Table {
        title: "Shares by nice and duration".to_string(),
        stubs: vec!["scheduler".to_string(), "run".to_string()],
        fields: NICE.iter().map(|n| Field::new(n.to_string(), Unit::Share)).collect(),
        subjects: rows.collect(),
        layout: Layout::FieldsAsColumns,
        notes: vec!["The paper does not say how long it measured; 4BSD's shares in the first minute are those of a load average that is still rising.".to_string()],
    }
}
