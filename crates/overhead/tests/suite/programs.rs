//! The measured programs end, and their costs add up.

use schedlab_overhead::{marginal, ping_pong, yields, Cost, Hackbench};

#[test]
fn programs_end_well() {
    assert!(ping_pong(50).unwrap().ns > 0);
    assert!(yields(3, 10).unwrap().ns > 0);
    let hackbench = Hackbench {
        groups: 2,
        pairs: 3,
        messages: 4,
    };
    let cost = hackbench.run().unwrap();
    assert!(cost.switches > 0, "receivers wait for senders: {cost:?}");
}

/// The cost of start and end, here 100 ns and 3 switches, is subtracted.
#[test]
fn only_what_rounds_add_is_counted() {
    let program = |rounds| {
        Ok(Cost {
            ns: 100 + 7 * rounds,
            switches: 3 + rounds,
        })
    };
    let cost = marginal(8, program).unwrap();
    let expected = Cost {
        ns: 56,
        switches: 8,
    };
    assert_eq!(cost, expected);
    assert!((cost.per_switch_ns() - 7.0).abs() < 1e-9);
}
