//! `schedlab new`: a policy that runs at once.

use std::fs;

use crate::common::{argument, json, names, output, refused, schedlab, text};

#[test]
fn new_policy_runs_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let said = output(&["new", "brandnew", "--dir", argument(dir.path())]);
    let folder = dir.path().join("brandnew");
    let written = ["README.md", "brandnew.c", "compile_flags.txt", "include"];
    assert_eq!(names(&folder), written);
    let source = folder.join("brandnew.c");
    let readme = fs::read_to_string(folder.join("README.md")).unwrap();
    assert!(readme.starts_with("# brandnew\n") && !readme.contains("NAME"));
    assert!(!fs::read_to_string(&source).unwrap().contains("NAME"));
    let commands: Vec<&str> = said.lines().filter_map(|l| l.strip_prefix("  ")).collect();
    assert_eq!(commands.len(), 2, "{said}");
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

/// Far from schedlab's source, without a flag: what it prints works as typed from there.
#[test]
fn new_works_anywhere() {
    let dir = tempfile::tempdir().unwrap();
    let here = |words: &[&str]| {
        let output = schedlab(words).current_dir(dir.path()).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let said = here(&["new", "mine"]);
    let first = said
        .lines()
        .find_map(|line| line.strip_prefix("  schedlab "));
    let words = shlex::split(first.unwrap()).unwrap();
    assert_eq!(words[..3], ["run", "--policy", "mine/mine.c"], "{said}");
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let ran = here(&[&words[..], &["--duration", "1s"]].concat());
    assert!(ran.contains("mine"), "{ran}");
}

/// With the flags it writes for editors, every include of the policy is found in its folder.
#[test]
fn the_editor_finds_the_headers() {
    let dir = tempfile::tempdir().unwrap();
    output(&["new", "mine", "--dir", argument(dir.path())]);
    let folder = dir.path().join("mine");
    let flags = fs::read_to_string(folder.join("compile_flags.txt")).unwrap();
    let compiled = std::process::Command::new("cc")
        .args(flags.lines())
        .args(["-Werror", "-fsyntax-only", "mine.c"])
        .current_dir(&folder)
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", text(&compiled.stderr));
    let source = fs::read_to_string(folder.join("mine.c")).unwrap();
    assert!(!source.contains("../.."), "{source}");
}

/// In a checkout the headers are there already, and the build finds the policy.
#[test]
fn in_a_checkout_headers_are_not_copied() {
    let checkout = tempfile::tempdir().unwrap();
    for folder in ["policy", "policies"] {
        fs::create_dir(checkout.path().join(folder)).unwrap();
    }
    fs::write(checkout.path().join("policy/policy.h"), "").unwrap();
    let policies = checkout.path().join("policies");
    let said = output(&["new", "mine", "--dir", argument(&policies)]);
    assert!(said.contains("cargo build"), "{said}");
    let folder = policies.join("mine");
    assert_eq!(names(&folder), ["README.md", "compile_flags.txt", "mine.c"]);
    let flags = fs::read_to_string(folder.join("compile_flags.txt")).unwrap();
    assert!(flags.contains("-I../../policy\n"), "{flags}");
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
    assert!(refused("int").starts_with("NAME: \"int\" is a reserved word"));
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
