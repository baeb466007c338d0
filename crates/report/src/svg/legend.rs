//! Legends: the name that belongs to each style.

use super::element::{label, line, text_width, Element};
use super::Style;

/// What stands before a name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    /// A piece of line.
    Line,
    /// A little box.
    Area,
}

const LINE_HEIGHT: f64 = 18.0;
const KEY_WIDTH: f64 = 26.0;

/// Entries side by side in as many lines as they need, from `x` to `right`; with its height.
pub(super) fn legend(entries: &[(String, Style)], key: Key, x: f64, right: f64) -> (Element, f64) {
    let mut group = Element::new("g").class("legend");
    let (mut at, mut y) = (x, LINE_HEIGHT * 0.7);
    for (name, style) in entries {
        let name = shorten(name);
        let needed = KEY_WIDTH + text_width(&name) + 18.0;
        if at > x && at + needed > right {
            (at, y) = (x, y + LINE_HEIGHT);
        }
        group.push(match key {
            Key::Line => line(at, y - 4.0, at + 20.0, y - 4.0).class(style.curve()),
            Key::Area => style.area(at + 4.0, y - 10.0, 14.0, 12.0),
        });
        if *style == Style::Idle && key == Key::Area {
            group.push(super::element::rect(at + 4.0, y - 10.0, 14.0, 12.0).class("frame"));
        }
        group.push(label(at + KEY_WIDTH, y, name));
        at += needed;
    }
    (group, y + LINE_HEIGHT * 0.5)
}

/// Names of users can be of any length.
pub(super) fn shorten(name: &str) -> String {
    if name.chars().count() <= 32 {
        return name.to_string();
    }
    name.chars().take(31).chain(['…']).collect()
}
