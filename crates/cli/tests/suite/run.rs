//! `schedlab run` and `schedlab compare` on the command line.

use std::fs;

use crate::common::DEADLOCK;
use crate::common::{argument, json, names, output, refused, schedlab, text};
use serde_json::Value;

/// One hog on one CPU without costs for one second: everything about it is known beforehand.
const HOG: [&str; 6] = [
    "--workload",
    "hogs --count 1",
    "--machine",
    "ideal-1",
    "--duration",
    "1s",
];

fn run<'a>(policy: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["run", "--policy", policy], &HOG[..], more].concat()
}

fn keys(value: &Value) -> Vec<&str> {
    value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}

#[track_caller]
fn has_keys(value: &Value, expected: &[&str]) {
    for key in expected {
        assert!(
            keys(value).contains(key),
            "{key} is missing in {:?}",
            keys(value)
        );
    }
}

#[test]
fn json_carries_what_was_asked_and_what_came_out() {
    let result = json(&run("o1:2.6.10", &["--seed", "7"]));
    has_keys(
        &result,
        &["counters", "cpus", "tasks", "trace_hash", "command"],
    );
    assert_eq!(result["policy"], "o1");
    assert_eq!(result["variant"], "2.6.10");
    assert_eq!(result["workload"], "hogs");
    assert_eq!(result["machine"], "ideal-1");
    assert_eq!(result["seed"], 7);
    assert_eq!(result["duration_ns"], 1_000_000_000);
    assert_eq!(result["trace_hash"].as_str().unwrap().len(), 32);
    let task = &result["tasks"][0];
    let expected = [
        "name",
        "id",
        "nice",
        "run_ns",
        "run_delay_ns",
        "wakeup_latency_ns",
        "nr_switches",
        "nr_migrations",
    ];
    has_keys(task, &expected);
    assert_eq!(
        task["run_ns"], 1_000_000_000,
        "the only task on an ideal CPU always runs"
    );
}

