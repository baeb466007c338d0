//! Looks for workloads that break a scheduler, and makes them small.
//!
//! A [`Case`] is a small machine and workload as the text of files that `schedlab run` reads; each seed has one. A
//! [`Search`] runs the cases of many seeds, [`judge`]s each run by the table of invariants ([`INVARIANTS`]), and shrinks the first
//! case of everything it finds. Results depend on the policy and the seeds alone.

mod case;
mod draw;
mod invariant;
mod judge;
mod search;
mod shrink;
mod wakers;
mod watch;

pub use case::{Case, Circumstances, Platform};
pub use invariant::{invariant, of_rule, Invariant, INVARIANTS};
pub use judge::{judge, Broken, Verdict};
pub use search::{Found, Results, Search};
pub use shrink::shrink;
