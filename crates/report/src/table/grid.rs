//! A table laid out: columns of written cells.  What all text renderers share.

use schedlab_trace::printable;

use super::text::{pad_left, pad_right, width};
use super::{Cell, Layout, Table};
use crate::quantity::{Format, MISSING};

/// A cell, written, in the parts that are aligned by themselves.
#[derive(Clone, Default, Debug)]
pub(super) struct Written {
    pub value: String,
    pub unit: &'static str,
    pub interval: String,
    pub best: bool,
    pub is_text: bool,
}

impl Written {
    fn is_number(&self) -> bool {
        !self.is_text && self.value != MISSING
    }
}

/// A column of cells with its heading.
pub(super) struct Column {
    pub heading: String,
    pub cells: Vec<Written>,
}

/// A laid out table.
pub(super) struct Grid {
    /// Heading and rows of each column of labels.
    pub stubs: Vec<(String, Vec<String>)>,
    pub columns: Vec<Column>,
}

impl Grid {
    pub fn new(table: &Table, layout: Layout) -> Grid {
        let fields = 0..table.fields.len();
        let written = fields.map(|f| write_field(table, f)).collect();
        match layout {
            Layout::FieldsAsRows => fields_as_rows(table, written),
            Layout::FieldsAsColumns => fields_as_columns(table, written),
        }
    }

    pub fn nr_rows(&self) -> usize {
        self.stubs[0].1.len()
    }
}

/// One unit for all of a field that is compared, intervals included.
pub(super) fn contest_format(table: &Table, field: usize, contest: usize) -> Format {
    let subjects = table.subjects.iter().filter(|s| s.contest == contest);
    let numbers = subjects.flat_map(|s| match &s.cells[field] {
        Cell::Number { value, interval } => {
            let (low, high) = interval.unwrap_or((*value, *value));
            vec![*value, low, high]
        }
        _ => Vec::new(),
    });
    table.fields[field].unit.format(numbers)
}

fn write_field(table: &Table, field: usize) -> Vec<Written> {
    let mut written: Vec<Written> = table
        .subjects
        .iter()
        .map(|s| write_cell(&s.cells[field], &contest_format(table, field, s.contest)))
        .collect();
    for best in table.best(field) {
        // A lead that rounding hides does not count.
        let rivals = table.subjects.iter().zip(&written).enumerate();
        written[best].best = !rivals
            .filter(|(i, (s, _))| *i != best && s.contest == table.subjects[best].contest)
            .any(|(_, (_, cell))| cell.value == written[best].value);
    }
    written
}

fn write_cell(cell: &Cell, format: &Format) -> Written {
    match cell {
        Cell::Missing => Written {
            value: MISSING.to_string(),
            ..Written::default()
        },
        Cell::Text(text) => Written {
            value: printable(text).into_owned(),
            is_text: true,
            ..Written::default()
        },
        Cell::Number { value, interval } => Written {
            value: format.number(*value),
            unit: format.sign,
            interval: interval.map_or(String::new(), |i| write_interval(i, format)),
            ..Written::default()
        },
    }
}

/// An interval, unless it is too small to see.
fn write_interval((low, high): (f64, f64), format: &Format) -> String {
    let [low, high] = [low, high].map(|end| format.number(end));
    if low == high {
        return String::new();
    }
    format!("[{low}, {high}]")
}

fn fields_as_rows(table: &Table, written: Vec<Vec<Written>>) -> Grid {
    let labels = table
        .fields
        .iter()
        .map(|f| printable(&f.label).into_owned())
        .collect();
    let columns = table.subjects.iter().enumerate();
    Grid {
        stubs: vec![(String::new(), labels)],
        columns: columns
            .map(|(i, subject)| Column {
                heading: printable(subject.labels.join(" ").trim_end()).into_owned(),
                cells: written.iter().map(|row| row[i].clone()).collect(),
            })
            .collect(),
    }
}

fn fields_as_columns(table: &Table, written: Vec<Vec<Written>>) -> Grid {
    let stubs = table.stubs.iter().enumerate();
    let columns = table.fields.iter().zip(written);
    Grid {
        stubs: stubs
            .map(|(i, heading)| {
                let labels = table
                    .subjects
                    .iter()
                    .map(|s| printable(&s.labels[i]).into_owned());
                (printable(heading).into_owned(), labels.collect())
            })
            .filter(|(_, labels): &(String, Vec<String>)| {
                labels.is_empty() || labels.iter().any(|l| !l.is_empty())
            })
            .collect(),
        columns: columns
            .map(|(field, cells)| unit_in_heading(&printable(&field.label), cells))
            .collect(),
    }
}

/// Where all cells of a column have one unit it is named once.
fn unit_in_heading(label: &str, mut cells: Vec<Written>) -> Column {
    let mut signs = cells.iter().filter(|c| c.is_number()).map(|c| c.unit);
    let first = signs.next().unwrap_or("");
    if signs.any(|sign| sign != first) {
        return Column {
            heading: label.to_string(),
            cells,
        };
    }
    cells.iter_mut().for_each(|c| c.unit = "");
    Column {
        heading: with_sign(label, first),
        cells,
    }
}

fn with_sign(label: &str, sign: &str) -> String {
    match sign {
        "" => label.to_string(),
        sign => format!("{label} ({sign})"),
    }
}

/// The widths of a column's parts.
pub(super) struct Parts {
    value: usize,
    unit: usize,
    interval: usize,
    marked: bool,
    is_text: bool,
}

impl Parts {
    pub fn of(cells: &[Written]) -> Parts {
        let widest = |part: fn(&Written) -> usize| cells.iter().map(part).max().unwrap_or(0);
        Parts {
            value: widest(|c| width(&c.value)),
            unit: widest(|c| width(c.unit)),
            interval: widest(|c| width(&c.interval)),
            marked: cells.iter().any(|c| c.best),
            is_text: cells.iter().all(|c| c.is_text || c.value == MISSING)
                && cells.iter().any(|c| c.is_text),
        }
    }

    pub fn total(&self) -> usize {
        let part = |w: usize| if w == 0 { 0 } else { w + 1 };
        self.value + part(self.unit) + part(self.interval) + usize::from(self.marked)
    }

    /// The cell padded so that values, units and intervals stand below each other.
    pub fn align(&self, cell: &Written) -> String {
        if self.is_text {
            return pad_right(&cell.value, self.value);
        }
        let mut unit = String::new();
        if !cell.unit.is_empty() {
            unit = format!(" {}", cell.unit);
        }
        if cell.best {
            unit.push('*');
        }
        let room = if self.unit > 0 { self.unit + 1 } else { 0 } + usize::from(self.marked);
        let mut out = pad_left(&cell.value, self.value) + &pad_right(&unit, room);
        if self.interval > 0 {
            out = out + " " + &pad_left(&cell.interval, self.interval);
        }
        out
    }

    /// Should the heading stand to the left, as over text?
    pub fn is_text(&self) -> bool {
        self.is_text
    }
}
