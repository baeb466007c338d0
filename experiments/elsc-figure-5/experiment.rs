//! The cost of schedule(): time, and tasks examined, each call.

use crate::elsc::{bars, of_scheduler, pair, volanomark, ELSC, KERNELS};
use crate::prelude::*;

pub fn run(lab: &Lab, _: &Paper) -> Result<Findings, Error> {
    let mut findings = Findings::new();
    let (mut examined, mut cost) = (Vec::new(), Vec::new());
    for (kernel, machine) in KERNELS {
        let (stock, elsc) = pair(lab, machine, 20)?;
        findings.ran(&stock);
        findings.ran(&elsc);
        let tasks = |o: &CaseResult| of_scheduler(o, |s| s.examined_mean);
        let time =
            |o: &CaseResult| of_scheduler(o, |s| s.overhead_ns.schedule.0 as f64 / s.calls as f64);
        examined.push((kernel, tasks(&stock), tasks(&elsc)));
        cost.push((kernel, time(&stock), time(&elsc)));
    }
    // Half the CPUs plus five in each list, and a second list now and then.
    let bounds = [5.0, 5.0, 6.0, 7.0].map(|limit| 1.2 * limit);
    let bounded = examined
        .iter()
        .zip(bounds)
        .all(|((_, _, elsc), bound)| elsc.max() < bound);
    let fewer = examined
        .iter()
        .all(|(_, stock, elsc)| elsc.max() < 0.5 * stock.min());
    let text: Vec<String> = examined
        .iter()
        .map(|(kernel, stock, elsc)| {
            format!(
                "{kernel} {:.1} against {:.1}",
                elsc.median(),
                stock.median()
            )
        })
        .collect();
    findings.judge_text("E1", text.join(", "), "", bounded && fewer);
    findings.exhibit_of(
        bars("Time in schedule() each call, 20 rooms", Unit::Time, &cost).figure(),
        "The paper's first chart, in cycles and without numbers.",
        &["E1"],
        |_| true,
    );
    findings.exhibit_of(
        bars("Tasks examined each call, 20 rooms", Unit::Plain, &examined).figure(),
        "The paper's second chart, without numbers. ELSC's search limit is half the CPUs plus five.",
        &["E1"],
        |_| true,
    );
    memory_map_bonus(lab, &mut findings)?;
    Ok(findings)
}

/// Within a list the bonus of one for the loaded address space hardly decides: throughput with and without.
fn memory_map_bonus(lab: &Lab, findings: &mut Findings) -> Result<(), Error> {
    let machine = "netfinity-7000-4p";
    let with = volanomark(lab, ELSC, machine, 10);
    let without = with.clone().set("mm_bonus", 0).set("mm_shortcut", 0);
    let done = lab.run(&[with, without])?;
    done.iter().for_each(|outcome| findings.ran(outcome));
    let change = done[1]
        .throughput("message")
        .over(&done[0].throughput("message"));
    let holds = (change.median() - 1.0).abs() < 0.02;
    findings.judge("E9", &change.map(|x| x - 1.0), Unit::Share, holds);
    Ok(())
}
