//! Runs the program and checks its output.

#![allow(dead_code, reason = "each test file uses some of it")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The root of the source.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

/// The program, to be run in the source's root, without a terminal.
pub fn schedlab(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_schedlab"));
    command.args(arguments).current_dir(root());
    command
}

/// What a run says that must succeed and have nothing to complain about.
#[track_caller]
pub fn output(arguments: &[&str]) -> String {
    let output = schedlab(arguments).output().unwrap();
    let errors = text(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    assert_eq!(errors, "", "{arguments:?}");
    text(&output.stdout)
}

/// What a run says that must be refused as bad input: one message, nothing on standard output.
#[track_caller]
pub fn refused(arguments: &[&str]) -> String {
    refusal(schedlab(arguments).output().unwrap())
}

#[track_caller]
pub fn refusal(output: Output) -> String {
    failure(BAD_INPUT, output)
}

/// Exit statuses, as `schedlab --help` lists them.
pub const BAD_INPUT: i32 = 2;
pub const POLICY_FAULT: i32 = 3;
pub const LIMIT_REACHED: i32 = 4;
pub const SYSTEM: i32 = 5;
pub const DEADLOCK: i32 = 6;

/// What a run says that must end with this status: one message, nothing on standard output.
#[track_caller]
pub fn failed(status: i32, arguments: &[&str]) -> String {
    failure(status, schedlab(arguments).output().unwrap())
}

#[track_caller]
pub fn failure(status: i32, output: Output) -> String {
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{message}");
    assert_eq!(text(&output.stdout), "", "{message}");
    let message = message.strip_prefix("schedlab: ").expect("says who speaks");
    assert!(
        message.ends_with('\n') && !message.contains("panicked"),
        "{message}"
    );
    message.trim_end().to_string()
}

/// The JSON a run prints.
#[track_caller]
pub fn json(arguments: &[&str]) -> serde_json::Value {
    serde_json::from_str(&output(&[arguments, &["--format", "json"]].concat())).unwrap()
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("output is UTF-8")
}

/// Names of the files in a folder, sorted.
pub fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// A path as an argument.
pub fn argument(path: &Path) -> &str {
    path.to_str().expect("the path is UTF-8")
}
