//! Wakeups, buddies, yields, and changes of priority.

use schedlab_policy::{Class, NewTask};
use schedlab_trace::TaskId;

use crate::cfs::even;
use crate::fair::MS;
use crate::script::{normal, Machine};

/// A sleeper of `nice` wakes `slept_ns` after it blocked beside a nice 0 hog.  Does it preempt?
fn preempts(policy: &str, nice: i8, slept_ns: u64) -> bool {
    let mut m = Machine::new(policy, 1, &[("hz", 100), ("start_debit", 0)]);
    let sleeper = m.start(&normal(nice));
    m.start(&normal(0));
    assert_eq!(m.schedule(0), Some(sleeper));
    m.block(0);
    m.after(slept_ns);
    m.wake(sleeper) == [0]
}

#[test]
fn who_is_further_behind_than_the_granularity_preempts() {
    assert!(!preempts("cfs", 0, MS), "1 ms");
    assert!(preempts("cfs", 0, MS + 1));
    // The wakee's granularity is 1 ms of its own time: 1024 / 335 = 3.06 virtual ms, above the 3 it can have.
    assert!(!preempts("cfs", 5, 1000 * MS));
    // 1024 / 3121 = 0.328 ms at nice -5.
    assert!(preempts("cfs", -5, MS / 2));
    assert!(!preempts("cfs", -5, MS / 4));
}

#[test]
fn in_2_6_24_the_running_tasks_weight_counts() {
    assert!(!preempts("cfs:2.6.24", 0, 10 * MS));
    assert!(preempts("cfs:2.6.24", 0, 10 * MS + 1));
    assert!(preempts("cfs:2.6.24", 5, 10 * MS + 1), "the hog is nice 0");
}

/// A task of this class wakes after a long sleep beside a hog of that class.
fn class_preempts(wakee: Class, running: Class) -> bool {
    let mut m = even(&[]);
    let of = |class| NewTask { class, ..normal(0) };
    let sleeper = m.start(&of(wakee));
    m.schedule(0);
    m.start(&of(running));
    m.block(0);
    m.after(100 * MS);
    m.wake(sleeper) == [0]
}

#[test]
fn batch_and_idle_tasks_do_not_preempt_and_idle_ones_give_way() {
    assert!(class_preempts(Class::Normal, Class::Normal));
    assert!(class_preempts(Class::Normal, Class::Batch));
    assert!(!class_preempts(Class::Batch, Class::Normal));
    assert!(!class_preempts(Class::Idle, Class::Normal));
    assert!(class_preempts(Class::Batch, Class::Idle));
}

/// Three equal tasks, the first of which runs and has run for `ns`.
fn three(m: &mut Machine, ns: u64) -> [TaskId; 3] {
    let tasks = [
        m.start(&normal(0)),
        m.start(&normal(0)),
        m.start(&normal(0)),
    ];
    m.schedule(0);
    m.after(ns);
    tasks
}

#[test]
fn who_preempts_is_picked_though_not_leftmost() {
    let mut m = even(&[]);
    let sleeper = m.start(&normal(0));
    assert_eq!(m.schedule(0), Some(sleeper));
    m.block(0);
    let [_, second, _] = three(&mut m, 2 * MS);
    // Placed at min_vruntime - 3 ms but not before its own: at 0 like the others that wait, and behind them.
    assert_eq!(m.wake(sleeper), [0], "2 ms behind who runs");
    assert_eq!(m.schedule(0), Some(sleeper), "the buddy, not the leftmost");
    m.after(MS / 10);
    assert_eq!(m.block(0), Some(second));
}

#[test]
fn who_yields_is_passed_over_unless_the_next_is_far() {
    let mut m = even(&[]);
    let [first, second, _] = three(&mut m, MS);
    assert_eq!(m.yields(0), Some(second), "the leftmost anyway");
    m.after(MS / 2);
    // second is at 0.5 ms, third at 0: third runs; it yields at 0.2, the leftmost, and second is not far.
    let third = m.schedule(0).unwrap();
    m.after(MS / 5);
    assert_eq!(m.yields(0), Some(second));
    m.after(3 * MS);
    // first is at 1, second at 3.5, third at 0.2: still to be passed over, as first is not far behind it.
    assert_eq!(m.schedule(0), Some(first));
    m.block(0);
    assert_eq!(m.running(0), Some(third), "second is, though: 3.3 ms");
    // And so third yields in vain.
    assert_eq!(m.yields(0), Some(third));
}

#[test]
fn yielding_in_2_6_24_is_accounting() {
    let set = [("hz", 100), ("start_debit", 0)];
    let mut m = Machine::new("cfs:2.6.24", 1, &set);
    let [first, second, _] = three(&mut m, 0);
    // Equal keys: who is put back stands behind the others.
    assert_eq!(m.after(1).yields(0), Some(second));
    // With compat_yield it goes behind all others, though it has run least.
    let mut m = Machine::new("cfs:2.6.24", 1, &[set[0], set[1], ("compat_yield", 1)]);
    let [.., last] = three(&mut m, 2 * MS);
    m.schedule(0);
    m.after(MS).schedule(0);
    assert_eq!(m.running(0), Some(last));
    m.yields(0);
    assert_ne!(m.running(0), Some(last));
    assert_eq!(m.block(0).unwrap(), first);
}

#[test]
fn set_nice_keeps_the_vruntime() {
    let mut m = even(&[]);
    let [first, ..] = three(&mut m, MS);
    assert_eq!(m.set_nice(first, 10), [0], "it runs, and is worse now");
    assert_eq!(crate::fair::vruntime(&m, first), 1_000_000);
    assert_eq!(crate::fair::weights("cfs", 10).0, 110);
    m.after(MS);
    m.schedule(0);
    // 1 ms at weight 110 is 9.309 ms more.
    let at = crate::fair::vruntime(&m, first);
    assert!((10_309_090..10_309_092).contains(&at), "{at}");
}
