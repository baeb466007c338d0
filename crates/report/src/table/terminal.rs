//! Tables for terminals.

use std::io::IsTerminal;
use std::ops::Range;

use schedlab_trace::printable;

use super::grid::{Column, Grid, Parts};
use super::text::{clip, pad_left, pad_right, width, wrap};
use super::{Layout, Table};

/// The terminal a table is written for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Terminal {
    /// Columns it has.
    pub width: usize,
    /// May colours be used?
    pub colour: bool,
}

/// Space between columns.
const GAP: &str = "  ";
/// Headings are broken into lines at least this wide.
const HEADING: usize = 9;

const BOLD: &str = "\x1b[1m";
const DIM: &str = "\x1b[2m";
const GREEN: &str = "\x1b[1;32m";
const RESET: &str = "\x1b[0m";

/// A column with all that is needed to write it.
struct Slot<'a> {
    column: &'a Column,
    parts: Parts,
    heading: Vec<String>,
    width: usize,
}

impl Terminal {
    /// Standard output as it is: its width if it is a terminal, else 120 columns; colours only on
    /// a terminal, unless `NO_COLOR` is set or `TERM` is "dumb".
    pub fn stdout() -> Terminal {
        Terminal::of(std::io::stdout().is_terminal())
    }

    /// Standard error, likewise.
    pub fn stderr() -> Terminal {
        Terminal::of(std::io::stderr().is_terminal())
    }

    fn of(is_terminal: bool) -> Terminal {
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|v| v == "dumb");
        Terminal {
            width: terminal_size::terminal_size().map_or(120, |(w, _)| usize::from(w.0)),
            colour: is_terminal && !no_color && !dumb,
        }
    }

    /// The table, each line ended by a newline.  A table that is too wide is transposed or split, whichever
    /// needs fewer parts; no line is longer than the terminal unless a single column is.
    pub fn render(&self, table: &Table) -> String {
        let mut out = self.paint(BOLD, &printable(&table.title)) + "\n";
        let grid = self.choose(table);
        let slots = slots(&grid);
        let stubs = self.stub_widths(&grid);
        for (i, block) in self.blocks(&slots, &stubs).into_iter().enumerate() {
            if i > 0 {
                out.push('\n');
            }
            self.write_block(&mut out, &grid, &slots[block], &stubs);
        }
        for note in self.notes(table, &slots) {
            out += &(self.paint(DIM, &note) + "\n");
        }
        out
    }

    fn notes(&self, table: &Table, slots: &[Slot]) -> Vec<String> {
        let best = "* best; unmarked where values are equal or intervals overlap";
        let marked = slots.iter().flat_map(|s| &s.column.cells).any(|c| c.best);
        let notes = marked.then(|| best.to_string());
        notes
            .into_iter()
            .chain(table.notes.iter().map(|n| printable(n).into_owned()))
            .flat_map(|n| wrap(&n, self.width))
            .collect()
    }

    /// The layout the table asks for if it fits in one part; else the one with fewer parts.
    fn choose(&self, table: &Table) -> Grid {
        let asked = Grid::new(table, table.layout);
        let turned = match table.layout {
            Layout::FieldsAsRows => Layout::FieldsAsColumns,
            Layout::FieldsAsColumns => return asked,
        };
        let parts = |grid: &Grid| self.blocks(&slots(grid), &self.stub_widths(grid)).len();
        let asked_parts = parts(&asked);
        if asked_parts <= 1 {
            return asked;
        }
        let turned = Grid::new(table, turned);
        if parts(&turned) <= asked_parts {
            turned
        } else {
            asked
        }
    }

    fn stub_widths(&self, grid: &Grid) -> Vec<usize> {
        let limit = (self.width / 2 / grid.stubs.len()).max(10);
        let widest = |(heading, labels): &(String, Vec<String>)| {
            let labels = labels.iter().map(|l| width(l)).max().unwrap_or(0);
            labels.max(width(heading)).min(limit)
        };
        grid.stubs.iter().map(widest).collect()
    }

    /// Runs of columns that fit beside the labels.
    fn blocks(&self, slots: &[Slot], stubs: &[usize]) -> Vec<Range<usize>> {
        let left: usize = stubs.iter().map(|w| w + GAP.len()).sum::<usize>() - GAP.len();
        let mut blocks = Vec::new();
        let (mut start, mut used) = (0, left);
        for (i, slot) in slots.iter().enumerate() {
            let needed = slot.width + GAP.len();
            if used + needed > self.width && i > start {
                blocks.push(start..i);
                (start, used) = (i, left);
            }
            used += needed;
        }
        if start < slots.len() || slots.is_empty() {
            blocks.push(start..slots.len());
        }
        blocks
    }

    fn write_block(&self, out: &mut String, grid: &Grid, slots: &[Slot], stubs: &[usize]) {
        let lines = slots.iter().map(|s| s.heading.len()).max().unwrap_or(1);
        for line in 0..lines {
            let head = heading_line(grid, slots, stubs, line, lines);
            *out += &(self.paint(BOLD, head.trim_end()) + "\n");
        }
        let total = stubs.iter().chain(slots.iter().map(|s| &s.width));
        let total = total.map(|w| w + GAP.len()).sum::<usize>() - GAP.len();
        *out += &(self.paint(DIM, &"─".repeat(total)) + "\n");
        for row in 0..grid.nr_rows() {
            let line = self.row(grid, slots, stubs, row);
            *out += &(line.trim_end().to_string() + "\n");
        }
    }

    fn row(&self, grid: &Grid, slots: &[Slot], stubs: &[usize], row: usize) -> String {
        let mut cells: Vec<String> = Vec::new();
        for ((_, labels), w) in grid.stubs.iter().zip(stubs) {
            cells.push(pad_right(&clip(&labels[row], *w), *w));
        }
        for slot in slots {
            let cell = &slot.column.cells[row];
            let text = slot.parts.align(cell);
            let text = if slot.parts.is_text() {
                pad_right(&text, slot.width)
            } else {
                pad_left(&text, slot.width)
            };
            let colour = if cell.best { GREEN } else { "" };
            cells.push(self.paint(colour, &text));
        }
        cells.join(GAP)
    }

    fn paint(&self, code: &str, text: &str) -> String {
        if self.colour && !code.is_empty() {
            format!("{code}{text}{RESET}")
        } else {
            text.to_string()
        }
    }
}

fn slots(grid: &Grid) -> Vec<Slot<'_>> {
    grid.columns.iter().map(slot).collect()
}

fn slot(column: &Column) -> Slot<'_> {
    let parts = Parts::of(&column.cells);
    let heading = wrap(&column.heading, parts.total().max(HEADING));
    let widest = heading.iter().map(|l| width(l)).max().unwrap_or(0);
    Slot {
        column,
        width: parts.total().max(widest),
        parts,
        heading,
    }
}

/// One of the lines above the rule; headings with fewer lines stand at the bottom.
fn heading_line(grid: &Grid, slots: &[Slot], stubs: &[usize], line: usize, of: usize) -> String {
    let mut cells: Vec<String> = Vec::new();
    for ((heading, _), w) in grid.stubs.iter().zip(stubs) {
        let text = if line + 1 == of { heading } else { "" };
        cells.push(pad_right(&clip(text, *w), *w));
    }
    for slot in slots {
        let above = of - slot.heading.len();
        let text = line.checked_sub(above).map_or("", |i| &slot.heading[i]);
        cells.push(if slot.parts.is_text() {
            pad_right(text, slot.width)
        } else {
            pad_left(text, slot.width)
        });
    }
    cells.join(GAP)
}
