//! Recordings of real kernels: from tracepoints to [`schedlab_trace`]'s events.
//!
//! ```text
//!   tracefs/  records a live kernel ──> pages ──> Decoder ──┐
//!   readers of files (perf, ftrace text, Perfetto) ─────────┴─> Recording ──play──> any Sink
//! ```
//!
//! A [`Recording`] contains the kernel's events in the kernel's terms ([`KernelEvent`]): thread
//! ids, the kernel's priority numbers, letters for task states. Every reader of a file format
//! creates one; all later steps are the same.
//!
//! [`Recording::play`] turns it into a consistent trace. It separates tasks that had the same
//! thread id, finds each task's last name, adds events where lost events leave contradictions, and
//! counts the added ones ([`Mended`]).

mod context;
mod decode;
mod error;
mod event;
pub mod flow;
mod format;
mod identity;
mod kernel_thread;
mod missing;
mod notes;
mod order;
mod page;
mod play;
mod raw;
mod recording;
mod senders;
pub mod tracefs;

pub use decode::{Decoder, Description, RecordLayout};
pub use error::RecordingError;
pub use event::{Comm, KernelEvent, KernelEventKind, KernelState, Pid, TaskRef};
pub use format::{EventFormat, Field, Place};
pub use identity::{KnownFile, KnownTask};
pub use kernel_thread::{is_kernel_thread, kernel_thread_cpu};
pub use notes::{Noted, NotedEvent, NotedGroup, NotedTask, Notes, NOTES_VARIABLE};
pub use play::{FlowSink, Mended};
pub use raw::{Partial, Raw};
pub use recording::{Carries, Recording};
