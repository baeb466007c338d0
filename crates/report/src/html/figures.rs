//! The figures of a report.

use schedlab_measure::{
    CdfPoint, Metrics, ShareOf, SharesPlot, Slice, TaskMetrics, TimelineWindow, Wait,
};

use crate::quantity::Unit;
use crate::run::{Comparison, Setup};
use crate::summary::group_names;
use crate::svg::{
    round_up, AreaStack, Axis, Bar, BarGroup, Bars, Figure, HeatMap, Highlight, Marker, Plot,
    Segment, Series, Span, StackRow, StackedBars, Style, Timeline, HALF_WIDTH, WIDTH,
};
use crate::table::{Cell, Table};

/// Which of two latencies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Latency {
    /// From waking to running.
    Wakeup,
    /// Every wait on a run queue.
    RunDelay,
}

impl Latency {
    fn name(self) -> &'static str {
        match self {
            Latency::Wakeup => "Wakeup latency",
            Latency::RunDelay => "Run delay",
        }
    }

    fn axis(self) -> &'static str {
        match self {
            Latency::Wakeup => "wakeup latency, logarithmic",
            Latency::RunDelay => "run delay, logarithmic",
        }
    }

    /// The points of a group, or of all tasks.
    fn points<'a>(self, metrics: &'a Metrics, group: Option<&str>) -> &'a [CdfPoint] {
        let plots = &metrics.plots;
        let plot = match group {
            None => Some(&plots.latency),
            Some(name) => {
                let mut groups = plots.group_latency.iter();
                groups.find(|g| *g.group == *name).map(|g| &g.latency)
            }
        };
        plot.map_or(&[], |plot| match self {
            Latency::Wakeup => &plot.wakeup_latency,
            Latency::RunDelay => &plot.run_delay,
        })
    }
}

/// Slices shown of a timeline: more could not be told apart …
const MAX_SLICES: usize = 400;
/// … but on machines with many CPUs each should show some.
const MIN_SLICES_OF_LANE: usize = 12;
/// Groups named in the legend of a timeline.
const MAX_LEGEND: usize = 24;
/// CPUs shown of a timeline at most.
const MAX_LANES: usize = 48;

/// Shares of samples at most this long, all set-ups overlaid; none without any samples.
pub fn latency_cdf(
    comparison: &Comparison,
    latency: Latency,
    group: Option<&str>,
) -> Option<Figure> {
    let (title, low, high) = latency_range(comparison, latency, group)?;
    let x = Axis::log(latency.axis(), Unit::Time, low, high);
    let mut plot = Plot::sized(
        &title,
        x,
        Axis::linear("samples at most this long", Unit::Share, 0.0, 1.0),
        HALF_WIDTH,
        280.0,
    );
    let series = latency_series(comparison, latency, group, low);
    plot.steps(&series);
    plot.markers(&p99_markers(comparison, latency, group));
    Some(plot.finish())
}

/// Shares of samples longer than this, down to the rarest: one in a hundred thousand at most.
pub fn latency_tail(
    comparison: &Comparison,
    latency: Latency,
    group: Option<&str>,
) -> Option<Figure> {
    let (title, low, high) = latency_range(comparison, latency, group)?;
    let mut series = latency_series(comparison, latency, group, low);
    let points = series.iter_mut().flat_map(|s| &mut s.points);
    let mut rarest: f64 = 0.1;
    for (_, share) in points {
        *share = 1.0 - *share;
        if *share > 1e-9 {
            rarest = rarest.min(*share);
        }
    }
    let x = Axis::log(latency.axis(), Unit::Time, low, high);
    let y = Axis::log(
        "samples longer than this",
        Unit::Share,
        rarest.max(1e-5) / 2.0,
        1.0,
    );
    let mut plot = Plot::sized(&format!("{title}, tail"), x, y, HALF_WIDTH, 280.0);
    plot.steps(&series);
    Some(plot.finish())
}

