//! Disks, mutexes, conditions, semaphores and barriers: sleeping, waking, and their times.

use crate::common::lab::{disk, mark, run, sleep, us, Lab};
use schedlab_sim::EndReason::{Deadlock, Finished};
use schedlab_trace::{EventKind, PrevState, WakeContext};
use schedlab_workload::{Op, Waking};

const WAIT: Op = Op::CondWait {
    condition: 0,
    mutex: Some(0),
};
const BARE_WAIT: Op = Op::CondWait {
    condition: 0,
    mutex: None,
};

#[test]
fn a_disk_serves_one_request_at_a_time_in_order() {
    // Three CPUs ask at 1, 2 and 3 ms for 10 ms each: done at 11, 21 and 31 ms.
    let ran = Lab::new(3)
        .task(vec![run(1000), disk(10_000)])
        .task(vec![run(2000), disk(10_000)])
        .task(vec![run(3000), disk(10_000)])
        .with(|w| w.nr_disks = 1)
        .run();
    assert_eq!(ran.exits(), [(11_000, 0), (21_000, 1), (31_000, 2)]);
    let states = ran.pick(|e| match e.kind {
        EventKind::Switch {
            prev: Some(_),
            prev_state,
            ..
        } => Some(prev_state),
        _ => None,
    });
    let (d, exited) = (PrevState::DiskSleep, PrevState::Exited);
    assert_eq!(states, [d, d, d, exited, exited, exited]);
    let irq = |e: &schedlab_trace::Event| match e.kind {
        EventKind::Waking { by, .. } => Some(by),
        _ => None,
    };
    assert_eq!(ran.pick(irq), [WakeContext::Irq; 3]);
}

#[test]
fn two_disks_work_at_the_same_time() {
    let second = Op::Disk {
        disk: 1,
        service: us(10_000),
    };
    let ran = Lab::new(1)
        .task(vec![disk(10_000)])
        .task(vec![second])
        .with(|w| w.nr_disks = 2)
        .run();
    assert_eq!(ran.exits(), [(10_000, 0), (10_000, 1)]);
}

#[test]
fn a_request_that_takes_no_time_is_done_at_once() {
    Lab::new(1)
        .task(vec![run(5), disk(0), run(5)])
        .with(|w| w.nr_disks = 1)
        .run()
        .ends(10, Finished);
}

#[test]
fn a_mutex_goes_to_the_longest_waiter() {
    // CPU 0 holds it from 0 to 10 ms; CPU 1 asks at 1 ms, CPU 2 at 2 ms; each keeps it 5 ms.
    // The first asks again at once, but the mutex has been given to the others: it gets it last, at
    // 20 ms.
    let hold = |before: u64| vec![run(before), Op::Lock(0), run(5000), Op::Unlock(0)];
    let greedy = vec![
        Op::Lock(0),
        run(10_000),
        Op::Unlock(0),
        Op::Lock(0),
        run(1000),
        Op::Unlock(0),
    ];
    let ran = Lab::new(3)
        .task(greedy)
        .task(hold(1000))
        .task(hold(2000))
        .with(|w| w.nr_mutexes = 1)
        .run();
    assert_eq!(ran.exits(), [(15_000, 1), (20_000, 2), (21_000, 0)]);
    assert_eq!([0, 1, 2].map(|t| ran.wakings(t)), [1, 1, 1]);
}

#[test]
fn a_mutex_taken_twice_by_its_owner_is_an_error() {
    let lab = Lab::new(1)
        .task(vec![run(3), Op::Lock(0), Op::Lock(0)])
        .with(|w| w.nr_mutexes = 1);
    let error = lab.try_run().err().unwrap().to_string();
    let expected = "at 0.000003000: task 0 (t0): locks a mutex that it already holds";
    assert!(error.starts_with(expected), "{error}");
}

#[test]
fn releasing_a_mutex_of_somebody_else_is_an_error() {
    let lab = Lab::new(2)
        .task(vec![Op::Lock(0), run(10)])
        .task(vec![run(5), Op::Unlock(0)])
        .with(|w| w.nr_mutexes = 1);
    let error = lab.try_run().err().unwrap().to_string();
    assert!(error.contains("task 1 (t1): releases a mutex"), "{error}");
}

