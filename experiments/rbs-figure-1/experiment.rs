//! Programs alone, and equal tasks.

use std::sync::Arc;

use crate::prelude::*;
use crate::rbs::{faster, KERNELS, MACHINE, RBS, VANILLA};
use crate::turns::Turns;

/// The programs and their working sets, in KiB: assumed.
const PROGRAMS: [(&str, u32); 10] = [
    ("bzip2", 900),
    ("crafty", 512),
    ("vpr", 700),
    ("gap", 900),
    ("gzip", 256),
    ("mcf", 1024),
    ("parser", 800),
    ("perlbmk", 600),
    ("twolf", 700),
    ("vortex", 800),
];

pub fn run(lab: &Lab, _: &Paper) -> Result<Findings, Error> {
    let mut findings = Findings::new();
    let mut groups = Vec::new();
    let mut worst: f64 = 0.0;
    for (name, kib) in PROGRAMS {
        let done = beside_daemon(lab, &mut findings, name, kib, (1000, 1))?;
        let gain = faster(&done[1].seconds(), &done[0].seconds());
        worst = worst.max(gain.median().abs());
        let bar = |(i, ((kernel, _), outcome)): (usize, (&(&str, &str), &Arc<CaseResult>))| Bar {
            name: kernel.to_string(),
            style: Style::Series(i),
            value: outcome.seconds().median() * 1e9,
            interval: None,
        };
        groups.push(BarGroup {
            name: name.to_string(),
            bars: KERNELS.iter().zip(&done).enumerate().map(bar).collect(),
        });
    }
    let text = format!("at most {:.4} % apart", 100.0 * worst);
    findings.judge_text("R2", text, "", worst < 0.001);
    let bars = Bars {
        title: "Single programs".to_string(),
        unit: Unit::Time,
        width: schedlab_report::svg::WIDTH,
        groups,
    };
    let caption = "Ten programs of 100 s of work. The paper draws Staircase \"significantly worse in every case\", without numbers; here all are alike.";
    findings.exhibit_of(bars.figure(), caption, &["R2"], |_| true);
    busier_daemons(lab, &mut findings)?;
    alike(lab, &mut findings)?;
    Ok(findings)
}

/// A program beside a daemon that sleeps and runs for these times in ms, under each kernel.
fn beside_daemon(
    lab: &Lab,
    findings: &mut Findings,
    name: &str,
    kib: u32,
    (sleep_ms, run_ms): (u32, u32),
) -> Result<Vec<Arc<CaseResult>>, Error> {
    let text = format!(
        "[task.{name}]\nworking_set = \"{kib}KiB\"\nprogram = \"run 100s\"\n\
         [task.daemon]\nbackground = true\nworking_set = \"64KiB\"\n\
         program = \"forever\\n  sleep exp({sleep_ms}ms)\\n  run {run_ms}ms\\nend\"\n"
    );
    let workload = format!("{name}-beside-{run_ms}-in-{}", sleep_ms + run_ms);
    let cases = KERNELS.map(|(_, policy)| Case::text(policy, MACHINE, &workload, text.clone()));
    let done = lab.run(&cases)?;
    done.iter().for_each(|outcome| findings.ran(outcome));
    Ok(done)
}

/// R2 beside daemons that do more work than the assumed one.
fn busier_daemons(lab: &Lab, findings: &mut Findings) -> Result<(), Error> {
    let (name, kib) = PROGRAMS[0];
    for (daemon, part) in [((100, 1), "1 %"), ((9, 1), "a tenth"), ((10, 10), "half")] {
        let done = beside_daemon(lab, findings, name, kib, daemon)?;
        let gain = faster(&done[1].seconds(), &done[0].seconds());
        let change = format!("a daemon that takes {part} of the CPU, beside {name}");
        findings.ablation(
            "R2",
            &change,
            &gain,
            Unit::Share,
            "by so much RBS is faster",
        );
    }
    Ok(())
}

fn alike(lab: &Lab, findings: &mut Findings) -> Result<(), Error> {
    let cases =
        [VANILLA, RBS].map(|policy| Case::new(policy, MACHINE, "hogs --count 4").seconds(60));
    let observed = lab.observe(&cases, Turns::default)?;
    let mut turns = Vec::new();
    for (case, mut runs) in cases.iter().zip(observed) {
        let (hash, stays) = runs.remove(0);
        findings.runs.insert(case.command(), vec![hash.to_string()]);
        turns.push(stays.of("hog-nice0"));
    }
    let order =
        |turns: &[(schedlab_trace::TaskId, u64)]| -> Vec<_> { turns.iter().map(|t| t.0).collect() };
    let near = |(a, b): (&(_, u64), &(_, u64))| (a.1 as f64 / b.1 as f64 - 1.0).abs() < 0.001;
    let same = order(&turns[0]) == order(&turns[1]);
    let holds = same && turns[0].iter().zip(&turns[1]).all(near);
    let text = match holds {
        true => format!("the same {} turns", turns[0].len()),
        false => format!(
            "{} turns against {}, order the same: {same}",
            turns[1].len(),
            turns[0].len()
        ),
    };
    findings.judge_text("R6", text, "", holds);
    Ok(())
}
