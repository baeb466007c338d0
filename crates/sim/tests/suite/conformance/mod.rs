//! Policies in the simulator: values from their specifications, and claims of their papers. One
//! file for each policy.

mod affinity24;
mod bsd4;
mod bsd43;
mod cfs;
mod elsc;
mod fair;
mod groups;
mod linux24;
mod lottery;
mod mlfq;
mod o1;
mod rbs;
mod staircase;
mod svr4;
mod switches;
mod textbook;
mod ule;
mod ule14;
mod usage;

use schedlab_machine::Machine;
use schedlab_measure::{Measure, Metrics};
use schedlab_policy::{Policy, Tuned};
use schedlab_sim::Setup;
use schedlab_trace::Ns;
use schedlab_workload::{builtin, native, Workload};

/// Seed 1, to the end of the workload or for this number of seconds.
fn run(policy: &str, machine: &str, workload: &str, seconds: Option<u64>) -> Metrics {
    let (name, variant) = match policy.split_once(':') {
        Some((name, variant)) => (name, Some(variant)),
        None => (policy, None),
    };
    let tuned = Tuned::new(Policy::find(name).unwrap(), variant, &[]).unwrap();
    simulate(&tuned, machine, &builtin::parse(workload).unwrap(), seconds)
}

/// Tasks in the native format, under a policy with some tunables set; seed 1, to the end.
fn measured(
    policy: &str,
    variant: Option<&str>,
    set: &[(&str, i64)],
    machine: &str,
    tasks: &str,
) -> Metrics {
    let set: Vec<(String, i64)> = set.iter().map(|&(n, v)| (n.to_string(), v)).collect();
    let tuned = Tuned::new(Policy::find(policy).unwrap(), variant, &set).unwrap();
    let workload = native::parse("tasks.toml", tasks).unwrap_or_else(|error| panic!("{error}"));
    simulate(&tuned, machine, &workload, None)
}

fn simulate(tuned: &Tuned, machine: &str, workload: &Workload, seconds: Option<u64>) -> Metrics {
    let machine = schedlab_machine::find(machine).unwrap();
    on_machine(tuned, &machine, workload, seconds)
}

fn on_machine(
    tuned: &Tuned,
    machine: &Machine,
    workload: &Workload,
    seconds: Option<u64>,
) -> Metrics {
    let setup = Setup {
        duration: seconds.map(Ns::from_secs),
        ..Setup::new(machine, workload, tuned)
    };
    let (_, measure) = setup.run(Measure::new()).unwrap();
    let metrics = measure.finish();
    assert_eq!(metrics.accounting_error, None);
    metrics
}

/// CPU shares and worst waits of endless tasks that never sleep, in the order given.
#[track_caller]
fn hogs(policy: &str, nice: &[i8], shares: &[f64], worst_waits_ms: &[u64]) {
    let mut values: Vec<String> = nice.iter().map(i8::to_string).collect();
    values.dedup();
    let each = nice.len() / values.len();
    let workload = format!("hogs --nice={} --count {each}", values.join(","));
    let metrics = run(policy, "ideal-1", &workload, Some(600));
    for (i, nice) in nice.iter().enumerate() {
        let task = &metrics.tasks[i];
        assert_eq!(task.nice, *nice, "tasks are in the order given");
        let share = task.activity.cpu_share;
        assert!(
            (share / shares[i] - 1.0).abs() < 0.02,
            "nice {nice}: {share}, not {}",
            shares[i]
        );
        let wait = task.activity.longest_wait.unwrap().ns;
        assert_eq!(wait, Ns::from_ms(worst_waits_ms[i]), "nice {nice}");
    }
}
#[test]
fn the_order_of_definition_changes_nothing() {
    let tasks = [
        "[task.editor]\nprogram = \"\"\"\nforever\n  run 1ms\n  sleep exp(20ms)\nend\n\"\"\"\n",
        "[task.hog]\ncount = 3\nprogram = \"\"\"\nforever\n  run uniform(1ms, 50ms)\nend\n\"\"\"\n",
        "[task.player]\nnice = -5\nprogram = \"\"\"\nforever\n  run 2ms\n  timer frame 20ms\nend\n\"\"\"\n",
    ];
    let metrics = |order: [usize; 3]| {
        let text = format!(
            "duration = \"3s\"\n{}{}{}",
            tasks[order[0]], tasks[order[1]], tasks[order[2]]
        );
        let workload = schedlab_workload::native::parse("w.toml", &text).unwrap();
        let machine = schedlab_machine::find("ideal-2").unwrap();
        let tuned = Tuned::defaults(Policy::find("o1").unwrap());
        let setup = Setup {
            seed: 7,
            ..Setup::new(&machine, &workload, &tuned)
        };
        let sink = schedlab_trace::HashSink::default();
        let (_, hash) = setup.run(sink).unwrap();
        hash.finish()
    };
    assert_eq!(metrics([0, 1, 2]), metrics([2, 1, 0]));
    assert_eq!(metrics([0, 1, 2]), metrics([1, 0, 2]));
}
