//! Migration by push and pull, and the gain of affinity.

use std::sync::Arc;

use crate::prelude::*;
use crate::ule::{change, MACHINE, SMP};

pub fn run(lab: &Lab, _: &Paper) -> Result<Findings, Error> {
    let mut findings = Findings::new();
    three_hogs(lab, &mut findings)?;
    children(lab, &mut findings)?;
    compile(lab, &mut findings)?;
    slower_on_two(lab, &mut findings)?;
    Ok(findings)
}

fn run_one(lab: &Lab, findings: &mut Findings, case: Case) -> Result<Arc<CaseResult>, Error> {
    let outcome = lab.run(&[case])?.remove(0);
    findings.ran(&outcome);
    Ok(outcome)
}

/// CPU time of the slowest of three hogs over that of the fastest.
fn progress(
    lab: &Lab,
    findings: &mut Findings,
    change: impl Fn(Case) -> Case,
) -> Result<Sample, Error> {
    let case = change(Case::new("ule", SMP, "hogs --count 3").seconds(300));
    let outcome = run_one(lab, findings, case)?;
    Ok(outcome.each(|m| {
        let shares = || m.tasks.iter().map(|t| t.activity.cpu_share);
        shares().fold(f64::INFINITY, f64::min) / shares().fold(0.0, f64::max)
    }))
}

fn policy(name: &'static str) -> impl Fn(Case) -> Case {
    move |case| Case {
        policy: name.to_string(),
        ..case
    }
}

/// C37 and C38.
fn three_hogs(lab: &Lab, findings: &mut Findings) -> Result<(), Error> {
    let both = progress(lab, findings, |t| t)?;
    let no_push = progress(lab, findings, |t| t.set("push", 0))?;
    let no_pull = progress(lab, findings, |t| t.set("pull", 0).set("handoff", 0))?;
    findings.judge_text(
        "C37",
        format!(
            "slowest over fastest {:.2}, without push {:.2}",
            both.median(),
            no_push.median()
        ),
        "",
        both.min() > 0.75 && no_push.max() < 0.55,
    );
    findings.judge("C38", &no_push, Unit::Plain, no_push.max() < 0.55);
    findings.ablation(
        "C37",
        "pull=0 handoff=0, push alone",
        &no_pull,
        Unit::Plain,
        "push needs no help with work that lasts",
    );
    let others = [
        (
            "R3, whose push leaves an imbalance of one",
            policy("ule:R3"),
        ),
        ("R2, once a second", policy("ule:R2")),
    ];
    for (name, change) in others {
        let ratio = progress(lab, findings, change)?;
        findings.ablation("C37", name, &ratio, Unit::Plain, "slowest over fastest");
    }
    let o1 = progress(lab, findings, policy("o1:2.5.73"))?;
    findings.ablation(
        "C37",
        "Linux 2.5.73",
        &o1,
        Unit::Plain,
        "slowest over fastest: one thread more than the other is no imbalance to it",
    );
    Ok(())
}

/// The converse of C38: push alone with many short children.
fn children(lab: &Lab, findings: &mut Findings) -> Result<(), Error> {
    let text = "[task.child]\ncount = 0\nprogram = \"run 100ms\"\n\n[task.parent]\nprogram = \"\"\"\nloop 10\n  loop 4\n    fork child\n  end\n  wait-children\nend\n\"\"\"\n";
    let settings: [(&str, &[(&str, i64)]); 4] = [
        ("push, pull and hand-off", &[]),
        ("push alone", &[("pull", 0), ("handoff", 0)]),
        ("pull and hand-off alone", &[("push", 0)]),
        ("neither", &[("push", 0), ("pull", 0), ("handoff", 0)]),
    ];
    let mut bars = Vec::new();
    for (i, (name, set)) in settings.into_iter().enumerate() {
        let case = set.iter().fold(
            Case::text("ule", SMP, "ule-smp-children", text),
            |t, (n, v)| t.set(n, *v),
        );
        let seconds = run_one(lab, findings, case)?.seconds();
        bars.push(Bar {
            name: name.to_string(),
            style: Style::Series(i),
            value: seconds.median() * 1e9,
            interval: None,
        });
        if i > 0 {
            findings.ablation("C38", &format!("{name}, ten times four children of 100 ms"), &seconds.map(|s| s * 1e9), Unit::Time, "2 s would be perfect: pull is for work that comes and goes, push for work that lasts");
        }
    }
    let figure = Bars {
        title: "Ten times four children of 100 ms on two CPUs".to_string(),
        unit: Unit::Time,
        width: schedlab_report::svg::HALF_WIDTH,
        groups: vec![BarGroup {
            name: "time".to_string(),
            bars,
        }],
    };
    let caption = "2 s would be perfect. The paper: pull is for short running, high turnover tasks such as batch compiles.";
    findings.exhibit_of(figure.figure(), caption, &["C38"], |command| {
        command.contains("ule-smp-children")
    });
    Ok(())
}

/// Working sets in KiB.
const SETS: [u64; 4] = [0, 24, 128, LARGEST];
const LARGEST: u64 = 384;
/// Run, sleep and rounds of a compiler.
const PERIODS: [(&str, &str, u32); 4] = [
    ("200ms", "10ms", 6),
    ("20ms", "10ms", 60),
    ("2ms", "10ms", 200),
    ("500us", "1ms", 400),
];

