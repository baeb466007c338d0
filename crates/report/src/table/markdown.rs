//! Tables for Markdown, as GitHub and most others read it.

use schedlab_trace::is_unprintable;

use super::grid::{Grid, Parts, Written};
use super::Table;

impl Table {
    /// The table in Markdown: a heading line in bold, the table, its notes.
    pub fn markdown(&self) -> String {
        let grid = Grid::new(self, self.layout);
        let mut out = format!("**{}**\n\n", escape(&self.title));
        let stubs = grid.stubs.iter().map(|(heading, _)| escape(heading));
        let headings = grid.columns.iter().map(|c| escape(&c.heading));
        out += &row(stubs.chain(headings));
        out += &row(rules(&grid).into_iter());
        for i in 0..grid.nr_rows() {
            let stubs = grid.stubs.iter().map(|(_, labels)| escape(&labels[i]));
            let cells = grid.columns.iter().map(|c| cell(&c.cells[i]));
            out += &row(stubs.chain(cells));
        }
        for note in &self.notes {
            out += &format!("\n{}\n", escape(note));
        }
        out
    }
}

fn rules(grid: &Grid) -> Vec<String> {
    let stubs = grid.stubs.iter().map(|_| ":---".to_string());
    let columns = grid.columns.iter().map(|c| {
        let text = Parts::of(&c.cells).is_text();
        if text { ":---" } else { "---:" }.to_string()
    });
    stubs.chain(columns).collect()
}

fn row(cells: impl Iterator<Item = String>) -> String {
    let cells: Vec<String> = cells.collect();
    format!("| {} |\n", cells.join(" | "))
}

fn cell(cell: &Written) -> String {
    let mut text = escape(&cell.value);
    if !cell.unit.is_empty() {
        text = text + " " + cell.unit;
    }
    if cell.best {
        text = format!("**{text}**");
    }
    if !cell.interval.is_empty() {
        text = text + " " + &escape(&cell.interval);
    }
    text
}

/// Escapes the characters that have a meaning in a table cell.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(
            c,
            '\\' | '|' | '*' | '_' | '`' | '<' | '>' | '[' | ']' | '&' | '~'
        ) {
            out.push('\\');
        }
        if is_unprintable(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}
