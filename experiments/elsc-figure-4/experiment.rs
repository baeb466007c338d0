//! How throughput scales from 5 to 20 rooms.

use crate::elsc::{bars, of_scheduler, pair, volanomark, ELSC, KERNELS, STOCK};
use crate::prelude::*;

pub fn run(lab: &Lab, _: &Paper) -> Result<Findings, Error> {
    let mut findings = Findings::new();
    let mut groups = Vec::new();
    for (kernel, machine) in KERNELS {
        let (stock_5, elsc_5) = pair(lab, machine, 5)?;
        let (stock_20, elsc_20) = pair(lab, machine, 20)?;
        for outcome in [&stock_5, &elsc_5, &stock_20, &elsc_20] {
            findings.ran(outcome);
        }
        let scaling = |twenty: &CaseResult, five: &CaseResult| {
            twenty
                .throughput("message")
                .over(&five.throughput("message"))
        };
        groups.push((
            kernel,
            scaling(&stock_20, &stock_5),
            scaling(&elsc_20, &elsc_5),
        ));
    }
    let text: Vec<String> = groups
        .iter()
        .map(|(kernel, stock, elsc)| {
            format!(
                "{kernel} {:.2} against {:.2}",
                elsc.median(),
                stock.median()
            )
        })
        .collect();
    let holds = groups
        .iter()
        .all(|(_, stock, elsc)| elsc.min() > stock.max());
    findings.judge_text("E3", text.join(", "), "", holds);
    findings.exhibit_of(
        bars("20-room throughput / 5-room throughput", Unit::Plain, &groups).figure(),
        "1 would be perfect scaling. The paper draws the same bars without numbers: ELSC's are higher in all four.",
        &["E3"],
        |_| true,
    );
    if lab.thorough() {
        ablations(lab, &mut findings)?;
    }
    decline(lab, &mut findings)?;
    Ok(findings)
}

/// ELSC's scaling on 4P without its search limit, and with stock's rule for lone yielders.
fn ablations(lab: &Lab, findings: &mut Findings) -> Result<(), Error> {
    let machine = "netfinity-7000-4p";
    let changes = [
        (
            "search_limit",
            1_000_000,
            "without the limit it looks at a whole list, still only one",
        ),
        (
            "yield_recalculates",
            1,
            "a lone yielder renews every counter, as in stock",
        ),
    ];
    for (name, value, lesson) in changes {
        let cases = [5, 20].map(|rooms| volanomark(lab, ELSC, machine, rooms).set(name, value));
        let done = lab.run(&cases)?;
        done.iter().for_each(|outcome| findings.ran(outcome));
        let scaling = done[1]
            .throughput("message")
            .over(&done[0].throughput("message"));
        findings.ablation(
            "E3",
            &format!("{name}={value} on 4P"),
            &scaling,
            Unit::Plain,
            lesson,
        );
    }
    Ok(())
}

/// IBM's observation on stock, quoted by the paper: 25 rooms against 5.
fn decline(lab: &Lab, findings: &mut Findings) -> Result<(), Error> {
    let cases = [5, 25].map(|rooms| volanomark(lab, STOCK, "netfinity-7000-4p", rooms));
    let done = lab.run(&cases)?;
    done.iter().for_each(|outcome| findings.ran(outcome));
    let loss = done[1]
        .throughput("message")
        .over(&done[0].throughput("message"))
        .map(|x| 1.0 - x);
    let share = |outcome: &CaseResult| of_scheduler(outcome, |s| s.share);
    let (five, twenty_five) = (share(&done[0]), share(&done[1]));
    let holds = loss.min() > 0.12 && loss.max() < 0.36 && twenty_five.min() > five.max();
    findings.judge_text(
        "E8",
        format!(
            "{:.0} % below; scheduler {:.0} to {:.0} % of CPU time",
            100.0 * loss.median(),
            100.0 * five.median(),
            100.0 * twenty_five.median()
        ),
        "",
        holds,
    );
    Ok(())
}
