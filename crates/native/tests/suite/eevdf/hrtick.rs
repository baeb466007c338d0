//! HRTICK, Linux 7.1: the CPU is interrupted when a request is served.

use crate::eevdf::{left, with_variant};
use crate::fair::MS;
use crate::script::{normal, Machine};

/// Rounding up takes it so many ns beyond the end.
const ROUNDING: u64 = 2;

fn machine() -> Machine {
    with_variant("eevdf:7.1", &[])
}

#[test]
fn a_request_is_served_to_the_moment() {
    let mut m = machine();
    let (a, b) = (m.start(&normal(0)), m.start(&normal(0)));
    assert_eq!(m.schedule(0), Some(a));
    // A new task's first request is half a slice of 3 ms; the tick is 10 ms away.
    assert_eq!(m.hrtick_in(0), Some(1_500_000 + ROUNDING));
    assert!(m.hrtick(0));
    assert_eq!(m.schedule(0), Some(b));
    assert_eq!(m.hrtick_in(0), Some(1_500_000 + ROUNDING));
    assert!(m.hrtick(0));
    assert_eq!(m.schedule(0), Some(a), "by now with a whole request");
    assert_eq!(m.hrtick_in(0), Some(3_000_000 + ROUNDING));
}

#[test]
fn a_heavy_task_has_the_same_slice_of_cpu_time() {
    let mut m = machine();
    let (heavy, _light) = (m.start(&normal(-10)), m.start(&normal(19)));
    assert_eq!(m.schedule(0), Some(heavy));
    // 1.5 ms * 1024 / 9548 of virtual time, and back: a virtual ns is 9.3 ns of its time.
    let due = m.hrtick_in(0).unwrap();
    assert!((1_500_000 - 10..1_500_000 + 20).contains(&due), "{due}");
    assert!(m.hrtick(0));
    assert!(left(&m, heavy) > 0, "the next request has begun");
}

#[test]
fn who_is_alone_is_left_alone_until_somebody_comes() {
    let mut m = machine();
    let (sleeper, hog) = (m.add(&normal(0)), m.start(&normal(0)));
    assert_eq!(m.schedule(0), Some(hog));
    assert_eq!(m.hrtick_in(0), None);
    // At 1 ms half a millisecond of its first request is left.
    m.after(MS);
    m.wake(sleeper);
    assert_eq!(m.hrtick_in(0), Some(500_000 + ROUNDING));
    // It goes again: the interrupt comes for nothing.
    m.unqueue(sleeper);
    assert!(!m.hrtick(0));
    assert_eq!(m.running(0), Some(hog));
}

#[test]
fn who_goes_on_is_interrupted_again() {
    // After a request of its own the task is put to the choice again and again, while no other is eligible.
    let mut m = machine();
    let (a, b) = (m.start(&normal(0)), m.start(&normal(0)));
    assert_eq!(m.schedule(0), Some(a));
    for _ in 0..20 {
        assert!(m.hrtick(0));
        let runs = m.schedule(0).unwrap();
        let due = m.hrtick_in(0).unwrap();
        assert!(
            [a, b].contains(&runs) && due <= 3_000_000 + ROUNDING,
            "{due}"
        );
    }
}

#[test]
fn not_sooner_than_in_ten_microseconds() {
    let mut m = machine();
    let (sleeper, hog) = (m.add(&normal(0)), m.start(&normal(0)));
    assert_eq!(m.schedule(0), Some(hog));
    m.after(1_499_000);
    m.wake(sleeper);
    assert_eq!(m.hrtick_in(0), Some(10_000));
}

#[test]
fn older_kernels_wait_for_the_tick() {
    for variant in ["eevdf:6.12", "eevdf:6.18", "eevdf:6.6"] {
        let mut m = with_variant(variant, &[]);
        m.start(&normal(0));
        m.start(&normal(0));
        m.schedule(0);
        assert_eq!(m.hrtick_in(0), None, "{variant}");
    }
}
