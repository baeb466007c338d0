//! Placement of woken and new tasks in virtual time.

use schedlab_policy::enq;

use crate::cfs::even;
use crate::fair::{behind, vruntime, MS};
use crate::script::{normal, Machine};

/// A hog runs; a sleeper that blocked at the start wakes after so many ns.  How far is it behind the hog?
fn credit(policy: &str, slept_ns: u64) -> i64 {
    let mut m = Machine::new(policy, 1, &[("hz", 100), ("start_debit", 0)]);
    let sleeper = m.start(&normal(0));
    let hog = m.start(&normal(0));
    assert_eq!(m.schedule(0), Some(sleeper));
    assert_eq!(m.block(0), Some(hog));
    m.after(slept_ns);
    m.wake(sleeper);
    behind(&m, sleeper, hog)
}

#[test]
fn sleep_up_to_half_a_latency_counts() {
    assert_eq!(credit("cfs", MS), 1_000_000, "all of it");
    assert_eq!(credit("cfs", 3 * MS), 3_000_000, "6 ms / 2");
    assert_eq!(credit("cfs", 3 * MS + 1), 3_000_000);
    assert_eq!(credit("cfs", 1000 * MS), 3_000_000, "no hoarding");
}

#[test]
fn sleep_up_to_a_latency_counts_in_2_6_24() {
    assert_eq!(credit("cfs:2.6.24", 19 * MS), 19_000_000);
    assert_eq!(credit("cfs:2.6.24", 20 * MS), 20_000_000);
    assert_eq!(credit("cfs:2.6.24", 1000 * MS), 20_000_000);
}

#[test]
fn waking_never_takes_anything_back() {
    // It ran 5 ms more than the other and sleeps for 1: still 4 ms ahead.
    let mut m = even(&[]);
    let (a, b) = (m.start(&normal(0)), m.start(&normal(0)));
    assert_eq!(m.schedule(0), Some(a));
    m.after(5 * MS);
    assert_eq!(m.block(0), Some(b));
    m.after(MS);
    m.wake(a);
    assert_eq!(behind(&m, a, b), -4_000_000);
}

#[test]
fn a_child_is_a_slice_behind() {
    // The parent is alone: min_vruntime is its vruntime.  With the child there will be two, 3 ms each.
    let mut m = Machine::new("cfs", 1, &[("hz", 100)]);
    let parent = m.start(&normal(0));
    m.schedule(0);
    m.after(5 * MS);
    let child = m.fork(0, &normal(0));
    assert_eq!(m.enqueue(child, enq::NEW), [0; 0]);
    assert_eq!(behind(&m, parent, child), 3_000_000);
}

#[test]
fn a_light_child_is_a_light_slice_behind() {
    // 6 ms * 335 / 1359 = 1.479 ms, in its own time 6 * 1024 / 1359 = 4.521 ms.
    let mut m = Machine::new("cfs", 1, &[("hz", 100)]);
    let parent = m.start(&normal(0));
    m.schedule(0);
    let child = m.fork(0, &normal(5));
    m.enqueue(child, enq::NEW);
    let debit = behind(&m, parent, child);
    assert!((debit - 4_520_971).abs() < 10, "{debit}");
}

#[test]
fn the_child_runs_first_in_2_6_24() {
    let mut m = Machine::new("cfs:2.6.24", 1, &[("hz", 100)]);
    let parent = m.start(&normal(0));
    m.schedule(0);
    m.after(5 * MS);
    let at = vruntime(&m, parent) + 5_000_000;
    let child = m.fork(0, &normal(0));
    assert_eq!(m.enqueue(child, enq::NEW), [0]);
    assert_eq!(vruntime(&m, child), at, "they have swapped places");
    assert_eq!(behind(&m, child, parent), 10_000_000, "half of 20 ms");
    assert_eq!(m.schedule(0), Some(child));
}

#[test]
fn virtual_time_is_the_run_queues_own() {
    // CPU 0 has run for 50 ms, CPU 1 not at all.  Who moves keeps its distance from min_vruntime.
    let mut m = Machine::new(
        "cfs",
        2,
        &[("hz", 100), ("start_debit", 0), ("tunable_scaling", 0)],
    );
    let hog = m.pinned(0, 0);
    let hog = m.start(&hog);
    m.schedule(0);
    let mover = m.pinned(0, 0);
    let mover = m.start(&mover);
    m.ticks(0, 5);
    // The hog is 50 ms ahead of the mover, who holds min_vruntime back.
    assert_eq!(behind(&m, mover, hog), 50_000_000);
    let other = m.host.add_cpu_set(&[1]);
    m.set_cpus(mover, other);
    assert_eq!(m.schedule(1), Some(mover));
    assert!(
        vruntime(&m, mover) < 1_000_000,
        "at CPU 1's own time, which is still 0"
    );
}
