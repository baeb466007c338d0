//! Throughput in messages a second.

use crate::elsc::{pair, ELSC, KERNELS, ROOMS, STOCK};
use crate::prelude::*;

pub fn run(lab: &Lab, _: &Paper) -> Result<Findings, Error> {
    let mut findings = Findings::new();
    let mut higher = true;
    let mut smallest_gain = f64::INFINITY;
    let mut gains_grow = true;
    for (kernel, machine) in KERNELS {
        let (mut stock_line, mut elsc_line, mut gains) = (vec![], vec![], vec![]);
        for rooms in ROOMS {
            let (stock, elsc) = pair(lab, machine, rooms)?;
            findings.ran(&stock);
            findings.ran(&elsc);
            let (s, e) = (stock.throughput("message"), elsc.throughput("message"));
            stock_line.push((f64::from(rooms), s.median()));
            elsc_line.push((f64::from(rooms), e.median()));
            let gain = e.over(&s);
            higher &= gain.min() > 1.0;
            smallest_gain = smallest_gain.min(gain.min());
            gains.push(gain.median());
        }
        gains_grow &= gains.last() > gains.first();
        findings.exhibit_of(
            plot(kernel, stock_line, elsc_line),
            format!("{kernel} kernel. The paper's curves have no numbers in its text; its statement is that ELSC's is higher."),
            &["E4"],
            |command| command.contains(machine),
        );
    }
    findings.judge_text(
        "E4",
        format!(
            "at least {:+.1} %; grows with rooms: {}",
            100.0 * (smallest_gain - 1.0),
            if gains_grow { "yes" } else { "no" }
        ),
        "",
        higher && gains_grow,
    );
    if lab.thorough() {
        unstated(lab, &mut findings)?;
    }
    Ok(findings)
}

/// ELSC's gain on 4P with 20 rooms, for VolanoMark parameters that the paper does not state.
fn unstated(lab: &Lab, findings: &mut Findings) -> Result<(), Error> {
    let changes = [
        (
            "packets of half the work",
            "--write 40us --read 35us --put 7us",
        ),
        (
            "packets of twice the work",
            "--write 160us --read 140us --put 30us",
        ),
        (
            "packets that vary more (sigma 0.8, not 0.2)",
            "--variation 0.8",
        ),
        ("threads that touch 64 KiB, not 8", "--working-set 64KiB"),
    ];
    for (change, options) in changes {
        let line = format!("volanomark --rooms 20 --count 10 {options}");
        let cases = [STOCK, ELSC].map(|policy| Case::new(policy, "netfinity-7000-4p", &line));
        let done = lab.run(&cases)?;
        done.iter().for_each(|outcome| findings.ran(outcome));
        let gain = done[1]
            .throughput("message")
            .over(&done[0].throughput("message"));
        let lesson = "ELSC's throughput over stock's, 4P, 20 rooms";
        findings.ablation("E4", change, &gain, Unit::Plain, lesson);
    }
    Ok(())
}

fn plot(
    kernel: &str,
    stock: Vec<(f64, f64)>,
    elsc: Vec<(f64, f64)>,
) -> schedlab_report::svg::Figure {
    let top = stock.iter().chain(&elsc).map(|p| p.1).fold(0.0, f64::max);
    let mut plot = Plot::new(
        &format!("VolanoMark throughput, {kernel}"),
        Axis::linear("rooms", Unit::Count, 5.0, 20.0),
        Axis::linear("messages a second", Unit::Rate, 0.0, 1.1 * top),
    );
    let line = |name: &str, style, points| Series {
        name: name.to_string(),
        style: Style::Series(style),
        points,
    };
    plot.lines(&[line("stock 2.3.99", 0, stock), line("ELSC", 1, elsc)]);
    plot.finish()
}
