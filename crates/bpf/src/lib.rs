//! The BPF back end: policies as sched_ext schedulers.
//!
//! `main.bpf.c` and the headers beside it make any policy a scheduler of the running kernel. This
//! crate carries the objects of all policies in `policies/`, compiled when it was built, and
//! compiles a user's own policy in the same way. `schedlab-live` loads them.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

include!(concat!(env!("OUT_DIR"), "/objects.rs"));
include!("clang.rs");

/// The glue: what makes a policy a sched_ext scheduler.
const GLUE: &str = include_str!("../main.bpf.c");

/// Most lines shown of what a compiler says: the first mistake is what matters.
const MOST_LINES: usize = 40;

/// The object of a policy in `policies/`, if a compiler was there when this crate was built.
pub fn built_in(name: &str) -> Option<&'static [u8]> {
    let found = BUILT_IN.iter().find(|(n, _)| *n == name);
    found.map(|&(_, object)| object)
}

/// An object that holds no policy: "floor", the least a sched_ext scheduler can do, to see the
/// price of a policy beside; "lists", the price of linked lists.
pub fn other(name: &str) -> Option<&'static [u8]> {
    let found = OTHERS.iter().find(|(n, _)| *n == name);
    found.map(|&(_, object)| object)
}

/// Compiles the policy in a C file.
///
/// # Errors
/// One message: no compiler, a file that cannot be written, or what the compiler says.
pub fn compile(source: &Path) -> Result<Vec<u8>, String> {
    let clang = find_clang()?;
    let folder = tempfile::tempdir().map_err(|e| format!("no temporary folder: {e}"))?;
    let at = folder.path();
    let wrap = |e: std::io::Error| format!("{}: {e}", at.display());
    write_sources(at).map_err(wrap)?;
    let object = at.join("policy.bpf.o");
    let included = ["policy", "policies", "bpf"].map(|name| at.join(name));
    let source = source
        .canonicalize()
        .map_err(|e| format!("{}: {e}", source.display()))?;
    let output = Command::new(&clang)
        .args(flags(&included, &source, &object))
        // Objects of equal sources are equal, whatever the temporary folder is called.
        .arg(format!("-ffile-prefix-map={}=schedlab", at.display()))
        .arg(at.join("main.bpf.c"))
        .stdin(Stdio::null())
        .output()
        .map_err(|e| format!("{clang}: {e}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said: Vec<&str> = said.lines().take(MOST_LINES).collect();
        let shown = source.display();
        return Err(format!(
            "{shown} does not compile for the kernel:\n{}",
            said.join("\n")
        ));
    }
    std::fs::read(&object).map_err(|e| format!("{}: {e}", object.display()))
}

/// Writes the contract, the families, the policies and the glue into a folder.
fn write_sources(folder: &Path) -> std::io::Result<()> {
    schedlab_policy::write_headers(folder)?;
    let headers = folder.join("bpf");
    std::fs::create_dir(&headers)?;
    for (name, text) in HEADERS {
        std::fs::write(headers.join(name), text)?;
    }
    std::fs::write(folder.join("main.bpf.c"), GLUE)
}
