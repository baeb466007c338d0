//! Small traces with all numbers calculated by hand.

use crate::script::*;
use schedlab_measure::{Activity, Measure, Wait};
use schedlab_trace::{EventKind, Ns, Overhead, PrevState, Sink, TaskId, TaskInfo, Time};

use PrevState::{Exited, Idle, Moved, Preempted, Sleeping, Yielded};

/// Samples, smallest and largest of them as far as median and maximum tell.
fn run_delay(activity: &Activity) -> Option<(u64, u64, u64)> {
    activity
        .run_delay_ns
        .as_deref()
        .map(|d| (d.count, d.p50.0, d.max.0))
}

fn wakeup_latency(activity: &Activity) -> Option<(u64, u64, u64)> {
    activity
        .wakeup_latency_ns
        .as_deref()
        .map(|d| (d.count, d.p50.0, d.max.0))
}

#[test]
fn switches_are_split_by_what_became_of_the_task() {
    // a: 0-10 preempted, 20-30 yielded, 40-50 moved, 60-70 asleep; b runs between.
    let m = simulated(1, &["a", "b"]).measure_valid(
        &[
            exists(0),
            exists(1),
            wakeup(0, 0, 0),
            wakeup(0, 0, 1),
            start(0, 0, 0),
            swap(10, 0, 0, Preempted, 1),
            swap(20, 0, 1, Preempted, 0),
            yielding(25, 0, 0), // nobody better: no switch
            yielding(30, 0, 0),
            swap(30, 0, 0, Yielded, 1),
            swap(40, 0, 1, Preempted, 0),
            swap(50, 0, 0, Moved, 1),
            swap(60, 0, 1, Preempted, 0),
            swap(70, 0, 0, Sleeping, 1),
        ],
        100,
    );
    let a = &m.tasks[0].activity;
    assert_eq!(
        (
            a.nr_voluntary_switches,
            a.nr_involuntary_switches,
            a.nr_yield_switches
        ),
        (1, 2, 1)
    );
    assert_eq!((a.nr_switches, a.nr_yields, a.nr_wakeups), (4, 2, 1));
    assert_eq!((a.run_ns, a.wait_ns), (Ns(40), Ns(30)));
    let b = &m.tasks[1].activity;
    assert_eq!((b.nr_switches, b.nr_involuntary_switches), (3, 3));
    assert_eq!((b.run_ns, b.wait_ns), (Ns(60), Ns(40)));
    // a's switches and b's; the CPU also counts the one from idle.
    assert_eq!((m.total.nr_switches, m.cpus[0].switches), (7, 8));
    assert_eq!((m.total.run_ns, m.total.cpu_share), (Ns(100), 1.0));
}

#[test]
fn wakeup_latency_counts_from_waking_and_run_delay_from_the_queue() {
    // b: wanted at 10, queued at 13, runs at 20: latency 10, delay 7.
    // Preempted at 30, runs again at 45: no latency, delay 15.
    let m = simulated(1, &["a", "b"]).measure_valid(
        &[
            exists(0),
            exists(1),
            wakeup(0, 0, 0),
            start(0, 0, 0),
            waking(10, 0, 1),
            wakeup(13, 0, 1),
            swap(20, 0, 0, Preempted, 1),
            swap(30, 0, 1, Preempted, 0),
            swap(45, 0, 0, Sleeping, 1),
            stop(50, 0, 1, Sleeping),
        ],
        50,
    );
    let b = &m.tasks[1].activity;
    assert_eq!(wakeup_latency(b), Some((1, 10, 10)));
    assert_eq!(run_delay(b), Some((2, 7, 15)));
    assert_eq!(b.run_delay_ns.as_deref().unwrap().mean, 11.0);
    assert_eq!(b.wait_ns, Ns(22));
    assert_eq!(
        b.longest_wait,
        Some(Wait {
            task: TaskId(1),
            start_ns: Time(30),
            ns: Ns(15)
        })
    );
    // a woke and ran at once, then waited from 20 to 30.
    assert_eq!(run_delay(&m.tasks[0].activity), Some((2, 0, 10)));
    // In all: delays 0, 7, 10, 15; latencies 0, 10.
    assert_eq!(run_delay(&m.total), Some((4, 7, 15)));
    assert_eq!(wakeup_latency(&m.total), Some((2, 0, 10)));
}

