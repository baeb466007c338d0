//! Values that a child inherits, and values that its parent gets back.

use super::*;

const INHERITED: [(&str, i64); 2] = [("fork_copies_estcpu", 1), ("exit_charges_parent", 1)];

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

/// p_estcpu is between p_startzero and p_endzero, and exit() and wait() do not mention it.
#[test]
fn children_of_4_4_start_afresh_too() {
    assert_eq!(family("bsd43:4.4"), (0, 100));
}

/// As FreeBSD had it: 100 + (100 + 30) = 230.
#[test]
fn usage_can_be_inherited_and_returned() {
    let mut m = Machine::new("bsd43", 1, &INHERITED);
    let parent = run_alone(&mut m, &normal(0));
    m.ticks_at_once(0, 100);
    let child = m.fork(0, &normal(0));
    assert_eq!(estcpu(&m, child), 100);
    m.enqueue(child, enq::NEW);
    assert_eq!(m.block(0), Some(child));
    m.ticks_at_once(0, 30);
    m.wake(parent);
    m.die(0);
    m.reap(child, parent);
    assert_eq!(estcpu(&m, parent), 230);
}

#[test]
fn a_parent_cannot_get_more_than_the_limit() {
    let mut m = Machine::new("bsd43", 1, &INHERITED);
    let parent = run_alone(&mut m, &normal(0));
    m.ticks_at_once(0, 200);
    crate::bsd::double_estcpu(&mut m);
    assert_eq!(estcpu(&m, parent), 255);
}

/// 4.4BSD copies p_priority and p_usrpri, which are the parent's until the child's fourth tick.
#[test]
fn a_child_of_4_4_has_its_parents_priority_until_it_is_recomputed() {
    for (name, at_first) in [("bsd43:4.3", 50), ("bsd43:4.4", 75)] {
        let mut m = Machine::new(name, 1, &[]);
        run_alone(&mut m, &normal(0));
        m.ticks_at_once(0, 100);
        let child = m.fork(0, &normal(0));
        assert_eq!(priorities(&m, child), (at_first, at_first), "{name}");
        m.enqueue(child, enq::NEW);
        assert_eq!(m.block(0), Some(child));
        m.ticks_at_once(0, 3);
        assert_eq!(priorities(&m, child), (at_first, at_first), "{name}");
        m.ticks_at_once(0, 1);
        assert_eq!(priorities(&m, child), (51, 51), "{name}");
    }
}

#[test]
fn a_reniced_child_begins_at_its_own_user_priority() {
    for name in VARIANTS {
        let mut m = Machine::new(name, 1, &[]);
        run_alone(&mut m, &normal(0));
        m.ticks_at_once(0, 100);
        let child = m.fork(0, &normal(3));
        assert_eq!(priorities(&m, child), (56, 56), "{name}");
    }
}
