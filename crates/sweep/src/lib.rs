//! Many runs from one plan, with their results in one SQLite file.
//!
//! A [`Plan`] says what is combined with what; a [`Batch`] is the plan made ready, with a name for every run that is
//! a hash of all that determines it; [`run`] does the runs that a [`Store`] does not have yet.  Results go in as they
//! come, so that a sweep can be interrupted at any time and continued by any process.

mod axis;
mod batch;
mod claims;
mod constraint;
mod design;
mod load;
mod plan;
mod run;
mod search;
mod store;

pub use axis::{Axis, Values, FORM};
pub use batch::{run_key, Batch, Setup, Surroundings, Unready, MOST_RUNS};
pub use constraint::{Constraint, Order};
pub use load::{in_memory, load, LoadError};
pub use plan::{Design, Draw, Plan, DESIGNS};
pub use run::{run, Job, Shard, Tally, Watch};
pub use search::{candidates, Aim, Candidate, Found, Method, Ranked, Search, SearchError};
pub use store::{About, Claim, Measured, Row, Store, StoreError};
