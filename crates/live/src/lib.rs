//! Policies in the running kernel, through sched_ext.
//!
//! [`load`] turns a policy's BPF object into the machine's scheduler; dropping the [`Loaded`] it
//! returns, or the death of this process, gives the machine back to the kernel's own.

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
