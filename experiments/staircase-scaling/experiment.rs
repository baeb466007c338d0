//! 2 to 256 threads.

use schedlab_report::svg::Figure;

use crate::prelude::*;
use crate::staircase::Mode;
use crate::staircase::{in_modes, percent, INT0, INT1, MODES, O1};

const THREADS: [u32; 8] = [2, 4, 8, 16, 32, 64, 128, 256];
/// The article's base, and where MySQL's absolute times are compared.
const BASE: usize = 3;
const FROM_128: usize = 6;
const LAST: usize = 7;

/// Mean seconds of each mode for each number of threads.
type Times = [Vec<f64>; 3];

pub fn run(lab: &Lab, _: &Paper) -> Result<Findings, Error> {
    let mut findings = Findings::new();
    let transactions = lab.pick(5_120, 2_560);
    let apache = times(lab, &mut findings, |n| format!("ab -c {n}"))?;
    let mysql = times(lab, &mut findings, |n| {
        format!("sysbench-oltp -t {n} -n {transactions}")
    })?;
    let better = |t: &Times| 1.0 - index(&t[INT0]) / index(&t[O1]);
    let apart = |t: &Times| (index(&t[INT1]) / index(&t[INT0]) - 1.0).abs();
    let faster = (FROM_128..=LAST).all(|i| mysql[INT0][i] < 0.999 * mysql[O1][i]);
    let holds = better(&apache) >= 0.001
        && better(&mysql) >= 0.01
        && faster
        && apart(&apache) < 0.01
        && apart(&mysql) < 0.01;
    let text = format!(
        "index lower by {} on Apache, {} on MySQL; MySQL at 256 threads {}; modes apart {:.2} and {:.2} %",
        percent(better(&apache)),
        percent(better(&mysql)),
        percent(mysql[INT0][LAST] / mysql[O1][LAST] - 1.0),
        100.0 * apart(&apache),
        100.0 * apart(&mysql),
    );
    findings.judge_text("S8", text, "", holds);
    for (name, times) in [("Apache", &apache), ("MySQL", &mysql)] {
        let (number, workload) = match name {
            "Apache" => (3, "'ab "),
            _ => (4, "'sysbench-oltp "),
        };
        findings.exhibit_of(
            plot(name, times),
            format!("{name}: completion time by threads (the article's Figure {number}, which has no numbers in its text)."),
            &["S8"],
            |command| command.contains(workload),
        );
        findings.table(indices(name, times));
    }
    bottlenecks(lab, &mut findings)?;
    Ok(findings)
}

/// MySQL with another bottleneck than the disk: O(1)'s index and that of interactive=0.
fn bottlenecks(lab: &Lab, findings: &mut Findings) -> Result<(), Error> {
    for (change, options) in [
        ("no disk: the CPU is the bottleneck", "--read 0 --flush 0"),
        (
            "a table of 400 rows, four of them hot: locks are",
            "--read 0 --rows 400",
        ),
    ] {
        let mut ends = Vec::new();
        for threads in [THREADS[BASE], THREADS[LAST]] {
            let line = format!("sysbench-oltp -t {threads} -n 2560 {options}");
            ends.push(in_modes(lab, findings, 2, &line, lab.pick(3, 1))?);
        }
        let growth = |mode: usize| ends[1][mode].seconds.mean() / ends[0][mode].seconds.mean();
        let better = Sample::from(1.0 - growth(INT0) / growth(O1));
        findings.ablation(
            "S8",
            change,
            &better,
            Unit::Share,
            "by so much int0's index is lower than O(1)'s",
        );
    }
    Ok(())
}

fn times(lab: &Lab, findings: &mut Findings, line: impl Fn(u32) -> String) -> Result<Times, Error> {
    let mut times = Times::default();
    for threads in THREADS {
        let all = in_modes(lab, findings, 3, &line(threads), lab.pick(3, 2))?;
        for (mode, runs) in times.iter_mut().zip(all) {
            mode.push(runs.seconds.mean());
        }
    }
    Ok(times)
}

/// From 16 to 256.
fn index(seconds: &[f64]) -> f64 {
    let growth = f64::from(THREADS[LAST]) / f64::from(THREADS[BASE]);
    seconds[LAST] / seconds[BASE] / growth
}

fn plot(name: &str, times: &Times) -> Figure {
    let top = times.iter().flatten().copied().fold(0.0, f64::max);
    let mut plot = Plot::new(
        &format!("Completion time, {name}"),
        Axis::log("threads", Unit::Count, 2.0, 256.0),
        Axis::linear("time", Unit::Time, 0.0, 1.15e9 * top),
    );
    let series = |(i, (mode, _, _)): (usize, &Mode)| Series {
        name: mode.to_string(),
        style: Style::Series(i),
        points: THREADS
            .iter()
            .zip(&times[i])
            .map(|(n, s)| (f64::from(*n), s * 1e9))
            .collect(),
    };
    let lines: Vec<Series> = MODES[..3].iter().enumerate().map(series).collect();
    plot.lines(&lines);
    plot.finish()
}

fn indices(name: &str, times: &Times) -> Table {
    let row = |(i, (mode, _, _)): (usize, &Mode)| Subject {
        labels: vec![mode.to_string()],
        contest: 0,
        cells: times[i]
            .iter()
            .map(|s| Cell::number(s * 1e9))
            .chain([Cell::number(index(&times[i]))])
            .collect(),
    };
    let mut fields: Vec<Field> = THREADS
        .iter()
        .map(|n| Field::new(format!("{n}"), Unit::Time))
        .collect();
    fields.push(Field::new("index 16 to 256", Unit::Plain));
    Table {
        title: format!("{name}: time by threads"),
        stubs: vec!["scheduler".to_string()],
        fields,
        subjects: MODES[..3].iter().enumerate().map(row).collect(),
        layout: Layout::FieldsAsColumns,
        notes: Vec::new(),
    }
}
