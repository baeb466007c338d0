//! Builds under three schedulers.

use std::sync::Arc;

use crate::prelude::*;
use crate::rbs::{builds, faster, KERNELS, MACHINE, RBS, VANILLA};

pub fn run(lab: &Lab, paper: &Paper) -> Result<Findings, Error> {
    let mut findings = Findings::new();
    let mut groups = Vec::new();
    let mut subjects = Vec::new();
    let (mut gains, mut over_staircase) = (Vec::new(), Vec::new());
    for (contest, (name, key, workload)) in builds(lab).into_iter().enumerate() {
        let done = times(lab, &mut findings, &workload)?;
        let [vanilla, rbs, staircase] = [0, 1, 2].map(|i| done[i].seconds());
        groups.push(group(name, &[&vanilla, &rbs, &staircase]));
        let gain = faster(&rbs, &vanilla);
        let cells = |over: &str, here: &Sample| {
            vec![
                here.cell(),
                Cell::number(paper.value(&format!("{over}.{key}"))),
            ]
        };
        for (over, label, here) in [
            ("vanilla", "RBS over vanilla", gain.clone()),
            ("staircase", "RBS over Staircase", faster(&rbs, &staircase)),
        ] {
            let labels = vec![name.to_string(), label.to_string()];
            subjects.push(Subject {
                labels,
                contest,
                cells: cells(over, &here),
            });
        }
        gains.push(gain);
        over_staircase.push(faster(&vanilla, &staircase));
    }
    judge(lab, &mut findings, &gains, &over_staircase[2])?;
    findings.table(Table {
        title: "How much faster RBS is".to_string(),
        stubs: vec!["build".to_string(), "compared".to_string()],
        fields: vec![
            Field::new("here", Unit::Share),
            Field::new("paper", Unit::Share),
        ],
        subjects,
        layout: Layout::FieldsAsColumns,
        notes: Vec::new(),
    });
    let bars = Bars {
        title: "Builds (Figures 2 to 4)".to_string(),
        unit: Unit::Time,
        width: schedlab_report::svg::WIDTH,
        groups,
    };
    let caption = "Times of each build; the paper's figures are images without numbers in the text: what it says is in the table.";
    findings.exhibit_of(bars.figure(), caption, &["R1", "R5"], |command| {
        !command.contains("--set")
    });
    Ok(findings)
}

fn times(
    lab: &Lab,
    findings: &mut Findings,
    workload: &str,
) -> Result<Vec<Arc<CaseResult>>, Error> {
    let cases =
        KERNELS.map(|(_, policy)| Case::new(policy, MACHINE, workload).seeds(lab.pick(5, 3)));
    let done = lab.run(&cases)?;
    done.iter().for_each(|outcome| findings.ran(outcome));
    Ok(done)
}

fn group(name: &str, samples: &[&Sample]) -> BarGroup {
    let bar = |(i, ((kernel, _), sample)): (usize, (&(&str, &str), &&Sample))| Bar {
        name: kernel.to_string(),
        style: Style::Series(i),
        value: sample.median() * 1e9,
        interval: sample.summary().map(|s| (s.lo * 1e9, s.hi * 1e9)),
    };
    BarGroup {
        name: name.to_string(),
        bars: KERNELS.iter().zip(samples).enumerate().map(bar).collect(),
    }
}

fn judge(
    lab: &Lab,
    findings: &mut Findings,
    gains: &[Sample],
    slower: &Sample,
) -> Result<(), Error> {
    let [both, kernel, mab] = [0, 1, 2].map(|i| gains[i].median());
    let text = format!(
        "kernel {:+.3} %, MAB {:+.3} %, both {:+.3} %",
        100.0 * kernel,
        100.0 * mab,
        100.0 * both
    );
    findings.judge_text("R1", text, "", both > 0.002 && mab > both && kernel > mab);
    let workload = &builds(lab)[1].2;
    let vanilla = lab.run(&[Case::new(VANILLA, MACHINE, workload).seeds(lab.pick(5, 3))])?;
    for (change, set) in [
        ("window=2", ("window", 2)),
        ("window=4", ("window", 4)),
        ("window=16", ("window", 16)),
        ("window unbounded", ("window", 0)),
        (
            "updated_first=1: all of the last run counts",
            ("updated_first", 1),
        ),
    ] {
        let case = Case::new(RBS, MACHINE, workload)
            .set(set.0, set.1)
            .seeds(lab.pick(5, 3));
        let done = lab.run(&[case])?;
        findings.ran(&done[0]);
        let gain = faster(&done[0].seconds(), &vanilla[0].seconds());
        findings.ablation("R1", change, &gain, Unit::Share, "gain with make -j2");
    }
    findings.judge("R5", slower, Unit::Share, slower.median() > 0.5);
    let policies = [VANILLA, "staircase:10.5"];
    let done = lab.run(&policies.map(|p| Case::new(p, MACHINE, "mab").seeds(lab.pick(5, 3))))?;
    let older = faster(&done[0].seconds(), &done[1].seconds());
    findings.ablation(
        "R5",
        "Staircase 10.5",
        &older,
        Unit::Share,
        "the older version is no slower either",
    );
    Ok(())
}
