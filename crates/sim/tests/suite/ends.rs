//! Ends of runs, and their limits.

use crate::common::lab::{forever, fork, mark, receive, run, sleep, times, Lab};
use schedlab_policy::{Policy, Tuned};
use schedlab_sim::EndReason::{Deadlock, Finished, TimeUp};
use schedlab_sim::{SimError, Simulation, Status, TieBreak};
use schedlab_trace::{Event, EventKind, HashSink, Ns, Sink, Time};
use schedlab_workload::{Amount, Distribution, Op};

#[test]
fn the_run_ends_with_the_last_foreground_task() {
    let ran = Lab::new(2)
        .task(vec![run(3000)])
        .task(vec![run(9000)])
        .but(|t| t.background = true)
        .run();
    ran.ends(3000, Finished);
}

#[test]
fn background_tasks_alone_run_until_time_is_up() {
    let ran = Lab::new(1)
        .task(vec![run(3000)])
        .but(|t| t.background = true)
        .task(forever(&[run(100)]))
        .but(|t| t.background = true)
        .for_us(5000)
        .run();
    ran.ends(5000, TimeUp);
}

#[test]
fn the_shorter_of_tasks_and_time_decides() {
    let lab = |time| Lab::new(1).task(vec![run(3000)]).for_us(time).run();
    lab(2999).ends(2999, TimeUp);
    // Events at the time of the end still happen.
    lab(3000).ends(3000, Finished);
    lab(3001).ends(3000, Finished);
}

#[test]
fn a_task_that_starts_after_the_end_never_starts() {
    let ran = Lab::new(1)
        .task(vec![run(1000)])
        .at(9000)
        .for_us(5000)
        .run();
    ran.ends(5000, TimeUp);
    let forks = ran.pick(|e| matches!(e.kind, EventKind::Fork { .. }).then_some(()));
    assert_eq!(forks.len(), 0);
}

#[test]
fn the_run_waits_for_a_task_that_starts_late() {
    let ran = Lab::new(1)
        .task(vec![run(1000)])
        .task(vec![run(1000)])
        .at(9000)
        .run();
    ran.ends(10_000, Finished);
}

#[test]
fn a_deadlock_is_noticed_when_it_happens_not_when_time_is_up() {
    let ran = Lab::new(2)
        .task(vec![run(1000), Op::SemWait(0)])
        .task(vec![run(2000), Op::SemWait(0)])
        .with(|w| w.semaphores = vec![0])
        .for_us(1_000_000)
        .run();
    ran.ends(2000, Deadlock);
}

#[test]
fn a_deadlock_says_who_waits_for_what_and_who_holds_it() {
    let lab = Lab::new(2)
        .task(vec![Op::Lock(0), run(10), Op::Lock(1)])
        .task(vec![Op::Lock(1), run(10), Op::Lock(0)])
        .task(vec![receive(1)])
        .channel(1)
        .with(|w| w.nr_mutexes = 2);
    let setup = lab.setup();
    let mut unheard = HashSink::default();
    let mut simulation = Simulation::new(&setup, &mut unheard).unwrap();
    let status = simulation.run_until(Time::MAX).unwrap();
    assert_eq!(status, Status::Ended(Deadlock));
    let expected = [
        "t0 (waits for mutex 1, which t1 holds)",
        "t1 (waits for mutex 0, which t0 holds)",
        "t2 (waits to receive from channel 0, which is empty)",
    ];
    assert_eq!(simulation.sleepers(9), expected);
    assert_eq!(simulation.sleepers(1), expected[..1]);
}

#[test]
fn an_abandoned_simulation_gives_its_trace_up_to_the_fault() {
    let lab = Lab::new(1)
        .task(vec![run(3000), Op::Unlock(0)])
        .with(|w| w.nr_mutexes = 1);
    let setup = lab.setup();
    let mut trace = EndOfTrace::default();
    let mut simulation = Simulation::new(&setup, &mut trace).unwrap();
    simulation.run_until(Time::MAX).unwrap_err();
    simulation.abandon();
    assert_eq!(trace.end, Some(Time::ZERO + Ns::from_us(3000)));
    assert!(trace.events > 0);
}

