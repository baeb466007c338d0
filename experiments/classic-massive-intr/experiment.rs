//! 200 and 400 tasks that work 8 ms and sleep 1 ms.

use crate::classic::{lines, of, run as run_all, shares, table, under_all, STOCK};
use crate::prelude::*;

/// Five minutes, as Takeuchi measured.
const SECONDS: u64 = 300;

pub fn run(lab: &Lab, paper: &Paper) -> Result<Findings, Error> {
    let mut findings = Findings::new();
    let done = under_all(lab, &mut findings, |policy| case(policy, 1, 200, 0))?;
    let four = top(of(&done, STOCK), 4);
    findings.judge(
        "K1",
        &four,
        Unit::Share,
        (four.median() - paper.value("one_cpu")).abs() < 0.1,
    );
    two_cpus(lab, &mut findings, paper)?;
    nice(lab, &mut findings)?;
    fair(&mut findings, &done);
    ablations(lab, &mut findings)?;
    findings.table(table(
        "200 tasks on one CPU for five minutes",
        vec![
            Field::new("share of the luckiest four", Unit::Share),
            Field::new("tasks with less than half their share", Unit::Count),
            Field::new("Jain's index", Unit::Plain),
        ],
        &done,
        |outcome| {
            let poor = |m: &Metrics| {
                shares(m)
                    .iter()
                    .filter(|share| **share < 0.5 / 200.0)
                    .count() as f64
            };
            let jain = |m: &Metrics| m.fairness.jain.unwrap_or(f64::NAN);
            vec![
                top(outcome, 4).cell(),
                outcome.each(poor).cell(),
                outcome.each(jain).cell(),
            ]
        },
    ));
    let shown = [STOCK, "ule", "linux24", "staircase", "cfs"];
    let line = |policy: &&'static str| {
        let outcome = done
            .iter()
            .find(|outcome| outcome.case.policy == **policy)?;
        Some((*policy, shares(outcome.first())))
    };
    findings.exhibit(
        figure(&shown.iter().filter_map(line).collect::<Vec<_>>()),
        "CPU time of the luckiest 1, 2, … of 200 tasks together. A straight line would be fair; Takeuchi saw four tasks take 98 %.",
    );
    Ok(findings)
}

fn case(policy: &str, cpus: u32, tasks: u32, nice: i8) -> Case {
    let workload = format!("massive-intr -n {tasks} --nice {nice}");
    Case::new(policy, &format!("ideal-{cpus}"), &workload).seconds(SECONDS)
}

/// The share of the `count` tasks with the most CPU time.
fn top(outcome: &CaseResult, count: usize) -> Sample {
    outcome.each(|m| shares(m)[..count].iter().sum())
}

fn two_cpus(lab: &Lab, findings: &mut Findings, paper: &Paper) -> Result<(), Error> {
    let done = run_all(
        lab,
        findings,
        &[200, 400].map(|tasks| case(STOCK, 2, tasks, 0)),
    )?;
    let eight: Vec<f64> = done
        .iter()
        .map(|outcome| top(outcome, 8).median())
        .collect();
    let said = paper.list("two_cpus");
    let text = format!(
        "{} and {}",
        Unit::Share.show(eight[0]),
        Unit::Share.show(eight[1])
    );
    let near = eight.iter().zip(&said).all(|(x, y)| (x - y).abs() < 0.1);
    findings.judge_text("K2", text, "", near);
    Ok(())
}

fn nice(lab: &Lab, findings: &mut Findings) -> Result<(), Error> {
    let done = run_all(lab, findings, &[case(STOCK, 1, 200, 19)])?;
    let least = done[0].each(|m| *shares(m).last().unwrap_or(&0.0) * 200.0);
    findings.judge("K3", &least, Unit::Share, least.min() > 0.9);
    Ok(())
}

fn fair(findings: &mut Findings, done: &[std::sync::Arc<CaseResult>]) {
    let least = |policy: &str| {
        of(done, policy)
            .each(|m| *shares(m).last().unwrap_or(&0.0) * 200.0)
            .min()
    };
    let worst = ["cfs:2.6.24", "cfs"]
        .map(least)
        .into_iter()
        .fold(f64::INFINITY, f64::min);
    findings.judge("K4", &Sample::from(worst), Unit::Share, worst > 0.9);
}

/// The parts of the estimator that let four tasks win.
fn ablations(lab: &Lab, findings: &mut Findings) -> Result<(), Error> {
    let base = || case(STOCK, 1, 200, 0);
    let changes = [
        ("initial_sleep_avg_ms=1000", base().set("initial_sleep_avg_ms", 1000), "if all begin with the greatest bonus nobody is expired while others are not, and the trap does not close; up to 800 ms nothing changes"),
        ("prio_bonus_ratio=0, no interactivity estimator", base().set("prio_bonus_ratio", 0), "two arrays alone are fair"),
        ("starvation_limit_ms=50, a twentieth", base().set("starvation_limit_ms", 50), "EXPIRED_STARVING allows the expired to wait for a second for each task, 200 s here; with a twentieth more of them have a turn"),
        ("2.6.10", case("o1:2.6.10", 1, 200, 0), "where interactive_credit has to be earned first"),
    ];
    for (change, case, lesson) in changes {
        let done = run_all(lab, findings, &[case])?;
        findings.ablation("K1", change, &top(&done[0], 4), Unit::Share, lesson);
    }
    Ok(())
}

fn figure(policies: &[(&str, Vec<f64>)]) -> schedlab_report::svg::Figure {
    let line = |(name, shares): &(&str, Vec<f64>)| {
        let sums = shares.iter().scan(0.0, |sum, share| {
            *sum += share;
            Some(*sum)
        });
        let points = sums.enumerate().map(|(n, sum)| (n as f64 + 1.0, sum));
        (name.to_string(), points.collect())
    };
    lines(
        "Who gets the CPU: shares added up, the luckiest first",
        Axis::linear("tasks", Unit::Count, 0.0, 200.0),
        Axis::linear("share of the CPU", Unit::Share, 0.0, 1.0),
        policies.iter().map(line),
    )
}
