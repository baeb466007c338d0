//! Recordings of real kernels: from tracepoints to [`schedlab_trace`]'s events.
//!
//! ```text
//!   tracefs/  records a live kernel ──> pages ──> Decoder ──┐
//!   readers of files (perf, ftrace text, Perfetto) ─────────┴─> Recording ──play──> any Sink
//! ```
//!
//! A [`Recording`] is what the kernel said, in its own terms ([`KernelEvent`]): thread ids,
//! priorities as the kernel numbers them, task states by their letters.  Whoever reads another
//! kind of file fills one in, and everything behind it is the same.
//!
//! [`Recording::play`] turns it into a trace that never contradicts itself: it knows which uses of
//! a thread id are the same task, finds each task's last name, mends what lost events leave
//! behind, and counts what it had to mend ([`Mended`]).

mod context;
mod decode;
mod error;
mod event;
mod format;
mod identity;
mod idle;
mod notes;
mod order;
mod page;
mod play;
mod recording;
pub mod tracefs;

pub use decode::{Decoder, Description, Event as RecordLayout};
pub use error::RecordingError;
pub use event::{Comm, KernelEvent, KernelEventKind, KernelState, Pid, TaskRef};
pub use format::{Field, Format, Place};
pub use identity::KnownTask;
pub use notes::{Noted, NotedEvent, NotedTask, Notes, NOTES_VARIABLE};
pub use play::Mended;
pub use recording::{Carries, Recording};
