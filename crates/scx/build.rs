//! Compiles kernel/kernel.c for BPF and takes its BTF: the types of the simulated kernel.
//!
//! Where there is no clang that can, the BTF is empty; the build goes on with a warning, and no
//! sched_ext scheduler can be loaded.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

/// How the crate that loads policies into kernels finds clang.
#[allow(dead_code)]
mod clang {
    use super::{env, Command, Path, PathBuf, Stdio};

    include!("../bpf/src/clang.rs");

    pub fn find() -> Result<String, String> {
        find_clang()
    }
}

fn main() {
    println!("cargo:rerun-if-changed=kernel");
    println!("cargo:rerun-if-changed=../bpf/src/clang.rs");
    println!("cargo:rerun-if-env-changed=BPF_CLANG");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let btf = compile(&out.join("kernel.o")).unwrap_or_else(|reason| {
        println!("cargo:warning=sched_ext schedulers cannot be loaded: {reason}");
        Vec::new()
    });
    fs::write(out.join("kernel.btf"), btf).expect("OUT_DIR is writable");
}

/// The BTF of kernel/kernel.c.
fn compile(object: &Path) -> Result<Vec<u8>, String> {
    let output = Command::new(clang::find()?)
        .args([
            "--target=bpf",
            "-mcpu=v4",
            "-O2",
            "-g",
            "-std=gnu11",
            "-ffreestanding",
        ])
        .args([
            "-Wall",
            "-Wextra",
            "-Wno-unused-parameter",
            "-c",
            "kernel/kernel.c",
            "-o",
        ])
        .arg(object)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    for line in String::from_utf8_lossy(&output.stderr).lines().take(20) {
        println!("cargo:warning={line}");
    }
    if !output.status.success() {
        return Err("kernel/kernel.c does not compile".into());
    }
    let bytes = fs::read(object).map_err(|error| error.to_string())?;
    section(&bytes, b".BTF").ok_or_else(|| "clang made no BTF".into())
}

/// A section of a 64-bit little-endian ELF file.
fn section(elf: &[u8], name: &[u8]) -> Option<Vec<u8>> {
    let number = |at: usize, len: usize| -> Option<usize> {
        let bytes = elf.get(at..at + len)?;
        Some(
            bytes
                .iter()
                .rev()
                .fold(0, |n, &byte| n << 8 | usize::from(byte)),
        )
    };
    let (headers, size, count) = (number(0x28, 8)?, number(0x3a, 2)?, number(0x3c, 2)?);
    let header = |i: usize| headers + i * size;
    let range = |at: usize| Some((number(at + 0x18, 8)?, number(at + 0x20, 8)?));
    let (names, _) = range(header(number(0x3e, 2)?))?;
    (0..count).map(header).find_map(|at| {
        let text = elf.get(names + number(at, 4)?..)?;
        let (start, len) = range(at)?;
        let found = text.starts_with(name) && text.get(name.len()) == Some(&0);
        found.then(|| elf.get(start..start + len).map(<[u8]>::to_vec))?
    })
}
