//! What people get to see of a run: tables, figures and the HTML report.

pub mod quantity;
pub mod svg;
pub mod table;
