//! Styles of series: colours, and dashes or hatches for grey print and colour-blind
//! readers.

use super::element::{line, rect, Element};

/// The style sheet of all figures.  A page that holds several needs it once.
pub const STYLE: &str = include_str!("figure.css");

/// Colours in the palette.
const COLOURS: usize = 8;
/// Dash patterns, the solid line included.
const DASHES: usize = 5;

/// How a series is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Style {
    /// As the series with this number; all up to 40 differ.
    Series(usize),
    /// In grey, for comparison with a series.
    Baseline,
    /// As unused CPU time.
    Idle,
    /// As CPU time spent on scheduling.
    Overhead,
    /// As whatever is too small to be shown by itself.
    Other,
}

impl Style {
    /// The class that carries the colour.
    pub(super) fn colour(self) -> String {
        match self {
            Style::Series(i) => format!("s{}", i % COLOURS),
            Style::Baseline => "baseline".to_string(),
            Style::Idle => "idle".to_string(),
            Style::Overhead => "overhead".to_string(),
            Style::Other => "other".to_string(),
        }
    }

    /// Classes of a line.
    pub(super) fn curve(self) -> String {
        let dash = match self {
            // Shifted by one each time the colours begin anew, so that no pair repeats.
            Style::Series(i) => (i + i / COLOURS) % DASHES,
            _ => 0,
        };
        format!("curve {} d{dash}", self.colour())
    }

    /// A filled rectangle in this style.
    pub(super) fn area(self, x: f64, y: f64, width: f64, height: f64) -> Element {
        let mut group = Element::new("g");
        let fill = format!("fill {}", self.colour());
        group.push(rect(x, y, width, height).class(fill));
        if let Style::Series(i) = self {
            for hatch in hatches(i / COLOURS, x, y, width, height) {
                group.push(hatch);
            }
        }
        group
    }
}

/// Upright hatches where a colour is used again; none the first time.
fn hatches(round: usize, x: f64, y: f64, width: f64, height: f64) -> Vec<Element> {
    if round == 0 {
        return Vec::new();
    }
    let gap = 4.0 + 4.0 * round as f64;
    let count = (width / gap) as usize;
    (1..=count.min(200))
        .map(|i| x + i as f64 * gap)
        .map(|x| line(x, y, x, y + height).class("hatch"))
        .collect()
}
