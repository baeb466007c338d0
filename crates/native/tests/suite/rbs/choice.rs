//! Which task choose_task() takes from the best list.

use super::*;
use schedlab_policy::{Class, NewTask};

#[test]
fn after_a_long_run_the_shortest_and_after_a_short_one_the_longest() {
    // Waiting: 10, 2, 6 ms.  After 20 ms they differ by 10, 18, 14; after 1 ms (not booked) by
    // their own; after 6 ms (4 booked) by 6, 2, 2.
    for (ms, winner) in [(20, 1), (1, 0), (6, 0)] {
        let mut k = up(&[]);
        let tasks = [10, 2, 6].map(|ms| ran(&mut k, ms));
        assert_eq!(after_a_run_of(&mut k, ms, &tasks), tasks[winner], "{ms} ms");
        assert_eq!(k.counter("rbs_reorders"), u64::from(winner != 0));
    }
}

#[test]
fn each_choice_compares_with_the_task_before() {
    // 20 ms before: 2 ms is chosen.  It runs for 1 ms, nothing booked: 10 and 6 differ by that: 10.
    // It runs for 5 ms, and 6 is all that is left.
    let mut k = up(&[]);
    let tasks = [6, 10, 2].map(|ms| ran(&mut k, ms));
    assert_eq!(after_a_run_of(&mut k, 20, &tasks), tasks[2]);
    k.after(MS).block();
    assert_eq!(k.running(0), tasks[1]);
    k.after(5 * MS).block();
    assert_eq!(k.running(0), tasks[0]);
}

#[test]
fn equals_take_turns() {
    // All differ by 7 ms from the one before: first in, first out.
    let mut k = up(&[]);
    let tasks = [3, 3, 3].map(|ms| ran(&mut k, ms));
    assert_eq!(after_a_run_of(&mut k, 10, &tasks), tasks[0]);
    // 5 and 11 differ by 3 from 8 alike.
    let mut k = up(&[]);
    let tasks = [5, 11].map(|ms| ran(&mut k, ms));
    assert_eq!(after_a_run_of(&mut k, 8, &tasks), tasks[0]);
}

#[test]
fn hogs_rotate_as_under_o1() {
    // All have 0 at first and a slice of 100 ms after the first round.
    let order = |variant: &str| {
        let mut k = Kernel::up(variant, &[]);
        for _ in 0..4 {
            k.start(normal());
        }
        let mut order = Vec::new();
        for _ in 0..40 {
            order.push(k.curr(0));
            k.ticks(25);
        }
        order
    };
    assert_eq!(order("rbs:2.6.13.4"), order("2.6.13"));
}

/// Twelve tasks that ran for 1 to 12 ms wait in this order, and nothing was booked of the run before.
fn twelve(set: &[(&str, i64)]) -> (u64, u32) {
    let mut k = up(set);
    let tasks: Vec<TaskId> = (1..=12).map(|ms| ran(&mut k, ms)).collect();
    let next = after_a_run_of(&mut k, 2, &tasks);
    let examined = k.host.take_work().examined;
    (state(&k, next).cpu_usage / MS, examined)
}

#[test]
fn only_the_window_is_looked_at() {
    // The longest run is the last in the window.
    for window in [1, 2, 4, 8] {
        let (chosen, examined) = twelve(&[("window", window)]);
        assert_eq!((chosen, i64::from(examined)), (window as u64, window));
    }
    for window in [0, 12, 16] {
        assert_eq!(twelve(&[("window", window)]), (12, 12), "window {window}");
    }
    assert_eq!(twelve(&[]), (8, 8), "the default");
}

#[test]
fn a_choice_takes_the_same_time_however_many_wait() {
    for tasks in [12, 100, 1000, 5000] {
        let mut k = up(&[]);
        for _ in 0..tasks {
            k.start(normal());
        }
        k.host.take_work();
        for _ in 0..3 {
            k.block();
            assert_eq!(k.host.take_work().examined, 8, "{tasks} tasks");
        }
    }
}

#[test]
fn the_overhead_kernel_looks_and_takes_the_first() {
    let mut k = Kernel::up("rbs:overhead", &[EQUAL]);
    let tasks = [10, 2, 6].map(|ms| ran(&mut k, ms));
    assert_eq!(after_a_run_of(&mut k, 20, &tasks), tasks[0]);
    assert_eq!(k.host.take_work().examined, 3);
    assert_eq!((k.counter("rbs_scans"), k.counter("rbs_reorders")), (1, 1));
    // With a window of 1 there is nothing to look at.
    let mut k = up(&[("window", 1)]);
    let tasks = [10, 2, 6].map(|ms| ran(&mut k, ms));
    assert_eq!(after_a_run_of(&mut k, 20, &tasks), tasks[0]);
    assert_eq!(k.host.take_work().examined, 1);
    assert_eq!(k.counter("rbs_scans"), 0);
}

#[test]
fn a_task_does_not_differ_from_itself() {
    // It ran for 12 ms, so it differs by 12 from what it did before, nothing; but by nothing
    // from itself.  The other differs by 12 - 8.
    let mut k = up(&[]);
    let other = ran(&mut k, 8);
    let task = k.sleeper(normal());
    to_tick(&mut k);
    k.enqueue(task, IRQ);
    k.settle().after(12 * MS);
    k.set_nice(other, 1);
    k.enqueue(other, IRQ);
    k.set_nice(task, 1); // behind the other, and rescheduled
    k.settle();
    assert_eq!(k.curr(0), Some(other));
}

#[test]
fn only_the_best_list_is_looked_at() {
    // 30 ms at nice 1 would be more unlike, but nice 0 comes first.
    let mut k = up(&[]);
    let tasks = [1, 2].map(|ms| ran(&mut k, ms));
    let worse = ran(&mut k, 30);
    k.set_nice(worse, 1);
    let [a, b] = tasks;
    assert_eq!(after_a_run_of(&mut k, 3, &[worse, a, b]), b);
}

#[test]
fn real_time_tasks_keep_their_order() {
    // Runs of 1 and 9 ms wait in the list of rt_priority 5; the task before them ran for 2 ms.
    for (set, winner) in [(vec![], 0), (vec![("rt_lists", 1)], 1)] {
        let mut k = up(&set);
        let tasks = [1, 9].map(|ms| ran(&mut k, ms));
        for task in tasks {
            k.set_class(task, Class::Fifo, 5);
        }
        let prev = k.sleeper(NewTask {
            class: Class::Fifo,
            rt_priority: 5,
            ..normal()
        });
        to_tick(&mut k);
        k.enqueue(prev, IRQ);
        k.settle().after(2 * MS);
        for task in tasks {
            k.enqueue(task, IRQ);
        }
        k.block();
        assert_eq!(k.running(0), tasks[winner]);
    }
}

#[test]
fn a_task_passed_over_waits_until_the_array_is_empty() {
    // 0, 50 and 100 ms of use, over and over: the middle one is never the most unlike, but the others
    // expire, and then it is the only one left.
    let mut k = up(&[]);
    let middle = ran(&mut k, 50);
    let (long, short) = (ran(&mut k, 100), ran(&mut k, 1));
    assert_eq!(after_a_run_of(&mut k, 100, &[middle, long, short]), short);
    k.after(MS).block(); // a short run: after it the long one
    k.enqueue(short, IRQ);
    assert_eq!(k.running(0), long);
    k.after(100 * MS);
    assert_eq!(k.running(0), short, "after the long one, which has expired");
    k.after(MS).block();
    assert_eq!(k.running(0), middle);
}
