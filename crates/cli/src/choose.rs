//! What users name, found: policies, workloads, machines.

mod dispadmin;
mod policy;
mod tunables;
mod workload;

pub use policy::{policies, policy};
pub use tunables::Assignments;
pub use workload::workload;
