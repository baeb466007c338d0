//! mlfq without a simulator: the rules of the textbook, one by one.
//!
//! Three queues with slices of 10, 20 and 40 ms and allotments of 20, 40 and 80 ms; a tick of the
//! script is 10 ms.  The policy's numbers: 100 is the top queue, 101 and 102 those below.

use crate::script::{normal, random, real_time, Machine};
use schedlab_policy::{Class, NewTask, Policy};
use schedlab_trace::TaskId;

const MS: u64 = 1_000_000;
const TOP: i32 = 100;

/// One CPU with this many tasks, of which the first runs.
fn hogs(variant: &str, count: usize) -> (Machine, Vec<TaskId>) {
    let mut m = Machine::new(&format!("mlfq{variant}"), 1, &[]);
    let tasks: Vec<TaskId> = (0..count).map(|_| m.start(&normal(0))).collect();
    assert_eq!(m.schedule(0), Some(tasks[0]));
    (m, tasks)
}

/// Ticks until the running task is preempted; returns their number and the next task.
fn turn(m: &mut Machine) -> (u32, TaskId) {
    let mut ticks = 1;
    while !m.ticks(0, 1) {
        ticks += 1;
        assert!(ticks < 1000, "no slice ends");
    }
    (ticks, m.schedule(0).expect("somebody runs"))
}

#[test]
fn it_compiles_at_run_time_too() {
    let source = std::path::Path::new("../../policies/mlfq/mlfq.c");
    assert_eq!(Policy::compile(source).unwrap().name(), "mlfq");
}

/// Rules 2, 3 and 4: round robin by slices of 10 ms until 20 ms are used, then by 20 ms until 40
/// more are, then by 40 ms for ever.
#[test]
fn hogs_take_turns_and_move_down() {
    let (mut m, tasks) = hogs("", 2);
    let (a, b) = (tasks[0], tasks[1]);
    assert_eq!((m.priority(a), m.priority(b)), (TOP, TOP));
    let ticks: Vec<u32> = (0..12)
        .map(|i| {
            let (ticks, next) = turn(&mut m);
            assert_eq!(next, [b, a][i % 2]);
            ticks
        })
        .collect();
    assert_eq!(ticks, [1, 1, 1, 1, 2, 2, 2, 2, 4, 4, 4, 4]);
    assert_eq!((m.priority(a), m.priority(b)), (TOP + 2, TOP + 2));
}

/// Rule 1: a task in a higher queue preempts at once; the preempted task continues with the rest of its slice.
#[test]
fn the_higher_queue_preempts() {
    let (mut m, tasks) = hogs("", 2);
    for _ in 0..4 {
        turn(&mut m);
    }
    m.ticks(0, 1); // half of 20 ms
    let new = m.add(&normal(0));
    assert_eq!(m.wake(new), [0]);
    assert_eq!(m.schedule(0), Some(new));
    assert_eq!(m.block(0), Some(tasks[0]), "before its equal");
    assert_eq!(turn(&mut m), (1, tasks[1]), "the other half");
    assert_eq!(m.wake(new), [0]);
}

/// Rule 4: 1 ms before its slice ends it blocks, again and again.  Its allotment of 20 ms is used
/// up in the third turn of 9 ms all the same.
#[test]
fn blocking_in_time_does_not_help() {
    let (mut m, tasks) = hogs("", 2);
    let gamer = tasks[0];
    let mut levels = Vec::new();
    for _ in 0..3 {
        m.after(9 * MS);
        m.block(0);
        m.after(MS);
        m.wake(gamer);
        levels.push(m.priority(gamer));
        m.block(0); // the other one
        m.wake(tasks[1]);
        assert_eq!(m.running(0), Some(gamer));
    }
    assert_eq!(levels, [TOP, TOP, TOP + 1]);
}

/// Rule 4b without accounting: the task stays in the top queue, and tasks below starve.
#[test]
fn blocking_in_time_helped_once() {
    let (mut m, tasks) = hogs(":naive", 2);
    let gamer = tasks[0];
    for _ in 0..50 {
        m.after(9 * MS);
        m.block(0);
        if m.wake(gamer).is_empty() {
            m.ticks(0, 1); // its equal has a slice, once
        }
        assert_eq!(m.priority(gamer), TOP);
        assert_eq!(m.schedule(0), Some(gamer));
    }
    assert_eq!(m.priority(tasks[1]), TOP + 1, "it had one slice");
}

/// Rule 5: all of them, in the order of their queues, with new allotments.
#[test]
fn a_boost_lifts_everybody_to_the_top() {
    let (mut m, tasks) = hogs("", 3);
    let (a, b, c) = (tasks[0], tasks[1], tasks[2]);
    for _ in 0..6 {
        turn(&mut m); // a, b, c, a, b, c: all at the second queue
    }
    turn(&mut m); // a: 20 ms
    turn(&mut m); // b
    turn(&mut m); // c
    turn(&mut m); // a falls to the third, b runs
    assert_eq!(
        [a, b, c].map(|t| m.priority(t)),
        [TOP + 2, TOP + 1, TOP + 1]
    );
    let sleeper = m.add(&normal(0));
    m.work();
    m.timer(0);
    assert_eq!(m.work().recalculated, 4, "sleepers, too");
    assert_eq!([a, b, c, sleeper].map(|t| m.priority(t)), [TOP; 4]);
    assert_eq!(
        m.schedule(0),
        Some(b),
        "it goes on with a slice of the top queue"
    );
    assert_eq!(turn(&mut m), (1, c), "which was in the higher queue");
    assert_eq!(turn(&mut m), (1, a));
    assert_eq!(turn(&mut m), (1, b));
}

