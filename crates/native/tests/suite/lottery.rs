//! Lottery scheduling against hand-computed values, hook by hook.
//!
//! A task's priority, as observers see it, is its number of tickets with compensation.

mod classes;
mod drawing;
mod tickets;

use crate::script::{random, Machine};

/// Nanoseconds in a millisecond.
const MS: u64 = 1_000_000;

/// One CPU, ticks of 10 ms, of which a quantum of 100 ms has ten.
fn up(set: &[(&str, i64)]) -> Machine {
    Machine::new("lottery", 1, set)
}

#[test]
fn no_task_is_lost_and_no_cpu_idles_needlessly() {
    let modes: [&[(&str, i64)]; 4] = [
        &[],
        &[("move_to_front", 0), ("tree", 0)],
        &[("wakeup_lottery", 1)],
        &[("compensation", 0)],
    ];
    for name in ["lottery:tree", "lottery:list"] {
        for set in modes {
            for cpus in [1, 2, 5] {
                for seed in 1..8 {
                    random::live(&mut Machine::new(name, cpus, set), seed, 500);
                }
            }
        }
    }
}
