//! Real-time tasks, SCHED_IDLE, and which CPU is asked to reschedule.

use crate::lottery::{up, MS};
use crate::script::{normal, on_cpu, real_time, Machine};
use schedlab_policy::{Class, NewTask};

#[test]
fn real_time_tasks_have_fixed_priorities_above_the_pool() {
    let mut m = up(&[]);
    let client = m.start(&normal(-20));
    let low = m.start(&real_time(Class::Fifo, 1));
    let high = m.start(&real_time(Class::Rr, 99));
    assert_eq!(m.schedule(0), Some(high));
    assert_eq!(m.block(0), Some(low));
    assert_eq!(m.block(0), Some(client));
    assert_eq!(m.wake(low), [0]);
    assert_eq!(m.schedule(0), Some(low));
    assert_eq!(m.wake(high), [0]);
}

#[test]
fn fifo_tasks_have_no_quantum_and_round_robin_tasks_take_turns() {
    let mut m = up(&[]);
    let a = m.start(&real_time(Class::Fifo, 5));
    let b = m.start(&real_time(Class::Rr, 5));
    assert_eq!(m.schedule(0), Some(a));
    assert!(!m.ticks(0, 100));
    assert_eq!(m.schedule(0), Some(a), "still the first of its list");
    assert_eq!(m.yields(0), Some(b));
    assert!(!m.ticks(0, 9));
    assert_eq!(m.schedule(0), Some(b), "its quantum is not over");
    assert!(m.ticks(0, 10));
    assert_eq!(m.schedule(0), Some(a));
}

#[test]
fn idle_tasks_hold_few_tickets_and_other_classes_are_normal() {
    let mut m = up(&[]);
    for (class, tickets) in [
        (Class::Idle, 3),
        (Class::Batch, 1000),
        (Class::Iso, 1000),
        (Class::Normal, 1000),
    ] {
        let task = m.add(&NewTask { class, ..normal(0) });
        assert_eq!(m.priority(task), tickets);
    }
}

#[test]
fn a_task_changes_between_pool_and_fixed_priorities() {
    let mut m = up(&[]);
    let a = m.start(&normal(0));
    let b = m.start(&normal(0));
    let first = m.schedule(0).unwrap();
    let waits = if first == a { b } else { a };
    assert_eq!(m.set_class(waits, Class::Fifo, 3), [0]);
    assert_eq!(m.schedule(0), Some(waits));
    m.set_class(waits, Class::Normal, 0);
    m.set_class(first, Class::Rr, 1);
    assert_eq!(m.schedule(0), Some(first));
}

#[test]
fn a_wakeup_waits_for_the_next_drawing_unless_a_cpu_idles() {
    let mut m = Machine::new("lottery", 2, &[]);
    m.start(&on_cpu(0, 0));
    m.schedule(0);
    let a = m.add(&on_cpu(0, -20));
    assert_eq!(m.wake(a), [1], "CPU 1 idles");
    m.schedule(1);
    let b = m.add(&on_cpu(0, -20));
    assert_eq!(m.wake(b), []);
    let mut m = Machine::new("lottery", 1, &[("wakeup_lottery", 1)]);
    m.start(&normal(0));
    m.schedule(0);
    let b = m.add(&normal(19));
    assert_eq!(m.wake(b), [0]);
}

#[test]
fn a_real_time_task_preempts_where_it_matters_least() {
    let mut m = Machine::new("lottery", 3, &[]);
    for (cpu, new) in [
        (0, real_time(Class::Fifo, 10)),
        (1, on_cpu(1, 0)),
        (2, real_time(Class::Fifo, 5)),
    ] {
        let pinned = m.host.add_cpu_set(&[cpu]);
        let task = m.start(&NewTask {
            cpu_set: pinned,
            ..new
        });
        assert_eq!(m.schedule(cpu), Some(task));
    }
    let first = m.add(&real_time(Class::Rr, 20));
    assert_eq!(m.wake(first), [1], "a client of the pool");
    // CPU 1 has been asked already.
    let second = m.add(&real_time(Class::Rr, 20));
    assert_eq!(m.wake(second), [2]);
    let third = m.add(&real_time(Class::Rr, 10));
    assert_eq!(m.wake(third), [], "no better than CPU 0's");
}

#[test]
fn whoever_is_preempted_finds_another_cpu() {
    let mut m = Machine::new("lottery", 2, &[]);
    let a = m.start(&on_cpu(0, 0));
    assert_eq!(m.schedule(0), Some(a));
    // CPU 1 idles, but this one may use CPU 0 only.
    let pinned = m.host.add_cpu_set(&[0]);
    let rt = m.add(&NewTask {
        cpu_set: pinned,
        ..real_time(Class::Fifo, 1)
    });
    assert_eq!(m.wake(rt), [0]);
    assert_eq!(m.schedule(0), Some(rt));
    assert_eq!(m.asked(), [1]);
    assert_eq!(m.schedule(1), Some(a));
}

#[test]
fn a_widened_affinity_wakes_an_idle_cpu() {
    let mut m = Machine::new("lottery", 2, &[]);
    let first = m.pinned(0, 0);
    m.start(&first);
    m.schedule(0);
    let second = m.pinned(0, 0);
    let second = m.start(&second);
    m.after(MS);
    m.set_cpus(second, 0);
    assert_eq!(m.asked(), [1]);
    assert_eq!(m.schedule(1), Some(second));
}
