//! Compiles every policy in `policies/` and lists them for the crate.
//!
//! A policy is a folder with a C file of the same name.  There is no other
//! registration: a new folder is found here, and cargo watches for it.

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let root = Path::new("../..")
        .canonicalize()
        .expect("the workspace root exists");
    let policies = find_policies(&root.join("policies"));
    let headers = root.join("policy");
    println!("cargo:rerun-if-changed={}", headers.display());
    println!("cargo:rerun-if-changed={}", root.join("policies").display());

    for source in &policies {
        println!("cargo:rerun-if-changed={}", source.display());
        compile(
            &headers,
            source,
            &format!("schedlab_policy_{}", stem(source)),
        );
    }
    let layout = Path::new("src/layout.c");
    println!("cargo:rerun-if-changed={}", layout.display());
    compile(&headers, layout, "schedlab_layout");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    fs::write(out.join("policies.rs"), table(&policies)).expect("OUT_DIR is writable");
    fs::write(out.join("headers.rs"), headers_table(&headers, &policies))
        .expect("OUT_DIR is writable");
}

/// Rust source of what a policy compiled at run time may include: each file's path from `policy/`, and its text.
fn headers_table(headers: &Path, policies: &[PathBuf]) -> String {
    let mut folders = vec![headers.to_path_buf()];
    let mut files: Vec<PathBuf> = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("policy/ can be read").flatten() {
            let path = entry.path();
            match path.extension() {
                None if path.is_dir() => folders.push(path),
                Some(extension) if extension == "h" => files.push(path),
                _ => {}
            }
        }
    }
    files.sort();
    let header = |path: &PathBuf| {
        (
            path.strip_prefix(headers).unwrap().display().to_string(),
            path.clone(),
        )
    };
    let part = |path: &PathBuf| (format!("../{0}/{0}.c", stem(path)), path.clone());
    let entries = files.iter().map(header).chain(policies.iter().map(part));
    let line = |(name, path): (String, PathBuf)| format!("({name:?}, include_str!({path:?})),\n");
    format!("&[\n{}]", entries.map(line).collect::<String>())
}

/// The C file of every policy folder, by name.
fn find_policies(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(folder)
        .map(|entries| entries.flatten().map(|e| e.path()).collect())
        .unwrap_or_default();
    found.retain(|path| path.is_dir());
    found.sort();
    found
        .iter()
        .map(|dir| dir.join(format!("{}.c", stem(dir))))
        .filter(|source| {
            let exists = source.is_file();
            if !exists {
                println!(
                    "cargo:warning=policy folder without a policy: {} is missing",
                    source.display()
                );
            }
            exists
        })
        .collect()
}

fn stem(path: &Path) -> String {
    path.file_stem()
        .expect("a path from a folder listing has a name")
        .to_string_lossy()
        .into_owned()
}

/// Policies are optimised alike in every profile: one meaning and one speed.
fn compile(headers: &Path, source: &Path, library: &str) {
    let mut build = cc::Build::new();
    for flag in include_str!("src/cflags.txt").split_whitespace() {
        build.flag_if_supported(flag);
    }
    build
        .include(headers)
        .file(source)
        .opt_level(2)
        .warnings(false)
        .compile(library);
}

/// Rust source of the table of policies.
fn table(policies: &[PathBuf]) -> String {
    let names: Vec<String> = policies.iter().map(|p| stem(p)).collect();
    let mut text = String::from("unsafe extern \"C\" {\n");
    for name in &names {
        text += &format!("    static schedlab_policy_{name}: ffi::Policy;\n");
    }
    text += "}\n/// Every policy in `policies/`, by name.\nstatic BUILT_IN: &[Policy] = &[\n";
    for name in &names {
        text += &format!("    Policy(unsafe {{ &schedlab_policy_{name} }}),\n");
    }
    text + "];\n"
}
