//! CFS without a simulator: every number is calculated from the formulas in policies/cfs/README.md.
//!
//! A tick is 10 ms here.  On one CPU the sysctls are not scaled.

mod classes;
mod placement;
mod preemption;
mod slices;
mod smp;

use crate::script::{random, Machine};
use schedlab_policy::{Policy, Tuned};

/// Every task begins at the same vruntime, and hz is the script's.
const EVEN: [(&str, i64); 2] = [("hz", 100), ("start_debit", 0)];

fn even(more: &[(&str, i64)]) -> Machine {
    let mut set = EVEN.to_vec();
    set.extend_from_slice(more);
    Machine::new("cfs", 1, &set)
}

#[test]
fn the_default_is_the_last_version() {
    assert_eq!(Tuned::defaults(Policy::find("cfs").unwrap()).variant, "6.5");
}

#[test]
fn the_tree_is_ordered_and_balanced_whatever_happens() {
    for seed in 1..6 {
        crate::fair::tree::random_life("cfs", seed, 60, 400);
        crate::fair::tree::random_life("cfs:2.6.24", seed, 60, 400);
    }
}

#[test]
fn random_lives() {
    for variant in ["cfs:6.5", "cfs:2.6.24"] {
        for seed in 1..20 {
            random::live(&mut Machine::new(variant, 1, &[("hz", 100)]), seed, 300);
        }
    }
}
