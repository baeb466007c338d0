//! Equal inputs give equal traces: in other processes, with other numbers of threads, in test and release builds,
//! and in later versions.
//!
//! `tests/golden/hashes.txt` at the root holds what every build must compute.  A change to a scheduler, to the
//! engine, to a machine or to a workload may change hashes; then `make golden` renews the file, and the diff shows
//! what the change touched.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use schedlab_lab::choose::{policies, workload, Assignments};
use schedlab_lab::{run_all, Beat, Done, Trial, Watch};
use schedlab_trace::Ns;

/// What runs: workload, machine, milliseconds.  Short, and together touching every part of the model.
const RUNS: &[(&str, &str, u64)] = &[
    (
        "volanomark --rooms 1 --count 10",
        "netfinity-7000-4p",
        10_000,
    ),
    ("hackbench --groups 1", "xeon-700-8p", 1_000),
    ("kernel-build", "athlon-mp-1900-2p", 1_000),
    ("late", "pentium-4-3ghz", 1_000),
    ("massive-intr", "server", 500),
    ("mixed", "desktop", 1_000),
    ("closed-loop-server", "desktop", 500),
    ("rt-over-normal", "ideal-2", 1_000),
];

const SEEDS: [u64; 2] = [1, 2];

/// Lets every trial go on.
pub struct Unwatched;

impl Watch for Unwatched {
    fn beat(&self, _: usize, _: &Beat) -> bool {
        false
    }
    fn over(&self, _: usize) {}
}

/// Every policy with every seed.
fn trials(name: &str, machine: &str, ms: u64) -> Vec<Trial> {
    let machine = Arc::new(schedlab_machine::find(machine).unwrap());
    let workload = Arc::new(workload(name, &Default::default()).unwrap());
    let set = Assignments::read(&[], &[]).unwrap();
    let all = policies("--policies", "all", &set, &|| false).unwrap();
    let trial = |(tuned, seed)| Trial {
        duration: Some(Ns::from_ms(ms)),
        ..Trial::new(tuned, Arc::clone(&machine), Arc::clone(&workload), seed)
    };
    all.iter()
        .flat_map(|(_, tuned)| SEEDS.map(|seed| (tuned.clone(), seed)))
        .map(trial)
        .collect()
}

/// A line for each run: its hash and what it is.
fn hashes(threads: usize) -> String {
    let mut lines = String::new();
    for (name, machine, ms) in RUNS {
        let trials = trials(name, machine, *ms);
        let done = run_all(
            &trials,
            threads,
            false,
            |_| None::<Vec<_>>,
            &Unwatched,
            || (),
        );
        for (trial, done) in trials.iter().zip(done) {
            let Done::Run(ran) = done else {
                panic!("every trial was to be run");
            };
            let ran =
                ran.unwrap_or_else(|unfinished| panic!("{}: {}", trial.name(), unfinished.reason));
            let policy = [trial.tuned.policy.name(), trial.tuned.variant].join(" ");
            let (workload, machine) = (&trial.workload.name, &trial.machine.name);
            let (policy, seed) = (policy.trim(), trial.seed);
            let hash = ran.trace_hash;
            writeln!(
                lines,
                "{hash}  {workload} on {machine}, {policy}, seed {seed}"
            )
            .unwrap();
        }
    }
    lines
}

#[test]
fn hashes_are_those_every_build_computes() {
    let (one, many) = (hashes(1), hashes(3));
    assert_eq!(one, many, "hashes depend on the number of threads");
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/hashes.txt");
    if std::env::var_os("SCHEDLAB_UPDATE_GOLDEN").is_some() {
        fs::write(&golden, &one).unwrap();
    }
    let expected = fs::read_to_string(&golden).unwrap_or_default();
    let pairs = one.lines().zip(expected.lines());
    let changed: Vec<String> = pairs
        .filter(|(now, then)| now != then)
        .map(|(now, then)| format!("  was {then}\n  is  {now}"))
        .collect();
    assert!(
        changed.is_empty() && one == expected,
        "{} of {} hashes are not those of tests/golden/hashes.txt; if that is meant, \"make golden\":\n{}",
        changed.len(),
        one.lines().count(),
        changed.join("\n")
    );
}
