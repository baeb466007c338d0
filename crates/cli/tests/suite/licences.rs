//! Licences and Rust versions of every crate in the program, as Cargo knows them.  `deny.toml` says the
//! same to cargo-deny, which looks for advisories, too.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

use crate::common::root;

/// Licences under which code can become part of a program under GPL-2.0-only.
const COMPATIBLE: &[&str] = &[
    "0BSD",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "GPL-2.0-only",
    "GPL-2.0-or-later",
    "ISC",
    "LGPL-2.1-only",
    "LGPL-2.1-or-later",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// What Cargo says of the workspace and everything it depends on, on this platform.
fn metadata() -> Value {
    let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--offline", "--locked"])
        .args(["--filter-platform", &platform])
        .current_dir(root())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{errors}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// Ids of the packages that are part of the program `schedlab`: it, and what it needs at run time.
fn linked(metadata: &Value) -> BTreeSet<&str> {
    let nodes: BTreeMap<&str, &Value> = list(&metadata["resolve"]["nodes"])
        .map(|node| (text(node, "id"), node))
        .collect();
    let program = list(&metadata["packages"]).find(|p| p["name"] == "schedlab");
    let mut linked = BTreeSet::new();
    let mut next = vec![text(program.unwrap(), "id")];
    while let Some(id) = next.pop() {
        if linked.insert(id) {
            let needed = list(&nodes[id]["deps"])
                .filter(|dep| list(&dep["dep_kinds"]).any(|kind| kind["kind"].is_null()));
            next.extend(needed.map(|dep| text(dep, "pkg")));
        }
    }
    linked
}

/// Does a licence expression leave a choice that GPL-2.0-only can take in?  `/` is an old way to write OR.
fn is_compatible(expression: &str) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ");
    let spaced = spaced.replace(')', " ) ");
    let mut words = spaced.split_whitespace().peekable();
    let compatible = any(&mut words);
    compatible && words.next().is_none()
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn any(words: &mut Words) -> bool {
    let mut compatible = all(words);
    while words.next_if_eq(&"OR").is_some() {
        compatible |= all(words);
    }
    compatible
}

fn all(words: &mut Words) -> bool {
    let mut compatible = one(words);
    while words.next_if_eq(&"AND").is_some() {
        compatible &= one(words);
    }
    compatible
}

fn one(words: &mut Words) -> bool {
    if words.next_if_eq(&"(").is_some() {
        let compatible = any(words);
        return words.next_if_eq(&")").is_some() && compatible;
    }
    let name = words.next().unwrap_or_default();
    match words.next_if_eq(&"WITH") {
        // The exception lets such code into programs under version 2 of the GPL.
        Some(_) => words.next() == Some("LLVM-exception") && name == "Apache-2.0",
        None => COMPATIBLE.contains(&name),
    }
}

#[test]
fn expressions_are_understood() {
    for good in [
        "MIT",
        "Apache-2.0 OR MIT",
        "MIT/Apache-2.0",
        "(MIT OR Apache-2.0) AND Unicode-3.0",
        "Apache-2.0 WITH LLVM-exception",
        "LGPL-2.1-only OR BSD-2-Clause",
    ] {
        assert!(is_compatible(good), "{good}");
    }
    for bad in [
        "",
        "Apache-2.0",
        "GPL-3.0-or-later",
        "MIT AND Apache-2.0",
        "(MIT OR Apache-2.0) AND OpenSSL",
        "MIT) OR (Apache-2.0",
    ] {
        assert!(!is_compatible(bad), "{bad}");
    }
}

#[test]
fn every_crate_in_the_program_may_be_there() {
    let metadata = metadata();
    let linked = linked(&metadata);
    assert!(linked.len() > 20, "{linked:?}");
    let mut wrong: Vec<String> = list(&metadata["packages"])
        .filter(|p| linked.contains(text(p, "id")) && !is_compatible(text(p, "license")))
        .map(|p| format!("{} {}: {}", p["name"], p["version"], p["license"]))
        .collect();
    wrong.sort();
    assert!(
        wrong.is_empty(),
        "not compatible with GPL-2.0-only:\n{}",
        wrong.join("\n")
    );
}

/// "1.88" and "1.88.0" as numbers.
fn version(text: &str) -> Vec<u32> {
    let mut numbers: Vec<u32> = text.split('.').map(|n| n.parse().unwrap()).collect();
    numbers.resize(3, 0);
    numbers
}

#[test]
fn no_dependency_needs_a_newer_rust_than_we_say() {
    let metadata = metadata();
    let packages = || list(&metadata["packages"]);
    let ours = packages().find(|p| p["name"] == "schedlab").unwrap();
    let ours = version(text(ours, "rust_version"));
    let resolved: BTreeSet<&str> = list(&metadata["resolve"]["nodes"])
        .map(|node| text(node, "id"))
        .collect();
    let newer: Vec<String> = packages()
        .filter(|p| resolved.contains(text(p, "id")))
        .filter(|p| {
            p["rust_version"]
                .as_str()
                .is_some_and(|v| version(v) > ours)
        })
        .map(|p| format!("{} {}", p["name"], p["rust_version"]))
        .collect();
    assert!(newer.is_empty(), "{}", newer.join("\n"));
}
