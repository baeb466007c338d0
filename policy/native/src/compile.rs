//! Compiling a policy at run time: `--policy path/to/name.c`.

use std::path::Path;
use std::process::Command;
use std::{env, fs, io};

use crate::{ffi, Policy};

/// The headers a policy includes, so that a binary far from its sources can compile one.
const HEADERS: &[(&str, &str)] = &[
    ("policy.h", include_str!("../../policy.h")),
    ("types.h", include_str!("../../types.h")),
    ("host.h", include_str!("../../host.h")),
    ("math.h", include_str!("../../math.h")),
    ("list.h", include_str!("../../list.h")),
    ("prio_array.h", include_str!("../../prio_array.h")),
    ("goodness.h", include_str!("../../goodness.h")),
    ("domains.h", include_str!("../../domains.h")),
    ("build_domains.h", include_str!("../../build_domains.h")),
    ("balance.h", include_str!("../../balance.h")),
    ("placement.h", include_str!("../../placement.h")),
    ("native/dialect.h", include_str!("../../native/dialect.h")),
    ("bpf/dialect.h", include_str!("../../bpf/dialect.h")),
];

/// Why a policy file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// The file's name is not a name for a policy.
    #[error("{0}: a policy file is called NAME.c, NAME being letters, digits and underscores")]
    Name(String),
    /// Something could not be read or written.
    #[error("{0}: {1}")]
    Io(String, io::Error),
    /// The C compiler is missing.
    #[error("cannot run the C compiler \"{0}\" (set CC to choose another): {1}")]
    NoCompiler(String, io::Error),
    /// The C compiler refused it.
    #[error("{0} does not compile:\n{1}")]
    Rejected(String, String),
    /// It compiled, but into something else.
    #[error("{0} does not end with POLICY({1}, ...): {2}")]
    NoTable(String, String, libloading::Error),
}

impl Policy {
    /// Compiles the policy in the C file `source` and loads it into this process, where it
    /// stays.  The policy must be called like the file.
    ///
    /// # Errors
    /// See [`CompileError`].
    pub fn compile(source: &Path) -> Result<Policy, CompileError> {
        let shown = source.display().to_string();
        let name = policy_name(source).ok_or_else(|| CompileError::Name(shown.clone()))?;
        let folder =
            tempfile::tempdir().map_err(|e| CompileError::Io("temporary folder".into(), e))?;
        let wrap = |e| CompileError::Io(folder.path().display().to_string(), e);
        write_headers(folder.path()).map_err(wrap)?;
        let library = folder.path().join(format!("{name}.so"));
        run_compiler(source, folder.path(), &library)?;
        load(&library, &shown, &name)
    }
}

fn policy_name(source: &Path) -> Option<String> {
    let name = source.file_stem()?.to_str()?;
    let is_c = source.extension().is_some_and(|e| e == "c");
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (is_c && is_name && !name.is_empty()).then(|| name.to_string())
}

fn write_headers(folder: &Path) -> io::Result<()> {
    for (name, text) in HEADERS {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("a header is in a folder"))?;
        fs::write(path, text)?;
    }
    Ok(())
}

fn run_compiler(source: &Path, headers: &Path, library: &Path) -> Result<(), CompileError> {
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".into());
    let output = Command::new(&compiler)
        .args(include_str!("cflags.txt").split_whitespace())
        .args(["-O2", "-fPIC", "-shared", "-I"])
        .arg(headers)
        .arg("-o")
        .arg(library)
        .arg(source)
        .output()
        .map_err(|e| CompileError::NoCompiler(compiler, e))?;
    if output.status.success() {
        return Ok(());
    }
    let messages = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(CompileError::Rejected(
        source.display().to_string(),
        messages,
    ))
}

fn load(library: &Path, shown: &str, name: &str) -> Result<Policy, CompileError> {
    let no_table = |e| CompileError::NoTable(shown.into(), name.into(), e);
    let symbol = format!("schedlab_policy_{name}");
    // SAFETY: the library is freestanding C without constructors; the symbol, if it is there, was
    // defined by POLICY().  The library is leaked, so the table lives as long as the process.
    unsafe {
        let library = libloading::Library::new(library).map_err(no_table)?;
        let table = *library
            .get::<*const ffi::Policy>(symbol.as_bytes())
            .map_err(no_table)?;
        std::mem::forget(library);
        Ok(Policy(&*table))
    }
}
