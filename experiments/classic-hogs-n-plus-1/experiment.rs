//! One hog more than there are CPUs.

use crate::classic::{least_over_most, of, run as run_all, table, under_all};
use crate::prelude::*;

const CPUS: [u32; 3] = [2, 4, 8];

fn case(policy: &str, cpus: u32) -> Case {
    let workload = format!("hogs --count {}", cpus + 1);
    Case::new(policy, &format!("ideal-{cpus}"), &workload).seconds(300)
}

pub fn run(lab: &Lab, _: &Paper) -> Result<Findings, Error> {
    let mut findings = Findings::new();
    let mut by_cpus = Vec::new();
    for cpus in CPUS {
        by_cpus.push(under_all(lab, &mut findings, |policy| case(policy, cpus))?);
    }
    let four = &by_cpus[1];
    let ratio = |policy: &str| of(four, policy).each(least_over_most);
    let ule = ratio("ule14");
    findings.judge("K14", &ule, Unit::Plain, ule.max() < 0.55);
    let bsd = ratio("bsd4");
    findings.judge("K15", &bsd, Unit::Plain, bsd.min() > 0.9);
    ablations(lab, &mut findings)?;

    let fields = CPUS
        .iter()
        .map(|cpus| Field::new(format!("{} hogs on {cpus} CPUs", cpus + 1), Unit::Plain))
        .collect();
    findings.table(table(
        "CPU time of the hog that got least over that of the one that got most",
        fields,
        four,
        |outcome| {
            let policy = &outcome.case.policy;
            by_cpus
                .iter()
                .map(|done| of(done, policy).each(least_over_most).cell())
                .collect()
        },
    ));
    Ok(findings)
}

fn ablations(lab: &Lab, findings: &mut Findings) -> Result<(), Error> {
    let changes = [
        ("balance=0", case("ule14", 4).set("balance", 0), "without the periodic balancer two hogs share a CPU for ever: this is what was reported"),
        ("balance_interval=1280, ten times as long", case("ule14", 4).set("balance_interval", 1280), "the balancer moves one thread each time it runs"),
        ("ULE of 2003, R0", case("ule:R0", 4), "it pushes half of a difference, and half of one is none"),
        ("Linux 2.6.11", case("o1", 4), "an imbalance of one task is none"),
    ];
    for (change, case, lesson) in changes {
        let done = run_all(lab, findings, &[case])?;
        findings.ablation(
            "K14",
            change,
            &done[0].each(least_over_most),
            Unit::Plain,
            lesson,
        );
    }
    Ok(())
}
