//! bsd4 without a simulator: every number is calculated from the algorithm in the comment beside it.
//!
//! 5.x: a user priority is 160 + estcpu / 8 + (nice + 20), 160 to 223; a queue holds four, so 180 is
//! in queue 45; a woken task is queued at 92 (queue 23), from a disk at 76 (queue 19).  4.x: 50 +
//! estcpu / 8 + 2 * nice, at most 127; 32 (real-time) queues come first, so 50 is in queue 32 + 12;
//! a woken task is queued at 32 (queue 40), from a disk at 16 (queue 36).

mod classes;
mod timeshare;

use crate::bsd::{
    estcpu, load, priorities, proc_of, queues, run_alone, seconds_to_a_tenth, MS, SECOND,
};
use crate::script::{normal, on_cpu, random, real_time, Machine};
use schedlab_policy::{enq, Class, NewTask, Policy, Tuned};

const VARIANTS: [&str; 2] = ["bsd4:5.x", "bsd4:4.x"];
const IRQ: u32 = enq::WAKEUP | enq::IRQ;

fn with_class(class: Class, nice: i8) -> NewTask {
    NewTask {
        class,
        ..normal(nice)
    }
}

#[test]
fn the_default_is_5_x_and_tasks_are_small() {
    let policy = Policy::find("bsd4").unwrap();
    assert_eq!(Tuned::defaults(policy).variant, "5.x");
    assert!(policy.task_size() <= 72);
}

#[test]
fn random_lives_lose_no_task_and_waste_no_cpu() {
    for name in VARIANTS {
        for set in [&[][..], &[("yield_to_worst", 1)], &[("ppq", 2)]] {
            for cpus in [1, 2, 5] {
                for seed in 1..=15 {
                    random::live(&mut Machine::new(name, cpus, set), seed, 500);
                }
            }
        }
    }
}
