//! The interactivity score, seen in the priority: 160 + score * 64 / 100 at nice 0.

use super::*;

/// The priority after this many ticks of running and sleeping.
fn priority(ran: u32, slept: u32, set: &[(&str, i64)]) -> i32 {
    let mut m = up(set);
    let task = lived(&mut m, ran, slept, 0);
    assert_eq!(history(&m, task), (slept, ran));
    m.priority(task)
}

#[test]
fn sleep_scores_below_half_and_running_above() {
    // Sleeping more: run / (slp / 50).  10 and 40: 10240 / 819 = 12; 160 + 12 * 64 / 100 = 167.
    assert_eq!(priority(10, 40, &[]), 167);
    // 20 and 30: 20480 / (30720 / 50 = 614) = 33; 160 + 21.
    assert_eq!(priority(20, 30, &[]), 181);
    // Running more: 50 + 50 - slp / (run / 50).  40 and 10: 100 - 12 = 88; 160 + 56.
    assert_eq!(priority(40, 10, &[]), 216);
    // 51 and 49: 51 * 1024 / 50 = 1044; 100 - 50176 / 1044 (48) = 52; 160 + 33.
    assert_eq!(priority(51, 49, &[]), 193);
}

#[test]
fn the_extremes() {
    assert_eq!(priority(0, 40, &[]), 160, "score 0");
    // 100 and 1: d = 2048, 1024 / 2048 = 0; score 100: 224, cut at 223.
    assert_eq!(priority(100, 1, &[]), 223);
}

#[test]
fn equal_times_score_half_or_by_the_quirk_nothing() {
    assert_eq!(priority(30, 30, &[]), 160 + 32);
    assert_eq!(priority(30, 30, &[("equal_scores_zero", 1)]), 160);
    assert_eq!(priority(0, 0, &[]), 160, "no history yet");
}

#[test]
fn figure_1_taken_literally_ranks_hogs_before_those_that_sleep_almost_half() {
    let literal = [("literal_figure1", 1)];
    // 50 + slp / (run / 50): a hog 50; 51 % of the CPU 50 + 48 = 98; 80 % 50 + 12 = 62.
    assert_eq!(priority(100, 1, &literal), 160 + 32);
    assert_eq!(priority(51, 49, &literal), 160 + 62);
    assert_eq!(priority(40, 10, &literal), 160 + 39);
    assert_eq!(priority(10, 40, &literal), 167, "the lower half is as ever");
}

#[test]
fn nice_is_added_after_and_the_range_is_kept() {
    let mut m = up(&[]);
    for (nice, ran, slept, expected) in [
        (5, 10, 40, 172),  // 167 + 5
        (-5, 10, 40, 162), // 167 - 5
        (-20, 10, 40, 160),
        (19, 100, 1, 223),
        (-20, 100, 1, 204), // 224 - 20
    ] {
        let task = lived(&mut m, ran, slept, nice);
        assert_eq!(m.priority(task), expected, "nice {nice}");
        assert_eq!(m.schedule(0), Some(task));
        m.die(0);
    }
}

#[test]
fn constants_of_the_score_are_tunables() {
    // INTERACT_MAX 24, base 180, range 24 (R0): 10 and 40: 10240 / (40960 / 12 = 3413) = 3.
    let r0 = [("interact_max", 24), ("pri_base", 180), ("pri_range", 24)];
    assert_eq!(priority(10, 40, &r0), 183);
    assert_eq!(priority(100, 1, &r0), 204);
}

#[test]
fn threads_that_score_less_than_the_threshold_are_interactive() {
    // 10 and 40 score 12, 15 and 30: 15360 / 614 = 25, 18 and 30: 18432 / 614 = 30.
    for (ran, slept, interactive) in [(10, 40, true), (15, 30, true), (18, 30, false)] {
        let mut m = up(&[]);
        let task = lived(&mut m, ran, slept, 0);
        // Interactive threads get the shortest slice, others the longest when alone.
        let slice = if interactive { 1 } else { 14 };
        assert_eq!(thread(&m, task).slice, slice, "{ran} {slept}");
    }
}
