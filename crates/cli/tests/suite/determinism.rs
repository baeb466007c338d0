//! Equal inputs give equal traces: in other processes, with other numbers of threads, in debug and
//! release builds, today and tomorrow.
//!
//! `tests/golden/hashes.txt` at the root holds what every build must print.  A change to a scheduler, to
//! the engine, to a machine or to a workload may change hashes; then `make golden` renews the file, and
//! the diff shows what the change touched.

use std::fmt::Write;
use std::fs;

use crate::common::{json, output, root};

/// Where the hashes are.
const GOLDEN: &str = "tests/golden/hashes.txt";

/// What runs: short, and together touching every part of the model.
const RUNS: &[(&str, &str, &str)] = &[
    (
        "volanomark --rooms 1 --count 10",
        "netfinity-7000-4p",
        "10s",
    ),
    ("hackbench --groups 1", "xeon-700-8p", "1s"),
    ("kernel-build", "athlon-mp-1900-2p", "1s"),
    ("late", "pentium-4-3ghz", "1s"),
    ("massive-intr", "server", "500ms"),
    ("mixed", "desktop", "1s"),
    ("closed-loop-server", "desktop", "500ms"),
    ("rt-over-normal", "ideal-2", "1s"),
];

fn runs_of<'a>(
    &(workload, machine, duration): &(&'a str, &'a str, &'a str),
    jobs: &'a str,
) -> Vec<&'a str> {
    vec![
        "compare",
        "--policies",
        "all",
        "--seeds",
        "2",
        "--jobs",
        jobs,
        "--workload",
        workload,
        "--machine",
        machine,
        "--duration",
        duration,
    ]
}

/// A line for each run: its hash and what it is.
fn hashes(jobs: &str) -> String {
    let mut lines = String::new();
    for run in RUNS {
        let result = json(&runs_of(run, jobs));
        for run in result["runs"].as_array().unwrap() {
            let text = |key: &str| run[key].as_str().unwrap();
            let name = format!("{} {}", text("policy"), text("variant"));
            writeln!(
                lines,
                "{}  {} on {}, {}, seed {}",
                text("trace_hash"),
                text("workload"),
                text("machine"),
                name.trim(),
                run["seed"]
            )
            .unwrap();
        }
    }
    lines
}

#[test]
fn hashes_are_those_every_build_prints() {
    let (one, many) = (hashes("1"), hashes("3"));
    assert_eq!(one, many, "hashes depend on --jobs");
    let golden = root().join(GOLDEN);
    if std::env::var_os("SCHEDLAB_UPDATE_GOLDEN").is_some() {
        fs::create_dir_all(golden.parent().unwrap()).unwrap();
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
        "{} of {} hashes are not those of {GOLDEN}; if that is meant, \"make golden\":\n{}",
        changed.len(),
        one.lines().count(),
        changed.join("\n")
    );
}

/// Not only the trace: everything that is printed.
#[test]
fn whole_output_does_not_depend_on_threads() {
    let run = |jobs| output(&runs_of(&RUNS[0], jobs));
    assert_eq!(run("1"), run("4"));
}

/// A second trace listener (the file) changes nothing, and the file itself is the same each time.
#[test]
fn trace_files_are_the_same_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str| {
        let path = folder.path().join(name);
        let file = crate::common::argument(&path).to_string();
        json(&[
            "run",
            "--policy",
            "o1",
            "--workload",
            "mixed",
            "--duration",
            "500ms",
            "--trace",
            &file,
        ]);
        fs::read(&path).unwrap()
    };
    for extension in ["pftrace", "ftrace"] {
        assert!(
            write(&format!("a.{extension}")) == write(&format!("b.{extension}")),
            "{extension}"
        );
    }
}
