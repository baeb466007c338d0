//! Differences between the revisions.

use super::*;
use schedlab_policy::{Policy, Tuned};

#[test]
fn the_default_is_the_paper_and_tasks_are_small() {
    let policy = Policy::find("ule").unwrap();
    assert_eq!(Tuned::defaults(policy).variant, "2003");
    let names: Vec<&str> = policy.variants().iter().map(|v| v.name).collect();
    assert_eq!(names, ["2003", "R3", "R2", "R0"]);
    assert!(policy.task_size() <= 96);
    assert_eq!(policy.task_size(), size_of::<Thread>());
}

#[test]
fn a_shortest_slice_above_the_longest_is_refused() {
    let refused = Machine::try_new("ule", 1, &[("slice_min_ms", 200)]);
    assert!(refused.err().unwrap().contains("slice_min_ms"));
}

#[test]
fn literal_r3_scores_equals_0_and_halves() {
    let mut m = Machine::new("ule:R3", 1, &[BLANK]);
    let task = lived(&mut m, 30, 30, 0);
    assert_eq!(m.priority(task), 160);
    m.schedule(0);
    m.ticks(0, 440); // 30 + 470 = 500
    assert_eq!(history(&m, task), (15, 235));
}

#[test]
fn r2_remembers_a_tenth_of_a_second() {
    let mut m = Machine::new("ule:R2", 1, &[BLANK]);
    // 10 ticks of sleep are the limit: all forgiven.  180 + 0.
    let task = lived(&mut m, 50, 10, 0);
    assert_eq!(
        (thread(&m, task).slptime, thread(&m, task).runtime),
        (10 * TICK, 1)
    );
    assert_eq!(m.priority(task), 180);
    m.schedule(0);
    // A hog: 180 + 24.
    m.ticks(0, 100);
    assert_eq!(m.priority(task), 204);
}

#[test]
fn r2_copies_the_parent_and_returns_sleep() {
    let mut m = Machine::new("ule:R2", 1, &[BLANK]);
    let parent = run_on(&mut m, 0, &normal(0));
    m.ticks(0, 1);
    m.ticks(0, 4); // 10 - 4 ticks of slice
    let child = m.fork(0, &normal(0));
    assert_eq!(thread(&m, child).slice, 6);
    assert_eq!(history(&m, child), (0, 5));
    assert_eq!(history(&m, parent), (0, 5), "no penalty");
    m.enqueue(child, schedlab_policy::enq::NEW);
    m.block(0);
    m.block(0); // the child sleeps, 3 ticks
    m.after(30_000_000).wake(child);
    m.schedule(0);
    m.die(0);
    m.reap(child, parent);
    assert_eq!(history(&m, parent), (3, 10));
}

#[test]
fn r0_gives_better_threads_longer_slices() {
    // 10 to 250 ms; by sleep 25 - score * 24 / 24, by priority 25 - (pri - 160) * 24 / 63.
    let mut m = Machine::new("ule:R0", 1, &[BLANK]);
    let task = run_on(&mut m, 0, &normal(0));
    m.ticks(0, 1);
    // A hog: score 24, pri 204: (1 * 6 + (25 - 16) * 4) / 10 = 4.
    assert_eq!(thread(&m, task).slice, 4);
    m.set_nice(task, -20);
    m.ticks(0, 4); // pri 184: (1 * 6 + (25 - 9) * 4) / 10 = 7.
    assert_eq!(thread(&m, task).slice, 7);
}

#[test]
fn r0_files_who_sleeps_somewhat_more_than_it_runs_under_current() {
    // Current if slp > run and run / (slp / 12) > 4: more than a third of the sleep.
    for (ran, slept, is_current) in [(10, 20u32, true), (10, 40, false), (30, 20, false)] {
        let mut m = Machine::new("ule:R0", 1, &[BLANK]);
        let task = run_on(&mut m, 0, &normal(0));
        m.ticks(0, ran);
        m.block(0);
        m.after(u64::from(slept) * 10_000_000).wake(task);
        let expected = if is_current {
            current(&m, 0)
        } else {
            next(&m, 0)
        };
        assert_eq!(expected, [task], "{ran} {slept}");
    }
}
