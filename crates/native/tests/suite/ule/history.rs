//! The history of sleep and run time: kept, inherited, and learned from children.

use super::*;

const SECOND: u64 = 1_000_000_000;

#[test]
fn the_history_is_cut_to_four_fifths_at_five_seconds() {
    let mut m = up(&[]);
    let hog = run_on(&mut m, 0, &normal(0));
    m.ticks(0, 499);
    assert_eq!(history(&m, hog), (0, 499));
    m.ticks(0, 1); // 500 is the limit, 600 would be 6/5 of it: 500 * 4 / 5.
    assert_eq!(history(&m, hog), (0, 400));
    m.ticks(0, 99);
    assert_eq!(history(&m, hog), (0, 499));
}

#[test]
fn a_cut_of_more_than_a_fifth_halves() {
    let mut m = up(&[]);
    // 300 ticks of running and 499 of sleep are 799, more than 600.
    let task = lived(&mut m, 300, 499, 0);
    assert_eq!(thread(&m, task).runtime, 150 * TICK);
    assert_eq!(thread(&m, task).slptime, 499 * TICK / 2);
}

#[test]
fn five_seconds_of_sleep_forgive_everything() {
    let mut m = up(&[]);
    let task = lived(&mut m, 300, 500, 0);
    assert_eq!(
        (thread(&m, task).slptime, thread(&m, task).runtime),
        (500 * TICK, 1)
    );
    assert_eq!(m.priority(task), 160);
}

#[test]
fn r3_always_halves() {
    let mut m = up(&[("history_bound", 1)]);
    let hog = run_on(&mut m, 0, &normal(0));
    m.ticks(0, 500);
    assert_eq!(history(&m, hog), (0, 250));
}

#[test]
fn r2_forgets_nine_tenths_when_it_computes_a_slice() {
    // Limit 10 ticks; a slice of 14, then another.
    let mut m = up(&[("history_bound", 2), ("slp_run_max_ms", 100)]);
    let hog = hog_on(&mut m, 0, 0);
    m.ticks(0, 13);
    assert_eq!(history(&m, hog), (0, 14), "not yet");
    m.ticks(0, 1); // 15 * 1024 / 10 = 1536
    assert_eq!(thread(&m, hog).runtime, 1536);
}

#[test]
fn waiting_for_the_cpu_is_not_sleep() {
    // Claim C31: ten seconds in a queue leave a hog a hog.
    let mut m = up(&[]);
    let hog = hog_on(&mut m, 0, 0);
    let before = thread(&m, hog);
    m.set_class(hog, schedlab_policy::Class::Idle, 0);
    m.set_class(hog, schedlab_policy::Class::Normal, 0);
    let other = m.start(&normal(0));
    m.schedule(0);
    assert_eq!(m.running(0), Some(other));
    m.after(10 * SECOND);
    m.block(0);
    assert_eq!(m.running(0), Some(hog));
    m.ticks(0, 14);
    assert_eq!(thread(&m, hog).slptime, before.slptime);
    assert_eq!(m.priority(hog), 223);
}

#[test]
fn a_sleep_is_as_long_as_the_ticks_it_saw() {
    let mut m = up(&[]);
    let task = run_on(&mut m, 0, &normal(0));
    m.after(9_000_000);
    m.block(0);
    m.after(2_000_000).wake(task); // 9 to 11 ms
    assert_eq!(history(&m, task).0, 1);
    m.schedule(0);
    m.block(0);
    m.after(8_000_000).wake(task); // 11 to 19 ms
    assert_eq!(history(&m, task).0, 1);
}

#[test]
fn a_child_inherits_the_ratio_at_half_a_second_and_the_parent_pays_a_tick() {
    let mut m = up(&[]);
    let parent = lived(&mut m, 100, 300, 0);
    m.schedule(0);
    let child = m.fork(0, &normal(0));
    // 400 ticks are 8 times the limit of 50: an eighth of each.
    assert_eq!(thread(&m, child).runtime, 100 * TICK / 8);
    assert_eq!(thread(&m, child).slptime, 300 * TICK / 8);
    assert_eq!(thread(&m, child).slice, 1, "to learn quickly");
    assert_eq!(m.priority(child), m.priority(parent));
    assert_eq!(history(&m, parent), (300, 101));
}

#[test]
fn a_short_history_is_inherited_whole() {
    let mut m = up(&[]);
    lived(&mut m, 10, 40, 0);
    m.schedule(0);
    let child = m.fork(0, &normal(0));
    assert_eq!(history(&m, child), (40, 10));
}

#[test]
fn a_dead_childs_run_time_is_its_parents_but_its_sleep_is_not() {
    for (set, expected) in [
        (&[][..], (300, 131)),
        (&[("exit_runtime", 0)], (300, 101)),
        (&[("exit_slptime", 1)], (337, 131)), // 300 * 1024 / 8 = 37.5 ticks of sleep
    ] {
        let mut m = up(set);
        let parent = lived(&mut m, 100, 300, 0);
        m.schedule(0);
        let child = m.fork(0, &normal(0)); // runtime 12.5 ticks; the parent has 101
        m.enqueue(child, schedlab_policy::enq::NEW);
        m.block(0);
        assert_eq!(m.running(0), Some(child));
        m.ticks(0, 18); // 30.5
        m.die(0);
        m.reap(child, parent);
        assert_eq!(history(&m, parent), expected, "{set:?}");
    }
}

#[test]
fn percent_cpu_is_of_ten_seconds_and_reading_does_not_erode_it() {
    // Claim C35.
    let mut m = up(&[("show_pctcpu", 1)]);
    let task = run_on(&mut m, 0, &normal(0));
    m.ticks(0, 200);
    for _ in 0..100 {
        assert_eq!(m.priority(task), 200, "2 s of 10 s are 20 %");
    }
    m.ticks(0, 1100);
    assert_eq!(m.priority(task), 1000);
    assert!(
        thread(&m, task).cpticks <= 1100,
        "the window is at most 11 s"
    );
    // 5 s later 10 to 11 s of running are two thirds of 15 to 16 s.
    m.block(0);
    let clock = m.add(&normal(0));
    m.after(5 * SECOND).set_nice(clock, 1);
    let after_5_s = m.priority(task);
    assert!((600..=700).contains(&after_5_s), "{after_5_s}");
    m.after(5 * SECOND).set_nice(clock, 2);
    assert_eq!(m.priority(task), 0, "it has not run for a window");
}
