//! One table, several ways to write it.
//!
//! A [`Table`] holds measurements (its [`Field`]s) of its [`Subject`]s (policies, groups,
//! tasks).  The renderers decide which of them become rows and which columns.  What all
//! renderers must agree on is decided here: the unit of each field, which value is best,
//! what is missing.

mod grid;
mod html;
mod markdown;
mod terminal;
mod text;

pub use html::{HtmlCell, HtmlColumn, HtmlTable};
pub use terminal::Terminal;

pub(crate) use markdown::escape as escape_markdown;

use crate::quantity::Unit;

/// Which side of the table the fields are on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layout {
    /// A row for each field, a column for each subject; the unit stands beside each number.
    FieldsAsRows,
    /// A row for each subject, a column for each field; the unit stands in the heading.
    FieldsAsColumns,
}

/// Which values a reader prefers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Better {
    /// As for latencies.
    Lower,
    /// As for throughput.
    Higher,
}

/// Something measured.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Field {
    /// What it is called.
    pub label: String,
    /// Its unit.
    pub unit: Unit,
    /// Which values are better; none where neither is.
    pub better: Option<Better>,
}

/// A policy, group or task that was measured.
#[derive(Clone, PartialEq, Debug)]
pub struct Subject {
    /// What it is called: one text for each of [`Table::stubs`].
    pub labels: Vec<String>,
    /// The best value is looked for among subjects with the same number.
    pub contest: usize,
    /// One cell for each of [`Table::fields`].
    pub cells: Vec<Cell>,
}

/// What was measured of one subject.
#[derive(Clone, PartialEq, Debug)]
pub enum Cell {
    /// Nothing.
    Missing,
    /// A text instead of a number.
    Text(String),
    /// A number in the base unit of its field.
    Number {
        /// The value, or the median of several seeds.
        value: f64,
        /// The interval that holds the median of all seeds with the confidence the table states.
        interval: Option<(f64, f64)>,
    },
}

/// Numbers with names on both sides.
#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// Headings of the subjects' labels ("policy", "variant"); at least one.
    pub stubs: Vec<String>,
    /// What was measured.
    pub fields: Vec<Field>,
    /// The policies, groups or tasks.
    pub subjects: Vec<Subject>,
    /// How it is best read, given room.
    pub layout: Layout,
    /// Notes on the numbers, printed below.
    pub notes: Vec<String>,
}

impl Cell {
    /// A number without an interval.
    pub fn number(value: f64) -> Cell {
        Cell::Number {
            value,
            interval: None,
        }
    }

    /// A number if there is one.
    pub fn maybe(value: Option<f64>) -> Cell {
        value.map_or(Cell::Missing, Cell::number)
    }
}

impl Field {
    /// A field none of whose values is better than another.
    pub fn new(label: impl Into<String>, unit: Unit) -> Field {
        Field {
            label: label.into(),
            unit,
            better: None,
        }
    }

    /// Sets which values are better.
    pub fn better(self, better: Better) -> Field {
        Field {
            better: Some(better),
            ..self
        }
    }
}

impl Table {
    /// The subject with the best value of a field in each contest, if one is clearly ahead: values
    /// that are equal and intervals that overlap are a draw.
    fn best(&self, field: usize) -> Vec<usize> {
        let Some(better) = self.fields[field].better else {
            return Vec::new();
        };
        let mut contests: Vec<usize> = self.subjects.iter().map(|s| s.contest).collect();
        contests.sort_unstable();
        contests.dedup();
        contests
            .into_iter()
            .filter_map(|contest| self.winner(field, contest, better))
            .collect()
    }

    fn winner(&self, field: usize, contest: usize, better: Better) -> Option<usize> {
        let mut ranked: Vec<(f64, f64, usize)> = self
            .subjects
            .iter()
            .enumerate()
            .filter(|(_, s)| s.contest == contest)
            .filter_map(|(i, s)| s.cells[field].rank(better).map(|(v, e)| (v, e, i)))
            .collect();
        ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (first, rest) = ranked.split_first()?;
        let rival = rest.iter().map(|r| r.1).min_by(f64::total_cmp)?;
        let reach = self.subjects[first.2].cells[field].worst(better)?;
        (reach < rival).then_some(first.2)
    }
}

impl Cell {
    /// Value and best end of its interval, turned so that lower is better.
    fn rank(&self, better: Better) -> Option<(f64, f64)> {
        let Cell::Number { value, interval } = self else {
            return None;
        };
        let (low, high) = interval.unwrap_or((*value, *value));
        value.is_finite().then_some(match better {
            Better::Lower => (*value, low),
            Better::Higher => (-value, -high),
        })
    }

    /// Worst end of its interval, turned so that lower is better.
    fn worst(&self, better: Better) -> Option<f64> {
        let Cell::Number { value, interval } = self else {
            return None;
        };
        let (low, high) = interval.unwrap_or((*value, *value));
        Some(match better {
            Better::Lower => high,
            Better::Higher => -low,
        })
    }
}
