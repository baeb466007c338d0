//! Interrupt threads, real time, idle: claim C43.

use super::*;
use schedlab_policy::{deq, Class};

fn interrupt_thread(priority: u8) -> NewTask {
    NewTask {
        mm: 0,
        ..real_time(Class::Fifo, priority)
    }
}

#[test]
fn real_time_priorities_are_mapped_onto_128_to_159() {
    let mut m = up(&[]);
    // 128 + (99 - p) * 32 / 99
    for (priority, pri) in [(99, 128), (96, 128), (95, 129), (50, 143), (1, 159)] {
        let task = m.add(&real_time(Class::Fifo, priority));
        assert_eq!(m.priority(task), pri, "rt_priority {priority}");
    }
}

#[test]
fn real_time_runs_until_it_blocks_or_a_better_one_comes() {
    let mut m = up(&[]);
    m.start(&normal(-20));
    let low = m.start(&real_time(Class::Fifo, 10));
    assert_eq!(m.schedule(0), Some(low));
    assert!(!m.ticks(0, 1000), "no slice");
    let peer = m.start(&real_time(Class::Fifo, 10));
    assert_eq!(m.asked(), [], "an equal does not preempt");
    let high = m.start(&real_time(Class::Fifo, 90));
    assert_eq!(m.asked(), [0]);
    assert_eq!(m.schedule(0), Some(high));
    assert_eq!(
        m.block(0),
        Some(peer),
        "the preempted one goes behind its equals"
    );
    assert_eq!(m.block(0), Some(low));
}

#[test]
fn rr_does_not_take_turns() {
    let mut m = up(&[]);
    m.start(&real_time(Class::Rr, 10));
    m.start(&real_time(Class::Rr, 10));
    m.schedule(0);
    assert!(!m.ticks(0, 1000));
}

#[test]
fn idle_threads_run_only_when_nobody_else_does() {
    let mut m = up(&[]);
    let idler = m.start(&NewTask {
        class: Class::Idle,
        ..normal(0)
    });
    assert_eq!(idle(&m, 0), [idler]);
    assert_eq!(m.schedule(0), Some(idler));
    assert_eq!(m.priority(idler), 224);
    assert_eq!(
        kseq(&m, 0).idled,
        1,
        "a CPU with idle threads only takes others' work"
    );
    assert!(!m.ticks(0, 1000), "no slice");
    let hog = m.start(&normal(19));
    assert_eq!(m.asked(), [0]);
    assert_eq!(m.schedule(0), Some(hog));
    for _ in 0..10 {
        m.ticks(0, 14);
        assert_eq!(m.schedule(0), Some(hog));
    }
    assert_eq!(m.block(0), Some(idler));
}

#[test]
fn a_woken_idle_thread_gives_way_as_soon_as_it_leaves_the_kernel() {
    // The paper; literal R3 lets it run on, and no tick ends that.
    for (rule, asked) in [(1, true), (2, true), (0, false)] {
        let mut m = up(&[("userret_resched", rule)]);
        let idler = run_on(
            &mut m,
            0,
            &NewTask {
                class: Class::Idle,
                ..normal(0)
            },
        );
        m.block(0);
        let hog = hog_on(&mut m, 0, 0);
        assert_eq!(m.wake(idler), [0], "at 92");
        assert_eq!(m.schedule(0), Some(idler));
        assert_eq!(!m.asked().is_empty(), asked, "rule {rule}");
        if asked {
            assert_eq!(m.schedule(0), Some(hog));
            assert_eq!(idle(&m, 0), [idler]);
        }
    }
}

#[test]
fn in_r2_a_woken_hog_gives_way_to_better_threads_too() {
    for (rule, asked) in [(1, vec![]), (2, vec![0])] {
        let mut m = up(&[("userret_resched", rule)]);
        let hog = hog_on(&mut m, 0, 0);
        m.block(0);
        let task = run_on(&mut m, 0, &normal(0));
        let waiting = m.start(&normal(0)); // 160, current
        m.after(10_000_000).wake(hog);
        assert_eq!(m.schedule(0), Some(hog));
        assert_eq!(m.asked(), asked, "rule {rule}");
        assert_eq!(current(&m, 0), [waiting, task]);
    }
}

#[test]
fn a_change_of_class_takes_effect_at_once() {
    let mut m = up(&[]);
    let hog = hog_on(&mut m, 0, 0);
    let other = m.start(&normal(5));
    m.set_class(other, Class::Fifo, 1);
    assert_eq!(kseq(&m, 0).loads, [0, 1, 1, 0]);
    assert_eq!(kseq(&m, 0).nicemin, 0);
    assert_eq!(m.schedule(0), Some(other));
    assert_eq!(
        m.set_class(other, Class::Idle, 0),
        [0],
        "it runs, and reschedules"
    );
    assert_eq!(m.schedule(0), Some(hog));
    assert_eq!(idle(&m, 0), [other]);
    m.set_class(other, Class::Normal, 0);
    assert_eq!(kseq(&m, 0).loads, [0, 0, 2, 0]);
    assert_eq!(m.priority(other), 165, "its history is a blank");
}

#[test]
fn interrupt_threads_come_first_and_stay_where_they_are_woken() {
    let mut m = smp(2, &[]);
    run_on(&mut m, 0, &real_time(Class::Fifo, 99));
    let interrupt = m.add(&interrupt_thread(50));
    // (99 - 50) * 64 / 99 = 31
    assert_eq!(m.priority(interrupt), 31);
    assert_eq!(m.wake(interrupt), [0], "not handed to idle CPU 1");
    assert_eq!(m.schedule(0), Some(interrupt));
    // What it displaced waits: without the interrupt thread CPU 0 has one thread, which is no more
    // than it can run.
    assert_eq!(m.schedule(1), None);
}

#[test]
fn who_waits_for_a_disk_returns_with_a_better_priority() {
    let mut m = up(&[]);
    let task = run_on(&mut m, 0, &normal(0));
    m.host
        .dequeue(task, deq::SLEEP | deq::UNINTERRUPTIBLE)
        .unwrap();
    assert_eq!(thread(&m, task).pri, 80, "PRIBIO");
}
