//! Running virtual machines in tests.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::OnceLock;

use schedlab_vm::Kernel;

use crate::common::schedlab;

/// Is there a kernel to boot, and something to boot it with?  If not, the test is skipped, loudly.
pub fn have_kernel(test: &str) -> bool {
    static PROBLEM: OnceLock<Option<String>> = OnceLock::new();
    match PROBLEM.get_or_init(problem) {
        None => true,
        Some(problem) if std::env::var_os("SCHEDLAB_REQUIRE_VM").is_some() => panic!("{problem}"),
        Some(problem) => {
            skip(test, problem);
            false
        }
    }
}

fn problem() -> Option<String> {
    let qemu = Command::new("qemu-system-x86_64").arg("--version").output();
    if let Err(error) = qemu {
        return Some(format!("qemu-system-x86_64: {error}"));
    }
    let kernel = Kernel::debian(&mut |_| (), &|| false);
    kernel.err().map(|error| error.to_string())
}

/// Tests that pass show nothing of what they print, so this goes round the test harness.
fn skip(test: &str, problem: &str) {
    let problem = problem.lines().next().unwrap_or_default();
    let line = format!("SKIPPED {test}: {problem}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
    if let Some(path) = std::env::var_os("SCHEDLAB_SKIPPED") {
        let path = Path::new(&path);
        let file = fs::OpenOptions::new().create(true).append(true).open(path);
        let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
        written.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
}

/// `schedlab vm` with these arguments, to its end.
pub fn vm(arguments: &[&str]) -> Output {
    schedlab(&[&["vm"], arguments].concat()).output().unwrap()
}

/// A whole number of a result.
#[track_caller]
pub fn number(value: &serde_json::Value) -> u64 {
    value
        .as_u64()
        .unwrap_or_else(|| panic!("no number: {value}"))
}

/// The child of a process whose name begins so.
pub fn child_of(parent: u32, name: &str) -> Option<u32> {
    let children = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).ok()?;
    let mut pids = children
        .split_whitespace()
        .filter_map(|pid| pid.parse().ok());
    pids.find(|pid| {
        let comm = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        comm.starts_with(name)
    })
}

/// Is there such a process?
pub fn is_alive(pid: u32) -> bool {
    Path::new("/proc").join(pid.to_string()).exists()
}

/// Sends a signal to a process.
pub fn signal(signal: &str, pid: u32) {
    let sent = Command::new("kill")
        .args([signal, &pid.to_string()])
        .status();
    assert!(sent.unwrap().success());
}
