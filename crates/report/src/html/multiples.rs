//! Curves of set-ups: on one plot while they are few, else on a small plot for each.

use crate::run::Comparison;
use crate::svg::{Axis, Figure, Marker, Plot, Series, Style};

/// The most curves on one plot; more cannot be distinguished.
pub(super) const MAX_OVERLAID: usize = 5;

/// How curves are drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shape {
    Lines,
    Steps,
}

/// The same curve of every set-up, in their order.
pub(super) struct Curves {
    pub title: String,
    pub x: Axis,
    pub y: Axis,
    pub shape: Shape,
    pub series: Vec<Series>,
    /// Single points of each set-up.
    pub markers: Vec<Vec<Marker>>,
    /// What the set-ups are sorted by on small plots, and how it is written.
    pub keys: Vec<Option<(f64, String)>>,
}

/// Figures of one thing: a single one, or many small ones.
pub(super) enum Figures {
    One(Figure),
    Many {
        title: String,
        /// What is drawn and in which order.
        note: String,
        figures: Vec<Figure>,
    },
}

impl Curves {
    /// One plot of `width` and `height` if there are few curves; else small ones, the least key first, each with the
    /// first set-up's curve in grey.
    pub fn figures(self, comparison: &Comparison, width: f64, height: f64) -> Figures {
        match comparison.setups.len() > MAX_OVERLAID {
            true => self.multiples(comparison),
            false => Figures::One(self.overlaid(width, height)),
        }
    }

    fn overlaid(self, width: f64, height: f64) -> Figure {
        let mut plot = Plot::sized(&self.title, self.x, self.y, width, height);
        self.shape.draw(&mut plot, &self.series);
        self.markers.iter().for_each(|m| plot.markers(m));
        plot.finish()
    }

    fn multiples(self, comparison: &Comparison) -> Figures {
        let key = |i: usize| self.keys[i].as_ref().map_or(f64::INFINITY, |key| key.0);
        let mut order: Vec<usize> = (0..self.series.len()).collect();
        order.sort_by(|a, b| key(*a).total_cmp(&key(*b)));
        Figures::Many {
            note: format!(
                "Across: {}. Up: {}. Grey: {}. The least {} first.",
                self.x.label,
                self.y.label,
                comparison.setups[0].label,
                self.key_name()
            ),
            figures: order.into_iter().map(|i| self.small(i)).collect(),
            title: self.title,
        }
    }

    /// Small plots are sorted by the 99th percentile of a distribution, or by the mean over time.
    fn key_name(&self) -> &'static str {
        match self.shape {
            Shape::Steps => "99th percentile",
            Shape::Lines => "mean",
        }
    }

    fn small(&self, i: usize) -> Figure {
        let title = match &self.keys[i] {
            Some((_, key)) => format!("{}: {key}", self.series[i].name),
            None => self.series[i].name.clone(),
        };
        let mut plot = Plot::small(&title, self.x.clone(), self.y.clone());
        if i > 0 {
            let grey = Series {
                style: Style::Baseline,
                ..self.series[0].clone()
            };
            self.shape.draw(&mut plot, &[grey]);
        }
        let own = Series {
            style: Style::Series(0),
            ..self.series[i].clone()
        };
        self.shape.draw(&mut plot, &[own]);
        let own = |marker: &Marker| Marker {
            style: Style::Series(0),
            ..marker.clone()
        };
        let markers: Vec<Marker> = self.markers[i].iter().map(own).collect();
        plot.markers(&markers);
        plot.finish()
    }
}

impl Shape {
    fn draw(self, plot: &mut Plot, series: &[Series]) {
        match self {
            Shape::Lines => plot.lines(series),
            Shape::Steps => plot.steps(series),
        }
    }
}
