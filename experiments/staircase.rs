//! Helpers of the experiments of Santosa's article: its modes and its definitions of latency.

use schedlab_trace::{Event, EventKind, Sink, Time};

use crate::prelude::*;

/// A mode's name, its policy, and the tunables that set it.
pub type Mode = (&'static str, &'static str, &'static [(&'static str, i64)]);

/// The article's machine.
pub const MACHINE: &str = "athlon-xp-1800";
/// The modes: the article's name, the policy and its sysctls.
pub const MODES: [Mode; 4] = [
    ("O(1)", "o1:2.6.10", &[]),
    (
        "Staircase int0 comp0",
        "staircase:10.5",
        &[("interactive", 0)],
    ),
    ("Staircase int1 comp0", "staircase:10.5", &[]),
    ("Staircase compute", "staircase:10.5", &[("compute", 1)]),
];
/// Numbers of these in [`MODES`].
pub const O1: usize = 0;
/// Bursts off.
pub const INT0: usize = 1;
/// Bursts on.
pub const INT1: usize = 2;
/// Ten times longer steps.
pub const COMPUTE: usize = 3;

/// All that was timed in a run.
#[derive(Default, Debug)]
pub struct Requests {
    ns: Vec<u64>,
    end: Time,
}

impl Sink for Requests {
    fn event(&mut self, event: &Event) {
        if let EventKind::Latency { ns, .. } = event.kind {
            self.ns.push(ns.0);
        }
    }

    fn end(&mut self, time: Time) {
        self.end = time;
        self.ns.sort_unstable();
    }
}

impl Requests {
    /// Whole run, in seconds.
    fn seconds(&self) -> f64 {
        self.end.0 as f64 / 1e9
    }

    /// "Maximum to minimum difference", in ns.
    fn max_min(&self) -> f64 {
        (self.ns[self.ns.len() - 1] - self.ns[0]) as f64
    }

    /// "Majority (95% value) to minimum difference", in ns.
    fn major_min(&self) -> f64 {
        let rank = (self.ns.len() * 95).div_ceil(100) - 1;
        (self.ns[rank] - self.ns[0]) as f64
    }
}

/// The article's measurements of a run, in ns.
pub struct Served {
    /// Until the last request was served.
    pub completion: f64,
    /// Longest minus shortest request.
    pub max_min: f64,
    /// 95th percentile minus shortest.
    pub major_min: f64,
}

impl Requests {
    /// All three, if anything was timed.
    pub fn served(&self) -> Option<Served> {
        let one = || Served {
            completion: 1e9 * self.seconds(),
            max_min: self.max_min(),
            major_min: self.major_min(),
        };
        (!self.ns.is_empty()).then(one)
    }
}

impl Served {
    /// The numbers printed by ab or sysbench.
    pub fn printed(text: &str) -> Option<Served> {
        let of = |completion, [least, most, majority]: [Option<f64>; 3]| {
            let least = least?;
            Some(Served {
                completion: 1e9 * completion?,
                max_min: 1e6 * (most? - least),
                major_min: 1e6 * (majority? - least),
            })
        };
        let number = |label, place| number(text, label, place);
        let ab = [number("Total:", 0), number("Total:", 4), number("95%", 0)];
        let sysbench = [
            number("min:", 0),
            number("max:", 0),
            number("95th percentile:", 0),
        ];
        of(number("Time taken for tests:", 0), ab)
            .or_else(|| of(number("total time:", 0), sysbench))
    }
}

/// A number in the line that begins with a label, by its place.
fn number(text: &str, label: &str, place: usize) -> Option<f64> {
    let mut lines = text.lines().map(str::trim_start);
    let words = lines.find_map(|line| line.strip_prefix(label))?;
    words
        .split_whitespace()
        .nth(place)?
        .trim_end_matches('s')
        .parse()
        .ok()
}

/// The runs of one mode.
pub struct Runs {
    /// Completion times.
    pub seconds: Sample,
    /// Worst case: longest minus shortest request, in ns.
    pub max_min: Sample,
    /// Common case: 95th percentile minus shortest, in ns.
    pub major_min: Sample,
}

