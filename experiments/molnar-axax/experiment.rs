//! Three hogs and a light task.

use schedlab_report::svg::{Figure, Span, Timeline};

use crate::prelude::*;
use crate::turns::Turns;

const SCHEDULERS: [(&str, &str); 2] = [
    ("stock", "affinity24:stock"),
    ("patched", "affinity24:2.4.15-pre1"),
];
const HOGS: &str = "[task.hog]\ncount = 3\nprogram = \"forever\\n  run 1s\\nend\"\n";
const X: &str =
    "[task.x]\nprogram = \"sleep 500us\\nforever\\n  run 30us\\n  timer wake 1ms\\nend\"\n";
const TICK_NS: f64 = 1e7;
/// A stretch of a settled run that shows the pattern.
const SHOWN_NS: (f64, f64) = (20.0e9, 20.2e9);

pub fn run(lab: &Lab, paper: &Paper) -> Result<Findings, Error> {
    let mut findings = Findings::new();
    let with_x = turns(lab, &mut findings, "axax", &format!("{HOGS}{X}"))?;
    let alone = turns(lab, &mut findings, "hogs-alone", HOGS)?;
    // X takes 3 % of the time that passes while a hog's ticks are counted.
    let ticks = |t: &Turns| t.mean_ns("hog") / TICK_NS / 0.97;
    let [stock, patched] = [ticks(&with_x[0]), ticks(&with_x[1])];
    let wanted = paper.value("patched_ticks_of_this_kernel");
    let near = |x: f64, y: f64| (x / y - 1.0).abs() < 0.03;
    let holds = near(stock, paper.value("stock_ticks")) && near(patched, wanted);
    let text = format!("{stock:.2} ticks against {patched:.2}");
    findings.judge_text("M1", text, "", holds);
    let same = alone[0].stays == alone[1].stays;
    let text = match same {
        true => format!("identical: {} stays", alone[0].stays.len()),
        false => "different".to_string(),
    };
    findings.judge_text("M2", text, "", same);
    let shares: Vec<f64> = with_x.iter().flat_map(|t| t.shares("hog")).collect();
    let worst = shares
        .iter()
        .map(|s| (3.0 * s - 1.0).abs())
        .fold(0.0, f64::max);
    let text = format!("a third each, within {:.2} %", 100.0 * worst);
    findings.judge_text("M3", text, "", worst < 0.01);
    for ((name, policy), turns) in SCHEDULERS.iter().zip(&with_x) {
        findings.exhibit_of(timeline(name, turns), caption(name), &["M1"], |command| {
            command.contains(policy) && command.contains("/axax.toml")
        });
    }
    interactive(lab, &mut findings)?;
    Ok(findings)
}

/// The stays on the CPU of a workload under both schedulers.
fn turns(lab: &Lab, findings: &mut Findings, name: &str, text: &str) -> Result<Vec<Turns>, Error> {
    let cases: Vec<Case> = SCHEDULERS
        .iter()
        .map(|(_, policy)| Case::text(policy, "ideal-1", name, text).seconds(lab.pick(90, 45)))
        .collect();
    let observed = lab.observe(&cases, Turns::default)?;
    findings
        .workloads
        .insert(name.to_string(), text.to_string());
    for (case, runs) in cases.iter().zip(&observed) {
        let hashes = runs.iter().map(|(hash, _)| hash.to_string()).collect();
        findings.runs.insert(case.command(), hashes);
    }
    Ok(observed
        .into_iter()
        .flatten()
        .map(|(_, turns)| turns)
        .collect())
}

fn caption(name: &str) -> &'static str {
    match name {
        "stock" => "Stock: another hog at each tick, every 10 ms; X in between. The mail's \"A X A X A ... [timer tick] B X B X B\".",
        _ => "With the patch a hog keeps the CPU for its slice, 60 ms. The mail's \"A X A X A ... [10 timer ticks]\", with this kernel's 6.",
    }
}

