//! Parts of a whole: stacked bars, and stacked areas over time.

use super::element::{label, line, rect, text_width, Element};
use super::legend::{legend, shorten, Key};
use super::{Figure, Scale, Spacing, Style, WIDTH};
use crate::quantity::Unit;

/// A part.
#[derive(Clone, PartialEq, Debug)]
pub struct Segment {
    /// Its name.
    pub name: String,
    /// How it is drawn.
    pub style: Style,
    /// How much of the whole, 0 to 1.
    pub share: f64,
}

/// A whole.
#[derive(Clone, PartialEq, Debug)]
pub struct StackRow {
    /// Its name.
    pub name: String,
    /// Its parts, from the left.
    pub segments: Vec<Segment>,
}

/// A horizontal bar for each whole.
#[derive(Clone, PartialEq, Debug)]
pub struct StackedBars {
    /// What they show.
    pub title: String,
    /// The wholes, from the top.
    pub rows: Vec<StackRow>,
}

/// Parts of a whole over time, stacked.
#[derive(Clone, PartialEq, Debug)]
pub struct AreaStack {
    /// What it shows.
    pub title: String,
    /// Length of a stretch of time in nanoseconds.
    pub bucket_ns: f64,
    /// The end of the last stretch, in nanoseconds from the start.
    pub end_ns: f64,
    /// Each part's name, style and share in each stretch, from the bottom.
    pub parts: Vec<(String, Style, Vec<f64>)>,
}

const RIGHT: f64 = 28.0;
const ROW: f64 = 26.0;

impl StackedBars {
    /// The figure.
    pub fn figure(&self) -> Figure {
        let names = self.rows.iter().map(|r| text_width(&shorten(&r.name)));
        let left = names.fold(50.0, f64::max).min(220.0) + 12.0;
        let x = Scale::new(Spacing::Linear, (0.0, 1.0), (left, WIDTH - RIGHT));
        let (legend, top) = legend(&self.entries(), Key::Area, left, WIDTH);
        let mut content = vec![legend];
        for (i, row) in self.rows.iter().enumerate() {
            let y = top + i as f64 * ROW;
            content.push(label(left - 8.0, y + 17.0, shorten(&row.name)).class("end"));
            content.extend(bar(row, &x, y));
        }
        let bottom = top + self.rows.len() as f64 * ROW;
        for tick in x.ticks(Unit::Share, 5) {
            let at = x.at(tick.value);
            content.push(line(at, bottom, at, bottom + 4.0).class("grid"));
            content.push(label(at, bottom + 17.0, tick.label).class("tick middle"));
        }
        Figure::new(&self.title, WIDTH, bottom + 24.0, content)
    }

    fn entries(&self) -> Vec<(String, Style)> {
        let mut entries: Vec<(String, Style)> = Vec::new();
        for segment in self.rows.iter().flat_map(|r| &r.segments) {
            if entries.iter().all(|(name, _)| *name != segment.name) {
                entries.push((segment.name.clone(), segment.style));
            }
        }
        entries
    }
}

fn bar(row: &StackRow, x: &Scale, y: f64) -> Vec<Element> {
    let mut marks = Vec::new();
    let mut from = 0.0;
    for segment in &row.segments {
        let (left, right) = (x.at(from), x.at(from + segment.share));
        from += segment.share;
        if right - left < 0.02 {
            continue;
        }
        let share = Unit::Share.show(segment.share);
        let area = segment.style.area(left, y + 3.0, right - left, ROW - 6.0);
        let tip = format!("{}, {}: {share}", row.name, segment.name);
        marks.push(area.tip(tip));
        let text = format!("{} {share}", segment.name);
        let text = [text, share]
            .into_iter()
            .find(|t| text_width(t) + 8.0 < right - left);
        if let Some(text) = text {
            let class = match segment.style {
                Style::Idle | Style::Other => "middle",
                Style::Overhead => "middle on-dark",
                _ => "middle inside",
            };
            marks.push(label((left + right) / 2.0, y + 17.0, text).class(class));
        }
    }
    let (left, right) = (x.start(), x.end());
    marks.push(rect(left, y + 3.0, right - left, ROW - 6.0).class("frame"));
    marks
}

const LEFT: f64 = 62.0;
const HEIGHT: f64 = 170.0;

impl AreaStack {
    /// The figure.
    pub fn figure(&self) -> Figure {
        let entries: Vec<_> = self.parts.iter().map(|(n, s, _)| (n.clone(), *s)).collect();
        let (legend, top) = legend(&entries, Key::Area, LEFT, WIDTH);
        let x = Scale::new(Spacing::Linear, (0.0, self.end_ns), (LEFT, WIDTH - RIGHT));
        let y = Scale::new(Spacing::Linear, (0.0, 1.0), (top + HEIGHT, top));
        let mut content = vec![legend];
        let nr_buckets = self.parts.iter().map(|p| p.2.len()).max().unwrap_or(0);
        let mut below = vec![0.0; nr_buckets];
        for (name, style, shares) in &self.parts {
            let class = format!("fill {}", style.colour());
            let path = self.outline(&mut below, shares, &x, &y);
            content.push(Element::new("path").class(class).set("d", path).tip(name));
        }
        content.push(axes(&x, &y));
        Figure::new(&self.title, WIDTH, top + HEIGHT + 44.0, content)
    }

    /// The outline of a part that lies on those `below`, which it is then added to.
    fn outline(&self, below: &mut [f64], shares: &[f64], x: &Scale, y: &Scale) -> String {
        let mut upper = Vec::new();
        let mut lower = Vec::new();
        for (i, (base, share)) in below.iter_mut().zip(shares).enumerate() {
            let from = x.at(i as f64 * self.bucket_ns);
            let to = x.at(((i + 1) as f64 * self.bucket_ns).min(self.end_ns));
            lower.extend([(from, y.at(*base)), (to, y.at(*base))]);
            *base += share;
            upper.extend([(from, y.at(*base)), (to, y.at(*base))]);
        }
        let points = upper.into_iter().chain(lower.into_iter().rev());
        let points: Vec<String> = points.map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
        if points.is_empty() {
            return String::new();
        }
        format!("M{}Z", points.join("L"))
    }
}

fn axes(x: &Scale, y: &Scale) -> Element {
    let mut group = Element::new("g");
    let (top, bottom) = (y.end(), y.start());
    for tick in x.ticks(Unit::Time, x.room_for_ticks()) {
        let at = x.at(tick.value);
        group.push(line(at, bottom, at, bottom + 4.0).class("grid"));
        group.push(label(at, bottom + 17.0, tick.label).class("tick middle"));
    }
    for tick in y.ticks(Unit::Share, 4) {
        let at = y.at(tick.value);
        group.push(line(x.start() - 4.0, at, x.start(), at).class("grid"));
        group.push(label(x.start() - 7.0, at + 4.0, tick.label).class("tick end"));
    }
    let (width, height) = (x.end() - x.start(), bottom - top);
    group.push(rect(x.start(), top, width, height).class("frame"));
    let middle = (x.start() + x.end()) / 2.0;
    group.with(label(middle, bottom + 36.0, "time since start").class("axis middle"))
}
