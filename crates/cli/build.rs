//! Tells the program its version: with the commit, if it is built from a checkout.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    let version = env::var("CARGO_PKG_VERSION").expect("cargo sets it");
    let named = match commit() {
        Some(commit) => format!("{version} ({commit})"),
        None => version,
    };
    println!("cargo:rustc-env=SCHEDLAB_VERSION={named}");
    println!("cargo:rerun-if-changed=build.rs");
    // The log of HEAD grows with every commit and checkout.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        if Path::new(&log).exists() {
            println!("cargo:rerun-if-changed={log}");
        }
    }
}

/// The commit of the checkout this is built from; none in an unpacked archive.
fn commit() -> Option<String> {
    let top = git(&["rev-parse", "--show-toplevel"])?;
    let is_ours = Path::new(&top).join("policy/policy.h").exists();
    is_ours.then(|| git(&["rev-parse", "--short=12", "HEAD"]))?
}

/// The output of git; none if there is no git or no repository.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let text = text.trim();
    (output.status.success() && !text.is_empty()).then(|| text.to_string())
}
