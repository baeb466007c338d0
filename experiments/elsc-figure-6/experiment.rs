//! Calls of schedule(), and tasks chosen on another CPU than their last.

use crate::elsc::{bars, of_scheduler, pair, volanomark, ELSC, KERNELS, STOCK};
use crate::prelude::*;

/// The machine of the paper's largest differences.
const MACHINE: &str = "netfinity-7000-4p";

pub fn run(lab: &Lab, _: &Paper) -> Result<Findings, Error> {
    let mut findings = Findings::new();
    let (mut calls, mut moved, mut rates) = (Vec::new(), Vec::new(), Vec::new());
    for (kernel, machine) in KERNELS {
        let (stock, elsc) = pair(lab, machine, 10)?;
        findings.ran(&stock);
        findings.ran(&elsc);
        let entries = |o: &CaseResult| of_scheduler(o, |s| s.calls as f64);
        let migrations = |o: &CaseResult| o.each(|m| m.total.nr_migrations as f64);
        calls.push((kernel, entries(&stock), entries(&elsc)));
        let rate = |o: &CaseResult| entries(o).over(&o.seconds());
        rates.push((kernel, rate(&stock), rate(&elsc)));
        moved.push((kernel, migrations(&stock), migrations(&elsc)));
    }
    judge(&mut findings, "E6", &calls);
    equal_times(&mut findings, &rates);
    judge(&mut findings, "E7", &moved);
    findings.exhibit_of(
        bars("Calls of schedule(), 10 rooms", Unit::Count, &calls).figure(),
        "The paper's first chart, without numbers: more under ELSC on 2P and 4P.",
        &["E6"],
        |_| true,
    );
    findings.exhibit_of(
        bars("Tasks chosen on another CPU, 10 rooms", Unit::Count, &moved).figure(),
        "The paper's second chart, without numbers: more under ELSC.",
        &["E7"],
        |_| true,
    );
    ablations(lab, &mut findings)?;
    reasons(lab, &mut findings)?;
    Ok(findings)
}

/// E6 if the paper counted for equal times, in which ELSC does more work.
fn equal_times(findings: &mut Findings, rates: &[(&str, Sample, Sample)]) {
    for (kernel, stock, elsc) in &rates[2..] {
        let change = format!("calls a second, not in a whole run, {kernel}");
        findings.ablation(
            "E6",
            &change,
            &elsc.over(stock),
            Unit::Plain,
            "ELSC gets more done in that time",
        );
    }
}

/// ELSC's calls as a multiple of stock's on 4P, with one thing changed in either.
fn ablations(lab: &Lab, findings: &mut Findings) -> Result<(), Error> {
    let run = |policy: &str| volanomark(lab, policy, MACHINE, 10);
    let remembers = || run(STOCK).set("goodness_sees_yield", 1);
    let changes = [
        (remembers(), run(ELSC), "stock with 2.4's rule for yields (goodness_sees_yield=1), 4P", "stock no longer calls schedule() again for every yield: what lost affinity costs ELSC shows"),
        (run("linux24:2.4.16"), run(ELSC), "the stock scheduler of 2.4.16, 4P", "which has that rule"),
        (remembers(), run(ELSC).set("search_limit", 1_000_000), "that rule, and ELSC without its search limit, 4P", "looking at the whole top list saves some of ELSC's calls"),
        (run(STOCK).set("wake_least_recent", 1), run(ELSC), "stock with 2.4's choice of an idle CPU, 4P", "which CPU is woken does not matter"),
    ];
    for (stock, elsc, change, lesson) in changes {
        let done = lab.run(&[stock, elsc])?;
        done.iter().for_each(|outcome| findings.ran(outcome));
        let calls = |i: usize| of_scheduler(&done[i], |s| s.calls as f64);
        findings.ablation("E6", change, &calls(1).over(&calls(0)), Unit::Plain, lesson);
    }
    Ok(())
}

/// Why schedule() was called on 4P, under either.
fn reasons(lab: &Lab, findings: &mut Findings) -> Result<(), Error> {
    let stock = volanomark(lab, STOCK, MACHINE, 10);
    let subjects = [
        ("stock 2.3.99", stock.clone()),
        (
            "stock, yields remembered",
            stock.set("goodness_sees_yield", 1),
        ),
        ("ELSC", volanomark(lab, ELSC, MACHINE, 10)),
    ];
    let mut table = Table {
        title: "Why schedule() switched on 4P, 10 rooms".to_string(),
        stubs: vec!["scheduler".to_string()],
        fields: ["calls", "slept", "yielded", "preempted", "on another CPU"].map(|name| Field::new(name, Unit::Count)).to_vec(),
        subjects: Vec::new(),
        layout: Layout::FieldsAsColumns,
        notes: vec!["ELSC's tasks sleep and wake more often, with cold caches; stock's are preempted more often, by tasks that have just yielded.".to_string()],
    };
    for (name, case) in subjects {
        let outcome = lab.run(&[case])?.remove(0);
        let total = |value: fn(&Metrics) -> u64| outcome.each(|m| value(m) as f64).cell();
        table.subjects.push(Subject {
            labels: vec![name.to_string()],
            contest: 0,
            cells: vec![
                of_scheduler(&outcome, |s| s.calls as f64).cell(),
                total(|m| m.total.nr_voluntary_switches),
                total(|m| m.total.nr_yield_switches),
                total(|m| m.total.nr_involuntary_switches),
                total(|m| m.total.nr_migrations),
            ],
        });
    }
    findings.table(table);
    Ok(())
}

/// Is it more under ELSC on both machines with several CPUs?
fn judge(findings: &mut Findings, id: &str, groups: &[(&str, Sample, Sample)]) {
    let smp = &groups[2..];
    let holds = smp.iter().all(|(_, stock, elsc)| elsc.min() > stock.max());
    let text: Vec<String> = smp
        .iter()
        .map(|(kernel, stock, elsc)| {
            format!("{kernel} {:.2} times stock's", elsc.over(stock).median())
        })
        .collect();
    findings.judge_text(id, text.join(", "), "", holds);
}
