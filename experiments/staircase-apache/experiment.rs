//! ab -c 150 -n 4000 in all modes.

use crate::prelude::*;
use crate::staircase::Mode;
use crate::staircase::{in_modes, latency_bars, longer, percent, table, COMPUTE, INT0, INT1, O1};

pub fn run(lab: &Lab, paper: &Paper) -> Result<Findings, Error> {
    let mut findings = Findings::new();
    let seeds = lab.pick(10, 5);
    let all = in_modes(lab, &mut findings, 4, "ab", seeds)?;
    let late = |mode: usize| longer(&all[mode].seconds, &all[O1].seconds);
    let equal = late(INT0).abs() < 0.01 && late(INT1).abs() < 0.01;
    let text = format!(
        "int0 {}, int1 {} over O(1)",
        percent(late(INT0)),
        percent(late(INT1))
    );
    findings.judge_text("S1", text, "", equal);
    let others = [0.0, late(INT0), late(INT1)];
    let slowest = others.iter().all(|other| late(COMPUTE) > other + 0.001);
    findings.judge_text(
        "S2",
        format!("{} over O(1)", percent(late(COMPUTE))),
        "",
        slowest,
    );
    let major = |mode: usize| all[mode].major_min.mean();
    let best = major(COMPUTE) < major(INT0) && major(COMPUTE) < major(INT1);
    let worst = all[COMPUTE].max_min.mean();
    let text = format!(
        "95 %-min {:.2} s, max-min {:.1} s",
        major(COMPUTE) / 1e9,
        worst / 1e9
    );
    findings.judge_text("S6", text, "", best && worst > 5e9);
    let note = "Means of all runs. The article has 16.356 s (deviation 0.232), 16.418 (0.211), 16.423 (0.156) for the first three.";
    findings.table(table("ab -c 150 -n 4000", &all, note));
    findings.exhibit_of(
        latency_bars("Latency of requests, Apache", &all).figure(),
        "Bars are means, lines reach from the least to the largest run. From the article's prose: max-min of O(1) about 5.42 s, of int0 about 3.70 s (S4, S5).",
        &["S6"],
        |_| true,
    );
    findings.exhibit_of(
        completion(paper, &all),
        "Completion time; the article's where it has a number.",
        &["S1", "S2"],
        |_| true,
    );
    for kib in [0, 16, 256] {
        let line = format!("ab --working-set {kib}KiB");
        let some = in_modes(lab, &mut findings, 4, &line, lab.pick(3, 2))?;
        let change = format!("working set of a server {kib} KiB, not 64");
        for (id, mode, lesson) in [
            ("S1", INT0, "how much longer int0 takes than O(1)"),
            ("S2", COMPUTE, "how much longer compute takes than O(1)"),
        ] {
            let more = some[mode].seconds.over(&some[O1].seconds).map(|x| x - 1.0);
            findings.ablation(id, &change, &more, Unit::Share, lesson);
        }
    }
    Ok(findings)
}

fn completion(paper: &Paper, all: &[crate::staircase::Runs]) -> schedlab_report::svg::Figure {
    let bar = |name: &str, style, seconds: f64, sd: f64| Bar {
        name: name.to_string(),
        style: Style::Series(style),
        value: seconds * 1e9,
        interval: Some(((seconds - sd) * 1e9, (seconds + sd) * 1e9)),
    };
    let groups = crate::staircase::MODES
        .iter()
        .zip(all)
        .zip(["o1", "int0", "int1", ""]);
    let group = |(((mode, _, _), runs), key): ((&Mode, &crate::staircase::Runs), &str)| {
        let mut bars = vec![bar("here", 0, runs.seconds.mean(), runs.seconds.sd())];
        if !key.is_empty() {
            bars.push(bar(
                "article",
                1,
                paper.value(key),
                paper.value(&format!("{key}_sd")),
            ));
        }
        BarGroup {
            name: mode.to_string(),
            bars,
        }
    };
    Bars {
        title: "Completion time, Apache".to_string(),
        unit: Unit::Time,
        width: schedlab_report::svg::WIDTH,
        groups: groups.map(group).collect(),
    }
    .figure()
}
