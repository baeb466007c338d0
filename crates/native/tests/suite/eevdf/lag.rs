//! A task's lag survives sleep, migration and renice, and stays within bounds.

use schedlab_trace::TaskId;

use crate::eevdf::{lags, left, machine, state};
use crate::fair::MS;
use crate::script::{normal, Machine};

#[test]
fn sleeping_keeps_the_lag() {
    // a runs 1 ms: V = 0.5, a is 0.5 ahead.  b runs for 10 more.  a comes back at V + 1, which moves V to
    // 10.5: again 0.5 ahead.
    let mut m = machine(&[("delay_dequeue", 0)]);
    let (a, b) = (m.start(&normal(0)), m.start(&normal(0)));
    assert_eq!(m.schedule(0), Some(a));
    m.after(MS);
    assert_eq!(m.block(0), Some(b));
    assert_eq!(state(&m, a).vlag, -500_000);
    m.after(10 * MS);
    m.wake(a);
    assert_eq!(state(&m, a).se.vruntime, 11_000_000);
    assert_eq!(state(&m, b).se.vruntime, 10_000_000);
    assert_eq!(lags(&m, &[a, b]), [-500_000.0, 500_000.0]);
}

#[test]
fn without_place_lag_everybody_comes_back_at_v() {
    let mut m = machine(&[("delay_dequeue", 0), ("place_lag", 0)]);
    let (a, b) = (m.start(&normal(0)), m.start(&normal(0)));
    m.schedule(0);
    m.after(MS);
    m.block(0);
    m.after(10 * MS);
    m.wake(a);
    assert_eq!(lags(&m, &[a, b]), [0.0, 0.0]);
}

#[test]
fn nobody_takes_more_than_two_slices_or_a_tick_along() {
    // a runs for 100 ms on end: V = 50.  b leaves with 10 ms, a tick, instead of 50.
    let mut m = machine(&[]);
    let (a, b) = (m.start(&normal(0)), m.start(&normal(0)));
    assert_eq!(m.schedule(0), Some(a));
    m.after(100 * MS);
    m.unqueue(b);
    assert_eq!(state(&m, b).vlag, 10_000_000);
}

#[test]
fn renice_keeps_the_time_owed() {
    let mut m = machine(&[]);
    let (a, b) = (m.start(&normal(0)), m.start(&normal(0)));
    m.schedule(0);
    m.after(2 * MS);
    m.set_nice(b, 5);
    // b was owed 1 ms.
    let lag = lags(&m, &[a, b])[1];
    assert!((lag - 1_000_000.0).abs() < 10.0, "{lag}");
    // 1.5 ms of its request were left, 1.5 * 1024 / 335 = 4.585 at the new weight.
    assert!((left(&m, b) - 4_585_074).abs() < 4, "{}", left(&m, b));
}

/// What is left of its request when a task that has used 1 ms of 3 moves to another CPU.
fn left_after_move(policy: &str) -> i64 {
    let set = [
        ("hz", 100),
        ("base_slice_us", 3000),
        ("tunable_scaling", 0),
        ("active_balance", 0),
    ];
    let mut m = Machine::new(policy, 2, &set);
    let pinned = m.pinned(0, 0);
    let a = m.start(&pinned);
    let b = m.start(&pinned);
    assert_eq!(m.schedule(0), Some(a));
    m.after(2 * MS);
    m.schedule(0);
    assert_eq!(m.running(0), Some(b));
    m.after(MS);
    let other = m.host.add_cpu_set(&[1]);
    m.set_cpus(b, other);
    left(&m, b)
}

#[test]
fn a_request_moves_along_since_6_12() {
    assert_eq!(
        left_after_move("eevdf:6.12"),
        500_000,
        "1.5 at first, and 1 used"
    );
    assert_eq!(left_after_move("eevdf:6.6"), 3_000_000, "a new one");
}

/// Hogs of many weights for 20 s, looked at after every tick.
fn worst_lags(policy: &str) -> (f64, f64) {
    let set = [
        ("hz", 100),
        ("base_slice_us", 10_000),
        ("place_deadline_initial", 0),
    ];
    let mut m = Machine::new(policy, 1, &set);
    let start = |nice: &i8| m.start(&normal(*nice));
    let tasks: Vec<TaskId> = [-10, -5, 0, 0, 5, 10, 19].iter().map(start).collect();
    let (mut least, mut most) = (0.0_f64, 0.0_f64);
    m.schedule(0);
    for _ in 0..2000 {
        if m.ticks(0, 1) {
            m.schedule(0);
        }
        for lag in lags(&m, &tasks) {
            least = least.min(lag);
            most = most.max(lag);
        }
    }
    (least, most)
}

#[test]
fn lag_stays_within_a_slice() {
    // Stoica and Abdel-Wahab: -r < lag < max(r, q), with requests r and ticks q of 10 ms.
    for policy in ["eevdf:6.12", "eevdf:6.18", "eevdf:6.6"] {
        let (least, most) = worst_lags(policy);
        assert!(
            least >= -10e6 && most <= 10e6,
            "{policy}: {least} to {most}"
        );
        assert!(least < -3e6, "{policy}: it is put to the test: {least}");
    }
}
