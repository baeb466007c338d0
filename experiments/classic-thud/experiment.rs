//! Tasks that collect a bonus for sleep and use it up at once.

use crate::attack::{figure, Attack, MACHINE};
use crate::classic::{longest_wait, run as run_all, STOCK};
use crate::prelude::*;

const THUD: Attack = Attack {
    name: "thud",
    tasks: 5,
    prone: "K10",
    fair: "K11",
};

/// Times the tasks sleep and compute, in s: the program's own are not known.
const SWEEP: [(u32, u32); 4] = [(1, 1), (5, 1), (10, 2), (10, 5)];

pub fn run(lab: &Lab, _: &Paper) -> Result<Findings, Error> {
    let mut findings = Findings::new();
    let done = THUD.run(lab, &mut findings)?;
    findings.exhibit(
        figure("How long a hog waits beside thud", &done),
        "The longest wait of the hog in 60 s.  Equal treatment in slices of 100 ms would be 0.8 s.",
    );
    for (sleep, run) in SWEEP {
        let case = Case::text(
            STOCK,
            MACHINE,
            &format!("thud-{sleep}s-{run}s"),
            thuds(sleep, run),
        );
        let done = run_all(lab, &mut findings, &[case])?;
        let wait = done[0].each(|m| longest_wait(m, "hog"));
        let change = format!("{sleep} s of sleep and {run} s of work each time");
        findings.ablation("K10", &change, &wait, Unit::Time, "the hog's longest wait");
    }
    let stock = Case::new(STOCK, MACHINE, THUD.name).set("prio_bonus_ratio", 0);
    let done = run_all(lab, &mut findings, &[stock])?;
    let wait = done[0].each(|m| longest_wait(m, "hog"));
    findings.ablation(
        "K10",
        "prio_bonus_ratio=0, no interactivity estimator",
        &wait,
        Unit::Time,
        "turns of 100 ms",
    );
    Ok(findings)
}

/// Five thuds and a hog.
fn thuds(sleep: u32, run: u32) -> String {
    format!(
        "duration = \"60s\"\n\n[task.thud]\ncount = 5\nprogram = \"\"\"\nforever\n  sleep {sleep}s\n  run {run}s\nend\n\"\"\"\n\n\
         [task.hog]\nprogram = \"\"\"\nforever\n  run 1s\nend\n\"\"\"\n"
    )
}
