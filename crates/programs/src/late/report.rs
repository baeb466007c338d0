//! The output of late: a line each second, a table at the end.

use schedlab_trace::Ns;

use super::{Kind, Tally, What};

/// The state after a second, as a line.
pub fn each_second(second: u64, kinds: &[Kind]) -> String {
    let kinds: Vec<String> = kinds.iter().map(so_far).collect();
    format!("{second:>4} s  {}", kinds.join("   "))
}

fn so_far(kind: &Kind) -> String {
    let sum = Sum::of(&kind.tallies);
    format!(
        "{} {} periods, work {} ms, late {} ms",
        kind.task.name,
        sum.total(What::Periods),
        ms(sum.mean(What::WorkNs, What::Periods)),
        ms(sum.mean(What::LateNs, What::Sleeps)),
    )
}

/// The results: a row for each kind; times in ms, the last columns in s.
pub fn total(kinds: &[Kind], time: Ns) -> String {
    let head = [
        "tasks", "periods", "work", "max", "late", "max", "%CPU", "real s", "sleep s", "vol.",
        "invol.",
    ];
    let width = kinds.iter().map(|kind| kind.task.name.len()).max();
    let width = width.unwrap_or(0);
    let mut text = row(width, "", head.map(str::to_string));
    for kind in kinds {
        text += &row(width, &kind.task.name, cells(kind));
    }
    text + &format!("{:.6} s in all\n", seconds(time.0))
}

fn cells(kind: &Kind) -> [String; 11] {
    let sum = Sum::of(&kind.tallies);
    let real = sum.total(What::RealNs);
    let tasks = kind.tallies.len() as f64;
    [
        kind.tallies.len().to_string(),
        sum.total(What::Periods).to_string(),
        ms(sum.mean(What::WorkNs, What::Periods)),
        ms(sum.most(What::WorkMaxNs) as f64),
        ms(sum.mean(What::LateNs, What::Sleeps)),
        ms(sum.most(What::LateMaxNs) as f64),
        format!(
            "{:.2}",
            sum.total(What::CpuNs) as f64 / real.max(1) as f64 * 100.0
        ),
        format!("{:.3}", seconds(real) / tasks),
        format!("{:.3}", seconds(sum.total(What::SleepNs)) / tasks),
        sum.total(What::Voluntary).to_string(),
        sum.total(What::Involuntary).to_string(),
    ]
}

fn row(width: usize, name: &str, cells: [String; 11]) -> String {
    let cells: String = cells.iter().map(|cell| format!(" {cell:>9}")).collect();
    format!("{name:width$}{cells}\n")
}

fn ms(ns: f64) -> String {
    format!("{:.3}", ns / 1e6)
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// Several tasks together.
struct Sum<'a>(&'a [Tally]);

impl Sum<'_> {
    fn of(tallies: &[Tally]) -> Sum<'_> {
        Sum(tallies)
    }

    fn total(&self, what: What) -> u64 {
        self.0.iter().map(|tally| tally.get(what)).sum()
    }

    fn most(&self, what: What) -> u64 {
        let all = self.0.iter().map(|tally| tally.get(what));
        all.max().unwrap_or(0)
    }

    fn mean(&self, what: What, per: What) -> f64 {
        self.total(what) as f64 / self.total(per).max(1) as f64
    }
}
