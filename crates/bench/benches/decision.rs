//! What a decision costs as the run queue grows: the running task blocks, the policy picks the
//! next one, and the one that blocked is woken.

#![allow(missing_docs)] // criterion_group! makes public functions.

use criterion::{criterion_group, BenchmarkId, Criterion};
use schedlab_policy::{deq, enq, Class, Host, NewTask, Platform, Policy, Prev, Topology, Tuned};
use schedlab_trace::{CpuId, TaskId, Time};

const SIZES: [u32; 5] = [10, 100, 1_000, 10_000, 100_000];
const CPU: CpuId = CpuId(0);

/// One CPU whose run queue holds so many tasks, one of them running.
struct Cycle {
    host: Host,
    running: TaskId,
    now: u64,
}

impl Cycle {
    fn new(policy: Policy, tasks: u32) -> Cycle {
        let cpus = [Topology {
            core: 0,
            llc: 0,
            node: 0,
        }];
        let platform = Platform {
            cpus: &cpus,
            smp: false,
            hz: 1000,
        };
        let tuned = Tuned::defaults(policy);
        let mut host = Host::new(&tuned, &platform, 1).expect("the policy initialises");
        for mm in 1..=tasks {
            let new = NewTask {
                nice: 0,
                class: Class::Normal,
                rt_priority: 0,
                mm,
                cpu_set: 0,
                foreground: false,
                cpu: CPU,
            };
            let task = host.add_task(&new, None);
            host.fork(None, task).expect("fork");
            host.enqueue(task, enq::NEW).expect("enqueue");
        }
        let running = host
            .pick_next(CPU, None, Prev::None)
            .expect("pick")
            .expect("tasks wait");
        host.switch(CPU, None, Some(running)).expect("switch");
        Cycle {
            host,
            running,
            now: 0,
        }
    }

    fn turn(&mut self) {
        let prev = self.running;
        self.now += 1_000;
        self.host.at(Time(self.now), CPU);
        self.host.dequeue(prev, deq::SLEEP).expect("dequeue");
        let next = self
            .host
            .pick_next(CPU, Some(prev), Prev::Blocked)
            .expect("pick")
            .expect("others wait");
        self.host
            .switch(CPU, Some(prev), Some(next))
            .expect("switch");
        self.host.enqueue(prev, enq::WAKEUP).expect("enqueue");
        while self.host.take_resched().is_some() {}
        self.running = next;
    }
}

fn decision(c: &mut Criterion) {
    let mut group = c.benchmark_group("decision");
    group.sample_size(10);
    for policy in Policy::all() {
        for tasks in SIZES {
            let mut cycle = Cycle::new(*policy, tasks);
            group.bench_function(BenchmarkId::new(policy.name(), tasks), |b| {
                b.iter(|| cycle.turn())
            });
        }
    }
    group.finish();
}

/// Each policy's cost relative to its own with ten tasks.
fn table() {
    print!(
        "\ncost of a decision, relative to that with {} tasks\n{:<12}",
        SIZES[0], "policy"
    );
    SIZES.iter().for_each(|size| print!("{size:>12}"));
    println!();
    for policy in Policy::all() {
        let cost =
            |size: u32| schedlab_bench::median_ns("decision", policy.name(), &size.to_string());
        let Some(base) = cost(SIZES[0]) else { continue };
        print!("{:<12}", policy.name());
        for size in SIZES {
            match cost(size) {
                Some(ns) => print!("{:>12.1}", ns / base),
                None => print!("{:>12}", "-"),
            }
        }
        println!();
    }
}

criterion_group!(benches, decision);

fn main() {
    benches();
    Criterion::default().configure_from_args().final_summary();
    table();
}
