//! Figures of which task ran where.

use schedlab_measure::{Metrics, Slice, TaskMetrics, TimelineWindow, Wait};
use schedlab_trace::TaskId;

use super::figures::group_style;
use crate::run::Setup;
use crate::svg::{Figure, Highlight, Span, Style, Timeline};

/// The most slices shown of a timeline; more could not be distinguished …
const MAX_SLICES: usize = 400;
/// … but on machines with many CPUs each CPU should show some.
const MIN_SLICES_OF_LANE: usize = 12;
/// Groups named in the legend of a timeline.
const MAX_LEGEND: usize = 24;
/// CPUs shown of a timeline at most.
const MAX_LANES: usize = 48;

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

/// A part of a timeline with as many slices as can be distinguished.
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

fn find_task(metrics: &Metrics, id: TaskId) -> Option<&TaskMetrics> {
    let found = metrics.tasks.binary_search_by_key(&id, |t| t.id);
    found.ok().map(|i| &metrics.tasks[i])
}

/// The text about a wait in a timeline that begins at `start`.
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