#[test]
fn a_forked_task_is_wanted_from_its_fork_and_others_from_their_wakeup() {
    let m = simulated(2, &["a", "b", "c"]).measure_valid(
        &[
            exists(0),
            exists(2),
            wakeup(5, 0, 0),
            start(6, 0, 0),
            fork(10, 0, 0, 1),
            wakeup(14, 1, 1),
            start(20, 1, 1),
        ],
        30,
    );
    assert_eq!(wakeup_latency(&m.tasks[0].activity), Some((1, 1, 1)));
    assert_eq!(wakeup_latency(&m.tasks[1].activity), Some((1, 10, 10)));
    assert_eq!(run_delay(&m.tasks[1].activity), Some((1, 6, 6)));
    // c was never woken: nothing to say, rather than zero.
    assert_eq!(wakeup_latency(&m.tasks[2].activity), None);
    assert_eq!(m.tasks[2].activity.longest_wait, None);
}

#[test]
fn a_task_woken_on_its_way_to_sleep_is_wanted_since_then() {
    let m = simulated(2, &["a"]).measure_valid(
        &[
            exists(0),
            wakeup(0, 0, 0),
            start(0, 0, 0),
            waking(18, 1, 0),
            stop(20, 0, 0, Sleeping),
            wakeup(21, 1, 0),
            start(25, 1, 0),
        ],
        30,
    );
    // Latencies 0 and 25 - 18; delays 0 and 25 - 21.
    assert_eq!(wakeup_latency(&m.tasks[0].activity), Some((2, 0, 7)));
    assert_eq!(run_delay(&m.tasks[0].activity), Some((2, 0, 4)));
}

#[test]
fn overhead_may_run_past_a_switch() {
    // The choice takes 90-100, the switch itself 100-115 while b is already current.
    let m = simulated(1, &["a", "b"]).measure_valid(
        &[
            exists(0),
            exists(1),
            wakeup(0, 0, 0),
            wakeup(0, 0, 1),
            start(0, 0, 0),
            overhead(40, 0, Overhead::Tick, 3),
            overhead(90, 0, Overhead::Schedule, 14), // 90-104
            swap(100, 0, 0, Preempted, 1),
            overhead(104, 0, Overhead::Switch, 11), // 104-115
            stop(150, 0, 1, Sleeping),
            overhead(150, 0, Overhead::Switch, 5), // on the idle CPU
        ],
        200,
    );
    // a: 0-40, 43-90.  b: 115-150.
    assert_eq!(
        (m.tasks[0].activity.run_ns, m.tasks[1].activity.run_ns),
        (Ns(87), Ns(35))
    );
    let cpu = m.cpus[0];
    assert_eq!(
        (cpu.run_ns, cpu.idle_ns, cpu.busy_ns),
        (Ns(122), Ns(45), Ns(155))
    );
    let o = cpu.overhead_ns.unwrap();
    assert_eq!((o.schedule, o.switch, o.tick), (Ns(14), Ns(16), Ns(3)));
    let s = m.scheduler.unwrap();
    assert_eq!(
        (s.ns, s.share, s.lock_wait_ns),
        (Ns(30), 30.0 / 200.0, Ns(0))
    );
}

#[test]
fn overhead_of_one_moment_follows_in_order() {
    // All told at 10: 10-15, 15-22, 22-25; the trace ends in the second, at 20.
    let told = [
        overhead(10, 0, Overhead::Schedule, 5),
        overhead(10, 0, Overhead::Switch, 7),
        overhead(10, 0, Overhead::Wakeup, 3),
    ];
    let script = simulated(1, &[]);
    for (end, expected) in [
        (20, [5, 5, 0, 10]),
        (23, [5, 7, 1, 10]),
        (40, [5, 7, 3, 25]),
    ] {
        let m = script.measure_valid(&told, end);
        let o = m.cpus[0].overhead_ns.unwrap();
        let got = [o.schedule, o.switch, o.wakeup, m.cpus[0].idle_ns];
        assert_eq!(got, expected.map(Ns), "end at {end}");
    }
}

