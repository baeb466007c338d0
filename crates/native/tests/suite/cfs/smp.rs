//! Several CPUs that share a cache: placement, and balancing.

use schedlab_policy::enq;
use schedlab_trace::TaskId;

use crate::script::{normal, on_cpu, Machine};

fn machine(cpus: u32) -> Machine {
    Machine::new("cfs", cpus, &[("hz", 100), ("start_debit", 0)])
}

fn cpu_of(m: &Machine, task: TaskId) -> u32 {
    m.host.task(task).cpu
}

/// A hog runs on each of these CPUs.
fn hogs_on(m: &mut Machine, cpus: &[u32]) -> Vec<TaskId> {
    let start = |cpu: &u32| {
        let hog = m.start(&on_cpu(*cpu, 0));
        m.schedule(*cpu);
        hog
    };
    cpus.iter().map(start).collect()
}

#[test]
fn a_wakeup_goes_to_the_previous_cpu_if_that_idles() {
    let mut m = machine(4);
    hogs_on(&mut m, &[0]);
    let task = m.add(&on_cpu(2, 0));
    m.from(0);
    assert_eq!(m.wake(task), [2]);
    assert_eq!(cpu_of(&m, task), 2);
}

#[test]
fn else_to_an_idle_cpu_that_shares_the_cache() {
    let mut m = machine(4);
    hogs_on(&mut m, &[0, 1, 2]);
    let task = m.add(&on_cpu(2, 0));
    m.from(0);
    assert_eq!(m.wake(task), [3]);
    assert_eq!(cpu_of(&m, task), 3);
}

#[test]
fn a_timer_on_an_idle_cpu_draws_it_there() {
    // wake_affine(): this CPU idles and shares the cache with the busy previous one.
    let mut m = machine(4);
    hogs_on(&mut m, &[2]);
    let task = m.add(&on_cpu(2, 0));
    m.from(1);
    m.enqueue(task, enq::WAKEUP | enq::IRQ);
    assert_eq!(cpu_of(&m, task), 1);
}

#[test]
fn when_all_are_busy_the_less_loaded_of_two_is_taken() {
    let mut m = machine(2);
    hogs_on(&mut m, &[0, 1]);
    let task = m.add(&on_cpu(1, 0));
    // 2048 * 100 here, 1024 * 108 there: stay.
    m.from(0);
    m.wake(task);
    assert_eq!(cpu_of(&m, task), 1);
    // With three tasks on CPU 1 it comes: 2048 * 100 < 3072 * 108.
    m.start(&on_cpu(1, 0));
    let other = m.add(&on_cpu(1, 0));
    m.wake(other);
    assert_eq!(cpu_of(&m, other), 0);
}

#[test]
fn a_child_starts_on_the_cpu_that_idled_last() {
    let mut m = machine(4);
    hogs_on(&mut m, &[0, 1]);
    let child = m.fork(0, &normal(0));
    m.enqueue(child, enq::NEW);
    assert!(cpu_of(&m, child) >= 2, "an idle one");
}

#[test]
fn an_idle_cpu_pulls_before_it_idles() {
    let mut m = machine(2);
    let hogs = hogs_on(&mut m, &[0]);
    let waiting = m.start(&on_cpu(0, 0));
    // It has never run: exec_start is long past, it is not cache-hot.
    m.after(10_000_000);
    assert_eq!(m.schedule(1), Some(waiting));
    assert_eq!(m.running(0), Some(hogs[0]));
}

#[test]
fn hot_tasks_stay_at_first() {
    let mut m = machine(2);
    hogs_on(&mut m, &[0]);
    let waiting = m.start(&on_cpu(0, 0));
    m.after(400_000);
    assert_eq!(m.schedule(1), None, "0.4 ms are less than 0.5");
    m.after(100_000);
    assert_eq!(m.schedule(1), Some(waiting));
}

#[test]
fn a_busy_cpus_tick_balances_for_idle_ones() {
    let mut m = machine(2);
    hogs_on(&mut m, &[0]);
    let waiting = m.start(&on_cpu(0, 0));
    m.ticks(0, 3);
    assert_eq!(cpu_of(&m, waiting), 1);
}

#[test]
fn busy_cpus_even_their_loads() {
    // 4 and 1 tasks: average 2.5, CPU 1 takes min(4 - 2.5, 2.5 - 1) = 1.5 tasks' weight: one.
    let mut m = machine(2);
    for cpu in [0, 0, 0, 0, 1] {
        m.start(&on_cpu(cpu, 0));
    }
    m.schedule(0);
    m.schedule(1);
    // Two CPUs: an interval of 2 ms, 16 times that for a busy CPU: its tick at 40 ms is the first.
    m.ticks(1, 4);
    let mut on = [0, 0];
    for task in 0..5 {
        on[cpu_of(&m, TaskId(task)) as usize] += 1;
    }
    assert_eq!(on, [3, 2]);
}

