//! Heat maps over two dimensions: a cell for each pair of values.

use super::element::{label, rect, text_width, Element};
use super::legend::shorten;
use super::{Figure, HALF_WIDTH};
use crate::quantity::Unit;

/// A cell for each pair of values of two dimensions.
#[derive(Clone, PartialEq, Debug)]
pub struct Matrix {
    /// What it shows.
    pub title: String,
    /// The dimension across, and its values.
    pub across: (String, Vec<String>),
    /// The dimension down, and its values from the top.
    pub down: (String, Vec<String>),
    /// The unit of the cells.
    pub unit: Unit,
    /// The cells, row by row.
    pub cells: Vec<Vec<Option<f64>>>,
}

const RIGHT: f64 = 12.0;
const TOP: f64 = 46.0;
const CELL: f64 = 26.0;

impl Matrix {
    /// The figure: the faintest cell is the lowest value, the fullest the highest.
    pub fn figure(&self) -> Figure {
        let values = || self.cells.iter().flatten().flatten().copied();
        let low = values().fold(f64::INFINITY, f64::min);
        let high = values().fold(f64::NEG_INFINITY, f64::max);
        let names = self.down.1.iter().map(|name| text_width(&shorten(name)));
        let left = names.fold(30.0, f64::max).min(220.0) + 14.0;
        let columns = self.across.1.len().max(1) as f64;
        let width = (HALF_WIDTH - RIGHT - left) / columns;
        let format = self.unit.format(values());
        let mut content = self.key(low, high, left);
        if !format.sign.is_empty() {
            let unit = format!("cells in {}", format.sign);
            content.push(label(HALF_WIDTH - RIGHT, TOP - 6.0, unit).class("tick end"));
        }
        content.push(label(4.0, TOP - 6.0, format!("{} ↓", self.down.0)).class("tick"));
        for (row, name) in self.down.1.iter().enumerate() {
            let y = TOP + row as f64 * CELL;
            content.push(label(left - 6.0, y + CELL / 2.0 + 4.0, shorten(name)).class("tick end"));
            for (column, value) in self.cells[row].iter().enumerate() {
                let Some(value) = *value else { continue };
                let x = left + column as f64 * width;
                let part = match high > low {
                    true => (value - low) / (high - low),
                    false => 0.0,
                };
                let cell = rect(x, y, width - 1.0, CELL - 1.0).class("heat");
                let (other, shown) = (&self.across.1[column], self.unit.show(value));
                let tip = format!("{} {name}, {} {other}: {shown}", self.down.0, self.across.0);
                content.push(cell.set("fill-opacity", 0.06 + 0.84 * part).tip(tip));
                let text = format.number(value);
                if text_width(&text) < width - 4.0 {
                    let class = match part > 0.72 {
                        true => "cell middle on-dark",
                        false => "cell middle",
                    };
                    let at = (x + width / 2.0, y + CELL / 2.0 + 4.0);
                    content.push(label(at.0, at.1, text).class(class));
                }
            }
        }
        let bottom = TOP + self.down.1.len() as f64 * CELL;
        // Where columns are narrower than their names, only some are named.
        let widest = self
            .across
            .1
            .iter()
            .map(|name| text_width(&shorten(name)) + 8.0);
        let every = (widest.fold(1.0, f64::max) / width).ceil() as usize;
        for (column, name) in self.across.1.iter().enumerate().step_by(every.max(1)) {
            let x = left + (column as f64 + 0.5) * width;
            content.push(label(x, bottom + 15.0, shorten(name)).class("tick middle"));
        }
        let middle = (left + HALF_WIDTH - RIGHT) / 2.0;
        content.push(label(middle, bottom + 32.0, format!("{} →", self.across.0)).class("middle"));
        Figure::new(&self.title, HALF_WIDTH, bottom + 38.0, content)
    }

    fn key(&self, low: f64, high: f64, left: f64) -> Vec<Element> {
        if !low.is_finite() {
            return Vec::new();
        }
        let (from, to) = (self.unit.show(low), self.unit.show(high));
        let start = left + text_width(&from) + 6.0;
        let mut key = vec![label(start - 6.0, 15.0, from).class("tick end")];
        for step in 0..10 {
            let cell = rect(start + f64::from(step) * 12.0, 5.0, 12.0, 12.0).class("heat");
            key.push(cell.set("fill-opacity", 0.06 + 0.84 * f64::from(step) / 9.0));
        }
        key.push(label(start + 126.0, 15.0, to).class("tick"));
        key
    }
}
