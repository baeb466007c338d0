//! Bars in groups, with intervals: one group for each thing measured, one bar for each policy.

use super::element::{label, line, text_width, Element};
use super::legend::{legend, shorten, Key};
use super::{round_up, Figure, Scale, Spacing, Style};
use crate::quantity::Unit;

/// A bar.
#[derive(Clone, PartialEq, Debug)]
pub struct Bar {
    /// What it shows; the same name has the same style in every group.
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

/// Horizontal bars that start at zero.
#[derive(Clone, PartialEq, Debug)]
pub struct Bars {
    /// What they show.
    pub title: String,
    /// The unit of their lengths.
    pub unit: Unit,
    /// How wide the figure is, in pixels.
    pub width: f64,
    /// The groups, from the top.
    pub groups: Vec<BarGroup>,
}

/// Room for a value to the right of the longest bar.
const RIGHT: f64 = 84.0;
const BAR: f64 = 18.0;

impl Bars {
    /// The figure.  A legend stands above unless every group has one bar, labelled by the group's name.
    pub fn figure(&self) -> Figure {
        let bars = self.groups.iter().flat_map(|g| &g.bars);
        let reach = |b: &Bar| b.interval.map_or(b.value, |i| b.value.max(i.1));
        let longest = bars.map(reach).fold(0.0, f64::max);
        let x = Scale::new(
            Spacing::Linear,
            (0.0, round_up(longest)),
            (self.left(), self.width - RIGHT),
        );
        let (legend, top) = match self.groups.iter().any(|g| g.bars.len() > 1) {
            true => legend(&self.entries(), Key::Area, x.start(), self.width),
            false => (Element::new("g"), 4.0),
        };
        let mut y = top;
        let mut marks = Vec::new();
        for group in &self.groups {
            let middle = y + group.bars.len() as f64 * BAR / 2.0 + 4.0;
            marks.push(label(x.start() - 8.0, middle, shorten(&group.name)).class("end"));
            for bar in &group.bars {
                marks.extend(self.bar(bar, &x, y));
                y += BAR;
            }
            y += self.gap();
        }
        let mut content = vec![legend];
        content.extend(self.axis(&x, top, y));
        content.extend(marks);
        Figure::new(&self.title, self.width, y + 24.0, content)
    }

    /// Room for the longest name.
    fn left(&self) -> f64 {
        let names = self.groups.iter().map(|g| text_width(&shorten(&g.name)));
        (names.fold(40.0, f64::max) + 14.0).min(self.width / 2.0)
    }

    fn gap(&self) -> f64 {
        if self.groups.iter().any(|g| g.bars.len() > 1) {
            14.0
        } else {
            6.0
        }
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
        let area = bar
            .style
            .area(x.start(), y + 1.0, end - x.start(), BAR - 2.0);
        let mut marks = vec![area.tip(format!("{}: {value}", bar.name))];
        let mut right = end;
        let interval = bar.interval.map(|(low, high)| (x.at(low), x.at(high)));
        // One too short to see would look like a smudge.
        if let Some((low, high)) = interval.filter(|(low, high)| high - low > 1.0) {
            let middle = y + BAR / 2.0;
            marks.push(line(low, middle, high, middle).class("interval"));
            for end in [low, high] {
                marks.push(line(end, middle - 3.0, end, middle + 3.0).class("interval"));
            }
            right = right.max(high);
        }
        marks.push(label(right + 5.0, y + BAR - 5.0, value));
        marks
    }

    fn axis(&self, x: &Scale, top: f64, bottom: f64) -> Vec<Element> {
        let mut marks = Vec::new();
        for tick in x.ticks(self.unit, x.room_for_ticks()) {
            let at = x.at(tick.value);
            marks.push(line(at, top, at, bottom).class("grid"));
            marks.push(label(at, bottom + 16.0, tick.label).class("tick middle"));
        }
        marks
    }
}
