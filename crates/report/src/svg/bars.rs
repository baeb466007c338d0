//! Bars in groups, with intervals: one group for each thing measured, one bar for each policy.

use super::element::{label, line, Element};
use super::legend::{legend, shorten, Key};
use super::{round_up, Figure, Scale, Spacing, Style};
use crate::quantity::Unit;

/// A bar.
#[derive(Clone, PartialEq, Debug)]
pub struct Bar {
    /// Whose; the same name has the same style in every group.
    pub name: String,
    /// How it is drawn.
    pub style: Style,
    /// How long it is.
    pub value: f64,
    /// The interval around it, if it stands for several runs.
    pub interval: Option<(f64, f64)>,
}

/// Bars that are compared.
#[derive(Clone, PartialEq, Debug)]
pub struct BarGroup {
    /// What they show.
    pub name: String,
    /// The bars, from the top.
    pub bars: Vec<Bar>,
}

/// Horizontal bars, from nought.
#[derive(Clone, PartialEq, Debug)]
pub struct Bars {
    /// What they show.
    pub title: String,
    /// What their lengths are in.
    pub unit: Unit,
    /// The groups, from the top.
    pub groups: Vec<BarGroup>,
}

const WIDTH: f64 = 720.0;
const LEFT: f64 = 150.0;
const RIGHT: f64 = 120.0;
const BAR: f64 = 16.0;
const GAP: f64 = 14.0;

impl Bars {
    /// The figure.
    pub fn figure(&self) -> Figure {
        let bars = self.groups.iter().flat_map(|g| &g.bars);
        let reach = |b: &Bar| b.interval.map_or(b.value, |i| b.value.max(i.1));
        let longest = bars.map(reach).fold(0.0, f64::max);
        let x = Scale::new(
            Spacing::Linear,
            (0.0, round_up(longest)),
            (LEFT, WIDTH - RIGHT),
        );
        let (legend, mut y) = legend(&self.entries(), Key::Area, LEFT, WIDTH);
        let top = y;
        let mut marks = Vec::new();
        for group in &self.groups {
            let middle = y + group.bars.len() as f64 * BAR / 2.0 + 4.0;
            let name = label(LEFT - 8.0, middle, shorten(&group.name));
            marks.push(name.class("end heading"));
            for bar in &group.bars {
                marks.extend(self.bar(bar, &x, y));
                y += BAR;
            }
            y += GAP;
        }
        let mut content = vec![legend];
        content.extend(self.axis(&x, top, y));
        content.extend(marks);
        Figure::new(&self.title, WIDTH, y + 24.0, content)
    }

    fn entries(&self) -> Vec<(String, Style)> {
        let mut entries: Vec<(String, Style)> = Vec::new();
        for bar in self.groups.iter().flat_map(|g| &g.bars) {
            if entries.iter().all(|(name, _)| *name != bar.name) {
                entries.push((bar.name.clone(), bar.style));
            }
        }
        entries
    }

    fn bar(&self, bar: &Bar, x: &Scale, y: f64) -> Vec<Element> {
        let end = x.at(bar.value);
        let value = self.unit.show(bar.value);
        let area = bar.style.area(LEFT, y + 1.0, end - LEFT, BAR - 2.0);
        let mut marks = vec![area.tip(format!("{}: {value}", bar.name))];
        let mut right = end;
        if let Some((low, high)) = bar.interval {
            let (low, high, middle) = (x.at(low), x.at(high), y + BAR / 2.0);
            marks.push(line(low, middle, high, middle).class("interval"));
            for end in [low, high] {
                marks.push(line(end, middle - 3.0, end, middle + 3.0).class("interval"));
            }
            right = right.max(high);
        }
        marks.push(label(right + 5.0, y + BAR - 4.0, value));
        marks
    }

    fn axis(&self, x: &Scale, top: f64, bottom: f64) -> Vec<Element> {
        let mut marks = Vec::new();
        for tick in x.ticks(self.unit, 6) {
            let at = x.at(tick.value);
            marks.push(line(at, top, at, bottom).class("grid"));
            marks.push(label(at, bottom + 16.0, tick.label).class("tick middle"));
        }
        marks
    }
}
