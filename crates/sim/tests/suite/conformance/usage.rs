//! Helpers for tests of schedulers with decaying CPU usage.

use schedlab_machine::Machine;
use schedlab_policy::{Policy, Tuned};
use schedlab_sim::Setup;
use schedlab_trace::{Event, EventKind, Ns, Sink, TaskId};
use schedlab_workload::{builtin, native, Workload};

/// Runs one workload on one ideal CPU for this number of seconds, seed 1; the policy is
/// "name:variant".
pub fn traced<S: Sink>(
    policy: &str,
    set: &[(&str, i64)],
    workload: &Workload,
    seconds: u64,
    sink: S,
) -> S {
    let (name, variant) = policy.split_once(':').unwrap();
    let set: Vec<(String, i64)> = set.iter().map(|&(n, v)| (n.to_string(), v)).collect();
    let tuned = Tuned::new(Policy::find(name).unwrap(), Some(variant), &set).unwrap();
    let machine = Machine::ideal(1);
    let setup = Setup {
        duration: Some(Ns::from_secs(seconds)),
        ..Setup::new(&machine, workload, &tuned)
    };
    setup.run(sink).unwrap().1
}

/// A built-in workload.
pub fn built_in(line: &str) -> Workload {
    builtin::parse(line).unwrap()
}

/// A workload in schedlab's own format.
pub fn written(text: &str) -> Workload {
    native::parse("test.toml", text).unwrap()
}

/// The nine values of the ULE paper's Figure 3; Linux has no nice 20.
pub const FIGURE_3: [i8; 9] = [-20, -15, -10, -5, 0, 5, 10, 15, 19];

/// CPU shares in percent of endless tasks of these nice values, in the order given.
pub fn shares(policy: &str, set: &[(&str, i64)], nice: &[i8], seconds: u64) -> Vec<f64> {
    let values: Vec<String> = nice.iter().map(i8::to_string).collect();
    let workload = built_in(&format!("hogs --nice={}", values.join(",")));
    let measure = schedlab_measure::Measure::new();
    let metrics = traced(policy, set, &workload, seconds, measure).finish();
    let share = |nice: &i8| {
        let task = metrics.tasks.iter().find(|t| t.nice == *nice).unwrap();
        100.0 * task.activity.cpu_share
    };
    nice.iter().map(share).collect()
}

/// Each share is within `tolerance` percent of the CPU of the expected one.
#[track_caller]
pub fn assert_shares(shares: &[f64], expected: [f64; 9], tolerance: f64) {
    for (i, nice) in FIGURE_3.iter().enumerate() {
        assert!(
            (shares[i] - expected[i]).abs() <= tolerance,
            "nice {nice}: {:.1} %, not {:.1}: {shares:.1?}",
            shares[i],
            expected[i]
        );
    }
}

/// The priority of task 0 every tenth of a second.
pub fn priorities(
    policy: &str,
    set: &[(&str, i64)],
    workload: &Workload,
    seconds: u64,
) -> Vec<i32> {
    let events: Vec<Event> = traced(policy, set, workload, seconds, Vec::new());
    let mut series = Vec::new();
    let mut current = 0;
    for event in &events {
        while series.len() as u64 * 100_000_000 < event.time.0 {
            series.push(current);
        }
        if let EventKind::Priority {
            task: TaskId(0),
            priority,
        } = event.kind
        {
            current = priority;
        }
    }
    series
}

/// Autocorrelation of the series with itself `lag` samples later, -1 to 1.
pub fn autocorrelation(series: &[i32], lag: usize) -> f64 {
    let mean = series.iter().map(|&x| f64::from(x)).sum::<f64>() / series.len() as f64;
    let at = |i: usize| f64::from(series[i]) - mean;
    let pairs: f64 = (lag..series.len()).map(|i| at(i) * at(i - lag)).sum();
    let all: f64 = (0..series.len()).map(|i| at(i) * at(i)).sum();
    pairs / all
}
