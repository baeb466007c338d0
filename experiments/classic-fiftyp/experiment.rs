//! Tasks that sleep half of their time.

use crate::attack::{figure, Attack, MACHINE};
use crate::classic::{longest_wait, run as run_all, STOCK};
use crate::prelude::*;

const FIFTYP: Attack = Attack {
    name: "fiftyp",
    tasks: 9,
    prone: "K8",
    fair: "K9",
};

pub fn run(lab: &Lab, _: &Paper) -> Result<Findings, Error> {
    let mut findings = Findings::new();
    let done = FIFTYP.run(lab, &mut findings)?;
    findings.exhibit(
        figure("How long a hog waits beside fiftyp", &done),
        "The longest wait of the hog in 60 s.  Equal treatment in slices of 100 ms would be 1.2 s.",
    );
    let stock = || Case::new(STOCK, MACHINE, FIFTYP.name);
    let changes = [
        ("prio_bonus_ratio=0, no interactivity estimator", stock().set("prio_bonus_ratio", 0), "the hog's longest wait when nobody is called interactive"),
        ("Staircase 10.5", Case::new("staircase", MACHINE, FIFTYP.name), "who sleeps is lifted to the top of its stairs, which the hog never reaches: no estimator, and worse"),
        ("Staircase 12", Case::new("staircase:12", MACHINE, FIFTYP.name), "which lifts only who slept as long as it ran"),
    ];
    for (change, case, lesson) in changes {
        let done = run_all(lab, &mut findings, &[case])?;
        findings.ablation(
            "K8",
            change,
            &done[0].each(|m| longest_wait(m, "hog")),
            Unit::Time,
            lesson,
        );
    }
    Ok(findings)
}
