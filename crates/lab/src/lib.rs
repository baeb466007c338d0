//! Describes runs and does them.
//!
//! A [`Trial`] describes one simulation: a policy with its settings, a machine, a workload, a seed and limits.
//! [`Trial::run`] simulates it into any [`Sink`](schedlab_trace::Sink), and can be stopped at any time;
//! [`run_all`] does many trials on several threads.  [`choose`] finds what users name, and [`CommandLine`] is the
//! command that reproduces a run.

mod batch;
pub mod choose;
mod command;
pub mod design;
mod error;
pub mod identity;
mod parallel;
mod result;
mod seeds;
mod trial;

pub use batch::{run_all, Done, Watch};
pub use command::{exact, quoted, shell_word, CommandLine};
pub use error::Error;
pub use parallel::{in_parallel, threads, Cancel};
pub use result::{mending_warnings, Recorded};
pub use schedlab_sim::Ending;
pub use seeds::Seeds;
pub use trial::{Beat, Ran, Reason, Trial, Unfinished};