/// Counts events and notes the end.
#[derive(Default)]
struct EndOfTrace {
    events: u32,
    end: Option<Time>,
}

impl Sink for EndOfTrace {
    fn event(&mut self, _: &Event) {
        self.events += 1;
    }

    fn end(&mut self, time: Time) {
        self.end = Some(time);
    }
}

#[test]
fn a_run_knows_whether_its_seed_was_used() {
    let same = || vec![run(100), sleep(100), run(100)];
    assert!(!Lab::new(1).task(same()).run().outcome.seed_used);
    let mut shuffled = Lab::new(1).task(same());
    shuffled.tie_break = TieBreak::Shuffled(1);
    assert!(shuffled.run().outcome.seed_used, "the order of events");
    let drawing = Lab::new(1)
        .task(vec![Op::Run(Amount::Drawn(0))])
        .with(|w| w.distributions = vec![Distribution::Uniform { low: 1, high: 9 }]);
    assert!(drawing.run().outcome.seed_used, "a task");
    let lottery = |tasks| {
        let tuned = Tuned::defaults(Policy::find("lottery").unwrap());
        let lab = Lab::under(1, tuned).tasks(tasks, same());
        lab.run().outcome.seed_used
    };
    assert!(lottery(2), "the policy");
    let jittery = Lab::new(1)
        .task(same())
        .machine(|m| m.tick_jitter = Ns(100))
        .for_us(5000);
    let jittery = jittery.task(forever(&[run(100)])).run();
    assert!(jittery.outcome.seed_used, "the machine");
}

#[test]
fn operations_count_towards_the_limit_of_events() {
    // One event: a thousand million operations that take no time.
    let mut lab = Lab::new(1).task(times(1_000_000_000, &[mark(0)]));
    lab.limits.events = 1000;
    match lab.try_run().err() {
        Some(SimError::TooManyEvents { limit, .. }) => assert_eq!(limit, 1000),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_run_has_at_most_so_many_events() {
    let mut lab = Lab::new(1).task(forever(&[run(100), sleep(100)]));
    lab.limits.events = 1000;
    match lab.try_run().err() {
        Some(SimError::TooManyEvents { limit, .. }) => assert_eq!(limit, 1000),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_run_has_at_most_so_many_tasks() {
    let mut lab = Lab::new(1)
        .task(forever(&[fork(1), run(100)]))
        .template(vec![run(1)]);
    lab.limits.tasks = 10;
    match lab.try_run().err() {
        // The tenth child would be the eleventh task: at 0.9 ms and a few turns of its elders.
        Some(SimError::TooManyTasks { limit, .. }) => assert_eq!(limit, 10),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_run_lasts_at_most_so_long() {
    let mut lab = Lab::new(1).task(forever(&[run(100)]));
    lab.limits.time = Ns::from_ms(7);
    assert!(
        matches!(lab.try_run().err(), Some(SimError::TooLong { limit }) if limit == Ns::from_ms(7))
    );
    let lab = lab.for_us(5000);
    lab.run().ends(5000, TimeUp);
}

#[test]
fn time_adds_up_when_the_end_comes_in_the_middle_of_kernel_work() {
    // Ends at all times within the first 200 µs of a busy machine: the engine checks its accounts.
    for end in 1..200 {
        let lab = Lab::new(2)
            .task(crate::common::lab::times(
                9,
                &[run(3), Op::SemPost(0), sleep(2)],
            ))
            .task(forever(&[Op::SemWait(0), run(4), Op::Yield]))
            .task(forever(&[fork(3), run(5), Op::WaitAll]))
            .template(vec![run(2)])
            .with(|w| w.semaphores = vec![0])
            .machine(|m| {
                m.costs.schedule = Ns(1300);
                m.costs.context_switch = Ns(700);
                m.costs.wakeup = Ns(900);
                m.costs.syscall = Ns(300);
                m.costs.fork = Ns(4100);
                m.costs.exit = Ns(2300);
                m.costs.ipi = Ns(1100);
                m.costs.idle_exit = Ns(1700);
            })
            .for_us(end);
        let ran = lab.run();
        assert!(ran.outcome.end.0 <= end * 1000);
    }
}
