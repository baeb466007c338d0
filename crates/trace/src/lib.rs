//! Events of a machine, simulated or real.
//!
//! A trace is a sequence of [`Event`]s in time order.  A producer (the simulator,
//! a recording of a kernel) drives a [`Sink`]; a consumer (metrics, hash, Perfetto
//! file, text) is a sink.  Data flows one way: a sink never asks the producer
//! anything.
//!
//! Everything schedlab publishes about a run is computed from these events.

mod atomic_file;
mod event;
mod follow;
pub mod ftrace;
mod hash;
mod output;
mod perfetto;
mod printable;
mod proto;
mod sink;
mod units;

pub use atomic_file::AtomicFile;
pub use event::{
    kernel_version, CpuMax, Event, EventKind, GroupInfo, GroupWeight, Overhead, PrevState,
    TaskClass, TaskInfo, TraceInfo, WakeContext,
};
pub use follow::pid;
pub use ftrace::line::SIMULATED_HEADING;
pub use ftrace::FtraceSink;
pub use hash::{HashSink, TextHash, TraceHash};
pub use perfetto::{PerfettoSink, SIMULATED_VERSION};
pub use printable::{is_unprintable, printable, printable_json, printable_lines};
pub use sink::{Sink, Tee};
pub use units::{CpuId, GroupId, MarkId, Ns, TaskId, Time};
