// The key of a policy's object, so that a build script compiles again only what has changed.  The build
// scripts of both back ends include this file.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The key of a compiler, its flags, and all text that the sources include, each file once.
fn content_key(compiler: &str, included: &[PathBuf], sources: &[&Path]) -> String {
    let mut hasher = DefaultHasher::new();
    compiler.hash(&mut hasher);
    let mut left: Vec<PathBuf> = sources.iter().map(|source| source.to_path_buf()).collect();
    let mut seen = BTreeSet::new();
    while let Some(path) = left.pop() {
        if !seen.insert(path.clone()) {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap_or_default();
        text.hash(&mut hasher);
        let beside = path.parent().expect("a file is in a folder");
        for name in text.lines().filter_map(included_name) {
            let mut folders = std::iter::once(beside).chain(included.iter().map(PathBuf::as_path));
            left.extend(folders.find_map(|folder| {
                let file = folder.join(name);
                file.is_file().then_some(file)
            }));
        }
    }
    format!("{:016x}", hasher.finish())
}

/// `#include "NAME"`
fn included_name(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("#include")?.trim_start();
    rest.strip_prefix('"')?.split('"').next()
}

/// Makes `object` with `compile`, unless an object with this key exists from any profile's build.
fn unless_made(object: &Path, key: &str, compile: impl FnOnce() -> bool) -> bool {
    let Some(made) = made_before(object, key) else {
        return compile();
    };
    if fs::copy(&made, object).is_ok() {
        return true;
    }
    if !compile() {
        return false;
    }
    // Another build may do the same at this time: rename the object when it is complete.
    let part = made.with_extension(std::process::id().to_string());
    if fs::copy(object, &part).is_ok() {
        let _ = fs::rename(&part, &made);
    }
    true
}

/// The path of an object with this key, in cargo's target folder, which all profiles share.
fn made_before(object: &Path, key: &str) -> Option<PathBuf> {
    let target = object.ancestors().find(|folder| folder.join("CACHEDIR.TAG").is_file())?;
    let folder = target.join("policies");
    fs::create_dir_all(&folder).ok()?;
    Some(folder.join(format!("{key}-{}", object.file_name()?.to_str()?)))
}
