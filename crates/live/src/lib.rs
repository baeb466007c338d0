//! Policies in the running kernel, through sched_ext.
//!
//! [`load`] makes a policy's BPF object the system's scheduler. When the returned [`Loaded`] is
//! dropped, or this process dies, the kernel's own scheduler schedules all tasks again.

mod attach;
mod conform;
mod ending;
mod kernel;
mod load;
mod object;
mod park;
mod statistics;
mod topology;

pub use attach::attach_object;
pub use conform::{conform, ConformError, Conformance};
pub use ending::{Ending, Kind};
pub use kernel::{status, Status};
pub use load::{load, load_floor, run_programs, Error, Loaded, Options, Program};
pub use object::{count_calls, Calls, Object};
pub use statistics::{Histogram, Statistics};
