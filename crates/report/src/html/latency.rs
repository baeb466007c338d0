//! Figures of latency distributions.

use schedlab_measure::{CdfPoint, Metrics};

use crate::quantity::Unit;
use crate::run::Comparison;
use crate::svg::{Axis, Figure, Marker, Plot, Series, Style, HALF_WIDTH};

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

/// Shares of samples at most this long, all set-ups overlaid; none without any samples.
pub fn cdf(comparison: &Comparison, latency: Latency, group: Option<&str>) -> Option<Figure> {
    let (title, low, high) = range(comparison, latency, group)?;
    let x = Axis::log(latency.axis(), Unit::Time, low, high);
    let mut plot = Plot::sized(
        &title,
        x,
        Axis::linear("samples at most this long", Unit::Share, 0.0, 1.0),
        HALF_WIDTH,
        280.0,
    );
    let series = series(comparison, latency, group, low);
    plot.steps(&series);
    plot.markers(&p99_markers(comparison, latency, group));
    Some(plot.finish())
}

/// Shares of samples longer than this, down to the rarest: one in a hundred thousand at most.
pub fn tail(comparison: &Comparison, latency: Latency, group: Option<&str>) -> Option<Figure> {
    let (title, low, high) = range(comparison, latency, group)?;
    let mut series = series(comparison, latency, group, low);
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

fn range(
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

fn series(comparison: &Comparison, latency: Latency, group: Option<&str>, low: f64) -> Vec<Series> {
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
