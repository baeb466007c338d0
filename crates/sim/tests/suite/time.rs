//! Sleeps, timers, and computing until a time.

use crate::common::lab::{forever, mark, own_timer, receive, run, send, sleep, us, Lab};
use schedlab_machine::Timers;
use schedlab_sim::EndReason::Finished;
use schedlab_trace::{EventKind, MarkId, Ns};
use schedlab_workload::{Op, TimerScope};

fn latencies(ran: &crate::common::lab::Ran) -> Vec<u64> {
    ran.pick(|e| match e.kind {
        EventKind::Latency { ns, .. } => Some(ns.0 / 1000),
        _ => None,
    })
}

#[test]
fn an_absolute_timer_catches_up_what_it_missed() {
    // Period 10 ms.  Rounds of 4, 25 and 1 ms: the first ends at 4 and sleeps to 10; the second
    // runs to 35, past the expiries at 20 and 30, which do not sleep; then it is on time: 40 ms.
    let timer = own_timer(10_000, false);
    let ran = Lab::new(1)
        .task(vec![
            run(4000),
            timer,
            mark(1),
            run(25_000),
            timer,
            mark(2),
            timer,
            mark(3),
            timer,
            mark(4),
        ])
        .run();
    assert_eq!(
        ran.marks(),
        [
            (10_000, 0, 1),
            (35_000, 0, 2),
            (35_000, 0, 3),
            (40_000, 0, 4)
        ]
    );
}

#[test]
fn a_relative_timer_starts_anew_when_it_missed() {
    // As above, but the miss at 35 ms restarts it: next expiry 45 ms.
    let timer = own_timer(10_000, true);
    let ran = Lab::new(1)
        .task(vec![
            run(4000),
            timer,
            mark(1),
            run(25_000),
            timer,
            mark(2),
            timer,
            mark(3),
        ])
        .run();
    assert_eq!(
        ran.marks(),
        [(10_000, 0, 1), (35_000, 0, 2), (45_000, 0, 3)]
    );
}

#[test]
fn a_timer_that_expires_this_moment_does_not_sleep() {
    let timer = own_timer(10_000, false);
    let ran = Lab::new(1).task(vec![run(10_000), timer]).run();
    ran.ends(10_000, Finished);
    assert_eq!(ran.wakings(0), 0);
}

#[test]
fn a_timer_starts_when_its_task_does() {
    // The task starts at 3 ms: its first expiry is 13 ms.
    let ran = Lab::new(1)
        .task(vec![own_timer(10_000, false)])
        .at(3000)
        .run();
    ran.ends(13_000, Finished);
}

#[test]
fn a_shared_timer_gives_each_expiry_to_one_task() {
    // Both use one timer of 10 ms: the first task waits until 10 ms, the second until 20 ms.
    let shared = Op::Timer {
        timer: TimerScope::Shared(0),
        period: Ns::from_ms(10),
        relative: false,
    };
    let ran = Lab::new(2)
        .task(vec![run(1000), shared])
        .task(vec![run(2000), shared])
        .with(|w| w.nr_shared_timers = 1)
        .run();
    assert_eq!(ran.exits(), [(10_000, 0), (20_000, 1)]);
}

#[test]
fn own_timers_are_apart() {
    let timer = |i: u32, ms: u64| Op::Timer {
        timer: TimerScope::Own(i),
        period: Ns::from_ms(ms),
        relative: false,
    };
    // Timer 0 first expires at 5 ms, timer 3 at 7 ms, timer 0 again at 10 ms.
    let ran = Lab::new(1)
        .task(vec![
            timer(0, 5),
            mark(0),
            timer(3, 7),
            mark(1),
            timer(0, 5),
        ])
        .run();
    assert_eq!(ran.marks(), [(5000, 0, 0), (7000, 0, 1)]);
    ran.ends(10_000, Finished);
}

#[test]
fn jiffies_end_a_timer_in_the_first_tick_at_or_after_it() {
    // Tick 1 ms; expiries at 2.5 and 5 ms: woken at 3 and 5 ms.
    let timer = own_timer(2500, false);
    let ran = Lab::new(1)
        .task(vec![timer, mark(0), timer, mark(1)])
        .machine(|m| m.timers = Timers::Tick)
        .run();
    assert_eq!(ran.marks(), [(3000, 0, 0), (5000, 0, 1)]);
}

