//! Compiles a policy at run time: `--policy path/to/name.c`.

use std::collections::BTreeSet;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Mutex;
use std::time::Duration;
use std::{env, fs, io};

use schedlab_input::reason;
use tempfile::TempDir;

use super::{source_line, statics};
use crate::source::{self, INCLUDED};
use crate::{ffi, Policy};

/// The include folders of a policy, in a folder that [`write_headers`] filled.
pub const INCLUDE_FOLDERS: [&str; 3] = ["policy", "policies", "native"];

/// The flags policies are compiled with, one a line.
pub const COMPILER_FLAGS: &str = include_str!("../cflags.txt");

/// Flags added after [`check_undefined`]: undefined behaviour ends in a trap, and uninitialised
/// variables get a conspicuous value.
const CHECKING_FLAGS: [&str; 3] = [
    "-fsanitize=undefined",
    "-fsanitize-undefined-trap-on-error",
    "-ftrivial-auto-var-init=pattern",
];

static CHECKS_UNDEFINED: AtomicBool = AtomicBool::new(false);

/// With `yes`, policies compiled from now on stop the program at undefined behaviour.
pub fn check_undefined(yes: bool) {
    CHECKS_UNDEFINED.store(yes, Ordering::Relaxed);
}

/// Are policies compiled with these flags?
pub(crate) fn checks_undefined() -> bool {
    CHECKS_UNDEFINED.load(Ordering::Relaxed)
}

/// Why a policy file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// The file's name is not valid for a policy.
    #[error("{0}: a policy file is called NAME.c, NAME being letters, digits and underscores")]
    Name(String),
    /// Something could not be read or written.
    #[error("{0}: {reason}", reason = reason(.1))]
    Io(String, io::Error),
    /// The C compiler is missing.
    #[error("cannot run the C compiler \"{0}\" (set CC to choose another): {reason}", reason = reason(.1))]
    NoCompiler(String, io::Error),
    /// The C compiler refused it.
    #[error("{0} does not compile:\n{1}")]
    Rejected(String, String),
    /// The compiled policy has another name than its file.
    #[error("{0} does not end with POLICY({1}, ...): a policy must have the name of its file")]
    NoTable(String, String),
    /// It compiled, but cannot be loaded.
    #[error("{0} cannot be loaded: {1}")]
    NotLoaded(String, libloading::Error),
    /// The library is no ELF file.
    #[error("{0}: the compiled library cannot be read: {1}")]
    Unreadable(String, String),
    /// State that runs at the same time would share.
    #[error("{0}: the static variable \"{1}\" is writable, and all runs in this process would share it; keep state in the structures that POLICY_STATE() declares, or declare the variable const")]
    WritableStatic(String, String),
    /// Code that runs when the library is loaded.
    #[error("{0} has a constructor: a policy's code runs in its hooks only")]
    Constructor(String),
    /// The caller stopped it.
    #[error("compiling was stopped")]
    Stopped,
}

/// The most lines shown of a compiler's output: the first mistake matters most.
const MOST_LINES: usize = 40;

/// The time between two checks of a running compiler.
const BEAT: Duration = Duration::from_millis(5);

impl Policy {
    /// Compiles the policy in the C file `source` and loads it into this process, where it
    /// stays.  What was compiled from the same text is not compiled again.  The policy must have the name of the file.  The compiler's warnings go to standard error.
    ///
    /// # Errors
    /// See [`CompileError`].
    pub fn compile(source: &Path) -> Result<Policy, CompileError> {
        Policy::compile_unless(source, &|| false)
    }

    /// As [`Policy::compile`], but stops when `stop` returns true.
    ///
    /// # Errors
    /// See [`CompileError`].
    pub fn compile_unless(source: &Path, stop: &dyn Fn() -> bool) -> Result<Policy, CompileError> {
        let input = source::Input::read(source, checks_undefined());
        if let Some(known) = source::known(&input) {
            return Ok(known);
        }
        let compiled = Compiled::from_source(source, stop)?;
        let shown = source.display().to_string();
        let library =
            fs::read(&compiled.library).map_err(|e| CompileError::Io(shown.clone(), e))?;
        statics::check(source, &library)?;
        let policy = load(&compiled.library, &shown, &compiled.name)?;
        source::remember(policy, input, library);
        Ok(policy)
    }

    /// Loads a policy from the shared library NAME.so that [`Policy::library`] gave for NAME.c.
    ///
    /// # Errors
    /// See [`CompileError`].
    pub fn from_library(library: &Path) -> Result<Policy, CompileError> {
        let shown = library.display().to_string();
        let name = policy_name(library, "so").ok_or_else(|| CompileError::Name(shown.clone()))?;
        let library = library
            .canonicalize()
            .map_err(|e| CompileError::Io(shown.clone(), e))?;
        load(&library, &shown, &name)
    }
}

/// A policy's shared library in a temporary folder.
struct Compiled {
    name: String,
    library: PathBuf,
    _folder: TempDir,
}

impl Compiled {
    fn from_source(source: &Path, stop: &dyn Fn() -> bool) -> Result<Compiled, CompileError> {
        let shown = || source.display().to_string();
        let name = policy_name(source, "c").ok_or_else(|| CompileError::Name(shown()))?;
        let folder = tempfile::tempdir().map_err(|e| {
            let parent = env::temp_dir().display().to_string();
            CompileError::Io(format!("no temporary folder in {parent} (see TMPDIR)"), e)
        })?;
        let wrap = |e| CompileError::Io(folder.path().display().to_string(), e);
        write_headers(folder.path()).map_err(wrap)?;
        let library = folder.path().join(format!("{name}.so"));
        run_compiler(source, folder.path(), &library, stop)?;
        Ok(Compiled {
            name,
            library,
            _folder: folder,
        })
    }
}

