//! What if: from a trace of a real machine to a workload any scheduler can run.
//!
//! ```text
//!   Recording ──play──> Rebuild ──> Replay { workload, who is who, what could not be told }
//!   (or any trace)      a sink        │
//!                                     ├─> Simulation under any policy ──Identified──> sinks
//!                                     ├─> SelfCheck: under the recording's own scheduler
//!                                     └─> minimise: the smallest part that shows a symptom
//! ```
//!
//! A task becomes a program: bursts of work, as long as it was on a CPU, separated by blocks.
//! Each block that ended a task's wakeup is a semaphore, which the waker posts at the same point of its
//! own work; each that ended an interrupt is a sleep.
//!
//! # No replay gets stuck
//!
//! Every task waits only on the semaphore that is its own, programs have no branches, and each
//! wait was given exactly one post.  So what can go on stays able to go on until it does, whatever
//! the others do, and it does not matter in which order they do it: where one order brings every
//! task to its end, all orders do.  The recording is one such order.
//!
//! What a recording cannot tell is in [`LIMITS`].

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
