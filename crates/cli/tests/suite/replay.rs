//! `schedlab replay` and `schedlab explain` on the command line.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;

use crate::common::{argument, json, output, refused, schedlab};

const MAKE: &str = "examples/recordings/make-j4-gcc.perf-script.txt.zst";

#[test]
fn the_first_line_says_whether_to_trust_it() {
    let text = output(&["replay", MAKE, "--policies", "o1,linux24"]);
    let first = text.lines().next().unwrap();
    // It has no interrupt flags, so who woke whom is a guess.
    assert!(
        first.starts_with("NOT PREDICTED under other schedulers"),
        "{first}"
    );
    assert!(first.contains("self-check under eevdf"), "{first}");
    assert!(
        text.contains("CPU time as rebuilt for 142 of 142 tasks"),
        "{text}"
    );
    for part in [
        "recorded",
        "o1",
        "linux24",
        "limit of replays: work takes the recorded time",
    ] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
}

#[test]
fn the_recording_stands_beside_the_replays() {
    let result = json(&["replay", MAKE, "--policies", "o1", "--mode", "open"]);
    assert_eq!(result["mode"], "open");
    assert_eq!(result["self_check"]["differing"], serde_json::json!([]));
    let runs = result["runs"].as_array().unwrap();
    let policies: Vec<&str> = runs
        .iter()
        .map(|run| run["policy"].as_str().unwrap())
        .collect();
    assert_eq!(policies, ["recorded", "o1"]);
    // The work is the same to the nanosecond.
    let work = &result["rebuilt"]["work_ns"];
    for run in runs {
        assert_eq!(&run["total"]["run_ns"], work);
    }
    assert!(runs[1]["command"].as_str().unwrap().contains("--mode open"));
}

/// The kernel's own schedulers tick with it; one that was loaded is replayed as the recording's own, too.
#[test]
fn the_recorded_scheduler_and_its_ticks() {
    let check = |flags: &[&str]| {
        let all = [&["replay", MAKE, "--policies", "o1"], flags].concat();
        let result = json(&all);
        let command = result["runs"][1]["command"].as_str().unwrap().to_string();
        (result["self_check"].clone(), command)
    };
    let (default, _) = check(&[]);
    let (slow, command) = check(&["--hz", "100"]);
    assert_ne!(slow["distances"], default["distances"]);
    assert!(command.contains("--hz 100"), "{command}");
    let (other, command) = check(&["--recorded-under", "o1"]);
    assert_eq!(other["policy"], "o1:2.6.11");
    assert_eq!(other["differing"], serde_json::json!([]));
    assert!(command.contains("--recorded-under o1"), "{command}");
}

/// A recording that names its kernel is checked under that kernel's scheduler.
#[test]
fn the_recorded_kernel_names_its_scheduler() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("new.perf-script.txt");
    // Converting has notes to tell, so standard error is not empty.
    let convert = |from: &str, to: &str| {
        let converted = schedlab(&["convert", from, to]).output().unwrap();
        assert!(converted.status.success());
    };
    let checked = |path: &str| json(&["replay", path, "--policies", "o1"])["self_check"].clone();
    assert_eq!(checked(MAKE)["policy"], "eevdf:6.12", "it names none");
    // As of `perf script --header`.
    convert(MAKE, argument(&file));
    let text = fs::read_to_string(&file).unwrap();
    let text = format!("# os release : 7.2.13+deb14-amd64\n{text}");
    fs::write(&file, text).unwrap();
    assert_eq!(checked(argument(&file))["policy"], "eevdf:7.1");
    // What is converted still knows.
    let converted = folder.path().join("new.pftrace");
    convert(argument(&file), argument(&converted));
    assert_eq!(checked(argument(&converted))["policy"], "eevdf:7.1");
    convert(argument(&converted), argument(&file));
    assert_eq!(checked(argument(&file))["policy"], "eevdf:7.1");
}

#[test]
fn an_exported_workload_runs_as_the_replay_did() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("make.json");
    let replay = json(&[
        "replay",
        MAKE,
        "--policies",
        "o1",
        "--export",
        argument(&file),
    ]);
    let run = json(&[
        "run",
        "--policy",
        "o1",
        "--workload",
        argument(&file),
        "--machine",
        "ideal-2",
    ]);
    assert_eq!(run["total"]["run_ns"], replay["rebuilt"]["work_ns"]);
    assert_eq!(run["end"], "all tasks ended");
}

#[test]
fn one_archive_holds_all_on_one_timeline() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("all.tar");
    output(&[
        "replay",
        MAKE,
        "--policies",
        "o1,elsc",
        "--trace",
        argument(&file),
    ]);
    let mut members = BTreeMap::new();
    let mut archive = tar::Archive::new(fs::File::open(&file).unwrap());
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let name = entry.path().unwrap().display().to_string();
        let mut data = Vec::new();
        entry.read_to_end(&mut data).unwrap();
        members.insert(name, data);
    }
    let manifest: serde_json::Value =
        serde_json::from_slice(&members["perfetto_manifest.json"]).unwrap();
    let files = manifest["perfetto_manifest"]["files"].as_array().unwrap();
    let machines: Vec<&str> = files
        .iter()
        .map(|f| f["machine"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(machines, ["recorded", "o1 2.6.11", "elsc"]);
    for file in files {
        assert!(!members[file["path"].as_str().unwrap()].is_empty());
    }
    assert_eq!(members.len(), 4);
}

#[test]
fn single_traces_have_one_of_the_recording_beside_them() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.ftrace");
    output(&[
        "replay",
        MAKE,
        "--policies",
        "o1",
        "--trace",
        argument(&file),
    ]);
    assert_eq!(
        crate::common::names(folder.path()),
        ["x-o1-2.6.11.ftrace", "x-recorded.ftrace"]
    );
    // What was written is a recording again, with the same names.
    let written = folder.path().join("x-o1-2.6.11.ftrace");
    let explained = json(&["explain", argument(&written), "--task", "make"]);
    assert_eq!(explained["runs"][0]["tasks"], 1);
}

