//! Weights, virtual time, and how long a task runs among others.

use crate::cfs::even;
use crate::fair::{behind, vruntime, weights, MS};
use crate::script::{normal, Machine};

#[test]
fn the_published_weights() {
    // kernel/sched/core.c: sched_prio_to_weight and sched_prio_to_wmult (2^32 / weight).
    assert_eq!(weights("cfs", -20), (88761, 48388));
    assert_eq!(weights("cfs", -10), (9548, 449829));
    assert_eq!(weights("cfs", -1), (1277, 3363326));
    assert_eq!(weights("cfs", 0), (1024, 4194304));
    assert_eq!(weights("cfs", 1), (820, 5237765));
    assert_eq!(weights("cfs", 5), (335, 12820798));
    assert_eq!(weights("cfs", 19), (15, 286331153));
}

#[test]
fn each_level_is_worth_a_quarter_more() {
    for nice in -20..19 {
        let ratio = f64::from(weights("cfs", nice).0) / f64::from(weights("cfs", nice + 1).0);
        // Small weights are rounded: 18 / 15 is 1.2, 23 / 18 is 1.28.
        assert!((1.19..1.30).contains(&ratio), "nice {nice}: {ratio}");
    }
    let (best, worst) = (weights("cfs", -20).0, weights("cfs", 19).0);
    assert!((f64::from(best) / f64::from(worst)).log(1.25) - 39.0 < 0.1);
}

/// Virtual ns after 10 ms of a task's time.
fn after_10_ms(nice: i8) -> u64 {
    let mut m = even(&[]);
    let task = m.start(&normal(nice));
    m.schedule(0);
    let before = vruntime(&m, task);
    m.ticks(0, 1);
    vruntime(&m, task) - before
}

#[test]
fn virtual_time_is_time_divided_by_weight() {
    assert_eq!(after_10_ms(0), 10_000_000);
    // 1024 * 12820798 = 13128497152 > 2^32, so it loses 2 bits: 3282124288.  10^7 * that / 2^30.
    assert_eq!(after_10_ms(5), 30_567_164);
    // 10^7 * 1024 / 15 = 682666666.7
    assert_eq!(after_10_ms(19), 682_666_666);
    // 10^7 * (1024 * 48388) / 2^32 = 115365.98
    assert_eq!(after_10_ms(-20), 115_365);
}

/// Ticks until the first task is to be rescheduled, in a period of 100 ms of 10 ms or more each.
fn ticks_of(nice: &[i8], catches_up: i64) -> u32 {
    let mut m = even(&[
        ("latency_us", 100_000),
        ("min_granularity_us", 10_000),
        ("tick_catches_up", catches_up),
    ]);
    for n in nice {
        m.start(&normal(*n));
    }
    m.schedule(0);
    (1..100).find(|_| m.ticks(0, 1)).unwrap()
}

#[test]
fn a_slice_is_the_weights_part_of_the_period() {
    // It ends at the first tick after more than the slice.
    assert_eq!(ticks_of(&[0, 0], 0), 6, "50 ms");
    assert_eq!(ticks_of(&[0, 0, 0], 0), 4, "33.3 ms");
    assert_eq!(ticks_of(&[0, 5], 0), 8, "100 * 1024 / 1359 = 75.3 ms");
    assert_eq!(ticks_of(&[5, 0], 0), 3, "24.7 ms");
    // Ten tasks fit into a latency; twenty make the period 200 ms.
    assert_eq!(ticks_of(&[0; 10], 0), 2, "10 ms");
    assert_eq!(ticks_of(&[0; 20], 0), 2, "10 ms");
    assert_eq!(ticks_of(&[19, 0, 0], 0), 2, "0.7 ms, but no less than 10");
}

#[test]
fn a_tick_preempts_who_is_ahead_by_more_than_its_slice() {
    // After 10 ms at nice 5 it is 30.6 virtual ms ahead of the other, more than its slice of 24.7 ms.
    assert_eq!(ticks_of(&[5, 0], 1), 1);
    // At nice 0 10 ms are 10.
    assert_eq!(ticks_of(&[0, 5], 1), 8);
}

#[test]
fn periods_in_2_6_24_have_no_least_slice() {
    let set = [
        ("hz", 100),
        ("start_debit", 0),
        ("latency_us", 100_000),
        ("min_granularity_us", 10_000),
    ];
    let mut m = Machine::new("cfs:2.6.24", 1, &set);
    for nice in [19, 0, 0] {
        m.start(&normal(nice));
    }
    m.schedule(0);
    assert!(m.ticks(0, 1), "100 * 15 / 2063 = 0.7 ms");
}

#[test]
fn sysctls_grow_with_the_logarithm_of_the_cpus() {
    // latency 6 ms: two tasks on one CPU have 3 ms each, on 4 CPUs 9 ms, on 8 or more 12 ms.
    let slice_ends_after = |cpus: u32, ms: u64| {
        let mut m = Machine::new(
            "cfs",
            cpus,
            &[("hz", 100), ("start_debit", 0), ("active_balance", 0)],
        );
        let pinned = m.pinned(0, 0);
        m.start(&pinned);
        m.start(&pinned);
        m.schedule(0);
        // A tick comes 10 ms after what has passed.
        m.after((ms - 10) * MS).ticks(0, 1)
    };
    assert!(slice_ends_after(1, 10));
    assert!(slice_ends_after(4, 10), "9 ms");
    assert!(!slice_ends_after(8, 12) && slice_ends_after(8, 13));
    assert!(
        !slice_ends_after(16, 12) && slice_ends_after(16, 13),
        "no further than 8 CPUs"
    );
}

#[test]
fn equals_take_turns_and_the_least_runs() {
    let mut m = even(&[]);
    let tasks = [
        m.start(&normal(0)),
        m.start(&normal(0)),
        m.start(&normal(0)),
    ];
    let mut turns = vec![m.schedule(0).unwrap()];
    for _ in 0..5 {
        assert!(m.ticks(0, 1), "2 ms slices");
        turns.push(m.schedule(0).unwrap());
    }
    assert_eq!(
        turns,
        [tasks[0], tasks[1], tasks[2], tasks[0], tasks[1], tasks[2]]
    );
    assert_eq!(behind(&m, tasks[0], tasks[1]), 0);
}
