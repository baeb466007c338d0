//! Features for replayed recordings: tasks that sleep from the start, recorded sleeps, and tasks
//! whose recording ended before they did.

use crate::common::lab::{fork, mark, run, sleep, Lab};
use schedlab_policy::{Policy, Tuned};
use schedlab_sim::EndReason::{Deadlock, Finished};
use schedlab_trace::{EventKind, Ns, PrevState, TaskClass, WakeContext};
use schedlab_workload::Op;

const POST: Op = Op::SemPost(0);
const WAIT: Op = Op::SemWait(0);
const SLEEP: Op = Op::SemSleep(0);

fn with_semaphore(lab: Lab, value: u32) -> Lab {
    lab.with(|w| w.semaphores = vec![value])
}

/// States in which tasks were left.
fn left(ran: &crate::common::lab::Ran) -> Vec<PrevState> {
    ran.pick(|e| match e.kind {
        EventKind::Switch {
            prev: Some(_),
            prev_state,
            ..
        } => Some(prev_state),
        _ => None,
    })
}

#[test]
fn a_dormant_task_begins_when_it_is_first_woken() {
    // It neither runs nor is forked before 3 ms, when the other posts its semaphore.
    let lab = Lab::new(2)
        .task(vec![run(3000), POST, run(1000)])
        .task(vec![SLEEP, run(500)])
        .but(|t| t.dormant = true);
    let ran = with_semaphore(lab, 0).run();
    assert_eq!(ran.began(1), [(3000, 1)]);
    assert_eq!(ran.exits(), [(3500, 1), (4000, 0)]);
    let forks = ran.pick(|e| match e.kind {
        EventKind::Fork { child, parent } => Some((e.time.0 / 1000, child.0, parent)),
        _ => None,
    });
    assert_eq!(forks, [(0, 0, None), (3000, 1, None)]);
    let wakings = ran.pick(|e| match e.kind {
        EventKind::Waking { task, by } => Some((task.0, by)),
        _ => None,
    });
    assert_eq!(wakings, [(1, WakeContext::Task)]);
}

#[test]
fn a_dormant_task_nobody_wakes_is_a_deadlock() {
    let lab = Lab::new(1)
        .task(vec![run(1000)])
        .task(vec![WAIT])
        .but(|t| t.dormant = true);
    with_semaphore(lab, 0).run().ends(1000, Deadlock);
}

#[test]
fn a_dormant_task_must_begin_with_a_semaphore() {
    let lab = Lab::new(1).task(vec![run(1000)]).but(|t| t.dormant = true);
    let error = lab.try_run().err().expect("it cannot begin");
    assert!(error.to_string().contains("dormant"), "{error}");
}

#[test]
fn a_sleep_until_a_time_that_is_over_is_none() {
    // Until 5 ms: sleeps at 1 ms, not at 6 ms.
    let until = Op::SleepUntil(Ns::from_ms(5));
    let ran = Lab::new(1)
        .task(vec![run(1000), until, run(1000), until, mark(0)])
        .with(|w| w.marks = vec!["done".into()])
        .run();
    assert_eq!(ran.began(0), [(0, 0), (5000, 0)]);
    assert_eq!(ran.marks(), [(6000, 0, 0)]);
}

#[test]
fn a_recorded_wait_sleeps_even_if_it_was_posted_before() {
    // The semaphore is 1: a plain wait goes on, a recorded one is switched away from and back.
    let plain = with_semaphore(Lab::new(1).task(vec![run(1000), WAIT, run(1000)]), 1).run();
    assert_eq!(left(&plain), [PrevState::Exited]);
    let recorded = with_semaphore(Lab::new(1).task(vec![run(1000), SLEEP, run(1000)]), 1).run();
    assert_eq!(left(&recorded), [PrevState::Sleeping, PrevState::Exited]);
    assert_eq!(recorded.began(0), [(0, 0), (1000, 0)]);
    recorded.ends(2000, Finished);
}

