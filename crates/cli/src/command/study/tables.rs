//! The tables of docs/whatif.md.

use super::figures::{factor_of, median, Column, Figures, Studied, COLUMNS};
use crate::command::fidelity::aligned;

/// How far the truth has to move for its direction to count.
const MOVED: f64 = 1.1;

/// Everything, as Markdown: first how far predictions are off, then each workload.
pub fn markdown(studied: &[Studied]) -> String {
    let mut text = summary(studied);
    for study in studied {
        text += &format!(
            "\n### `{}`\n\n{}\n{}",
            study.workload,
            about(study),
            table(study)
        );
    }
    text
}

fn name(column: Column) -> &'static str {
    match column {
        Column::Duration => "duration",
        Column::Throughput => "throughput",
        Column::Switches => "switches",
        Column::DelayP50 => "run delay p50",
        Column::DelayP99 => "p99",
    }
}

/// Median factors off, of the predictions and of the null predictor.
fn summary(studied: &[Studied]) -> String {
    let mut head = vec!["workload".to_string(), "waits understood".to_string()];
    head.extend(COLUMNS.map(|column| name(column).to_string()));
    head.push("directions".to_string());
    let mut rows = vec![row::<8>(head)];
    for study in studied {
        rows.push(tally(format!("`{}`", study.workload), &[study]));
    }
    let all: Vec<&Studied> = studied.iter().collect();
    rows.push(tally("all".to_string(), &all));
    format!(
        "Median factor off of the predictions, and in brackets of the null predictor, which says that nothing changes:\n\n{}",
        aligned(&rows)
    )
}

fn row<const N: usize>(cells: Vec<String>) -> [String; N] {
    cells.try_into().expect("as many cells as the head has")
}

fn tally(name: String, studied: &[&Studied]) -> [String; 8] {
    let blocks: u64 = studied.iter().map(|study| study.counts.blocks()).sum();
    let understood: u64 = studied.iter().map(|study| study.counts.understood).sum();
    let share = understood as f64 / blocks.max(1) as f64 * 100.0;
    let mut cells = vec![name, format!("{:.0} %", share.floor())];
    let (mut right, mut moved) = (0, 0);
    for column in COLUMNS {
        let (mut ours, mut nulls) = (Vec::new(), Vec::new());
        for study in studied {
            for (predicted, actual, null) in compared(study, column) {
                ours.push(factor_of(column, predicted, actual));
                nulls.push(factor_of(column, null, actual));
                if factor_of(column, null, actual) > MOVED {
                    moved += 1;
                    right += u32::from((predicted > null) == (actual > null));
                }
            }
        }
        cells.push(match (median(ours), median(nulls)) {
            (Some(ours), Some(null)) => format!("{ours:.2} ({null:.2})"),
            _ => "–".to_string(),
        });
    }
    cells.push(format!("{right} of {moved}"));
    row(cells)
}

/// Predicted, actual and null of each run.
fn compared(study: &Studied, column: Column) -> Vec<(f64, f64, f64)> {
    let three = study.runs.iter().filter_map(|run| {
        let (predicted, actual) = (run.predicted.as_ref()?, run.actual.as_ref()?);
        let (predicted, actual) = (predicted.get(column)?, actual.get(column)?);
        Some((predicted, actual, study.null.get(column)?))
    });
    three.collect()
}

/// What is known about the recording.
fn about(study: &Studied) -> String {
    let counts = &study.counts;
    let overhead = (study.recorded.duration_ns / study.null.duration_ns.max(1.0) - 1.0) * 100.0;
    let known = |ns: Option<schedlab_trace::Ns>| {
        ns.map_or_else(|| "not known".to_string(), |ns| ns.to_string())
    };
    let (switch, wakeup) = (known(study.costs.switch_ns), known(study.costs.wakeup_ns));
    let ends = match counts.ends_by_time {
        true => " The replay ends with the recorded time.",
        false => "",
    };
    let cpus = match (study.recorded_cpus, study.predicted_cpus) {
        (recorded, predicted) if recorded == predicted => String::new(),
        (recorded, predicted) => {
            format!("Recorded on {recorded} CPUs, predicted for {predicted}. ")
        }
    };
    format!(
        "{cpus}Of {} waits {:.0} % are understood, {} of them for data. Recording made it {overhead:.1} % longer. A switch cost {switch}, \
         a wakeup {wakeup}.{ends}\n",
        counts.blocks(),
        (counts.understood_share() * 100.0).floor(),
        counts.woken_by_data,
    )
}

/// Predicted / actual (null in the first row).
fn table(study: &Studied) -> String {
    let mut head = vec!["policy".to_string()];
    head.extend(COLUMNS.map(|column| name(column).to_string()));
    head.push("shares, points".to_string());
    let mut rows = vec![row::<7>(head)];
    let recorded = format!("{} (as recorded)", study.recorded_under);
    rows.push(line(recorded, study.again.as_ref(), Some(&study.null)));
    rows.extend(study.runs.iter().map(|run| {
        let name = format!("`{}`", run.policy);
        line(name, run.predicted.as_ref(), run.actual.as_ref())
    }));
    aligned(&rows)
}

fn line(name: String, predicted: Option<&Figures>, actual: Option<&Figures>) -> [String; 7] {
    let mut cells = vec![name];
    for column in COLUMNS {
        let told = |figures: Option<&Figures>| {
            let value = figures.and_then(|figures| figures.get(column));
            value.map_or_else(|| "–".to_string(), |value| shown(column, value))
        };
        cells.push(format!("{} / {}", told(predicted), told(actual)));
    }
    cells.push(match (predicted, actual) {
        (Some(predicted), Some(actual)) => format!("{:.1}", predicted.share_points(actual)),
        _ => "–".to_string(),
    });
    row(cells)
}

fn shown(column: Column, value: f64) -> String {
    match column {
        Column::Duration => format!("{:.1} ms", value / 1e6),
        Column::Throughput | Column::Switches => format!("{value:.0}"),
        Column::DelayP50 | Column::DelayP99 if value < 1e6 => format!("{:.0} µs", value / 1e3),
        Column::DelayP50 | Column::DelayP99 => format!("{:.1} ms", value / 1e6),
    }
}
