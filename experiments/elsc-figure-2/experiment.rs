//! Entries into the recalculation loop.

use crate::elsc::{bars, of_scheduler, pair_of, volanomark, ELSC, KERNELS, STOCK};
use crate::prelude::*;

pub fn run(lab: &Lab, _: &Paper) -> Result<Findings, Error> {
    let mut findings = Findings::new();
    let mut groups = Vec::new();
    for (kernel, machine) in KERNELS {
        let cases = [STOCK, ELSC].map(|policy| volanomark(lab, policy, machine, 20));
        let (stock, elsc) = pair_of(lab, cases)?;
        findings.ran(&stock);
        findings.ran(&elsc);
        let entries = |outcome: &CaseResult| of_scheduler(outcome, |s| s.recalculations as f64);
        groups.push((kernel, entries(&stock), entries(&elsc)));
    }
    let text: Vec<String> = groups
        .iter()
        .map(|(kernel, stock, elsc)| {
            format!("{kernel} {:.1} against {:.1}", elsc.mean(), stock.mean())
        })
        .collect();
    // Linux recalculates for a lone yielder on SMP kernels only; on UP there is nothing to save.  On 1P it does so
    // twice in a run, a number too small to divide by: the SMP kernels are judged together.
    let smp = &groups[1..];
    let (stock, elsc) = smp.iter().fold((0.0, 0.0), |(s, e), (_, stock, elsc)| {
        (s + stock.mean(), e + elsc.mean())
    });
    let holds = elsc <= 0.1 * stock;
    findings.judge_text("E2", text.join(", "), "", holds);
    if lab.thorough() {
        stock_rule(lab, &mut findings)?;
    }
    findings.exhibit_of(
        bars(
            "Entries into the recalculation loop, 20 rooms",
            Unit::Count,
            &groups,
        )
        .figure(),
        "The paper draws these on a logarithmic scale, without numbers.",
        &["E2"],
        |command| !command.contains("--set"),
    );
    Ok(findings)
}

/// ELSC with stock's rule for a yield without another task, and stock with that of 2.4.
fn stock_rule(lab: &Lab, findings: &mut Findings) -> Result<(), Error> {
    let run = |policy: &str| volanomark(lab, policy, "netfinity-7000-4p", 20);
    let changes = [
        (run(ELSC).set("yield_recalculates", 1), "ELSC with yield_recalculates=1, 4P", "entries, if a yielder alone in its list renews every counter: ELSC looks at one list only, so that is often"),
        (run(STOCK).set("goodness_sees_yield", 1), "stock with goodness_sees_yield=1, 4P", "entries, with 2.4's rule: a yielder counts as -1, not as exhausted"),
    ];
    for (case, change, lesson) in changes {
        let outcome = lab.run(&[case])?.remove(0);
        findings.ran(&outcome);
        let entries = of_scheduler(&outcome, |s| s.recalculations as f64);
        findings.ablation("E2", change, &entries, Unit::Count, lesson);
    }
    Ok(())
}
