//! Reads recordings from files of several formats.
//!
//! ```text
//!   file ──> open.rs ──────────────> text/ ────────┐
//!            decompresses, finds     perf_data.rs ─┼─> Intake ──> Recording, ReadReport
//!            the format              perfetto/ ────┘
//! ```
//!
//! [`read`] accepts `perf.data`, the text of `perf script`, the text of ftrace and of `trace-cmd
//! report`, and Perfetto's protocol buffers, plain or compressed (gzip, xz, zstd). The format is
//! found from the file's content, not from its name. The layout of records is read from the file,
//! too.
//!
//! [`write_text`] writes the two texts.
//!
//! No event is dropped silently: [`ReadReport`] counts the events that a recording does not need,
//! and names what the format does not record. A damaged or incomplete file gives a
//! [`Diagnostic`](schedlab_input::Diagnostic) with the place, never a panic.

mod budget;
mod failure;
mod guard;
mod intake;
mod open;
mod perf_data;
mod perfetto;
mod report;
mod text;
mod write;

pub use open::{read, read_from, read_within};
pub use report::{Compression, FileFormat, ReadReport};
pub use write::{write_text, TextFormat};
