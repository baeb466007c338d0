//! Which task preempts which, and compute mode's delay.

use crate::script::{normal, real_time, Machine};
use crate::staircase::{state, up, up12, MS};
use schedlab_policy::{Class, NewTask};
use schedlab_trace::TaskId;

/// A hog that has run for this many ticks.
fn hog(m: &mut Machine, nice: i8, ticks: u32) -> TaskId {
    let hog = m.start(&normal(nice));
    m.schedule(0);
    for _ in 0..ticks {
        m.ticks(0, 1);
        m.schedule(0);
    }
    hog
}

#[test]
fn better_steps_preempt_worse_ones() {
    let mut m = up(&[]);
    hog(&mut m, 0, 3); // 123
    let better = m.add(&normal(2));
    let worse = m.add(&normal(4));
    m.after(20 * MS);
    assert_eq!(m.wake(worse), []); // 124
    assert_eq!(m.wake(better), [0]); // 122
}

#[test]
fn an_equal_with_a_full_slice_reschedules_in_10_5_only() {
    for (equal_preempts, asked) in [(1, vec![0]), (0, vec![])] {
        let mut m = up(&[("equal_preempts", equal_preempts)]);
        let hog = hog(&mut m, 0, 3);
        let equal = m.add(&normal(3));
        m.after(20 * MS);
        assert_eq!(m.wake(equal), asked);
        // It comes to nothing: the running task is still at the front of their list.
        assert_eq!(m.schedule(0), Some(hog));
    }
    let mut m = up12(&[]);
    hog(&mut m, 0, 3);
    let equal = m.add(&normal(3));
    m.after(20 * MS);
    assert_eq!(m.wake(equal), []);
}

#[test]
fn an_equal_with_more_left_of_its_step_reschedules_in_7f() {
    for (ticks, asked) in [(0, vec![]), (1, vec![0])] {
        let mut m = up(&[("equal_preempts", 2), ("rr_interval_ms", 20)]);
        m.start(&normal(3));
        m.schedule(0);
        m.ticks(0, ticks); // Of two jiffies on its step it has run so many.
        let equal = m.add(&normal(3));
        m.after(50 * MS);
        assert_eq!(m.wake(equal), asked, "{ticks}");
    }
}

#[test]
fn an_equal_with_part_of_a_slice_preempts_nobody() {
    let mut m = up(&[]);
    let short = m.start(&normal(0));
    m.schedule(0);
    for _ in 0..4 {
        m.after(3 * MS).block(0);
        m.after(2 * MS).wake(short); // 12 ms in all: 19 jiffies left, 121
        m.schedule(0);
    }
    m.block(0);
    hog(&mut m, 0, 1); // 121
    m.wake(short);
    assert_eq!(
        (m.priority(short), state(&m, short).slice),
        (120, 20),
        "slept 10 ms"
    );
    // Not so when the slice continues.
    let mut m = up(&[]);
    let short = m.start(&normal(0));
    m.schedule(0);
    for _ in 0..3 {
        m.after(4 * MS).block(0);
        m.after(MS).wake(short);
        m.schedule(0);
    }
    m.block(0); // 12 ms in all when it wakes up
    let other = m.start(&normal(1)); // 121
    m.schedule(0);
    m.after(MS);
    assert_eq!(m.wake(short), []);
    assert_eq!((m.priority(short), state(&m, short).slice), (121, 19));
    assert_eq!(m.running(0), Some(other));
}

#[test]
fn no_equal_preempts_a_real_time_task() {
    let mut m = up(&[]);
    m.start(&real_time(Class::Rr, 5));
    m.schedule(0);
    let equal = m.add(&real_time(Class::Fifo, 5));
    assert_eq!(m.wake(equal), []);
    let better = m.add(&real_time(Class::Fifo, 6));
    assert_eq!(m.wake(better), [0]);
}

#[test]
fn compute_mode_puts_preemption_off_for_cache_delay() {
    let mut m = up(&[("compute", 1), ("cache_delay_ms", 30)]);
    let hog = hog(&mut m, 0, 0);
    let user = m.add(&normal(-5));
    m.after(20 * MS);
    assert_eq!(m.wake(user), []);
    assert!(!m.ticks(0, 2)); // 20 ms since the hog was switched to
    assert_eq!(m.running(0), Some(hog));
    assert!(m.ticks(0, 1)); // 30
    assert_eq!(m.schedule(0), Some(user));
    // The user has just been switched to: all begins anew.
    let other = m.add(&normal(-10));
    m.after(20 * MS);
    assert_eq!(m.wake(other), []);
}

#[test]
fn compute_mode_delays_neither_real_time_nor_the_kernel_nor_an_idle_cpu() {
    let mut m = up(&[("compute", 1)]);
    let first = m.add(&normal(0));
    assert_eq!(m.wake(first), [0], "the CPU idles");
    m.schedule(0);
    let kthread = m.add(&NewTask {
        mm: 0,
        ..normal(-5)
    });
    assert_eq!(m.wake(kthread), [0]);
    m.schedule(0);
    let rt = m.add(&real_time(Class::Rr, 1));
    assert_eq!(m.wake(rt), [0]);
}

#[test]
fn a_sync_wakeup_preempts_nobody_here() {
    let mut m = up(&[]);
    hog(&mut m, 0, 3);
    let better = m.add(&normal(-5));
    m.after(20 * MS);
    assert_eq!(m.wake_sync(better), []);
}

#[test]
fn idle_cpus_pull_from_busy_ones() {
    let mut m = Machine::new("staircase:10.5", 2, &[]);
    let a = m.start(&normal(0));
    let b = m.start(&normal(0));
    let c = m.start(&normal(5));
    assert_eq!(m.schedule(0), Some(a));
    m.ticks(0, 10); // so that the load is seen in its average
                    // Best priority first: b, not c.
    assert_eq!(m.schedule(1), Some(b));
    assert_eq!(m.host.task(c).cpu, 0);
}
