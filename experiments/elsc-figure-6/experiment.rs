//! Calls of schedule(), and tasks chosen on another CPU than their last.

use crate::elsc::{bars, of_scheduler, pair, volanomark, ELSC, KERNELS};
use crate::prelude::*;

pub fn run(lab: &Lab, _: &Paper) -> Result<Findings, Error> {
    let mut findings = Findings::new();
    let (mut calls, mut moved) = (Vec::new(), Vec::new());
    for (kernel, machine) in KERNELS {
        let (stock, elsc) = pair(lab, machine, 10)?;
        findings.ran(&stock);
        findings.ran(&elsc);
        let entries = |o: &Outcome| of_scheduler(o, |s| s.calls as f64);
        let migrations = |o: &Outcome| o.each(|m| m.total.nr_migrations as f64);
        calls.push((kernel, entries(&stock), entries(&elsc)));
        moved.push((kernel, migrations(&stock), migrations(&elsc)));
    }
    judge(&mut findings, "E6", &calls);
    judge(&mut findings, "E7", &moved);
    let newer = volanomark(lab, "linux24:2.4.16", "netfinity-7000-4p", 10);
    let elsc = volanomark(lab, ELSC, "netfinity-7000-4p", 10);
    let done = lab.run(&[newer, elsc])?;
    findings.ran(&done[0]);
    let ratio = of_scheduler(&done[1], |s| s.calls as f64)
        .over(&of_scheduler(&done[0], |s| s.calls as f64));
    findings.ablation(
        "E6",
        "the stock scheduler of 2.4.16 on 4P",
        &ratio,
        Unit::Plain,
        "calls of ELSC as a multiple of stock's",
    );
    findings.exhibit(
        bars("Calls of schedule(), 10 rooms", Unit::Count, &calls).figure(),
        "The paper's first chart, without numbers: more under ELSC on 2P and 4P.",
    );
    findings.exhibit(
        bars("Tasks chosen on another CPU, 10 rooms", Unit::Count, &moved).figure(),
        "The paper's second chart, without numbers: more under ELSC.",
    );
    Ok(findings)
}

/// Is it more under ELSC on both machines with several CPUs?
fn judge(findings: &mut Findings, id: &str, groups: &[(&str, Sample, Sample)]) {
    let smp = &groups[2..];
    let holds = smp.iter().all(|(_, stock, elsc)| elsc.min() > stock.max());
    let text: Vec<String> = smp
        .iter()
        .map(|(kernel, stock, elsc)| format!("{kernel} {:.2} times stock's", elsc.over(stock).median()))
        .collect();
    findings.judge_text(id, text.join(", "), "", holds);
}