fn timeline(name: &str, turns: &Turns) -> Figure {
    const NAMES: [&str; 4] = ["A", "B", "C", "X"];
    let (start, end) = SHOWN_NS;
    let span = |&(task, from, to): &(_, u64, u64)| {
        let lane = if turns.group(task) == "hog" {
            task.index()
        } else {
            3
        };
        Span {
            lane,
            start: from as f64,
            end: to as f64,
            style: Style::Series(lane),
            name: String::new(),
            tip: format!("{} for {:.2} ms", NAMES[lane], (to - from) as f64 / 1e6),
            key: lane as u32,
        }
    };
    let shown = |stay: &&(_, u64, u64)| (stay.2 as f64) > start && (stay.1 as f64) < end;
    Timeline {
        title: format!("Who runs, {name}"),
        start,
        end,
        lanes: NAMES.map(str::to_string).to_vec(),
        spans: turns.stays.iter().filter(shown).map(span).collect(),
        legend: NAMES
            .iter()
            .enumerate()
            .map(|(i, n)| (n.to_string(), Style::Series(i)))
            .collect(),
        highlight: None,
    }
    .figure()
}

/// An editor beside the hogs that computes for this many microseconds about 48 times a second.
fn editor(us: u32) -> String {
    format!("{HOGS}[task.editor]\nprogram = \"forever\\n  timed-sleep exp(20ms)\\n  run {us}us\\n  stop-clock key\\nend\"\n")
}

fn interactive(lab: &Lab, findings: &mut Findings) -> Result<(), Error> {
    const WORK_US: [u32; 3] = [1000, 100, 10];
    let case = |policy: &str, us| {
        let name = format!("editor-{us}us");
        Case::text(policy, "ideal-1", &name, editor(us)).seconds(lab.pick(300, 150))
    };
    let mut table = Table {
        title: "An editor's response beside three hogs".to_string(),
        stubs: vec!["work of a key".to_string(), "scheduler".to_string()],
        fields: ["median", "95 %", "99.9 %", "longest"]
            .map(|name| Field::new(name, Unit::Time).better(Better::Lower))
            .to_vec(),
        subjects: Vec::new(),
        layout: Layout::FieldsAsColumns,
        notes: vec!["The mail has no numbers.".to_string()],
    };
    for (contest, us) in WORK_US.into_iter().enumerate() {
        let done = lab.run(&SCHEDULERS.map(|(_, policy)| case(policy, us)))?;
        let of = |outcome: &CaseResult| {
            let latency = outcome.first().marks[0].latency_ns.expect("keys are timed");
            [latency.p50, latency.p95, latency.p999, latency.max].map(|ns| ns.0 as f64)
        };
        for ((name, _), outcome) in SCHEDULERS.iter().zip(&done) {
            findings.ran(outcome);
            table.subjects.push(Subject {
                labels: vec![format!("{} µs", us), name.to_string()],
                contest,
                cells: of(outcome).map(Cell::number).to_vec(),
            });
        }
        judge(findings, us, of(&done[0]), of(&done[1]));
    }
    findings.table(table);
    Ok(())
}

fn judge(findings: &mut Findings, us: u32, stock: [f64; 4], patched: [f64; 4]) {
    if us == 1000 {
        let ms = |x: [f64; 4]| format!("{:.1}/{:.1}/{:.1} ms", x[0] / 1e6, x[1] / 1e6, x[2] / 1e6);
        let text = format!("{} against {}", ms(patched), ms(stock));
        let unharmed = (0..3).all(|i| (patched[i] - stock[i]).abs() < TICK_NS);
        findings.judge_text("M4", text, "", unharmed);
    } else {
        let change = format!("{us} µs of work for a key, not 1000");
        let lesson =
            "the 99.9th percentile with the patch: the less CPU, the longer until its ticks add up";
        findings.ablation("M4", &change, &Sample::from(patched[2]), Unit::Time, lesson);
    }
}
