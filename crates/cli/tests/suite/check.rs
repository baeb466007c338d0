//! `schedlab check`: broken policies are found, and what it prints and writes shows the fault again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::common::{argument, names, output, refused, root, schedlab, text, POLICY_FAULT};

/// The template of `schedlab new` with one change, in a file of the folder.
fn mutant(folder: &Path, from: &str, to: &str) -> PathBuf {
    let template = fs::read_to_string(root().join("policy/template/template.c")).unwrap();
    let template = template.replace("NAME", "mine");
    assert!(template.contains(from), "the template has no {from:?}");
    let file = folder.join("mine.c");
    fs::write(&file, template.replacen(from, to, 1)).unwrap();
    file
}

/// The number after a label in the first "smallest case".
fn size(shown: &str, label: &str) -> u32 {
    let line = shown.lines().find(|line| line.contains("smallest case: "));
    let rest = line.and_then(|line| line.split_once(&format!("{label}: ")));
    let number = rest.map(|(_, rest)| rest.split(',').next().unwrap());
    number.and_then(|number| number.parse().ok()).expect(shown)
}

/// Runs every command after "again: " of failures, and returns the last one's output.
fn again(shown: &str) -> Output {
    let failures = shown.split("\nFAILURE ").skip(1);
    let commands = failures.filter_map(|part| part.split_once("again: schedlab "));
    let runs = commands.map(|(_, command)| {
        let words = shlex::split(command.lines().next().unwrap()).unwrap();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let output = schedlab(&words).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(
            output.status.code(),
            Some(POLICY_FAULT),
            "{words:?}: {said}"
        );
        output
    });
    runs.last().expect("a command shows the fault again")
}

/// The change is found, called this, shrunk to a few tasks and CPUs, and the written files show it again.
#[track_caller]
fn found(from: &str, to: &str, heading: &str, most: (u32, u32)) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let policy = mutant(folder.path(), from, to);
    let files = folder.path().join("found");
    let arguments = ["check", argument(&policy), "--runs", "100"];
    let run = schedlab(&[&arguments[..], &["--write", argument(&files)]].concat())
        .output()
        .unwrap();
    let shown = text(&run.stdout);
    let said = text(&run.stderr);
    assert_eq!(run.status.code(), Some(POLICY_FAULT), "{shown}{said}");
    assert!(
        shown.contains(&format!("FAILURE {heading} (seed ")),
        "{shown}"
    );
    let (tasks, cpus) = (size(&shown, "tasks"), size(&shown, "CPUs"));
    assert!(tasks <= most.0 && cpus <= most.1, "{shown}");
    assert!(!names(&files).is_empty());
    again(&shown)
}

#[test]
fn drops_a_task() {
    let from = "\tfifo_add(s, p);\n\tif (!cpu_curr";
    let to = "\tif (!cpu_curr";
    let output = found(from, to, "task-lost, hook enqueue", (1, 1));
    assert!(text(&output.stderr).contains("task lost"));
}

#[test]
fn loses_a_task_that_yields() {
    let from = "why == PREV_YIELDED || why == PREV_PREEMPTED";
    found(
        from,
        "why == PREV_PREEMPTED",
        "task-lost, hook pick_next",
        (2, 2),
    );
}

#[test]
fn ignores_affinity() {
    let from = "\t\tif (!cpu_allowed(p, cpu))\n\t\t\tcontinue;\n";
    found(from, "", "hook-chooses, hook select_cpu", (3, 3));
}

#[test]
fn leaves_a_cpu_idle() {
    let from = "\tif (!cpu_curr(s, p->cpu))\n\t\tresched_cpu(s, p->cpu);\n";
    found(from, "", "work-conservation, hook enqueue", (2, 2));
}

#[test]
fn never_ends_a_slice() {
    let from = "s->now >= ts_of(p)->slice_end_ns";
    found(from, "0", "starvation-bound, hook pick_next", (2, 1));
}

#[test]
fn promises_shares_by_nice_and_gives_equal_ones() {
    found(
        "NICE_IGNORED",
        "NICE_WEIGHTED",
        "promise-of-nice, hook pick_next",
        (2, 1),
    );
}