fn latency_range(
    comparison: &Comparison,
    latency: Latency,
    group: Option<&str>,
) -> Option<(String, f64, f64)> {
    let shown = comparison.setups.iter().map(|s| &s.shown().metrics);
    let points: Vec<u64> = shown
        .flat_map(|m| latency.points(m, group))
        .map(|p| p.ns.0)
        .collect();
    let (low, high) = (*points.iter().min()?, *points.iter().max()?);
    // Below 100 ns nobody feels a difference; a few instant wakeups must not take half the axis.
    let low = (low.max(100) as f64).min(high.max(200) as f64 / 2.0);
    let of = group.map_or("all tasks".to_string(), str::to_string);
    Some((
        format!("{}, {of}", latency.name()),
        low,
        high.max(200) as f64 * 1.1,
    ))
}

fn latency_series(
    comparison: &Comparison,
    latency: Latency,
    group: Option<&str>,
    low: f64,
) -> Vec<Series> {
    let setups = comparison.setups.iter().enumerate();
    setups
        .map(|(i, setup)| {
            let points = latency.points(&setup.shown().metrics, group);
            let first = points.first().map(|_| (low, 0.0));
            let points = points.iter().map(|p| (p.ns.0 as f64, p.share));
            Series {
                name: setup.label.clone(),
                style: Style::Series(i),
                points: first.into_iter().chain(points).collect(),
            }
        })
        .collect()
}

/// Where 99 of 100 samples are below.
fn p99_markers(comparison: &Comparison, latency: Latency, group: Option<&str>) -> Vec<Marker> {
    let setups = comparison.setups.iter().enumerate();
    setups
        .filter_map(|(i, setup)| {
            let points = latency.points(&setup.shown().metrics, group);
            let p99 = points.iter().find(|p| p.share >= 0.99)?;
            Some(Marker {
                at: (p99.ns.0 as f64, p99.share),
                style: Style::Series(i),
                tip: format!("{}: p99 {}", setup.label, p99.ns),
            })
        })
        .collect()
}

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

/// How many tasks waited, over time, all set-ups overlaid.
pub fn waiting(comparison: &Comparison) -> Option<Figure> {
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
    let x = Axis::linear("time since start", Unit::Time, 0.0, end);
    let y = Axis::linear("tasks waiting", Unit::Count, 0.0, round_up(most));
    let mut plot = Plot::sized("Tasks waiting on run queues", x, y, WIDTH, 260.0);
    plot.lines(&series);
    (end > 0.0).then(|| plot.finish())
}

/// Who got the CPUs: a bar for each set-up.
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

/// Overhead and idling: what the groups left.
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

fn group_style(names: &[&str], group: &str) -> Style {
    let index = names.iter().position(|n| *n == group);
    index.map_or(Style::Other, Style::Series)
}

/// Who got the CPUs over time, under one set-up.
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
/// is but one queue or nobody waited.
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

/// What ran where: the start of the run, and the longest wait if that is elsewhere.
pub fn timelines(setup: &Setup, names: &[&str]) -> Vec<Figure> {
    let metrics = &setup.shown().metrics;
    let plot = &metrics.plots.timeline;
    let most = MAX_SLICES.max(MIN_SLICES_OF_LANE * metrics.nr_cpus as usize);
    let start = first_slices(&plot.start, most);
    let mut figures = Vec::new();
    if !start.slices.is_empty() {
        let title = format!("What ran where at the start, {}", setup.label);
        figures.push(timeline(title, metrics, &start, names));
    }
    let wait = metrics
        .total
        .longest_wait
        .filter(|w| wait_end(w) > start.end);
    let around = plot.longest_wait.as_ref().unwrap_or(&plot.start);
    if let Some(excerpt) = wait.and_then(|w| slices_around(around, &w, most)) {
        let title = format!("What ran where during the longest wait, {}", setup.label);
        figures.push(timeline(title, metrics, &excerpt, names));
    }
    figures
}

/// A part of a timeline with as many slices as can be told apart.
struct Excerpt<'a> {
    start: u64,
    end: u64,
    slices: &'a [Slice],
}

