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

/// Why a policy cannot be compiled.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// There is no clang that can.
    #[error("{0}")]
    NoCompiler(String),
    /// A file or a program that cannot be read, written or started; which.
    #[error("{0}: {1}")]
    Io(String, std::io::Error),
    /// What the compiler says; of which file.
    #[error("{0} does not compile for the kernel:\n{1}")]
    Rejected(String, String),
}

/// Compiles the policy in a C file.
///
/// # Errors
/// See [`CompileError`].
pub fn compile(source: &Path) -> Result<Vec<u8>, CompileError> {
    let clang = find_clang().map_err(CompileError::NoCompiler)?;
    let failed = |what: &Path| {
        let shown = what.display().to_string();
        |error| CompileError::Io(shown, error)
    };
    let folder = tempfile::tempdir().map_err(failed(&env::temp_dir()))?;
    let at = folder.path();
    write_sources(at).map_err(failed(at))?;
    let object = at.join("policy.bpf.o");
    let included = ["policy", "policies", "bpf"].map(|name| at.join(name));
    let source = source.canonicalize().map_err(failed(source))?;
    let output = Command::new(&clang)
        .args(flags(&included, &source, &object))
        // Objects of equal sources are equal, whatever the temporary folder is called.
        .arg(format!("-ffile-prefix-map={}=schedlab", at.display()))
        .arg(at.join("main.bpf.c"))
        .stdin(Stdio::null())
        .output()
        .map_err(failed(clang.as_ref()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said: Vec<&str> = said.lines().take(MOST_LINES).collect();
        let shown = source.display().to_string();
        return Err(CompileError::Rejected(shown, said.join("\n")));
    }
    std::fs::read(&object).map_err(failed(&object))
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