#[test]
fn jiffies_make_the_shortest_sleep_last_to_the_tick_after_next() {
    // At 0.3 ms: 1 µs is one tick, and the current one has begun: 2 ms.  0 µs: the next tick.
    let tick = |m: &mut schedlab_machine::Machine| m.timers = Timers::Tick;
    let one = Lab::new(1).task(vec![run(300), sleep(1)]).machine(tick);
    one.run().ends(2000, Finished);
    let none = Lab::new(1).task(vec![run(300), sleep(0)]).machine(tick);
    none.run().ends(1000, Finished);
}

#[test]
fn computing_until_a_time_does_not_care_who_has_the_cpu() {
    // Both want 15 ms of the clock on one CPU with slices of 10 ms: A computes from 0 to 10 and
    // is past its end at 15 when it runs again, at 20; B began at 10 and would end at 25.
    let until = Op::RunFor(us(15_000));
    let ran = Lab::new(1).task(vec![until]).task(vec![until]).run();
    assert_eq!(ran.exits(), [(20_000, 0), (25_000, 1)]);
}

#[test]
fn computing_until_now_is_nothing() {
    Lab::new(1)
        .task(vec![run(3), Op::RunFor(us(0)), run(4)])
        .run()
        .ends(7, Finished);
}

#[test]
fn a_timed_sleep_measures_from_when_it_should_have_woken() {
    // Asked to be woken at 5 ms; the hog has the CPU from 1 to 11 ms (its slice); then 2 ms of
    // work: 8 ms late in all.
    let ran = Lab::new(1)
        .task(vec![
            run(1000),
            Op::TimedSleep(us(4000)),
            run(2000),
            Op::StopClock { mark: MarkId(0) },
        ])
        .task(vec![run(30_000)])
        .run();
    assert_eq!(latencies(&ran), [8000]);
}

#[test]
fn a_clock_measures_from_its_start() {
    let ran = Lab::new(1)
        .task(vec![
            run(1000),
            Op::StartClock,
            run(2000),
            sleep(3000),
            Op::StopClock { mark: MarkId(0) },
        ])
        .run();
    assert_eq!(latencies(&ran), [5000]);
}

#[test]
fn a_server_takes_the_clock_of_the_request() {
    // The client starts its clock at 1 ms and sends at 1.5 ms; the server is busy until 4 ms and
    // answers at 5 ms: 4 ms in all.
    let client = vec![run(1000), Op::StartClock, run(500), send(1)];
    let server = vec![
        run(4000),
        receive(1),
        Op::TakeClock,
        run(1000),
        Op::StopClock { mark: MarkId(0) },
    ];
    let ran = Lab::new(2).task(client).task(server).channel(1).run();
    assert_eq!(latencies(&ran), [4000]);
}

#[test]
fn what_would_last_for_ages_does_not_overflow() {
    let ages = schedlab_workload::Amount::Fixed(Ns(u64::MAX));
    for op in [Op::Run(ages), Op::Sleep(ages), Op::RunFor(ages)] {
        let timer = Op::Timer {
            timer: TimerScope::Own(0),
            period: Ns(u64::MAX),
            relative: false,
        };
        let ran = Lab::new(1)
            .task(vec![run(10), op])
            .task(vec![run(10), timer])
            .machine(|m| m.cpus[0].capacity = 1)
            .for_us(50_000)
            .run();
        ran.ends(50_000, schedlab_sim::EndReason::TimeUp);
    }
}

#[test]
fn a_sleep_of_no_time_is_over_at_once_but_time_must_pass_some_day() {
    Lab::new(1)
        .task(vec![sleep(0), run(5)])
        .run()
        .ends(5, Finished);
    let error = Lab::new(1).task(forever(&[sleep(0)])).try_run().err();
    assert!(matches!(
        error,
        Some(schedlab_sim::SimError::Stalled { .. })
    ));
}
