//! Recordings in files, whoever made them.
//!
//! ```text
//!   file ──> open.rs ──────────────> text/ ────────┐
//!            decompresses, looks at  perf_data.rs ─┼─> Intake ──> Recording, ReadReport
//!            what it begins with     perfetto/ ────┘
//! ```
//!
//! [`read`] takes `perf.data`, the text of `perf script`, the text of ftrace and of `trace-cmd
//! report`, and Perfetto's protocol buffers, plain or compressed (gzip, xz, zstd).  What a file
//! is, its content says, never its name; where a field stands, the file says, too.
//!
//! [`write_text`] goes the other way, for the two texts.
//!
//! Nothing is left out silently: [`ReadReport`] counts what a file holds that a recording does
//! not need, and what the file's format cannot tell.  A file that is cut short or damaged is a
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
pub use report::{Compression, Format, ReadReport};
pub use write::{write_text, TextFormat};
