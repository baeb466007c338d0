//! Differences of 2.5.73.

use crate::o1::kernel::{nice, normal, Kernel, MS};
use schedlab_policy::{enq, NewTask};

fn k2573(set: &[(&str, i64)]) -> Kernel {
    Kernel::up("2.5.73", set)
}

#[test]
fn slices_fall_evenly() {
    // 10 + (200 - 10) * (139 - prio) / 39
    for (level, ticks) in [(-20, 200), (-19, 195), (0, 102), (10, 53), (19, 10)] {
        let mut k = k2573(&[]);
        k.start(nice(level));
        k.start(nice(level));
        assert_eq!(k.ticks_to_switch(1000), ticks, "nice {level}");
    }
}

#[test]
fn sleep_and_run_count_jiffy_for_jiffy() {
    // Asleep from 0 to 2000.5 ms: 2000 jiffies less one; a bonus level is 1000 of them.
    let mut k = k2573(&[]);
    let task = k.sleeper(normal());
    k.after(2000 * MS + MS / 2).wake(task);
    assert_eq!(k.state(task).sleep_avg, 1999 * MS);
    assert_eq!(k.prio(task), 124);
    k.settle().ticks(10);
    assert_eq!(k.state(task).sleep_avg, 1989 * MS);
    // Jiffies, not time: from 2010.9 to 2012.1 ms two begin, of which one counts.
    k.after(MS * 4 / 10).block();
    k.after(MS * 12 / 10).wake(task);
    assert_eq!(k.state(task).sleep_avg, 1990 * MS);
}

#[test]
fn memory_is_ten_seconds_long() {
    let mut k = k2573(&[]);
    k.start(nice(-20));
    let task = k.sleeper(normal());
    k.after(30_000 * MS).wake(task);
    assert_eq!(k.state(task).sleep_avg, 10_000 * MS);
    assert_eq!(k.prio(task), 115);
}

#[test]
fn no_new_sleep_no_new_priority() {
    // At the cap nothing is added, so the priority stays what setpriority() made it: no bonus.
    let mut k = k2573(&[("initial_sleep_avg_ms", 10_000)]);
    let task = k.sleeper(normal());
    k.set_nice(task, 5);
    k.after(100 * MS).wake(task);
    assert_eq!(k.prio(task), 125);
}

#[test]
fn waiting_is_not_sleeping() {
    let mut k = k2573(&[]);
    k.start(normal());
    let task = k.sleeper(normal());
    k.after(MS).wake(task);
    k.ticks_to_switch(1000);
    assert_eq!(k.curr(0), Some(task));
    assert_eq!(k.state(task).sleep_avg, 0);
}

#[test]
fn sync_wakeups_credit_nothing() {
    let mut k = k2573(&[]);
    k.start(normal());
    let task = k.sleeper(normal());
    k.after(5000 * MS);
    let asked = k.enqueue(task, enq::WAKEUP | enq::SYNC);
    assert_eq!(asked, [0; 0]);
    assert_eq!(k.state(task).sleep_avg, 0);
}

#[test]
fn sync_wakeups_pull_others_stay() {
    let cpu = |flags| {
        let mut k = Kernel::smp("2.5.73", 2, &[]);
        k.start(normal());
        k.start(NewTask {
            cpu: schedlab_trace::CpuId(1),
            ..normal()
        });
        let task = k.sleeper(normal());
        k.after(20 * MS).from(1).enqueue(task, enq::WAKEUP | flags);
        k.cpu_of(task)
    };
    assert_eq!(cpu(enq::SYNC), 1);
    assert_eq!(cpu(0), 0);
}

#[test]
fn a_child_inherits_half_and_even_a_thread_runs_first() {
    let mut k = k2573(&[("initial_sleep_avg_ms", 9000)]);
    let parent = k.start(normal());
    let thread = k.fork(normal());
    assert_eq!(k.state(thread).sleep_avg, 4500 * MS);
    assert_eq!(k.state(parent).sleep_avg, 9000 * MS);
    k.settle();
    assert_eq!(k.curr(0), Some(thread));
}

#[test]
fn returned_slices_are_capped_at_the_longest() {
    // Parent at nice -20: 200, 100 after the fork; it is refilled and gets 100 back: 200, not the
    // 102 of its child, which is of nice 0.
    let mut k = k2573(&[]);
    let parent = k.start(nice(-20));
    let child = k.fork(NewTask {
        mm: 2,
        nice: 0,
        ..normal()
    });
    assert_eq!(k.state(child).time_slice, 100);
    k.ticks(100);
    assert_eq!(k.curr(0), Some(child));
    assert_eq!(k.die(), child);
    assert_eq!(k.state(parent).time_slice, 200);
    k.reap(child, parent);
    assert_eq!(k.state(parent).time_slice, 200);
}

#[test]
fn reinsertion_ends_by_time_alone() {
    // A hog of nice 0 (102 ticks) and one of nice 19 (10) take turns.  When the first has expired
    // for the 73rd time a task of nice 5 wakes that slept 8165 jiffies: interactive with a bonus
    // of 8.  Its slice is 10 + 190 * 14 / 39 = 78; then it is put back though the hog that waits
    // has the better static priority.
    let put_back = |starving_prio| {
        let mut k = k2573(&[("starving_prio", starving_prio)]);
        k.start(normal());
        let task = k.sleeper(nice(5));
        let active = k.start(nice(19));
        k.ticks(72 * 112 + 102).wake(task);
        assert_eq!(k.state(task).sleep_avg, 8165 * MS);
        k.settle().ticks(78);
        assert_eq!(k.state(task).time_slice, 78);
        k.state(task).array == k.state(active).array
    };
    assert!(put_back(0));
    assert!(!put_back(1), "as in 2.6");
}
