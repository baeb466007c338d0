//! Two hogs on two cores of two logical CPUs each.

use crate::prelude::*;

const MACHINE: &str = "dual-xeon-ht";
/// CPU time of a hog alone on a core, in s.
const WORK: f64 = 10.0;

/// A hog that forks another, and the work of each.
fn case(policy: &str) -> Case {
    let text = format!(
        "[task.child]\ncount = 0\nprogram = \"run {WORK}s\"\n\n[task.hog]\nprogram = \"\"\"\nfork child\nrun {WORK}s\nwait-child\n\"\"\"\n"
    );
    Case::text(policy, MACHINE, "ule-smt-two-hogs", text)
}

pub fn run(lab: &Lab, _: &Paper) -> Result<Findings, Error> {
    let mut findings = Findings::new();
    let changes = [
        (case("ule").set("smt_one_kseq", 1), ""),
        (case("ule"), "the default of then, all logical CPUs are equal: the first idle one happens to be the other core, as CPUs are numbered here"),
        (case("ule").set("smt_one_kseq", 1).set("handoff", 4), "hand-off of September 2004: core by core, but a core takes as many threads as it has CPUs"),
        (case("ule").set("handoff", 5), "hand-off of December 2005: as soon as a CPU has more than one thread, idle cores first"),
        (case("ule14"), "ULE of FreeBSD 14: the child stays, as the load is no worse by more than one; the idle sibling steals it first, and balancing moves nobody from a CPU that has one thread"),
        (case("o1:2.5.73"), "Linux 2.5.73: the idle CPU that looks first, here the other core"),
    ];
    let cases: Vec<Case> = changes.iter().map(|(case, _)| case.clone()).collect();
    let done = lab.run(&cases)?;
    let mut bars = Vec::new();
    for (outcome, (case, lesson)) in done.iter().zip(&changes) {
        findings.ran(outcome);
        let seconds = outcome.seconds();
        let change = crate::ule::change(case);
        bars.push(bar(&change, bars.len(), seconds.median()));
        match lesson.is_empty() {
            true => findings.judge(
                "C42",
                &seconds.map(|s| s * 1e9),
                Unit::Time,
                seconds.max() < 1.1 * WORK,
            ),
            false => findings.ablation(
                "C42",
                &change,
                &seconds.map(|s| s * 1e9),
                Unit::Time,
                lesson,
            ),
        }
    }
    let group = BarGroup {
        name: "two hogs".to_string(),
        bars,
    };
    let bars = Bars {
        title: "Two hogs of 10 s on two cores of two logical CPUs: time until both are done"
            .to_string(),
        unit: Unit::Time,
        width: schedlab_report::svg::WIDTH,
        groups: vec![group],
    };
    findings.exhibit_of(
        bars.figure(),
        "10 s if each has a core to itself, 16.7 s if they share one all the time.",
        &["C42"],
        |_| true,
    );
    Ok(findings)
}

fn bar(name: &str, style: usize, seconds: f64) -> Bar {
    Bar {
        name: name.to_string(),
        style: Style::Series(style),
        value: seconds * 1e9,
        interval: None,
    }
}
