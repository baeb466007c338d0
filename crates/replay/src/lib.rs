//! Rebuilds a trace of a real machine as a workload that any scheduler can run.
//!
//! ```text
//!   Recording ──play──> Rebuild ──> Replay { workload, recorded tasks, counts }
//!   (or any trace)      a sink        │
//!                                     ├─> Simulation under any policy ──Identified──> sinks
//!                                     ├─> SelfCheck: under the recording's own scheduler
//!                                     └─> minimise: the smallest part that shows a symptom
//! ```
//!
//! A task becomes a program: its CPU time as bursts of work, separated by blocks. A block that
//! ended with a wakeup by a task is a wait on a semaphore; the waker posts it at the same point of
//! its own work. A block that ended with an interrupt is a sleep.
//!
//! # Every replay ends
//!
//! Each task waits only on its own semaphore, programs have no branches, and each wait has exactly
//! one post. So a task that can continue stays able to continue, whatever other tasks do. If one
//! order of the tasks lets all of them end, all orders do. The recording is such an order.
//!
//! [`LIMITS`] lists what a recording does not contain.

mod call;
mod check;
mod complete;
mod costs;
mod identified;
mod life;
mod lowering;
mod machine;
mod minimise;
mod own;
mod reactions;
mod rebuild;
mod replay;
mod waits;
mod without_costs;

pub use check::{Distance, SelfCheck, Trust, Unit};
pub use complete::is_complete;
pub use costs::SchedulingCosts;
pub use identified::{Identified, Identities};
pub use machine::machine_like;
pub use minimise::{minimise, Minimised, Symptom, Watch};
pub use own::own_scheduler;
pub use reactions::ReactionTimes;
pub use rebuild::{Options, Rebuild};
pub use replay::{fit, Counts, End, Mode, Replay, LIMITS};
pub use without_costs::WithoutCosts;
