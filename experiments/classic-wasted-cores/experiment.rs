//! CPUs that idle while threads wait.

use crate::classic::{of, table, under_all};
use crate::prelude::*;

const MACHINE: &str = "server";

/// A database whose threads work on every CPU and rest for a moment now and then, and kernel threads that get
/// in the way of some of them: what the paper saw under TPC-H.
const DATABASE: &str = r#"[task.worker]
count = 128
process = "database"
program = """
forever
  run uniform(2ms, 8ms)
  mark piece
  sleep 100us
end
"""

[task.kworker]
count = 16
cpus = "{i * 8}"
program = """
forever
  sleep exp(50ms)
  run 2ms
end
"""
"#;

/// Two processes that count much, each alone on a cache of eight CPUs, and a make on the CPUs of one of them.
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
count = 24
cpus = "8-15"
program = """
sleep 50ms
run 1ms
cpus all
forever
  run 1s
end
"""
"#;

pub fn run(lab: &Lab, _: &Paper) -> Result<Findings, Error> {
    let mut findings = Findings::new();
    let text = |name: &'static str, text: &'static str, seconds: u64| {
        move |policy: &str| Trial::text(policy, MACHINE, name, text).seconds(seconds)
    };
    let database = under_all(lab, &mut findings, text("wasted-database", DATABASE, lab.pick(5, 1)))?;
    let make = under_all(lab, &mut findings, text("wasted-make-and-r", MAKE_AND_R, 5))?;

    let [cfs, ule] = ["cfs", "ule14"].map(|policy| of(&database, policy).each(idle_cpus));
    let text = format!("{:.2} CPUs idle beside waiting threads, {:.2} under ULE", cfs.median(), ule.median());
    findings.judge_text("K19", text, "", cfs.median() > 10.0 * ule.median());
    let pieces = |policy: &str| of(&database, policy).throughput("piece");
    let gain = pieces("ule14").over(&pieces("cfs")).map(|ratio| ratio - 1.0);
    findings.judge("K20", &gain, Unit::Share, gain.median() > 0.1);
    let longest = of(&make, "cfs").each(longest);
    findings.judge("K21", &longest, Unit::Time, longest.median() > 1e9);

    let fields = vec![
        Field::new("database: CPUs idle while threads wait", Unit::Plain),
        Field::new("wakeup, 99 %", Unit::Time),
        Field::new("pieces", Unit::Rate),
        Field::new("make and R: CPUs idle while threads wait", Unit::Plain),
        Field::new("for how long", Unit::Time),
    ];
    findings.table(table("CPUs that idle while threads wait, of 128", fields, &database, |outcome| {
        let other = of(&make, &outcome.trial.policy);
        vec![
            outcome.each(idle_cpus).cell(),
            outcome.each(wakeup).cell(),
            outcome.throughput("piece").cell(),
            other.each(idle_cpus).cell(),
            other.each(self::longest).cell(),
        ]
    }));
    Ok(findings)
}

/// CPUs that idled while a task waited, on average.
fn idle_cpus(metrics: &Metrics) -> f64 {
    metrics.idle_while_runnable.ns.0 as f64 / metrics.duration_ns.0 as f64
}

/// The longest time in which there always was one, in ns.
fn longest(metrics: &Metrics) -> f64 {
    metrics.idle_while_runnable.longest_ns.0 as f64
}

/// How late the database's threads wake up, 99 % of them, in ns.
fn wakeup(metrics: &Metrics) -> f64 {
    let group = metrics.groups.iter().find(|g| &*g.name == "worker");
    let latency = group.and_then(|g| g.activity.wakeup_latency_ns.as_ref());
    latency.map_or(f64::NAN, |d| d.p99.0 as f64)
}