#[test]
fn weight_counts_not_number() {
    // Nice -5 weighs 3121, three of nice 0 3072: nothing to do.
    let mut m = machine(2);
    m.start(&on_cpu(0, -5));
    for _ in 0..3 {
        m.start(&on_cpu(1, 0));
    }
    m.start(&on_cpu(0, 19));
    m.schedule(0);
    m.schedule(1);
    m.ticks(0, 50);
    m.ticks(1, 50);
    let moved: Vec<u32> = (0..5).map(|t| cpu_of(&m, TaskId(t))).collect();
    assert_eq!(moved, [0, 1, 1, 1, 0]);
}

#[test]
fn real_time_tasks_wake_where_the_lowest_priority_runs() {
    let mut m = machine(3);
    let rt = |priority| crate::script::real_time(schedlab_policy::Class::Fifo, priority);
    hogs_on(&mut m, &[1]);
    m.start(&schedlab_policy::NewTask {
        cpu: schedlab_trace::CpuId(2),
        ..rt(10)
    });
    m.schedule(2);
    // It ran on CPU 0, where its equal runs now: CPU 1 runs a fair task, CPU 2 a lesser real-time one.
    m.start(&rt(50));
    m.schedule(0);
    let task = m.add(&rt(50));
    assert_eq!(m.wake(task), [1]);
    // A better one stays where it was.
    let better = m.add(&rt(51));
    assert_eq!(m.wake(better), [0]);
}

#[test]
fn an_idle_cpu_pulls_real_time_tasks_first() {
    let mut m = machine(2);
    let rt = crate::script::real_time(schedlab_policy::Class::Fifo, 5);
    let running = m.start(&rt);
    assert_eq!(m.schedule(0), Some(running));
    m.start(&on_cpu(0, 0));
    let waiting = m.start(&rt);
    m.after(10_000_000);
    assert_eq!(m.schedule(1), Some(waiting));
}

/// R, of nice -20, runs on CPU 0; beside it CPU 1 idles.  On the other cache three tasks share two CPUs.
fn beside_a_heavy_task(policy: &str) -> (Machine, Vec<TaskId>) {
    let mut m = Machine::of_caches(policy, &[2, 2], &[("hz", 100)]).unwrap();
    m.start(&on_cpu(0, -20));
    m.schedule(0);
    let make: Vec<TaskId> = [2, 3, 2]
        .iter()
        .map(|cpu| m.start(&on_cpu(*cpu, 0)))
        .collect();
    m.schedule(2);
    m.schedule(3);
    (m, make)
}

/// Ticks of CPU 0 balance for CPU 1: does one of the three come?
fn helped_beside_a_heavy_task(policy: &str) -> bool {
    let (mut m, make) = beside_a_heavy_task(policy);
    m.ticks(0, 50);
    make.iter().any(|task| cpu_of(&m, *task) == 1)
}

#[test]
fn an_idle_cpu_beside_a_heavy_task_helps_others() {
    // Three tasks for two CPUs there, room for one here.
    assert!(helped_beside_a_heavy_task("cfs"));
}

#[test]
fn up_to_4_12_it_did_not() {
    // A load of 88761 / 2 for each CPU here, of 3 * 1024 / 2 there: there is nothing to help with.
    assert!(!helped_beside_a_heavy_task("cfs:4.3"));
}

#[test]
fn unless_it_was_about_to_idle() {
    let (mut m, make) = beside_a_heavy_task("cfs:4.3");
    m.after(10_000_000);
    let waits = make
        .iter()
        .find(|task| Some(**task) != m.running(cpu_of(&m, **task)));
    assert_eq!(m.schedule(1), waits.copied());
}

#[test]
fn nor_was_a_gap_of_less_than_a_task_too_small_for_it() {
    // One task of nice 0 here and three on each of two other caches: an average of 7 * 1024 / 6 = 1194.  Caches of 1536
    // may lose 2 * (1536 - 1194) = 684, which is less than a task; yet one comes, with the first balancing.
    let mut m = Machine::of_caches("cfs:4.3", &[2, 2, 2], &[("hz", 100)]).unwrap();
    m.start(&on_cpu(0, 0));
    m.schedule(0);
    let make: Vec<TaskId> = [2, 3, 2, 4, 5, 4]
        .iter()
        .map(|cpu| m.start(&on_cpu(*cpu, 0)))
        .collect();
    (2..6).for_each(|cpu| {
        m.schedule(cpu);
    });
    m.ticks(0, 2);
    assert_eq!(
        make.iter().filter(|task| cpu_of(&m, **task) == 1).count(),
        1
    );
}
