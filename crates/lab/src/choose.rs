//! Finds what users name: policies with their tunables, workloads.

mod dispadmin;
mod policy;
mod tunables;
mod workload;

pub use policy::{expand, names, policies, policy, policy_file, to_front};
pub use tunables::Assignments;
pub use workload::{help as workload_help, workload};
