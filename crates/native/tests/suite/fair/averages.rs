//! PELT: every number is worked out from the kernel's table of y^n, with y^32 = 1/2, and periods of 1024 * 1024 ns.

use schedlab_policy::Topology;
use schedlab_trace::TaskId;

use super::{entity, Average};
use crate::script::{on_cpu, Machine};

const PERIOD: u64 = 1024 * 1024;
const POLICIES: [&str; 2] = ["cfs", "eevdf"];

fn average(m: &Machine, task: TaskId) -> &Average {
    &entity(m, task).avg
}

/// A task that begins to run on CPU 0 at time 0, beside idle CPUs.
fn running(policy: &str) -> (Machine, TaskId) {
    let mut m = Machine::new(policy, 2, &[("hz", 100)]);
    let task = m.start(&on_cpu(0, 0));
    m.schedule(0);
    (m, task)
}

#[test]
fn a_new_task_counts_as_heavy_and_half_of_what_is_left() {
    for policy in POLICIES {
        let (m, first) = running(policy);
        let avg = average(&m, first);
        // (1024 - 0) / 2; sums are averages times 47742 - 1024.
        assert_eq!(
            (avg.load_avg, avg.util_avg, avg.runnable_avg),
            (1024, 512, 512)
        );
        assert_eq!(
            (avg.load_sum, avg.util_sum),
            (46718, 512 * 46718),
            "{policy}"
        );
        // The second one: 512 * 1024 / 1025 is more than (1024 - 512) / 2.
        let mut m = m;
        let second = m.pinned(0, 0);
        let second = m.start(&second);
        assert_eq!(average(&m, second).util_avg, 256, "{policy}");
    }
}

#[test]
fn a_period_of_running() {
    for policy in POLICIES {
        let (mut m, task) = running(policy);
        m.after(PERIOD).block(0);
        let avg = average(&m, task);
        // y * 512 * 46718 = 23407067, and the period counts 1002 units, y * 1024: 23407067 + 1002 * 1024.
        assert_eq!((avg.util_sum, avg.util_avg), (24_433_115, 522), "{policy}");
        assert_eq!((avg.load_sum, avg.load_avg), (46_718, 1024), "{policy}");
    }
}

#[test]
fn less_than_a_period_changes_sums_alone() {
    for policy in POLICIES {
        let (mut m, task) = running(policy);
        m.after(PERIOD / 2).block(0);
        let avg = average(&m, task);
        assert_eq!(avg.util_sum, 512 * 46718 + (512 << 10), "{policy}");
        assert_eq!((avg.util_avg, avg.period_contrib), (512, 512), "{policy}");
    }
}

#[test]
fn the_past_counts_half_after_32_periods() {
    for policy in POLICIES {
        let (mut m, task) = running(policy);
        m.after(32 * PERIOD).block(0);
        // 512 / 2 of the past, and half of 1024 for the present.
        let awake = average(&m, task);
        assert_eq!(
            (awake.util_sum, awake.util_avg),
            (35_879_423, 767),
            "{policy}"
        );
        m.after(32 * PERIOD).wake(task);
        let avg = average(&m, task);
        assert_eq!((avg.util_avg, avg.load_avg), (383, 511), "{policy}");
    }
}

#[test]
fn who_runs_all_the_time_is_used_entirely() {
    for policy in POLICIES {
        let (mut m, task) = running(policy);
        m.after(2000 * PERIOD).block(0);
        let avg = average(&m, task);
        assert_eq!(
            (avg.util_avg, avg.runnable_avg, avg.load_avg),
            (1024, 1024, 1024),
            "{policy}"
        );
        // 63 * 32 periods later nothing is left.
        m.after(2017 * PERIOD).wake(task);
        let avg = average(&m, task);
        assert_eq!((avg.util_avg, avg.load_avg), (0, 0), "{policy}");
    }
}

#[test]
fn who_waits_is_runnable_but_not_used() {
    for policy in POLICIES {
        let (mut m, first) = running(policy);
        let second = m.pinned(0, 0);
        let second = m.start(&second);
        m.after(400 * PERIOD).unqueue(second);
        let waited = average(&m, second);
        assert_eq!(
            (waited.util_avg, waited.runnable_avg),
            (0, 1023),
            "{policy}"
        );
        m.block(0);
        assert_eq!(average(&m, first).util_avg, 1023, "{policy}");
    }
}

