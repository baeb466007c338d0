//! The comparison as Markdown.

use super::compare::{Both, Compared, Figure};

/// The aims of the simulator.
const SHARE_POINTS: f64 = 2.0;
const COUNT_PERCENT: f64 = 10.0;
const DELAY_PERCENT: f64 = 20.0;

/// Whether an aim is met.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Met,
    /// Missed, but the simulator's figures with other seeds are both lower and higher than the kernel's.
    Chance,
    Missed,
}

impl Verdict {
    fn of(error: f64, aim: f64, by_chance: bool) -> Verdict {
        match error.abs() <= aim {
            true => Verdict::Met,
            false if by_chance => Verdict::Chance,
            false => Verdict::Missed,
        }
    }

    fn mark(self, text: String) -> String {
        match self {
            Verdict::Met => text,
            Verdict::Chance => format!("*{text}*"),
            Verdict::Missed => format!("**{text}**"),
        }
    }
}

/// An error, and its verdict.
type Judged = (f64, Verdict);

fn shares(run: &Compared) -> Judged {
    let points = run.share_points();
    (
        points,
        Verdict::of(points, SHARE_POINTS, run.shares_by_chance()),
    )
}

fn count(figure: &Figure) -> Judged {
    let error = figure.both.error_percent();
    (error, Verdict::of(error, COUNT_PERCENT, figure.by_chance()))
}

fn delay(figure: &Figure) -> Judged {
    let error = figure.both.wait_error_percent();
    (error, Verdict::of(error, DELAY_PERCENT, figure.by_chance()))
}

/// Shares, switches, run delay p50 and p99, and throughput if the workload has one.
fn judged(run: &Compared) -> [Option<Judged>; 5] {
    [
        Some(shares(run)),
        Some(count(&run.switches)),
        Some(delay(&run.delay_p50)),
        Some(delay(&run.delay_p99)),
        run.per_second.as_ref().map(count),
    ]
}

/// A table for each workload, behind one that says how many aims were met.
pub fn markdown(policies: &[String], workloads: &[String], compared: &[Compared]) -> String {
    let mut text = summary(workloads, policies.len(), compared);
    for (workload, compared) in workloads.iter().zip(compared.chunks(policies.len())) {
        text += &format!("\n### `{workload}`\n\n");
        text += &table(policies, compared);
    }
    text
}

fn summary(workloads: &[String], nr_policies: usize, compared: &[Compared]) -> String {
    let mut rows = vec![[
        "workload",
        "shares",
        "switches",
        "run delay p50",
        "run delay p99",
        "throughput",
    ]
    .map(str::to_string)];
    for (workload, runs) in workloads.iter().zip(compared.chunks(nr_policies)) {
        rows.push(tally(format!("`{workload}`"), runs));
    }
    rows.push(tally("all".to_string(), compared));
    format!(
        "Policies within the aim, and those that miss it by chance:\n\n{}",
        aligned(&rows)
    )
}

fn tally(name: String, runs: &[Compared]) -> [String; 6] {
    let mut row = vec![name];
    for column in 0..5 {
        let verdicts = runs.iter().filter_map(|run| judged(run)[column]);
        let verdicts: Vec<Verdict> = verdicts.map(|(_, verdict)| verdict).collect();
        let times = |wanted| {
            verdicts
                .iter()
                .filter(|&&verdict| verdict == wanted)
                .count()
        };
        row.push(match (verdicts.len(), times(Verdict::Chance)) {
            (0, _) => "–".into(),
            (all, 0) => format!("{} of {all}", times(Verdict::Met)),
            (all, chance) => format!("{} + {chance} of {all}", times(Verdict::Met)),
        });
    }
    row.try_into().expect("a name and five columns")
}

fn table(policies: &[String], compared: &[Compared]) -> String {
    let head = [
        "policy",
        "shares, points",
        "switches",
        "error %",
        "run delay p50 ms",
        "error %",
        "p99 ms",
        "error %",
        "throughput /s",
        "error %",
    ];
    let mut rows = vec![head.map(str::to_string)];
    for (policy, run) in policies.iter().zip(compared) {
        let ms = |figure: &Figure| {
            let Both { sim, real } = figure.both;
            format!("{:.2} / {:.2}", sim / 1e6, real / 1e6)
        };
        let number = |figure: &Figure| format!("{:.0} / {:.0}", figure.both.sim, figure.both.real);
        let told = |judged: Option<Judged>| {
            judged.map_or_else(|| "–".into(), |(error, v)| v.mark(format!("{error:.1}")))
        };
        let [shares, switches, p50, p99, rate] = judged(run).map(told);
        rows.push([
            format!("`{policy}`"),
            shares,
            number(&run.switches),
            switches,
            ms(&run.delay_p50),
            p50,
            ms(&run.delay_p99),
            p99,
            run.per_second.as_ref().map_or_else(|| "–".into(), number),
            rate,
        ]);
    }
    aligned(&rows)
}

/// A table whose columns stand below one another as text, too; the first row is its head.
pub fn aligned<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or(0)
    };
    let widths: [usize; N] = std::array::from_fn(width);
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(widths).enumerate();
        let cells = cells.map(|(column, (cell, width))| match column {
            0 => format!(" {cell:width$} |"),
            _ => format!(" {cell:>width$} |"),
        });
        format!("|{}\n", cells.collect::<String>())
    };
    let rule = widths
        .iter()
        .enumerate()
        .map(|(column, width)| match column {
            0 => format!("{}|", "-".repeat(width + 2)),
            _ => format!("{}:|", "-".repeat(width + 1)),
        });
    let mut text = line(&rows[0]);
    text += &format!("|{}\n", rule.collect::<String>());
    text + &rows[1..].iter().map(line).collect::<String>()
}
