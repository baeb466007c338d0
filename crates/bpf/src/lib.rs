//! The BPF back end: policies as sched_ext schedulers.
//!
//! `main.bpf.c` and `include/` make any policy a scheduler of the running kernel. This crate
//! contains the objects of all policies in `policies/`, compiled with the crate. It compiles a
//! user's own policy in the same way. `schedlab-live` loads them.

use std::env;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use flate2::read::GzDecoder;

include!(concat!(env!("OUT_DIR"), "/objects.rs"));
include!("clang.rs");

/// The source that makes a policy a sched_ext scheduler.
const GLUE: &str = include_str!("../main.bpf.c");

/// Lines of a compiler's output that are shown; the first error matters most.
const MOST_LINES: usize = 40;

/// The object of a policy in `policies/`; `None` if no clang was found when this crate was built.
pub fn built_in(name: &str) -> Option<Vec<u8>> {
    object(BUILT_IN, name)
}

/// An object without a policy: "floor", the smallest sched_ext scheduler, measures the cost of
/// sched_ext itself; "lists" measures the cost of linked lists.
pub fn other(name: &str) -> Option<Vec<u8>> {
    object(OTHERS, name)
}

/// An object of a table, decompressed.
fn object(table: &[(&str, &[u8])], name: &str) -> Option<Vec<u8>> {
    let (_, compressed) = table.iter().find(|(n, _)| *n == name)?;
    let mut object = Vec::new();
    let read = GzDecoder::new(*compressed).read_to_end(&mut object);
    read.expect("the build has compressed it");
    Some(object)
}

/// Why a policy cannot be compiled.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// No suitable clang was found.
    #[error("{0}")]
    NoCompiler(String),
    /// A file or program that cannot be read, written or started, and the reason.
    #[error("{0}: {1}")]
    Io(String, std::io::Error),
    /// The source file, and the compiler's output.
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
        // Equal sources give equal objects, whatever the temporary folder's name is.
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

/// Writes the contract, the policies, their shared headers and the glue into a folder.
fn write_sources(folder: &Path) -> std::io::Result<()> {
    schedlab_policy::write_headers(folder)?;
    let headers = folder.join("bpf");
    std::fs::create_dir(&headers)?;
    for (name, text) in HEADERS {
        std::fs::write(headers.join(name), text)?;
    }
    std::fs::write(folder.join("main.bpf.c"), GLUE)
}