#[test]
fn yield_goes_behind_the_equals_and_costs_nothing_else() {
    let (mut m, tasks) = hogs("", 2);
    m.after(4 * MS);
    assert_eq!(m.yields(0), Some(tasks[1]));
    assert_eq!(m.block(0), Some(tasks[0]));
    assert_eq!(turn(&mut m), (1, tasks[0]), "a whole slice");
    m.after(6 * MS);
    m.block(0);
    assert_eq!(
        m.priority(tasks[0]),
        TOP + 1,
        "4 + 10 + 6 ms are an allotment"
    );
}

/// With `nice_levels`, nice 7 to 13 start in the second of three queues, 14 to 19 in the third, all others in the first.
#[test]
fn nice_lowers_the_queue_of_entry() {
    let mut m = Machine::new("mlfq", 1, &[("nice_levels", 1)]);
    for (nice, level) in [(-20, 0), (0, 0), (6, 0), (7, 1), (13, 1), (14, 2), (19, 2)] {
        let task = m.start(&normal(nice));
        assert_eq!(m.priority(task), TOP + level, "nice {nice}");
    }
    let mut m = Machine::new("mlfq", 1, &[]);
    let task = m.start(&normal(19));
    assert_eq!(m.priority(task), TOP);
}

#[test]
fn renice_is_no_way_to_the_top() {
    let mut m = Machine::new("mlfq", 1, &[("nice_levels", 1)]);
    m.start(&normal(0));
    m.schedule(0);
    let waiting = m.start(&normal(0));
    m.set_nice(waiting, 19);
    assert_eq!(m.priority(waiting), TOP + 2);
    m.set_nice(waiting, 0);
    assert_eq!(m.priority(waiting), TOP + 2, "until the next boost");
    m.timer(0);
    assert_eq!(m.priority(waiting), TOP);
}

/// In the manner of CTSS: 16, 32, 64 ms by the tick, and back to the top after each wait.
#[test]
fn each_wait_for_the_user_is_a_new_command() {
    let (mut m, tasks) = hogs(":ctss", 1);
    let ticks: Vec<u32> = (0..3).map(|_| turn(&mut m).0).collect();
    assert_eq!(ticks, [2, 4, 7], "slices end at ticks");
    assert_eq!(m.priority(tasks[0]), TOP + 3);
    m.block(0);
    m.wake(tasks[0]);
    assert_eq!(m.priority(tasks[0]), TOP);
}

#[test]
fn real_time_is_above_and_idle_below() {
    let mut m = Machine::new("mlfq", 1, &[]);
    let idle = m.start(&NewTask {
        class: Class::Idle,
        ..normal(0)
    });
    assert_eq!(m.schedule(0), Some(idle));
    let lowest = m.add(&normal(19));
    assert_eq!(m.wake(lowest), [0]);
    m.schedule(0);
    let rr = m.add(&real_time(Class::Rr, 1));
    assert_eq!(m.wake(rr), [0]);
    let equal = m.start(&real_time(Class::Rr, 1));
    assert_eq!(m.schedule(0), Some(rr));
    assert_eq!(turn(&mut m), (10, equal), "SCHED_RR takes turns of 100 ms");
    let fifo = m.add(&real_time(Class::Fifo, 2));
    assert_eq!(m.wake(fifo), [0]);
    assert_eq!(m.schedule(0), Some(fifo));
    assert!(!m.ticks(0, 500), "SCHED_FIFO does not");
    let next: Vec<Option<TaskId>> = (0..4).map(|_| m.block(0)).collect();
    assert_eq!(next, [Some(equal), Some(rr), Some(lowest), Some(idle)]);
}

/// One queue for all: an idle CPU first, then the one that runs the lowest; its own of equals.
#[test]
fn a_waking_task_goes_to_the_cpu_that_does_the_worst() {
    let mut m = Machine::new("mlfq", 3, &[("nice_levels", 1)]);
    for cpu in [0, 1] {
        let hog = m.pinned(cpu, if cpu == 1 { 19 } else { 0 });
        m.start(&hog);
        m.schedule(cpu);
    }
    let task = m.add(&normal(0));
    assert_eq!(m.wake(task), [2], "idle");
    assert_eq!(m.schedule(2), Some(task));
    let second = m.add(&normal(0));
    assert_eq!(m.wake(second), [1], "nice 19");
    assert_eq!(m.schedule(1), Some(second));
    let third = m.add(&normal(0));
    assert_eq!(m.wake(third), [], "equals everywhere");
    let pinned = m.pinned(1, 0);
    let pinned = m.start(&pinned);
    assert_eq!(m.block(2), Some(third), "the other may not run here");
    assert_ne!(m.block(1), None);
    assert_eq!(m.running(1), Some(pinned));
}

#[test]
fn random_lives_lose_no_task_and_waste_no_cpu() {
    let switches: [&[(&str, i64)]; 4] = [
        &[("boost_ms", 20)],
        &[("forgive", 1), ("boost_ms", 0)],
        &[("wake_at_top", 1), ("levels", 9), ("boost_ms", 100)],
        &[("levels", 7), ("nice_levels", 1), ("boost_ms", 20)],
    ];
    for set in switches {
        for cpus in [1, 2, 5] {
            for seed in 1..=10 {
                let mut m = Machine::new("mlfq", cpus, set);
                random::live(&mut m, seed, 500);
            }
        }
    }
}