fn policy_name(file: &Path, extension: &str) -> Option<String> {
    let name = file.file_stem()?.to_str()?;
    let is_file = file.extension().is_some_and(|e| e == extension);
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (is_file && is_name && !name.is_empty()).then(|| name.to_string())
}

/// Writes the files that a policy may include into [`INCLUDE_FOLDERS`] of a folder.
///
/// # Errors
/// The folder cannot be written to.
pub fn write_headers(folder: &Path) -> io::Result<()> {
    for (name, text) in INCLUDED {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("a header is in a folder"))?;
        fs::write(path, text)?;
    }
    Ok(())
}

fn run_compiler(
    source: &Path,
    folder: &Path,
    library: &Path,
    stop: &dyn Fn() -> bool,
) -> Result<(), CompileError> {
    // Without the C runtime's start files, whose variables nobody needs.
    let given = COMPILER_FLAGS.split_whitespace().chain(["-nostartfiles"]);
    let checking = CHECKING_FLAGS.iter().filter(|_| checks_undefined());
    let mut flags: Vec<String> = given.chain(checking.copied()).map(String::from).collect();
    flags.extend(INCLUDE_FOLDERS.map(|name| format!("-I{}", folder.join(name).display())));
    let said = compile_shared(source, &flags, library, stop)?;
    warn_once(source, &said);
    Ok(())
}

/// Compiles a C file into a shared library with `CC` and -O2. Returns the compiler's warnings,
/// which remain in a file beside the library, too.
///
/// # Errors
/// See [`CompileError`].
pub fn compile_shared(
    source: &Path,
    flags: &[String],
    library: &Path,
    stop: &dyn Fn() -> bool,
) -> Result<String, CompileError> {
    let said = library.with_extension("messages");
    let shown = || source.display().to_string();
    let wrap = |e| CompileError::Io(shown(), e);
    let messages = fs::File::create(&said).map_err(wrap)?;
    // CC may contain options, as in make: CC="ccache gcc".
    let compiler = env::var("CC").unwrap_or_default();
    let mut words = compiler.split_whitespace();
    let program = words.next().unwrap_or("cc");
    let child = Command::new(program)
        .args(words)
        .args(flags)
        .args(["-O2", "-fPIC", "-shared", "-o"])
        .arg(library)
        .arg(source)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(messages)
        .process_group(0)
        .spawn()
        .map_err(|e| CompileError::NoCompiler(program.into(), e))?;
    let status = wait_unless(child, stop).map_err(wrap)?;
    let status = status.ok_or(CompileError::Stopped)?;
    let said = fs::read(&said).map_err(wrap)?;
    let said = shortened(&String::from_utf8_lossy(&said));
    if status.success() {
        return Ok(said);
    }
    Err(CompileError::Rejected(
        shown(),
        match said.is_empty() {
            true => format!("{program} printed nothing and ended with {status}"),
            false => said,
        },
    ))
}

/// Prints the compiler's warnings about a policy once.
fn warn_once(source: &Path, said: &str) {
    static WARNED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    let mut warned = WARNED
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    if !said.is_empty() && warned.insert(source.to_path_buf()) {
        eprintln!(
            "schedlab: {} compiles with warnings:\n{said}",
            source.display()
        );
    }
}

/// The compiler's exit status; none if it was stopped together with its children.
fn wait_unless(mut child: Child, stop: &dyn Fn() -> bool) -> io::Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if stop() {
            // SAFETY: a system call with numbers. The child leads its own process group and has not
            // been waited for, so its id is valid. SIGTERM lets it remove its files.
            unsafe { libc::kill(-(child.id() as libc::pid_t), libc::SIGTERM) };
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(BEAT);
    }
}

fn shortened(messages: &str) -> String {
    let lines: Vec<&str> = messages.lines().collect();
    match lines.len().checked_sub(MOST_LINES) {
        Some(more) if more > 0 => {
            format!(
                "{}\n... and {more} more lines",
                lines[..MOST_LINES].join("\n")
            )
        }
        _ => messages.trim_end().to_string(),
    }
}

fn load(library: &Path, shown: &str, name: &str) -> Result<Policy, CompileError> {
    let symbol = format!("schedlab_policy_{name}");
    let file = fs::File::open(library).map_err(|e| CompileError::Io(shown.into(), e))?;
    // SAFETY: the library is freestanding C without constructors (statics.rs); if the symbol exists, POLICY()
    // defined it. The library is leaked, so the table lives as long as the process.
    unsafe {
        let library = libloading::Library::new(library)
            .map_err(|e| CompileError::NotLoaded(shown.into(), e))?;
        let table = *library
            .get::<*const ffi::Policy>(symbol.as_bytes())
            .map_err(|_| CompileError::NoTable(shown.into(), name.into()))?;
        std::mem::forget(library);
        source_line::keep_object(table, file);
        Ok(Policy(&*table, None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "Miri starts no compiler")]
    fn who_stops_gets_no_policy() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("endless.c");
        fs::write(&source, "#include \"/dev/zero\"\n").unwrap();
        let stopped = Policy::compile_unless(&source, &|| true);
        assert!(matches!(stopped, Err(CompileError::Stopped)));
    }

    #[test]
    fn of_many_messages_the_first_are_shown() {
        assert_eq!(shortened("a\nb\n"), "a\nb");
        let many: String = (0..MOST_LINES + 2).map(|i| format!("{i}\n")).collect();
        let shown = shortened(&many);
        assert!(shown.starts_with("0\n1\n"), "{shown}");
        assert!(shown.ends_with("\n39\n... and 2 more lines"), "{shown}");
    }
}