#[test]
fn waiting_on_a_condition_lets_the_mutex_go_and_gets_it_back() {
    // The waiter gives up the mutex at 0.  The signaller holds it from 1 to 6 ms and signals at
    // 2 ms: the waiter moves over to the mutex and has it, and runs, at 6 ms and not before.
    let ran = Lab::new(2)
        .task(vec![Op::Lock(0), WAIT, mark(0), run(1000), Op::Unlock(0)])
        .task(vec![
            run(1000),
            Op::Lock(0),
            run(1000),
            Op::CondSignal(0),
            run(4000),
            Op::Unlock(0),
        ])
        .with(|w| (w.nr_mutexes, w.nr_conditions) = (1, 1))
        .run();
    assert_eq!(ran.marks(), [(6000, 0, 0)]);
    assert_eq!(ran.exits(), [(6000, 1), (7000, 0)]);
    assert_eq!(ran.wakings(0), 1);
}

#[test]
fn a_broadcast_lets_waiters_through_one_after_another() {
    // Three waiters; at 10 ms all are woken, and each holds the mutex for 1 ms: 11, 12, 13 ms.
    let waiter = vec![Op::Lock(0), WAIT, run(1000), Op::Unlock(0)];
    let ran = Lab::new(4)
        .tasks(3, waiter)
        .task(vec![run(10_000), Op::CondBroadcast(0)])
        .with(|w| (w.nr_mutexes, w.nr_conditions) = (1, 1))
        .run();
    assert_eq!(
        ran.exits(),
        [(10_000, 3), (11_000, 0), (12_000, 1), (13_000, 2)]
    );
    assert_eq!([0, 1, 2].map(|t| ran.wakings(t)), [1, 1, 1]);
}

#[test]
fn a_signal_wakes_the_longest_waiter_and_is_lost_when_nobody_waits() {
    // Signals at 1 ms (nobody waits), 5 ms (for task 1, which waits since 2) and 6 ms (for task 2).
    let ran = Lab::new(3)
        .task(vec![
            run(1000),
            Op::CondSignal(0),
            run(4000),
            Op::CondSignal(0),
            run(1000),
            Op::CondSignal(0),
        ])
        .task(vec![run(2000), BARE_WAIT])
        .task(vec![run(3000), BARE_WAIT])
        .with(|w| w.nr_conditions = 1)
        .run();
    assert_eq!(ran.exits(), [(5000, 1), (6000, 0), (6000, 2)]);

    Lab::new(1)
        .task(vec![Op::CondSignal(0), run(7), BARE_WAIT])
        .with(|w| w.nr_conditions = 1)
        .run()
        .ends(7, Deadlock);
}

#[test]
fn a_task_woken_before_it_sleeps_goes_on() {
    // The wait takes 10 µs in the kernel (syscall); the signal comes 5 µs into it, from the other
    // CPU, whose own system call began at 5 µs: no sleep, no wakeup, nothing lost.
    let ran = Lab::new(2)
        .task(vec![BARE_WAIT, run(100)])
        .task(vec![run(5), Op::CondSignal(0)])
        .with(|w| w.nr_conditions = 1)
        .machine(|m| m.costs.syscall = schedlab_trace::Ns::from_us(10))
        .run();
    assert_eq!(ran.wakings(0), 0);
    assert_eq!(ran.exits(), [(15, 1), (110, 0)]);
}

#[test]
fn a_semaphore_counts() {
    // Value 2: two pass at once, the third when the poster comes by at 5 ms, the fourth at 6 ms.
    let ran = Lab::new(5)
        .tasks(4, vec![Op::SemWait(0), run(100)])
        .task(vec![
            run(5000),
            Op::SemPost(0),
            run(1000),
            Op::SemPost(0),
            Op::SemPost(0),
            Op::SemWait(0),
        ])
        .with(|w| w.semaphores = vec![2])
        .run();
    assert_eq!(
        ran.exits(),
        [(100, 0), (100, 1), (5100, 2), (6000, 4), (6100, 3)]
    );
}

#[test]
fn a_barrier_opens_for_all_when_the_last_comes_and_closes_again() {
    // They come at 1, 2 and 3 ms; again 1, 2 and 3 ms later: through at 3 and 6 ms.
    let come = |time: u64| vec![run(time), Op::Barrier(0), run(time), Op::Barrier(0)];
    let ran = Lab::new(3)
        .task(come(1000))
        .task(come(2000))
        .task(come(3000))
        .with(|w| w.barriers = vec![3])
        .run();
    assert!(ran.exits().iter().all(|&(time, _)| time == 6000));
    assert_eq!([0, 1, 2].map(|t| ran.wakings(t)), [2, 2, 0]);
}