#[test]
fn distributions_have_their_percentiles() {
    let sleepers = [
        "run",
        "--policy",
        "o1",
        "--workload",
        "late",
        "--machine",
        "ideal-1",
        "--duration",
        "1s",
    ];
    let result = json(&sleepers);
    let sleeper = result["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .find(|t| !t["wakeup_latency_ns"].is_null());
    let sleeper = sleeper.expect("a task slept and woke");
    for what in ["run_delay_ns", "wakeup_latency_ns"] {
        has_keys(&sleeper[what], &["p50", "p95", "p99", "max"]);
    }
}

#[test]
fn tables_show_hash_and_command_and_the_command_gives_the_hash_again() {
    let first = output(&run("o1", &["--seed", "3", "--set", "granularity_ms=1"]));
    let line = |start: &str| {
        let line = first
            .lines()
            .find_map(|line| line.trim().strip_prefix(start));
        line.unwrap_or_else(|| panic!("no line {start:?} in {first}"))
            .to_string()
    };
    let hash = line("trace ")
        .split_whitespace()
        .next()
        .unwrap()
        .to_string();
    let command = shlex::split(&line("reproduce: ")).unwrap();
    assert_eq!(command[0], "schedlab");
    let words: Vec<&str> = command[1..].iter().map(String::as_str).collect();
    assert!(
        words.contains(&"o1:2.6.11") && words.contains(&"granularity_ms=1"),
        "{words:?}"
    );
    assert!(output(&words).contains(&hash), "another hash than {hash}");
}

#[test]
fn seeds_and_tunables_make_other_traces() {
    let hash = |more: &[&str]| {
        let arguments = [
            "run",
            "--policy",
            "o1",
            "--workload",
            "mixed",
            "--duration",
            "1s",
        ];
        json(&[&arguments, more].concat())["trace_hash"].clone()
    };
    let first = hash(&["--seed", "1"]);
    assert_eq!(hash(&[]), first, "the default seed is 1");
    assert_ne!(hash(&["--seed", "2"]), first);
    assert_ne!(hash(&["--set", "hz=100"]), first);
    assert_ne!(hash(&["--machine", "ideal-2"]), first);
}

#[test]
fn several_seeds_give_medians_and_one_hash_each() {
    let result = json(&run("o1", &["--seeds", "3..4"]));
    assert_eq!(result["summary"][0]["seeds"], serde_json::json!([3, 4]));
    assert_eq!(result["runs"].as_array().unwrap().len(), 2);
    let table = output(&run("o1", &["--seeds", "2"]));
    // Nothing random happens under o1: both seeds give one trace.
    assert!(table.contains("seeds 1, 2: equal for all"), "{table}");
    assert_eq!(
        table.matches("--seeds 2").count(),
        1,
        "one command for both: {table}"
    );
}

#[test]
fn comparison_has_a_column_for_each_policy() {
    let table = output(
        &[
            &["compare", "--policies", "linux24:2.3.99,elsc,o1"],
            &HOG[..],
        ]
        .concat(),
    );
    for policy in ["linux24 2.3.99 seed 1", "elsc seed 1", "o1 2.6.11 seed 1"] {
        assert!(table.contains(policy), "{policy}: {table}");
    }
    assert_eq!(table.matches("\ntrace ").count(), 3, "{table}");
}

#[test]
fn all_means_every_policy_in_its_default_variant() {
    let result = json(&[&["compare", "--policies", "all"], &HOG[..]].concat());
    let mut compared: Vec<&str> = result["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["policy"].as_str().unwrap())
        .collect();
    assert_eq!(
        compared[0], "eevdf",
        "differences refer to what Linux runs today"
    );
    compared.sort_unstable();
    let listed = output(&["list", "policies", "--format", "json"]);
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let listed: Vec<&str> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p["name"].as_str().unwrap())
        .collect();
    assert_eq!(compared, listed);
}

#[test]
fn settings_reach_the_policies_they_are_for() {
    let compare = ["compare", "--policies", "elsc,o1"];
    let result = json(
        &[
            &compare,
            &HOG[..],
            &["--set", "list_width=8", "--set", "o1.hz=100"],
        ]
        .concat(),
    );
    assert_eq!(
        result["runs"][0]["tunables"],
        serde_json::json!({"list_width": "8"})
    );
    assert_eq!(
        result["runs"][1]["tunables"],
        serde_json::json!({"hz": "100"})
    );
}

#[test]
fn markdown_is_a_table_and_a_command() {
    let markdown = output(&run("elsc", &["--format", "markdown"]));
    assert!(markdown.starts_with("### hogs on ideal-1"), "{markdown}");
    assert!(
        markdown.contains("\n| ") && markdown.contains("\n```sh\nschedlab run "),
        "{markdown}"
    );
}

#[test]
fn files_appear_where_they_are_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let (trace, report, result) = (file("x.ftrace"), file("x.html"), file("x.json"));
    let files = [
        "--trace",
        argument(&trace),
        "--report",
        argument(&report),
        "--json",
        argument(&result),
    ];
    let table = output(&run("o1", &files));
    assert_eq!(names(folder.path()), ["x.ftrace", "x.html", "x.json"]);
    assert!(fs::read_to_string(&trace).unwrap().contains("sched_switch"));
    let html = fs::read_to_string(&report).unwrap();
    assert!(html.to_lowercase().starts_with("<!doctype html>") && html.contains("--report"));
    let result: Value = serde_json::from_str(&fs::read_to_string(&result).unwrap()).unwrap();
    assert!(table.contains(result["trace_hash"].as_str().unwrap()));
}

#[test]
fn each_run_of_a_comparison_has_its_own_trace() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("x.pftrace");
    output(
        &[
            &["compare", "--policies", "elsc,o1", "--seeds", "2"],
            &HOG[..],
            &["--trace", argument(&trace)],
        ]
        .concat(),
    );
    let expected = [
        "x-elsc-seed1.pftrace",
        "x-elsc-seed2.pftrace",
        "x-o1-2.6.11-seed1.pftrace",
        "x-o1-2.6.11-seed2.pftrace",
    ];
    assert_eq!(names(folder.path()), expected);
}

#[test]
fn what_never_ends_runs_for_ten_seconds_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("endless.json");
    fs::write(
        &file,
        r#"{"tasks": {"t": {"loop": -1, "run": 1000, "sleep": 1000}}}"#,
    )
    .unwrap();
    let out = schedlab(&[
        "run",
        "--policy",
        "o1",
        "--workload",
        argument(&file),
        "--format",
        "json",
    ])
    .output()
    .unwrap();
    assert!(out.status.success());
    assert!(
        text(&out.stderr).contains("this runs for 10 s\n"),
        "{}",
        text(&out.stderr)
    );
    let result: Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(result["duration_ns"], 10_000_000_000_u64);
}

