//! Results of runs for users: tables, figures and the HTML report.
//!
//! A [`Run`] goes in; text for a terminal, Markdown, JSON or HTML comes out.  Nothing here
//! measures: every number shown is one of [`schedlab_measure`].

mod html;
pub mod json;
pub mod quantity;
mod run;
pub mod study;
pub mod summary;
pub mod svg;
pub mod table;
pub mod text;

pub use html::{render_html, render_sections, ReportError, ReportInfo, PAGE_STYLE};
pub use run::{Comparison, Identity, Run, Setup, World};
