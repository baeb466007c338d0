//! What a second's passes over all tasks cost as tasks grow: BSD's decay, SVR4's update.
//!
//! Choosing who runs is flat in these schedulers (see the benchmark `decision`); the price is paid here, once a
//! second, by any running CPU.

#![allow(missing_docs)] // criterion_group! makes public functions.

use criterion::{criterion_group, BenchmarkId, Criterion};
use schedlab_bench::Crowd;
use schedlab_policy::Policy;

const SIZES: [u32; 5] = [10, 100, 1_000, 10_000, 100_000];

fn pass(c: &mut Criterion) {
    let mut group = c.benchmark_group("pass");
    group.sample_size(10);
    for policy in with_passes() {
        for tasks in SIZES {
            let mut crowd = Crowd::new(policy, tasks);
            group.bench_function(BenchmarkId::new(policy.name(), tasks), |b| {
                b.iter(|| crowd.second())
            });
        }
    }
    group.finish();
}

/// Policies whose timers walk over all tasks.
fn with_passes() -> Vec<Policy> {
    let passes = |policy: &&Policy| {
        let mut crowd = Crowd::new(**policy, 10);
        crowd.second();
        crowd.second();
        crowd.recalculated() > 0
    };
    Policy::all().iter().filter(passes).copied().collect()
}

fn table() {
    schedlab_bench::growth("pass", "a second's timers", &with_passes(), &SIZES);
}

criterion_group!(benches, pass);

fn main() {
    benches();
    Criterion::default().configure_from_args().final_summary();
    table();
}
