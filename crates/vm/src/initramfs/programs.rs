//! Programs of the host and the files that they need.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use lddtree::DependencyAnalyzer;
use rustix::fs::{access, Access};

use crate::VmError;

use super::archive::Archive;

/// Most nested interpreters of a script.
const DEEPEST: usize = 4;

/// The path of a host's program, found by its name as a shell in `folder` does.
pub fn find_program(name: &str, folder: &Path) -> Option<PathBuf> {
    let runs = |path: &PathBuf| path.is_file() && access(path, Access::EXEC_OK).is_ok();
    if name.contains('/') {
        return Some(folder.join(name)).filter(runs);
    }
    let path = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&path)
        .map(|place| place.join(name))
        .find(runs);
    found
}

/// Adds a file; for a program also the files that it needs.
pub fn add_program(archive: &mut Archive, path: &Path) -> Result<(), VmError> {
    add_nested(archive, path, DEEPEST)
}

fn add_nested(archive: &mut Archive, path: &Path, deepest: usize) -> Result<(), VmError> {
    let place = archive.host_program(path)?;
    let mut start = [0; 256];
    let length = File::open(&place).and_then(|mut file| file.read(&mut start));
    let start = &start[..length.map_err(VmError::reading(path))?];
    if start.starts_with(b"\x7fELF") {
        return add_libraries(archive, &place);
    }
    let Some(words) = interpreter(start) else {
        return Ok(());
    };
    // "#!/usr/bin/env python3" needs both programs.
    for program in words
        .iter()
        .filter_map(|word| find_program(word, Path::new("/")))
    {
        if deepest > 0 {
            add_nested(archive, &program, deepest - 1)?;
        }
    }
    Ok(())
}

/// The words of a script's "#!" line.
fn interpreter(start: &[u8]) -> Option<Vec<String>> {
    let line = start
        .strip_prefix(b"#!")?
        .split(|&byte| byte == b'\n')
        .next()?;
    let line = std::str::from_utf8(line).ok()?;
    Some(line.split_whitespace().map(str::to_string).collect())
}

/// Adds a program's shared libraries and the dynamic loader.
pub fn add_libraries(archive: &mut Archive, program: &Path) -> Result<(), VmError> {
    let analyzer = DependencyAnalyzer::new(PathBuf::from("/"));
    let unreadable = |e: lddtree::Error| VmError::libraries(program, e.to_string());
    let tree = analyzer.analyze(program).map_err(unreadable)?;
    if let Some(interpreter) = &tree.interpreter {
        archive.host_file(Path::new(interpreter))?;
    }
    for library in tree.libraries.values() {
        if !library.found() {
            let missing = format!("{} is missing", library.name);
            return Err(VmError::libraries(program, missing));
        }
        archive.host_file(&library.path)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_lines_name_interpreters() {
        let words = |start: &str| interpreter(start.as_bytes());
        assert_eq!(
            words("#!/bin/sh -e\nexit"),
            Some(vec!["/bin/sh".into(), "-e".into()])
        );
        let env = Some(vec!["/usr/bin/env".into(), "python3".into()]);
        assert_eq!(words("#! /usr/bin/env python3"), env);
        assert_eq!(words("plain text"), None);
    }

    #[test]
    fn programs_are_found_as_a_shell_does() {
        let root = Path::new("/");
        assert!(find_program("sh", root).is_some());
        assert_eq!(
            find_program("./sh", Path::new("/bin")),
            Some("/bin/./sh".into())
        );
        assert_eq!(find_program("/etc", root), None);
        assert_eq!(find_program("/etc/passwd", root), None);
    }
}
