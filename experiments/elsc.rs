//! Helpers of the experiments of Molloy and Honeyman's paper: their VolanoMark runs.

use std::sync::Arc;

use crate::prelude::*;

/// The kernels of the paper's charts, and their machines.
pub const KERNELS: [(&str, &str); 4] = [
    ("UP", "netfinity-7000-up"),
    ("1P", "netfinity-7000-1p"),
    ("2P", "netfinity-7000-2p"),
    ("4P", "netfinity-7000-4p"),
];
/// The rooms of the paper's runs.
pub const ROOMS: [u32; 4] = [5, 10, 15, 20];
/// The schedulers: the paper's kernel is 2.3.99-pre4.
pub const STOCK: &str = "linux24:2.3.99";
/// The paper's own.
pub const ELSC: &str = "elsc";

/// VolanoMark with this number of rooms: the paper's 100 messages for each user, or a tenth of that.
pub fn volanomark(lab: &Lab, policy: &str, machine: &str, rooms: u32) -> Case {
    let count = lab.pick(100, 10);
    let workload = format!("volanomark --rooms {rooms} --count {count}");
    Case::new(policy, machine, &workload).seeds(lab.pick(3, 1))
}

/// The runs of a kernel with this number of rooms: stock, then ELSC.
pub fn pair(
    lab: &Lab,
    machine: &str,
    rooms: u32,
) -> Result<(Arc<CaseResult>, Arc<CaseResult>), Error> {
    pair_of(
        lab,
        [STOCK, ELSC].map(|policy| volanomark(lab, policy, machine, rooms)),
    )
}

/// The outcomes of two cases.
pub fn pair_of(lab: &Lab, cases: [Case; 2]) -> Result<(Arc<CaseResult>, Arc<CaseResult>), Error> {
    let mut done = lab.run(&cases)?.into_iter();
    match (done.next(), done.next()) {
        (Some(stock), Some(elsc)) => Ok((stock, elsc)),
        _ => unreachable!("two cases have two outcomes"),
    }
}

/// Bars by kernel, a pair each.
pub fn bars(title: &str, unit: Unit, groups: &[(&str, Sample, Sample)]) -> Bars {
    let bar = |name: &str, style, sample: &Sample| Bar {
        name: name.to_string(),
        style: Style::Series(style),
        value: sample.median(),
        interval: sample.summary().map(|s| (s.lo, s.hi)),
    };
    let groups = groups.iter().map(|(name, stock, elsc)| BarGroup {
        name: name.to_string(),
        bars: vec![bar("stock 2.3.99", 0, stock), bar("ELSC", 1, elsc)],
    });
    Bars {
        title: title.to_string(),
        unit,
        width: schedlab_report::svg::HALF_WIDTH,
        groups: groups.collect(),
    }
}

/// A number of the scheduler's own accounting, of each seed.
pub fn of_scheduler(
    outcome: &CaseResult,
    value: impl Fn(&schedlab_measure::SchedulerMetrics) -> f64,
) -> Sample {
    outcome.each(|m| m.scheduler.as_ref().map_or(f64::NAN, &value))
}
