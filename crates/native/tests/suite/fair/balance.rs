//! The balancer that CFS and EEVDF share, with affinity, hyper-threads or real-time tasks.

use schedlab_policy::{NewTask, Topology};
use schedlab_trace::{CpuId, TaskId};

use crate::script::{on_cpu, real_time, Machine};

const POLICIES: [&str; 2] = ["cfs", "eevdf"];

fn cpu_of(m: &Machine, task: TaskId) -> u32 {
    m.host.task(task).cpu
}

/// Hogs that may run on `allowed`, one queued on each CPU of `on`; then all these CPUs run something.
fn hogs(m: &mut Machine, on: &[u32], allowed: &[u32]) -> Vec<TaskId> {
    let cpu_set = m.host.add_cpu_set(allowed);
    let start = |cpu: &u32| {
        m.start(&NewTask {
            cpu_set,
            ..on_cpu(*cpu, 0)
        })
    };
    let tasks = on.iter().map(start).collect();
    for cpu in on {
        m.schedule(*cpu);
    }
    tasks
}

#[test]
fn a_pinned_queue_does_not_hide_another() {
    for policy in POLICIES {
        let mut m = Machine::new(policy, 3, &[("hz", 100)]);
        hogs(&mut m, &[0, 0, 0], &[0]);
        let free = hogs(&mut m, &[1, 1], &[0, 1, 2]);
        m.after(10_000_000);
        let pulled = m.schedule(2);
        assert!(pulled.is_some_and(|task| free.contains(&task)), "{policy}");
    }
}

#[test]
fn nor_in_the_tick_of_another_cpu() {
    for policy in POLICIES {
        let mut m = Machine::new(policy, 3, &[("hz", 100)]);
        hogs(&mut m, &[0, 0, 0], &[0]);
        let free = hogs(&mut m, &[1, 1], &[0, 1, 2]);
        m.ticks(0, 3);
        assert_eq!(
            free.iter().filter(|task| cpu_of(&m, **task) == 2).count(),
            1,
            "{policy}"
        );
    }
}

#[test]
fn tasks_that_may_not_come_here_go_to_another_cpu_of_the_group() {
    // Two caches of four CPUs: four hogs for CPUs 3 to 6 share three, and CPU 0 balances for the idle cache.
    for policy in POLICIES {
        let mut m = Machine::of_caches(policy, &[4, 4], &[("hz", 100)]).unwrap();
        let tasks = hogs(&mut m, &[4, 4, 5, 6], &[3, 4, 5, 6]);
        m.ticks(5, 20);
        let mut on: Vec<u32> = tasks.iter().map(|task| cpu_of(&m, *task)).collect();
        on.sort_unstable();
        assert_eq!(on, [3, 4, 5, 6], "{policy}");
    }
}

#[test]
fn a_group_that_affinity_keeps_from_balance_is_helped() {
    // Two tasks in each cache, and yet two of them share a CPU, as the other three of its cache are forbidden.
    for policy in POLICIES {
        let mut m = Machine::of_caches(policy, &[4, 4], &[("hz", 100)]).unwrap();
        let tasks = hogs(&mut m, &[3, 3, 4, 5], &[3, 4, 5, 6]);
        m.ticks(4, 100);
        let mut on: Vec<u32> = tasks.iter().map(|task| cpu_of(&m, *task)).collect();
        on.sort_unstable();
        assert_eq!(on, [3, 4, 5, 6], "{policy}");
    }
}

/// Two caches of two cores with two threads each.  CPU 0 and all of the second cache are busy, and one task waits there:
/// where does it go?
fn taken_by(policy: &str, set: &[(&str, i64)]) -> u32 {
    let place = |cpu: u32| Topology {
        core: cpu / 2,
        llc: cpu / 4,
        ..Topology::ONE
    };
    let topology: Vec<Topology> = (0..8).map(place).collect();
    let mut m = Machine::of_topology(policy, &topology, set).unwrap();
    let all: Vec<u32> = (0..8).collect();
    hogs(&mut m, &[0], &[0]);
    hogs(&mut m, &[4, 5, 6, 7], &[4, 5, 6, 7]);
    let waiting = hogs(&mut m, &[7], &all)[0];
    let on = |m: &Machine| cpu_of(m, waiting);
    while on(&m) == 7 {
        m.ticks(0, 1);
    }
    on(&m)
}

#[test]
fn a_cpu_of_an_idle_core_balances_first() {
    // From 6.6 on; before, CPU 1 came first, beside a busy sibling.
    assert_eq!(taken_by("eevdf", &[("hz", 100)]), 2);
    assert_eq!(taken_by("eevdf", &[("hz", 100), ("idle_core_first", 0)]), 1);
    assert_eq!(taken_by("cfs", &[("hz", 100)]), 1);
}

/// A heavy task runs beside a pinned light one, and CPU 1, which runs a task, too, fails to even their loads: is CPU 0
/// asked to push the heavy one away?
fn pushes_for_load(policy: &str, set: &[(&str, i64)]) -> bool {
    let mut m = Machine::new(policy, 2, set);
    m.start(&on_cpu(0, -5));
    m.schedule(0);
    hogs(&mut m, &[1], &[1]);
    let pinned = m.pinned(0, 0);
    m.from(0).start(&pinned);
    m.ticks(1, 100);
    m.host.need_resched(CpuId(0))
}

#[test]
fn running_tasks_are_pushed_to_even_numbers_not_loads() {
    // imbalanced_active_balance(), from 5.13 on.
    for policy in POLICIES {
        assert!(!pushes_for_load(policy, &[("hz", 100)]), "{policy}");
        let before = [("hz", 100), ("active_balance", 2), ("pelt", 0)];
        assert!(pushes_for_load(policy, &before), "{policy}");
    }
}

#[test]
fn who_was_passed_over_is_looked_at_last_next_time() {
    // One task a time is looked at: the pinned one first.  It does not hide the other for ever.
    for policy in POLICIES {
        let mut m = Machine::new(policy, 2, &[("hz", 100), ("nr_migrate", 1)]);
        hogs(&mut m, &[0], &[0, 1]);
        hogs(&mut m, &[0], &[0]);
        let free = hogs(&mut m, &[0], &[0, 1])[0];
        let pinned = hogs(&mut m, &[0], &[0])[0];
        m.ticks(0, 30);
        let moved = cpu_of(&m, free) == 1 || cpu_of(&m, TaskId(0)) == 1;
        assert!(moved && cpu_of(&m, pinned) == 0, "{policy}");
    }
}

#[test]
fn a_task_behind_a_real_time_hog_is_pulled() {
    for policy in POLICIES {
        let mut m = Machine::new(policy, 2, &[("hz", 100)]);
        m.start(&real_time(schedlab_policy::Class::Fifo, 5));
        m.schedule(0);
        let fair = m.start(&on_cpu(0, 0));
        let on = cpu_of(&m, fair);
        if on == 1 {
            continue; // It was placed well.
        }
        m.ticks(0, 10);
        assert_eq!(cpu_of(&m, fair), 1, "{policy}");
    }
}
