//! Figures of latency distributions.

use schedlab_measure::{CdfPoint, Metrics};

use crate::quantity::Unit;
use crate::run::Comparison;
use crate::svg::{Axis, Marker, Series, Style, HALF_WIDTH};

use super::multiples::{Curves, Figures, Shape};

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

/// Shares of samples at most this long; none without any samples.
pub(super) fn cdf(
    comparison: &Comparison,
    latency: Latency,
    group: Option<&str>,
) -> Option<Figures> {
    let (title, low, high) = range(comparison, latency, group)?;
    let curves = Curves {
        title,
        x: Axis::log(latency.axis(), Unit::Time, low, high),
        y: Axis::linear("samples at most this long", Unit::Share, 0.0, 1.0),
        shape: Shape::Steps,
        series: series(comparison, latency, group, low),
        markers: p99_markers(comparison, latency, group),
        keys: keys(comparison, latency, group),
    };
    Some(curves.figures(comparison, HALF_WIDTH, 280.0))
}

/// Shares of samples longer than this, down to the rarest: one in a hundred thousand at most.
pub(super) fn tail(
    comparison: &Comparison,
    latency: Latency,
    group: Option<&str>,
) -> Option<Figures> {
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
    let least = rarest.max(1e-5) / 2.0;
    let curves = Curves {
        title: format!("{title}, tail"),
        x: Axis::log(latency.axis(), Unit::Time, low, high),
        y: Axis::log("samples longer than this", Unit::Share, least, 1.0),
        shape: Shape::Steps,
        markers: vec![Vec::new(); series.len()],
        series,
        keys: keys(comparison, latency, group),
    };
    Some(curves.figures(comparison, HALF_WIDTH, 280.0))
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
    // Differences below 100 ns do not matter; a few instant wakeups must not take half the axis.
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

/// The point of each set-up below which 99 of 100 samples are.
fn p99<'a>(
    comparison: &'a Comparison,
    latency: Latency,
    group: Option<&'a str>,
) -> impl Iterator<Item = Option<CdfPoint>> + 'a {
    let setups = comparison.setups.iter();
    setups.map(move |setup| {
        let points = latency.points(&setup.shown().metrics, group);
        points.iter().find(|p| p.share >= 0.99).copied()
    })
}

/// What set-ups are sorted by.
fn keys(
    comparison: &Comparison,
    latency: Latency,
    group: Option<&str>,
) -> Vec<Option<(f64, String)>> {
    p99(comparison, latency, group)
        .map(|point| {
            point.map(|p| {
                (
                    p.ns.0 as f64,
                    format!("p99 {}", p.ns).replace(' ', "\u{a0}"),
                )
            })
        })
        .collect()
}

fn p99_markers(comparison: &Comparison, latency: Latency, group: Option<&str>) -> Vec<Vec<Marker>> {
    let points = p99(comparison, latency, group).enumerate();
    points
        .map(|(i, point)| {
            let marker = point.map(|p| Marker {
                at: (p.ns.0 as f64, p.share),
                style: Style::Series(i),
                tip: format!("{}: p99 {}", comparison.setups[i].label, p.ns),
            });
            marker.into_iter().collect()
        })
        .collect()
}