#[test]
fn a_barrier_of_one_lets_everybody_through() {
    let ran = Lab::new(1)
        .tasks(2, vec![Op::Barrier(0), sleep(10), Op::Barrier(0)])
        .with(|w| w.barriers = vec![1])
        .run();
    assert_eq!(ran.exits(), [(10, 0), (10, 1)]);
}

/// A socket's writers go on when a quarter of it is left, all at once; a pipe of this kind has bytes from the start.
#[test]
fn a_full_channel_may_have_to_be_drained_first() {
    let sends = |count| Op::Send { channel: 0, count };
    let takes = |count| Op::Receive { channel: 0, count };
    let reader = [
        run(1000),
        takes(1),
        run(1000),
        takes(5),
        mark(0),
        run(1000),
        takes(4),
    ];
    let ran = Lab::new(3)
        .task(vec![sends(1), mark(1)])
        .task(vec![sends(1), mark(1)])
        .task(reader.to_vec())
        .channel(8)
        .with(|w| (w.channels[0].waking, w.channels[0].initial) = (Waking::All { low_water: 2 }, 8))
        .with(|w| w.marks = vec!["taken".into(), "sent".into()])
        .run();
    // 8 bytes; 7 after 1 ms, 2 after 2 ms, when both writers go on.
    let times: Vec<(u64, u32)> = ran
        .marks()
        .iter()
        .map(|(at, task, _)| (*at, *task))
        .collect();
    assert_eq!(
        times,
        [(2000, 2), (2000, 0), (2000, 1)],
        "the reader, then both writers"
    );
    assert_eq!(ran.exit_ns(2), 3_000_000);
}

/// Which task woke each task, by the CPU on which the waking began: each task has a CPU of its own.
fn wakings(ran: &crate::common::lab::Ran) -> Vec<(u32, u32)> {
    ran.pick(|e| match e.kind {
        EventKind::Waking {
            task,
            by: WakeContext::Task,
        } => Some((e.cpu.0, task.0)),
        _ => None,
    })
}

/// fs/pipe.c: a write into an empty pipe wakes one reader, which wakes the next one if it leaves anything; a reader that
/// drains the pipe wakes one writer, which wakes the next one if it leaves room.  A socket wakes all that wait.
#[test]
fn a_pipe_wakes_one_by_one_and_a_socket_all() {
    let sends = |count| Op::Send { channel: 0, count };
    let takes = |count| Op::Receive { channel: 0, count };
    let readers = |waking| {
        let ran = Lab::new(4)
            .task(vec![takes(1), run(1000)])
            .task(vec![takes(1), run(1000)])
            .task(vec![takes(1), run(1000)])
            .task(vec![run(1000), sends(3), run(1000)])
            .channel(8)
            .with(|w| w.channels[0].waking = waking)
            .run();
        wakings(&ran)
    };
    let one_by_one = Waking::OneByOne { low_water: 4 };
    assert_eq!(readers(one_by_one), [(3, 0), (0, 1), (1, 2)]);
    let all = Waking::All { low_water: 4 };
    assert_eq!(readers(all), [(3, 0), (3, 1), (3, 2)]);
    assert_eq!(readers(Waking::EachMessage), [(3, 0), (3, 1), (3, 2)]);

    let writers = |waking| {
        let ran = Lab::new(4)
            .task(vec![sends(2), run(1000)])
            .task(vec![sends(2), run(1000)])
            .task(vec![sends(2), run(1000)])
            .task(vec![run(1000), takes(3), run(1000), takes(5), run(1000)])
            .channel(8)
            .with(|w| (w.channels[0].waking, w.channels[0].initial) = (waking, 8))
            .run();
        assert_eq!(ran.outcome.reason, Finished);
        wakings(&ran)
    };
    // Five are left after the first take, none after the second.
    assert_eq!(writers(one_by_one), [(3, 0), (0, 1), (1, 2)]);
    assert_eq!(writers(all), [(3, 0), (3, 1), (3, 2)]);
}
