//! Changes of nice values, classes and CPUs of tasks in every state.

use crate::common::lab::{disk, fork, mark, run, sleep, Lab, Ran};
use schedlab_policy::{Policy, Tuned};
use schedlab_sim::EndReason::Finished;
use schedlab_trace::{EventKind, Ns, PrevState, TaskClass};
use schedlab_workload::{Op, SpecId};

/// CPU sets 0, 1, ... with one CPU each.
fn one_cpu_sets(lab: Lab, nr_cpus: u32) -> Lab {
    lab.with(|w| w.cpu_sets = (0..nr_cpus).map(|c| vec![c]).collect())
}

fn repin(spec: u32, set: u32) -> Op {
    Op::Repin(SpecId(spec), Some(set))
}

fn moves(ran: &Ran) -> Vec<(u64, u32, u32, u32)> {
    ran.pick(|e| match e.kind {
        EventKind::Migrate { task, from, to } => Some((e.time.0 / 1000, task.0, from.0, to.0)),
        _ => None,
    })
}

#[test]
fn a_task_leaves_a_cpu_it_forbids_itself_at_once() {
    let lab = Lab::new(2).task(vec![run(1000), Op::SetCpus(Some(1)), run(1000)]);
    let ran = one_cpu_sets(lab, 2).run();
    assert_eq!(ran.began(0), [(0, 0), (1000, 1)]);
    let states = ran.pick(|e| match e.kind {
        EventKind::Switch { prev_state, .. } => Some(prev_state),
        _ => None,
    });
    use PrevState::{Exited, Idle, Moved};
    assert_eq!(states, [Idle, Moved, Idle, Exited]);
    ran.ends(2000, Finished);
}

#[test]
fn a_task_that_may_stay_stays() {
    let lab = Lab::new(2).task(vec![run(1000), Op::SetCpus(Some(0)), run(1000)]);
    let ran = one_cpu_sets(lab, 2).run();
    assert_eq!(ran.began(0), [(0, 0)]);
}

#[test]
fn a_waiting_task_changes_queues_at_once() {
    // 0 and 1 share CPU 0; CPU 1 is 2's, which sends 1 over to itself at 3 ms and ends at 4 ms.
    let lab = Lab::new(2)
        .task(vec![run(9000)])
        .on(&[0])
        .task(vec![run(5000)])
        .on(&[0])
        .task(vec![run(3000), repin(1, 2), run(1000)])
        .on(&[1]);
    let ran = lab.run();
    assert_eq!(moves(&ran), [(3000, 1, 0, 1)]);
    assert_eq!(ran.began(1), [(4000, 1)]);
    assert_eq!(ran.exits(), [(4000, 2), (9000, 0), (9000, 1)]);
}

#[test]
fn a_task_running_elsewhere_is_interrupted_and_moves() {
    // Task 0 on CPU 0 sends task 1 from CPU 1 to CPU 2 at 3 ms; the interrupt takes 20 µs.
    let lab = Lab::new(3)
        .task(vec![run(3000), repin(1, 2), run(5000)])
        .on(&[0])
        .task(vec![run(9000)])
        .on(&[1])
        .machine(|m| m.costs.ipi = Ns::from_us(20));
    let ran = lab.with(|w| w.cpu_sets.push(vec![2])).run();
    // Both began at 0.02 ms, as the start of the run interrupts idle CPUs too.  So it is told at
    // 3.02 ms, out at 3.04, and in on the idle CPU 2 one interrupt later.
    let began = ran.began(1);
    assert_eq!(began[1], (3060, 2), "{began:?}");
    assert_eq!(moves(&ran), [(3040, 1, 1, 2)]);
}

#[test]
fn a_sleeping_task_moves_when_it_wakes() {
    let lab = Lab::new(2)
        .task(vec![sleep(5000), run(1000)])
        .on(&[0])
        .task(vec![run(1000), repin(0, 1), run(500)])
        .on(&[1]);
    let ran = lab.run();
    assert_eq!(ran.began(0), [(0, 0), (5000, 1)]);
    assert_eq!(moves(&ran), []);
}

#[test]
fn a_task_that_is_being_woken_goes_where_it_may() {
    // Two sleepers are woken together on CPU 0 at 1 ms, 30 µs each; 10 µs later both are sent to
    // CPU 1.
    let lab = Lab::new(2)
        .tasks(
            2,
            vec![
                Op::CondWait {
                    condition: 0,
                    mutex: None,
                },
                run(1000),
            ],
        )
        .on(&[0])
        .task(vec![run(1000), Op::CondBroadcast(0), run(1000)])
        .on(&[0])
        .task(vec![run(1010), repin(0, 2), run(500)])
        .on(&[1])
        .with(|w| w.nr_conditions = 1)
        .machine(|m| m.costs.wakeup = Ns::from_us(30));
    let ran = lab.run();
    // Task 0's wakeup began at 1.0 ms and is completed: it is moved from the queue of CPU 0. Task
    // 1's begins at 1.03 ms: it is queued on CPU 1 at once.
    assert_eq!(moves(&ran), [(1010, 0, 0, 1)]);
    let targets = ran.pick(|e| match e.kind {
        EventKind::Wakeup { task, target } if e.time.0 > 0 => Some((task.0, target.0)),
        _ => None,
    });
    assert_eq!(targets, [(0, 0), (1, 1)]);
}

