//! Answers along several parameters: one strip for each, with a dot for each point that was tried.

use super::element::{label, line, text_width, Element};
use super::legend::shorten;
use super::{Figure, Scale, Spacing, HALF_WIDTH};

/// A point on a strip.
#[derive(Clone, PartialEq, Debug)]
pub struct StripDot {
    /// Its position, from 0 to 1.
    pub at: f64,
    /// Its answer: the first of the two.
    pub yes: bool,
    /// What is shown where the pointer rests on it.
    pub tip: String,
}

/// A parameter.
#[derive(Clone, PartialEq, Debug)]
pub struct Strip {
    /// Its name.
    pub name: String,
    /// What its ends are, or the values of a choice in equal parts of the strip.
    pub marks: Vec<String>,
    /// Is it a choice?
    pub is_choice: bool,
    /// The points.
    pub dots: Vec<StripDot>,
}

/// Strips from the top.
#[derive(Clone, PartialEq, Debug)]
pub struct Strips {
    /// What they show.
    pub title: String,
    /// The two answers; points of the first are above the line of their strip, points of the second below.
    pub answers: [String; 2],
    /// The parameters.
    pub strips: Vec<Strip>,
}

const ROW: f64 = 46.0;
const TOP: f64 = 26.0;
const RIGHT: f64 = 12.0;
const RADIUS: f64 = 3.5;

impl Strips {
    /// The figure.
    pub fn figure(&self) -> Figure {
        let names = self
            .strips
            .iter()
            .map(|strip| text_width(&shorten(&strip.name)));
        let left = names.fold(30.0, f64::max).min(220.0) + 16.0;
        let x = Scale::new(Spacing::Linear, (0.0, 1.0), (left, HALF_WIDTH - RIGHT));
        let mut content = self.legend(left);
        for (i, strip) in self.strips.iter().enumerate() {
            content.extend(strip.content(&x, TOP + (i as f64 + 0.4) * ROW));
        }
        let height = TOP + self.strips.len() as f64 * ROW + 4.0;
        Figure::new(&self.title, HALF_WIDTH, height, content)
    }

    fn legend(&self, left: f64) -> Vec<Element> {
        let [yes, no] = &self.answers;
        let second = left + text_width(yes) + 40.0;
        let mut content = Vec::new();
        for (x, answer, is_yes) in [(left, yes, true), (second, no, false)] {
            content.push(dot(x + RADIUS, 10.0, is_yes));
            content.push(label(x + 12.0, 14.0, answer));
        }
        content
    }
}

impl Strip {
    fn content(&self, x: &Scale, y: f64) -> Vec<Element> {
        let mut content = vec![
            line(x.at(0.0), y, x.at(1.0), y).class("grid"),
            label(x.at(0.0) - 8.0, y + 4.0, shorten(&self.name)).class("tick end"),
        ];
        for (i, mark) in self.marks.iter().enumerate() {
            let (at, class) = self.mark(i);
            content.push(label(x.at(at), y + 24.0, mark).class(class));
        }
        for point in &self.dots {
            let above = if point.yes { -6.0 } else { 6.0 };
            let tip = format!("{}: {}", self.name, point.tip);
            content.push(dot(x.at(point.at), y + above, point.yes).tip(tip));
        }
        content
    }

    /// Where a mark is, and how it is aligned.
    fn mark(&self, i: usize) -> (f64, &'static str) {
        match (self.is_choice, i) {
            (true, _) => ((i as f64 + 0.5) / self.marks.len() as f64, "tick middle"),
            (false, 0) => (0.0, "tick"),
            (false, _) => (1.0, "tick end"),
        }
    }
}

/// Full for the first answer, hollow for the second: the figure can be read without colours.
fn dot(x: f64, y: f64, yes: bool) -> Element {
    let circle = Element::new("circle")
        .set("cx", x)
        .set("cy", y)
        .set("r", RADIUS);
    circle.class(if yes { "fill s0" } else { "dot s1" })
}
