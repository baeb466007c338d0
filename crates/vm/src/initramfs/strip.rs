//! Removes from a program the parts that only debuggers and linkers read.

/// Offsets in the header of a 64-bit ELF file: offset, entry size and number of the program
/// headers; offset and number of the section headers.
const PHOFF: usize = 32;
const SHOFF: usize = 40;
const PHENTSIZE: usize = 54;
const PHNUM: usize = 56;
const SHNUM: usize = 60;

/// The program up to the last byte that is loaded. Files other than 64-bit little-endian ELF are
/// returned unchanged.
pub fn loaded_part(mut program: Vec<u8>) -> Vec<u8> {
    let Some(end) = loaded_end(&program) else {
        return program;
    };
    program.truncate(end);
    program[SHOFF..SHOFF + 8].fill(0);
    // The number of section headers and the index of the one with their names.
    program[SHNUM..SHNUM + 4].fill(0);
    program
}

fn loaded_end(program: &[u8]) -> Option<usize> {
    if program.get(..6)? != b"\x7fELF\x02\x01" {
        return None;
    }
    let (headers, size) = (long(program, PHOFF)?, short(program, PHENTSIZE)?);
    let count = short(program, PHNUM)?;
    let mut end = headers.checked_add(size * count)?;
    for number in 0..count {
        let header = headers + number * size;
        // Offset and length in the file.
        let segment = long(program, header + 8)?.checked_add(long(program, header + 32)?)?;
        end = end.max(segment);
    }
    (end <= program.len()).then_some(end)
}

fn long(bytes: &[u8], at: usize) -> Option<usize> {
    let bytes = bytes.get(at..at.checked_add(8)?)?;
    u64::from_le_bytes(bytes.try_into().ok()?).try_into().ok()
}

fn short(bytes: &[u8], at: usize) -> Option<usize> {
    let bytes = bytes.get(at..at + 2)?;
    Some(u16::from_le_bytes(bytes.try_into().ok()?).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;

    /// This test's own executable still runs without its debug information.
    #[test]
    fn a_stripped_program_runs() {
        let whole = fs::read(std::env::current_exe().unwrap()).unwrap();
        let length = whole.len();
        let stripped = loaded_part(whole);
        assert!(stripped.len() < length);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        fs::write(&path, stripped).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let output = Command::new(&path).arg("--list").output().unwrap();
        assert!(String::from_utf8_lossy(&output.stdout).contains("a_stripped_program_runs"));
    }

    #[test]
    fn what_is_no_program_is_left_alone() {
        for bytes in [&b""[..], b"#!/bin/sh\n", b"\x7fELF\x02\x01"] {
            assert_eq!(loaded_part(bytes.to_vec()), bytes);
        }
        let mut lying = b"\x7fELF\x02\x01".to_vec();
        lying.resize(64, 0xff);
        assert_eq!(loaded_part(lying.clone()), lying);
    }
}