#[test]
fn on_half_a_cpu_time_passes_half_as_fast() {
    let full = Topology::ONE;
    let half = Topology {
        core: 1,
        capacity: 512,
        ..full
    };
    for policy in POLICIES {
        let mut m = Machine::of_topology(policy, &[full, half], &[("hz", 100)]).unwrap();
        let task = m.pinned(1, 0);
        let task = m.start(&task);
        m.schedule(1);
        m.after(2 * PERIOD).block(1);
        // (512 - 0) / 2 at first, and one period of work: (y * 256 * 46718 + 1002 * 1024) / 46718.
        assert_eq!(average(&m, task).util_avg, 272, "{policy}");
    }
}

#[test]
fn a_task_takes_its_averages_along() {
    // CPU 0 is used by one task alone.  When that has gone, a new task there counts as on an idle CPU again.
    for policy in POLICIES {
        let (mut m, task) = running(policy);
        m.after(100 * PERIOD).block(0);
        let blocker = m.pinned(0, 0);
        m.start(&blocker);
        m.schedule(0);
        m.from(1).wake(task);
        assert_eq!(m.host.task(task).cpu, 1, "{policy}");
        m.ticks(0, 1);
        let late = m.pinned(0, 0);
        let late = m.start(&late);
        // As the blocker, which had half of what the sleeper had left, about 30, and has run for ten periods: 215.
        // With the sleeper still there it would be half of what is left beside both, less than 50.
        let util = average(&m, late).util_avg;
        assert!((150..250).contains(&util), "{policy}: {util}");
    }
}

/// Three of four CPUs have been used all the time; a wakeup on CPU 0 looks for a place for a task that slept as long.
fn woken_beside_an_idle_cpu(policy: &str, sis_util: i64) -> u32 {
    let mut m = Machine::new(policy, 4, &[("hz", 100), ("sis_util", sis_util)]);
    let task = m.add(&on_cpu(2, 0));
    for cpu in 0..3 {
        let hog = m.pinned(cpu, 0);
        m.start(&hog);
        m.schedule(cpu);
    }
    for _ in 0..100 {
        m.after(10_000_000);
        (0..3).for_each(|cpu| assert!(!m.ticks_at_once(cpu, 1)));
    }
    m.from(0).wake(task);
    m.host.task(task).cpu
}

#[test]
fn where_a_cache_is_busy_a_wakeup_does_not_look_for_long() {
    // Then it stays where it was, as an unknown task counts as heavy.  Use 768 of 1024 each: 1024 - 768^2 * 1.17^2 / 1024 = 236, and 236 / 1024 of four CPUs is none.
    for policy in POLICIES {
        assert_eq!(woken_beside_an_idle_cpu(policy, 0), 3, "{policy}");
        assert_eq!(woken_beside_an_idle_cpu(policy, 1), 2, "{policy}");
    }
}

/// Two nodes of 16 CPUs around one cache each: the nodes of children of a task on node 0 that all run.
fn nodes_of_children(policy: &str, numa_imbalance: i64) -> Vec<u32> {
    let place = |core| Topology {
        core,
        llc: core / 16,
        node: core / 16,
        ..Topology::ONE
    };
    let topology: Vec<Topology> = (0..32).map(place).collect();
    let set = [("hz", 100), ("numa_imbalance", numa_imbalance)];
    let mut m = Machine::of_topology(policy, &topology, &set).unwrap();
    m.start(&on_cpu(0, 0));
    m.schedule(0);
    let mut start = || {
        let child = m.fork(0, &on_cpu(0, 0));
        m.enqueue(child, schedlab_policy::enq::NEW);
        let cpu = m.host.task(child).cpu;
        m.schedule(cpu);
        cpu / 16
    };
    (0..3).map(|_| start()).collect()
}

#[test]
fn few_tasks_stay_together_on_a_node() {
    // An eighth of 16 CPUs: two tasks.  The third goes where more CPUs idle, and the fourth, with two here and one there.
    for policy in POLICIES {
        assert_eq!(nodes_of_children(policy, 1), [0, 1, 1], "{policy}");
        assert_eq!(nodes_of_children(policy, 0)[0], 1, "{policy}");
    }
}
