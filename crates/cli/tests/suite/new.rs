//! `schedlab new`: a policy that runs at once.

use std::fs;

use crate::common::{argument, json, names, output, refused};

#[test]
fn new_policy_runs_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let said = output(&["new", "brandnew", "--dir", argument(dir.path())]);
    let folder = dir.path().join("brandnew");
    assert_eq!(names(&folder), ["README.md", "brandnew.c"]);
    let source = folder.join("brandnew.c");
    let readme = fs::read_to_string(folder.join("README.md")).unwrap();
    assert!(readme.starts_with("# brandnew\n") && !readme.contains("NAME"));
    assert!(!fs::read_to_string(&source).unwrap().contains("NAME"));
    let commands: Vec<&str> = said.lines().filter_map(|l| l.strip_prefix("  ")).collect();
    assert_eq!(commands.len(), 3, "{said}");
    let first: Vec<String> = shlex::split(commands[0]).unwrap();
    let words: Vec<&str> = first[1..].iter().map(String::as_str).collect();
    assert_eq!(
        words,
        ["run", "--policy", argument(&source), "--workload", "late"]
    );
    let result = json(&[&words, &["--duration", "1s"][..]].concat());
    assert_eq!(result["policy"], "brandnew");
    assert!(result["command"].as_str().unwrap().contains("brandnew.c"));
}

/// The second command compares it with all others, here under a workload that is soon over.
#[test]
fn new_policy_is_compared_with_all() {
    let dir = tempfile::tempdir().unwrap();
    output(&["new", "brandnew", "--dir", argument(dir.path())]);
    let source = dir.path().join("brandnew/brandnew.c");
    let policies = format!("{},all", argument(&source));
    let result = json(&[
        "compare",
        "--policies",
        &policies,
        "--workload",
        "hogs",
        "--duration",
        "100ms",
        "--set",
        "slice_ms=5",
    ]);
    let runs = result["runs"].as_array().unwrap();
    assert!(runs.len() > 1);
    assert_eq!(runs[0]["policy"], "brandnew");
    assert_eq!(runs[0]["tunables"]["slice_ms"], "5");
}

#[test]
fn nothing_is_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    output(&["new", "mine", "--dir", argument(dir.path())]);
    let source = dir.path().join("mine/mine.c");
    fs::write(&source, "precious").unwrap();
    let message = refused(&["new", "mine", "--dir", argument(dir.path())]);
    assert!(
        message.contains("exists already; expected a new name"),
        "{message}"
    );
    assert_eq!(fs::read_to_string(&source).unwrap(), "precious");
    assert_eq!(names(dir.path()), ["mine"]);
}

#[test]
fn bad_names_are_refused_with_advice() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |name: &str| refused(&["new", name, "--dir", argument(dir.path())]);
    assert!(refused("My-Fifo").ends_with("(did you mean \"my_fifo\"?)"));
    assert!(refused("../x").contains("cannot be the name of a policy"));
    assert!(refused("o1").starts_with("NAME: there is a policy \"o1\" already"));
    assert!(refused("int").starts_with("NAME: \"int\" means something else"));
    assert!(names(dir.path()).is_empty());
}

#[test]
fn missing_folder_is_not_made() {
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("nowhere");
    let message = refused(&["new", "mine", "--dir", argument(&missing)]);
    assert!(message.contains("there is no such folder"), "{message}");
    assert!(!missing.exists());
}
