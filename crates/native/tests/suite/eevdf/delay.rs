//! Delayed dequeue: a task with negative lag stays in the queue when it falls asleep.

use schedlab_trace::TaskId;

use crate::eevdf::{machine, state};
use crate::fair::MS;
use crate::script::{normal, Machine};

/// a has run 1 ms and blocked; b runs.
fn a_sleeps_in_debt(m: &mut Machine) -> (TaskId, TaskId) {
    let (a, b) = (m.start(&normal(0)), m.start(&normal(0)));
    assert_eq!(m.schedule(0), Some(a));
    m.after(MS);
    assert_eq!(m.block(0), Some(b));
    (a, b)
}

#[test]
fn who_owes_stays_queued() {
    let mut m = machine(&[]);
    let (a, _) = a_sleeps_in_debt(&mut m);
    assert_eq!((state(&m, a).sched_delayed, state(&m, a).se.on_rq), (1, 1));
    assert!(!m.host.queued(a).unwrap(), "but is not there to be picked");
}

#[test]
fn who_wakes_before_it_has_paid_is_where_it_was() {
    let mut m = machine(&[]);
    let (a, b) = a_sleeps_in_debt(&mut m);
    m.after(MS / 2);
    m.wake(a);
    assert_eq!(
        (state(&m, a).sched_delayed, state(&m, a).se.vruntime),
        (0, 1_000_000)
    );
    assert_eq!(
        crate::eevdf::lags(&m, &[a, b]),
        [-250_000.0, 250_000.0],
        "half of it is paid"
    );
}

#[test]
fn who_has_paid_leaves_when_it_is_picked() {
    let mut m = machine(&[]);
    let (a, b) = a_sleeps_in_debt(&mut m);
    // b at 3, V = 2: a would be owed 1 ms, but nobody earns by sleeping.
    m.after(3 * MS);
    assert_eq!(m.schedule(0), Some(b));
    let state_of_a = state(&m, a);
    assert_eq!(
        (
            state_of_a.sched_delayed,
            state_of_a.se.on_rq,
            state_of_a.vlag
        ),
        (0, 0, 0)
    );
    m.after(MS);
    m.wake(a);
    assert_eq!(state(&m, a).se.vruntime, 4_000_000, "at V");
}

#[test]
fn who_wakes_with_more_than_it_paid_is_set_to_v() {
    let mut m = machine(&[]);
    let (a, b) = a_sleeps_in_debt(&mut m);
    m.after(3 * MS);
    m.wake(a);
    assert_eq!(crate::eevdf::lags(&m, &[a, b]), [0.0, 0.0]);
}

#[test]
fn the_dead_and_the_owed_leave_at_once() {
    let mut m = machine(&[]);
    let (a, b) = (m.start(&normal(0)), m.start(&normal(0)));
    m.schedule(0);
    m.after(MS);
    m.unqueue(b);
    assert_eq!(state(&m, b).sched_delayed, 0, "it is owed 0.5 ms");
    m.start(&normal(0));
    m.after(MS).die(0);
    assert_eq!((state(&m, a).sched_delayed, state(&m, a).se.on_rq), (0, 0));
}

/// As in a kernel, where a sleeping task may go to another scheduling class.
#[test]
fn who_goes_in_its_sleep_is_no_longer_queued() {
    let mut m = machine(&[]);
    let (a, b) = a_sleeps_in_debt(&mut m);
    m.leave(a);
    assert_eq!((state(&m, a).sched_delayed, state(&m, a).se.on_rq), (0, 0));
    m.after(MS);
    assert_eq!(m.schedule(0), Some(b));
}

#[test]
fn an_idle_cpu_holds_nobody_back() {
    let mut m = machine(&[]);
    let (a, _) = a_sleeps_in_debt(&mut m);
    assert_eq!(m.block(0), None);
    assert_eq!(state(&m, a).se.on_rq, 0);
}

#[test]
fn renice_ends_the_delay() {
    let mut m = machine(&[]);
    let (a, _) = a_sleeps_in_debt(&mut m);
    m.set_nice(a, 5);
    assert_eq!(
        (state(&m, a).sched_delayed, state(&m, a).se.weight),
        (0, 335)
    );
    // -0.5 ms at weight 1024 are -0.5 * 1024 / 335 at 335.
    assert!(
        (state(&m, a).vlag + 1_528_358).abs() < 2,
        "{}",
        state(&m, a).vlag
    );
}

#[test]
fn a_wakeup_finds_it_where_it_is_and_affinity_ends_the_delay() {
    // CPU 1 idles and would be the place to wake up, but a is still queued on CPU 0.
    let mut m = Machine::new("eevdf", 2, &[("hz", 100), ("tunable_scaling", 0)]);
    let (a, b) = (m.start(&normal(0)), m.start(&normal(0)));
    assert_eq!(m.schedule(0), Some(a));
    m.after(MS / 10);
    assert_eq!(m.block(0), Some(b));
    assert_eq!(state(&m, a).sched_delayed, 1);
    m.from(1).wake(a);
    assert_eq!(m.host.task(a).cpu, 0);
    // Asleep again and forbidden to be there, it goes.
    m.unqueue(a);
    let other = m.host.add_cpu_set(&[1]);
    m.set_cpus(a, other);
    assert_eq!((state(&m, a).sched_delayed, state(&m, a).se.on_rq), (0, 0));
    m.wake(a);
    assert_eq!(m.schedule(1), Some(a));
}
