//! Plots with two axes: lines, steps, bands, markers.

use super::element::{label, line, rect, text_width, Element};
use super::legend::{legend, Key};
use super::{Figure, Scale, Spacing, Style, Value, HALF_WIDTH, SMALL_WIDTH};
use crate::quantity::Unit;

/// An axis: what it measures, and its range.
#[derive(Clone, PartialEq, Debug)]
pub struct Axis {
    /// What it measures; the unit stands at the ticks.
    pub label: String,
    /// Its unit.
    pub unit: Unit,
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// How values are spaced.
    pub spacing: Spacing,
}

impl Axis {
    /// A linear axis.
    pub fn linear(label: &str, unit: Unit, low: f64, high: f64) -> Axis {
        Axis {
            label: label.to_string(),
            unit,
            low,
            high,
            spacing: Spacing::Linear,
        }
    }

    /// A logarithmic axis.
    pub fn log(label: &str, unit: Unit, low: f64, high: f64) -> Axis {
        Axis {
            spacing: Spacing::Log,
            ..Axis::linear(label, unit, low, high)
        }
    }
}

/// Points that belong together.
#[derive(Clone, PartialEq, Debug)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// How they are drawn.
    pub style: Style,
    /// x and y, by x.
    pub points: Vec<(f64, f64)>,
}

/// A single marked point.
#[derive(Clone, PartialEq, Debug)]
pub struct Marker {
    /// Its place.
    pub at: (f64, f64),
    /// The style of its series.
    pub style: Style,
    /// Its tool tip.
    pub tip: String,
}

/// A plot in the making.
pub struct Plot {
    title: String,
    width: f64,
    height: f64,
    x_axis: Axis,
    y_axis: Axis,
    /// From values to pixels.
    pub x: Scale,
    /// From values to pixels.
    pub y: Scale,
    layers: Vec<Element>,
    entries: Vec<(String, Style)>,
    /// Is it a small multiple, without names of axes and without a legend?
    is_small: bool,
}

const HEIGHT: f64 = 300.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 28.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 44.0;

impl Plot {
    /// An empty plot of the usual size.
    pub fn new(title: &str, x: Axis, y: Axis) -> Plot {
        Plot::sized(title, x, y, HALF_WIDTH, HEIGHT)
    }

    /// An empty plot of `width` and `height` pixels, the legend not included.
    pub fn sized(title: &str, x: Axis, y: Axis, width: f64, height: f64) -> Plot {
        Plot {
            title: title.to_string(),
            width,
            height,
            x: Scale::new(x.spacing, (x.low, x.high), (LEFT, width - RIGHT)),
            y: Scale::new(y.spacing, (y.low, y.high), (height - BOTTOM, TOP)),
            x_axis: x,
            y_axis: y,
            layers: Vec::new(),
            entries: Vec::new(),
            is_small: false,
        }
    }

    /// An empty plot that is one of several: the names of axes and series stand beside them.
    pub fn small(title: &str, x: Axis, y: Axis) -> Plot {
        let plot = Plot::sized(title, x, y, SMALL_WIDTH, 150.0);
        let (x, y) = (&plot.x_axis, &plot.y_axis);
        Plot {
            x: Scale::new(x.spacing, (x.low, x.high), (52.0, SMALL_WIDTH - 8.0)),
            y: Scale::new(y.spacing, (y.low, y.high), (128.0, 6.0)),
            is_small: true,
            ..plot
        }
    }

    /// Draws each series as straight lines from point to point.
    pub fn lines(&mut self, series: &[Series]) {
        for s in series {
            self.curve(s, |plot, points| plot.straight(points));
        }
    }

    /// Draws each series as steps: a value holds until the next point.
    pub fn steps(&mut self, series: &[Series]) {
        for s in series {
            self.curve(s, |plot, points| plot.stepped(points));
        }
    }

    /// Shades what lies between two values at each x; not in the legend.
    pub fn band(&mut self, style: Style, points: &[(f64, f64, f64)]) {
        let upper: Vec<_> = points.iter().map(|(x, _, high)| (*x, *high)).collect();
        let lower: Vec<_> = points.iter().rev().map(|(x, low, _)| (*x, *low)).collect();
        if points.len() > 1 {
            let back = self.straight(&lower).replacen('M', "L", 1);
            let path = format!("{} {back} Z", self.straight(&upper));
            let class = format!("band {}", style.colour());
            self.layers
                .push(Element::new("path").class(class).set("d", path));
        }
    }

    /// Marks single points.
    pub fn markers(&mut self, markers: &[Marker]) {
        for m in markers {
            let (x, y) = (self.x.at(m.at.0), self.y.at(m.at.1));
            let dot = Element::new("circle").class(format!("dot {}", m.style.colour()));
            let dot = dot.set("cx", x).set("cy", y).set("r", 4.0).tip(&m.tip);
            self.layers.push(dot);
        }
    }

