//! Compiles every policy in `policies/` into a BPF object. The objects become part of the binary.
//!
//! Without a clang that is new enough, the build prints a warning and the binary contains no
//! objects. `schedlab load` then compiles the policy when it needs it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::{env, fs, io, thread};

use flate2::write::GzEncoder;
use flate2::Compression;

include!("src/clang.rs");
include!("../native/content.rs");

/// BPF programs without a policy.
const OTHERS: [&str; 2] = ["floor", "lists"];

/// Include folders, relative to the root.
const INCLUDED: [&str; 3] = ["policy", "policies", "crates/bpf/include"];

fn main() {
    let root = Path::new("../..")
        .canonicalize()
        .expect("the workspace root exists");
    for watched in ["policy", "policies", "crates/bpf/include"] {
        println!("cargo:rerun-if-changed={}", root.join(watched).display());
    }
    for program in ["main", "floor", "lists"] {
        println!("cargo:rerun-if-changed={program}.bpf.c");
    }
    println!("cargo:rerun-if-changed=../native/content.rs");
    println!("cargo:rerun-if-env-changed=BPF_CLANG");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let policies = find_policies(&root.join("policies"));
    let (built, others) = match find_clang() {
        Ok(clang) => (
            compile_all(&clang, &root, &policies, &out),
            compile_others(&clang, &root, &out),
        ),
        Err(reason) => {
            println!("cargo:warning=no policy is compiled to BPF: {reason}");
            (Vec::new(), Vec::new())
        }
    };
    let objects = table("BUILT_IN", &built) + &table("OTHERS", &others) + &headers(&root);
    fs::write(out.join("objects.rs"), objects).expect("OUT_DIR is writable");
}

/// The C file of every policy folder that a kernel can run, by name.
fn find_policies(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut sources: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter_map(|dir| Some(dir.join(dir.file_name()?).with_extension("c")))
        .filter(|source| source.is_file() && !knows_future(source))
        .collect();
    sources.sort();
    sources
}

/// Does the policy ask how much work tasks have left (policy.h)?
fn knows_future(source: &Path) -> bool {
    fs::read_to_string(source).is_ok_and(|text| text.contains(".knows_future"))
}

/// Compiles all policies; returns the name and object of each that compiled, sorted by name.
fn compile_all(
    clang: &str,
    root: &Path,
    sources: &[PathBuf],
    out: &Path,
) -> Vec<(String, PathBuf)> {
    let threads = thread::available_parallelism().map_or(1, |n| n.get());
    let (next, built) = (Mutex::new(sources.iter()), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| loop {
                let Some(source) = next.lock().expect("no thread panics").next() else {
                    return;
                };
                let name = source.file_stem().expect("it has a name").to_string_lossy();
                let object = out.join(format!("{name}.bpf.o"));
                if compile(clang, root, source, &object) {
                    let mut built = built.lock().expect("no thread panics");
                    built.push((name.into_owned(), object));
                }
            });
        }
    });
    let mut built = built.into_inner().expect("no thread panics");
    built.sort();
    built
}

/// Compiles the programs without a policy.
fn compile_others(clang: &str, root: &Path, out: &Path) -> Vec<(String, PathBuf)> {
    let compiled = OTHERS.iter().filter_map(|name| {
        let source = root.join(format!("crates/bpf/{name}.bpf.c"));
        let object = out.join(format!("{name}.bpf.o"));
        run(clang, root, &source, &source, &object).then(|| (name.to_string(), object))
    });
    compiled.collect()
}

/// Compiles a policy, unless an object of the same text exists.
fn compile(clang: &str, root: &Path, policy: &Path, object: &Path) -> bool {
    let glue = root.join("crates/bpf/main.bpf.c");
    let compiler = format!(
        "{clang} {:?} {}",
        clang_version(clang),
        include_str!("src/cflags.txt")
    );
    let included = INCLUDED.map(|folder| root.join(folder));
    let key = content_key(&compiler, &included, &[&glue, policy]);
    unless_made(object, &key, || run(clang, root, policy, &glue, object))
}

fn run(clang: &str, root: &Path, policy: &Path, glue: &Path, object: &Path) -> bool {
    let output = Command::new(clang)
        .args(flags(
            &INCLUDED.map(|folder| root.join(folder)),
            policy,
            object,
        ))
        .arg(glue)
        .stdin(Stdio::null())
        .output();
    let failure = match output {
        Ok(output) if output.status.success() => return true,
        Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
        Err(error) => error.to_string(),
    };
    println!(
        "cargo:warning={} does not compile for the kernel:",
        policy.display()
    );
    for line in failure.lines().take(10) {
        println!("cargo:warning={line}");
    }
    false
}

/// Rust source of a table of objects, compressed: most of an object is zeros.
fn table(name: &str, built: &[(String, PathBuf)]) -> String {
    let mut text = format!("static {name}: &[(&str, &[u8])] = &[\n");
    for (name, object) in built {
        let object = compressed(object).expect("OUT_DIR is writable");
        text += &format!("    ({name:?}, include_bytes!({object:?})),\n");
    }
    text + "];\n"
}

/// A compressed copy of a file, beside it.
fn compressed(file: &Path) -> io::Result<PathBuf> {
    let path = file.with_extension("gz");
    let mut writer = GzEncoder::new(fs::File::create(&path)?, Compression::default());
    io::copy(&mut fs::File::open(file)?, &mut writer)?;
    writer.finish()?;
    Ok(path)
}

/// Rust source of the table of the glue's headers, by file name.
fn headers(root: &Path) -> String {
    let folder = root.join("crates/bpf/include");
    let entries = fs::read_dir(folder).expect("the headers can be read");
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let mut text = String::from("static HEADERS: &[(&str, &str)] = &[\n");
    for path in paths {
        let name = path.file_name().expect("a header has a name");
        text += &format!("    ({name:?}, include_str!({path:?})),\n");
    }
    text + "];\n"
}