#[test]
fn a_lock_wait_is_told_when_it_is_over() {
    let m = simulated(1, &["a"]).measure_valid(
        &[
            exists(0),
            wakeup(0, 0, 0),
            start(0, 0, 0),
            overhead(10, 0, Overhead::Syscall, 20),  // 10-30
            overhead(50, 0, Overhead::Lock, 15),     // 35-50
            overhead(50, 0, Overhead::Schedule, 10), // 50-60
            overhead(64, 0, Overhead::Lock, 4),      // 60-64, back to back
        ],
        100,
    );
    let o = m.cpus[0].overhead_ns.unwrap();
    assert_eq!((o.syscall, o.lock, o.schedule), (Ns(20), Ns(19), Ns(10)));
    // 0-10, 30-35, 64-100.
    assert_eq!(m.tasks[0].activity.run_ns, Ns(51));
    assert_eq!(m.scheduler.unwrap().lock_wait_ns, Ns(19));
}

#[test]
fn idle_while_runnable_is_min_of_idle_cpus_and_waiting_tasks() {
    // Idle CPUs:     2 until 10, 1 until 60, 2 until 80, 1 until 100.
    // Waiting tasks: 0 until 5, 3 until 10, 2 until 60, 2 until 80, 1 until 100.
    let m = simulated(2, &["a", "b", "c"]).measure_valid(
        &[
            exists(0),
            exists(1),
            exists(2),
            wakeup(5, 0, 0),
            wakeup(5, 0, 1),
            wakeup(5, 0, 2),
            start(10, 0, 0),
            stop(60, 0, 0, Sleeping),
            start(80, 1, 1),
        ],
        100,
    );
    // 5-10: 2.  10-60: 1.  60-80: 2.  80-100: 1.
    assert_eq!(m.idle_while_runnable.ns, Ns(5 * 2 + 50 + 20 * 2 + 20));
    assert_eq!(m.idle_while_runnable.share, 120.0 / 200.0);
    assert_eq!(m.idle_while_runnable.longest_ns, Ns(95));
    assert_eq!(m.idle_while_runnable.longest_start_ns, Some(Time(5)));
}

#[test]
fn idle_while_runnable_knows_separate_stretches_and_ignores_instants() {
    let m = simulated(2, &["a", "b", "c"]).measure_valid(
        &[
            exists(0),
            exists(1),
            exists(2),
            wakeup(0, 0, 0),
            start(0, 0, 0),
            wakeup(10, 0, 1), // 10-14 while CPU 1 idles
            start(14, 1, 1),
            stop(30, 1, 1, Sleeping),
            wakeup(40, 1, 1), // 40-43 ...
            start(43, 1, 1),
            stop(43, 1, 1, Sleeping),
            wakeup(43, 1, 2), // ... and, after no time at all, 43-46: 6 ns together
            start(46, 1, 2),
        ],
        50,
    );
    assert_eq!(m.idle_while_runnable.ns, Ns(10));
    assert_eq!(m.idle_while_runnable.longest_ns, Ns(6));
    assert_eq!(m.idle_while_runnable.longest_start_ns, Some(Time(40)));
    let none = simulated(2, &["a"]).measure_valid(&[exists(0)], 50);
    assert_eq!(none.idle_while_runnable.longest_start_ns, None);
}

#[test]
fn a_migration_is_a_start_on_another_cpu() {
    let m = simulated(3, &["a", "b"]).measure_valid(
        &[
            exists(0),
            exists(1),
            wakeup(0, 0, 0),
            start(0, 0, 0), // its first CPU: no migration
            stop(10, 0, 0, Sleeping),
            wakeup(20, 1, 0), // woken elsewhere ...
            migrate(22, 0, 1, 2),
            migrate(23, 0, 2, 0), // ... but it came back
            start(24, 0, 0),
            wakeup(25, 0, 1),
            swap(30, 0, 0, Preempted, 1),
            migrate(35, 0, 0, 2),
            start(36, 2, 0), // the one migration
        ],
        40,
    );
    assert_eq!(
        (m.tasks[0].activity.nr_migrations, m.total.nr_migrations),
        (1, 1)
    );
    // Queues: 20-22 and none on CPU 1; 22-23 and 35-36 on 2; 23-24, 25-30 and 30-35 on 0.
    let waited: Vec<f64> = m
        .plots
        .waiting
        .cpus
        .iter()
        .map(|cpu| cpu[0] * 40.0)
        .collect();
    assert_eq!(waited, [11.0, 2.0, 2.0]);
}

