//! The simulator: a deterministic discrete-event model of an SMP machine and its kernel.
//!
//! A [`Simulation`] runs one [`Workload`](schedlab_workload::Workload) on one
//! [`Machine`](schedlab_machine::Machine) under one policy and tells a
//! [`Sink`](schedlab_trace::Sink) what happens.  It reads no clock, draws no number that is not
//! seeded, touches no file and starts no thread: the same inputs give the same trace, bit for
//! bit, on every machine.
//!
//! ```text
//!            events by time                 kernel work, one piece at a time
//!  EventQueue ------------> Simulation ----------------> Host (the policy's hooks)
//!     ^                       |    |  ^                     |
//!     |     arms the next     |    |  +---- requests: ------+  reschedule this CPU,
//!     +-----------------------+    |        move this task, arm this timer
//!                                  +----> Sink (hash, metrics, files)
//! ```
//!
//! A CPU is idle, in user mode, in the kernel or spinning on a run-queue lock. Interrupts and
//! system calls add pieces of kernel work (a tick, a wakeup). Each piece takes time, and only
//! between pieces does the CPU check whether it must reschedule: the kernel is not preemptible,
//! like the kernels of that time.
//!
//! After every event the rules of [`Rule`] are checked.

mod attributes;
mod cache;
mod check;
mod cpu;
mod deadlock;
mod drain;
mod ending;
mod engine;
mod error;
mod family;
mod future;
mod groups;
mod lock;
mod modes;
mod nice;
mod program;
mod queue;
mod requests;
mod resources;
mod schedule;
mod setup;
mod task;
mod ticks;
mod wake;

pub use ending::Ending;
pub use engine::{EndReason, Outcome, Simulation, Status};
pub use error::{Rule, SimError, Violation};
pub use setup::{Limits, Setup, TieBreak};
