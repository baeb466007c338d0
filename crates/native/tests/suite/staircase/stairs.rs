//! The descent: one step for each interval run, and the effect of bursts.

use crate::script::{normal, Machine};
use crate::staircase::{state, up, MS};
use schedlab_trace::TaskId;

/// The priorities of a task that runs alone, one for each tick, beginning now.
fn descent(m: &mut Machine, task: TaskId, ticks: u32) -> Vec<i32> {
    (0..ticks)
        .map(|_| {
            let prio = m.priority(task);
            m.ticks(0, 1);
            assert_eq!(m.schedule(0), Some(task));
            prio
        })
        .collect()
}

/// A running task of this nice value that slept so often that it has this burst.
fn with_burst(m: &mut Machine, nice: i8, burst: u32) -> TaskId {
    let task = m.start(&normal(nice));
    m.schedule(0);
    for _ in 0..burst {
        m.after(10 * MS).block(0); // it has run for a jiffy
        m.after(10 * MS).wake(task);
        m.schedule(0);
    }
    assert_eq!(state(m, task).burst, burst);
    task
}

#[test]
fn a_step_down_for_every_interval_and_back_to_the_top() {
    // 139 - (39 - user_prio) = 120 + nice is the top; slice(p) = 20 - nice intervals.
    for (nice, top) in [(-20, 100), (-10, 110), (0, 120), (10, 130), (19, 139)] {
        let mut m = up(&[]);
        let task = m.start(&normal(nice));
        m.schedule(0);
        assert_eq!(state(&m, task).slice, 140 - top);
        let expected: Vec<i32> = (top as i32..=139).chain([top as i32]).collect();
        assert_eq!(descent(&mut m, task, 141 - top), expected, "nice {nice}");
    }
}

#[test]
fn steps_last_for_rr_interval() {
    let mut m = up(&[("rr_interval_ms", 30)]);
    let task = m.start(&normal(18)); // two steps of three ticks
    m.schedule(0);
    assert_eq!(
        descent(&mut m, task, 7),
        [138, 138, 138, 139, 139, 139, 138]
    );
    // At least a jiffy.
    let mut m = up(&[("rr_interval_ms", 5)]);
    let task = m.start(&normal(18));
    m.schedule(0);
    assert_eq!(descent(&mut m, task, 3), [138, 139, 138]);
}

#[test]
fn a_burst_moves_intervals_from_the_foot_to_the_top() {
    // Version 7.F's diagram: burst 1: two intervals at the top, one on each further step, none on
    // the last.  Burst 2: three, and none on the last two.  The sum is always 20.
    for burst in [1, 2, 19] {
        let mut m = up(&[]);
        let task = with_burst(&mut m, 0, burst);
        let mut expected = vec![120; burst as usize + 1];
        expected.extend(121..140 - burst as i32);
        assert_eq!(expected.len(), 20);
        expected.push(120);
        assert_eq!(descent(&mut m, task, 21), expected, "burst {burst}");
        assert_eq!(state(&m, task).burst, burst - 1, "a descent costs one");
    }
}

#[test]
fn the_greatest_burst_is_the_number_of_steps_below_the_top() {
    // 39 - user_prio: nice -20: 39, 0: 19, 18: 1, 19: 0.
    for (nice, most) in [(-20, 39), (0, 19), (18, 1), (19, 0)] {
        let mut m = up(&[]);
        let task = with_burst(&mut m, nice, most);
        m.after(10 * MS).block(0);
        m.after(10 * MS).wake(task);
        assert_eq!(state(&m, task).burst, most, "nice {nice}");
    }
}

#[test]
fn bursts_count_neither_in_compute_mode_nor_without_interactive() {
    // interactive=0: the burst is kept, but every step lasts one interval.
    let mut m = up(&[("interactive", 0)]);
    let task = with_burst(&mut m, 17, 2);
    assert_eq!(descent(&mut m, task, 4), [137, 138, 139, 137]);
    // compute=1: a step is ten ticks.
    let mut m = up(&[("compute", 1)]);
    let task = m.start(&normal(18));
    m.schedule(0);
    let expected = [[138; 10], [139; 10], [138; 10]].concat();
    assert_eq!(descent(&mut m, task, 30), expected);
}

#[test]
fn equals_take_turns_on_each_step() {
    let mut m = up(&[]);
    let a = m.start(&normal(17));
    let b = m.start(&normal(17));
    m.schedule(0);
    let mut ran = Vec::new();
    for _ in 0..10 {
        ran.push((m.running(0).unwrap(), m.priority(m.running(0).unwrap())));
        m.ticks(0, 1);
        m.schedule(0);
    }
    // Both meet at 139, where a came first.  a is lifted and descends alone until it is at the
    // foot again, behind b; then b has its last interval there, is lifted in turn, and so on.
    let expected = [
        (a, 137),
        (b, 137),
        (a, 138),
        (b, 138),
        (a, 139),
        (a, 137),
        (a, 138),
        (b, 139),
        (b, 137),
        (b, 138),
    ];
    assert_eq!(ran, expected);
}