#[test]
fn tasks_may_die_in_any_state() {
    let m = simulated(1, &["runs", "waits", "sleeps", "new"]).measure_valid(
        &[
            exists(0),
            exists(1),
            exists(2),
            exists(3),
            wakeup(0, 0, 2),
            start(0, 0, 2),
            stop(5, 0, 2, Sleeping),
            wakeup(5, 0, 0),
            start(5, 0, 0),
            wakeup(10, 0, 1),
            exit(30, 0, 1), // killed on the run queue after 20 ns
            exit(30, 0, 2),
            exit(30, 0, 3),
            exit(40, 0, 0),
            stop(42, 0, 0, Exited),
            event(
                50,
                0,
                EventKind::Reap {
                    task: TaskId(0),
                    reaper: None,
                },
            ),
        ],
        60,
    );
    assert_eq!(m.tasks[0].activity.run_ns, Ns(37));
    assert_eq!(m.tasks[0].activity.nr_voluntary_switches, 1);
    let killed = &m.tasks[1].activity;
    assert_eq!(
        (killed.wait_ns, run_delay(killed)),
        (Ns(20), Some((1, 20, 20)))
    );
    assert_eq!(killed.run_delay_ns.as_deref().unwrap().unfinished, 1);
    // A dead task does not wait: nothing of 42-60 is idle while runnable.
    assert_eq!(m.idle_while_runnable.ns, Ns(0));
    assert_eq!((m.fairness.jain, m.fairness.nr_tasks), (None, 0));
}

#[test]
fn a_trace_may_end_in_the_middle_of_everything() {
    // At 100: a runs, in the middle of overhead; b has waited since 30.
    let m = simulated(1, &["a", "b"]).measure_valid(
        &[
            exists(0),
            exists(1),
            wakeup(0, 0, 0),
            start(0, 0, 0),
            waking(28, 0, 1),
            wakeup(30, 0, 1),
            overhead(90, 0, Overhead::Tick, 1_000),
        ],
        100,
    );
    assert_eq!(
        (m.cpus[0].run_ns, m.cpus[0].overhead_ns.unwrap().tick),
        (Ns(90), Ns(10))
    );
    let b = &m.tasks[1].activity;
    assert_eq!((b.wait_ns, b.nr_switches), (Ns(70), 0));
    assert_eq!(
        b.longest_wait,
        Some(Wait {
            task: TaskId(1),
            start_ns: Time(30),
            ns: Ns(70)
        })
    );
    assert_eq!(
        (run_delay(b), wakeup_latency(b)),
        (Some((1, 70, 70)), Some((1, 72, 72)))
    );
    assert_eq!(b.run_delay_ns.as_deref().unwrap().unfinished, 1);
}

/// Nice 0 has 80 % and nice 15 20 %: by the weights 1024 and 36 that is unfair; where nice promises an order
/// alone, nobody can tell.
#[test]
fn fairness_minds_nice() {
    let jain = |nice_is_weighted, nice| {
        let mut script = simulated(1, &["a", "b"]);
        script.info.nice_is_weighted = nice_is_weighted;
        let events = [
            exists(0),
            exists(1),
            wakeup(0, 0, 0),
            wakeup(0, 0, 1),
            start(0, 0, 0),
            swap(80, 0, 0, Preempted, 1),
            stop(100, 0, 1, Sleeping),
        ];
        let mut measure = Measure::new();
        measure.begin(&script.info);
        for (id, nice) in [(0, 0), (1, nice)] {
            let info = task_info(id, "a", "a");
            measure.task(&TaskInfo { nice, ..info });
        }
        events.iter().for_each(|event| measure.event(event));
        measure.end(Time(100));
        let metrics = measure.finish();
        assert_eq!(metrics.accounting_error, None);
        assert_eq!(metrics.fairness.nr_tasks, 2);
        metrics.fairness.jain
    };
    let weighted = jain(true, 15).unwrap();
    assert!((weighted - 0.638).abs() < 0.01, "{weighted}");
    assert_eq!(jain(false, 15), None);
    let equal = 100.0 * 100.0 / (2.0 * (6400.0 + 400.0));
    assert_eq!(jain(true, 0), Some(equal));
    assert_eq!(jain(false, 0), Some(equal));
}

