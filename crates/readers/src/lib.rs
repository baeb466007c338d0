//! Reads recordings from files of several formats.
//!
//! ```text
//!   file ──> open.rs ──────────────> text/ ────────┐
//!            decompresses, finds     perf_data.rs ─┼─> Intake ──> Recording, ReadReport
//!            the format              perfetto/ ────┘
//! ```
//!
//! [`read`] takes `perf.data`, the text of `perf script`, the text of ftrace and of `trace-cmd
//! report`, and Perfetto's protocol buffers, plain or compressed (gzip, xz, zstd).  The format is found by the content
//! of a file, never by its name.  The places of fields are read from the file, too.
//!
//! [`write_text`] writes the two texts.
//!
//! Nothing is left out silently: [`ReadReport`] counts the events that a recording does not need, and names what the
//! format does not record.  A file that is cut short or damaged gives a [`Diagnostic`](schedlab_input::Diagnostic) with
//! the place, never a panic.

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