#[test]
fn who_sleeps_for_a_moment_lets_others_go_first() {
    // FIFO: the task is queued again behind the one that waited.
    let lab = Lab::new(1)
        .task(vec![run(1000), SLEEP, run(1000)])
        .task(vec![run(5000)]);
    let ran = with_semaphore(lab, 1).run();
    assert_eq!(ran.exits(), [(6000, 1), (7000, 0)]);
}

#[test]
fn no_post_of_a_recorded_wait_is_lost() {
    // Three posts while the other still computes: its three waits are for a moment each.
    let lab = Lab::new(2).task(vec![POST, POST, POST]).task(vec![
        run(1000),
        SLEEP,
        SLEEP,
        SLEEP,
        run(1000),
    ]);
    with_semaphore(lab, 0).run().ends(2000, Finished);
}

#[test]
fn a_recorded_wait_sleeps_with_costs_too() {
    // The switch away takes 2 µs, and so does the switch back.
    let lab = Lab::new(1).task(vec![run(1000), SLEEP, run(1000)]);
    let ran = with_semaphore(lab, 1).run_with(|m| m.costs.schedule = Ns::from_us(2));
    assert_eq!(left(&ran), [PrevState::Sleeping, PrevState::Exited]);
}

#[test]
fn the_run_does_not_wait_for_a_task_that_rests() {
    let ran = Lab::new(1)
        .task(vec![run(1000), Op::Rest])
        .task(vec![run(2000)])
        .run();
    ran.ends(3000, Finished);
    assert_eq!(left(&ran), [PrevState::Sleeping, PrevState::Exited]);
    Lab::new(1)
        .task(vec![run(1000), Op::Rest])
        .run()
        .ends(1000, Finished);
}

#[test]
fn waits_for_a_device_are_deaf_to_signals() {
    let ran = Lab::new(1)
        .task(vec![Op::Uninterruptible, sleep(1000), sleep(1000)])
        .run();
    let (d, s) = (PrevState::DiskSleep, PrevState::Sleeping);
    assert_eq!(left(&ran), [d, s, PrevState::Exited]);
}

#[test]
fn reaping_does_not_wait() {
    // At 1 ms the child (2 ms, on the other CPU) lives, at 4 ms it is dead.
    let ran = Lab::new(2)
        .task(vec![
            fork(1),
            run(1000),
            Op::Reap,
            run(3000),
            Op::Reap,
            run(1000),
        ])
        .template(vec![run(2000)])
        .run();
    let reaped = ran.pick(|e| match e.kind {
        EventKind::Reap { task, reaper } => Some((e.time.0 / 1000, task.0, reaper.map(|r| r.0))),
        _ => None,
    });
    assert_eq!(reaped[0], (4000, 1, Some(0)));
}

#[test]
fn work_in_the_kernel_is_not_preempted() {
    // A real-time task is woken at 1 ms: it runs at once, or when the 200 µs in the kernel are over.
    let lab = |then: Op| {
        let lab = Lab::under(1, o1())
            .task(vec![run(1000), POST, then, run(800)])
            .task(vec![SLEEP, run(500)])
            .but(|t| {
                t.dormant = true;
                (t.class, t.rt_priority) = (TaskClass::Fifo, 50);
            });
        with_semaphore(lab, 0).run()
    };
    assert_eq!(lab(run(200)).began(1), [(1000, 0)]);
    let in_kernel = lab(Op::RunInKernel(Ns::from_us(200)));
    assert_eq!(in_kernel.began(1), [(1200, 0)]);
    in_kernel.ends(2500, Finished);
}

#[test]
fn a_task_in_the_kernel_can_still_sleep() {
    let kernel = Op::RunInKernel(Ns::from_us(200));
    let ran = Lab::new(1).task(vec![kernel, sleep(300), run(100)]).run();
    assert_eq!(ran.began(0), [(0, 0), (500, 0)]);
}

fn o1() -> Tuned {
    Tuned::defaults(Policy::find("o1").unwrap())
}
