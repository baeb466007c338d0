//! Runs in a real kernel: the scheduler, the machine, and the results.

mod counters;
mod scheduler;
mod session;

pub use scheduler::{compile_for_kernel, for_kernels, Scheduler};
pub use session::{failure, machine, Echo, KernelRun, KernelSession, Task};