#[test]
fn a_task_whose_cpus_change_while_it_falls_asleep_does_not_wake_where_it_may_not_run() {
    // Task 0 spends 100 µs in the kernel on its way to sleep for a disk, which is done at 60 µs.
    // Meanwhile, at 30 µs, task 1 sends it to CPU 1: it never sleeps, and must leave CPU 0 all
    // the same, as soon as it is out of the system call.
    let lab = Lab::new(2)
        .task(vec![disk(60), run(1000)])
        .on(&[0])
        .task(vec![run(30), repin(0, 1), run(10)])
        .on(&[1])
        .with(|w| w.nr_disks = 1)
        .machine(|m| m.costs.syscall = Ns::from_us(100));
    let ran = lab.run();
    assert_eq!(ran.wakings(0), 0);
    assert_eq!(ran.began(0)[1].1, 1);
    assert_eq!(moves(&ran), [(100, 0, 0, 1)]);
}

#[test]
fn a_change_taken_back_before_it_took_effect_moves_nobody() {
    // Task 1 runs on CPU 1; task 0 sends it to CPU 0 and back while the interrupt is on its way.
    let lab = Lab::new(2)
        .task(vec![run(1000), repin(1, 0), repin(1, 1), run(3000)])
        .on(&[0])
        .task(vec![run(5000)])
        .on(&[1])
        .machine(|m| m.costs.ipi = Ns::from_us(20));
    let ran = lab.run();
    assert_eq!(moves(&ran), []);
    assert_eq!(ran.began(1).len(), 1);
}

#[test]
fn an_exiting_task_is_left_alone() {
    // exit() takes 100 µs from 1 ms on; at 1.05 ms it is told to be elsewhere, and nicer.
    let lab = Lab::new(2)
        .task(vec![run(1000)])
        .on(&[0])
        .task(vec![
            run(1050),
            repin(0, 1),
            Op::Renice(SpecId(0), 5),
            Op::Reclass(SpecId(0), TaskClass::Fifo, 5),
            run(500),
        ])
        .on(&[1])
        .machine(|m| m.costs.exit = Ns::from_us(100));
    let ran = lab.run();
    assert_eq!(moves(&ran), []);
    let changes = ran
        .pick(|e| matches!(e.kind, EventKind::Nice { .. } | EventKind::Class { .. }).then_some(()));
    assert_eq!(changes.len(), 0);
}

#[test]
fn a_task_that_has_yet_to_start_is_left_alone_but_a_forked_one_is_not() {
    // Specification 1 starts at 9 ms.  Specification 2 is forked at 1 ms and takes 100 µs to be
    // forked; task 3 renices both at 1.05 ms.
    let lab = Lab::new(3)
        .task(vec![run(1000), fork(2), run(1000)])
        .task(vec![run(1)])
        .at(9000)
        .template(vec![run(500)])
        .task(vec![
            run(1050),
            Op::Renice(SpecId(1), 3),
            Op::Renice(SpecId(2), 4),
        ])
        .machine(|m| m.costs.fork = Ns::from_us(100));
    let ran = lab.run();
    let changes = ran.pick(|e| match e.kind {
        EventKind::Nice { task, nice } => Some((e.time.0 / 1000, task.0, nice)),
        _ => None,
    });
    // Tasks of the start are 0, 1 and 2 (the one that renices); the child is 3.
    assert_eq!(changes, [(1050, 3, 4)]);
}

// ---- effects under a policy: o1 at 1000 Hz ---------------------------------------------

fn o1(nr_cpus: u32) -> Lab {
    let tuned = Tuned::new(Policy::find("o1").unwrap(), Some("2.6.11"), &[]).unwrap();
    Lab::under(nr_cpus, tuned)
}

#[test]
fn a_waiting_task_made_real_time_runs_at_once() {
    // 0 computes; 1 waits behind it on the same CPU; 2, on the other CPU, makes 1 SCHED_FIFO.
    let lab = o1(2)
        .task(vec![run(50_000)])
        .on(&[0])
        .task(vec![run(10_000), mark(1)])
        .on(&[0])
        .task(vec![
            run(2500),
            Op::Reclass(SpecId(1), TaskClass::Fifo, 10),
            run(100_000),
        ])
        .on(&[1]);
    let ran = lab.run();
    assert_eq!(ran.marks(), [(12_500, 1, 1)]);
    assert_eq!(ran.exit_ns(0), 60_000_000);
}

#[test]
fn a_running_real_time_task_made_normal_shares_again() {
    // 1 is SCHED_FIFO until it makes itself normal at 300 ms; from then on both take turns, so 0
    // ends before the 200 ms that 1 has left are over.
    let lab = o1(1)
        .task(vec![run(100_000)])
        .task(vec![
            run(300_000),
            Op::SetClass(TaskClass::Normal, 0),
            run(200_000),
        ])
        .but(|t| (t.class, t.rt_priority) = (TaskClass::Fifo, 1));
    let ran = lab.run();
    assert!(ran.exit_ns(0) > 400_000_000 && ran.exit_ns(0) < 600_000_000);
    assert_eq!(ran.exit_ns(1), 600_000_000);
}

#[test]
fn a_task_that_makes_itself_nicer_gets_less_from_then_on() {
    // Slices: 100 ms at nice 0, 5 ms at nice 19.  Of 10.5 s it gets the slice it was born with
    // and 1/21 of the rest: 100 + 10,400 / 21 = 595 ms.
    let hog = crate::common::lab::forever(&[run(1000), mark(0)]);
    let mut nicer = vec![Op::SetNice(19)];
    nicer.extend(
        crate::common::lab::forever(&[run(1000), mark(1)])
            .into_iter()
            .map(|op| match op {
                Op::Loop { times, end } => Op::Loop {
                    times,
                    end: end + 1,
                },
                Op::EndLoop { start } => Op::EndLoop { start: start + 1 },
                op => op,
            }),
    );
    let ran = o1(1).task(hog).task(nicer).for_us(10_500_000).run();
    let mine = ran.marks().iter().filter(|m| m.2 == 1).count();
    assert!((585..=605).contains(&mine), "{mine} ms, not about 595");
}
