//! The choice of a CPU, stealing and balancing.

use super::*;

const NO_HELP: [(&str, i64); 2] = [("balance", 0), ("steal_idle", 0)];

fn load(m: &Machine) -> Vec<u32> {
    (0..m.cpus()).map(|cpu| tdq(m, cpu).load).collect()
}

/// Puts this many hogs on each CPU, pinned while they are started, and lets them go anywhere then.
fn loaded(loads: &[u32], set: &[(&str, i64)]) -> Machine {
    let mut m = machine(loads.len() as u32, set);
    for (cpu, &load) in (0..).zip(loads) {
        for _ in 0..load {
            let pinned = m.pinned(cpu, 0);
            let task = m.start(&pinned);
            m.set_cpus(task, 0);
        }
        if load > 0 {
            m.schedule(cpu);
        }
    }
    assert_eq!(load(&m), loads);
    m
}

#[test]
fn a_thread_wakes_on_its_idle_warm_cpu() {
    for cpu in 0..3 {
        let mut m = machine(4, &NO_HELP);
        let pinned = m.pinned(cpu, 0);
        let task = m.start(&pinned);
        m.schedule(cpu);
        m.set_cpus(task, 0);
        m.block(cpu);
        m.from(3).after(1_000_000); // L2: 2 ms
        m.wake(task);
        assert_eq!(m.host.task(task).cpu, cpu);
    }
}

#[test]
fn a_busy_cpu_is_left_for_an_idle_one() {
    let mut m = machine(2, &NO_HELP);
    let task = run_on(&mut m, 0, &on_cpu(0, 0));
    m.block(0);
    let pinned = m.pinned(0, 0);
    m.start(&pinned);
    m.schedule(0);
    assert_eq!(m.wake(task), [1]);
    assert_eq!(m.host.task(task).cpu, 1);
}

#[test]
fn among_busy_cpus_the_least_loaded_is_chosen() {
    let mut m = loaded(&[3, 2, 4], &NO_HELP);
    m.from(2);
    let new = m.start(&on_cpu(2, 0));
    assert_eq!(m.host.task(new).cpu, 1);
}

#[test]
fn affinity_is_never_broken() {
    let mut m = machine(3, &[]);
    let pinned = m.pinned(2, 0);
    for _ in 0..5 {
        let task = m.start(&pinned);
        assert_eq!(m.host.task(task).cpu, 2);
    }
    assert_eq!(m.schedule(0), None, "nothing may be stolen");
    assert_eq!(load(&m), [0, 0, 5]);
}

#[test]
fn an_idle_cpu_steals_from_the_most_loaded_but_not_its_next_thread() {
    let mut m = loaded(&[2, 4, 0], &[("balance", 0)]);
    let waiting: Vec<TaskId> = (0..6)
        .map(TaskId)
        .filter(|t| m.host.task(*t).cpu == 1)
        .collect();
    let first = waiting[1]; // waiting[0] runs; all have the same bucket
    let stolen = m.schedule(2).unwrap();
    assert_eq!(load(&m), [2, 3, 1]);
    assert_eq!(stolen, waiting[2]);
    assert_ne!(stolen, first);
    // The only one is not spared.
    let mut m = loaded(&[2, 0], &[("balance", 0)]);
    assert_eq!(m.schedule(1), Some(TaskId(1)));
}

#[test]
fn an_idle_cpu_looks_again_after_a_refused_lock() {
    let mut m = loaded(&[2, 0], &[("balance", 0)]);
    assert_eq!(m.refuse_locks(true).schedule(1), None);
    assert_eq!(m.asked(), [1]);
    assert_eq!(m.refuse_locks(false).schedule(1), Some(TaskId(1)));
}

#[test]
fn stealing_has_a_threshold_and_a_switch() {
    for set in [("steal_idle", 0), ("steal_thresh", 3)] {
        let mut m = loaded(&[2, 0], &[("balance", 0), set]);
        assert_eq!(m.schedule(1), None, "{set:?}");
    }
}

#[test]
fn who_has_nothing_for_us_is_passed_over() {
    let mut m = machine(3, &[("balance", 0)]);
    let pinned = m.pinned(1, 0);
    for _ in 0..5 {
        m.start(&pinned);
    }
    m.schedule(1);
    let free = m.pinned(0, 0);
    let tasks = [m.start(&free), m.start(&free)];
    m.schedule(0);
    m.set_cpus(tasks[1], 0);
    assert_eq!(
        m.schedule(2),
        Some(tasks[1]),
        "from CPU 0, although CPU 1 has more"
    );
}

#[test]
fn balancing_pairs_the_most_and_the_least_loaded() {
    let balanced = |loads: &[u32]| {
        let mut m = loaded(loads, &[("steal_idle", 0)]);
        m.timer(0);
        load(&m)
    };
    assert_eq!(
        balanced(&[2, 1]),
        [1, 2],
        "one thread moves for an imbalance of one"
    );
    assert_eq!(balanced(&[1, 1]), [1, 1]);
    assert_eq!(balanced(&[5, 0]), [4, 1], "one for each pair");
    assert_eq!(balanced(&[6, 4, 0, 1]), [5, 3, 1, 2]);
}

#[test]
fn the_balancer_comes_every_half_to_one_and_a_half_intervals() {
    let mut m = machine(2, &[("balance_interval", 100)]);
    let mut now = 0;
    for _ in 0..50 {
        let (due, _) = m.next_timer().expect("it is set");
        assert!((500_000_000..1_500_000_000).contains(&(due - now)), "{due}");
        m.after(due - now).timer(0);
        now = due;
    }
}
