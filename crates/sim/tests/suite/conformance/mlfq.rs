//! The textbook's multi-level feedback queue: its figures, and the effect of each rule.

use schedlab_machine::Machine;
use schedlab_measure::{Measure, Metrics, TaskMetrics};
use schedlab_policy::{Policy, Tuned};
use schedlab_sim::Setup;
use schedlab_trace::Ns;
use schedlab_workload::{native, Workload};

/// OSTEP's gamer: it runs 99 % of a slice of 10 ms and then waits a moment for a disk.
const GAMER: &str =
    "[task.gamer]\nprogram = \"\"\"\nforever\n  run 9900us\n  sleep 10us\nend\n\"\"\"\n";
const HOG: &str = "[task.hog]\nprogram = \"forever\\nrun 1s\\nend\"\n";

/// An editor: 1 ms of work for each key.
fn editor(waits_ms: u32) -> String {
    format!(
        "[task.editor]\nprogram = \"\"\"\nforever\n  run 1ms\n  sleep {waits_ms}ms\nend\n\"\"\"\n"
    )
}

fn run(variant: &str, tasks: &[&str], seconds: u64) -> Metrics {
    let machine: Machine = schedlab_machine::find("ideal-1").unwrap();
    let workload: Workload = native::parse("w.toml", &tasks.concat()).unwrap();
    let tuned = Tuned::new(Policy::find("mlfq").unwrap(), Some(variant), &[]).unwrap();
    let setup = Setup {
        duration: Some(Ns::from_secs(seconds)),
        ..Setup::new(&machine, &workload, &tuned)
    };
    let metrics = setup.run(Measure::new()).unwrap().1.finish();
    assert_eq!(metrics.accounting_error, None);
    metrics
}

fn task<'a>(metrics: &'a Metrics, name: &str) -> &'a TaskMetrics {
    metrics.tasks.iter().find(|t| &*t.name == name).unwrap()
}

fn share(metrics: &Metrics, name: &str) -> f64 {
    task(metrics, name).activity.cpu_share
}

/// OSTEP, figure 8.5 (left): without allotments a gamer has the machine to itself: the hog has
/// its first slice of 10 ms, and then what the gamer's sleeps of 10 us in 9.91 ms leave: 0.1 %.
#[test]
fn gaming_the_naive_scheduler_pays() {
    let metrics = run("naive", &[GAMER, HOG], 60);
    assert!(share(&metrics, "gamer") > 0.99);
    assert!((0.0005..0.002).contains(&share(&metrics, "hog")));
}

/// OSTEP, figure 8.5 (right): with them it sinks as the hog does, within 120 ms of each boost.  At
/// the bottom it runs 9.9 ms and, having slept, waits for a slice of 40: a fifth of the CPU.  In all
/// (60 + 880 / 5) / 1000 = 0.24: gaming costs.
#[test]
fn gaming_an_allotment_does_not() {
    let metrics = run("ostep", &[GAMER, HOG], 60);
    let gamer = share(&metrics, "gamer");
    assert!((gamer - 0.24).abs() < 0.04, "{gamer}");
}

/// OSTEP 8.3: ten tasks that sleep are always above the hog and use all there is.  The boost gives it a
/// slice every second, and none without.
#[test]
fn the_boost_ends_starvation() {
    let editors = "[task.editor]\ncount = 10\nprogram = \"\"\"\nforever\n  run 1ms\n  sleep 1ms\nend\n\"\"\"\n";
    let starving = run("naive", &[editors, HOG], 30);
    assert!(task(&starving, "hog").activity.longest_wait.unwrap().ns > Ns::from_secs(29));
    let boosted = run("ostep", &[editors, HOG], 30);
    let longest = task(&boosted, "hog").activity.longest_wait.unwrap().ns;
    assert!(longest <= Ns::from_ms(1100), "{longest}");
}

/// OSTEP, figure 8.3: an editor is served at once beside a hog that has sunk: only just after a boost
/// is the hog in its queue, for two slices of 10 ms.  10 ms a second are within the editor's
/// allotment of 20.  An editor of 100 ms a second sinks after 20 + 40 of them, and then waits for
/// the hog's slices of 40 ms until the next boost: the price of the rule against gaming.
#[test]
fn who_sleeps_much_is_served_at_once() {
    let latency = |waits_ms| {
        let metrics = run("ostep", &[&editor(waits_ms), HOG], 60);
        let activity = &task(&metrics, "editor").activity;
        *activity.wakeup_latency_ns.clone().unwrap()
    };
    let light = latency(99);
    assert_eq!(light.p50, Ns::ZERO);
    assert!(light.max <= Ns::from_ms(10), "{}", light.max);
    let heavy = latency(9);
    assert_eq!(heavy.p50, Ns::ZERO);
    assert!(
        (30..=40).contains(&(heavy.max.0 / 1_000_000)),
        "{}",
        heavy.max
    );
}

/// A pick looks at one task however many wait; only the boost passes over all.
#[test]
fn picks_are_flat() {
    for count in [10, 1000, 10_000] {
        let hogs = format!("[task.hog]\ncount = {count}\nprogram = \"forever\\nrun 1s\\nend\"\n");
        let scheduler = run("ostep", &[&hogs], 5).scheduler.unwrap();
        assert_eq!((scheduler.examined_mean, scheduler.examined_max), (1.0, 1));
    }
}
