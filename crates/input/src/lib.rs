//! Reading what users write: one clear message for each mistake.
//!
//! [`Document`] reads TOML and remembers the line of every key; [`Table`] hands out typed
//! values and refuses unknown keys; [`quantity`] reads durations, sizes and CPU lists, for
//! files and for the command line alike.

mod diagnostic;
mod document;
mod file;
pub mod flags;
pub mod quantity;
mod table;

pub use diagnostic::{nearest, Diagnostic};
pub use document::{Document, Text};
pub use file::{read_text, reason, stem, MAX_FILE_BYTES};
pub use table::Table;
