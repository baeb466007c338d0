//! CPUs that idle while threads wait.

use std::sync::Arc;

use crate::classic::{of, policies, run as run_all, table};
use crate::prelude::*;

const MACHINE: &str = "server";

/// A thread's piece of work.
const PIECE: &str = "uniform(2ms, 8ms)";

/// A database with threads on every CPU that rest briefly from time to time, and kernel threads that preempt
/// some of them, as in the paper under TPC-H.  `wait` is what a thread does before its next piece of work.
fn database(piece: &str, wait: &str) -> String {
    format!(
        "[task.worker]\ncount = 128\nprocess = \"database\"\nprogram = \"\"\"\n\
         forever\n  run {piece}\n  mark piece\n  sleep 100us\n{wait}end\n\"\"\"\n\n\
         [task.kworker]\ncount = 16\ncpus = \"{{i * 8}}\"\nprogram = \"\"\"\n\
         forever\n  sleep exp(50ms)\n  run 2ms\nend\n\"\"\"\n"
    )
}

/// Two processes with a large weight, each alone on a cache of eight CPUs, and a make with a job for every other
/// CPU, started on the other caches.
const MAKE_AND_R: &str = r#"[task.r]
count = 2
nice = -20
cpus = "{i * 8}"
program = """
forever
  run 1s
end
"""

[task.make]
count = 126
cpus = "16-127"
program = """
sleep 50ms
run 1ms
cpus all
forever
  run 1s
end
"""
"#;

/// The kernels of the paper.
const OF_THE_PAPER: &str = "cfs:4.3";

pub fn run(lab: &Lab, _: &Paper) -> Result<Findings, Error> {
    let mut findings = Findings::new();
    let mut names = policies(lab);
    names.push(OF_THE_PAPER.to_string());
    names.sort();
    let under_all = |findings: &mut Findings, case: fn(&str) -> Case, seconds: u64| {
        let cases: Vec<Case> = names
            .iter()
            .map(|policy| case(policy).seconds(seconds))
            .collect();
        run_all(lab, findings, &cases)
    };
    let database = under_all(&mut findings, alone, lab.pick(5, 1))?;
    let make = under_all(&mut findings, make_and_r, lab.pick(5, 2))?;

    let [cfs, ule] = [OF_THE_PAPER, "ule14"].map(|policy| of(&database, policy).each(idle_cpus));
    let text = format!(
        "{:.2} CPUs idle beside waiting threads, {:.2} under ULE",
        cfs.median(),
        ule.median()
    );
    findings.judge_text("K19", text, "", cfs.median() > 10.0 * ule.median());
    let gain = gain(&database);
    findings.judge("K20", &gain, Unit::Share, gain.median() > 0.1);
    let longest = of(&make, OF_THE_PAPER).each(longest);
    findings.judge("K21", &longest, Unit::Time, longest.median() > 1e9);
    ablations(lab, &mut findings, &make)?;

    let fields = vec![
        Field::new("database: CPUs idle while threads wait", Unit::Plain),
        Field::new("wakeup, 99 %", Unit::Time),
        Field::new("pieces", Unit::Rate),
        Field::new("make and R: CPUs idle while threads wait", Unit::Plain),
        Field::new("for how long", Unit::Time),
    ];
    findings.table(table(
        "CPUs that idle while threads wait, of 128",
        fields,
        &database,
        |outcome| {
            let other = of(&make, &outcome.case.policy);
            vec![
                outcome.each(idle_cpus).cell(),
                outcome.each(wakeup).cell(),
                outcome.throughput("piece").cell(),
                other.each(idle_cpus).cell(),
                other.each(self::longest).cell(),
            ]
        },
    ));
    Ok(findings)
}

fn alone(policy: &str) -> Case {
    Case::text(policy, MACHINE, "wasted-database", database(PIECE, ""))
}

/// The same with threads that wait for each other after each piece.
fn together(policy: &str, name: &str, piece: &str) -> Case {
    let barrier = "[barrier.step]\ntasks = 128\n\n".to_string();
    let text = barrier + &database(piece, "  barrier step\n");
    Case::text(policy, MACHINE, &format!("wasted-database-{name}"), text)
}

fn make_and_r(policy: &str) -> Case {
    Case::text(policy, MACHINE, "wasted-make-and-r", MAKE_AND_R)
}

/// How much more a database does under ULE of FreeBSD 14, as a share.
fn gain(database: &[Arc<CaseResult>]) -> Sample {
    let pieces = |policy: &str| of(database, policy).throughput("piece");
    pieces("ule14")
        .over(&pieces(OF_THE_PAPER))
        .map(|ratio| ratio - 1.0)
}

/// K20 with threads that wait for each other; K21 with groups also compared by their spare capacity.
fn ablations(lab: &Lab, findings: &mut Findings, make: &[Arc<CaseResult>]) -> Result<(), Error> {
    for (change, name, piece, lesson) in [
        (
            "a barrier for all threads after each piece",
            "barrier",
            PIECE,
            "who is late holds up everybody",
        ),
        (
            "the same, and pieces of 4 to 6 ms",
            "even",
            "uniform(4ms, 6ms)",
            "so more often if no piece is longer than others anyway",
        ),
    ] {
        let cases = [OF_THE_PAPER, "ule14"]
            .map(|policy| together(policy, name, piece).seconds(lab.pick(5, 1)));
        let gain = gain(&run_all(lab, findings, &cases)?);
        findings.ablation("K20", change, &gain, Unit::Share, lesson);
    }
    let roomy = run_all(
        lab,
        findings,
        &[make_and_r(OF_THE_PAPER)
            .seconds(lab.pick(5, 2))
            .set("load_only", 0)],
    )?;
    for (change, fixed) in [
        ("load_only=0: room counts before load", &*roomy[0]),
        ("CFS 6.5, which has that", of(make, "cfs")),
    ] {
        let gain = fixed
            .share("make")
            .over(&of(make, OF_THE_PAPER).share("make"))
            .map(|ratio| ratio - 1.0);
        let lesson = format!(
            "the make gets {} more of the CPUs",
            Unit::Share.show(gain.median())
        );
        findings.ablation("K21", change, &fixed.each(longest), Unit::Time, &lesson);
    }
    Ok(())
}

/// CPUs that idled while a task waited, on average.
fn idle_cpus(metrics: &Metrics) -> f64 {
    metrics.idle_while_runnable.ns.0 as f64 / metrics.duration_ns.0 as f64
}

/// The longest time in which there was always such a CPU, in ns.
fn longest(metrics: &Metrics) -> f64 {
    metrics.idle_while_runnable.longest_ns.0 as f64
}

/// The wakeup latency of the database's threads, 99th percentile, in ns.
fn wakeup(metrics: &Metrics) -> f64 {
    let group = metrics.groups.iter().find(|g| &*g.name == "worker");
    let latency = group.and_then(|g| g.activity.wakeup_latency_ns.as_ref());
    latency.map_or(f64::NAN, |d| d.p99.0 as f64)
}
