//! How long hogs run at a time under goodness().

use super::run;

#[test]
fn linux24_hogs_run_nine_ticks_at_a_time() {
    // Three nice-0 hogs, 6 ticks each an epoch.  The bonus for the loaded address space makes the
    // last task of an epoch start the next: 18 ticks an epoch in two changes of task, 9 at a time.
    let metrics = run("linux24:2.4.16", "ideal-1", "hogs --count 3", Some(90));
    let switches = metrics.total.nr_switches as f64;
    let mean_run_ticks = 90.0 * 100.0 / switches;
    assert!((mean_run_ticks - 9.0).abs() < 0.05, "{mean_run_ticks}");
    for task in &metrics.tasks {
        assert!((task.activity.cpu_share - 1.0 / 3.0).abs() < 0.001);
    }
}
