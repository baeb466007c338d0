//! Throughput in messages a second.

use crate::elsc::{pair, KERNELS, ROOMS};
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
        findings.exhibit(
            plot(kernel, stock_line, elsc_line),
            format!("{kernel} kernel. The paper's curves have no numbers in its text; its statement is that ELSC's is higher."),
        );
    }
    findings.judge_text(
        "E4",
        format!("at least {:+.1} %; grows with rooms: {}", 100.0 * (smallest_gain - 1.0), if gains_grow { "yes" } else { "no" }),
        "",
        higher && gains_grow,
    );
    Ok(findings)
}

fn plot(kernel: &str, stock: Vec<(f64, f64)>, elsc: Vec<(f64, f64)>) -> schedlab_report::svg::Figure {
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
