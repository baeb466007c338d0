//! The real-time class above the fair one.

use schedlab_policy::Class;

use crate::cfs::even;
use crate::fair::{vruntime, MS};
use crate::script::{normal, real_time};

#[test]
fn real_time_runs_before_fair_and_by_priority() {
    let mut m = even(&[]);
    let hog = m.start(&normal(-20));
    m.schedule(0);
    let low = m.add(&real_time(Class::Fifo, 1));
    let high = m.add(&real_time(Class::Rr, 99));
    assert_eq!(m.wake(low), [0]);
    assert_eq!(m.schedule(0), Some(low));
    assert!(!m.ticks(0, 100), "no slice, no throttling");
    assert_eq!(m.wake(high), [0]);
    assert_eq!(m.schedule(0), Some(high));
    assert_eq!(m.block(0), Some(low));
    assert_eq!(m.block(0), Some(hog));
}

#[test]
fn round_robin_has_100_ms() {
    let mut m = even(&[]);
    let a = m.start(&real_time(Class::Rr, 5));
    let b = m.start(&real_time(Class::Rr, 5));
    assert_eq!(m.schedule(0), Some(a));
    assert!(!m.ticks(0, 9));
    assert!(m.ticks(0, 1), "10 ticks of 10 ms");
    assert_eq!(m.schedule(0), Some(b));
    assert_eq!(m.yields(0), Some(a));
}

#[test]
fn an_excursion_to_real_time_costs_nothing_fair() {
    let mut m = even(&[]);
    let (a, b) = (m.start(&normal(0)), m.start(&normal(0)));
    m.schedule(0);
    m.after(2 * MS);
    m.set_class(a, Class::Fifo, 1);
    m.schedule(0);
    m.after(500 * MS);
    assert_eq!(m.set_class(a, Class::Normal, 0), [0], "worse now");
    assert_eq!(m.schedule(0), Some(b));
    assert_eq!(vruntime(&m, a), 2_000_000, "what it ran as a fair task");
}

#[test]
fn priorities_are_the_kernels() {
    let mut m = even(&[]);
    let tasks = [
        m.start(&normal(-20)),
        m.start(&normal(19)),
        m.start(&real_time(Class::Fifo, 99)),
    ];
    let shown = tasks.map(|t| m.priority(t));
    assert_eq!(shown, [100, 139, 0]);
}
