//! Finds the experiments: every folder of `experiments/` is one; no list names them.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Files beside the folders hold what several experiments of a paper share.
fn shared(root: &Path) -> String {
    let mut files: Vec<PathBuf> = fs::read_dir(root)
        .expect("experiments/ can be read")
        .map(|entry| entry.expect("experiments/ can be read").path())
        .filter(|path| path.extension().is_some_and(|e| e == "rs"))
        .collect();
    files.sort();
    let module = |path: &PathBuf| {
        let name = path.file_stem().unwrap().to_str().expect("a plain name");
        println!("cargo::rerun-if-changed={}", path.display());
        format!("#[path = {:?}]\nmod {name};\n", path.display().to_string())
    };
    files.iter().map(module).collect()
}

/// What the names of a paper's experiments begin with, in the order of the book; then the classic tests.
const PAPERS: [&str; 6] = ["elsc", "molnar", "staircase", "rbs", "ule", "classic"];

/// The place of an experiment's paper.
fn paper(folder: &Path) -> usize {
    let id = folder.file_name().unwrap().to_str().expect("a plain name");
    let known = PAPERS
        .iter()
        .position(|paper| id.starts_with(&format!("{paper}-")));
    known.unwrap_or_else(|| panic!("{id}: none of {PAPERS:?}"))
}

fn main() {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR").unwrap()).join("../../experiments");
    let root = root.canonicalize().expect("experiments/ exists");
    println!("cargo::rerun-if-changed={}", root.display());
    let mut folders: Vec<PathBuf> = fs::read_dir(&root)
        .expect("experiments/ can be read")
        .map(|entry| entry.expect("experiments/ can be read").path())
        .filter(|path| path.join("experiment.rs").is_file())
        .collect();
    folders.sort_by_key(|folder| (paper(folder), folder.clone()));
    let mut modules = shared(&root);
    let mut list = String::new();
    for folder in &folders {
        let id = folder.file_name().unwrap().to_str().expect("a plain name");
        let module = id.replace('-', "_");
        let path = folder.display();
        println!("cargo::rerun-if-changed={path}");
        writeln!(
            modules,
            "#[path = {:?}]\nmod {module};",
            format!("{path}/experiment.rs")
        )
        .unwrap();
        writeln!(
            list,
            "    Experiment {{ id: {id:?}, readme: include_str!({:?}), data: include_str!({:?}), run: {module}::run }},",
            format!("{path}/README.md"),
            format!("{path}/paper.toml"),
        )
        .unwrap();
    }
    let out = PathBuf::from(env::var("OUT_DIR").unwrap()).join("catalogue.rs");
    let text = format!("{modules}\nstatic ALL: &[Experiment] = &[\n{list}];\n");
    fs::write(out, text).expect("the output folder can be written");
}
