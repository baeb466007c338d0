//! C to code, kept in the user's cache folder.
//!
//! An entry of the cache is named by a hash of the C text, which holds the prelude and stands for the
//! instructions, and of the compiler.  It begins with a hash of its bytes, and is written under another name first:
//! an entry that is damaged or cut off is none.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::{env, fs, io, thread};

use schedlab_policy::{compile_shared, CompileError};
use xxhash_rust::xxh3::xxh3_128;

use crate::helpers::Call;

/// A function of translated code.
pub type Function = Call;

/// Flags of the C compiler, besides those all policies get.
const FLAGS: [&str; 7] = [
    "-std=gnu11",
    "-fwrapv",
    "-fno-strict-aliasing",
    "-ffreestanding",
    "-fno-stack-protector",
    "-fcf-protection=none",
    "-w",
];

/// What an entry of the cache begins with.
const MAGIC: &[u8; 16] = b"schedlab-scx 1\n\0";

/// Bytes of [`MAGIC`] and of the hash.
const HEADER: usize = 32;

/// Code in this process.
#[derive(Debug)]
pub struct Code {
    /// The exported functions.
    pub functions: Vec<Function>,
    /// Names of all functions of the unit.
    pub names: Vec<String>,
    /// Keeps the functions alive.
    _library: libloading::Library,
}

/// Why there is no code.
#[derive(Debug, thiserror::Error)]
pub enum CodeError {
    /// The C compiler is missing or refused what it was given.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// Something could not be read or written.
    #[error("no temporary folder (see TMPDIR): {0}")]
    Io(#[from] io::Error),
    /// The library cannot be loaded.
    #[error("the translated scheduler cannot be loaded: {0}")]
    Load(#[from] libloading::Error),
}

/// Compiles C text, or finds it compiled, and fills the table of calls.
///
/// # Errors
/// See [`CodeError`].
pub fn code(
    parts: &[String],
    calls: &[Call],
    exported: usize,
    names: Vec<String>,
) -> Result<Arc<Code>, CodeError> {
    let folder = tempfile::tempdir()?;
    let library = folder.path().join("scheduler.so");
    let entry = cache_folder().map(|cache| cache.join(format!("{}.code", key(parts))));
    match entry.as_deref().and_then(cached) {
        Some(bytes) => fs::write(&library, bytes)?,
        None => {
            compile(parts, folder.path(), &library)?;
            // Without a cache everything works, only later.
            if let (Some(entry), Ok(bytes)) = (&entry, fs::read(&library)) {
                let _ = keep(entry, &bytes);
            }
        }
    }
    load(&library, calls, exported, names)
}

/// Stands for the text and the compiler.
fn key(parts: &[String]) -> String {
    let compiler = env::var("CC").unwrap_or_default();
    let whole = format!(
        "{compiler}\n{}\n{}\n{}",
        env::consts::ARCH,
        FLAGS.join(" "),
        parts.join("\0")
    );
    format!("{:032x}", xxh3_128(whole.as_bytes()))
}

/// Compiles the parts side by side, and links them.
fn compile(parts: &[String], folder: &Path, library: &Path) -> Result<(), CodeError> {
    let objects: Vec<PathBuf> = (0..parts.len())
        .map(|i| folder.join(format!("{i}.o")))
        .collect();
    let left = Mutex::new(parts.iter().zip(&objects));
    let workers = thread::available_parallelism()
        .map_or(1, |n| n.get())
        .min(parts.len());
    let work = || -> Result<(), CodeError> {
        loop {
            let next = left
                .lock()
                .unwrap_or_else(|poisoned| poisoned.into_inner())
                .next();
            let Some((text, object)) = next else {
                return Ok(());
            };
            let source = object.with_extension("c");
            fs::write(&source, text)?;
            let flags = FLAGS
                .into_iter()
                .chain(["-c"])
                .map(String::from)
                .collect::<Vec<String>>();
            compile_shared(&source, &flags, object, &|| false)?;
        }
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let mut results = threads
            .into_iter()
            .map(|thread| thread.join().expect("no thread panics"));
        results.try_for_each(|result| result)
    })?;
    let (first, others) = objects.split_first().expect("there is a part");
    let others: Vec<String> = others
        .iter()
        .map(|object| object.display().to_string())
        .collect();
    compile_shared(first, &others, library, &|| false)?;
    Ok(())
}

/// Where translated schedulers are kept; none if the user has no home.
fn cache_folder() -> Option<PathBuf> {
    let absolute = |path: &PathBuf| path.is_absolute();
    let chosen = env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .filter(absolute);
    let home = || env::var_os("HOME").map(PathBuf::from).filter(absolute);
    let cache = chosen.or_else(|| home().map(|home| home.join(".cache")))?;
    Some(cache.join("schedlab").join("scx"))
}

/// An entry of the cache that is whole.
fn cached(entry: &Path) -> Option<Vec<u8>> {
    let bytes = fs::read(entry).ok()?;
    let (header, library) = bytes.split_at_checked(HEADER)?;
    let whole = header[..16] == *MAGIC && header[16..] == xxh3_128(library).to_le_bytes();
    whole.then(|| library.to_vec())
}

/// Writes an entry of the cache, all of it or nothing.
fn keep(entry: &Path, library: &[u8]) -> io::Result<()> {
    let folder = entry.parent().expect("an entry is in a folder");
    fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    for bytes in [MAGIC, &xxh3_128(library).to_le_bytes(), library] {
        io::Write::write_all(&mut file, bytes)?;
    }
    file.persist(entry)?;
    Ok(())
}

fn load(
    path: &Path,
    calls: &[Call],
    exported: usize,
    names: Vec<String>,
) -> Result<Arc<Code>, CodeError> {
    // SAFETY: the library is freestanding C without constructors, of this crate's making; the two symbols are the
    // last lines of its text, and their tables are as long as the translator was told.
    unsafe {
        let library = libloading::Library::new(path)?;
        let table = **library.get::<*const *mut Call>(b"schedlab_calls\0")?;
        for (i, &call) in calls.iter().enumerate() {
            table.add(i).write(call);
        }
        let first = *library.get::<*const Function>(b"schedlab_functions\0")?;
        let functions = (0..exported).map(|i| first.add(i).read()).collect();
        Ok(Arc::new(Code {
            functions,
            names,
            _library: library,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_entry_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let entry = folder.path().join("deep").join("x.code");
        assert_eq!(cached(&entry), None);
        keep(&entry, b"a library").unwrap();
        assert_eq!(cached(&entry).as_deref(), Some(&b"a library"[..]));
        let whole = fs::read(&entry).unwrap();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            fs::write(&entry, &bytes).unwrap();
            assert_eq!(cached(&entry), None, "byte {at}");
            fs::write(&entry, &whole[..at]).unwrap();
            assert_eq!(cached(&entry), None, "cut at {at}");
        }
        keep(&entry, b"another").unwrap();
        assert_eq!(cached(&entry).as_deref(), Some(&b"another"[..]));
        assert_eq!(fs::read_dir(entry.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn other_text_is_another_entry() {
        let one = ["a".to_string()];
        assert_eq!(key(&one), key(&one));
        assert_ne!(key(&one), key(&["b".to_string()]));
    }
}
