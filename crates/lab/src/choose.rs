//! What users name, found: policies with their tunables, workloads.

mod dispadmin;
mod policy;
mod tunables;
mod workload;

pub use policy::{policies, policy, policy_file};
pub use tunables::Assignments;
pub use workload::{help as workload_help, workload};