/// Two batches of 30 compilers and nothing else.
fn compilers(
    policy: &str,
    machine: &str,
    set: u64,
    (run, sleep, rounds): (&str, &str, u32),
) -> Case {
    let text = format!(
        "[task.shell]\nprogram = \"\"\"\nloop 2\n  loop 30\n    fork compiler\n  end\n  wait-children\nend\n\"\"\"\n\n\
         [task.compiler]\ncount = 0\nworking_set = \"{set}KiB\"\nprogram = \"\"\"\nloop {rounds}\n  run {run}\n  sleep {sleep}\nend\n\"\"\"\n"
    );
    Case::text(
        policy,
        machine,
        &format!("ule-smp-compilers-{run}-{set}k"),
        text,
    )
}

/// C39.
fn compile(lab: &Lab, findings: &mut Findings) -> Result<(), Error> {
    let mut subjects = Vec::new();
    let mut ratios = Vec::new();
    for (contest, period) in PERIODS.into_iter().enumerate() {
        for set in SETS {
            let done =
                lab.run(&["bsd4", "ule"].map(|policy| compilers(policy, SMP, set, period)))?;
            done.iter().for_each(|outcome| findings.ran(outcome));
            let ratio = done[0].seconds().over(&done[1].seconds());
            ratios.push(ratio.median());
            if set == LARGEST {
                let change = format!("{} of work, {} of sleep, {set} KiB", period.0, period.1);
                findings.ablation(
                    "C39",
                    &change,
                    &ratio,
                    Unit::Plain,
                    "times as long under 4BSD",
                );
            }
            let migrations = |o: &CaseResult| o.each(|m| m.total.nr_migrations as f64).cell();
            let time = |o: &CaseResult| o.seconds().map(|s| s * 1e9).cell();
            subjects.push(Subject {
                labels: vec![format!("{} / {}", period.0, period.1), format!("{set} KiB")],
                contest: contest * SETS.len() + subjects.len(),
                cells: vec![
                    time(&done[0]),
                    time(&done[1]),
                    migrations(&done[0]),
                    migrations(&done[1]),
                ],
            });
        }
    }
    let (least, most) = (
        ratios.iter().copied().fold(f64::INFINITY, f64::min),
        ratios.iter().copied().fold(0.0, f64::max),
    );
    findings.judge_text(
        "C39",
        format!("4BSD takes {least:.2} to {most:.2} times as long as ULE"),
        "",
        (3.0..=5.0).contains(&most),
    );
    findings.table(Table {
        title: "Two batches of 30 compilers on two CPUs".to_string(),
        stubs: vec!["run / sleep".to_string(), "working set".to_string()],
        fields: vec![
            Field::new("4BSD", Unit::Time).better(Better::Lower),
            Field::new("ULE", Unit::Time).better(Better::Lower),
            Field::new("4BSD migrations", Unit::Count),
            Field::new("ULE migrations", Unit::Count),
        ],
        subjects,
        layout: Layout::FieldsAsColumns,
        notes: vec!["The paper: ULE four times faster.".to_string()],
    });
    Ok(())
}

/// C41: a memory-bound program beside twenty that wake every 20 ms.
fn slower_on_two(lab: &Lab, findings: &mut Findings) -> Result<(), Error> {
    let load = |set: u64, sleepers: u32| {
        format!(
            "[task.hog]\nworking_set = \"{set}KiB\"\nprogram = \"run 10s\"\n\n\
             [task.sleeper]\ncount = {sleepers}\nbackground = true\nprogram = \"\"\"\nsleep uniform(0ms, 20ms)\nforever\n  sleep 20ms\n  run 50us\nend\n\"\"\"\n"
        )
    };
    let ratio =
        |findings: &mut Findings, policy: &str, set: u64, sleepers: u32| -> Result<Sample, Error> {
            let case = |machine| {
                Case::text(
                    policy,
                    machine,
                    &format!("ule-smp-hog-{set}k-{sleepers}"),
                    load(set, sleepers),
                )
                .seeds(lab.pick(3, 1))
            };
            let done = lab.run(&[case(SMP), case(MACHINE)])?;
            done.iter().for_each(|outcome| findings.ran(outcome));
            Ok(done[0].seconds().over(&done[1].seconds()))
        };
    let slower = ratio(findings, "bsd4", 384, 20)?;
    findings.judge("C41", &slower, Unit::Plain, slower.min() > 1.0);
    for (policy, set, sleepers, lesson) in [
        ("bsd4", 384, 1, "times as long on two as on one, with a single sleeper: what interrupts the hog is seldom"),
        ("bsd4", 24, 20, "with a small working set: moving costs little"),
        ("ule", 384, 20, "ULE: threads that wake beside the hog are handed off, and what idles pulls the hog when they come"),
    ] {
        let measured = ratio(findings, policy, set, sleepers)?;
        let name = change(&Case::new(policy, SMP, ""));
        findings.ablation("C41", &format!("{name}, {set} KiB beside {sleepers}"), &measured, Unit::Plain, lesson);
    }
    Ok(())
}
