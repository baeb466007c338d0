//! The arithmetic of version 11.6, which became 12.

use crate::script::{normal, Machine};
use crate::staircase::{state, up12, TaskState, MS};
use schedlab_policy::{enq, NewTask};
use schedlab_trace::TaskId;

const DISK: u32 = enq::WAKEUP | enq::UNINTERRUPTIBLE;

/// A task of nice 0 after this many ms of running (without ticks) and sleeping.
fn slept(set: &[(&str, i64)], run_ms: u64, sleep_ms: u64) -> TaskState {
    let mut m = up12(set);
    let task = m.start(&normal(0));
    m.schedule(0);
    m.after(run_ms * MS).block(0);
    m.after(sleep_ms * MS).wake(task);
    state(&m, task)
}

#[test]
fn whoever_sleeps_as_long_as_he_ran_is_lifted() {
    let s = slept(&[], 50, 50);
    assert_eq!((s.prio, s.slice, s.burst, s.totalrun), (120, 20, 1, 0));
}

#[test]
fn a_shorter_sleep_is_deducted_from_the_time_run() {
    // 50 - 20 = 30 ms remain: three jiffies of the slice, three steps.
    let s = slept(&[], 50, 20);
    assert_eq!(
        (s.prio, s.slice, s.burst, s.totalrun),
        (123, 17, 0, 30 * MS)
    );
}

#[test]
fn a_whole_slice_run_starts_a_new_one_that_the_sleep_is_charged_to() {
    // 210 ms are more than the 200 of a slice: 210 + 20 - 200 = 30 ms carried over.
    let s = slept(&[], 210, 20);
    assert_eq!(
        (s.prio, s.slice, s.burst, s.totalrun),
        (120, 20, 0, 30 * MS)
    );
    // After a sleep of a slice or more it is lifted by the common rule.
    let s = slept(&[], 210, 220);
    assert_eq!((s.slice, s.burst, s.totalrun), (20, 1, 0));
}

#[test]
fn sleep_counts_by_the_number_of_runnable_tasks() {
    // Two others are runnable: 50 ms of running want 100 ms of sleep.
    for (sleep_ms, burst, slice) in [(99, 0, 20), (100, 1, 20), (60, 0, 18)] {
        let mut m = up12(&[]);
        let task = m.start(&normal(0));
        m.schedule(0);
        m.after(50 * MS);
        m.start(&normal(0));
        m.start(&normal(0));
        m.block(0);
        m.after(sleep_ms * MS).wake(task);
        // 99 / 2 = 49.5 ms leave 0.5 ms, no jiffy; 60 / 2 leave 20 ms, two.
        let s = state(&m, task);
        assert_eq!((s.burst, s.slice), (burst, slice), "{sleep_ms} ms");
    }
}

#[test]
fn waiting_for_a_disk_continues_the_slice() {
    let mut m = up12(&[("rr_interval_ms", 20)]);
    let task = m.start(&normal(0));
    m.schedule(0);
    m.after(30 * MS).wait_for_disk(0);
    m.after(1000 * MS).enqueue(task, DISK);
    // A slice of 40 jiffies less three; of 37, one belongs to the step begun.
    let s = state(&m, task);
    assert_eq!((s.slice, s.time_slice, s.burst, s.flags), (37, 1, 0, 0));
    assert_eq!(s.prio, 121); // 2 of the 3 were the first step's
}

#[test]
fn in_compute_mode_every_wakeup_continues_the_slice() {
    // Steps of ten jiffies, a slice of 200; six have been run.
    let s = slept(&[("compute", 1)], 60, 500);
    assert_eq!((s.slice, s.time_slice, s.burst), (194, 4, 0));
}

#[test]
fn sleep_and_run_count_for_two_seconds_at_most() {
    // 2^31 ns: 3 s of running count as 2.147 s, 9 s of sleep make good for them.
    let mut m = up12(&[]);
    let task = m.start(&normal(0));
    m.schedule(0);
    m.after(3000 * MS).block(0);
    assert_eq!(state(&m, task).runtime, 1 << 31);
    m.after(9000 * MS).wake(task);
    assert_eq!((state(&m, task).totalrun, state(&m, task).burst), (0, 1));
}

#[test]
fn negative_nice_has_longer_intervals() {
    // One jiffy, and one more for each level: 21 at nice -20, for each of 40 steps.
    let mut m = up12(&[]);
    let task = m.start(&normal(-20));
    let s = state(&m, task);
    assert_eq!((s.slice, s.time_slice), (840, 21));
    let task = m.start(&normal(1));
    let s = state(&m, task);
    assert_eq!((s.slice, s.time_slice), (19, 1));
}

#[test]
fn a_tick_is_charged_when_a_jiffy_has_been_run() {
    // The policy's jiffy is 20 ms here, but this CPU ticks every 10 ms.
    let mut m = up12(&[("hz", 50)]);
    let task = m.start(&normal(0));
    m.schedule(0);
    m.ticks(0, 1); // 10 ms since it was switched to: not yet
    assert_eq!(
        (state(&m, task).slice, state(&m, task).ns_debit),
        (20, 10 * MS)
    );
    m.ticks(0, 1); // and 20 since then, 30 in sum: one jiffy, 10 ms remain
    assert_eq!(
        (state(&m, task).slice, state(&m, task).ns_debit),
        (19, 10 * MS)
    );
    // Its run time after the last tick is added when it stops.
    m.schedule(0);
    m.after(5 * MS).block(0);
    assert_eq!(state(&m, task).ns_debit, 15 * MS);
}

#[test]
fn a_used_up_slice_forgets_the_time_run() {
    let mut m = up12(&[]);
    let task = m.start(&normal(18)); // two jiffies
    m.schedule(0);
    m.after(15 * MS).block(0);
    m.after(4 * MS).wake(task);
    m.schedule(0);
    let s = state(&m, task);
    assert_eq!((s.totalrun, s.slice, s.prio), (11 * MS, 1, 139));
    m.ticks(0, 1);
    let s = state(&m, task);
    assert_eq!((s.totalrun, s.slice, s.prio), (0, 2, 138));
}

fn forked(same_mm: bool) -> (Machine, TaskId, TaskId, Vec<u32>) {
    let mut m = up12(&[]);
    let process = NewTask { mm: 7, ..normal(0) };
    let parent = m.start(&process);
    m.schedule(0);
    m.after(50 * MS);
    let child = m.fork(
        0,
        &NewTask {
            mm: if same_mm { 7 } else { 8 },
            ..normal(0)
        },
    );
    let asked = m.enqueue(child, enq::NEW);
    (m, parent, child, asked)
}

#[test]
fn a_child_is_activated_and_its_parent_rescheduled_unless_they_share_memory() {
    let (m, parent, child, asked) = forked(false);
    assert_eq!(asked, [0]);
    // The child has its parent's timestamp, so the parent's run counts as the child's sleep.
    let s = state(&m, child);
    assert_eq!((s.prio, s.slice, s.burst), (120, 20, 1));
    assert_ne!(state(&m, parent).flags, 0);
    let (_, _, _, asked) = forked(true);
    assert_eq!(asked, []);
}
