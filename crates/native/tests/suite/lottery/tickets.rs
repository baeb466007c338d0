//! The number of a task's tickets: by nice, and as compensation.

use crate::lottery::{up, MS};
use crate::script::{normal, Machine};
use schedlab_trace::TaskId;

#[test]
fn each_nice_level_is_worth_a_quarter_more() {
    // 1000 * 1.25^-nice, rounded: 1000 * 0.8^5 = 327.68, 1000 * 1.25^20 = 86736.17, ...
    let table = [
        (-20, 86_736),
        (-10, 9_313),
        (-5, 3_052),
        (-1, 1_250),
        (0, 1_000),
        (1, 800),
        (5, 328),
        (10, 107),
        (19, 14),
    ];
    let mut m = up(&[]);
    for (nice, tickets) in table {
        let task = m.add(&normal(nice));
        assert_eq!(m.priority(task), tickets, "nice {nice}");
    }
    // With a ratio of 1 nice has no effect, and every task has a ticket.
    let mut m = up(&[("nice_ratio_pct", 100), ("tickets", 1)]);
    for nice in [-20, 19] {
        let task = m.add(&normal(nice));
        assert_eq!(m.priority(task), 1);
    }
    let mut m = up(&[("tickets", 1)]);
    let task = m.add(&normal(19));
    assert_eq!(m.priority(task), 1);
}

/// A task with 400 tickets that ran so long and sleeps.
fn ran(m: &mut Machine, ms: u64) -> TaskId {
    let task = m.start(&normal(0));
    m.schedule(0);
    m.after(ms * MS).block(0);
    task
}

#[test]
fn a_fifth_of_a_quantum_is_compensated_fivefold() {
    // The paper's example: with 400 tickets, f = 1/5 is worth a compensation ticket of 1600.
    let mut m = up(&[("tickets", 400)]);
    let task = ran(&mut m, 20);
    assert_eq!(m.priority(task), 2000);
    m.wake(task);
    assert_eq!(m.priority(task), 2000);
    // Its next quantum, used in full, ends that.
    m.schedule(0);
    m.ticks(0, 10);
    m.schedule(0);
    m.block(0);
    // (It won again at 100 ms and used nothing of that: the most there is.)
    assert_eq!(m.priority(task), 400 * 10_000);
}

#[test]
fn a_whole_quantum_is_not_compensated() {
    for (ms, tickets) in [(100, 400), (150, 400), (50, 800), (99, 404)] {
        let mut m = up(&[("tickets", 400)]);
        let task = ran(&mut m, ms);
        assert_eq!(m.priority(task), tickets, "{ms} ms"); // 400 * 100 / 99 = 404.04
    }
}

#[test]
fn compensation_is_bounded_and_can_be_switched_off() {
    let mut m = up(&[("tickets", 400), ("max_compensation", 8)]);
    let task = ran(&mut m, 5); // a twentieth
    assert_eq!(m.priority(task), 3200);
    let mut m = up(&[("tickets", 400), ("compensation", 0)]);
    let task = ran(&mut m, 5);
    assert_eq!(m.priority(task), 400);
}

#[test]
fn yielding_and_being_preempted_are_compensated_too() {
    let mut m = up(&[("tickets", 400)]);
    let a = m.start(&normal(0));
    m.schedule(0);
    let before = m.host.counters()[2];
    m.after(25 * MS).yields(0);
    assert_eq!(m.host.counters()[2], before + 1);
    assert_eq!(m.running(0), Some(a));
    m.after(50 * MS).schedule(0);
    assert_eq!(m.host.counters()[2], before + 2);
}

#[test]
fn a_new_task_has_nothing_to_be_compensated_for() {
    let mut m = up(&[]);
    let parent = ran(&mut m, 10);
    m.wake(parent);
    m.schedule(0);
    let child = m.fork(0, &normal(0));
    assert_eq!(m.priority(child), 1000);
}

#[test]
fn renicing_inflates_what_is_in_the_pool() {
    let mut m = up(&[]);
    let task = ran(&mut m, 20);
    m.start(&normal(0));
    m.schedule(0);
    m.wake(task);
    assert_eq!(m.priority(task), 5000);
    m.set_nice(task, 1);
    assert_eq!(m.priority(task), 4000);
    m.set_nice(task, -20);
    assert_eq!(m.priority(task), 433_680);
}

#[test]
fn a_quantum_ends_at_the_tick_after_100_ms() {
    let mut m = up(&[]);
    m.start(&normal(0));
    m.schedule(0);
    assert!(!m.ticks(0, 9));
    assert!(m.ticks(0, 1));
    m.schedule(0);
    // Begun between two ticks, it is a part of a tick longer.
    m.after(5 * MS).yields(0);
    m.after(5 * MS);
    assert!(!m.ticks(0, 9)); // 95 ms
    assert!(m.ticks(0, 1)); // 105
}