    /// A dashed line across at this value, with a name: a limit or a paper's number.
    pub fn reference(&mut self, value: f64, name: &str) {
        let y = self.y.at(value);
        let rule = line(self.x.start(), y, self.x.end(), y).class("interval d1");
        self.layers.push(rule);
        let name = label(self.x.end() - 4.0, y - 5.0, name).class("end halo");
        self.layers.push(name);
    }

    /// Names each curve where it ends, to the right of the plot; names that would collide move apart.
    pub fn name_ends(&mut self, series: &[Series]) {
        let mut ends: Vec<(f64, &Series)> = series
            .iter()
            .filter_map(|s| s.points.last().map(|p| (self.y.at(p.1), s)))
            .collect();
        ends.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut last = f64::NEG_INFINITY;
        for (y, s) in ends {
            last = (y - 6.0).max(last + 14.0);
            let class = format!("named end halo {}", s.style.colour());
            self.layers
                .push(label(self.x.end() - 2.0, last, &s.name).class(class));
        }
    }

    /// The figure: axes, what was drawn, and a legend above.
    pub fn finish(self) -> Figure {
        let (legend, legend_height) = if self.entries.is_empty() || self.is_small {
            (Element::new("g"), 0.0)
        } else {
            legend(&self.entries, Key::Line, LEFT, self.width)
        };
        let shift = format!("translate(0 {legend_height})");
        let body = Element::new("g").set("transform", shift);
        let body = body.with(self.grid()).with_all(self.layers);
        let height = self.height + legend_height;
        Figure::new(&self.title, self.width, height, vec![legend, body])
    }

    fn curve(&mut self, series: &Series, path: impl Fn(&Plot, &[(f64, f64)]) -> String) {
        self.entries.push((series.name.clone(), series.style));
        if series.points.is_empty() {
            return;
        }
        let curve = Element::new("path").class(series.style.curve());
        let curve = curve.set("d", path(self, &series.points));
        self.layers.push(curve.tip(&series.name));
    }

    fn straight(&self, points: &[(f64, f64)]) -> String {
        let mut path = Path::default();
        for (x, y) in points {
            path.to(self.x.at(*x), self.y.at(*y));
        }
        path.0
    }

    fn stepped(&self, points: &[(f64, f64)]) -> String {
        let mut path = Path::default();
        let mut before = None;
        for (x, y) in points {
            let (x, y) = (self.x.at(*x), self.y.at(*y));
            match before {
                None => path.to(x, y),
                Some(before) if before == y => path.across(x),
                Some(_) => path.step(x, y),
            }
            before = Some(y);
        }
        path.0
    }

    fn grid(&self) -> Element {
        let mut group = Element::new("g");
        let (top, bottom) = (self.y.end(), self.y.start());
        for tick in self.x.ticks(self.x_axis.unit, self.x.room_for_ticks()) {
            let x = self.x.at(tick.value);
            group.push(line(x, top, x, bottom).class(grid_class(&tick.label)));
            group.push(label(x, bottom + 16.0, &tick.label).class("tick middle"));
        }
        let wanted = if self.is_small { 3 } else { 5 };
        for tick in self.y.ticks(self.y_axis.unit, wanted) {
            let y = self.y.at(tick.value);
            let rule = line(self.x.start(), y, self.x.end(), y);
            group.push(rule.class(grid_class(&tick.label)));
            group.push(label(self.x.start() - 6.0, y + 4.0, &tick.label).class("tick end"));
        }
        let (width, height) = (self.x.end() - self.x.start(), bottom - top);
        group.push(rect(self.x.start(), top, width, height).class("frame"));
        if !self.is_small {
            group.push(self.x_label(bottom + 36.0));
            group.push(self.y_label((top + bottom) / 2.0));
        }
        group
    }

    fn x_label(&self, y: f64) -> Element {
        let middle = (self.x.start() + self.x.end()) / 2.0;
        label(middle, y, &self.x_axis.label).class("axis middle")
    }

    /// Turned, unless it is so short that it fits above.
    fn y_label(&self, middle: f64) -> Element {
        let at = format!("translate(14 {middle}) rotate(-90)");
        debug_assert!(text_width(&self.y_axis.label) < 4.0 * self.height);
        let text = label(0.0, 0.0, &self.y_axis.label).class("axis middle");
        Element::new("g").set("transform", at).with(text)
    }
}

fn grid_class(label: &str) -> &'static str {
    if label.is_empty() {
        "grid minor"
    } else {
        "grid"
    }
}

/// The data of a path element.
#[derive(Default)]
struct Path(String);

impl Path {
    fn to(&mut self, x: f64, y: f64) {
        self.0.push(if self.0.is_empty() { 'M' } else { 'L' });
        self.0 += &format!("{} {}", x.write(), y.write());
    }
    /// To the right, then up or down.
    fn step(&mut self, x: f64, y: f64) {
        self.0 += &format!("H{}V{}", x.write(), y.write());
    }

    fn across(&mut self, x: f64) {
        self.0 += &format!("H{}", x.write());
    }
}
