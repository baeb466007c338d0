//! The dispatch queue of a task.

use super::*;
use crate::script::on_cpu;

/// Each CPU runs a task of its own of this nice.
fn all_busy(cpus: u32, nice: i8) -> (Machine, Vec<TaskId>) {
    let mut m = Machine::new("svr4", cpus, &[]);
    m.after(100 * TICK_NS);
    let running = (0..cpus).map(|cpu| {
        let task = m.pinned(cpu, nice);
        let task = m.start(&task);
        assert_eq!(m.schedule(cpu), Some(task));
        task
    });
    let running = running.collect();
    (m, running)
}

fn cpu_of(m: &Machine, task: TaskId) -> u32 {
    m.host.task(task).cpu
}

#[test]
fn who_ran_three_ticks_ago_stays_who_ran_four_ago_does_not() {
    for (ticks, cpu) in [(3, 0), (4, 1)] {
        let (mut m, _) = all_busy(2, 0);
        m.set_nice(TaskId(1), 1); // CPU 1 is the worse one
        let task = m.start(&on_cpu(0, -1));
        m.schedule(cpu_of(&m, task));
        assert_eq!(
            cpu_of(&m, task),
            1,
            "a new task goes to the lowest priority"
        );
        m.set_nice(TaskId(0), 2); // now it is CPU 0
        m.block(1);
        m.after(ticks * TICK_NS);
        m.wake(task);
        assert_eq!(cpu_of(&m, task), 1 - cpu, "{ticks} ticks");
    }
}

/// The task is cache-warm and stays on its busy CPU; the idle CPU is notified and takes it.
#[test]
fn an_idle_cpu_comes_and_takes() {
    let mut m = Machine::new("svr4", 2, &[]);
    m.after(100 * TICK_NS);
    let hog = m.pinned(0, -10);
    let hog = m.start(&hog);
    m.schedule(0);
    let task = m.start(&on_cpu(0, 0));
    assert_eq!(cpu_of(&m, task), 1);
    m.schedule(1);
    let mask = m.host.add_cpu_set(&[0]);
    m.set_cpus(task, mask);
    assert_eq!(cpu_of(&m, task), 0);
    m.set_cpus(task, 0);
    m.block(0);
    assert_eq!(m.running(0), Some(task));
    m.wake(hog);
    m.schedule(0); // 59 against 29
    assert_eq!(m.running(0), Some(hog));
    assert_eq!(m.asked(), [1], "somebody waits and CPU 1 idles");
    assert_eq!(m.schedule(1), Some(task));
}

#[test]
fn the_best_task_of_all_queues_is_taken_first() {
    let (mut m, running) = all_busy(3, -20);
    let low = m.start(&on_cpu(0, 0));
    let better = m.start(&on_cpu(1, -2));
    let here = [cpu_of(&m, low), cpu_of(&m, better)];
    assert_eq!(here, [0, 1]);
    let pinned = m.pinned(1, -5);
    let pinned = m.start(&pinned);
    m.work();
    assert_eq!(
        m.block(2),
        Some(better),
        "44 is pinned, 35 is better than 29"
    );
    assert_eq!(m.block(2), Some(low));
    assert_eq!(m.block(2), None);
    assert!(m.host.queued(pinned).unwrap());
    assert_eq!(m.running(0), Some(running[0]));
}

/// disp_getwork() is called until there is work: a CPU that could not lock the other's queue looks again.
#[test]
fn an_idle_cpu_looks_again_after_a_refused_lock() {
    let mut m = Machine::new("svr4", 2, &[]);
    let hog = m.pinned(0, -20);
    let hog = m.start(&hog);
    assert_eq!(m.schedule(0), Some(hog));
    let task = m.pinned(0, 0);
    let task = m.start(&task);
    m.set_cpus(task, 0);
    assert_eq!(m.refuse_locks(true).schedule(1), None);
    assert_eq!(m.asked(), [1]);
    assert_eq!(m.refuse_locks(false).schedule(1), Some(task));
}

/// Queues of one level may differ by 2 from level 16 on and by nothing below.
#[test]
fn queue_lengths_are_matched() {
    // nice 0 is level 29; nice 5 is level 14.
    for (nice, cpus) in [(0, [0, 0, 0, 1, 0, 1]), (5, [0, 1, 0, 1, 0, 1])] {
        let (mut m, _) = all_busy(2, -20);
        let placed = cpus.map(|_| {
            let task = m.add(&on_cpu(0, nice));
            state(&m, task).disp_tick = 100; // warm
            m.wake(task);
            cpu_of(&m, task)
        });
        assert_eq!(placed, cpus, "nice {nice}");
    }
}

/// A quantum used up on CPU 0, where two others of level 0 wait, is followed by one on CPU 1, where no task waits.
#[test]
fn a_used_up_quantum_is_a_moment_to_move() {
    let mut m = Machine::new("svr4", 2, &[]);
    m.after(100 * TICK_NS);
    let other = m.pinned(1, -20);
    m.start(&other);
    m.schedule(1);
    let task = m.start(&on_cpu(0, 0));
    m.schedule(0);
    for _ in 0..2 {
        let pinned = m.pinned(0, 0);
        let pinned = m.add(&pinned);
        place(&m, pinned, 0, 20, 0);
        m.wake(pinned);
    }
    place(&m, task, 0, 1, 0);
    m.ticks(0, 1);
    assert_ne!(m.schedule(0), Some(task));
    assert_eq!(cpu_of(&m, task), 1);
}

#[test]
fn who_is_pushed_aside_goes_where_its_level_wins() {
    let (mut m, _) = all_busy(2, 5); // 14
    let task = m.start(&on_cpu(0, 0));
    m.schedule(0);
    assert_eq!(m.running(0), Some(task));
    let better = m.pinned(0, -20);
    let better = m.start(&better);
    assert_eq!(m.schedule(0), Some(better));
    assert_eq!(cpu_of(&m, task), 1);
    assert_eq!(m.asked(), [1], "29 preempts 14 there");
    assert_eq!(m.schedule(1), Some(task));
}
