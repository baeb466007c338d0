//! The table of invariants.

use schedlab_check::{invariant, of_rule, INVARIANTS};
use schedlab_sim::Rule;

#[test]
fn every_rule_of_the_simulator_has_a_row() {
    for &rule in Rule::ALL {
        assert!(invariant(&of_rule(rule)).is_some(), "{rule:?} has no row");
    }
}

#[test]
fn no_id_is_used_twice() {
    for (index, row) in INVARIANTS.iter().enumerate() {
        let before = &INVARIANTS[..index];
        assert!(before.iter().all(|other| other.id != row.id), "{}", row.id);
    }
}