#[test]
fn minimising_leaves_what_shows_the_symptom() {
    let symptom = "wait>100ms of cc1";
    let result = json(&["replay", MAKE, "--policies", "o1", "--minimise", symptom]);
    let found = &result["minimised"];
    assert!(found["tasks"].as_u64().unwrap() < 20, "{found}");
    assert_eq!(found["of_tasks"], 142);
    assert!(found["shown"][2].as_u64().unwrap() > 100_000_000, "{found}");
    assert_eq!(result["runs"].as_array().unwrap().len(), 1);
}

#[test]
fn waits_are_explained() {
    let text = output(&["explain", MAKE, "--task", "make", "--worst", "2"]);
    assert!(text.contains("1. make-5987 waited"), "{text}");
    assert!(text.contains("on the run queue of CPU"), "{text}");
    let command = format!("schedlab replay {MAKE} --policies o1");
    let result = json(&["explain", MAKE, &command, "--task", "make", "--worst", "3"]);
    assert_eq!(result["runs"][1]["policy"], "o1:2.6.11");
    assert_eq!(result["runs"][1]["worst"].as_array().unwrap().len(), 3);
    assert!(result["first_difference"]["cpu"].is_u64(), "{result}");
    let again = output(&["explain", &command, &command, "--task", "make"]);
    assert!(
        again.contains("the same tasks in the same order"),
        "{again}"
    );
}

#[test]
fn runs_are_explained_too() {
    let run = "run --policy o1 --workload 'hogs --count 3' --machine ideal-1 --duration 2s";
    let text = output(&["explain", run, "--worst", "1"]);
    // A hog of nice 0 waits while two others run 100 ms each.
    assert!(text.contains("waited 200 ms"), "{text}");
}

/// What is no recording, or one of nothing, is refused with one message.
#[test]
fn there_is_something_to_replay() {
    let folder = tempfile::tempdir().unwrap();
    let one = "sh 7/7 [000] 5.000000: sched:sched_switch: prev_comm=sh prev_pid=7 prev_prio=120 \
               prev_state=S ==> next_comm=sleep next_pid=8 next_prio=120\n";
    let second =
        |from: &str, to: &str| one.to_string() + &one.replace("5.0", "5.1").replace(from, to);
    let many_cpus = second("[000]", "[2000]");
    let no_such_cpu = second("[000]", "[4294967295]");
    let no_such_thread = second("7/7", "7/4294967296");
    let no_such_time = second("5.1", "18446744074.1");
    for (name, content, problem) in [
        ("empty", "", "the file is empty"),
        (
            "one",
            one,
            "all events have one timestamp; the recording has no duration",
        ),
        (
            "huge",
            &many_cpus,
            "the recorded machine has 2001 CPUs; expected at most 1024",
        ),
        ("no such CPU", &no_such_cpu, "not a line of perf script"),
        (
            "no such thread",
            &no_such_thread,
            "not a line of perf script",
        ),
        ("no such time", &no_such_time, "not a line of perf script"),
    ] {
        let file = folder.path().join(name);
        fs::write(&file, content).unwrap();
        let message = refused(&["replay", argument(&file)]);
        assert!(message.contains(problem), "{message}");
    }
    let message = refused(&["replay", argument(folder.path())]);
    assert!(message.contains("this is a folder"), "{message}");
}

#[test]
fn mistakes_are_named() {
    for (arguments, problem) in [
        (vec!["replay", "nowhere.perf"], "cannot be opened"),
        (vec!["replay", MAKE, "--policies", "o2"], "no policy \"o2\""),
        (
            vec!["replay", MAKE, "--recorded-under", "windows"],
            "no policy \"windows\"",
        ),
        (
            vec!["replay", MAKE, "--minimise", "slow"],
            "wait>TIME of TASK",
        ),
        (
            vec![
                "replay",
                MAKE,
                "--policies",
                "o1,elsc",
                "--minimise",
                "wait>1ms of cc1",
            ],
            "2 policies",
        ),
        (
            vec![
                "replay",
                MAKE,
                "--policies",
                "o1",
                "--minimise",
                "wait>1ms of cc2",
            ],
            "did you mean \"cc1\"",
        ),
        (
            vec![
                "replay",
                MAKE,
                "--policies",
                "o1",
                "--minimise",
                "wait>1min of cc1",
            ],
            "no task waits this long",
        ),
        (vec!["replay", MAKE, "--trace", "x.zip"], ".pftrace"),
        (vec!["explain", "nowhere.perf"], "no file \"nowhere.perf\""),
        (
            vec!["explain", MAKE, "--task", "nobody"],
            "no task is called",
        ),
        (vec!["explain", "run --policy o1"], "--workload"),
    ] {
        let message = refused(&arguments);
        assert!(message.contains(problem), "{arguments:?}: {message}");
    }
}
