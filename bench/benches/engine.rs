//! How fast the simulator is: events a second, all checks on, the trace hashed.
//!
//! An event is what the simulation processes one after the other: a wakeup by timer, a tick, the end
//! of a computation, an interrupt to reschedule.  Recorded trace events are about as many again.

#![allow(missing_docs)] // criterion_group! makes public functions.

use criterion::{criterion_group, BenchmarkId, Criterion, Throughput};
use schedlab_machine::Machine;
use schedlab_measure::Measure;
use schedlab_policy::{Policy, Tuned};
use schedlab_sim::{Limits, Outcome, Setup, Simulation, TieBreak};
use schedlab_trace::{HashSink, Ns, Sink, Tee};
use schedlab_workload::{builtin, Workload};

/// Policy, number of tasks, number of CPUs, simulated time.
const CASES: [(&str, u32, u32, Ns); 6] = [
    ("o1", 8, 4, Ns::from_secs(20)),
    ("linux24", 8, 4, Ns::from_secs(20)),
    ("elsc", 8, 4, Ns::from_secs(20)),
    ("o1", 10_000, 64, Ns::from_secs(5)),
    ("elsc", 10_000, 64, Ns::from_secs(5)),
    ("linux24", 10_000, 64, Ns::from_ms(100)),
];

/// Tasks that compute for 8 ms and sleep for 1 ms, again and again.
fn workload(tasks: u32) -> Workload {
    builtin::parse(&format!("massive-intr -n {tasks}")).expect("a built-in")
}

fn simulate<S: Sink>(
    policy: &str,
    machine: &Machine,
    workload: &Workload,
    time: Ns,
    sink: S,
) -> Outcome {
    let tuned = Tuned::defaults(Policy::find(policy).expect("a policy"));
    let setup = Setup {
        duration: Some(time),
        ..Setup::new(machine, workload, &tuned)
    };
    let end = setup.run(sink);
    end.unwrap_or_else(|error| panic!("{error}")).0
}

fn engine(c: &mut Criterion) {
    let mut group = c.benchmark_group("engine");
    group.sample_size(10);
    for (policy, tasks, cpus, time) in CASES {
        let (machine, workload) = (Machine::ideal(cpus), workload(tasks));
        let events = simulate(policy, &machine, &workload, time, HashSink::default()).events;
        group.throughput(Throughput::Elements(events));
        let id = BenchmarkId::new(policy, format!("{tasks}-tasks-{cpus}-cpus"));
        group.bench_function(id, |b| {
            b.iter(|| simulate(policy, &machine, &workload, time, HashSink::default()));
        });
    }
    let (machine, workload) = (Machine::ideal(4), workload(8));
    let time = Ns::from_secs(20);
    group.bench_function(BenchmarkId::new("o1", "8-tasks-4-cpus-measured"), |b| {
        b.iter(|| {
            let sink = Tee(HashSink::default(), Measure::new());
            simulate("o1", &machine, &workload, time, sink)
        });
    });
    group.finish();
}

/// Millions of events a second, from what was just measured.
fn table() {
    println!(
        "\n{:<10}{:>10}{:>8}{:>22}{:>26}",
        "policy", "tasks", "CPUs", "million events/s", "simulated s per CPU s"
    );
    for (policy, tasks, cpus, time) in CASES {
        let name = format!("{tasks}-tasks-{cpus}-cpus");
        let Some(ns) = schedlab_bench::median_ns("engine", policy, &name) else {
            continue;
        };
        let (machine, workload) = (Machine::ideal(cpus), workload(tasks));
        let events = simulate(policy, &machine, &workload, time, HashSink::default()).events;
        let rate = events as f64 / ns * 1e3;
        println!(
            "{policy:<10}{tasks:>10}{cpus:>8}{rate:>22.1}{:>26.0}",
            time.0 as f64 / ns
        );
    }
}

criterion_group!(benches, engine);

fn main() {
    benches();
    Criterion::default().configure_from_args().final_summary();
    table();
}
