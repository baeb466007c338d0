//! Compiles every policy in `policies/` and lists them for the crate.
//!
//! A policy is a folder with a C file of the same name. Nothing registers it: this script finds new
//! folders, and cargo watches for them.

use std::path::{Path, PathBuf};
use std::{env, fs};

include!("content.rs");

/// Folders with files that a policy may include, relative to the root, and their names beside a
/// policy compiled at run time.
const INCLUDED: [(&str, &str); 3] = [
    ("policy", "policy"),
    ("policies", "policies"),
    ("crates/native/include", "native"),
];

fn main() {
    let root = Path::new("../..")
        .canonicalize()
        .expect("the workspace root exists");
    let policies = find_policies(&root.join("policies"));
    for (folder, _) in INCLUDED {
        println!("cargo:rerun-if-changed={}", root.join(folder).display());
    }

    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    fs::write(out.join("included.rs"), included(&root)).expect("OUT_DIR is writable");
    let family = env::var("CARGO_CFG_TARGET_FAMILY").unwrap_or_default();
    if family == "wasm" {
        // There a policy is a module of its own (site/build.sh), which the page links.
        fs::write(out.join("policies.rs"), table(&[])).expect("OUT_DIR is writable");
        return;
    }
    let compiler = Compiler::new(&root, &out);
    for source in &policies {
        compiler.compile(source, &format!("schedlab_policy_{}", stem(source)));
    }
    let layout = Path::new("src/layout.c");
    println!("cargo:rerun-if-changed={}", layout.display());
    compiler.compile(layout, "schedlab_layout");
    println!("cargo:rustc-link-search=native={}", out.display());
    fs::write(out.join("policies.rs"), table(&policies)).expect("OUT_DIR is writable");
}

/// Rust source of the files that a policy compiled at run time may include: path and text of each.
fn included(root: &Path) -> String {
    let mut lines: Vec<String> = Vec::new();
    for (folder, name) in INCLUDED {
        let top = root.join(folder);
        let mut folders = vec![top.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("it can be read").flatten() {
                let path = entry.path();
                match path.extension() {
                    None if path.is_dir() => folders.push(path),
                    Some(extension) if extension == "h" || extension == "c" => {
                        let inside = path.strip_prefix(&top).expect("it is inside");
                        let written = Path::new(name).join(inside);
                        lines.push(format!("({written:?}, include_str!({path:?})),\n"));
                    }
                    _ => {}
                }
            }
        }
    }
    lines.sort();
    format!("&[\n{}]", lines.concat())
}

/// The C file of every policy folder, by name. A folder without such a file contains headers shared
/// by several policies.
fn find_policies(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut sources: Vec<PathBuf> = entries
        .filter_map(|entry| {
            Some(
                entry
                    .path()
                    .join(entry.path().file_name()?)
                    .with_extension("c"),
            )
        })
        .filter(|source| source.is_file())
        .collect();
    sources.sort();
    sources
}

fn stem(path: &Path) -> String {
    path.file_stem()
        .expect("a path from a folder listing has a name")
        .to_string_lossy()
        .into_owned()
}

/// How policies are compiled: with the same flags in every profile.
struct Compiler {
    build: cc::Build,
    /// Program and flags, as text. The environment differs between builds and is no part of it.
    command: String,
    included: [PathBuf; 3],
    out: PathBuf,
}

impl Compiler {
    fn new(root: &Path, out: &Path) -> Compiler {
        let included = INCLUDED.map(|(folder, _)| root.join(folder));
        let mut build = cc::Build::new();
        build
            .flags(include_str!("src/cflags.txt").split_whitespace())
            .includes(&included)
            .opt_level(2)
            .debug(true)
            .warnings(false)
            .cargo_metadata(false);
        let compiler = build.get_compiler();
        let command = format!("{:?} {:?}", compiler.path(), compiler.args());
        Compiler {
            build,
            command,
            included,
            out: out.to_path_buf(),
        }
    }

    /// Compiles a source into a static library, unless a library of the same text exists.
    fn compile(&self, source: &Path, library: &str) {
        let key = content_key(&self.command, &self.included, &[source]);
        unless_made(&self.out.join(format!("lib{library}.a")), &key, || {
            self.build.clone().file(source).compile(library);
            true
        });
        println!("cargo:rustc-link-lib=static={library}");
    }
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
        text += &format!("    Policy(unsafe {{ &schedlab_policy_{name} }}, None),\n");
    }
    text + "];\n"
}
