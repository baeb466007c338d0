//! Commands, flags and files that the documents name exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{names, output, root};

/// Flags of other programs that the documents name.
const FOREIGN: &[&str] = &[
    "--ns",
    "--deltatime",
    "--manifest-path",
    "--think",
    "--header",
    "--path",
    "--package",
    "--test",
    "--args",
    "--slice-us",
    "--performance",
    "--events",
    "--thread-locks",
    "--thread-yields",
    "--time",
];

/// The documents for users.
fn documents() -> Vec<PathBuf> {
    let docs = root().join("docs");
    let of_docs = names(&docs)
        .into_iter()
        .filter(|name| name.ends_with(".md"));
    let mut documents: Vec<PathBuf> = of_docs.map(|name| docs.join(name)).collect();
    documents.extend(["README.md", "CONTRIBUTING.md"].map(|name| root().join(name)));
    documents
}

/// Every "--flag" in a text.
fn flags(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let words = text.split(|c: char| !is_part(c));
    let flags = words.filter(|word| word.starts_with("--") && !word.starts_with("---"));
    let flags = flags.filter(|word| word[2..].starts_with(|c: char| c.is_ascii_lowercase()));
    flags
        .map(|flag| flag.trim_end_matches('-').to_string())
        .collect()
}

/// The names in a help's list of commands.
fn commands(help: &str) -> Vec<String> {
    let list = help.split_once("Commands:\n").map_or("", |(_, list)| list);
    let lines = list.lines().take_while(|line| line.starts_with("  "));
    let names = lines.filter_map(|line| line.split_whitespace().next());
    names
        .filter(|name| *name != "help")
        .map(str::to_string)
        .collect()
}

/// Every flag of every command, and every option of every built-in workload.
fn known() -> BTreeSet<String> {
    let mut known = flags(&output(&["--help"]));
    for group in [&[][..], &["dev"]] {
        let help = output(&[group, &["--help"]].concat());
        for command in commands(&help) {
            known.extend(flags(&output(&[group, &[&command, "--help"]].concat())));
        }
    }
    for workload in schedlab_workload::builtin::list() {
        known.extend(flags(&output(&["list", "workloads", workload.name])));
    }
    known
}

fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap().display().to_string()
}

#[test]
fn every_flag_in_the_documents_exists() {
    let known = known();
    assert!(
        known.contains("--policy") && known.contains("--rooms"),
        "{known:?}"
    );
    let mut unknown = Vec::new();
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        let named = flags(&text).into_iter();
        let missing = named.filter(|f| !known.contains(f) && !FOREIGN.contains(&f.as_str()));
        unknown.extend(missing.map(|flag| format!("{}: {flag}", shown(&document))));
    }
    assert!(unknown.is_empty(), "{unknown:#?}");
}

#[test]
fn hidden_commands_are_not_in_the_help() {
    let shown = commands(&output(&["--help"]));
    assert!(shown.contains(&"compare".to_string()), "{shown:?}");
    assert!(!shown.contains(&"dev".to_string()), "{shown:?}");
}
