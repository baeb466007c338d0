//! Timelines: what ran where and when.

use super::element::{label, line, rect, text_width, Element};
use super::legend::{legend, Key};
use super::{Figure, Scale, Spacing, Style, WIDTH};
use crate::quantity::Unit;

/// A stretch of time on a lane.
#[derive(Clone, PartialEq, Debug)]
pub struct Span {
    /// Its lane, from 0 at the top.
    pub lane: usize,
    /// From, in nanoseconds.
    pub start: f64,
    /// To, in nanoseconds.
    pub end: f64,
    /// How it is drawn.
    pub style: Style,
    /// Its name, written where there is room.
    pub name: String,
    /// Its tool tip.
    pub tip: String,
    /// The task: spans with the same number are highlighted together.
    pub key: u32,
}

/// A stretch of time to look at: a wait.
#[derive(Clone, PartialEq, Debug)]
pub struct Highlight {
    /// From, in nanoseconds.
    pub start: f64,
    /// To, in nanoseconds.
    pub end: f64,
    /// What happened.
    pub text: String,
}

/// Lanes with what ran on them.
#[derive(Clone, PartialEq, Debug)]
pub struct Timeline {
    /// What it shows.
    pub title: String,
    /// From, in nanoseconds.
    pub start: f64,
    /// To, in nanoseconds.
    pub end: f64,
    /// Names of the lanes, from the top.
    pub lanes: Vec<String>,
    /// What ran.
    pub spans: Vec<Span>,
    /// Names and styles of the legend.
    pub legend: Vec<(String, Style)>,
    /// What to look at.
    pub highlight: Option<Highlight>,
}

const LEFT: f64 = 62.0;
const RIGHT: f64 = 28.0;

impl Timeline {
    /// The figure.
    pub fn figure(&self) -> Figure {
        let x = Scale::new(
            Spacing::Linear,
            (self.start, self.end),
            (LEFT, WIDTH - RIGHT),
        );
        let lane = (420.0 / self.lanes.len().max(1) as f64).clamp(9.0, 26.0);
        let (legend, mut top) = legend(&self.legend, Key::Area, LEFT, WIDTH);
        let mut content = vec![legend];
        top += if self.highlight.is_some() { 26.0 } else { 0.0 };
        let bottom = top + lane * self.lanes.len() as f64;
        content.extend(self.lane_names(&x, top, lane));
        let shown = |s: &&Span| s.end > self.start && s.start < self.end;
        content.extend(
            self.spans
                .iter()
                .filter(shown)
                .map(|s| draw(s, &x, top, lane)),
        );
        if let Some(highlight) = &self.highlight {
            content.push(bracket(self, &x, highlight, top, bottom));
        }
        for tick in x.ticks(Unit::Time, x.room_for_ticks()) {
            let at = x.at(tick.value);
            content.push(line(at, bottom, at, bottom + 4.0).class("grid"));
            content.push(label(at, bottom + 17.0, tick.label).class("tick middle"));
        }
        Figure::new(&self.title, WIDTH, bottom + 24.0, content)
    }

    fn lane_names(&self, x: &Scale, top: f64, lane: f64) -> Vec<Element> {
        let mut marks = Vec::new();
        for (i, name) in self.lanes.iter().enumerate() {
            let y = top + i as f64 * lane;
            let ground = rect(LEFT, y + 1.0, x.end() - LEFT, lane - 2.0).class("lane");
            marks.push(ground);
            // Where lanes are thinner than text, only some can be named.
            if i % (13.0 / lane).ceil() as usize == 0 {
                let name = label(LEFT - 6.0, y + lane / 2.0 + 4.0, name);
                marks.push(name.class("tick end"));
            }
        }
        marks
    }
}

fn draw(span: &Span, x: &Scale, top: f64, lane: f64) -> Element {
    let (left, right) = (x.at(span.start), x.at(span.end));
    let y = top + span.lane as f64 * lane;
    // Even the shortest stay is visible; a gap separates neighbours of one colour.
    let width = (right - left - 0.5).max(0.4);
    let mut group = span.style.area(left, y + 1.0, width, lane - 2.0);
    if lane >= 14.0 && text_width(&span.name) + 6.0 < width {
        let text = label((left + right) / 2.0, y + lane / 2.0 + 4.0, &span.name);
        group.push(text.class("middle inside"));
    }
    group.set("data-key", span.key.to_string()).tip(&span.tip)
}

/// The highlighted stretch: marked over all lanes, with its text above.  It stays open on a side
/// where it goes on.
fn bracket(
    timeline: &Timeline,
    x: &Scale,
    highlight: &Highlight,
    top: f64,
    bottom: f64,
) -> Element {
    let (left, right) = (x.at(highlight.start), x.at(highlight.end));
    let width = (right - left).max(2.0);
    let y = top - 4.0;
    let half = text_width(&highlight.text) / 2.0;
    let middle = ((left + right) / 2.0).clamp(LEFT + half, (x.end() - half).max(LEFT + half));
    let mut group = Element::new("g");
    group.push(rect(left, y, width, bottom - y).class("alert-area"));
    group.push(line(left, y, left + width, y).class("alert"));
    if highlight.start >= timeline.start {
        group.push(line(left, y, left, bottom).class("alert"));
    }
    if highlight.end <= timeline.end {
        group.push(line(left + width, y, left + width, bottom).class("alert"));
    }
    let text = label(middle, top - 12.0, &highlight.text);
    group.with(text.class("alert-text middle"))
}
