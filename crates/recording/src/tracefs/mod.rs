//! Recording the kernel this program runs on, through tracefs.
//!
//! A recording has its own trace instance and does not disturb other tracing. The instance is
//! removed with the [`Recorder`]; if the process was killed, the next recorder removes it. Buffers
//! are read when they are half full, so during a short recording only the tracepoints cost time.

mod instance;
mod record;
mod recorder;
mod tasks;

pub use record::record;
pub use recorder::{is_permitted, Recorder, Report, Wanted};