#[test]
fn fairness_is_over_tasks_that_were_there_all_the_time() {
    // a 30 ns, b 10 ns; c is forked later and d dies.  In vi (a, c): a alone.
    let m = simulated(1, &["vi-a", "hog-b", "vi-c", "hog-d"]).measure_valid(
        &[
            exists(0),
            exists(1),
            exists(3),
            wakeup(0, 0, 0),
            wakeup(0, 0, 1),
            wakeup(0, 0, 3),
            start(0, 0, 0),
            fork(10, 0, 0, 2),
            wakeup(10, 0, 2),
            swap(30, 0, 0, Sleeping, 1),
            swap(40, 0, 1, Sleeping, 2),
            swap(45, 0, 2, Sleeping, 3),
            exit(50, 0, 3),
            stop(50, 0, 3, Exited),
        ],
        50,
    );
    // (30 + 10)² / (2 (900 + 100)) = 0.8.
    assert_eq!((m.fairness.jain, m.fairness.nr_tasks), (Some(0.8), 2));
    let [vi, hog] = &m.groups[..] else {
        panic!("two groups")
    };
    assert_eq!((&*vi.name, vi.nr_tasks, vi.fairness.nr_tasks), ("vi", 2, 1));
    assert_eq!(
        (&*hog.name, hog.nr_tasks, hog.fairness.nr_tasks),
        ("hog", 2, 1)
    );
    assert_eq!((vi.activity.run_ns, hog.activity.run_ns), (Ns(35), Ns(15)));
    assert_eq!(vi.activity.cpu_share, 0.7);
    // Waits in hog: b 30, d 45.
    assert_eq!(hog.activity.longest_wait.unwrap().task, TaskId(3));
    assert_eq!(run_delay(&hog.activity), Some((2, 30, 45)));
}

#[test]
fn schedule_calls_and_policy_counters_add_up() {
    let mut script = simulated(1, &["a"]);
    script.info.counters = vec!["top_list_empty".into(), "never".into()];
    let call = |time, examined, recalculations| {
        event(
            time,
            0,
            EventKind::Schedule {
                examined,
                recalculations,
            },
        )
    };
    let count = |time, by| event(time, 0, EventKind::Count { counter: 0, by });
    let events = [
        call(1, 4, 0),
        call(2, 0, 1),
        call(3, 5, 2),
        count(4, 40),
        count(5, 2),
    ];
    let m = script.measure_valid(&events, 10);
    let s = m.scheduler.unwrap();
    assert_eq!(
        (s.calls, s.examined, s.examined_mean, s.examined_max),
        (3, 9, 3.0, 5)
    );
    assert_eq!(s.recalculations, 3);
    let counters: Vec<(&str, u64)> = m.counters.iter().map(|(n, &c)| (n.as_str(), c)).collect();
    assert_eq!(counters, [("never", 0), ("top_list_empty", 42)]);
}

#[test]
fn marks_give_throughput_and_request_latency() {
    let mut script = simulated(1, &["a"]);
    script.info.marks = vec!["message".into(), "frame".into()];
    let m = script.measure_valid(
        &[
            mark(1, 0, 0, 3),
            mark(2, 0, 0, 5),
            latency(3, 0, 1, 700),
            latency(4, 0, 1, 300),
        ],
        2_000_000_000,
    );
    let [message, frame] = &m.marks[..] else {
        panic!("two marks")
    };
    // 8 in 2 s.
    assert_eq!(
        (message.count, message.per_second, message.latency_ns),
        (8, 4.0, None)
    );
    let d = frame.latency_ns.unwrap();
    assert_eq!(
        (frame.count, d.count, d.p50, d.max, d.mean),
        (0, 2, Ns(300), Ns(700), 500.0)
    );
}

