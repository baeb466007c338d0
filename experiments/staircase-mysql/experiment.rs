//! sysbench in all modes; and the claims about both tests.

use crate::prelude::*;
use crate::staircase::{in_modes, latency_bars, longer, percent, table, Runs, INT0, INT1, O1};

pub fn run(lab: &Lab, _: &Paper) -> Result<Findings, Error> {
    let mut findings = Findings::new();
    let seeds = lab.pick(10, 3);
    let line = "sysbench-oltp -t 8 -n 10000";
    let mysql = in_modes(lab, &mut findings, 4, line, seeds)?;
    let apache = in_modes(lab, &mut findings, 4, "ab", seeds)?;
    let (by_apache, by_mysql) = (burst(&apache), burst(&mysql));
    let text = format!(
        "int1 over int0: Apache {}, MySQL {}",
        percent(by_apache),
        percent(by_mysql)
    );
    findings.judge_text("S3", text, "", by_apache > 0.001 && by_mysql < -0.001);
    no_cache(lab, &mut findings)?;
    worst(lab, &mut findings, &apache, &mysql, seeds)?;
    let lowest = [&apache, &mysql].iter().all(|all| {
        let o1 = all[O1].major_min.mean();
        all[1..]
            .iter()
            .all(|mode| o1 <= 1.01 * mode.major_min.mean())
    });
    let ms = |all: &[Runs], mode: usize| all[mode].major_min.mean() / 1e6;
    let text = format!(
        "Apache {:.0} ms against {:.0} and {:.0}, MySQL {:.0} ms against {:.0} and {:.0}",
        ms(&apache, O1),
        ms(&apache, INT0),
        ms(&apache, INT1),
        ms(&mysql, O1),
        ms(&mysql, INT0),
        ms(&mysql, INT1),
    );
    findings.judge_text("S5", text, "", lowest);
    let gap = longer(&mysql[INT1].seconds, &mysql[O1].seconds);
    findings.judge_text("S7", percent(gap), "", (0.01..0.04).contains(&gap));
    bottlenecks(lab, &mut findings)?;
    let note = "Means of all runs. The article has 137.0962 s for O(1) and 140.4485 s for interactive=1, without deviations.";
    findings.table(table(line, &mysql, note));
    findings.exhibit_of(
        latency_bars("Latency of transactions, MySQL", &mysql).figure(),
        "From the article's prose: max-min of O(1) about 1.69 s, of int0 about 1.28 s.",
        &["S4", "S5"],
        |command| command.contains(&format!("'{line}'")),
    );
    Ok(findings)
}

/// How much longer runs take with bursts than without.
fn burst(all: &[Runs]) -> f64 {
    longer(&all[INT1].seconds, &all[INT0].seconds)
}

fn worst(
    lab: &Lab,
    findings: &mut Findings,
    apache: &[Runs],
    mysql: &[Runs],
    seeds: u64,
) -> Result<(), Error> {
    let lower = |all: &[Runs]| longer(&all[INT0].max_min, &all[O1].max_min);
    let (on_apache, on_mysql) = (lower(apache), lower(mysql));
    let text = format!("Apache {}, MySQL {}", percent(on_apache), percent(on_mysql));
    findings.judge_text("S4", text, "", on_apache < -0.05 && on_mysql < -0.05);
    for servers in [50, 150] {
        let line = format!("ab --start-servers {servers}");
        let all = in_modes(lab, findings, 2, &line, seeds)?;
        let change = format!("Apache starts with {servers} servers, not 8");
        let sample = Sample::from(lower(&all));
        findings.ablation(
            "S4",
            &change,
            &sample,
            Unit::Share,
            "int0's max-min over O(1)'s, Apache",
        );
    }
    Ok(())
}

/// The effect of bursts on Apache if switches between servers cost no working set.
fn no_cache(lab: &Lab, findings: &mut Findings) -> Result<(), Error> {
    let apache = in_modes(lab, findings, 4, "ab --working-set 0KiB", lab.pick(3, 2))?;
    let gain = Sample::from(burst(&apache));
    let change = "working set of a server 0 KiB, not 64";
    findings.ablation(
        "S3",
        change,
        &gain,
        Unit::Share,
        "how much longer int1 takes than int0, Apache",
    );
    Ok(())
}

/// MySQL with another bottleneck than the disk.
fn bottlenecks(lab: &Lab, findings: &mut Findings) -> Result<(), Error> {
    for (change, options) in [
        ("no disk: the CPU is the bottleneck", "--read 0 --flush 0"),
        (
            "disk of 3 ms a transaction: both are",
            "--read 2ms --flush 1ms",
        ),
        (
            "a table of 400 rows, four of them hot: locks are",
            "--read 0 --rows 400",
        ),
    ] {
        let line = format!("sysbench-oltp -t 8 -n 2000 {options}");
        let all = in_modes(lab, findings, 3, &line, lab.pick(3, 1))?;
        let majority = |mode: usize| all[mode].major_min.mean() / all[O1].major_min.mean();
        let changed = [
            (
                "S3",
                burst(&all),
                Unit::Share,
                "how much longer int1 takes than int0, MySQL",
            ),
            (
                "S5",
                majority(INT0),
                Unit::Plain,
                "int0's 95 %-min over O(1)'s, MySQL",
            ),
            (
                "S5",
                majority(INT1),
                Unit::Plain,
                "int1's 95 %-min over O(1)'s, MySQL",
            ),
            (
                "S7",
                longer(&all[INT1].seconds, &all[O1].seconds),
                Unit::Share,
                "how much longer int1 takes than O(1)",
            ),
        ];
        for (id, value, unit, lesson) in changed {
            findings.ablation(id, change, &Sample::from(value), unit, lesson);
        }
    }
    Ok(())
}
