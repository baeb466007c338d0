//! The modified Andrew benchmark under the overhead kernel.

use crate::prelude::*;
use crate::rbs::{gap, MACHINE, RBS, VANILLA};

pub fn run(lab: &Lab, paper: &Paper) -> Result<Findings, Error> {
    let mut findings = Findings::new();
    let kernels = [
        ("vanilla", VANILLA),
        ("overhead", "rbs:overhead"),
        ("RBS", RBS),
    ];
    let cases = kernels.map(|(_, policy)| Case::new(policy, MACHINE, "mab").seeds(lab.pick(5, 3)));
    let done = lab.run(&cases)?;
    let [vanilla, overhead, rbs] = [0, 1, 2].map(|i| done[i].seconds());
    let cost = overhead.minus(&vanilla).over(&vanilla);
    let limit = paper.value("overhead.real") / paper.value("vanilla.real") - 1.0;
    findings.judge("R3", &cost, Unit::Share, cost.max() <= limit);
    for window in [2, 32] {
        let case = Case::new("rbs:overhead", MACHINE, "mab").set("window", window);
        let run = lab.run(&[case.seeds(lab.pick(5, 3))])?;
        let cost = run[0].seconds().minus(&vanilla).over(&vanilla);
        findings.ablation(
            "R3",
            &format!("window={window}"),
            &cost,
            Unit::Share,
            "lists are short: nothing more to look at",
        );
    }
    let apart = gap(&done[2])
        .minus(&gap(&done[0]))
        .over(&rbs.map(|s| s * 1e9));
    let largest = apart.min().abs().max(apart.max().abs());
    findings.judge("R4", &apart, Unit::Share, largest < 0.001);
    let mut subjects = Vec::new();
    for ((name, _), outcome) in kernels.iter().zip(&done) {
        findings.ran(outcome);
        let real = outcome.seconds().map(|s| s * 1e9);
        let cpu = real.minus(&gap(outcome));
        let published = |what: &str| match *name {
            "RBS" => Cell::Missing,
            name => Cell::number(paper.value(&format!("{name}.{what}")) * 1e9),
        };
        subjects.push(Subject {
            labels: vec![name.to_string()],
            contest: 0,
            cells: vec![real.cell(), published("real"), cpu.cell(), published("cpu")],
        });
    }
    findings.table(Table {
        title: "The modified Andrew benchmark".to_string(),
        stubs: vec!["kernel".to_string()],
        fields: [
            "real",
            "real, paper",
            "user and system",
            "user and system, paper",
        ]
        .map(|name| Field::new(name, Unit::Time))
        .to_vec(),
        subjects,
        layout: Layout::FieldsAsColumns,
        notes: vec![
            "Phases were chosen to add up to vanilla's real time; only differences are results."
                .to_string(),
        ],
    });
    Ok(findings)
}
