//! `schedlab measure` and `schedlab convert` on recordings.

use std::fs;

use crate::common::{argument, json, output, refused, schedlab, text};

const HACKBENCH: &str = "examples/recordings/hackbench-4g.perf-script.txt.zst";

/// A shell and `sleep`, with a wakeup in an interrupt: made by hand, complete.
const SMALL: &str = "\
    sh 7/7 [000] 5.000000: sched:sched_switch: prev_comm=sh prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=sleep next_pid=8 next_prio=120
 sleep 8/8 [000] 5.004000: sched:sched_waking: comm=sh pid=7 prio=120 target_cpu=000
 sleep 8/8 [000] 5.006000: sched:sched_switch: prev_comm=sleep prev_pid=8 prev_prio=120 prev_state=R ==> next_comm=sh next_pid=7 next_prio=120
    sh 7/7 [000] 5.007000: sched:sched_switch: prev_comm=sh prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=sleep next_pid=8 next_prio=120
 sleep 8/8 [000] 5.010000: sched:sched_switch: prev_comm=sleep prev_pid=8 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
";

/// The counts are those of grep, as in the readers' own tests.
#[test]
fn switches_are_counted_by_kind() {
    let result = json(&["measure", HACKBENCH]);
    let recording = &result["recording"];
    assert_eq!(recording["format"], "perf-script");
    assert_eq!(recording["compression"], "zstd");
    assert_eq!(recording["nr_events"], 25_395);
    let switches = &recording["switches"];
    let expected = [
        ("preempted_or_yielded", 2571),
        ("yielded", 0),
        ("preempted_in_kernel", 17),
        ("slept", 10_814),
        ("disk_sleep", 2),
        ("kernel_idle", 83),
        ("died", 161),
        ("from_idle", 29),
    ];
    for (kind, count) in expected {
        assert_eq!(switches[kind], count, "{kind}");
    }
    // R and R+ alike are preemption.
    assert_eq!(result["total"]["nr_involuntary_switches"], 2571 + 17);
    let warnings = result["warnings"].to_string();
    assert!(warnings.contains("were added"), "{warnings}");
    assert!(warnings.contains("times are in microseconds"), "{warnings}");
}

#[test]
fn tables_say_what_was_read() {
    for format in ["table", "markdown"] {
        let shown = output(&["measure", HACKBENCH, "--format", format]);
        for part in [
            "Read from perf script text",
            "13,677",
            "R+ alone is not preemption",
            "17",
        ] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
    }
}

/// By hand: sh is woken at 5.004, runs at 5.006, 2 ms later, and for 1 ms; sleep runs 6 ms from
/// 5.000 on, waits 1 ms and runs 3 ms more.
#[test]
fn layouts_of_perf() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("small.txt");
    fs::write(&path, SMALL).unwrap();
    let shown = |view: &str| {
        let out = schedlab(&["measure", argument(&path), "--view", view])
            .output()
            .unwrap();
        assert!(out.status.success());
        text(&out.stdout)
    };
    let latency = shown("latency");
    for line in [
        "  sh:7                  |      1.000 ms |        1 | avg:   2.000 ms | max:   2.000 ms | \
         max start:     5.004000 s | max end:     5.006000 s",
        "  TOTAL:                |     10.000 ms |        2 |",
    ] {
        assert!(latency.lines().any(|l| l == line), "{line}\n{latency}");
    }
    let timehist = shown("timehist");
    let away = |who: &str, rest: &str| format!("{who:<30} {rest}");
    for line in [
        format!(
            "       5.006000 [0000]  {}",
            away("sleep[8]", "     0.000      0.000      6.000 ")
        ),
        format!(
            "       5.007000 [0000]  {}",
            away("sh[7]", "     6.000      2.000      1.000 ")
        ),
        format!(
            "       5.010000 [0000]  {}",
            away("sleep[8]", "     1.000      0.000      3.000 ")
        ),
    ] {
        assert!(timehist.lines().any(|l| l == line), "{line}\n{timehist}");
    }
}

/// Into every format and back; what does not go along is said.
#[test]
fn conversions() {
    let folder = tempfile::tempdir().unwrap();
    let whole = &json(&["measure", HACKBENCH])["recording"]["events"];
    for (name, keeps_all, said) in [
        ("x.ftrace", true, ""),
        (
            "x.perf-script.txt",
            true,
            "the context of wakeups (task or interrupt) was not written",
        ),
        (
            "x.pftrace",
            false,
            "times begin at 0, which is 3241.170554000 s in the recording",
        ),
    ] {
        let path = folder.path().join(name);
        let out = schedlab(&["convert", HACKBENCH, argument(&path)])
            .output()
            .unwrap();
        let notes = text(&out.stderr);
        assert!(out.status.success(), "{notes}");
        assert!(notes.contains(said), "{notes}");
        assert!(notes.contains("times are in microseconds"), "{notes}");
        let events = &json(&["measure", argument(&path)])["recording"]["events"];
        assert_eq!(events == whole, keeps_all, "{name}: {events}");
        assert!(events["sched_switch"].as_u64() >= whole["sched_switch"].as_u64());
    }
}

#[test]
fn mistakes() {
    let folder = tempfile::tempdir().unwrap();
    let message = refused(&["convert", HACKBENCH, "x.pftrac"]);
    assert!(message.contains("did you mean \"pftrace\"?"), "{message}");
    let message = refused(&["measure", "README.md"]);
    assert!(
        message.starts_with("README.md: this is not a recording"),
        "{message}"
    );
    let cut = folder.path().join("cut.txt");
    fs::write(&cut, &SMALL[..SMALL.len() - 30]).unwrap();
    let message = refused(&["measure", argument(&cut)]);
    let expected = format!("{}:5: the file ends inside this line", argument(&cut));
    assert!(message.starts_with(&expected), "{message}");
    let target = folder.path().join("x.pftrace");
    refused(&["convert", argument(&cut), argument(&target)]);
    assert!(!target.exists());
    let message = refused(&[
        "measure", HACKBENCH, "--view", "latency", "--format", "json",
    ]);
    assert!(
        message.starts_with("--view: this view is text in perf's own layout"),
        "{message}"
    );
}

/// A trace of the simulator's own is no recording of a kernel.
#[test]
fn a_trace_of_a_simulation_is_called_one() {
    let folder = tempfile::tempdir().unwrap();
    for extension in ["pftrace", "ftrace"] {
        let trace = folder.path().join(format!("x.{extension}"));
        let trace = argument(&trace);
        let workload = ["--workload", "hogs --count 2", "--duration", "100ms"];
        output(&[&["run", "--policy", "o1", "--trace", trace], &workload[..]].concat());
        let shown = schedlab(&["measure", trace]).output().unwrap();
        let shown = text(&shown.stdout);
        assert!(shown.contains("of a simulation's trace"), "{shown}");
        assert!(!shown.contains("real kernel"), "{shown}");
    }
}