#[test]
fn nice_is_the_last_one() {
    let nice = event(
        5,
        0,
        EventKind::Nice {
            task: TaskId(0),
            nice: -7,
        },
    );
    assert_eq!(
        simulated(1, &["a"])
            .measure_valid(&[exists(0), nice], 10)
            .tasks[0]
            .nice,
        -7
    );
}

#[test]
fn a_recording_has_no_costs_rather_than_zero_costs() {
    let m = recorded(1, &["a"]).measure_valid(&[exists(0), wakeup(0, 0, 0), start(5, 0, 0)], 10);
    assert_eq!(m.scheduler, None);
    assert_eq!(m.cpus[0].overhead_ns, None);
    assert_eq!((m.cpus[0].run_ns, m.cpus[0].idle_ns), (Ns(5), Ns(5)));
    let shown = serde_json::to_value(&m).unwrap();
    assert!(shown["scheduler"].is_null());
    assert!(shown["cpus"][0]["overhead_ns"].is_null());
}

#[test]
fn a_recording_begins_in_the_middle_of_things() {
    // a runs on CPU 0 when the recording begins, b waits there; CPU 1 idles as its first
    // switch tells.  c's wakeup is told by its waking alone.
    let m = recorded(2, &["a", "b", "c"]).measure_valid(
        &[
            exists(0),
            exists(1),
            exists(2),
            swap(10, 0, 0, Preempted, 1),
            waking(12, 0, 2),
            start(15, 1, 2),
            swap(30, 0, 1, Sleeping, 0),
        ],
        40,
    );
    let run: Vec<u64> = m.tasks.iter().map(|t| t.activity.run_ns.0).collect();
    assert_eq!(run, [20, 20, 25]);
    assert_eq!(run_delay(&m.tasks[0].activity), Some((1, 20, 20)));
    // Nobody knows how long b had waited.
    assert_eq!(run_delay(&m.tasks[1].activity), None);
    assert_eq!(wakeup_latency(&m.tasks[2].activity), Some((1, 3, 3)));
    // CPU 1 was not known to idle before its first switch.
    assert_eq!(m.idle_while_runnable.ns, Ns(0));
}

#[test]
fn switching_to_the_same_task_is_no_switch() {
    let same = event(
        5,
        0,
        EventKind::Switch {
            prev: Some(TaskId(0)),
            prev_state: Yielded,
            next: Some(TaskId(0)),
        },
    );
    let nothing = event(
        20,
        0,
        EventKind::Switch {
            prev: None,
            prev_state: Idle,
            next: None,
        },
    );
    let m = simulated(1, &["a"]).measure_valid(
        &[
            exists(0),
            wakeup(0, 0, 0),
            start(0, 0, 0),
            same,
            stop(10, 0, 0, Sleeping),
            nothing,
        ],
        30,
    );
    let a = &m.tasks[0].activity;
    assert_eq!(
        (a.run_ns, a.nr_switches, m.cpus[0].switches),
        (Ns(10), 1, 2)
    );
}

#[test]
fn an_empty_trace_has_metrics() {
    let m = simulated(2, &[]).measure_valid(&[], 0);
    assert_eq!(
        (m.duration_ns, m.total.cpu_share, m.fairness.jain),
        (Ns(0), 0.0, None)
    );
    assert_eq!(m.plots.waiting.mean, [0.0; 0]);
}

#[test]
fn a_wakeup_that_comes_to_nothing_is_forgotten() {
    // Woken while it runs, then preempted: its wait from 20 to 30 is no wakeup latency.
    let m = simulated(1, &["a", "b"]).measure_valid(
        &[
            exists(0),
            exists(1),
            wakeup(0, 0, 0),
            start(0, 0, 0),
            wakeup(5, 0, 1),
            waking(10, 0, 0),
            swap(20, 0, 0, Preempted, 1),
            swap(30, 0, 1, Sleeping, 0),
        ],
        40,
    );
    assert_eq!(wakeup_latency(&m.tasks[0].activity), Some((1, 0, 0)));
    assert_eq!(run_delay(&m.tasks[0].activity), Some((2, 0, 10)));
}
