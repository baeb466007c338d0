//! Waits under CFS: slices end at ticks of 4 ms.

use schedlab_trace::Ns;

use super::{hogs, run};

#[test]
fn three_hogs_in_6_5() {
    // 6 ms / 3 are 2 ms: each runs for one tick and waits for two.
    hogs("cfs:6.5", &[0, 0, 0], &[1.0 / 3.0; 3], &[8; 3]);
}

#[test]
fn twenty_hogs_wait_for_nineteen_slices() {
    // 0.75 ms, so a tick each: 19 * 4 ms.
    hogs("cfs:6.5", &[0; 20], &[0.05; 20], &[76; 20]);
}

#[test]
fn those_who_sleep_a_little_gain_nothing() {
    // massive_intr, which starves tasks under O(1): ten tasks that work 8 ms and sleep 1 ms each get a tenth, and
    // none waits for more than two ticks of each of the others.
    let metrics = run("cfs:6.5", "ideal-1", "massive-intr -n 10", Some(60));
    for task in &metrics.tasks {
        let share = task.activity.cpu_share * 10.0;
        assert!((share - 1.0).abs() < 0.01, "{share}");
        let wait = task.activity.longest_wait.unwrap().ns;
        assert!(wait <= Ns::from_ms(9 * 8), "{wait:?}");
    }
}
