//! Score, priority, history.

use super::*;

/// The priority after this many ticks of running and of sleeping.
fn priority(ran: u32, slept: u32, nice: i8) -> i32 {
    let mut m = machine(1, &[]);
    let task = lived(&mut m, ran, slept, nice);
    m.priority(task)
}

#[test]
fn interactive_priorities_are_the_score() {
    // 120 + (32 / 30 = 1) * score.  100 and 400 ms: 102400 / (409600 / 50 = 8192) = 12.
    assert_eq!(priority(10, 40, 0), 132);
    assert_eq!(priority(0, 40, 0), 120);
    // 180 and 300: 184320 / 6144 = 30, one too many.
    assert!(priority(18, 30, 0) >= 172);
}

#[test]
fn nice_is_added_to_the_score_not_below_zero() {
    assert_eq!(priority(10, 40, 5), 137);
    assert_eq!(priority(10, 40, -5), 127);
    assert_eq!(priority(10, 40, -20), 120);
    assert!(priority(10, 40, 18) >= 172, "12 + 18 = 30");
    // 300 and 400 ms score 37; -8 makes that 29.
    assert_eq!(priority(30, 40, -8), 149);
}

#[test]
fn who_runs_as_much_as_it_sleeps_scores_half_at_once() {
    // 50 - 20 = 30 is not below 30: with any nice.
    assert!(priority(30, 30, -20) < 172, "batch: 172 + %cpu - 20");
    assert!(priority(30, 30, -20) >= 152);
    // With the threshold above half the whole formula counts: 98 for 4 % of sleep.
    let mut m = machine(1, &[("interact", 100)]);
    let task = lived(&mut m, 100, 4, 0);
    // d = 1024000 / 50 = 20480; 100 - 40960 / 20480 = 98; range 32 / 100 = 0.
    assert_eq!(m.priority(task), 120);
}

#[test]
fn batch_priorities_follow_the_cpu_time_of_ten_seconds() {
    let mut m = machine(1, &[]);
    let hog = run_on(&mut m, 0, &normal(0));
    m.ticks(0, 1);
    // 10 ms of a window that counts as a second at least: 10 / (1000 / 32 rounded up = 32) = 0.
    assert_eq!(m.priority(hog), 172);
    m.ticks(0, 49); // 500 / 32 = 15
    assert_eq!(m.priority(hog), 187);
    m.ticks(0, 50); // 1000 / 32 = 31
    assert_eq!(m.priority(hog), 203);
    m.ticks(0, 900); // of 10 s: 10000 / 313 = 31, the end of the range
    assert_eq!(m.priority(hog), 203);
    m.set_nice(hog, 19);
    assert_eq!(m.priority(hog), 222);
    m.set_nice(hog, -20);
    assert_eq!(m.priority(hog), 183);
}

#[test]
fn too_much_history_is_cut_in_three_ways() {
    let mut m = machine(1, &[]);
    let hog = run_on(&mut m, 0, &normal(0));
    m.ticks(0, 500); // 5 s is the limit: four fifths
    assert_eq!(history(&m, hog), (0, 4000));
    m.block(0);
    m.after(4_000_000_000).wake(hog); // 8 s are more than 6: halves
    assert_eq!(history(&m, hog), (2000, 2000));
    m.schedule(0);
    m.block(0);
    m.after(9_000_000_000).wake(hog); // 13 s are more than 10: sleep wins
    assert_eq!(thread(&m, hog).slptime, 5000 * 1024);
    assert_eq!(thread(&m, hog).runtime, 1);
}

#[test]
fn forks_and_exits_teach() {
    let mut m = machine(1, &[]);
    let parent = lived(&mut m, 100, 300, 0);
    m.schedule(0);
    let child = m.fork(0, &normal(0));
    // 4 s are 8 times the half second a child inherits; the parent pays a tick.
    assert_eq!(history(&m, child), (375, 125));
    assert_eq!(history(&m, parent), (3000, 1010));
    // One tick less than a slice is left used: 10 - 1.
    assert_eq!(thread(&m, child).slice, 9);
    m.enqueue(child, schedlab_policy::enq::NEW);
    m.block(0);
    m.ticks(0, 20);
    m.die(0);
    m.reap(child, parent);
    assert_eq!(history(&m, parent), (3000, 1010 + 325));
}

#[test]
fn a_sleep_within_a_clock_tick_is_none() {
    let mut m = machine(1, &[]);
    let task = run_on(&mut m, 0, &normal(0));
    m.block(0);
    m.after(900_000).wake(task);
    assert_eq!(history(&m, task).0, 0);
    m.schedule(0);
    m.block(0);
    m.after(200_000).wake(task);
    assert_eq!(history(&m, task).0, 1);
}
