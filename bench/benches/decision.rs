//! What a decision costs as the run queue grows: the running task blocks, the policy picks the
//! next one, and the one that blocked is woken.

#![allow(missing_docs)] // criterion_group! makes public functions.

use criterion::{criterion_group, BenchmarkId, Criterion};
use schedlab_bench::Crowd;
use schedlab_policy::Policy;

const SIZES: [u32; 5] = [10, 100, 1_000, 10_000, 100_000];

fn decision(c: &mut Criterion) {
    let mut group = c.benchmark_group("decision");
    group.sample_size(10);
    for policy in Policy::all() {
        for tasks in SIZES {
            let mut crowd = Crowd::new(*policy, tasks);
            group.bench_function(BenchmarkId::new(policy.name(), tasks), |b| {
                b.iter(|| crowd.turn())
            });
        }
    }
    group.finish();
}

fn table() {
    schedlab_bench::growth("decision", "a decision", Policy::all(), &SIZES);
}

criterion_group!(benches, decision);

fn main() {
    benches();
    Criterion::default().configure_from_args().final_summary();
    table();
}
