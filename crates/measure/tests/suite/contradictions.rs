//! A trace that contradicts itself gives an error and never stops the measuring.

use crate::script::*;
use oorandom::Rand64;
use schedlab_measure::{AccountingError, Measure};
use schedlab_trace::{
    CpuId, Event, EventKind, MarkId, Ns, Overhead, PrevState, Sink, TaskId, Time, WakeContext,
};

use PrevState::{Exited, Preempted, Sleeping};

/// The error two tasks on two CPUs run into, a running on CPU 0 from 10 and b asleep.
fn error_after(events: &[Event]) -> Option<AccountingError> {
    let mut all = vec![exists(0), exists(1), wakeup(10, 0, 0), start(10, 0, 0)];
    all.extend_from_slice(events);
    simulated(2, &["a", "b"])
        .measure(&all, 1_000)
        .accounting_error
}

#[test]
fn time_must_not_go_back() {
    let error = error_after(&[waking(50, 0, 1), waking(49, 0, 1)]).unwrap();
    assert_eq!(
        error,
        AccountingError::TimeWentBack {
            time: Time(49),
            last: Time(50)
        }
    );
    assert_eq!(
        error.to_string(),
        "at 0.000000049: time goes back from 0.000000050"
    );
}

#[test]
fn cpus_tasks_marks_and_counters_must_be_known() {
    let unknown_cpu = |time| {
        Some(AccountingError::UnknownCpu {
            time: Time(time),
            cpu: CpuId(2),
        })
    };
    assert_eq!(
        error_after(&[overhead(20, 2, Overhead::Tick, 1)]),
        unknown_cpu(20)
    );
    assert_eq!(error_after(&[wakeup(21, 2, 1)]), unknown_cpu(21));
    let unknown = |time, id| {
        Some(AccountingError::NotAnnounced {
            time: Time(time),
            id,
        })
    };
    assert_eq!(error_after(&[waking(22, 0, 7)]), unknown(22, 7));
    assert_eq!(error_after(&[swap(23, 0, 0, Sleeping, 2)]), unknown(23, 2));
    assert_eq!(error_after(&[mark(24, 0, 3, 1)]), unknown(24, 3));
    let count = event(25, 0, EventKind::Count { counter: 4, by: 1 });
    assert_eq!(error_after(&[count]), unknown(25, 4));
}

#[test]
fn a_cpu_switches_from_what_it_runs() {
    let wrong = |time, cpu| {
        Some(AccountingError::WrongPrev {
            time: Time(time),
            cpu: CpuId(cpu),
        })
    };
    assert_eq!(error_after(&[stop(20, 0, 1, Sleeping)]), wrong(20, 0));
    assert_eq!(error_after(&[stop(20, 1, 1, Sleeping)]), wrong(20, 1));
    assert_eq!(
        error_after(&[wakeup(20, 0, 1), start(20, 0, 1)]),
        wrong(20, 0)
    );
}

#[test]
fn only_waiting_tasks_start() {
    let not_waiting = |time, cpu, task| {
        let (time, cpu, task) = (Time(time), CpuId(cpu), TaskId(task));
        Some(AccountingError::NotWaiting { time, cpu, task })
    };
    // On two CPUs at once; asleep; dead.
    assert_eq!(error_after(&[start(20, 1, 0)]), not_waiting(20, 1, 0));
    assert_eq!(error_after(&[start(30, 1, 1)]), not_waiting(30, 1, 1));
    assert_eq!(
        error_after(&[stop(35, 0, 0, Exited), start(40, 1, 0)]),
        not_waiting(40, 1, 0)
    );
}

#[test]
fn the_dead_are_not_woken() {
    let error = error_after(&[stop(20, 0, 0, Exited), wakeup(30, 0, 0)]);
    assert_eq!(
        error,
        Some(AccountingError::DeadWoken {
            time: Time(30),
            task: TaskId(0)
        })
    );
}

