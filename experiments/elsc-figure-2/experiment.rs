//! Entries into the recalculation loop.

use crate::elsc::{bars, of_scheduler, pair, KERNELS};
use crate::prelude::*;

pub fn run(lab: &Lab, _: &Paper) -> Result<Findings, Error> {
    let mut findings = Findings::new();
    let mut groups = Vec::new();
    for (kernel, machine) in KERNELS {
        let (stock, elsc) = pair(lab, machine, 20)?;
        findings.ran(&stock);
        findings.ran(&elsc);
        let entries = |outcome: &Outcome| of_scheduler(outcome, |s| s.recalculations as f64);
        groups.push((kernel, entries(&stock), entries(&elsc)));
    }
    let text: Vec<String> = groups
        .iter()
        .map(|(kernel, stock, elsc)| format!("{kernel} {:.1} against {:.1}", elsc.mean(), stock.mean()))
        .collect();
    // A lone yielder is rare with hundreds of threads: the sum over the seeds is what can be compared.
    // Linux recalculates for a lone yielder on SMP kernels only; on UP there is nothing to save.
    let smp = &groups[1..];
    let holds = smp.iter().all(|(_, stock, elsc)| elsc.mean() < 0.5 * stock.mean());
    findings.judge_text("E2", text.join(", "), "", holds);
    findings.exhibit(
        bars("Entries into the recalculation loop, 20 rooms", Unit::Count, &groups).figure(),
        "The paper draws these on a logarithmic scale, without numbers.",
    );
    Ok(findings)
}