/// A workload in a mode.
pub fn case((_, policy, set): &Mode, workload: &str) -> Case {
    let case = Case::new(policy, MACHINE, workload);
    set.iter()
        .fold(case, |case, (name, value)| case.set(name, *value))
}

/// A workload in the first `modes` modes.
pub fn in_modes(
    lab: &Lab,
    findings: &mut Findings,
    modes: usize,
    workload: &str,
    seeds: u64,
) -> Result<Vec<Runs>, Error> {
    let modes = MODES[..modes].iter();
    let cases: Vec<Case> = modes
        .map(|mode| case(mode, workload).seeds(seeds))
        .collect();
    let observed = lab.observe_once::<Requests>(&cases)?;
    let mut all = Vec::new();
    for (case, runs) in cases.iter().zip(observed) {
        let hashes = runs.iter().map(|run| run.hash.to_string()).collect();
        findings.runs.insert(case.command(), hashes);
        let each = |value: fn(&Requests) -> f64| runs.iter().map(|run| value(run)).collect();
        all.push(Runs {
            seconds: each(Requests::seconds),
            max_min: each(Requests::max_min),
            major_min: each(Requests::major_min),
        });
    }
    Ok(all)
}

/// Completion time and latencies of all modes, as the article's Tables 1 to 4 have them.
pub fn table(title: &str, all: &[Runs], note: &str) -> Table {
    let row = |((name, _, _), runs): (&Mode, &Runs)| Subject {
        labels: vec![name.to_string()],
        contest: 0,
        cells: vec![
            Cell::number(runs.seconds.mean() * 1e9),
            Cell::number(runs.seconds.sd() * 1e9),
            Cell::number(runs.max_min.mean()),
            Cell::number(runs.max_min.sd()),
            Cell::number(runs.major_min.mean()),
            Cell::number(runs.major_min.sd()),
        ],
    };
    let names = [
        "completion",
        "deviation",
        "max-min",
        "its deviation",
        "95 %-min",
        "deviation of it",
    ];
    Table {
        title: title.to_string(),
        stubs: vec!["scheduler".to_string()],
        fields: names.map(|name| Field::new(name, Unit::Time)).to_vec(),
        subjects: MODES.iter().zip(all).map(row).collect(),
        layout: Layout::FieldsAsColumns,
        notes: vec![note.to_string()],
    }
}

/// Both latencies of all modes as bars.
pub fn latency_bars(title: &str, all: &[Runs]) -> Bars {
    let group = |name: &str, of: fn(&Runs) -> &Sample| BarGroup {
        name: name.to_string(),
        bars: MODES
            .iter()
            .zip(all)
            .enumerate()
            .map(|(i, ((mode, _, _), runs))| Bar {
                name: mode.to_string(),
                style: Style::Series(i),
                value: of(runs).mean(),
                interval: Some((of(runs).min(), of(runs).max())),
            })
            .collect(),
    };
    Bars {
        title: title.to_string(),
        unit: Unit::Time,
        width: schedlab_report::svg::WIDTH,
        groups: vec![
            group("max-min", |r| &r.max_min),
            group("95 %-min", |r| &r.major_min),
        ],
    }
}

/// How much longer the mean is than the other's, as a share.
pub fn longer(this: &Sample, than: &Sample) -> f64 {
    this.mean() / than.mean() - 1.0
}

/// A share as a signed percentage.
pub fn percent(share: f64) -> String {
    format!("{:+.2} %", 100.0 * share)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(text: &str) -> Option<[f64; 3]> {
        Served::printed(text).map(|s| [s.completion, s.max_min, s.major_min])
    }

    #[test]
    fn what_ab_and_sysbench_print_is_read() {
        let ab = "Time taken for tests:   2.819 seconds\n              min  mean[+/-sd] median   max\n\
                  Total:         29  621 173.8    699     741\n\n  95%    725\n 100%    741 (longest request)\n";
        assert_eq!(numbers(ab), Some([2.819e9, 712e6, 696e6]));
        let sysbench = "    total time:                          1.5000s\nLatency (ms):\n         min:    17.50\n\
                        avg:    36.27\n         max:    67.75\n         95th percentile:    46.75\n";
        assert_eq!(numbers(sysbench), Some([1.5e9, 50.25e6, 29.25e6]));
        assert_eq!(numbers("FATAL: unable to connect"), None);
    }
}
