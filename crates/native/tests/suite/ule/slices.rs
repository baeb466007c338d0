//! The slice calculator: a window of nice values above the least nice thread of the kseq.

use super::*;

/// The slice of a hog so much nicer than another one on its kseq.
fn slice(diff: i8, set: &[(&str, i64)]) -> i32 {
    let mut m = up(set);
    let hog = run_on(&mut m, 0, &normal(diff - 20));
    m.start(&normal(-20));
    assert!(m.ticks(0, 1), "it is a hog now");
    thread(&m, hog).slice
}

#[test]
fn the_slice_table() {
    // 14 - diff * (14 - 1 + 1) / 19, in integers.
    let at_14 = [
        14, 14, 13, 12, 12, 11, 10, 9, 9, 8, 7, 6, 6, 5, 4, 3, 3, 2, 1, 0,
    ];
    // R2: 10 - diff * 10 / 19.
    let at_10 = [10, 10, 9, 9, 8, 8, 7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 0];
    for diff in 0..20 {
        assert_eq!(slice(diff, &[]), at_14[diff as usize], "{diff}");
        let r2 = [("slice_max_ms", 100)];
        assert_eq!(slice(diff, &r2), at_10[diff as usize], "{diff}");
    }
}

#[test]
fn beyond_the_window_there_is_no_slice() {
    for diff in 20..40 {
        assert_eq!(slice(diff, &[]), 0, "{diff}");
    }
    // A wider window, 40: 14 - 20 * 14 / 40 = 7 and 14 - 39 * 14 / 40 = 1.
    assert_eq!(slice(20, &[("nice_window", 40)]), 7);
    assert_eq!(slice(39, &[("nice_window", 40)]), 1);
}

#[test]
fn the_least_nice_and_the_lonely_get_all_of_it() {
    for nice in [-20, 0, 19] {
        let mut m = up(&[]);
        let hog = run_on(&mut m, 0, &normal(nice));
        m.ticks(0, 1);
        assert_eq!(thread(&m, hog).slice, 14, "alone at nice {nice}");
    }
    let mut m = up(&[]);
    let hog = run_on(&mut m, 0, &normal(-5));
    m.start(&normal(10));
    m.ticks(0, 1); // The others' nicemin is 10.
    assert_eq!(thread(&m, hog).slice, 14);
}

#[test]
fn the_interactive_slice() {
    // A score of 0: the shortest, so that it is found out soon; R4 gives the longest.
    for (set, expected) in [(&[][..], 1), (&[("interactive_slice_ms", 140)], 14)] {
        let mut m = up(set);
        let task = lived(&mut m, 1, 100, 0);
        assert_eq!(thread(&m, task).slice, expected);
    }
}

#[test]
fn nicemin_follows_the_threads_that_are_there() {
    let mut m = up(&[]);
    let mut tasks = Vec::new();
    for (nice, nicemin) in [(5, 5), (7, 5), (-3, -3), (0, -3), (-3, -3)] {
        tasks.push(m.start(&normal(nice)));
        assert_eq!(kseq(&m, 0).nicemin, nicemin);
    }
    for (index, nicemin) in [(2, -3), (4, 0), (1, 0), (3, 5)] {
        m.unqueue(tasks[index]);
        assert_eq!(kseq(&m, 0).nicemin, nicemin, "without task {index}");
    }
    m.unqueue(tasks[0]);
    m.wake(tasks[1]); // The only one again, whatever was there before.
    assert_eq!(kseq(&m, 0).nicemin, 7);
}

#[test]
fn renicing_moves_the_bin_at_once_and_the_slice_later() {
    let mut m = up(&[]);
    let hog = hog_on(&mut m, 0, 0);
    let other = m.start(&normal(0));
    m.set_nice(other, -9);
    assert_eq!(kseq(&m, 0).nicemin, -9);
    assert_eq!(thread(&m, hog).slice, 14);
    m.ticks(0, 14); // Expired; 9 levels above the least nice: 8.
    assert_eq!(thread(&m, hog).slice, 8);
    assert_eq!(m.set_nice(other, 3), []);
    assert_eq!(kseq(&m, 0).nicemin, 0);
}

#[test]
fn renicing_changes_the_priority_and_reschedules_who_runs() {
    let mut m = up(&[]);
    let hog = hog_on(&mut m, 0, 0);
    assert_eq!(m.set_nice(hog, -4), [0]);
    assert_eq!(m.priority(hog), 220);
    let sleeper = m.add(&normal(0));
    assert_eq!(m.set_nice(sleeper, 7), []);
    assert_eq!(m.priority(sleeper), 167);
}
