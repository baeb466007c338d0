//! Many runs from one plan, with their results in one SQLite file.
//!
//! A [`Plan`] says which parameters are combined. A [`Batch`] is the plan ready to run: each run
//! has a key, the hash of everything that determines it. [`run`] executes the runs whose results
//! are not in a [`Store`] yet. Each result is stored when its run ends, so a sweep can be
//! interrupted at any time and continued by any process.

mod axis;
mod batch;
mod claims;
mod constraint;
mod design;
mod load;
mod plan;
mod remote;
mod run;
mod search;
mod store;

pub use axis::{Axis, Values, FORM};
pub use batch::{run_key, Batch, Setup, Surroundings, Unready, MOST_RUNS};
pub use constraint::{Constraint, Order};
pub use load::{in_memory, load, LoadError};
pub use plan::{Design, Draw, Plan, DESIGNS};
pub use remote::{Dispatch, DispatchError, Files, Reply, Request, Worker, WorkerError};
pub use run::{run, Job, Shard, Tally, Watch};
pub use search::{candidates, Aim, Candidate, Found, Method, Ranked, Search, SearchError};
pub use store::{About, Claim, Measured, Row, Store, StoreError};
