//! A kernel build beside contest's loads.

use crate::classic::{policies, run as run_all, STOCK};
use crate::prelude::*;

const MACHINE: &str = "pentium-4-3ghz";
const LOADS: [&str; 8] = [
    "process", "mem", "io", "read", "list", "ctar", "xtar", "dbench",
];
/// A build short enough for many runs; contest's own takes a minute and a half on such a machine.
const BUILD: &str = "--files 60 --link 4s";
const JOBS: f64 = 4.0;
/// Higher bars are cut off.
const MOST_SHOWN: f64 = 5.0;
/// The time limit of a build, in s; without a load it takes one minute.
const PATIENCE: u64 = 240;

fn case(policy: &str, options: &str) -> Case {
    Case::new(
        policy,
        MACHINE,
        &format!("contest {options} --build '{BUILD}'"),
    )
    .seconds(PATIENCE)
}

/// How much longer it took; infinite if the run was stopped.
fn ratio(loaded: &CaseResult, alone: &CaseResult) -> f64 {
    match loaded.seconds().max() < PATIENCE as f64 {
        true => loaded.seconds().over(&alone.seconds()).median(),
        false => f64::INFINITY,
    }
}

/// Times of the build relative to that without a load, by policy and load.
struct Ratios(Vec<(String, Vec<f64>)>);

impl Ratios {
    fn measure(lab: &Lab, findings: &mut Findings) -> Result<Ratios, Error> {
        let policies = policies(lab);
        let loads = || std::iter::once("none").chain(LOADS);
        let cases: Vec<Case> = policies
            .iter()
            .flat_map(|policy| loads().map(|load| case(policy, &format!("--load {load}"))))
            .collect();
        let done = run_all(lab, findings, &cases)?;
        let row = |(policy, outcomes): (String, &[std::sync::Arc<CaseResult>])| {
            (
                policy,
                outcomes[1..]
                    .iter()
                    .map(|loaded| ratio(loaded, &outcomes[0]))
                    .collect(),
            )
        };
        Ok(Ratios(
            policies
                .into_iter()
                .zip(done.chunks(LOADS.len() + 1))
                .map(row)
                .collect(),
        ))
    }

    fn of(&self, policy: &str, load: &str) -> f64 {
        let row = self
            .0
            .iter()
            .find(|(name, _)| name == policy)
            .expect("a policy of ours");
        let place = LOADS
            .iter()
            .position(|name| *name == load)
            .expect("a load of ours");
        row.1[place]
    }
}

pub fn run(lab: &Lab, _: &Paper) -> Result<Findings, Error> {
    let mut findings = Findings::new();
    let ratios = Ratios::measure(lab, &mut findings)?;
    judge(&mut findings, &ratios);
    ring(lab, &mut findings)?;
    findings.table(table(&ratios));
    let shown = [STOCK, "staircase:12", "cfs", "eevdf", "ule14"];
    findings.exhibit(
        figure(&ratios, &shown),
        "contest's ratio: the time of a build beside a load over that without one; bars of 5 and more are cut off.",
    );
    Ok(findings)
}

fn judge(findings: &mut Findings, ratios: &Ratios) {
    // One task more than four equal ones.
    let fair = (JOBS + 1.0) / JOBS;
    let both = |load: &str| [ratios.of(STOCK, load), ratios.of("cfs", load)];
    let text = |[o1, cfs]: [f64; 2]| format!("{o1:.2} under O(1), {cfs:.2} under CFS");
    let mem = both("mem");
    findings.judge_text(
        "K29",
        text(mem),
        "",
        mem.iter().all(|r| (r - fair).abs() < 0.1),
    );
    let process = both("process");
    findings.judge_text(
        "K30",
        text(process),
        "",
        process.iter().all(|r| *r < fair + 0.1),
    );
    let waiting = ["io", "read", "list", "ctar", "xtar", "dbench"];
    let worst = waiting
        .iter()
        .flat_map(|load| both(load))
        .fold(0.0, f64::max);
    findings.judge("K31", &Sample::from(worst), Unit::Plain, worst < fair);
}

/// The ring with more processes and more pieces of data: the paper does not define "far fewer".
fn ring(lab: &Lab, findings: &mut Findings) -> Result<(), Error> {
    let rings: &[(u32, u32)] = lab.pick(&[(2, 1), (4, 2), (16, 1), (16, 4)], &[(4, 2)]);
    for &(processes, chunks) in rings {
        let mut ratios = Vec::new();
        for policy in [STOCK, "cfs", "eevdf"] {
            let loaded = format!("--load process --processes {processes} --chunks {chunks}");
            let done = run_all(
                lab,
                findings,
                &[case(policy, &loaded), case(policy, "--load none")],
            )?;
            ratios.push(ratio(&done[0], &done[1]));
        }
        let change = format!("{processes} processes and {chunks} of data, EEVDF");
        let lesson = format!(
            "under O(1) {}, under CFS {}",
            text(ratios[0]),
            text(ratios[1])
        );
        findings.ablation(
            "K30",
            &change,
            &Sample::from(ratios[2]),
            Unit::Plain,
            &lesson,
        );
    }
    Ok(())
}

fn table(ratios: &Ratios) -> Table {
    let row = |(policy, row): &(String, Vec<f64>)| Subject {
        labels: vec![policy.clone()],
        contest: 0,
        cells: row.iter().map(|ratio| cell(*ratio)).collect(),
    };
    Table {
        title: "contest: time of a build beside a load over that without one".to_string(),
        stubs: vec!["policy".to_string()],
        fields: LOADS.map(|load| Field::new(load, Unit::Plain)).to_vec(),
        subjects: ratios.0.iter().map(row).collect(),
        layout: Layout::FieldsAsColumns,
        notes: vec!["\"never\": not within four times as long.".to_string()],
    }
}

fn cell(ratio: f64) -> Cell {
    match ratio.is_finite() {
        true => Cell::number(ratio),
        false => Cell::Text(text(ratio)),
    }
}

fn text(ratio: f64) -> String {
    match ratio.is_finite() {
        true => format!("{ratio:.2}"),
        false => "never".to_string(),
    }
}

fn figure(ratios: &Ratios, policies: &[&str]) -> schedlab_report::svg::Figure {
    let bar = |load: &str, (i, policy): (usize, &&str)| Bar {
        name: policy.to_string(),
        style: Style::Series(i),
        value: ratios.of(policy, load).min(MOST_SHOWN),
        interval: None,
    };
    let group = |load: &str| BarGroup {
        name: load.to_string(),
        bars: policies
            .iter()
            .enumerate()
            .map(|policy| bar(load, policy))
            .collect(),
    };
    Bars {
        title: "contest".to_string(),
        unit: Unit::Plain,
        width: schedlab_report::svg::WIDTH,
        groups: LOADS.map(group).to_vec(),
    }
    .figure()
}
