//! Rules for every file of the source.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::root;

/// Most lines of a source file.
const MOST_LINES: usize = 800;

/// Files that are longer, with their most lines: they may shrink, but not grow.
const LONGER: &[(&str, usize)] = &[
    // One policy is one file, and this one is four kernels in one.
    ("policies/o1/o1.c", 970),
];

/// Generated folders.
const MADE: &[&str] = &[
    "target",
    "out",
    ".git",
    "fuzz/target",
    "fuzz/corpus",
    "fuzz/artifacts",
];

/// Every file that is not generated, relative to the root.
fn files() -> Vec<PathBuf> {
    let (mut files, mut folders) = (Vec::new(), vec![root()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let relative = path.strip_prefix(root()).unwrap().to_path_buf();
            match path.is_dir() {
                true if MADE.iter().any(|made| relative == Path::new(made)) => {}
                true => folders.push(path),
                false => files.push(relative),
            }
        }
    }
    files.sort();
    files
}

fn is_source(path: &Path) -> bool {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
    ["rs", "c", "h", "py", "sh", "toml", "css", "js"].contains(&extension)
}

/// Lines of all files that break a rule, as file:line: text.
fn faults(concerns: impl Fn(&Path) -> bool, wrong: impl Fn(&str) -> bool) -> Vec<String> {
    let mut faults = Vec::new();
    for path in files().into_iter().filter(|path| concerns(path)) {
        let content = fs::read_to_string(root().join(&path)).unwrap_or_default();
        let lines = content.lines().enumerate().filter(|(_, line)| wrong(line));
        faults.extend(lines.map(|(i, line)| format!("{}:{}: {line}", path.display(), i + 1)));
    }
    faults
}

#[track_caller]
fn none(faults: Vec<String>) {
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn files_are_short() {
    let most = |path: &Path| {
        let longer = LONGER.iter().find(|(longer, _)| Path::new(longer) == path);
        longer.map_or(MOST_LINES, |(_, most)| *most)
    };
    let long = |path: &PathBuf| {
        let content = fs::read_to_string(root().join(path)).unwrap_or_default();
        let (lines, most) = (content.lines().count(), most(path));
        (lines > most).then(|| format!("{}: {lines} lines, at most {most}", path.display()))
    };
    let shipped = |path: &&PathBuf| !path.starts_with("workloads") && is_source(path);
    none(files().iter().filter(shipped).filter_map(long).collect());
}

#[test]
fn nothing_is_left_to_do() {
    let marks = [
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
        concat!("X", "XX"),
    ];
    let macros = [concat!("todo", "!("), concat!("unimplemented", "!(")];
    none(faults(is_source, |line| {
        let mut words = line.split(|c: char| !c.is_ascii_alphanumeric());
        words.any(|word| marks.contains(&word)) || macros.iter().any(|m| line.contains(m))
    }));
}

#[test]
fn lines_end_cleanly() {
    let trailing = |line: &str| line.ends_with([' ', '\t', '\r']);
    none(faults(is_source, trailing));
}

/// Cargo names the licence of Rust files; C files and scripts may travel alone and name their own.
#[test]
fn licences_are_named() {
    let alone = |path: &PathBuf| {
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
        let script = ["py", "sh"].contains(&extension);
        let first = fs::read_to_string(root().join(path)).unwrap_or_default();
        let mut lines = first.lines();
        let named = match (extension, script) {
            ("c" | "h", _) => lines.next() == Some("/* SPDX-License-Identifier: GPL-2.0-only */"),
            (_, true) => lines.nth(1) == Some("# SPDX-License-Identifier: GPL-2.0-only"),
            _ => true,
        };
        (!named).then(|| format!("{}: no SPDX line where it belongs", path.display()))
    };
    none(files().iter().filter_map(alone).collect());
}

/// Deliberate differences from a kernel are marked in the source; docs/limitations.md names each such file.
#[test]
fn limitations_are_listed() {
    let listed = fs::read_to_string(root().join("docs/limitations.md")).unwrap();
    let unlisted = |path: &Path| is_source(path) && !listed.contains(&*path.to_string_lossy());
    none(faults(unlisted, |line| {
        line.contains(concat!("FIDELITY", ":"))
    }));
}

/// Folders of headers that several policies share.
const FAMILIES: [&str; 4] = ["bsd", "fair", "linux26", "textbook"];

#[test]
fn policy_folders_are_complete() {
    let mut faults = Vec::new();
    for entry in fs::read_dir(root().join("policies")).unwrap() {
        let folder = entry.unwrap().path();
        let name = folder.file_name().unwrap().to_str().unwrap().to_string();
        if FAMILIES.contains(&name.as_str()) {
            continue;
        }
        let source = fs::read_to_string(folder.join(format!("{name}.c"))).unwrap_or_default();
        if !source.contains(&format!("\nPOLICY({name},")) {
            faults.push(format!(
                "{name}: {name}.c with POLICY({name}, ...) is missing"
            ));
        }
        let readme = fs::read_to_string(folder.join("README.md")).unwrap_or_default();
        if !readme.starts_with("# ") {
            faults.push(format!("{name}: README.md with a title is missing"));
        }
    }
    none(faults);
}
