//! Elements of an SVG document, written with everything escaped.

use std::fmt::Write;

use schedlab_trace::is_unprintable;

/// An element with attributes and children.
#[derive(Clone, Debug, PartialEq)]
pub struct Element {
    name: &'static str,
    attributes: Vec<(&'static str, String)>,
    children: Vec<Node>,
}

#[derive(Clone, Debug, PartialEq)]
enum Node {
    Element(Element),
    Text(String),
}

/// Something an attribute can be set to.
pub trait Value {
    /// As it is written, before escaping.
    fn write(self) -> String;
}

impl Value for f64 {
    /// A hundredth of a pixel is fine enough for screens and print.
    fn write(self) -> String {
        debug_assert!(self.is_finite(), "a coordinate of a figure is {self}");
        let text = format!("{self:.2}");
        match text.trim_end_matches('0').trim_end_matches('.') {
            "-0" => "0".to_string(),
            trimmed => trimmed.to_string(),
        }
    }
}

impl Value for &str {
    fn write(self) -> String {
        self.to_string()
    }
}

impl Value for String {
    fn write(self) -> String {
        self
    }
}

impl Element {
    /// An element without attributes and children.
    pub fn new(name: &'static str) -> Element {
        Element {
            name,
            attributes: Vec::new(),
            children: Vec::new(),
        }
    }

    /// With this attribute.
    pub fn set(mut self, name: &'static str, value: impl Value) -> Element {
        self.attributes.push((name, value.write()));
        self
    }

    /// With these classes, which the style sheet knows.
    pub fn class(self, names: impl Value) -> Element {
        self.set("class", names)
    }

    /// With this child after those it has.
    pub fn with(mut self, child: Element) -> Element {
        self.push(child);
        self
    }

    /// With these children after those it has.
    pub fn with_all(mut self, children: impl IntoIterator<Item = Element>) -> Element {
        self.children
            .extend(children.into_iter().map(Node::Element));
        self
    }

    /// With this text after the children it has.
    pub fn text(mut self, text: impl Into<String>) -> Element {
        self.children.push(Node::Text(text.into()));
        self
    }

    /// With a tool tip.
    pub fn tip(self, text: impl Into<String>) -> Element {
        self.with(Element::new("title").text(text))
    }

    /// Adds a child after those it has.
    pub fn push(&mut self, child: Element) {
        self.children.push(Node::Element(child));
    }

    fn write(&self, out: &mut String) {
        let _ = write!(out, "<{}", self.name);
        for (name, value) in &self.attributes {
            let _ = write!(out, " {name}=\"{}\"", escape(value));
        }
        if self.children.is_empty() {
            out.push_str("/>");
            return;
        }
        out.push('>');
        for child in &self.children {
            match child {
                Node::Element(element) => element.write(out),
                Node::Text(text) => out.push_str(&escape(text)),
            }
        }
        let _ = write!(out, "</{}>", self.name);
    }
}

impl std::fmt::Display for Element {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = String::new();
        self.write(&mut out);
        f.write_str(&out)
    }
}

/// A line.
pub(super) fn line(x1: f64, y1: f64, x2: f64, y2: f64) -> Element {
    let line = Element::new("line").set("x1", x1).set("y1", y1);
    line.set("x2", x2).set("y2", y2)
}

/// A rectangle; negative sizes become zero.
pub(super) fn rect(x: f64, y: f64, width: f64, height: f64) -> Element {
    let rect = Element::new("rect").set("x", x).set("y", y);
    rect.set("width", width.max(0.0))
        .set("height", height.max(0.0))
}

/// Text whose baseline begins at this point.
pub(super) fn label(x: f64, y: f64, text: impl Into<String>) -> Element {
    Element::new("text").set("x", x).set("y", y).text(text)
}

/// Escapes the special characters of XML; characters that are invalid or invisible are written visibly.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' => out.push(c),
            c if is_unprintable(c) => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}

/// The approximate width of a text in a figure, in pixels, rounded up because fonts differ.
pub(super) fn text_width(text: &str) -> f64 {
    unicode_width::UnicodeWidthStr::width(text) as f64 * 6.6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_from_outside_is_escaped() {
        let e = Element::new("text")
            .set("data-x", "a\"b")
            .text("<script>&\u{0}");
        assert_eq!(
            e.to_string(),
            "<text data-x=\"a&quot;b\">&lt;script&gt;&amp;\\u{0}</text>"
        );
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(1.0.write(), "1");
        assert_eq!(0.125.write(), "0.12");
        assert_eq!((-0.001).write(), "0");
        assert_eq!(100.0.write(), "100");
    }
}
