//! The fair server of 6.12: 50 ms of each second are for fair tasks.  A tick is 10 ms.

use schedlab_policy::Class;
use schedlab_trace::{CpuId, TaskId};

use crate::script::{normal, real_time, Machine};

/// A FIFO hog and a fair one on a CPU; the ticks, of so many, at whose end the fair one runs.
fn fair_ticks(policy: &str, set: &[(&str, i64)], ticks: u32) -> Vec<u32> {
    let mut all = vec![("hz", 100)];
    all.extend_from_slice(set);
    let mut m = Machine::new(policy, 1, &all);
    let fair = m.start(&normal(0));
    m.start(&real_time(Class::Fifo, 50));
    m.schedule(0);
    let mut tick = || -> Option<TaskId> {
        m.ticks(0, 1);
        if m.host.need_resched(CpuId(0)) {
            m.schedule(0);
        }
        m.running(0)
    };
    (1..=ticks).filter(|_| tick() == Some(fair)).collect()
}

#[test]
fn fair_tasks_have_a_twentieth_once_they_have_starved() {
    // Nothing until 950 ms; the reservation of the next second begins then and is used up at once, and so on.
    let expected: Vec<u32> = [95..100, 195..200, 295..300]
        .into_iter()
        .flatten()
        .collect();
    for policy in ["eevdf:6.12", "eevdf:6.18", "eevdf:7.1"] {
        assert_eq!(fair_ticks(policy, &[], 300), expected, "{policy}");
    }
}

#[test]
fn nothing_of_the_kind_before() {
    for policy in ["eevdf:6.6", "cfs:6.5", "cfs:2.6.24"] {
        assert!(fair_ticks(policy, &[], 300).is_empty(), "{policy}");
    }
    assert!(fair_ticks("eevdf", &[("fair_server_runtime_us", 0)], 300).is_empty());
}

#[test]
fn more_if_more_is_reserved() {
    let set = [
        ("fair_server_runtime_us", 100_000),
        ("fair_server_period_us", 200_000),
    ];
    // After 100 ms of starving, 100 ms of each 200.
    let expected: Vec<u32> = [10..20, 30..40].into_iter().flatten().collect();
    assert_eq!(fair_ticks("eevdf", &set, 48), expected);
}