/// With --duration there is no warning about an assumed duration.
#[test]
fn endless_tasks_of_a_native_file_run_as_long_as_the_user_says() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("endless.toml");
    fs::write(&file, "[task.t]\nprogram = \"forever\\nrun 1ms\\nend\"\n").unwrap();
    let run = [
        "run",
        "--policy",
        "o1",
        "--workload",
        argument(&file),
        "--format",
        "json",
    ];
    let duration = |out: &[u8]| {
        let result: Value = serde_json::from_slice(out).unwrap();
        result["duration_ns"].as_u64()
    };
    let out = schedlab(&run).output().unwrap();
    let note = "endless.toml:1: duration: missing, and task \"t\" never ends: this runs for 10 s\n";
    assert!(text(&out.stderr).ends_with(note), "{}", text(&out.stderr));
    assert_eq!(duration(&out.stdout), Some(10_000_000_000));
    let out = output(&[&run[..], &["--duration", "3s"]].concat());
    assert_eq!(duration(out.as_bytes()), Some(3_000_000_000));
}

/// Background tasks alone that end are no deadlock.
#[test]
fn background_tasks_alone_may_end() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("background.toml");
    let task = "duration = \"1s\"\n[task.t]\nbackground = true\nprogram = \"run 1ms\"\n";
    fs::write(&file, task).unwrap();
    let out = output(&["run", "--policy", "o1", "--workload", argument(&file)]);
    assert!(out.contains("(all tasks ended)"), "{out}");
}

#[test]
fn warnings_of_a_workload_come_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("odd.json");
    fs::write(
        &file,
        r#"{"tasks": {"t": {"loop": 2, "run": 1000, "slepp": 1000}}}"#,
    )
    .unwrap();
    let out = schedlab(&["run", "--policy", "o1", "--workload", argument(&file)])
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", text(&out.stderr));
    let (result, notes) = (text(&out.stdout), text(&out.stderr));
    assert_eq!(notes.matches("slepp").count(), 1, "{notes}");
    assert!(
        notes.contains("sleep") && !result.contains("slepp"),
        "{notes}{result}"
    );
}

#[test]
fn deadlock_is_a_result_that_names_the_sleepers() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("stuck.toml");
    let stuck = r#"
[mutex.a]
[mutex.b]
[task.one]
program = "lock a; sleep 1ms; lock b; unlock b; unlock a"
[task.two]
program = "lock b; sleep 1ms; lock a; unlock a; unlock b"
"#
    .replace("; ", "\\n");
    fs::write(&file, stuck).unwrap();
    let run = ["run", "--policy", "o1", "--machine", "ideal-1"];
    let run = [&run[..], &["--workload", argument(&file)]].concat();
    let ran = schedlab(&run).output().unwrap();
    assert_eq!(ran.status.code(), Some(DEADLOCK));
    let result = text(&ran.stdout);
    assert!(result.contains("(deadlock)"), "{result}");
    assert!(
        result.contains("warning: deadlock at 0.001000000: "),
        "{result}"
    );
}

/// Hours in which nothing happens take no time: 5 h asleep, then 1 ms of work.
#[test]
fn long_sleeps_are_skipped() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sleeper.toml");
    fs::write(&file, "[task.sleeper]\nprogram = \"sleep 5h\\nrun 1ms\"\n").unwrap();
    let result = json(&[
        "run",
        "--policy",
        "elsc",
        "--workload",
        argument(&file),
        "--machine",
        "ideal-1",
    ]);
    assert_eq!(result["duration_ns"], 5 * 3_600_000_000_000_u64 + 1_000_000);
    assert_eq!(result["end"], "all tasks ended");
}

/// rt-app's own reader keeps the last of two equal keys; what the author meant is both.
#[test]
fn rtapp_files_are_read_as_asked() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("twice.json");
    let twice =
        r#"{"tasks": {"t": {"loop": 1, "run": 1000, "run": 2000}}, "global": {"duration": 1}}"#;
    fs::write(&file, twice).unwrap();
    let run_ns = |more: &[&str]| {
        let run = [
            "run",
            "--policy",
            "elsc",
            "--machine",
            "ideal-1",
            "--format",
            "json",
            "--workload",
            argument(&file),
        ];
        let out = schedlab(&[&run, more].concat()).output().unwrap();
        let result: Value = serde_json::from_slice(&out.stdout).expect("the run succeeds");
        for flag in more {
            assert!(
                result["command"].as_str().unwrap().contains(flag),
                "{}",
                result["command"]
            );
        }
        result["tasks"][0]["run_ns"].as_u64().unwrap()
    };
    assert_eq!(run_ns(&[]), 3_000_000);
    assert_eq!(
        run_ns(&["--rtapp-keys", "json-c", "--rtapp-suspend", "own"]),
        2_000_000
    );
}

