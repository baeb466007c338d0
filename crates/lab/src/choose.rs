//! What users name, found: policies with their tunables, workloads.

mod dispadmin;
mod policy;
mod scheduler;
mod tunables;
mod workload;

pub use policy::{names, policies, policy, policy_file, to_front};
pub use scheduler::load;
pub use tunables::Assignments;
pub use workload::{help as workload_help, workload};
