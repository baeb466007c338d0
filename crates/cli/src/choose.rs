//! What users name, found: policies, workloads, machines.

mod dispadmin;
mod policy;
mod tunables;
mod workload;

#[cfg(feature = "live")]
pub use policy::policy_file;
pub use policy::{policies, policy};
pub use tunables::Assignments;
pub use workload::workload;