#[test]
fn other_commands_print_what_they_promise() {
    assert!(output(&["--version"]).starts_with(concat!("schedlab ", env!("CARGO_PKG_VERSION"))));
    assert!(output(&["run", "--help"]).contains("--hook-timeout"));
    assert!(
        output(&["run", "--policy", "o1", "--workload", "hogs --help"]).contains("Usage: hogs")
    );
    assert!(output(&["completions", "bash"]).contains("--policies"));
    let folder = tempfile::tempdir().unwrap();
    output(&["man", argument(folder.path())]);
    let page = fs::read_to_string(folder.path().join("schedlab-compare.1")).unwrap();
    assert!(page.contains("policies") && names(folder.path()).contains(&"schedlab.1".to_string()));
}

#[test]
fn reader_that_goes_away_is_no_error() {
    let mut child = schedlab(&["list"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
}

/// Results name the program and what was run: equal inputs, equal hashes.
#[test]
fn json_names_the_program_and_its_inputs() {
    let run = |more: &[&str]| {
        let arguments = ["run", "--policy", "o1", "--duration", "50ms"];
        let work: &[&str] = match more.contains(&"--workload") {
            true => &[],
            false => &["--workload", "hogs --count 2"],
        };
        json(&[&arguments[..], work, more].concat())
    };
    let plain = run(&[]);
    let version = plain["schedlab"].as_str().unwrap();
    assert_eq!(output(&["--version"]), format!("schedlab {version}\n"));
    let differ = |more: &[&str]| {
        let other = run(more);
        let keys = ["policy_hash", "workload_hash", "machine_hash"];
        for key in keys {
            assert_eq!(plain[key].as_str().unwrap().len(), 32, "{key}");
        }
        keys.map(|key| plain[key] != other[key])
    };
    assert_eq!(differ(&["--seed", "2"]), [false, false, false]);
    assert_eq!(differ(&["--set", "exit_weight=4"]), [true, false, false]);
    assert_eq!(
        differ(&["--workload", "hogs --count 3"]),
        [false, true, false]
    );
    assert_eq!(differ(&["--machine", "ideal-2"]), [false, false, true]);
}

/// The baseline is shown first; without one it is the first policy named.
#[test]
fn a_baseline_can_be_chosen() {
    let compare = |more: &[&str]| {
        let arguments = ["compare", "--policies", "o1,elsc,linux24:2.4.0"];
        let workload = ["--workload", "hogs --count 2", "--duration", "50ms"];
        let result = json(&[&arguments[..], &workload[..], more].concat());
        let runs = result["runs"].as_array().unwrap().clone();
        let names = runs
            .iter()
            .map(|run| run["policy"].as_str().unwrap().to_string());
        names.collect::<Vec<_>>()
    };
    assert_eq!(compare(&[]), ["o1", "elsc", "linux24"]);
    assert_eq!(compare(&["--baseline", "elsc"]), ["elsc", "o1", "linux24"]);
    for name in ["linux24", "linux24:2.4.0"] {
        assert_eq!(compare(&["--baseline", name]), ["linux24", "o1", "elsc"]);
    }
    let message = refused(&[
        "compare",
        "--policies",
        "o1,elsc",
        "--workload",
        "hogs",
        "--baseline",
        "elcs",
    ]);
    assert!(message.starts_with("--baseline: "), "{message}");
    assert!(message.contains("elsc"), "{message}");
}

/// On the way to the report no sink loses them.
#[test]
fn json_has_the_control_groups_of_a_workload() {
    let words = ["run", "--policy", "eevdf", "--workload", "containers"];
    let result = json(&[&words[..], &["--duration", "100ms"]].concat());
    let groups = result["control_groups"].as_array().unwrap();
    assert!(groups.len() > 1, "{groups:?}");
    assert!(groups
        .iter()
        .any(|group| group["run_ns"].as_u64() > Some(0)));
}
