//! bsd43 without a simulator: every number is calculated from the algorithm in the comment beside it.
//!
//! A user priority is 50 + estcpu / 4 + 2 * nice, at most 127; a queue holds four priorities, so
//! 50 is in queue 12 (48 to 51).  A woken task is queued at 30 (queue 7), from a disk at 20 (queue 5).

mod autonice;
mod clock;
mod families;
mod runq;
mod usage;

use crate::bsd::{
    estcpu, load, nr_idle, priorities, proc_of, queues, run_alone, seconds_to_a_tenth, MS, SECOND,
};
use crate::script::{normal, on_cpu, random, Machine};
use schedlab_policy::{enq, NewTask, Policy, Tuned};
use schedlab_trace::TaskId;

const VARIANTS: [&str; 2] = ["bsd43:4.3", "bsd43:4.4"];

/// A load average that stays put makes every second forget a third: 2 / (2 + 1).
const LOAD_1: [(&str, i64); 1] = [("held_load", 100)];

#[test]
fn the_default_is_4_3_and_tasks_are_small() {
    let policy = Policy::find("bsd43").unwrap();
    assert_eq!(Tuned::defaults(policy).variant, "4.3");
    assert!(policy.task_size() <= 72);
}

#[test]
fn random_lives_lose_no_task_and_waste_no_cpu() {
    for name in VARIANTS {
        for cpus in [1, 2, 5] {
            for seed in 1..=20 {
                random::live(&mut Machine::new(name, cpus, &[]), seed, 500);
            }
        }
    }
}
