//! Figures as SVG.
//!
//! [Elements](Element) escape their text, [scales](Scale) have round ticks, and there are the
//! kinds of figures that are usual for schedulers.
//! Colours come from a palette that colour-blind readers can distinguish, every series also
//! has a dash or a label of its own for print, text is in the reader's own font, dark and light follow
//! the reader's setting, and nothing is loaded from the network.
//!
//! ```
//! use schedlab_report::quantity::Unit;
//! use schedlab_report::svg::{Axis, Plot, Series, Style};
//!
//! let mut plot = Plot::new("Throughput by rooms", Axis::linear("rooms", Unit::Count, 5.0, 20.0),
//!     Axis::linear("messages a second", Unit::Rate, 0.0, 1500.0));
//! plot.lines(&[Series {
//!     name: "elsc".into(),
//!     style: Style::Series(0),
//!     points: vec![(5.0, 1200.0), (10.0, 1210.0), (20.0, 1190.0)],
//! }]);
//! let svg: String = plot.finish().standalone();
//! assert!(svg.contains("Throughput by rooms"));
//! ```

mod bars;
mod dots;
mod element;
mod heat;
mod legend;
mod matrix;
mod plot;
mod scale;
mod stack;
mod strips;
mod style;
mod timeline;

pub use bars::{Bar, BarGroup, Bars};
pub use dots::{Dot, Dots};
pub use element::{Element, Value};
pub use heat::HeatMap;
pub use matrix::Matrix;
pub use plot::{Axis, Marker, Plot, Series};
pub use scale::{round_up, Scale, Spacing, Tick};
pub use stack::{AreaStack, Segment, StackRow, StackedBars};
pub use strips::{Strip, StripDot, Strips};
pub use style::{Style, STYLE};
pub use timeline::{Highlight, Span, Timeline};

/// How wide figures over time are, in pixels: a page's width.
pub const WIDTH: f64 = 1120.0;
/// How wide figures are that stand side by side.
pub const HALF_WIDTH: f64 = 546.0;
/// How wide small multiples are: four stand side by side.
pub const SMALL_WIDTH: f64 = 268.0;

/// A finished figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// What it shows.
    pub title: String,
    width: f64,
    height: f64,
    content: Vec<Element>,
}

impl Figure {
    fn new(title: &str, width: f64, height: f64, content: Vec<Element>) -> Figure {
        Figure {
            title: title.to_string(),
            width,
            height,
            content,
        }
    }

    /// For a page that has [`STYLE`].
    pub fn inline(&self) -> String {
        self.root().with_all(self.content.clone()).to_string()
    }

    /// As a file of its own.
    pub fn standalone(&self) -> String {
        let ground = element::rect(0.0, 0.0, self.width, self.height).class("ground");
        let root = self.root().set("xmlns", "http://www.w3.org/2000/svg");
        let root = root.set("width", self.width).set("height", self.height);
        let root = root
            .tip(&self.title)
            .with(Element::new("style").text(STYLE))
            .with(ground);
        format!("{}\n", root.with_all(self.content.clone()))
    }

    fn root(&self) -> Element {
        let view = format!("0 0 {} {}", self.width.write(), self.height.write());
        let class = if self.width > HALF_WIDTH {
            "figure wide"
        } else {
            "figure"
        };
        let root = Element::new("svg").class(class).set("viewBox", view);
        root.set("role", "img")
            .set("aria-label", self.title.as_str())
    }
}
