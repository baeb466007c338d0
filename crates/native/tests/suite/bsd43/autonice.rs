//! Auto-nice: nice 0 becomes 4 for a process that has used more than ten minutes of CPU time.
//!
//! 4.3BSD checks at each tick, 4.4BSD when the process is switched from.  Both count whole seconds,
//! so it takes 601 seconds.

use super::*;

const TICK: u64 = 10 * MS;

/// Load 0 forgets all usage at each pass, so that a user priority is 50 + 2 * nice after it.
const FORGET: [(&str, i64); 2] = [("held_load", 0), ("decay_adds_nice", 0)];

fn ran_for(m: &mut Machine, task: TaskId, seconds: u64) -> i32 {
    m.ticks(0, (seconds * SECOND / TICK) as u32);
    m.timers_for(0);
    m.priority(task)
}

#[test]
fn ten_minutes_of_cpu_time_cost_four_levels_of_nice() {
    let mut m = Machine::new("bsd43:4.3", 1, &FORGET);
    let task = run_alone(&mut m, &normal(0));
    assert_eq!(ran_for(&mut m, task, 600), 50);
    m.ticks(0, 99);
    m.timers_for(0);
    assert_eq!(m.priority(task), 50 + 99 / 4);
    m.ticks(0, 1);
    // At once, without waiting for the pass: 100 ticks, nice 4; and where it is queued.
    assert_eq!(priorities(&m, task), (50 + 25 + 8, 50 + 25 + 8));
    m.timers_for(0);
    assert_eq!(m.priority(task), 58);
}

#[test]
fn _4_4_looks_when_the_process_is_switched_from() {
    let mut m = Machine::new("bsd43:4.4", 1, &FORGET);
    let task = run_alone(&mut m, &normal(0));
    assert_eq!(ran_for(&mut m, task, 602), 50);
    m.schedule(0);
    assert_eq!(m.priority(task), 58);
}

/// A process that sleeps between its ticks is never charged a tick, but 4.4BSD times it.
#[test]
fn _4_4_times_what_the_ticks_miss() {
    for (name, pri) in [("bsd43:4.3", 50), ("bsd43:4.4", 58)] {
        let mut m = Machine::new(name, 1, &FORGET);
        let task = run_alone(&mut m, &normal(0));
        for _ in 0..2 {
            m.after(301 * SECOND);
            m.block(0);
            m.wake(task);
            m.schedule(0);
        }
        assert_eq!(m.priority(task), pri, "{name}");
    }
}

#[test]
fn only_nice_0_is_changed_and_setpriority_has_the_last_word() {
    for nice in [-5, 1, 19] {
        let mut m = Machine::new("bsd43", 1, &FORGET);
        let task = run_alone(&mut m, &normal(nice));
        assert_eq!(ran_for(&mut m, task, 700), 50 + 2 * i32::from(nice));
    }
    let mut m = Machine::new("bsd43", 1, &FORGET);
    let task = run_alone(&mut m, &normal(0));
    assert_eq!(ran_for(&mut m, task, 602), 58);
    m.set_nice(task, -5);
    assert_eq!(ran_for(&mut m, task, 2), 40);
    m.set_nice(task, 0);
    assert_eq!(
        ran_for(&mut m, task, 2),
        58,
        "it is nice 0 again and has had its time"
    );
}

#[test]
fn children_inherit_the_nice_value_and_not_the_time() {
    let mut m = Machine::new("bsd43", 1, &FORGET);
    let parent = run_alone(&mut m, &normal(0));
    ran_for(&mut m, parent, 602);
    let child = m.fork(0, &normal(0));
    assert_eq!(m.priority(child), 58);
    m.set_nice(child, 0);
    assert_eq!(m.priority(child), 50);
}

#[test]
fn it_can_be_switched_off_and_free_bsd_4_has_none() {
    for (name, set) in [("bsd43", &[("autonice_after_s", 0)][..]), ("bsd4:4.x", &[])] {
        let mut m = Machine::new(name, 1, &[set, &FORGET].concat());
        let task = run_alone(&mut m, &normal(0));
        m.schedule(0);
        m.timers_for(SECOND);
        let before = m.priority(task);
        m.after(700 * SECOND).schedule(0);
        m.timers_for(SECOND);
        assert_eq!(m.priority(task), before, "{name}");
    }
}
