//! Two loops at nice 0 and 15, and twenty equal ones.

use crate::classic::{of, shares, table, under_all};
use crate::prelude::*;

const CFS: [&str; 2] = ["cfs:2.6.24", "cfs"];

pub fn run(lab: &Lab, paper: &Paper) -> Result<Findings, Error> {
    let mut findings = Findings::new();
    let case = |workload: &'static str| {
        move |policy: &str| Case::new(policy, "ideal-1", workload).seconds(300)
    };
    let two = under_all(lab, &mut findings, case("hogs --nice 0,15"))?;
    let twenty = under_all(lab, &mut findings, case("hogs --count 20"))?;

    let lesser = |outcome: &CaseResult| outcome.share("hog-nice15");
    let measured: Sample = CFS
        .iter()
        .map(|policy| lesser(of(&two, policy)).median())
        .collect();
    let wanted = paper.value("nice_15");
    let near = measured
        .values()
        .iter()
        .all(|x| (x / wanted - 1.0).abs() < 0.05);
    findings.judge("K5", &measured, Unit::Share, near);
    let eevdf = lesser(of(&two, "eevdf"));
    findings.ablation("K5", "EEVDF", &eevdf, Unit::Share, "the same weights");

    let off = |outcome: &CaseResult| outcome.each(|m| deviation(m, paper.value("twentieth")));
    let worst = CFS
        .iter()
        .map(|policy| off(of(&twenty, policy)).max())
        .fold(0.0, f64::max);
    let text = format!("5 % each, within {:.2} points", 100.0 * worst);
    findings.judge_text("K6", text, "", worst < 0.0025);

    let fields = vec![
        Field::new("nice 15 beside nice 0", Unit::Share),
        Field::new("furthest from a twentieth", Unit::Share),
        Field::new("longest wait of twenty", Unit::Time),
    ];
    let wait = |m: &Metrics| m.total.longest_wait.map_or(0.0, |w| w.ns.0 as f64);
    findings.table(table(
        "What nice 15 is worth, and twenty equals",
        fields,
        &two,
        |outcome| {
            let equals = of(&twenty, &outcome.case.policy);
            vec![
                lesser(outcome).cell(),
                off(equals).cell(),
                equals.each(wait).cell(),
            ]
        },
    ));
    Ok(findings)
}

/// The largest distance of a share from `fair`.
fn deviation(metrics: &Metrics, fair: f64) -> f64 {
    shares(metrics)
        .iter()
        .map(|share| (share - fair).abs())
        .fold(0.0, f64::max)
}
