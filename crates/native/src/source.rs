//! The C source of a policy, which identifies it together with its name, and its shared library.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::{env, fs, ptr};

use crate::policy::Policy;

/// Files that a policy may include, as path and text, so that a binary without the sources can
/// compile one: the contract, shared headers, the policies, and the native dialect.
pub(crate) const INCLUDED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/included.rs"));

/// A policy compiled in this process, with its library.
#[derive(Clone)]
struct Compiled {
    #[cfg_attr(not(unix), expect(dead_code, reason = "nothing is compiled there"))]
    policy: Policy,
    input: Input,
    library: Vec<u8>,
}

/// What determines the library of a policy: its file, the file and all that it includes as path and text, and the compiler.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Input {
    file: PathBuf,
    sources: BTreeMap<String, String>,
    compiler: Option<String>,
    is_checking: bool,
}

#[cfg(unix)]
impl Input {
    /// What a policy's file has at this time; `is_checking`: it is compiled with checks for undefined behaviour.
    pub(crate) fn read(file: &Path, is_checking: bool) -> Input {
        let text = fs::read_to_string(file).unwrap_or_default();
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        Input {
            file: file.to_path_buf(),
            sources: closure(&name, &text, file.parent()),
            compiler: env::var("CC").ok(),
            is_checking,
        }
    }
}

/// By the address of the policy's table.
static COMPILED: Mutex<BTreeMap<usize, Compiled>> = Mutex::new(BTreeMap::new());

impl Policy {
    /// The policy's C file and everything it includes, as path and text, in the order of paths.
    /// Files from other include folders are not contained.
    pub fn sources(&self) -> BTreeMap<String, String> {
        let compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
        match compiled.get(&ptr::from_ref(self.0).addr()) {
            Some(compiled) => compiled.input.sources.clone(),
            None => {
                let file = format!("policies/{0}/{0}.c", self.name());
                let text = shipped(&file).unwrap_or_default();
                closure(&file, text, None)
            }
        }
    }

    /// Those of its [`sources`](Policy::sources) that are not part of the program.
    pub fn own_sources(&self) -> BTreeMap<String, String> {
        let mut own = self.sources();
        own.retain(|file, text| shipped(file) != Some(text));
        own
    }

    /// Copies the sources and library of another policy.
    pub(crate) fn share_source_of(&self, other: Policy) {
        let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = compiled.get(&ptr::from_ref(other.0).addr()).cloned() {
            compiled.insert(ptr::from_ref(self.0).addr(), own);
        }
    }

    /// The shared library of a policy compiled in this process; another process can load it.
    pub fn library(&self) -> Option<Vec<u8>> {
        let compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
        let own = compiled.get(&ptr::from_ref(self.0).addr())?;
        Some(own.library.clone())
    }
}

/// The policy that was compiled from the same input in this process.
#[cfg(unix)]
pub(crate) fn known(input: &Input) -> Option<Policy> {
    let compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    let mut all = compiled.values();
    let own = all.find(|own| own.input == *input)?;
    Some(own.policy)
}

/// Stores the input and the library of a compiled policy.
#[cfg(unix)]
pub(crate) fn remember(policy: Policy, input: Input, library: Vec<u8>) {
    let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    let own = Compiled {
        policy,
        input,
        library,
    };
    compiled.insert(ptr::from_ref(policy.0).addr(), own);
}

/// The text of a file that is part of the program, by its path.
fn shipped(path: &str) -> Option<&'static str> {
    let found = INCLUDED.iter().find(|(name, _)| *name == path);
    found.map(|(_, text)| *text)
}

/// A file and all files that it includes, from `folder` or from the program.
fn closure(file: &str, text: &str, folder: Option<&Path>) -> BTreeMap<String, String> {
    let mut sources = BTreeMap::new();
    let mut next = vec![(file.to_string(), text.to_string())];
    while let Some((file, text)) = next.pop() {
        if sources.contains_key(&file) {
            continue;
        }
        let beside = Path::new(&file).parent().unwrap_or(Path::new(""));
        for name in text.lines().filter_map(included) {
            let own = folder.and_then(|folder| own(folder, beside, name));
            let folders = [
                beside,
                Path::new("policy"),
                Path::new("policies"),
                Path::new("native"),
            ];
            let paths = folders.map(|folder| folder.join(name).display().to_string());
            let theirs = || {
                let mut found = paths
                    .iter()
                    .filter_map(|p| Some((p.clone(), shipped(p)?.into())));
                found.next()
            };
            next.extend(own.or_else(theirs));
        }
        sources.insert(file, text);
    }
    sources
}

/// A file of the user's: a compiler looks beside the file that includes it.  Devices and pipes are not read.
fn own(folder: &Path, beside: &Path, name: &str) -> Option<(String, String)> {
    let path = beside.join(name);
    let file = folder.join(&path);
    let text = file.is_file().then(|| fs::read_to_string(file).ok())??;
    Some((path.display().to_string(), text))
}

/// The name in `#include "NAME"`.
fn included(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("#include")?;
    rest.trim_start().strip_prefix('"')?.split('"').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_is_its_file_and_what_it_includes() {
        let sources = Policy::find("affinity24").unwrap().sources();
        for path in [
            "policies/affinity24/affinity24.c",
            "policies/linux24/linux24.c",
            "policy/policy.h",
        ] {
            assert!(sources.contains_key(path), "{path}: {:?}", sources.keys());
        }
        assert!(!sources.contains_key("policies/o1/o1.c"));
    }

    #[test]
    fn a_file_of_the_users_own_is_its_text() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("mine.c");
        let text = fs::read_to_string("../../policies/mlfq/mlfq.c").unwrap();
        fs::write(&source, text.replace("POLICY(mlfq,", "POLICY(mine,")).unwrap();
        let policy = Policy::compile(&source).unwrap();
        let library = folder.path().join("mine.so");
        fs::write(&library, policy.library().unwrap()).unwrap();
        assert_eq!(Policy::from_library(&library).unwrap().name(), "mine");
        let sources = policy.sources();
        assert!(sources["mine.c"].contains("POLICY(mine,"));
        assert!(sources.contains_key("policy/policy.h"));
        let own: Vec<String> = policy.own_sources().into_keys().collect();
        assert_eq!(own, ["mine.c"]);
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri starts no compiler")]
    fn a_file_is_compiled_again_if_what_it_includes_has_changed() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        fs::create_dir(folder.path().join("deep")).unwrap();
        let text = fs::read_to_string("../../policies/fifo/fifo.c").unwrap();
        let text = text.replace("POLICY(fifo,", "POLICY(mine,");
        write("mine.c", &format!("#include \"deep/a.h\"\n{text}"));
        write("deep/a.h", "#include \"b.h\"\n");
        write("deep/b.h", "/* one */\n");
        let source = folder.path().join("mine.c");
        let first = Policy::compile(&source).unwrap();
        let again = Policy::compile(&source).unwrap();
        assert!(ptr::eq(first.0, again.0));
        write("deep/b.h", "/* two */\n");
        let other = Policy::compile(&source).unwrap();
        assert!(!ptr::eq(first.0, other.0));
        assert_eq!(other.sources()["deep/b.h"], "/* two */\n");
    }
}
