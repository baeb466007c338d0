//! A token passed round.

use crate::attack::{figure, Attack, MACHINE};
use crate::classic::{longest_wait, run as run_all, STOCK};
use crate::prelude::*;

const RING: Attack = Attack {
    name: "ring",
    tasks: 16,
    prone: "K12",
    fair: "K13",
};

/// Tasks in the ring and what each does with the token: the program's are not known.
const SWEEP: [(u32, &str); 4] = [(4, "100us"), (64, "100us"), (16, "10us"), (16, "1ms")];

pub fn run(lab: &Lab, _: &Paper) -> Result<Findings, Error> {
    let mut findings = Findings::new();
    let done = RING.run(lab, &mut findings)?;
    findings.exhibit(
        figure("How long a hog waits beside a ring of 16", &done),
        "The longest wait of the hog in 60 s.  Equal treatment in slices of 100 ms would be 1.9 s.",
    );
    for (tasks, work) in lab.pick(&SWEEP[..], &[]) {
        let name = format!("ring-{tasks}-{work}");
        let case = |policy| Case::text(policy, MACHINE, &name, ring(*tasks, work)).seconds(30);
        let done = run_all(lab, &mut findings, &[case(STOCK), case("cfs")])?;
        for (outcome, id) in done.iter().zip([RING.prone, RING.fair]) {
            let change = format!("{tasks} tasks, {work} each, {}", outcome.case.policy);
            let wait = outcome.each(|m| longest_wait(m, "hog"));
            let lesson = format!(
                "the hog's longest wait; its share is {}",
                Unit::Share.show(outcome.share("hog").median())
            );
            findings.ablation(id, &change, &wait, Unit::Time, &lesson);
        }
    }
    let ablated = Case::new(STOCK, MACHINE, RING.name).set("prio_bonus_ratio", 0);
    let done = run_all(lab, &mut findings, &[ablated])?;
    let lesson = format!(
        "the hog's longest wait; its share is {}",
        Unit::Share.show(done[0].share("hog").median())
    );
    let wait = done[0].each(|m| longest_wait(m, "hog"));
    findings.ablation(
        RING.prone,
        "prio_bonus_ratio=0, no interactivity estimator",
        &wait,
        Unit::Time,
        &lesson,
    );
    Ok(findings)
}

/// A ring and a hog.
fn ring(tasks: u32, work: &str) -> String {
    format!(
        "duration = \"60s\"\n\n[semaphore.seat]\ncount = {tasks}\n\n[task.first]\nbackground = true\nprogram = \"post seat.0\"\n\n\
         [task.ring]\ncount = {tasks}\nprogram = \"\"\"\nforever\n  wait-sem seat.{{i}}\n  run {work}\n  post seat.{{(i + 1) % n}}\nend\n\"\"\"\n\n\
         [task.hog]\nprogram = \"\"\"\nforever\n  run 1s\nend\n\"\"\"\n"
    )
}