fn first_slices(window: &TimelineWindow, most: usize) -> Excerpt<'_> {
    let all = &window.slices;
    let end = match all.get(most) {
        Some(next) => next.end_ns.0,
        None => window.end_ns.0,
    };
    Excerpt {
        start: window.start_ns.0,
        end,
        slices: all,
    }
}

/// The slices up to the end of the wait and a few more; none if the window does not show it.
fn slices_around<'a>(window: &'a TimelineWindow, wait: &Wait, most: usize) -> Option<Excerpt<'a>> {
    let all = &window.slices;
    let end_ns = wait_end(wait).min(window.end_ns.0);
    if wait_end(wait) <= window.start_ns.0 || wait.start_ns >= window.end_ns {
        return None;
    }
    let to = all.partition_point(|s| s.end_ns.0 <= end_ns);
    let to = (to + most / 8).min(all.len());
    let from = to.saturating_sub(most);
    let start = if from == 0 {
        window.start_ns.0
    } else {
        all[from - 1].end_ns.0
    };
    Some(Excerpt {
        start,
        end: all.get(to).map_or(window.end_ns.0, |s| s.end_ns.0),
        slices: all,
    })
}

fn wait_end(wait: &Wait) -> u64 {
    wait.start_ns.0 + wait.ns.0
}

fn timeline(title: String, metrics: &Metrics, excerpt: &Excerpt, names: &[&str]) -> Figure {
    let Excerpt { start, end, slices } = *excerpt;
    let lanes = (metrics.nr_cpus as usize).min(MAX_LANES);
    let shown = |s: &&Slice| s.cpu.index() < lanes && s.end_ns.0 > start && s.start_ns.0 < end;
    let wait = metrics.total.longest_wait;
    let wait = wait.filter(|w| wait_end(w) > start && w.start_ns.0 < end);
    Timeline {
        title,
        start: start as f64,
        end: end as f64,
        lanes: (0..lanes).map(|cpu| format!("CPU {cpu}")).collect(),
        spans: slices
            .iter()
            .filter(shown)
            .map(|s| span(s, metrics, names))
            .collect(),
        legend: names
            .iter()
            .take(MAX_LEGEND)
            .map(|n| (n.to_string(), group_style(names, n)))
            .collect(),
        highlight: wait.map(|wait| Highlight {
            start: wait.start_ns.0 as f64,
            end: wait_end(&wait) as f64,
            text: wait_text(metrics, &wait, start),
        }),
    }
    .figure()
}

fn span(slice: &Slice, metrics: &Metrics, names: &[&str]) -> Span {
    let task = find_task(metrics, slice.task);
    let name = task.map_or_else(|| format!("task {}", slice.task), |t| t.name.clone());
    let length = slice.end_ns.since(slice.start_ns);
    Span {
        lane: slice.cpu.index(),
        start: slice.start_ns.0 as f64,
        end: slice.end_ns.0 as f64,
        style: task.map_or(Style::Other, |t| group_style(names, &t.group)),
        tip: format!(
            "{name} on CPU {} for {length}, from {} s",
            slice.cpu, slice.start_ns
        ),
        name,
        key: slice.task.0,
    }
}

fn find_task(metrics: &Metrics, id: schedlab_trace::TaskId) -> Option<&TaskMetrics> {
    let found = metrics.tasks.binary_search_by_key(&id, |t| t.id);
    found.ok().map(|i| &metrics.tasks[i])
}

/// What to say of a wait in a timeline that begins at `start`.
fn wait_text(metrics: &Metrics, wait: &Wait, start: u64) -> String {
    let part = if wait.start_ns.0 < start {
        "; this is the end of it"
    } else {
        ""
    };
    format!("{} waits {}{part}", task_name(metrics, wait), wait.ns)
}

fn task_name(metrics: &Metrics, wait: &Wait) -> String {
    find_task(metrics, wait.task).map_or_else(|| format!("task {}", wait.task), |t| t.name.clone())
}
