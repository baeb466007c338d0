//! The place of a task that yielded.

use super::*;

#[test]
fn a_lone_yield_runs_again_without_recalculation() {
    for smp in [0, 1] {
        let mut m = Machine::new("elsc", 1, &[("smp", smp)]);
        let task = m.start(&normal(0));
        m.schedule(0);
        m.work();
        assert_eq!(m.yields(0), Some(task));
        let work = m.work();
        assert_eq!((work.examined, work.recalculations), (1, 0));
    }
    // Stock, and the switch that does as stock: 20 ticks become 10 + 20.
    for (name, set) in [
        ("linux24:2.3.99", vec![("smp", 1)]),
        ("elsc", vec![("smp", 1), ("yield_recalculates", 1)]),
    ] {
        let mut m = Machine::new(name, 1, &set);
        let task = m.start(&normal(0));
        m.schedule(0);
        m.work();
        assert_eq!(m.yields(0), Some(task));
        assert_eq!(m.work().recalculations, 1, "{name}");
        assert_eq!(m.priority(task), 30 + 20, "{name}");
    }
}

#[test]
fn an_exhausted_lone_yield_recalculates() {
    let mut m = Machine::new("elsc", 1, &[]);
    let task = m.start(&normal(0));
    m.schedule(0);
    m.ticks(0, 20);
    assert_eq!(m.yields(0), Some(task));
    assert_eq!(m.work().recalculations, 1);
}

#[test]
fn a_yield_gives_way_within_its_list() {
    let mut m = Machine::new("elsc", 1, &[("mm_shortcut", 0)]);
    let other = with_counter(&mut m, 20, 20);
    let task = with_counter(&mut m, 20, 23); // 43: better, same list
    m.wake(other);
    m.wake(task);
    assert_eq!(m.schedule(0), Some(task));
    assert_eq!(m.yields(0), Some(other));
    // The yield is forgotten: 43 against 40 + 1.
    assert_eq!(m.schedule(0), Some(task));
}

#[test]
fn but_not_to_a_lower_list() {
    for (searches_lower, gives_way) in [(0, false), (1, true)] {
        let mut m = Machine::new("elsc", 1, &[("yield_searches_lower", searches_lower)]);
        let lower = m.start(&normal(10));
        let task = m.start(&normal(0));
        assert_eq!(m.schedule(0), Some(task));
        let next = if gives_way { lower } else { task };
        assert_eq!(m.yields(0), Some(next));
    }
}

/// The order in which three tasks run that only yield.
fn yield_order(set: &[(&str, i64)]) -> Vec<u32> {
    let mut m = Machine::new("elsc", 1, set);
    for _ in 0..3 {
        m.start(&normal(0));
    }
    m.schedule(0); // task 2, the front
    (0..4).map(|_| m.yields(0).unwrap().0).collect()
}

#[test]
fn the_last_two_to_yield_take_turns() {
    // [2 1 0]: 2 is passed over, 1 runs; [1 2 0]: 1 is passed over, 2 runs; and so on.
    assert_eq!(yield_order(&[]), [1, 2, 1, 2]);
    assert_eq!(yield_order(&[("yield_moves_last", 1)]), [1, 0, 2, 1]);
}

#[test]
fn moving_last_stays_before_the_exhausted_tasks() {
    let mut m = Machine::new("elsc", 1, &[("yield_moves_last", 1)]);
    let [a, b, c] = [0; 3].map(|nice| m.start(&normal(nice)));
    m.schedule(0);
    m.ticks(0, 20);
    assert_eq!(m.schedule(0), Some(b)); // c is exhausted
    assert_eq!(m.yields(0), Some(a));
    assert_eq!(lists(&m), [(10, vec![b, c])]);
}
