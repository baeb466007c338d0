//! Equal inputs give equal traces in test builds, in release builds, and in later versions.
//!
//! A separate program, because it is compiled a second time with all optimisations; it needs only
//! the simulator. `tests/golden/hashes.txt` at the root has the expected hashes of every build. If
//! a change to a scheduler, the engine, a machine or a workload changes hashes, `make golden`
//! updates the file, and the diff shows the affected policies.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use schedlab_policy::{Policy, Tuned};
use schedlab_sim::Setup;
use schedlab_trace::{HashSink, Ns};
use schedlab_workload::builtin;

/// The runs: workload, machine, milliseconds. They are short, and together they use every part of
/// the model.
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

/// A line for each run: its hash and its name.
fn hashes() -> String {
    let mut lines = String::new();
    for (name, machine, ms) in RUNS {
        let machine = schedlab_machine::find(machine).unwrap();
        let workload = builtin::parse(name).unwrap();
        for tuned in Policy::all().iter().copied().map(Tuned::defaults) {
            for seed in SEEDS {
                let setup = Setup {
                    seed,
                    duration: Some(Ns::from_ms(*ms)),
                    ..Setup::new(&machine, &workload, &tuned)
                };
                let ran = setup.run(HashSink::default());
                let (_, hash) = ran.unwrap_or_else(|error| panic!("{}: {error}", tuned.name()));
                let policy = [tuned.policy.name(), tuned.variant].join(" ");
                writeln!(
                    lines,
                    "{}  {} on {}, {}, seed {seed}",
                    hash.finish(),
                    workload.name,
                    machine.name,
                    policy.trim()
                )
                .unwrap();
            }
        }
    }
    lines
}

#[test]
fn hashes_are_those_every_build_computes() {
    let now = hashes();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/hashes.txt");
    if std::env::var_os("SCHEDLAB_UPDATE_GOLDEN").is_some() {
        fs::write(&golden, &now).unwrap();
    }
    let expected = fs::read_to_string(&golden).unwrap_or_default();
    let pairs = now.lines().zip(expected.lines());
    let changed: Vec<String> = pairs
        .filter(|(now, then)| now != then)
        .map(|(now, then)| format!("  was {then}\n  is  {now}"))
        .collect();
    assert!(
        changed.is_empty() && now == expected,
        "{} of {} hashes are not those of tests/golden/hashes.txt; if that is meant, \"make golden\":\n{}",
        changed.len(),
        now.lines().count(),
        changed.join("\n")
    );
}
