//! The comparison as Markdown.

use super::compare::{Both, Compared};

/// What the simulator aims at.
const SHARE_POINTS: f64 = 2.0;
const SWITCHES_PERCENT: f64 = 10.0;
const DELAY_PERCENT: f64 = 20.0;

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
    let met = |runs: &[Compared], name: String| {
        let count = |met: fn(&Compared) -> bool| {
            let met = runs.iter().filter(|run| met(run)).count();
            format!("{met} of {}", runs.len())
        };
        [
            name,
            count(|run| run.share_points <= SHARE_POINTS),
            count(|run| run.switches.error_percent().abs() <= SWITCHES_PERCENT),
            count(|run| run.delay_p50.wait_error_percent().abs() <= DELAY_PERCENT),
            count(|run| run.delay_p99.wait_error_percent().abs() <= DELAY_PERCENT),
            count(|run| {
                run.per_second
                    .is_none_or(|both| both.error_percent().abs() <= SWITCHES_PERCENT)
            }),
        ]
    };
    for (workload, runs) in workloads.iter().zip(compared.chunks(nr_policies)) {
        rows.push(met(runs, format!("`{workload}`")));
    }
    rows.push(met(compared, "all".to_string()));
    format!("Policies within the aim:\n\n{}", aligned(&rows))
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
        let ms = |both: Both| format!("{:.2} / {:.2}", both.sim / 1e6, both.real / 1e6);
        let count = |both: Both| format!("{:.0} / {:.0}", both.sim, both.real);
        let missed = |value: f64, aim: f64| match value.abs() <= aim {
            true => format!("{value:.1}"),
            false => format!("**{value:.1}**"),
        };
        rows.push([
            format!("`{policy}`"),
            missed(run.share_points, SHARE_POINTS),
            count(run.switches),
            missed(run.switches.error_percent(), SWITCHES_PERCENT),
            ms(run.delay_p50),
            missed(run.delay_p50.wait_error_percent(), DELAY_PERCENT),
            ms(run.delay_p99),
            missed(run.delay_p99.wait_error_percent(), DELAY_PERCENT),
            run.per_second.map_or_else(|| "–".into(), count),
            run.per_second.map_or_else(
                || "–".into(),
                |both| missed(both.error_percent(), SWITCHES_PERCENT),
            ),
        ]);
    }
    aligned(&rows)
}

/// A table whose columns stand below one another as text, too; the first row is its head.
fn aligned<const N: usize>(rows: &[[String; N]]) -> String {
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
