//! Ctrl-C in the middle of a run.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::common::{argument, names, schedlab, text};

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

/// A policy whose compilation does not end is stopped with its compiler, and nothing stays behind.
#[test]
fn interrupt_while_compiling_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let (source, temporary) = (folder.path().join("endless.c"), folder.path().join("tmp"));
    std::fs::create_dir(&temporary).unwrap();
    std::fs::write(&source, "int x;\n").unwrap();
    let compiler = folder.path().join("cc");
    std::fs::write(&compiler, "#!/bin/sh\nexec sleep 1000\n").unwrap();
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&compiler, executable).unwrap();
    let child = schedlab(&["run", "--policy", argument(&source), "--workload", "hogs"])
        .env("CC", &compiler)
        .env("TMPDIR", &temporary)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for_parts(&temporary, 1);
    send("-INT", &child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert_eq!(
        text(&output.stderr),
        "schedlab: interrupted; nothing was written\n"
    );
    assert_eq!(names(&temporary), Vec::<String>::new());
}
