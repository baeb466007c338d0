//! Recording the kernel this program runs on, through tracefs.
//!
//! A recording has a trace instance of its own, so it disturbs no other tracing.  The instance is removed with the
//! [`Recorder`], or by the next one if the process was killed.  Nothing is read before a buffer is half full, so a
//! short recording disturbs the machine by the tracepoints alone.

mod instance;
mod record;
mod recorder;
mod tasks;

pub use record::record;
pub use recorder::{is_permitted, Recorder, Report, Wanted};
