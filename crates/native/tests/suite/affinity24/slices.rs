//! How a slice is spent: the tick, recalculation, sleep, real time.

use super::*;

#[test]
fn goodness_stays_for_the_whole_slice_and_drops_at_once() {
    // Patched: 6 + 20 until the sixth tick.
    let mut m = up("affinity24");
    let task = running(&mut m, 0);
    for used in 1..=5 {
        assert!(!m.ticks(0, 1));
        assert_eq!((slice(&m, task), m.priority(task)), ((6, used), 26));
    }
    assert!(m.ticks(0, 1));
    assert_eq!((slice(&m, task), m.priority(task)), ((0, 0), 0));
    // Stock: a tick less each time.
    let mut m = up("affinity24:stock");
    let task = running(&mut m, 0);
    for used in 1..=5 {
        assert!(!m.ticks(0, 1));
        assert_eq!(
            (slice(&m, task), m.priority(task)),
            ((6 - used, 0), 26 - used)
        );
    }
    assert!(m.ticks(0, 1));
    assert_eq!(m.priority(task), 0);
}

#[test]
fn slices_are_those_of_2_4() {
    for name in VARIANTS {
        for (nice, ticks) in [(-20, 11), (-10, 8), (0, 6), (5, 4), (10, 3), (19, 1)] {
            let mut m = up(name);
            running(&mut m, nice);
            assert!(ticks == 1 || !m.ticks(0, ticks - 1), "{name}, nice {nice}");
            assert!(m.ticks(0, 1), "{name}, nice {nice}");
        }
    }
}

#[test]
fn used_ticks_survive_sleep_and_recalculation() {
    // N = 6, u = 4 used, then an epoch ends.  Stock: 2 -> 2 / 2 + 6 = 7 ticks to run.  Patched:
    // 6 -> 6 / 2 + 6 = 9, of which 4 are used: 5 to run, u / 2 = 2 fewer.
    for (name, after, left) in [("affinity24", (9, 4), 5), ("affinity24:stock", (7, 0), 7)] {
        let mut m = up(name);
        let task = running(&mut m, 0);
        m.ticks(0, 4);
        m.block(0);
        epochs(&mut m, 1);
        assert_eq!(slice(&m, task), after, "{name}");
        m.wake(task);
        assert_eq!(m.schedule(0), Some(task));
        assert!(!m.ticks(0, left - 1), "{name}");
        assert!(m.ticks(0, 1), "{name}");
    }
}

#[test]
fn a_light_task_gathers_ticks_over_epochs_and_is_zeroed_once() {
    // A sleeper's counter: 6, 9, 10, 11, 11.  It runs one tick in each epoch; at the 11th tick
    // it has used its slice up, however long that took.
    let mut m = up("affinity24");
    let light = m.add(&normal(0));
    epochs(&mut m, 3);
    for used in 1..=10 {
        m.wake(light);
        assert_eq!(m.schedule(0), Some(light));
        assert!(!m.ticks(0, 1));
        m.block(0);
        epochs(&mut m, 1);
        assert_eq!(slice(&m, light), (11, used));
    }
    m.wake(light);
    m.schedule(0);
    assert!(m.ticks(0, 1));
    assert_eq!(slice(&m, light), (0, 0));
    // Stock: a tick of 11 used in each epoch, 10 / 2 + 6 = 11 again, for ever.
    let mut m = up("affinity24:stock");
    let light = m.add(&normal(0));
    epochs(&mut m, 3);
    for _ in 0..30 {
        m.wake(light);
        m.schedule(0);
        assert!(!m.ticks(0, 1));
        m.block(0);
        epochs(&mut m, 1);
        assert_eq!(slice(&m, light), (11, 0));
    }
}

#[test]
fn a_task_with_counter_0_expires_at_every_tick() {
    // SCHED_FIFO runs on though its slice is used up.
    let mut m = up("affinity24");
    let fifo = m.start(&real_time(Class::Fifo, 5));
    m.schedule(0);
    assert!(!m.ticks(0, 5));
    for _ in 0..3 {
        assert!(m.ticks(0, 1));
        assert_eq!(slice(&m, fifo), (0, 0));
        assert_eq!(m.schedule(0), Some(fifo));
    }
}

#[test]
fn round_robin_gets_a_whole_new_slice() {
    let mut m = up("affinity24:2.4.16");
    let a = m.start(&real_time(Class::Rr, 5));
    let b = m.start(&real_time(Class::Rr, 5));
    assert_eq!(m.schedule(0), Some(b));
    for (from, to) in [(b, a), (a, b), (b, a)] {
        assert!(!m.ticks(0, 5));
        assert!(m.ticks(0, 1));
        assert_eq!(m.schedule(0), Some(to));
        assert_eq!(slice(&m, from), (6, 0));
    }
    // 2.4.15-pre1 judges the previous task first, so there it wins the tie and runs on.
    let mut m = up("affinity24");
    m.start(&real_time(Class::Rr, 5));
    let b = m.start(&real_time(Class::Rr, 5));
    m.schedule(0);
    assert!(m.ticks(0, 6));
    assert_eq!(m.schedule(0), Some(b));
    assert_eq!(slice(&m, b), (6, 0));
}

#[test]
fn a_new_nice_value_changes_neither_counter_nor_ticks() {
    let mut m = up("affinity24");
    let task = running(&mut m, 0);
    m.ticks(0, 3);
    m.set_nice(task, 19);
    assert_eq!(slice(&m, task), (6, 3));
    assert!(!m.ticks(0, 2));
    assert!(m.ticks(0, 1));
}
