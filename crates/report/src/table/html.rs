//! Tables for HTML.

use askama::Template;

use super::grid::{contest_format, Grid, Parts};
use super::{Better, Cell, Layout, Table};

/// A table as text in cells; [`Template::render`] marks it up and escapes it.
#[derive(Clone, Template, Debug)]
#[template(path = "table.html")]
pub struct HtmlTable {
    /// What it shows.
    pub title: String,
    /// Headings, those of the labels first.
    pub columns: Vec<HtmlColumn>,
    /// Cells of each row, those of the labels first.
    pub rows: Vec<Vec<HtmlCell>>,
    /// Printed below.
    pub notes: Vec<String>,
    /// Can a reader sort it by its columns?
    pub sortable: bool,
}

/// A heading.
#[derive(Clone, Debug)]
pub struct HtmlColumn {
    /// Its text.
    pub text: String,
    /// Does it stand over labels, numbers or other text?
    pub kind: &'static str,
}

/// A cell.
#[derive(Clone, Default, Debug)]
pub struct HtmlCell {
    /// Its text.
    pub text: String,
    /// Its unit; empty where the heading has it.
    pub unit: &'static str,
    /// Its interval, or empty.
    pub interval: String,
    /// Is it the best?
    pub best: bool,
    /// "label", "number" or "text".
    pub kind: &'static str,
    /// For a label: is it equal to the one above it?
    pub again: bool,
    /// The number to sort by.
    pub sort: Option<f64>,
    /// Change against the first subject of the contest ("−12 %"), or empty.
    pub delta: String,
    /// Is that change "better", "worse" or, within the intervals, neither (empty)?
    pub verdict: &'static str,
}

impl HtmlTable {
    /// The same, for readers to sort.
    pub fn sortable(self) -> HtmlTable {
        HtmlTable {
            sortable: true,
            ..self
        }
    }
}

impl Table {
    /// The table for the template.
    pub fn html(&self) -> HtmlTable {
        let grid = Grid::new(self, self.layout);
        let stubs = grid.stubs.iter().map(|(heading, _)| HtmlColumn {
            text: heading.clone(),
            kind: "label",
        });
        let columns = grid.columns.iter().map(|c| HtmlColumn {
            text: c.heading.clone(),
            kind: if Parts::of(&c.cells).is_text() {
                "text"
            } else {
                "number"
            },
        });
        HtmlTable {
            title: self.title.clone(),
            columns: stubs.chain(columns).collect(),
            rows: (0..grid.nr_rows())
                .map(|i| self.html_row(&grid, i))
                .collect(),
            notes: self.notes.clone(),
            sortable: false,
        }
    }

    fn html_row(&self, grid: &Grid, row: usize) -> Vec<HtmlCell> {
        let labels = grid.stubs.iter().map(|(_, labels)| HtmlCell {
            text: labels[row].clone(),
            kind: "label",
            again: row > 0 && labels[row] == labels[row - 1],
            ..HtmlCell::default()
        });
        let cells = grid.columns.iter().enumerate().map(|(column, c)| {
            let (subject, field) = match self.layout {
                Layout::FieldsAsRows => (column, row),
                Layout::FieldsAsColumns => (row, column),
            };
            let written = &c.cells[row];
            let (delta, verdict) = self.delta(subject, field);
            HtmlCell {
                text: written.value.clone(),
                unit: written.unit,
                interval: written.interval.clone(),
                best: written.best,
                kind: if written.is_text { "text" } else { "number" },
                again: false,
                sort: self.value(subject, field),
                delta,
                verdict,
            }
        });
        labels.chain(cells).collect()
    }

    fn value(&self, subject: usize, field: usize) -> Option<f64> {
        match self.subjects[subject].cells[field] {
            Cell::Number { value, .. } if value.is_finite() => Some(value),
            _ => None,
        }
    }

    /// Change of a value against the first subject of its contest, where one of them is better.
    fn delta(&self, subject: usize, field: usize) -> (String, &'static str) {
        let contest = self.subjects[subject].contest;
        let known = |first| {
            Some((
                first,
                self.value(first, field)?,
                self.value(subject, field)?,
            ))
        };
        let first = self.subjects.iter().position(|s| s.contest == contest);
        let Some((first, base, value)) = first
            .filter(|first| *first != subject && self.fields[field].better.is_some())
            .and_then(known)
        else {
            return (String::new(), "");
        };
        // Differences that the format hides are not shown.
        let format = contest_format(self, field, contest);
        if base == 0.0 || format.number(base) == format.number(value) {
            return (String::new(), "");
        }
        (change(value / base), self.verdict(first, subject, field))
    }

    /// Is a value better or worse than the first one, beyond what their intervals leave open?
    fn verdict(&self, first: usize, subject: usize, field: usize) -> &'static str {
        let Some(better) = self.fields[field].better else {
            return "";
        };
        let [base, cell] = [first, subject].map(|s| &self.subjects[s].cells[field]);
        if clearly_better(cell, base, better) {
            "better"
        } else if clearly_better(base, cell, better) {
            "worse"
        } else {
            ""
        }
    }
}

/// The worse end of one interval must be better than the better end of the other to count.
fn clearly_better(a: &Cell, b: &Cell, better: Better) -> bool {
    match (a.worst(better), b.rank(better)) {
        (Some(worst), Some((_, best))) => worst < best,
        _ => false,
    }
}

/// A ratio as a change: per cent while that is easy to grasp, else a factor.
fn change(ratio: f64) -> String {
    let percent = (ratio - 1.0) * 100.0;
    if ratio >= 10.0 {
        format!("×{ratio:.0}")
    } else if ratio > 0.0 && ratio <= 0.1 {
        format!("÷{:.0}", 1.0 / ratio)
    } else if ratio >= 3.0 {
        format!("×{ratio:.1}")
    } else if percent.abs() < 0.1 {
        String::new()
    } else if percent.abs() < 10.0 {
        format!("{percent:+.1} %").replace('-', "−")
    } else {
        format!("{percent:+.0} %").replace('-', "−")
    }
}
