//! The short tests in a real kernel, which `make test` runs.  The others are in `long.rs` (`make test-vm`).
//!
//! Without a kernel image each test is skipped; it says so on standard error and in the file named by
//! `SCHEDLAB_SKIPPED`, whose lines `make test` counts.  `SCHEDLAB_REQUIRE_VM=1` makes it an error.

#[path = "../suite/common/mod.rs"]
mod common;
mod groups;
mod guest;
mod live;
mod long;
mod programs;
mod replay;
mod reproduce;
mod safety;

use std::fs;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use common::{argument, failed, refused, schedlab, text};
use guest::{have_kernel, number, vm};

/// Output, errors and status come back; what was measured adds up to the nanosecond.
#[test]
fn a_command_runs_in_a_real_kernel() {
    if !have_kernel("a_command_runs_in_a_real_kernel") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("x.json");
    let script = "echo out; echo err >&2; uname -r; sleep 0.05; exit 7";
    let ran = vm(&["--json", argument(&json), "--", "sh", "-c", script]);
    assert_eq!(ran.status.code(), Some(7), "{}", text(&ran.stderr));
    let (out, release) = text(&ran.stdout).split_once('\n').map(owned).unwrap();
    assert_eq!(out, "out");
    assert!(
        release.starts_with(|c: char| c.is_ascii_digit()),
        "{release}"
    );
    assert!(text(&ran.stderr).starts_with("err\n"));
    let result: serde_json::Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
    assert_eq!(result["world"], "kernel");
    assert_eq!(result["accounting_error"], serde_json::Value::Null);
    let machine = result["machine"].as_str().unwrap();
    assert!(machine.contains(release.trim()), "{machine}");
    let duration = number(&result["duration_ns"]);
    // It slept for 50 ms of the guest's time.
    assert!(duration > 50_000_000, "{duration}");
    let cpu = &result["cpus"][0];
    let (tasks, idle) = (number(&cpu["run_ns"]), number(&cpu["idle_ns"]));
    assert_eq!(tasks + idle, duration);
    assert!(idle > 40_000_000 && tasks > 0, "{cpu}");
    let run = number(&result["total"]["run_ns"]);
    assert_eq!(run, tasks, "all tasks together");
    let groups = result["groups"].as_array().unwrap();
    let names: Vec<&str> = groups.iter().map(|g| g["name"].as_str().unwrap()).collect();
    for wanted in ["sh", "sleep", "[schedlab]"] {
        assert!(names.contains(&wanted), "{wanted} is not in {names:?}");
    }
}

fn owned((a, b): (&str, &str)) -> (String, String) {
    (a.to_string(), b.to_string())
}

/// The same bytes twice: output, trace, metrics, and the times on standard error.
#[test]
fn deterministic_runs_are_equal_byte_for_byte() {
    if !have_kernel("deterministic_runs_are_equal_byte_for_byte") {
        return;
    }
    let script = "for i in 1 2 3; do (echo $i | sort; sleep 0.001) & done; wait; cat /proc/stat";
    let once = || {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        let (trace, json) = (file("x.pftrace"), file("x.json"));
        let files = ["--trace", argument(&trace), "--json", argument(&json)];
        let command = ["--cpus", "2", "--", "sh", "-c", script];
        let ran = vm(&[&files[..], &command].concat());
        assert!(ran.status.success(), "{}", text(&ran.stderr));
        let read = |path| fs::read(path).unwrap();
        (ran.stdout, ran.stderr, read(&trace), read(&json))
    };
    let (first, second) = (once(), once());
    assert_eq!(text(&first.0), text(&second.0));
    assert_eq!(text(&first.1), text(&second.1));
    assert!(first.2 == second.2, "the traces differ");
    assert_eq!(text(&first.3), text(&second.3));
    assert!(first.2.len() > 1000);
}

/// Ctrl-C or a closed terminal ends the machine with the program and leaves neither processes nor files.
#[test]
fn an_interrupt_ends_the_machine() {
    if !have_kernel("an_interrupt_ends_the_machine") {
        return;
    }
    ends_the_machine("-INT", 130);
    ends_the_machine("-HUP", 129);
}

#[track_caller]
fn ends_the_machine(signal: &str, status: i32) {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("x.pftrace");
    let child = schedlab(&["vm", "--trace", argument(&trace), "--", "sleep", "1000"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    let qemu = loop {
        if let Some(qemu) = guest::child_of(child.id(), "qemu-system") {
            break qemu;
        }
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "no QEMU was started"
        );
        sleep(Duration::from_millis(5));
    };
    guest::signal(signal, child.id());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(status));
    assert_eq!(text(&output.stderr), "schedlab: interrupted\n");
    assert!(!guest::is_alive(qemu), "QEMU lives on");
    assert_eq!(common::names(folder.path()), Vec::<String>::new());
}

/// A machine that takes too long is given up, with the kernel's last words.
#[test]
fn patience_ends() {
    if !have_kernel("patience_ends") {
        return;
    }
    let message = failed(4, &["vm", "--timeout", "300ms", "--", "true"]);
    assert!(
        message.starts_with("the virtual machine did not end within 0 s (booting)"),
        "{message}"
    );
}

/// Mistakes that need no machine.
#[test]
fn mistakes_are_named() {
    let message = refused(&["vm", "--kernel", "Makefile", "--", "true"]);
    assert!(
        message.starts_with("Makefile: not a kernel image"),
        "{message}"
    );
    let message = refused(&["vm"]);
    assert!(
        message.starts_with("COMMAND: missing") || message.contains("missing"),
        "{message}"
    );
    let message = refused(&[
        "compare",
        "--world",
        "vm",
        "--policies",
        "none",
        "--workload",
        "hogs",
        "--seeds",
        "3",
    ]);
    assert!(
        message.starts_with("--seeds: in a real kernel a workload runs with one seed"),
        "{message}"
    );
    let message = refused(&["run", "--policy", "o1", "--", "true"]);
    assert!(message.contains("--world vm"), "{message}");
    let message = refused(&["vm", "--policy", "./x.c", "--", "true"]);
    assert!(message.starts_with("./x.c: "), "{message}");
    let watched = |words: &[&str]| refused(&[&["vm"], words, &["--", "true"]].concat());
    let message = watched(&["--policy", "o1", "--watchdog", "31s"]);
    assert!(message.contains("1ms to 30s"), "{message}");
    let message = watched(&["--watchdog", "3s"]);
    assert!(
        message.starts_with("--watchdog: there is no policy"),
        "{message}"
    );
    let message = refused(&["vm", "--policy", "o2", "--", "true"]);
    assert!(message.contains("did you mean \"o1\""), "{message}");
}
