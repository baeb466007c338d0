//! Slices that tasks ask for, and for how long what runs is protected from others.
//!
//! A slice is 3 ms unless a task asks for another, and all weights are 1024 unless said otherwise: virtual time is time.

use schedlab_policy::{enq, NewTask};
use schedlab_trace::Ns;

use crate::eevdf::{left, machine, state, with_variant};
use crate::fair::MS;
use crate::script::{normal, Machine};

/// A task that asks for slices of so many us.
fn asking(us: u64) -> NewTask {
    NewTask {
        slice: Ns(us * 1000),
        ..normal(0)
    }
}

/// 6.17's protection with slices of 3 ms.
fn protecting(more: &[(&str, i64)]) -> Machine {
    let mut set = vec![("slice_protection", 1), ("delay_dequeue", 0)];
    set.extend_from_slice(more);
    machine(&set)
}

#[test]
fn a_request_is_as_long_as_the_slice_that_was_asked_for() {
    let mut m = machine(&[]);
    let (a, b) = (m.start(&asking(1000)), m.start(&normal(0)));
    assert_eq!(
        (left(&m, a), left(&m, b)),
        (500_000, 1_500_000),
        "new tasks begin with half"
    );
    assert_eq!(m.schedule(0), Some(a), "the earlier deadline");
    m.host.set_slice(a, Ns(2_000_000)).unwrap();
    assert_eq!(left(&m, a), 500_000, "the request at hand stays what it is");
    assert!(m.ticks(0, 1));
    assert_eq!(left(&m, a), 2_000_000);
    m.host.set_slice(a, Ns::ZERO).unwrap();
    assert!(m.ticks(0, 1));
    assert_eq!(left(&m, a), 3_000_000);
}

#[test]
fn in_6_6_nobody_can_ask() {
    let mut m = with_variant("eevdf:6.6", &[]);
    let a = m.start(&asking(1000));
    assert_eq!(left(&m, a), 3_000_000);
}

/// A hog has run alone for 1 of 3 ms; a sleeper without lag, so at V, wakes up.
fn wakes_beside_a_hog(set: &[(&str, i64)], sleeper: &NewTask) -> Vec<u32> {
    let mut set = set.to_vec();
    set.push(("place_deadline_initial", 0));
    let mut m = machine(&set);
    let sleeper = m.add(sleeper);
    m.start(&normal(0));
    m.schedule(0);
    m.after(MS);
    m.wake(sleeper)
}

#[test]
fn a_wakeup_with_a_shorter_slice_preempts() {
    // The hog is protected, and due at 3 ms; the one that asks for 1 ms at 2.
    for by_slice in [0, 1] {
        let rules = [("slice_protection", by_slice)];
        assert_eq!(wakes_beside_a_hog(&rules, &asking(1000)), [0]);
        assert_eq!(wakes_beside_a_hog(&rules, &asking(5000)), [0; 0]);
        assert_eq!(wakes_beside_a_hog(&rules, &normal(0)), [0; 0]);
        let off = [("slice_protection", by_slice), ("preempt_short", 0)];
        assert_eq!(wakes_beside_a_hog(&off, &asking(1000)), [0; 0]);
    }
}

#[test]
fn protection_is_as_short_as_the_shortest_slice_that_waits() {
    let mut m = protecting(&[("place_deadline_initial", 0)]);
    let (hog, short) = (m.start(&normal(0)), m.start(&asking(1000)));
    m.host.set_nice(short, 19).unwrap();
    // The weight of nice 19 is 15: the short slice is 68 ms of virtual time, and the hog comes first.
    assert_eq!(m.schedule(0), Some(hog));
    assert_eq!(state(&m, hog).vprot - state(&m, hog).se.vruntime, MS);
    let mut m = protecting(&[("place_deadline_initial", 0), ("run_to_parity", 0)]);
    let hog = m.start(&normal(0));
    m.start(&asking(1000));
    m.host.set_slice(hog, Ns(9_000_000)).unwrap();
    m.schedule(0);
    m.schedule(0);
    assert!(
        state(&m, hog).vprot <= state(&m, hog).se.vruntime + 3 * MS,
        "without RUN_TO_PARITY: the base slice"
    );
}

#[test]
fn a_shorter_slice_that_does_not_preempt_ends_protection_sooner() {
    let mut m = protecting(&[("place_deadline_initial", 0)]);
    let short = m.start(&asking(1000));
    m.start(&normal(0));
    m.start(&normal(0));
    assert_eq!(m.schedule(0), Some(short));
    m.after(2 * MS);
    // It owes time: at 2 ms, V at 2/3.
    let running = m.block(0).unwrap();
    m.after(400_000);
    let before = state(&m, running).vprot;
    assert_eq!(m.wake(short), [0; 0], "not eligible");
    assert_eq!(before, 3_000_000, "its request");
    assert_eq!(state(&m, running).vprot, 1_400_000, "1 ms from where it is");
}

#[test]
fn since_6_19_a_new_task_does_not_preempt() {
    // Nice 19 runs beyond what it is owed; a new task of nice 0 is eligible and due before it.
    let preempts = |rules| {
        let mut m = protecting(&[("wakeup_rules", rules)]);
        let child = m.add(&normal(0));
        m.start(&normal(19));
        m.start(&normal(19));
        m.schedule(0);
        m.after(MS);
        m.enqueue(child, enq::NEW) == [0]
    };
    assert!(preempts(0));
    assert!(!preempts(1));
    assert!(!preempts(2));
}

#[test]
fn since_7_1_sleepers_that_owe_time_do_not_keep_others_from_preempting() {
    let preempts = |rules| {
        let mut m = machine(&[("slice_protection", 1), ("wakeup_rules", rules)]);
        let (debtor, hog) = (m.start(&normal(0)), m.start(&normal(0)));
        let sleeper = m.add(&normal(0));
        assert_eq!(m.schedule(0), Some(debtor));
        m.after(MS);
        // At 1 ms, V at 0.5: it sleeps, but stays queued, due at 1.5 ms.
        assert_eq!(m.block(0), Some(hog));
        assert_eq!(state(&m, debtor).sched_delayed, 1);
        // The hog at 1.4 ms, V at 1.2: the hog is not eligible, the debtor has paid.  The one that wakes at V is due at 4.2 ms.
        m.after(1_400_000);
        let asked = m.wake(sleeper) == [0];
        (asked, state(&m, debtor).sched_delayed)
    };
    assert_eq!(preempts(1), (false, 1), "6.19");
    assert_eq!(preempts(2), (true, 0), "7.1");
}

#[test]
fn since_7_1_lag_is_kept_within_the_longest_slice_and_a_tick() {
    // A task runs for 100 ms beside another, unnoticed as it were, and is taken off: it owes 50 ms.
    let owes = |longest| {
        let mut m = machine(&[("delay_dequeue", 0), ("lag_of_longest", longest)]);
        let (a, _) = (m.start(&normal(0)), m.start(&asking(8000)));
        assert_eq!(m.schedule(0), Some(a));
        m.after(100 * MS);
        m.block(0);
        -state(&m, a).vlag
    };
    assert_eq!(owes(0), 10_000_000, "two slices are 6 ms, a tick is 10");
    assert_eq!(owes(1), 18_000_000, "8 ms and a tick");
}
