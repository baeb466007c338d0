//! What a child inherits and what its parent gets back.

use super::*;

/// (the child's estcpu, the parent's after it has reaped the child) if the parent has used 100
/// ticks and the child uses 30.
fn family(name: &str) -> (u32, u32) {
    let mut m = Machine::new(name, 1, &[]);
    let parent = run_alone(&mut m, &normal(0));
    m.ticks_at_once(0, 100);
    let child = m.fork(0, &normal(0));
    let inherited = estcpu(&m, child);
    m.enqueue(child, enq::NEW);
    assert_eq!(m.block(0), Some(child));
    m.ticks_at_once(0, 30);
    m.wake(parent);
    assert_eq!(m.die(0), Some(parent));
    let before = m.priority(parent);
    m.reap(child, parent);
    // The priority follows at the next tick or second.
    assert_eq!(m.priority(parent), before);
    (inherited, estcpu(&m, parent))
}

#[test]
fn children_of_4_3_start_afresh_and_leave_nothing() {
    assert_eq!(family("bsd43:4.3"), (0, 100));
}

#[test]
fn children_of_4_4_inherit_usage_and_return_theirs() {
    // 100 + (100 + 30) = 230
    assert_eq!(family("bsd43:4.4"), (100, 230));
}

#[test]
fn a_parent_cannot_get_more_than_the_limit() {
    let mut m = Machine::new("bsd43:4.4", 1, &[]);
    let parent = run_alone(&mut m, &normal(0));
    m.ticks_at_once(0, 200);
    crate::bsd::double_estcpu(&mut m);
    assert_eq!(estcpu(&m, parent), 255);
}

#[test]
fn a_child_begins_at_its_own_user_priority() {
    let mut m = Machine::new("bsd43:4.4", 1, &[]);
    run_alone(&mut m, &normal(0));
    m.ticks_at_once(0, 100);
    let child = m.fork(0, &normal(3));
    assert_eq!(priorities(&m, child), (50 + 25 + 6, 81));
}
