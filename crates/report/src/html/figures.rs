//! Figures of headlines, run queues and shares.

use schedlab_measure::{Metrics, ShareOf, SharesPlot};

use crate::quantity::Unit;
use crate::run::{Comparison, Setup};
use crate::summary::group_names;
use crate::svg::{
    round_up, AreaStack, Axis, Bar, BarGroup, Bars, Figure, HeatMap, Segment, Series, StackRow,
    StackedBars, Style, HALF_WIDTH, WIDTH,
};
use crate::table::{Cell, Table};

use super::multiples::{Curves, Figures, Shape};

/// Bars of one row of the summary, one for each set-up; none unless all have a value and two differ.
pub fn headline_bars(comparison: &Comparison, table: &Table, field: usize) -> Option<Figure> {
    let bars: Option<Vec<Bar>> = table
        .subjects
        .iter()
        .enumerate()
        .map(|(i, subject)| match subject.cells[field] {
            Cell::Number { value, interval } => Some(Bar {
                name: comparison.setups[i].label.clone(),
                style: Style::Series(i),
                value,
                interval,
            }),
            _ => None,
        })
        .collect();
    let bars = bars.filter(|b| b.iter().any(|bar| bar.value > 0.0))?;
    let field = &table.fields[field];
    Some(
        Bars {
            title: field.label.clone(),
            unit: field.unit,
            width: HALF_WIDTH,
            groups: bars
                .into_iter()
                .map(|bar| BarGroup {
                    name: bar.name.clone(),
                    bars: vec![bar],
                })
                .collect(),
        }
        .figure(),
    )
}

/// How many tasks waited, over time.
pub(super) fn waiting(comparison: &Comparison) -> Option<Figures> {
    let series: Vec<Series> = comparison
        .setups
        .iter()
        .enumerate()
        .map(|(i, setup)| {
            let metrics = &setup.shown().metrics;
            let plot = &metrics.plots.waiting;
            let end = metrics.duration_ns.0 as f64;
            let middle = |b: usize| ((b as f64 + 0.5) * plot.bucket_ns.0 as f64).min(end);
            Series {
                name: setup.label.clone(),
                style: Style::Series(i),
                points: plot
                    .mean
                    .iter()
                    .enumerate()
                    .map(|(b, m)| (middle(b), *m))
                    .collect(),
            }
        })
        .collect();
    let most = series
        .iter()
        .flat_map(|s| &s.points)
        .map(|p| p.1)
        .fold(0.0, f64::max);
    let end = series
        .iter()
        .flat_map(|s| &s.points)
        .map(|p| p.0)
        .fold(0.0, f64::max);
    let mean = |s: &Series| s.points.iter().map(|p| p.1).sum::<f64>() / s.points.len() as f64;
    let key = |s: &Series| Some(mean(s)).filter(|mean| mean.is_finite());
    let curves = Curves {
        title: "Tasks waiting on run queues".to_string(),
        x: Axis::linear("time since start", Unit::Time, 0.0, end),
        y: Axis::linear("tasks waiting", Unit::Count, 0.0, round_up(most)),
        shape: Shape::Lines,
        markers: vec![Vec::new(); series.len()],
        keys: series
            .iter()
            .map(|s| key(s).map(|mean| (mean, format!("mean {mean:.2}"))))
            .collect(),
        series,
    };
    (end > 0.0).then(|| curves.figures(comparison, WIDTH, 260.0))
}

/// Shares of CPU time: a bar for each set-up.
pub fn shares(comparison: &Comparison) -> Option<Figure> {
    let names = group_names(comparison);
    let row = |setup: &Setup| {
        let mut segments: Vec<Segment> = setup
            .shown()
            .metrics
            .groups
            .iter()
            .map(|group| Segment {
                name: group.name.to_string(),
                style: group_style(&names, &group.name),
                share: group.activity.cpu_share,
            })
            .collect();
        segments.sort_by_key(|s| names.iter().position(|n| *n == s.name));
        segments.extend(rest(&setup.shown().metrics, &segments));
        StackRow {
            name: setup.label.clone(),
            segments,
        }
    };
    let rows: Vec<StackRow> = comparison.setups.iter().map(row).collect();
    let figure = StackedBars {
        title: "CPU time by group".to_string(),
        rows,
    };
    (!names.is_empty()).then(|| figure.figure())
}

/// Overhead and idling: CPU time not used by groups.
fn rest(metrics: &Metrics, groups: &[Segment]) -> Vec<Segment> {
    let whole = metrics.duration_ns.0 as f64 * f64::from(metrics.nr_cpus);
    let busy: u64 = metrics.cpus.iter().map(|c| c.busy_ns.0).sum();
    let run: f64 = groups.iter().map(|g| g.share).sum();
    let overhead = (busy as f64 / whole.max(1.0) - run).clamp(0.0, 1.0);
    let idle = (1.0 - run - overhead).clamp(0.0, 1.0);
    let part = |name: &str, style, share| Segment {
        name: name.to_string(),
        style,
        share,
    };
    vec![
        part("overhead", Style::Overhead, overhead),
        part("idle", Style::Idle, idle),
    ]
}

/// A group has one style in all figures of a report.
pub(super) fn group_style(names: &[&str], group: &str) -> Style {
    let index = names.iter().position(|n| *n == group);
    index.map_or(Style::Other, Style::Series)
}

/// Shares of CPU time over time, under one set-up.
pub fn shares_over_time(setup: &Setup, names: &[&str]) -> Option<Figure> {
    let metrics = &setup.shown().metrics;
    let SharesPlot { bucket_ns, rows } = &metrics.plots.shares;
    let part = |row: &schedlab_measure::ShareRow| {
        let (name, style) = match &row.of {
            ShareOf::Group(name) => (name.to_string(), group_style(names, name)),
            ShareOf::OtherGroups => ("other groups".to_string(), Style::Other),
            ShareOf::Overhead => ("overhead".to_string(), Style::Overhead),
            ShareOf::Idle => ("idle".to_string(), Style::Idle),
        };
        (name, style, row.share.clone())
    };
    let figure = AreaStack {
        title: format!("CPU time over time, {}", setup.label),
        bucket_ns: bucket_ns.0 as f64,
        end_ns: metrics.duration_ns.0 as f64,
        parts: rows.iter().map(part).collect(),
    };
    rows.iter()
        .any(|r| !r.share.is_empty())
        .then(|| figure.figure())
}

/// How many tasks waited on each CPU's own run queue over time, under one set-up; none where there
/// is only one queue or no task waited.
pub fn queues(setup: &Setup) -> Option<Figure> {
    let plot = &setup.shown().metrics.plots.waiting;
    let map = HeatMap {
        title: format!("Tasks waiting on each CPU's run queue, {}", setup.label),
        value: "mean number of tasks".to_string(),
        unit: Unit::Count,
        rows: plot
            .cpus
            .iter()
            .enumerate()
            .map(|(cpu, means)| (format!("CPU {cpu}"), means.clone()))
            .collect(),
        bucket_ns: plot.bucket_ns.0 as f64,
    };
    let anybody = plot.cpus.iter().flatten().any(|m| *m > 0.0);
    (plot.cpus.len() > 1 && anybody).then(|| map.figure())
}
