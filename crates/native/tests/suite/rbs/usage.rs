//! The usage of a task, and when it is updated.

use super::*;

#[test]
fn the_last_run_ends_with_the_switch_not_with_the_slice() {
    // Alone, slices of 100 ms come and go; the run is one.
    let mut k = up(&[]);
    let task = k.start(normal());
    k.after(302 * MS);
    assert_eq!(state(&k, task).last_runtime, 300 * MS, "to the last tick");
    assert_eq!(state(&k, task).cpu_usage, 0, "no run has ended yet");
    k.block();
    assert_eq!(state(&k, task).cpu_usage, 302 * MS);
    // The next run starts from 0, and only this run is remembered afterwards.
    k.enqueue(task, IRQ);
    k.settle();
    assert_eq!(state(&k, task).last_runtime, 0);
    k.after(3 * MS).block();
    assert_eq!(state(&k, task).cpu_usage, 3 * MS);
    assert_eq!(state(&k, task).o1.sched_time, 305 * MS);
}

#[test]
fn a_preempted_run_counts_as_far_as_it_got() {
    let mut k = up(&[]);
    let task = k.start(normal());
    let better = k.sleeper(crate::o1::kernel::nice(-5));
    k.after(7 * MS);
    k.enqueue(better, IRQ);
    k.settle();
    assert_eq!(k.curr(0), Some(better));
    assert_eq!(state(&k, task).cpu_usage, 7 * MS);
}

#[test]
fn children_begin_with_nothing_or_with_what_their_parent_has() {
    for (inherits, usage) in [(0, 0), (1, 8 * MS)] {
        let mut k = up(&[("child_inherits", inherits)]);
        k.start(normal());
        k.after(9 * MS); // 8 ms of them booked
        let child = k.fork(normal());
        assert_eq!(state(&k, child).cpu_usage, usage);
        assert_eq!(state(&k, child).last_runtime, 0);
    }
}

#[test]
fn the_stopping_tasks_run_counts_to_its_last_tick_or_in_full() {
    // It runs for 7 ms from a tick on: 4 ms are booked.  Waiting are 1, 5 and 6 ms.
    // As placed: |4 - 1| = 3 > |4 - 6| = 2 > 1.  In full: |7 - 1| = 6 > 2 > 1.
    // After 3 ms nothing is booked: as placed 1, 5, 6: the longest; in full 2, 2, 3: the longest.
    // After 6 ms (4 booked) with 0 and 9 ms waiting: as placed 4, 5; in full 6, 3.
    for (updated_first, expected) in [(0, [0, 2, 1]), (1, [0, 2, 0])] {
        let mut k = up(&[("updated_first", updated_first)]);
        let tasks = [1, 5, 6].map(|ms| ran(&mut k, ms));
        assert_eq!(after_a_run_of(&mut k, 7, &tasks), tasks[expected[0]]);
        let mut k = up(&[("updated_first", updated_first)]);
        let tasks = [1, 5, 6].map(|ms| ran(&mut k, ms));
        assert_eq!(after_a_run_of(&mut k, 3, &tasks), tasks[expected[1]]);
        let mut k = up(&[("updated_first", updated_first)]);
        let tasks = [k.sleeper(normal()), ran(&mut k, 9)];
        assert_eq!(after_a_run_of(&mut k, 6, &tasks), tasks[expected[2]]);
    }
}

/// The CPU idles for `idle` ms from a tick on; then tasks that ran for 1 and 8 ms are woken at once.
fn after_idling(set: &[(&str, i64)], idle: u64) -> u64 {
    let mut k = up(set);
    let tasks = [1, 8].map(|ms| ran(&mut k, ms));
    let last = k.sleeper(normal());
    to_tick(&mut k);
    k.enqueue(last, IRQ);
    k.settle();
    k.block(); // idles from now on
    k.after(idle * MS);
    for task in tasks {
        k.enqueue(task, IRQ);
    }
    k.settle();
    state(&k, k.running(0)).cpu_usage / MS
}

#[test]
fn idling_is_a_long_run_of_the_idle_task() {
    // 20 ms differ from 1 ms by 19 and from 8 ms by 12; 3 ms, of which nothing is booked, from
    // 1 ms by 1 and from 8 ms by 8.  In full they differ by 2 and 5.
    assert_eq!(after_idling(&[], 20), 1);
    assert_eq!(after_idling(&[], 3), 8);
    assert_eq!(after_idling(&[("updated_first", 1)], 20), 1);
    assert_eq!(after_idling(&[("updated_first", 1)], 3), 8);
    // 7 ms: 4 booked: 3 and 4.  In full: 6 and 1.
    assert_eq!(after_idling(&[], 7), 8);
    assert_eq!(after_idling(&[("updated_first", 1)], 7), 1);
    // Or no task is compared with the idle task: the first one runs.
    assert_eq!(after_idling(&[("idle_is_prev", 0)], 3), 1);
    assert_eq!(after_idling(&[("idle_is_prev", 0)], 20), 1);
}
