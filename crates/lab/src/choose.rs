//! Finds what users name: policies with their tunables, workloads.

mod dispadmin;
mod policy;
mod scheduler;
mod tunables;
mod workload;
mod written;

pub use policy::{expand_for_kernels, names, policies, policy, policy_file, spelled, to_front};
pub use scheduler::{items, load};
pub use tunables::Assignments;
pub use workload::{help as workload_help, machines, workload, workload_file, workloads};
pub use written::Written;
