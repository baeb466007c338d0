//! Runs in a real kernel: which scheduler, in which machine, and what they bring back.

mod counters;
mod scheduler;
mod session;

pub use scheduler::{compile_for_kernel, Scheduler};
pub use session::{failure, machine, Echo, KernelRun, KernelSession, Task};
