//! Recording the kernel this program runs on, through tracefs.
//!
//! A trace instance of our own leaves everybody else's tracing alone, and goes away with the
//! [`Recorder`].  Nothing is read before a buffer is half full, so a short recording disturbs the
//! machine by the tracepoints alone.

mod record;
mod recorder;
mod tasks;

pub use record::record;
pub use recorder::{Recorder, Report};
