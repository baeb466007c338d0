//! sched_yield(), setpriority() and sched_setscheduler().

use crate::script::{normal, real_time, Machine};
use crate::staircase::{state, up, up12, MS};
use schedlab_policy::Class;
use schedlab_trace::TaskId;

/// A running task with a burst of 2 that has gone down to 122, and another at 130.
fn descended(mut m: Machine) -> (Machine, TaskId, TaskId) {
    let task = m.start(&normal(0));
    m.schedule(0);
    for _ in 0..2 {
        m.after(10 * MS).block(0);
        m.after(10 * MS).wake(task);
        m.schedule(0);
    }
    for _ in 0..4 {
        m.ticks(0, 1);
        m.schedule(0);
    }
    assert_eq!((m.priority(task), state(&m, task).burst), (122, 2));
    let other = m.start(&normal(10));
    (m, task, other)
}

#[test]
fn yield_goes_to_the_lowest_step_until_chosen() {
    for (m, burst) in [(up(&[]), 0), (up12(&[]), 2)] {
        let (mut m, task, other) = descended(m);
        assert_eq!(m.yields(0), Some(other));
        assert_eq!(m.priority(task), 139);
        assert_eq!(state(&m, task).slice, 20);
        assert_eq!(state(&m, task).burst, burst);
        m.block(0);
        // Chosen, it is at the top, with its whole slice.
        assert_eq!(m.running(0), Some(task));
        assert_eq!((m.priority(task), state(&m, task).slice), (120, 20));
        assert_eq!(state(&m, task).flags, 0);
    }
}

#[test]
fn yield_without_company_returns_to_the_top_at_once() {
    let (mut m, task, other) = descended(up(&[]));
    m.unqueue(other);
    assert_eq!(m.yields(0), Some(task));
    assert_eq!(m.priority(task), 120);
}

#[test]
fn real_time_tasks_yield_to_their_equals() {
    let mut m = up(&[]);
    let a = m.start(&real_time(Class::Fifo, 7));
    let b = m.start(&real_time(Class::Fifo, 7));
    m.start(&normal(0));
    m.schedule(0);
    assert_eq!(m.yields(0), Some(b));
    assert_eq!(m.yields(0), Some(a));
    assert_eq!(m.priority(a), 92); // 99 - 7
}

#[test]
fn renicing_moves_to_the_new_static_priority_and_keeps_the_slice() {
    let (mut m, task, other) = descended(up(&[]));
    assert_eq!(m.set_nice(other, -5), [0], "better than before");
    assert_eq!((m.priority(other), state(&m, other).slice), (115, 10));
    assert_eq!(m.set_nice(other, 7), []);
    assert_eq!(m.schedule(0), Some(task));
    assert_eq!(m.set_nice(task, 6), [0], "it runs and got worse");
    assert_eq!((m.priority(task), state(&m, task).slice), (126, 16));
}

#[test]
fn a_slice_longer_than_a_full_one_is_unused_unless_arithmetic_is_unsigned() {
    // From nice 0 to 10: 20 jiffies are left of a slice of 10.
    for (unsigned, next) in [(0, 130), (1, 139)] {
        let mut m = up(&[("unsigned_slice", unsigned)]);
        let task = m.start(&normal(0));
        m.schedule(0);
        m.set_nice(task, 10);
        m.ticks(0, 1);
        assert_eq!(m.priority(task), next);
    }
}

#[test]
fn changing_class_changes_the_priority_at_once() {
    let (mut m, task, other) = descended(up(&[]));
    assert_eq!(m.set_class(other, Class::Rr, 1), [0]);
    assert_eq!(m.priority(other), 98);
    m.schedule(0);
    // Back: the static priority, wherever on the stairs it was.
    assert_eq!(m.set_class(other, Class::Normal, 0), [0]);
    assert_eq!(m.priority(other), 130);
    assert_eq!(m.schedule(0), Some(task));
}

#[test]
fn round_robin_tasks_take_turns_of_rr_interval() {
    let mut m = up(&[("rr_interval_ms", 30)]);
    let a = m.start(&real_time(Class::Rr, 7));
    let b = m.start(&real_time(Class::Rr, 7));
    assert_eq!(m.schedule(0), Some(a));
    assert!(!m.ticks(0, 2));
    assert!(m.ticks(0, 1));
    assert_eq!(m.schedule(0), Some(b));
    // SCHED_FIFO has no slice.
    m.set_class(b, Class::Fifo, 7);
    assert!(!m.ticks(0, 100));
}
