//! A policy of this tree with some of its text replaced.

use std::fs;
use std::path::{Path, PathBuf};

use schedlab_policy::{Policy, Tuned};

/// A text of a file below `policies/`, and what is there instead.
pub struct Patch {
    pub file: &'static str,
    pub from: &'static str,
    pub to: &'static str,
}

fn policies() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policies")
}

/// The policy as it is.
pub fn sound(name: &str) -> Tuned {
    Tuned::defaults(Policy::find(name).unwrap())
}

/// The policy with these texts replaced, compiled beside copies of all headers it shares with others.
pub fn patched(name: &str, patches: &[Patch]) -> Tuned {
    let folder = tempfile::tempdir().unwrap();
    for part in ["fair", name] {
        fs::create_dir(folder.path().join(part)).unwrap();
        for file in fs::read_dir(policies().join(part)).unwrap() {
            let file = file.unwrap();
            let to = folder.path().join(part).join(file.file_name());
            fs::copy(file.path(), to).unwrap();
        }
    }
    for Patch { file, from, to } in patches {
        let path = folder.path().join(file);
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text.matches(from).count(), 1, "in {file}: {from}");
        fs::write(path, text.replacen(from, to, 1)).unwrap();
    }
    // Beside the folders, so that its headers are the copies.
    let file = folder.path().join(name).join(format!("{name}.c"));
    let beside = folder.path().join(format!("{name}.c"));
    fs::copy(file, &beside).unwrap();
    let policy = Policy::compile(&beside).unwrap_or_else(|error| panic!("{error}"));
    Tuned::defaults(policy)
}
