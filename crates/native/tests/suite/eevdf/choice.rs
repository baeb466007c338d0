//! Of the eligible tasks, the earliest deadline.

use schedlab_policy::{Class, NewTask};

use crate::eevdf::machine;
use crate::eevdf::{left, state, with_variant};
use crate::fair::MS;
use crate::script::normal;

#[test]
fn a_new_tasks_first_request_is_half_a_slice() {
    let mut m = machine(&[]);
    let (a, b) = (m.start(&normal(0)), m.start(&normal(5)));
    assert_eq!(left(&m, a), 1_500_000);
    // 3 ms * 1024 / 335 = 9.170 ms
    assert!((left(&m, b) - 4_585_074).abs() < 2);
    let mut m = with_variant("eevdf:6.6", &[]);
    let a = m.start(&normal(0));
    assert_eq!(left(&m, a), 3_000_000, "6.6 forgets to say that it is new");
}

#[test]
fn a_request_served_is_followed_by_the_next() {
    let mut m = machine(&[]);
    let (a, b) = (m.start(&normal(0)), m.start(&normal(0)));
    assert_eq!(m.schedule(0), Some(a), "equal deadlines: who came first");
    // 10 ms later its 1.5 are over: the next request counts from where it is.
    assert!(m.ticks(0, 1));
    assert_eq!(left(&m, a), 3_000_000);
    assert_eq!(m.schedule(0), Some(b), "V is 5 ms, a at 10 is not eligible");
}

#[test]
fn who_has_had_too_much_is_not_eligible_whatever_its_deadline() {
    let mut m = machine(&[]);
    let (a, b) = (m.start(&normal(0)), m.start(&normal(19)));
    assert_eq!(m.schedule(0), Some(a));
    m.after(1_400_000);
    assert_eq!(
        m.schedule(0),
        Some(b),
        "a is at 1.4 ms, V at 1.4 * 1024 / 1039 = 1.38"
    );
    // b: 0.1 ms * 1024 / 15 = 6.83.  V = (1.4 * 1024 + 6.83 * 15) / 1039 = 1.478, a at 1.4 is eligible.
    m.after(100_000);
    assert_eq!(m.schedule(0), Some(a));
}

#[test]
fn run_to_parity_protects_from_wakeups() {
    // A nice 19 hog alone: it is V.  A nice 0 task comes with a deadline 3 ms off, the hog's is 102 ms.
    let woken = |parity| {
        let mut m = machine(&[("run_to_parity", parity)]);
        let sleeper = m.add(&normal(0));
        m.start(&normal(19));
        m.schedule(0);
        m.after(MS);
        m.wake(sleeper)
    };
    assert_eq!(woken(1), [0; 0]);
    assert_eq!(woken(0), [0]);
}

#[test]
fn protection_ends_at_parity() {
    let mut m = machine(&[]);
    let sleeper = m.add(&normal(0));
    let hog = m.start(&normal(19));
    m.schedule(0);
    m.after(MS);
    m.wake(sleeper);
    assert_eq!(m.schedule(0), Some(hog));
    m.after(1);
    assert_eq!(m.schedule(0), Some(sleeper), "68 virtual ns ahead");
}

#[test]
fn batch_and_idle_tasks_wait_and_idle_ones_give_way() {
    let preempts = |wakee, running| {
        let mut m = machine(&[("run_to_parity", 0)]);
        let sleeper = m.add(&NewTask {
            class: wakee,
            ..normal(0)
        });
        m.start(&NewTask {
            class: running,
            ..normal(10)
        });
        m.schedule(0);
        m.after(MS);
        m.wake(sleeper) == [0]
    };
    assert!(preempts(Class::Normal, Class::Normal));
    assert!(!preempts(Class::Batch, Class::Normal));
    assert!(!preempts(Class::Idle, Class::Normal));
    assert!(preempts(Class::Batch, Class::Idle));
}

#[test]
fn who_yields_lets_the_others_have_their_requests_first() {
    let mut m = machine(&[]);
    let (a, b) = (m.start(&normal(0)), m.start(&normal(0)));
    m.schedule(0);
    let before = state(&m, a).deadline;
    assert_eq!(m.yields(0), Some(b), "both are eligible, at 0");
    assert_eq!(state(&m, a).deadline - before, 3_000_000);
    assert_eq!(state(&m, a).se.vruntime, state(&m, b).se.vruntime);
}

#[test]
fn since_6_18_who_yields_forfeits_its_request() {
    let mut m = machine(&[("yield_forfeits", 1)]);
    let (a, b) = (m.start(&normal(0)), m.start(&normal(0)));
    m.schedule(0);
    m.after(MS);
    // At 1 ms it is ahead of V = 0.5: not eligible, and not made to pay.
    assert_eq!(m.yields(0), Some(b));
    assert_eq!(state(&m, a).se.vruntime, 1_000_000);
    // b is at 0, V at 0.5, its request of 1.5 ms untouched.
    assert_eq!(m.yields(0), Some(a));
    assert_eq!(state(&m, b).se.vruntime, 1_500_000);
}

/// a has run alone beyond its request.  b comes back half a millisecond ahead of V, and so the CPU stays a's.  So many
/// ns later a batch task wakes up, which makes the policy look again: does it ask for a choice?
fn looks_again_after(ns: u64, preempt_short: i64) -> bool {
    let mut m = machine(&[
        ("delay_dequeue", 0),
        ("preempt_short", i64::from(preempt_short > 0)),
        ("slice_protection", i64::from(preempt_short > 1)),
    ]);
    let (b, a) = (m.start(&normal(0)), m.start(&normal(0)));
    let batch = m.add(&NewTask {
        class: Class::Batch,
        ..normal(0)
    });
    assert_eq!(m.schedule(0), Some(b));
    m.after(MS);
    assert_eq!(m.block(0), Some(a));
    m.after(10 * MS);
    assert_eq!(m.wake(b), [0; 0], "a at 10 ms, b at 11, V at 10.5");
    m.after(ns);
    m.wake(batch) == [0]
}

#[test]
fn who_goes_on_after_its_request_is_not_protected_anew() {
    // a at 10.3 ms, V at 10.65: eligible.
    assert!(!looks_again_after(300_000, 0), "6.6");
    assert!(!looks_again_after(300_000, 1), "6.12");
    assert!(looks_again_after(300_000, 2), "6.18");
    // a at 11.2 ms, V at 11.1: not eligible.
    assert!(
        !looks_again_after(1_200_000, 0),
        "not until its next request is served, at 13 ms"
    );
    assert!(looks_again_after(1_200_000, 1));
    assert!(looks_again_after(1_200_000, 2));
}
