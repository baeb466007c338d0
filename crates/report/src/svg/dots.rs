//! Changes around zero: a dot with an interval for each of several things.

use super::element::{label, line, text_width, Element};
use super::legend::shorten;
use super::{Figure, Scale, Spacing, HALF_WIDTH};
use crate::quantity::Unit;

/// A change.
#[derive(Clone, PartialEq, Debug)]
pub struct Dot {
    /// Of what.
    pub name: String,
    /// The change, as a part: 0.1 is 10 %.
    pub value: f64,
    /// The interval around it.
    pub interval: Option<(f64, f64)>,
    /// How it is written.
    pub text: String,
}

/// Changes from the top.
#[derive(Clone, PartialEq, Debug)]
pub struct Dots {
    /// What they show.
    pub title: String,
    /// The changes.
    pub rows: Vec<Dot>,
}

const ROW: f64 = 24.0;
const RIGHT: f64 = 84.0;

impl Dots {
    /// The figure.
    pub fn figure(&self) -> Figure {
        let ends = self.rows.iter().flat_map(|row| {
            let (low, high) = row.interval.unwrap_or((row.value, row.value));
            [low.abs(), high.abs(), row.value.abs()]
        });
        let most = ends.fold(0.001, f64::max) * 1.08;
        let names = self.rows.iter().map(|row| text_width(&shorten(&row.name)));
        let left = names.fold(30.0, f64::max).min(220.0) + 16.0;
        let x = Scale::new(Spacing::Linear, (-most, most), (left, HALF_WIDTH - RIGHT));
        let bottom = 4.0 + self.rows.len() as f64 * ROW;
        let mut content = Vec::new();
        for tick in x.ticks(Unit::Share, 5) {
            let at = x.at(tick.value);
            content.push(line(at, 4.0, at, bottom).class("grid"));
            content.push(label(at, bottom + 15.0, tick.label).class("tick middle"));
        }
        content.push(line(x.at(0.0), 4.0, x.at(0.0), bottom).class("frame"));
        for (i, row) in self.rows.iter().enumerate() {
            let y = 4.0 + (i as f64 + 0.5) * ROW;
            content.push(label(left - 8.0, y + 4.0, shorten(&row.name)).class("tick end"));
            if let Some((low, high)) = row.interval {
                content.push(line(x.at(low), y, x.at(high), y).class("curve s0 d0"));
            }
            let dot = Element::new("circle")
                .set("cx", x.at(row.value))
                .set("cy", y);
            let dot = dot.set("r", 4.5).class("fill s0");
            content.push(dot.tip(format!("{}: {}", row.name, row.text)));
            content.push(label(HALF_WIDTH - RIGHT + 8.0, y + 4.0, &row.text));
        }
        Figure::new(&self.title, HALF_WIDTH, bottom + 22.0, content)
    }
}
