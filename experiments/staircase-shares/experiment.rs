//! nice, and hogs beside sleepers.

use crate::prelude::*;
use crate::staircase::Mode;
use crate::staircase::{INT0, INT1, MACHINE, MODES};

/// Two hogs beside two tasks that run and sleep for these times in ms, on average.
fn mixed(run_ms: u64, sleep_ms: u64) -> String {
    format!(
        "[task.hog]\ncount = 2\nprogram = \"forever\\n  run 1s\\nend\"\n\
         [task.sleeper]\ncount = 2\nprogram = \"forever\\n  run exp({run_ms}ms)\\n  sleep exp({sleep_ms}ms)\\nend\"\n"
    )
}

/// The hogs' share in a mode, beside such tasks, in this number of runs of a minute.
fn hogs(mode: usize, (run_ms, sleep_ms): (u64, u64), seeds: u64) -> Case {
    let (_, policy, set) = MODES[mode];
    let name = format!("hogs-and-sleepers-{run_ms}-{sleep_ms}");
    let case = Case::text(policy, MACHINE, &name, mixed(run_ms, sleep_ms))
        .seconds(60)
        .seeds(seeds);
    set.iter()
        .fold(case, |case, (name, value)| case.set(name, *value))
}

fn spread(shares: &Sample) -> f64 {
    shares.sd() / shares.mean()
}

pub fn run(lab: &Lab, _: &Paper) -> Result<Findings, Error> {
    let mut findings = Findings::new();
    let (_, staircase, _) = MODES[INT1];
    let nice = lab.run(&[Case::new(staircase, MACHINE, "hogs --nice 0,19")])?;
    findings.ran(&nice[0]);
    let ratio = nice[0]
        .share("hog-nice0")
        .over(&nice[0].share("hog-nice19"));
    let holds = (18.5..20.5).contains(&ratio.median());
    findings.judge("S9", &ratio, Unit::Plain, holds);
    let done = lab.run(&[0, INT0, INT1].map(|mode| hogs(mode, (20, 10), 10)))?;
    done.iter().for_each(|outcome| findings.ran(outcome));
    let shares: Vec<Sample> = done.iter().map(|outcome| outcome.share("hog")).collect();
    let stricter = shares[1].mean() > shares[2].mean();
    let holds = stricter && spread(&shares[1]) < spread(&shares[2]);
    let text = format!(
        "hogs get {:.1} % (deviation {:.1} % of that) against {:.1} % ({:.1} %)",
        100.0 * shares[1].mean(),
        100.0 * spread(&shares[1]),
        100.0 * shares[2].mean(),
        100.0 * spread(&shares[2]),
    );
    findings.judge_text("S10", text, "", holds);
    findings.exhibit_of(
        figure(&shares),
        "The share of two hogs beside two sleepers, ten runs; strict would be a half.",
        &["S10"],
        |command| command.contains("hogs-and-sleepers"),
    );
    more_or_others(lab, &mut findings)?;
    Ok(findings)
}

/// The two deviations in more runs, and beside sleepers with other times.
fn more_or_others(lab: &Lab, findings: &mut Findings) -> Result<(), Error> {
    let all = [
        (
            "sleepers of 100 ms of work and of sleep",
            (100, 100),
            lab.pick(20, 10),
        ),
        ("sleepers of 10 ms of work and of sleep", (10, 10), 20),
        ("sleepers of 5 ms of work and 20 of sleep", (5, 20), 20),
        ("forty runs, not ten", (20, 10), 40),
    ];
    for (change, habits, seeds) in &all[..lab.pick(all.len(), 1)] {
        let done = lab.run(&[INT0, INT1].map(|mode| hogs(mode, *habits, *seeds)))?;
        done.iter().for_each(|outcome| findings.ran(outcome));
        let [strict, burst] = [0, 1].map(|i| spread(&done[i].share("hog")));
        let ratio = Sample::from(strict / burst);
        findings.ablation(
            "S10",
            change,
            &ratio,
            Unit::Plain,
            "deviation without bursts over that with them",
        );
    }
    Ok(())
}

fn figure(shares: &[Sample]) -> schedlab_report::svg::Figure {
    let group = |((name, _, _), share): (&Mode, &Sample)| BarGroup {
        name: name.to_string(),
        bars: vec![Bar {
            name: "hogs".to_string(),
            style: Style::Series(0),
            value: share.mean(),
            interval: Some((share.min(), share.max())),
        }],
    };
    Bars {
        title: "CPU time of the hogs".to_string(),
        unit: Unit::Share,
        width: schedlab_report::svg::WIDTH,
        groups: MODES.iter().zip(shares).map(group).collect(),
    }
    .figure()
}
