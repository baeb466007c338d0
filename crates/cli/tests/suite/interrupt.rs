//! Ctrl-C during a run.

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
    let said = text(&output.stderr);
    assert!(said.ends_with("schedlab: interrupted\n"), "{said}");
    assert_eq!(text(&output.stdout), "");
    // No run came to its end, so there is no report; the traces have what happened up to the signal.
    let traces = ["x-elsc.pftrace", "x-o1-2.6.11.pftrace"];
    assert_eq!(names(folder.path()), traces);
    for name in traces {
        assert!(said.contains(name), "{said}");
        let trace = file(name);
        let measured = schedlab(&["measure", argument(&trace)]).output().unwrap();
        assert!(measured.status.success(), "{}", text(&measured.stderr));
        assert!(text(&measured.stdout).contains("hog"));
    }
}

#[test]
fn interrupt_keeps_the_traces() {
    ends_clean("-INT", 130);
}

/// A closed terminal.
#[test]
fn hangup_keeps_the_traces() {
    ends_clean("-HUP", 129);
}

/// As under nohup: a signal that is ignored stays ignored.
#[test]
fn an_ignored_hangup_does_not_end_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("x.pftrace");
    let program = env!("CARGO_BIN_EXE_schedlab");
    let run = "run --policy o1 --workload hogs --duration 10000h --trace";
    let shell = format!("trap '' HUP; exec {program} {run} '{}'", trace.display());
    let mut child = Command::new("sh").args(["-c", &shell]).spawn().unwrap();
    wait_for_parts(folder.path(), 1);
    send("-HUP", &child);
    sleep(Duration::from_millis(300));
    let ended = child.try_wait().unwrap();
    send("-TERM", &child);
    assert_eq!(child.wait().unwrap().code(), Some(143));
    assert_eq!(ended, None);
}

#[test]
fn termination_keeps_the_traces() {
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
    assert_eq!(text(&output.stderr), "schedlab: interrupted\n");
    assert_eq!(names(&temporary), Vec::<String>::new());
}
