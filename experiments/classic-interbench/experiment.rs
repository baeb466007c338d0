//! Four benchmarks beside nine loads.

mod accounts;

use crate::classic::{policies, STOCK};
use crate::prelude::*;
use accounts::{Account, Bench};

const MACHINE: &str = "pentium-4-3ghz";
const BENCHES: [Bench; 4] = [Bench::Audio, Bench::Video, Bench::X, Bench::Gaming];
const LOADS: [&str; 9] = [
    "none", "video", "x", "burn", "write", "read", "ring", "compile", "memload",
];
/// The schedulers whose tables are shown.
const SHOWN: [&str; 5] = [STOCK, "staircase:12", "cfs", "eevdf", "ule14"];
/// Loads of readme's sample.
const SAMPLE: [&str; 7] = [
    "none", "video", "burn", "write", "read", "compile", "memload",
];

/// Tables by policy, benchmark and load.
struct Results(Vec<(String, Bench, &'static str, Account)>);

impl Results {
    fn of(&self, policy: &str, bench: Bench, load: &str) -> &Account {
        let found = self
            .0
            .iter()
            .find(|(p, b, l, _)| p == policy && *b == bench && *l == load);
        let (.., account) =
            found.unwrap_or_else(|| panic!("{bench:?} beside {load} under {policy} was not run"));
        account
    }

    /// Runs a benchmark beside loads under policies.
    fn add(
        &mut self,
        lab: &Lab,
        findings: &mut Findings,
        policies: &[String],
        bench: Bench,
        loads: &[&'static str],
    ) -> Result<(), Error> {
        let mut asked = Vec::new();
        for policy in policies {
            asked.extend(loads.iter().map(|load| (policy.clone(), *load)));
        }
        let case = |(policy, load): &(String, &str)| {
            let workload = format!("interbench --bench {} --load {load}", bench.name());
            Case::new(policy, MACHINE, &workload).seconds(seconds(lab, load))
        };
        let cases: Vec<Case> = asked.iter().map(case).collect();
        let sinks = crate::ule::observe(lab, findings, &cases, || Account::new(bench))?;
        for ((policy, load), mut runs) in asked.into_iter().zip(sinks) {
            self.0.push((policy, bench, load, runs.remove(0)));
        }
        Ok(())
    }
}

/// interbench takes 30 s.  The ring only switches, which takes long to simulate and shows an effect at once.
fn seconds(lab: &Lab, load: &str) -> u64 {
    match load {
        "ring" => lab.pick(5, 1),
        _ => 30,
    }
}

pub fn run(lab: &Lab, paper: &Paper) -> Result<Findings, Error> {
    let mut findings = Findings::new();
    let mut results = Results(Vec::new());
    let shown = SHOWN.map(str::to_string);
    for bench in BENCHES {
        results.add(lab, &mut findings, &shown, bench, &LOADS)?;
        let others: Vec<String> = policies(lab)
            .into_iter()
            .filter(|p| !shown.contains(p))
            .collect();
        results.add(lab, &mut findings, &others, bench, &["none", "burn"])?;
    }
    deviations(&mut findings, &results);
    sample(&mut findings, &results, paper);
    estimator(lab, &mut findings)?;
    audio(&mut findings, &results);
    for bench in BENCHES {
        findings.table(table(&results, bench));
    }
    findings.table(burn(lab, &results));
    findings.exhibit(
        figure(&results),
        "Deadlines of X met beside each load.  The readme's sample, of a kernel it does not name: none 96 %, video 63 %, burn 44 %, write 79 %, read 88 %, compile 44 %, memload 85 %.",
    );
    Ok(findings)
}

/// K24: what is printed after "+/-".
fn deviations(findings: &mut Findings, results: &Results) {
    let loaded = || {
        results
            .0
            .iter()
            .filter(|(.., load, _)| *load != "none")
            .map(|(.., account)| account)
    };
    let rms = |a: &Account| {
        (a.latencies.iter().map(|x| (*x as f64).powi(2)).sum::<f64>() / a.latencies.len() as f64)
            .sqrt()
    };
    let differ = loaded().filter(|a| a.printed_sd() > 1.1 * a.sd()).count();
    let is_rms = |a: &Account| (a.printed_sd() / rms(a) - 1.0).abs() < 0.05 || rms(a) == 0.0;
    let text = format!(
        "it exceeds the standard deviation by more than a tenth in {differ} of {} rows",
        loaded().count()
    );
    let holds =
        loaded().filter(|a| a.latencies.len() > 20).all(is_rms) && 2 * differ > loaded().count();
    findings.judge_text("K24", text, "", holds);
}

/// K25 and K26: the sample of the readme.
fn sample(findings: &mut Findings, results: &Results, paper: &Paper) {
    let x = |load: &str| results.of(STOCK, Bench::X, load);
    let (desired, met) = (x("burn").desired_cpu(), x("burn").met());
    let near = |value: f64, path: &str| (value - paper.value(path)).abs() < 0.15;
    let text = format!(
        "{} of the CPU it wants, {} of its deadlines",
        Unit::Share.show(desired),
        Unit::Share.show(met)
    );
    findings.judge_text(
        "K25",
        text,
        "",
        near(desired, "burn.desired_cpu") && near(met, "burn.deadlines_met"),
    );

    let mut order = SAMPLE;
    order.sort_by(|a, b| x(b).met().total_cmp(&x(a).met()));
    let worst_two = order[5..]
        .iter()
        .all(|load| ["burn", "compile"].contains(load));
    findings.judge_text("K26", order.join(", "), "", order[0] == "none" && worst_two);
    for policy in ["cfs", "eevdf", "staircase:12", "ule14"] {
        let met = |load: &str| results.of(policy, Bench::X, load).met();
        let others = ["compile", "video", "read", "none"]
            .map(|load| format!("{load} {}", Unit::Share.show(met(load))));
        let lesson = format!("of the deadlines met beside burn; {}", others.join(", "));
        findings.ablation(
            "K26",
            policy,
            &Sample::from(met("burn")),
            Unit::Share,
            &lesson,
        );
    }
}

/// X beside burn with a weaker estimator.
fn estimator(lab: &Lab, findings: &mut Findings) -> Result<(), Error> {
    let stock = || Case::new(STOCK, MACHINE, "interbench --bench x --load burn").seconds(30);
    let cases = [
        (
            "half of the bonus, prio_bonus_ratio=12",
            stock().set("prio_bonus_ratio", 12),
        ),
        (
            "no interactivity estimator, prio_bonus_ratio=0",
            stock().set("prio_bonus_ratio", 0),
        ),
        (
            "ULE of 2003",
            Case {
                policy: "ule".to_string(),
                ..stock()
            },
        ),
    ];
    let asked = cases.each_ref().map(|(_, case)| case.clone());
    let sinks = crate::ule::observe(lab, findings, &asked, || Account::new(Bench::X))?;
    for ((change, _), runs) in cases.iter().zip(sinks) {
        let met = Sample::from(runs[0].met());
        let lesson = format!(
            "of the deadlines met, {} of the CPU it wants",
            Unit::Share.show(runs[0].desired_cpu())
        );
        findings.ablation("K25", change, &met, Unit::Share, &lesson);
    }
    Ok(())
}

/// K27 and K28: a player that wants 5 % of the CPU.
fn audio(findings: &mut Findings, results: &Results) {
    for (id, policies) in [("K27", &SHOWN[..2]), ("K28", &SHOWN[2..4])] {
        let worst = |policy: &&str| {
            let met = LOADS
                .iter()
                .map(|load| results.of(policy, Bench::Audio, load).met());
            met.fold(1.0, f64::min)
        };
        let least = policies.iter().map(worst).fold(1.0, f64::min);
        findings.judge(id, &Sample::from(least), Unit::Share, least >= 0.99);
    }
}

fn row(labels: Vec<String>, contest: usize, account: &Account) -> Subject {
    let times = [
        account.average(),
        account.printed_sd(),
        account.sd(),
        account.max(),
    ]
    .map(printed);
    let shares = [account.desired_cpu(), account.met()];
    Subject {
        labels,
        contest,
        cells: times.into_iter().chain(shares).map(cell).collect(),
    }
}

/// As interbench prints times: to a tenth of a ms, below which differences are not noticed.
fn printed(ns: f64) -> f64 {
    (ns / 1e5).round() * 1e5
}

fn cell(value: f64) -> Cell {
    match value.is_finite() {
        true => Cell::number(value),
        false => Cell::Missing,
    }
}

fn fields() -> Vec<Field> {
    vec![
        Field::new("latency", Unit::Time),
        Field::new("printed \"SD\"", Unit::Time),
        Field::new("standard deviation", Unit::Time),
        Field::new("largest", Unit::Time),
        Field::new("desired CPU", Unit::Share),
        Field::new("deadlines met", Unit::Share),
    ]
}

/// interbench's table of a benchmark, for several schedulers.
fn table(results: &Results, bench: Bench) -> Table {
    let mut subjects = Vec::new();
    for (contest, load) in LOADS.iter().enumerate() {
        for policy in SHOWN {
            let labels = vec![load.to_string(), policy.to_string()];
            subjects.push(row(labels, contest, results.of(policy, bench, load)));
        }
    }
    Table {
        title: format!("interbench: {} in the presence of", bench.name()),
        stubs: vec!["load".to_string(), "policy".to_string()],
        fields: fields(),
        subjects,
        layout: Layout::FieldsAsColumns,
        notes: vec!["5 s beside ring, 30 s beside others.".to_string()],
    }
}

/// All policies beside four burners.
fn burn(lab: &Lab, results: &Results) -> Table {
    let mut subjects = Vec::new();
    for (contest, bench) in BENCHES.into_iter().enumerate() {
        for policy in policies(lab) {
            let labels = vec![bench.name().to_string(), policy.clone()];
            subjects.push(row(labels, contest, results.of(&policy, bench, "burn")));
        }
    }
    Table {
        title: "interbench: all benchmarks beside four hogs, all policies".to_string(),
        stubs: vec!["benchmark".to_string(), "policy".to_string()],
        fields: fields(),
        subjects,
        layout: Layout::FieldsAsColumns,
        notes: Vec::new(),
    }
}

fn figure(results: &Results) -> schedlab_report::svg::Figure {
    let bar = |load: &str, (i, policy): (usize, &str)| Bar {
        name: policy.to_string(),
        style: Style::Series(i),
        value: results.of(policy, Bench::X, load).met(),
        interval: None,
    };
    let group = |load: &str| BarGroup {
        name: load.to_string(),
        bars: SHOWN
            .into_iter()
            .enumerate()
            .map(|shown| bar(load, shown))
            .collect(),
    };
    Bars {
        title: "interbench: deadlines of X met".to_string(),
        unit: Unit::Share,
        width: schedlab_report::svg::WIDTH,
        groups: LOADS.map(group).to_vec(),
    }
    .figure()
}