/// Two instances of a policy have their state at different addresses.
#[test]
fn decides_by_the_value_of_a_pointer() {
    let from = "\texamined(s, 1);\n";
    let to = "\texamined(s, 1 + (u32)((u64)rq >> 4 & 0xffff));\n";
    found(from, to, "determinism", (2, 1));
}

/// A crash ends another process.
#[test]
fn follows_a_stray_pointer() {
    let folder = tempfile::tempdir().unwrap();
    let policy = root().join("crates/cli/tests/policies/stray.c");
    let files = argument(folder.path());
    let arguments = ["check", argument(&policy), "--runs", "9", "--write", files];
    let run = schedlab(&arguments).output().unwrap();
    let shown = text(&run.stdout);
    assert_eq!(run.status.code(), Some(POLICY_FAULT), "{shown}");
    let heading = "FAILURE hook-crashes, hook enqueue (seed 1, ";
    assert!(
        shown.contains(heading) && shown.contains("at stray.c:"),
        "{shown}"
    );
    assert_eq!((size(&shown, "tasks"), size(&shown, "CPUs")), (1, 1));
    assert!(text(&again(&shown).stderr).contains("crashed"));
}

#[test]
fn sound_policies_are_not_blamed() {
    for policy in ["o1", "eevdf"] {
        let shown = output(&["check", policy, "--runs", "60"]);
        assert!(shown.contains("60 runs, seeds 1 to 60\n"), "{shown}");
        assert!(shown.contains("failures: 0, "), "{shown}");
    }
}

#[test]
fn results_depend_on_the_seeds_alone() {
    let folder = tempfile::tempdir().unwrap();
    let from = "why == PREV_YIELDED || why == PREV_PREEMPTED";
    let policy = mutant(folder.path(), from, "why == PREV_PREEMPTED");
    let run = |jobs| {
        let runs = ["check", argument(&policy), "--runs", "100", "--jobs", jobs];
        text(&schedlab(&runs).output().unwrap().stdout)
    };
    let one = run("1");
    assert!(one.contains("FAILURE "), "{one}");
    assert_eq!(one, run("2"));
}

#[test]
fn one_seed_is_a_search_of_one_run() {
    let shown = output(&["check", "o1", "--seeds", "7..7", "--machine", "ideal-2"]);
    assert!(shown.contains("1 run, seeds 7 to 7\n"), "{shown}");
}

#[test]
fn a_workload_of_the_users_is_checked() {
    let workload = ["--workload", "hogs --count 3", "--machine", "ideal-2"];
    let shown = output(&[&["check", "o1"][..], &workload].concat());
    assert_eq!(shown, "o1:2.6.11: the run breaks no invariant\n");
}

#[test]
fn bad_arguments_are_refused() {
    let says = |arguments: &[&str], what: &str| {
        let said = refused(&[&["check"][..], arguments].concat());
        assert!(said.contains(what), "{said}");
    };
    says(&["no-such-policy"], "there is no policy \"no-such-policy\"");
    says(&["o1", "--runs", "0"], "a whole number from 1");
    says(&["o1", "--seeds", "9..3"], "the smaller first");
    says(&["o1", "--machine", "dekstop"], "did you mean \"desktop\"?");
    says(&["o1", "--order", "3"], "--workload");
    says(&["o1", "--runs", "3", "--time", "1s"], "--time");
    let said = refused(&["list", "invariants", "task-last"]);
    assert!(said.contains("did you mean \"task-lost\"?"), "{said}");
}

/// The manual's table is the program's.
#[test]
fn the_manual_has_the_table() {
    let manual = fs::read_to_string(root().join("docs/check.md")).unwrap();
    let list = output(&["list", "invariants", "--format", "json"]);
    let list: serde_json::Value = serde_json::from_str(&list).unwrap();
    let row = |row: &serde_json::Value| {
        let cell = |key: &str| row[key].as_str().unwrap().to_string();
        let kind = match row["failure"].as_bool().unwrap() {
            true => "failure",
            false => "finding",
        };
        let (id, sentence) = (cell("id"), cell("sentence"));
        format!(
            "| `{id}` | {sentence} | {} | {} | {kind} |",
            cell("bound"),
            cell("source")
        )
    };
    let expected: Vec<String> = list.as_array().unwrap().iter().map(row).collect();
    let rows = manual.lines().filter(|line| line.starts_with("| `"));
    assert_eq!(rows.collect::<Vec<_>>(), expected);
}
