//! A vi beside five nice -5 programs that each want a quarter of the CPU.

use crate::prelude::*;
use crate::ule::{self, Responses, Seeds, LINUX, MACHINE, SCHEDULERS, ULE};

/// Run times of the loaders, in ms; their periods are four times as long; the second is drawn.
const BURSTS: [u64; 5] = [10, 25, 50, 100, 250];
const SHOWN: usize = 1;
/// Linux needs a minute to give all loaders the best priority; from then on it is judged.
const SETTLED: usize = 60;
const DURATION: u64 = 120;

/// Policies beside those of the paper's figure.
const REVISIONS: [&str; 4] = ["ule:R3", "ule:R2", "ule:R0", "ule14"];

fn case(policy: &str, loaders: &str) -> Case {
    let workload = format!("late --task vi{loaders}");
    ule::from_shell(Case::new(policy, MACHINE, &workload).seconds(DURATION))
}

fn loaders(burst_ms: u64, nice: i8) -> String {
    format!(
        " --task loader:count=5,run={burst_ms}ms,sleep={}ms,nice={nice}",
        3 * burst_ms
    )
}

/// Mean response of vi in the steady state, by burst.
type Row = Vec<Seeds>;

fn row(lab: &Lab, findings: &mut Findings, change: impl Fn(u64) -> Case) -> Result<Row, Error> {
    let cases = BURSTS.map(|burst| change(burst).seeds(lab.pick(3, 1)));
    let sinks = ule::observe(lab, findings, &cases, Responses::default)?;
    Ok(sinks.into_iter().map(Seeds).collect())
}

fn mean(seeds: &Seeds) -> Sample {
    seeds.mean(SETTLED)
}

fn by_burst(row: &Row, value: impl Fn(&Seeds) -> f64) -> String {
    let texts: Vec<String> = row.iter().map(|seeds| ule::time(value(seeds))).collect();
    texts.join(", ")
}

pub fn run(lab: &Lab, _: &Paper) -> Result<Findings, Error> {
    let mut findings = Findings::new();
    let policies: Vec<&str> = SCHEDULERS
        .iter()
        .map(|(_, policy)| *policy)
        .chain(REVISIONS)
        .collect();
    let mut rows = Vec::new();
    for policy in &policies {
        rows.push(row(lab, &mut findings, |burst| {
            case(policy, &loaders(burst, -5))
        })?);
    }
    let alone = row(lab, &mut findings, |_| case("ule", ""))?;
    let linux_alone = row(lab, &mut findings, |_| case(SCHEDULERS[LINUX].1, ""))?;
    linux(&mut findings, &rows[LINUX], &linux_alone);
    early(&mut findings, &rows, &alone);
    ablations(lab, &mut findings)?;
    let shown = SCHEDULERS.map(|(_, policy)| {
        case(policy, &loaders(BURSTS[SHOWN], -5))
            .seeds(lab.pick(3, 1))
            .command()
    });
    findings.exhibit_of(
        ule::response_plot("Response time of a vi beside five nice -5 programs of 25 %", &SCHEDULERS, 0, |i| rows[i][SHOWN].0[0].sums()),
        "Bursts of 25 ms; logarithmic. The paper: Linux's loaders severely exceed vi's priority; it draws Linux alone.",
        &["C29", "C30"],
        |command| shown.iter().any(|own| own == command),
    );
    findings.table(table(&policies, &rows));
    Ok(findings)
}

/// C29.
fn linux(findings: &mut Findings, row: &Row, alone: &Row) {
    let factor = row
        .iter()
        .zip(alone)
        .map(|(r, a)| mean(r).min() / mean(a).max());
    let least = factor.fold(f64::INFINITY, f64::min);
    findings.judge_text(
        "C29",
        format!(
            "mean {} with bursts of 10 to 250 ms, at most {}; alone {}",
            by_burst(row, |s| mean(s).median()),
            by_burst(row, |s| s.each(|r| r.worst(SETTLED as f64)).max()),
            ule::time(mean(&alone[0]).median()),
        ),
        "",
        least > 10.0,
    );
}

/// C30.
fn early(findings: &mut Findings, rows: &[Row], alone: &Row) {
    let r0 = &rows[SCHEDULERS.len() + 2];
    let baseline = mean(&alone[0]);
    let unaffected = rows[ULE]
        .iter()
        .all(|s| mean(s).max() < 1.5 * baseline.max());
    let affected = r0.iter().any(|s| mean(s).min() > 1.5 * baseline.max());
    findings.judge_text(
        "C30",
        format!(
            "mean {}, alone {}; R0 {}",
            by_burst(&rows[ULE], |s| mean(s).median()),
            ule::time(baseline.median()),
            by_burst(r0, |s| mean(s).median()),
        ),
        "",
        unaffected && affected,
    );
}

fn ablations(lab: &Lab, findings: &mut Findings) -> Result<(), Error> {
    let linux = |nice| case(SCHEDULERS[LINUX].1, &loaders(BURSTS[SHOWN], nice));
    let changes = [
        ("C29", linux(-5).set("prio_bonus_ratio", 0), "without the interactivity estimator nice alone puts the loaders ahead: it is not what starves vi, it is what does not help it"),
        ("C29", linux(0), "loaders of nice 0: vi and they have the same priority and take turns"),
        ("C29", case("o1", &loaders(BURSTS[SHOWN], -5)), "Linux 2.6.11, which spends sleep_avg faster than it earns it at high bonus"),
        ("C30", case("ule", &loaders(BURSTS[0], -5)).set("userret_resched", 2), "bursts of 10 ms, where it fails, with a check on return to user mode as in R2"),
        ("C30", case("ule:R2", &loaders(BURSTS[SHOWN], -5)), "June 2003: 100 ms of memory"),
        ("C30", case("ule", &loaders(BURSTS[SHOWN], -5)).set("literal_figure1", 1), "the score as printed (C44)"),
        ("C30", case("ule", &loaders(BURSTS[SHOWN], -20)), "loaders of nice -20: their priority is better than vi's, who yet waits only for one slice of 10 ms at a time"),
    ];
    for (id, case, lesson) in changes {
        let case = case.seeds(lab.pick(3, 1));
        let runs = ule::observe(
            lab,
            findings,
            std::slice::from_ref(&case),
            Responses::default,
        )?
        .remove(0);
        let mean = mean(&Seeds(runs)).map(|s| s * 1e9);
        let nice = match &case.work {
            crate::Work::Named(text) => text.rsplit("nice=").next().unwrap_or_default().to_string(),
            crate::Work::Text { .. } => String::new(),
        };
        findings.ablation(
            id,
            &format!("{}, loaders of nice {nice}", ule::change(&case)),
            &mean,
            Unit::Time,
            lesson,
        );
    }
    Ok(())
}

fn table(policies: &[&str], rows: &[Row]) -> Table {
    let subject = |(policy, row): (&&str, &Row)| Subject {
        labels: vec![policy.to_string()],
        contest: 0,
        cells: row
            .iter()
            .map(|s| mean(s).map(|x| x * 1e9).cell())
            .collect(),
    };
    Table {
        title: "Mean response of vi after the first minute, by the loaders' burst".to_string(),
        stubs: vec!["policy".to_string()],
        fields: BURSTS.map(|b| Field::new(format!("{b} ms"), Unit::Time).better(Better::Lower)).into(),
        subjects: policies.iter().zip(rows).map(subject).collect(),
        layout: Layout::FieldsAsColumns,
        notes: vec!["1 ms of it is vi's own work; 5 to 10 ms are the rounding of its timer, up to 2 ms on Linux.".to_string()],
    }
}
