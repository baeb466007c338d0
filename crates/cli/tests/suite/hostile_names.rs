//! Task names that contain terminal escapes, line breaks or bidirectional controls: all output escapes them.

use std::fs;
use std::path::{Path, PathBuf};

use schedlab_trace::is_unprintable;

use crate::common::{argument, schedlab, text};

/// An escape sequence, its C1 form, text from right to left, a tag, and a table's own characters.
const NAMES: [&str; 4] = ["\x1b[31mx", "\u{9b}2Jy", "\u{202e}z\u{2066}", "</td>|*`\r"];

/// A recording in which tasks of these names take turns.  The control characters come late: its beginning
/// has to look like text.
fn recording(folder: &Path) -> PathBuf {
    let mut text = "# a comment that takes room\n".repeat(20);
    for turn in 0..40 {
        let (prev, next) = (turn % NAMES.len(), (turn + 1) % NAMES.len());
        let line = |event: &str| {
            let name = NAMES[prev];
            let (pid, us) = (prev + 7, turn * 500);
            format!("{name} {pid}/{pid} [000] 5.{us:06}: {event}\n")
        };
        let task = |part: &str, task: usize| {
            format!(
                "{part}comm={} {part}pid={} {part}prio=120",
                NAMES[task],
                task + 7
            )
        };
        text += &line(&format!(
            "sched:sched_waking: {} target_cpu=000",
            task("", next)
        ));
        let (prev, next) = (task("prev_", prev), task("next_", next));
        text += &line(&format!(
            "sched:sched_switch: {prev} prev_state=S ==> {next}"
        ));
    }
    let path = folder.join("hostile.txt");
    fs::write(&path, text).unwrap();
    path
}

#[track_caller]
fn assert_printable(what: &str, text: &str) {
    let wrong = |line: &&str| line.chars().any(is_unprintable);
    if let Some(line) = text.split('\n').find(wrong) {
        panic!("{what}: {line:?}");
    }
}

#[test]
fn no_output_has_them_raw() {
    let folder = tempfile::tempdir().unwrap();
    let path = recording(folder.path());
    let (file, html) = (argument(&path), folder.path().join("report.html"));
    let html = argument(&html);
    for arguments in [
        vec!["measure", file],
        vec!["measure", file, "--format", "markdown"],
        vec!["measure", file, "--format", "json"],
        vec!["measure", file, "--view", "latency"],
        vec!["measure", file, "--view", "timehist"],
        vec!["measure", file, "--report", html],
        vec!["explain", file],
        vec!["explain", file, "--format", "json"],
        vec!["explain", file, "--task", "nobody\u{9b}"],
        vec!["replay", file, "--policies", "o1", "--recorded-under", "o1"],
        vec!["replay", file, "--policies", "o1", "--format", "markdown"],
        vec!["replay", file, "--policies", "o1", "--report", html],
    ] {
        let output = schedlab(&arguments).output().unwrap();
        let what = arguments.join(" ");
        let (out, errors) = (text(&output.stdout), text(&output.stderr));
        assert_printable(&what, &out);
        assert_printable(&what, &errors);
        match arguments.contains(&"--task") {
            true => assert_eq!(output.status.code(), Some(2), "{what}: {errors}"),
            false => assert!(output.status.success(), "{what}: {errors}"),
        }
        if arguments.contains(&"--report") {
            assert_printable(&what, &fs::read_to_string(html).unwrap());
        }
    }
}

/// What is printed shows that something is there.
#[test]
fn they_are_visible() {
    let folder = tempfile::tempdir().unwrap();
    let path = recording(folder.path());
    for view in ["latency", "timehist"] {
        let output = schedlab(&["measure", argument(&path), "--view", view]);
        let shown = text(&{ output }.output().unwrap().stdout);
        for part in ["\\u{1b}[31mx", "\\u{9b}2Jy", "\\u{202e}z\\u{2066}"] {
            assert!(shown.contains(part), "{view}: {part} is not in {shown}");
        }
    }
}