#[test]
fn overhead_must_not_overlap() {
    let overlap_on = |cpu, time, ns| {
        let (time, cpu, ns) = (Time(time), CpuId(cpu), Ns(ns));
        Some(AccountingError::OverlappingOverhead { time, cpu, ns })
    };
    let overlap = |time, ns| overlap_on(0, time, ns);
    let tick = overhead(20, 0, Overhead::Tick, 10);
    assert_eq!(
        error_after(&[tick, overhead(27, 0, Overhead::Switch, 5)]),
        overlap(27, 3)
    );
    assert_eq!(
        error_after(&[tick, overhead(30, 0, Overhead::Switch, 5)]),
        None
    );
    assert_eq!(
        error_after(&[tick, overhead(33, 0, Overhead::Lock, 5)]),
        overlap(33, 2)
    );
    assert_eq!(
        error_after(&[tick, overhead(33, 0, Overhead::Lock, 3)]),
        None
    );
    // Spinning since before the switch at 10, and since before the machine came up.
    assert_eq!(
        error_after(&[overhead(15, 0, Overhead::Lock, 6)]),
        overlap(15, 1)
    );
    assert_eq!(
        error_after(&[overhead(15, 1, Overhead::Lock, 20)]),
        overlap_on(1, 15, 5)
    );
    // Time is dealt out once all the same: 20-30, 30-35.
    let m = simulated(1, &[]).measure(&[tick, overhead(27, 0, Overhead::Switch, 5)], 100);
    let o = m.cpus[0].overhead_ns.unwrap();
    assert_eq!(
        (o.tick, o.switch, m.cpus[0].idle_ns),
        (Ns(10), Ns(5), Ns(85))
    );
}

#[test]
fn the_first_contradiction_is_the_one_reported() {
    let error = error_after(&[stop(20, 0, 1, Preempted), waking(15, 0, 9)]);
    assert_eq!(
        error,
        Some(AccountingError::WrongPrev {
            time: Time(20),
            cpu: CpuId(0)
        })
    );
}

#[test]
fn events_before_the_begin_are_named_too() {
    let mut measure = Measure::new();
    measure.event(&waking(3, 0, 0));
    let error = measure.finish().accounting_error;
    assert_eq!(
        error,
        Some(AccountingError::UnknownCpu {
            time: Time(3),
            cpu: CpuId(0)
        })
    );
}

#[test]
fn garbage_is_measured_without_a_panic() {
    for seed in 0..2_000 {
        let mut random = Rand64::new(seed);
        let events: Vec<Event> = (0..60).map(|_| garbage(&mut random)).collect();
        let names = ["a-0", "a-1", "b-0", "b-1"];
        let script = if seed % 2 == 0 {
            simulated(3, &names)
        } else {
            recorded(3, &names)
        };
        let end = random.rand_range(0..10_000);
        let m = script.measure(&events, end);
        assert!(serde_json::to_string(&m).is_ok());
        for cpu in &m.cpus {
            assert_eq!(cpu.busy_ns + cpu.idle_ns, m.duration_ns, "seed {seed}");
        }
    }
}

/// Mostly small numbers, now and then one beyond all bounds.
fn number(random: &mut Rand64, bound: u64) -> u64 {
    match random.rand_range(0..200) {
        0 => u64::MAX - random.rand_range(0..3),
        1 => random.rand_u64(),
        _ => random.rand_range(0..bound),
    }
}

fn garbage(random: &mut Rand64) -> Event {
    let task = TaskId(number(random, 4) as u32);
    let other = (random.rand_range(0..2) == 0).then(|| TaskId(random.rand_range(0..4) as u32));
    let (cpu, target) = (
        CpuId(number(random, 3) as u32),
        CpuId(number(random, 3) as u32),
    );
    let ns = Ns(number(random, 50));
    let states = [
        PrevState::Preempted,
        PrevState::Yielded,
        PrevState::Moved,
        PrevState::Sleeping,
        PrevState::DiskSleep,
        PrevState::Exited,
        PrevState::Idle,
    ];
    let prev_state = states[random.rand_range(0..7) as usize];
    let kinds = [
        Overhead::Schedule,
        Overhead::Switch,
        Overhead::Lock,
        Overhead::Tick,
    ];
    let kind = match random.rand_range(0..14) {
        0 => EventKind::Fork {
            child: task,
            parent: other,
        },
        1 => EventKind::Exit { task },
        2 => EventKind::Reap {
            task,
            reaper: other,
        },
        3 => EventKind::Waking {
            task,
            by: WakeContext::Irq,
        },
        4 | 5 => EventKind::Wakeup { task, target },
        6..=8 => EventKind::Switch {
            prev: other,
            prev_state,
            next: Some(task),
        },
        9 => EventKind::Switch {
            prev: Some(task),
            prev_state,
            next: other,
        },
        10 => EventKind::Migrate {
            task,
            from: cpu,
            to: target,
        },
        11 => EventKind::Latency {
            task,
            mark: MarkId(0),
            ns,
        },
        _ => EventKind::Overhead {
            kind: kinds[random.rand_range(0..4) as usize],
            ns,
        },
    };
    Event {
        time: Time(number(random, 1_000)),
        cpu,
        kind,
    }
}
