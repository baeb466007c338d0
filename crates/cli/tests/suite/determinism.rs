//! Output does not depend on the number of threads or on the sinks.

use std::fs;

use crate::common::{json, output};

fn run(jobs: &str) -> Vec<&str> {
    vec![
        "compare",
        "--policies",
        "all",
        "--seeds",
        "2",
        "--jobs",
        jobs,
        "--workload",
        "volanomark --rooms 1 --count 10",
        "--machine",
        "netfinity-7000-4p",
        "--duration",
        "10s",
    ]
}

/// Not only the trace: everything that is printed.
#[test]
fn whole_output_does_not_depend_on_threads() {
    assert_eq!(output(&run("1")), output(&run("4")));
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
