//! `schedlab machine`.

use crate::common::{argument, output, refused};

#[test]
fn this_machine_is_described_and_simulated() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    output(&[
        "machine",
        "--from-host",
        "--no-measure",
        "-o",
        argument(&file),
    ]);
    let run = [
        "run",
        "--policy",
        "o1",
        "--workload",
        "hogs --count 2",
        "--duration",
        "1s",
    ];
    let shown = output(&[&run[..], &["--machine", argument(&file)]].concat());
    assert!(shown.contains("o1"), "{shown}");
    // Without a file it is printed.
    assert!(output(&["machine", "--from-host", "--no-measure"]).contains("\n[[cluster]]\n"));
}

#[test]
fn mistakes_leave_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let (wrong, file) = (
        folder.path().join("wrong.json"),
        folder.path().join("m.toml"),
    );
    std::fs::write(&wrong, "{").unwrap();
    let said = refused(&["machine", "--from", argument(&wrong), "-o", argument(&file)]);
    assert!(said.contains("wrong.json:1: this is not JSON"), "{said}");
    assert!(!file.exists());
    refused(&["machine"]);
    refused(&["machine", "--from-host", "--from", argument(&wrong)]);
}
