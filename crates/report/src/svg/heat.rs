//! Heat maps: rows (CPUs, tasks) over time.

use super::element::{label, rect, text_width, Element};
use super::legend::shorten;
use super::{Figure, Scale, Spacing, WIDTH};
use crate::quantity::Unit;

/// A row for each of several things, a colour for each stretch of time.
#[derive(Clone, PartialEq, Debug)]
pub struct HeatMap {
    /// What it shows.
    pub title: String,
    /// What the values are.
    pub value: String,
    /// Their unit.
    pub unit: Unit,
    /// Name and values of each row, from the top; values are not negative.
    pub rows: Vec<(String, Vec<f64>)>,
    /// Length of a stretch of time in nanoseconds.
    pub bucket_ns: f64,
}

const RIGHT: f64 = 28.0;
const TOP: f64 = 34.0;

impl HeatMap {
    /// The figure.  One hue from faint to full keeps its order in grey print and for colour-blind readers.
    pub fn figure(&self) -> Figure {
        let most = self
            .rows
            .iter()
            .flat_map(|r| &r.1)
            .copied()
            .fold(0.0, f64::max);
        let columns = self.rows.iter().map(|r| r.1.len()).max().unwrap_or(0);
        let height = (320.0 / self.rows.len().max(1) as f64).clamp(3.0, 20.0);
        let end = (columns as f64 * self.bucket_ns).max(1.0);
        let names = self.rows.iter().map(|r| text_width(&shorten(&r.0)));
        let left = names.fold(44.0, f64::max).min(220.0) + 18.0;
        let x = Scale::new(Spacing::Linear, (0.0, end), (left, WIDTH - RIGHT));
        let mut content = vec![self.key(most, left)];
        for (i, (name, values)) in self.rows.iter().enumerate() {
            let y = TOP + i as f64 * height;
            content.extend(self.cells(name, values, most, &x, (y, height)));
            // Where rows are thinner than text, only some can be named.
            if i % (14.0 / height).ceil() as usize == 0 {
                let name = label(left - 6.0, y + height / 2.0 + 4.0, shorten(name));
                content.push(name.class("tick end"));
            }
        }
        let bottom = TOP + self.rows.len() as f64 * height;
        for tick in x.ticks(Unit::Time, x.room_for_ticks()) {
            let text = label(x.at(tick.value), bottom + 16.0, tick.label);
            content.push(text.class("tick middle"));
        }
        let frame = rect(left, TOP, x.end() - left, bottom - TOP);
        content.push(frame.class("frame"));
        Figure::new(&self.title, WIDTH, bottom + 24.0, content)
    }

    /// A row's cells; equal neighbours are one.
    fn cells(
        &self,
        name: &str,
        values: &[f64],
        most: f64,
        x: &Scale,
        (y, height): (f64, f64),
    ) -> Vec<Element> {
        let mut cells = Vec::new();
        let mut from = 0;
        for run in values.chunk_by(|a, b| a == b) {
            let to = from + run.len();
            let left = x.at(from as f64 * self.bucket_ns);
            let right = x.at(to as f64 * self.bucket_ns);
            if run[0] > 0.0 && most > 0.0 {
                let cell = rect(left, y, right - left, height).class("heat");
                let cell = cell.set("fill-opacity", run[0] / most);
                cells.push(cell.tip(format!("{name}: {}", self.unit.show(run[0]))));
            }
            from = to;
        }
        cells
    }

    fn key(&self, most: f64, left: f64) -> Element {
        let mut group = Element::new("g").with(label(left, 15.0, &self.value));
        let left = left + text_width(&self.value) + 40.0;
        group.push(label(left - 6.0, 15.0, "0").class("tick end"));
        for step in 0..10 {
            let cell = rect(left + f64::from(step) * 12.0, 5.0, 12.0, 12.0).class("heat");
            group.push(cell.set("fill-opacity", f64::from(step) / 9.0));
        }
        group.push(rect(left, 5.0, 120.0, 12.0).class("frame"));
        group.with(label(left + 126.0, 15.0, self.unit.show(most)).class("tick"))
    }
}
