//! sched_yield() in each version.

use super::*;

#[test]
fn a_lone_yield_in_2_3_99_recalculates_on_smp_kernels() {
    // The yielding task counts as 0 and, marked has_cpu, is not examined again: no other task is
    // better than 0.  20 ticks left become 10 + 20.
    let mut m = Machine::new("linux24:2.3.99", 1, &[("smp", 1)]);
    let task = run_on(&mut m, 0, &normal(0));
    m.work();
    assert_eq!(m.yields(0), Some(task));
    assert_eq!(m.work().recalculations, 1);
    assert_eq!(counter(&mut m, task), 30);
}

#[test]
fn a_lone_yield_in_2_3_99_is_harmless_on_up_kernels() {
    // Without SMP there is no has_cpu: the walk looks at the task again, its yield bit cleared.
    let mut m = Machine::new("linux24:2.3.99", 1, &[("smp", 0)]);
    let task = run_on(&mut m, 0, &normal(0));
    m.work();
    assert_eq!(m.yields(0), Some(task));
    assert_eq!(m.work().recalculations, 0);
}

#[test]
fn a_lone_yield_in_2_4_does_nothing() {
    for name in ["linux24:2.4.16", "linux24:2.4.0"] {
        let mut m = Machine::new(name, 1, &[]);
        run_on(&mut m, 0, &normal(0));
        m.add(&normal(0)); // sleeps
        assert_eq!(m.yields(0), None, "{name}");
    }
    // As many runnable tasks as busy CPUs: no task is pending.
    let mut m = Machine::new("linux24", 2, &[]);
    run_on(&mut m, 0, &normal(0));
    run_on(&mut m, 1, &normal(0));
    assert_eq!(m.yields(0), None);
    m.start(&normal(0));
    assert!(m.yields(0).is_some());
}

#[test]
fn a_yield_gives_way_to_far_worse_tasks() {
    // 1 + 1 against 0 (2.3.99, SMP) or -1 (2.4).
    for (name, smp) in [
        ("linux24:2.4.16", 0),
        ("linux24:2.4.0", 0),
        ("linux24:2.3.99", 1),
    ] {
        let mut m = Machine::new(name, 1, &[("smp", smp)]);
        let task = run_on(&mut m, 0, &normal(-20));
        let worse = m.start(&normal(19));
        assert_eq!(m.yields(0), Some(worse), "{name}");
        // The yield is forgotten once the task has been switched away.
        assert_eq!(m.schedule(0), Some(task), "{name}");
    }
}

#[test]
fn a_yield_to_exhausted_tasks_recalculates() {
    for name in ["linux24:2.4.16", "linux24:2.4.0"] {
        let mut m = Machine::new(name, 1, &[]);
        let exhausted = run_on(&mut m, 0, &normal(19));
        m.ticks(0, 1);
        let task = m.start(&normal(0));
        assert_eq!(m.schedule(0), Some(task));
        m.work();
        // task: -1, exhausted: 0.  The best is 0, so slices are renewed; -1 is still less.
        assert_eq!(m.yields(0), Some(exhausted), "{name}");
        assert_eq!(m.work().recalculations, 1, "{name}");
    }
}

#[test]
fn a_yield_without_effect_is_forgotten() {
    let mut m = Machine::new("linux24", 2, &[]);
    let task = run_on(&mut m, 0, &normal(0));
    run_on(&mut m, 1, &normal(0));
    let elsewhere = m.pinned(1, 0);
    m.start(&elsewhere); // somebody waits, but not for this CPU
    assert_eq!(m.yields(0), Some(task));
    m.start(&normal(19));
    assert_eq!(m.schedule(0), Some(task));
}

/// The order in which the tasks of one address space run that only yield.
fn yield_order(name: &str) -> Vec<u32> {
    let mut m = Machine::new(name, 1, &[]);
    for _ in 0..3 {
        m.start(&with_mm(7, 0));
    }
    m.schedule(0); // task 2, the front
    (0..4).map(|_| m.yields(0).unwrap().0).collect()
}

#[test]
fn yields_rotate_where_they_move_to_the_tail() {
    // 2.4.16: [2 1 0] -> 2 moves back, 1 runs -> 0 -> 2 -> 1.
    assert_eq!(yield_order("linux24:2.4.16"), [1, 0, 2, 1]);
    // 2.4.0 moves nothing: the first two of the list take turns.
    assert_eq!(yield_order("linux24:2.4.0"), [1, 2, 1, 2]);
}

#[test]
fn a_real_time_yield_only_moves_to_the_tail() {
    for (name, gives_way) in VARIANTS.into_iter().zip([true, false, false]) {
        let mut m = Machine::new(name, 1, &[]);
        let first = run_on(&mut m, 0, &real_time(Class::Fifo, 5));
        let second = m.start(&real_time(Class::Fifo, 5));
        // Both have goodness 1005; before 2.4.16 the previous task wins the tie.
        let next = if gives_way { second } else { first };
        assert_eq!(m.yields(0), Some(next), "{name}");
    }
}
