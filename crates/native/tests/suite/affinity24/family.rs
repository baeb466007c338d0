//! fork() shares slice and used ticks; reaping brings both back.

use super::*;

/// Parent and child after a fork at 6/`used`.
fn forked(used: u32) -> ((i32, i32), (i32, i32)) {
    let mut m = up("affinity24");
    let parent = running(&mut m, 0);
    m.ticks(0, used);
    let child = m.fork(0, &normal(0));
    (slice(&m, parent), slice(&m, child))
}

#[test]
fn fork_shares_the_used_ticks_too() {
    // The slice: 6 -> 3 and (6 + 1) / 2 = 3.  Ticks: u / 2 and (u + 1) / 2.
    assert_eq!(forked(0), ((3, 0), (3, 0)));
    assert_eq!(forked(2), ((3, 1), (3, 1)));
    assert_eq!(forked(3), ((3, 1), (3, 2)));
    assert_eq!(forked(5), ((3, 2), (3, 3)));
}

#[test]
fn fork_can_make_a_tick() {
    // At 6/5 the parent had one tick left.  Afterwards both have: 2 + 1 >= 3 and 3 + 1 >= 3.
    let mut m = up("affinity24");
    let parent = running(&mut m, 0);
    m.ticks(0, 5);
    let child = m.fork(0, &normal(0));
    assert!(m.ticks(0, 1));
    assert_eq!(slice(&m, parent), (0, 0));
    m.wake(child);
    assert_eq!(m.schedule(0), Some(child));
    assert!(m.ticks(0, 1));
    assert_eq!(slice(&m, child), (0, 0));
}

#[test]
fn fork_can_take_the_last_tick() {
    // 6/4 -> 3/2; fork again -> 1/1 and 2/1; again -> 0 and 1/1: nothing is left to the parent,
    // its ticks are forgotten, and it is rescheduled.
    let mut m = up("affinity24");
    let parent = running(&mut m, 0);
    m.ticks(0, 4);
    m.fork(0, &normal(0));
    assert_eq!(slice(&m, parent), (3, 2));
    let second = m.fork(0, &normal(0));
    assert_eq!((slice(&m, parent), slice(&m, second)), ((1, 1), (2, 1)));
    assert_eq!(m.asked(), []);
    let third = m.fork(0, &normal(0));
    assert_eq!((slice(&m, parent), slice(&m, third)), ((0, 0), (1, 1)));
    assert_eq!(m.asked(), [0]);
}

/// A child that ran `used` ticks of its half of the slice, and is dead; its parent runs.
fn with_dead_child(m: &mut Machine, used: u32) -> (TaskId, TaskId) {
    let parent = running(m, 0);
    let child = m.fork(0, &normal(0));
    m.wake(child);
    m.block(0);
    m.ticks(0, used);
    m.die(0);
    m.wake(parent);
    assert_eq!(m.schedule(0), Some(parent));
    (parent, child)
}

#[test]
fn the_reaper_gets_slice_and_used_ticks() {
    // 3/0 and 3/2 make 6/2: four ticks to run, as many as the two had.
    let mut m = up("affinity24");
    let (parent, child) = with_dead_child(&mut m, 2);
    assert_eq!(slice(&m, child), (3, 2));
    m.reap(child, parent);
    assert_eq!((slice(&m, parent), m.asked()), ((6, 2), vec![]));
    assert!(!m.ticks(0, 3));
    assert!(m.ticks(0, 1));
}

#[test]
fn the_reaper_of_an_exhausted_child_gets_nothing() {
    let mut m = up("affinity24");
    let (parent, child) = with_dead_child(&mut m, 3);
    m.reap(child, parent);
    assert_eq!(slice(&m, parent), (3, 0));
}

/// Parent and child of nice -20 sleep until both are at 21 (c / 2 + 11: 11, 16, 19, 20, 21); then
/// they run this many ticks, the child dies, and the parent reaps it.
fn reaped_at_the_cap(parent_ticks: u32, child_ticks: u32) -> ((i32, i32), Vec<u32>) {
    let mut m = up("affinity24");
    let parent = running(&mut m, -20);
    let child = m.fork(0, &normal(-20));
    m.block(0);
    epochs(&mut m, 6);
    assert_eq!((slice(&m, parent), slice(&m, child)), ((21, 0), (21, 0)));
    m.wake(child);
    m.schedule(0);
    assert!(!m.ticks(0, child_ticks));
    m.die(0);
    m.wake(parent);
    m.schedule(0);
    assert!(!m.ticks(0, parent_ticks));
    m.reap(child, parent);
    (slice(&m, parent), m.asked())
}

#[test]
fn a_capped_reaper_that_has_used_the_cap_up_is_exhausted() {
    // 42 is capped to MAX_COUNTER, 20 ticks at 100 Hz.  12 + 7 ticks are less than that, 12 + 8
    // are not.
    assert_eq!(reaped_at_the_cap(7, 12), ((20, 19), vec![]));
    assert_eq!(reaped_at_the_cap(8, 12), ((0, 0), vec![0]));
}

#[test]
fn below_the_cap_nothing_is_checked_before_the_next_tick() {
    // 6/5 forks: 3/2 and the first child 3/3, which dies unused.  3/2 forks again: 1/1.  With the
    // dead child's it is 4/4, all used, and still runs on until a tick finds 4 + 1 >= 4.
    let mut m = up("affinity24");
    let parent = running(&mut m, 0);
    m.ticks(0, 5);
    let first = m.fork(0, &normal(0));
    m.wake(first);
    m.block(0);
    m.die(0);
    m.wake(parent);
    m.schedule(0);
    m.fork(0, &normal(0));
    assert_eq!(slice(&m, parent), (1, 1));
    m.reap(first, parent);
    assert_eq!((slice(&m, parent), m.asked()), ((4, 4), vec![]));
    assert!(m.ticks(0, 1));
    assert_eq!(slice(&m, parent), (0, 0));
}

#[test]
fn stock_knows_no_used_ticks() {
    // 6 - 4 = 2 -> 1 and 1; the child dies unused: 2 again.
    let mut m = up("affinity24:stock");
    let parent = running(&mut m, 0);
    m.ticks(0, 4);
    let child = m.fork(0, &normal(0));
    assert_eq!((slice(&m, parent), slice(&m, child)), ((1, 0), (1, 0)));
    m.wake(child);
    m.block(0);
    m.die(0);
    m.wake(parent);
    m.schedule(0);
    m.reap(child, parent);
    assert_eq!(slice(&m, parent), (2, 0));
}
