//! Every policy, and the template of new ones, compiles without a warning: natively with gcc and
//! clang, and for BPF, where a compile shows constructs that the kernel cannot load.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use schedlab_policy::Policy;

use crate::common::{argument, root, text};

const WARNINGS: &[&str] = &[
    "-std=gnu11",
    "-O2",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wno-unused-parameter",
    "-Wconversion",
    "-Wsign-conversion",
    "-fno-strict-aliasing",
    "-fwrapv",
    "-ffreestanding",
];

/// Most stack the kernel gives a BPF program, in bytes.
const BPF_STACK: &str = "512";

/// clang from LLVM 19 on: older ones know no address spaces for BPF.
const CLANG: &str = "clang-19";

/// The source of every policy, and of one made from the template.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let template = fs::read_to_string(root().join("policy/template/template.c")).unwrap();
    let made = folder.join("fresh.c");
    fs::write(&made, template.replace("NAME", "fresh")).unwrap();
    let mut sources: Vec<PathBuf> = fs::read_dir(root().join("policies"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|dir| dir.join(dir.file_name().unwrap()).with_extension("c"))
        .filter(|source| source.is_file())
        .collect();
    sources.sort();
    sources.push(made);
    assert!(sources.len() > 3, "{sources:?}");
    sources
}

/// What the compiler says.
fn compiled(compiler: &str, flags: &[&str], source: &Path, object: &Path) -> Output {
    Command::new(compiler)
        .args(WARNINGS)
        .args(flags)
        .args(["policy", "policies"].map(|folder| format!("-I{}", root().join(folder).display())))
        .args(["-c", "-o"])
        .args([object, source])
        .output()
        .unwrap_or_else(|e| panic!("{compiler}: {e} (scripts/setup.sh test installs it)"))
}

#[track_caller]
fn compile(compiler: &str, flags: &[&str], source: &Path, object: &Path) {
    let output = compiled(compiler, flags, source, object);
    assert!(
        output.status.success(),
        "{}: {}",
        source.display(),
        text(&output.stderr)
    );
}

/// All warnings of clang but those about stack need no code; gcc finds some while it optimises.
const ONLY_WARNINGS: &str = "-fsyntax-only";

#[test]
fn policies_compile_natively_without_warnings() {
    let folder = tempfile::tempdir().unwrap();
    let object = folder.path().join("native.o");
    let dialect = format!("-I{}", root().join("crates/native/include").display());
    for source in sources(folder.path()) {
        compile("gcc", &[&dialect], &source, &object);
        compile(CLANG, &[&dialect, ONLY_WARNINGS], &source, &object);
    }
}

#[test]
fn policies_compile_for_bpf_with_constant_tables_and_little_stack() {
    let folder = tempfile::tempdir().unwrap();
    let object = folder.path().join("bpf.o");
    for source in sources(folder.path()) {
        let define = format!("-DPOLICY_SOURCE=\"{}\"", argument(&source));
        let stack = format!("-Wframe-larger-than={BPF_STACK}");
        let glue = format!("-I{}", root().join("crates/bpf/include").display());
        let flags = ["-target", "bpf", "-mcpu=v4", "-g", &define, &stack, &glue];
        let main = root().join("crates/bpf/main.bpf.c");
        let name = source.file_stem().unwrap().to_str().unwrap();
        if Policy::find(name).is_some_and(|policy| policy.knows_future()) {
            let said = text(&compiled(CLANG, &flags, &main, &object).stderr);
            assert!(
                said.contains("runs in the simulator only"),
                "{name}: {said}"
            );
            continue;
        }
        // The build has compiled those of schedlab, which the compiler refuses beyond the stack's limit.
        if let Some(built) = schedlab_bpf::built_in(name) {
            compile(
                CLANG,
                &[&flags[..], &[ONLY_WARNINGS]].concat(),
                &main,
                &object,
            );
            check_sections(&source, built.to_vec());
        } else {
            compile(CLANG, &flags, &main, &object);
            check_sections(&source, fs::read(&object).unwrap());
        }
    }
}

/// What the back end keeps itself; a policy keeps nothing but constants.
const SECTIONS: &[&str] = &[
    ".rodata.tunables",
    ".rodata", // Constants, and a table the compiler counts zeros with.
    ".data.config",
    ".data.totals",
    ".data.exit",
    ".data.script",
    ".data.played",
    ".data.messages",
];

/// The hooks' table must have folded into direct calls: no table of pointers, no variables.
fn check_sections(source: &Path, object: Vec<u8>) {
    use object::{Object, ObjectSection};
    let file = object::File::parse(&*object).unwrap();
    let mut hooks = 0;
    for section in file.sections().filter(|s| s.size() > 0) {
        let name = section.name().unwrap();
        let data = [".data", ".bss", ".rodata"]
            .iter()
            .any(|data| name.starts_with(data));
        // Messages of policy_error(); the loader knows such sections.
        let messages = name.starts_with(".rodata.str");
        let allowed = !data || messages || SECTIONS.contains(&name);
        hooks += usize::from(name.starts_with("struct_ops/"));
        assert!(
            allowed,
            "{}: section {name} of {} bytes",
            source.display(),
            section.size()
        );
    }
    assert!(hooks >= 10, "{}: {hooks} hooks", source.display());
}
