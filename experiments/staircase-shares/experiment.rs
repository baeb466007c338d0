//! nice, and hogs beside sleepers.

use crate::prelude::*;
use crate::staircase::Mode;
use crate::staircase::{INT0, INT1, MACHINE, MODES};

const MIXED: &str = "[task.hog]\ncount = 2\nprogram = \"forever\\n  run 1s\\nend\"\n\
                     [task.sleeper]\ncount = 2\nprogram = \"forever\\n  run exp(20ms)\\n  sleep exp(10ms)\\nend\"\n";

pub fn run(lab: &Lab, _: &Paper) -> Result<Findings, Error> {
    let mut findings = Findings::new();
    let (_, staircase, _) = MODES[INT1];
    let nice = lab.run(&[Trial::new(staircase, MACHINE, "hogs --nice 0,19")])?;
    findings.ran(&nice[0]);
    let ratio = nice[0]
        .share("hog-nice0")
        .over(&nice[0].share("hog-nice19"));
    let holds = (18.5..20.5).contains(&ratio.median());
    findings.judge("S9", &ratio, Unit::Plain, holds);
    let trial = |mode: usize| {
        let (_, policy, set) = MODES[mode];
        let trial = Trial::text(policy, MACHINE, "hogs-and-sleepers", MIXED);
        let trial = trial.seconds(60).seeds(10);
        set.iter()
            .fold(trial, |trial, (name, value)| trial.set(name, *value))
    };
    let done = lab.run(&[0, INT0, INT1].map(trial))?;
    done.iter().for_each(|outcome| findings.ran(outcome));
    let shares: Vec<Sample> = done.iter().map(|outcome| outcome.share("hog")).collect();
    let spread = |s: &Sample| s.sd() / s.mean();
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
    Ok(findings)
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
