//! The long form (`make test-vm`): slower machines, more boots.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::common::{argument, root, schedlab, text};
use crate::guest::{self, have_kernel, vm};

/// On the host's clock, with several CPUs; a command that is killed has the status a shell gives.
#[test]
#[ignore = "long: make test-vm"]
fn the_fast_clock_and_a_killed_command() {
    if !have_kernel("the_fast_clock_and_a_killed_command") {
        return;
    }
    let script = "nproc; kill -TERM $$";
    let ran = vm(&["--clock", "fast", "--cpus", "2", "--", "sh", "-c", script]);
    assert_eq!(ran.status.code(), Some(128 + 15), "{}", text(&ran.stderr));
    assert_eq!(text(&ran.stdout), "2\n");
}

/// `schedlab record` in a machine of its own, where it may trace.
#[test]
#[ignore = "long: make test-vm"]
fn a_kernel_is_recorded_from_inside() {
    if !have_kernel("a_kernel_is_recorded_from_inside") {
        return;
    }
    let script = "schedlab record -o /tmp/x.ftrace -- sh -c 'sleep 0.01; exit 3' 2>/dev/null; \
                  echo $?; grep -c sched_switch /tmp/x.ftrace; ls /sys/kernel/tracing/instances; \
                  cat /sys/kernel/tracing/kprobe_events";
    let ran = vm(&["--no-record", "--", "sh", "-c", script]);
    let said = text(&ran.stdout);
    let mut lines = said.lines();
    assert_eq!(lines.next(), Some("3"), "{}", text(&ran.stderr));
    let switches: u32 = lines.next().unwrap().parse().unwrap();
    assert!(switches > 4, "{switches} switches");
    assert_eq!(lines.next(), None, "the recorder leaves nothing behind");
}

/// What a program notes of itself is in its recording.
#[test]
#[ignore = "long: make test-vm"]
fn a_recorded_play_counts_what_it_does() {
    if !have_kernel("a_recorded_play_counts_what_it_does") {
        return;
    }
    let script = "schedlab record -o /tmp/x.ftrace --json /tmp/x.json -- \
                  schedlab play 'massive-intr -n 2' --duration 200ms >/dev/null 2>&1; cat /tmp/x.json";
    let ran = vm(&["--no-record", "--", "sh", "-c", script]);
    let result: serde_json::Value = serde_json::from_str(&text(&ran.stdout)).unwrap();
    let tasks = result["tasks"].as_array().unwrap();
    let named = |name: &str| tasks.iter().any(|task| task["name"] == name);
    assert!(
        named("massive-intr-0") && named("massive-intr-1"),
        "{tasks:?}"
    );
    let counted = result["marks"].as_array().unwrap();
    assert!(
        counted.iter().any(|mark| mark["count"].as_u64() > Some(10)),
        "{counted:?}"
    );
}

/// A trace larger than the guest's buffers (an eighth of 160 MiB) arrives whole.
#[test]
#[ignore = "long: make test-vm"]
fn a_trace_larger_than_its_buffers_arrives_whole() {
    if !have_kernel("a_trace_larger_than_its_buffers_arrives_whole") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("x.json");
    let script = "i=0; while [ $i -lt 200000 ]; do echo; i=$((i+1)); done | \
                  while read x; do echo; done | wc -l";
    let arguments = [
        "--memory",
        "160MiB",
        "--json",
        argument(&json),
        "--",
        "sh",
        "-c",
        script,
    ];
    let ran = vm(&arguments);
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    assert_eq!(text(&ran.stdout).trim(), "200000");
    let result: serde_json::Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
    assert_eq!(result["accounting_error"], serde_json::Value::Null);
    assert_eq!(result["warnings"], serde_json::json!([]));
    // A switch takes 68 bytes, a waking and a wakeup 40 each.
    let switches = guest::number(&result["total"]["nr_switches"]);
    assert!(
        switches * 148 > 20 << 20,
        "{switches} switches fit into the buffers"
    );
}

/// The same command under schedulers of ours: each attaches, counts and goes; equal twice.
#[test]
#[ignore = "long: make test-vm"]
fn policies_schedule_a_real_kernel() {
    if !have_kernel("policies_schedule_a_real_kernel") {
        return;
    }
    let own = argument(&root().join("policies/linux24/linux24.c")).to_string();
    let policies = format!("none,o1,{own}");
    let arguments = [
        "compare",
        "--world",
        "vm",
        "--policies",
        &policies,
        "--format",
        "json",
    ];
    let script = "for i in 1 2 3 4; do (seq 2000 | sort | tail -1) & done; wait";
    let once = || {
        let output = schedlab(&[&arguments[..], &["--", "sh", "-c", script]].concat()).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let first = once();
    let result: serde_json::Value = serde_json::from_str(&first).unwrap();
    let runs = result["runs"].as_array().unwrap();
    let names: Vec<&str> = runs
        .iter()
        .map(|run| run["policy"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["none", "o1", "linux24"]);
    for run in &runs[1..] {
        assert!(
            guest::number(&run["counters"]["schedule_calls"]) > 20,
            "{}",
            run["counters"]
        );
        assert_eq!(run["accounting_error"], serde_json::Value::Null);
    }
    assert_eq!(first, once());
}

/// A policy's program that does not exist there, and one the kernel never hears of.
#[test]
#[ignore = "long: make test-vm"]
fn schedulers_that_do_not_attach_are_named() {
    if !have_kernel("schedulers_that_do_not_attach_are_named") {
        return;
    }
    let arguments = [
        "--scheduler",
        "sh -c 'echo because >&2; exit 1'",
        "--",
        "true",
    ];
    let ran = vm(&arguments);
    let message = text(&ran.stderr);
    assert_eq!(ran.status.code(), Some(5), "{message}");
    assert!(message.contains("sh: ended without attaching"), "{message}");
    assert!(message.contains("scheduler: because"), "{message}");
}

/// Killed without a word, the program takes the machine along.
#[test]
#[ignore = "long: make test-vm"]
fn the_machine_dies_with_the_program() {
    if !have_kernel("the_machine_dies_with_the_program") {
        return;
    }
    let mut child = schedlab(&["vm", "--", "sleep", "1000"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
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
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    let begun = Instant::now();
    while guest::is_alive(qemu) {
        assert!(begun.elapsed() < Duration::from_secs(60), "QEMU lives on");
        sleep(Duration::from_millis(5));
    }
}

/// The same command under the kernel's own scheduler in a comparison's table.
#[test]
#[ignore = "long: make test-vm"]
fn comparisons_come_from_a_real_kernel() {
    if !have_kernel("comparisons_come_from_a_real_kernel") {
        return;
    }
    let arguments = [
        "compare",
        "--world",
        "vm",
        "--policies",
        "none",
        "--",
        "sh",
        "-c",
        "echo hi",
    ];
    let output = schedlab(&arguments).output().unwrap();
    let table = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("none-EEVDF: hi\n"));
    for wanted in [
        "Summary",
        "none",
        "EEVDF",
        "in a real kernel (exit status 0)",
        "reproduce:",
    ] {
        assert!(table.contains(wanted), "no {wanted} in\n{table}");
    }
}
