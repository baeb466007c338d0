//! Ctrl-C in the middle of a run.

mod common;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use common::{argument, names, schedlab, text};

/// Waits until the run writes its files aside, so that the signal meets it in the middle.
fn wait_for_parts(folder: &Path, count: usize) {
    let begun = Instant::now();
    while names(folder).len() < count {
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "no output begun: {:?}",
            names(folder)
        );
        sleep(Duration::from_millis(5));
    }
}

fn send(signal: &str, child: &Child) {
    let killed = Command::new("kill")
        .args([signal, &child.id().to_string()])
        .status()
        .unwrap();
    assert!(killed.success());
}

#[track_caller]
fn ends_clean(signal: &str, status: i32) {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let (trace, report) = (file("x.pftrace"), file("x.html"));
    let child = schedlab(&[
        "compare",
        "--policies",
        "o1,elsc",
        "--workload",
        "hogs",
        "--duration",
        "10000h",
        "--trace",
        argument(&trace),
        "--report",
        argument(&report),
    ])
    .stdout(Stdio::piped())
    .stderr(Stdio::piped())
    .spawn()
    .unwrap();
    wait_for_parts(folder.path(), 2);
    send(signal, &child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(status));
    assert_eq!(
        text(&output.stderr),
        "schedlab: interrupted; nothing was written\n"
    );
    assert_eq!(text(&output.stdout), "");
    assert_eq!(names(folder.path()), Vec::<String>::new());
}

#[test]
fn interrupt_leaves_nothing_behind() {
    ends_clean("-INT", 130);
}

#[test]
fn termination_leaves_nothing_behind() {
    ends_clean("-TERM", 143);
}
