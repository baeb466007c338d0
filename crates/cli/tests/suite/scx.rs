//! Schedulers of sched_ext: objects and loaders.  The objects are compiled here from our own source.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::common::{output, refused, root};

/// The compiler that schedlab's own BPF programs need, too.
fn clang() -> String {
    std::env::var("BPF_CLANG").unwrap_or_else(|_| "clang-19".into())
}

/// A scheduler of tests/schedulers, compiled with these flags.
pub fn compiled(folder: &Path, name: &str, flags: &[&str]) -> PathBuf {
    let object = folder.join(format!("{name}.bpf.o"));
    let source = root().join(format!("crates/cli/tests/schedulers/{name}.bpf.c"));
    let mut command = Command::new(clang());
    command.args(["-mcpu=v3", "-O2", "-c"]).args(flags);
    if !flags.iter().any(|flag| flag.starts_with("--target")) {
        command.arg("--target=bpf");
    }
    let status = command.arg(source).arg("-o").arg(&object).status();
    assert!(status.unwrap().success(), "{flags:?}");
    object
}

fn fifo(folder: &Path, flags: &[&str]) -> PathBuf {
    compiled(folder, "fifo", flags)
}

const SHORT: [&str; 4] = ["--workload", "hogs --count 40", "--duration", "200ms"];

/// What a run of a scheduler says that cannot be loaded.
#[track_caller]
fn refused_scheduler(scheduler: &str) -> String {
    refused(&[&["run", "--policy", scheduler][..], &SHORT].concat())
}

#[test]
fn an_object_runs_beside_policies() {
    let folder = TempDir::new().unwrap();
    let object = fifo(folder.path(), &["-g"]).display().to_string();
    let policies = format!("eevdf,{object}");
    let compare = ["compare", "--policies", &policies];
    let first = output(&[&compare[..], &SHORT].concat());
    assert!(first.contains("fifo.bpf.o"), "{first}");
    assert_eq!(output(&[&compare[..], &SHORT].concat()), first);
}

#[test]
fn constants_of_an_object_can_be_set() {
    let folder = TempDir::new().unwrap();
    let object = fifo(folder.path(), &["-g"]).display().to_string();
    let run = ["run", "--policy", &object];
    let plain = output(&[&run[..], &SHORT].concat());
    let longer = output(&[&run[..], &SHORT, &["--set", "slice_ns=40000000"]].concat());
    assert_ne!(plain, longer);
    let message = refused(&[&run[..], &SHORT, &["--set", "slice=1"]].concat());
    assert!(message.contains("did you mean \"slice_ns\"?"), "{message}");
}

#[test]
fn what_is_no_scheduler_is_refused() {
    let folder = TempDir::new().unwrap();
    let write = |bytes: &[u8]| {
        let path = folder.path().join("bad.bpf.o");
        fs::write(&path, bytes).unwrap();
        refused_scheduler(&path.display().to_string())
    };
    let says = |message: String, expected: &str| assert!(message.contains(expected), "{message}");
    says(write(b"int main;"), "no ELF file");
    says(write(b""), "no ELF file");
    let object = |flags: &[&str]| fs::read(fifo(folder.path(), flags)).unwrap();
    let good = object(&["-g"]);
    says(write(&good[..good.len() / 2]), "cut off");
    says(write(&good[..30]), "cut off");
    says(write(&object(&[])), "no BTF");
    says(write(&object(&["-g", "-DBARE"])), "no struct_ops");
    says(write(&object(&["-g", "--target=bpfeb"])), "big-endian");
    let native = fs::read(env!("CARGO_BIN_EXE_schedlab")).unwrap();
    says(write(&native[..4096.min(native.len())]), "no BPF object");
    let missing = fifo(folder.path(), &["-g", "-DMISSING"]);
    says(
        refused_scheduler(&missing.display().to_string()),
        "it needs scx_bpf_of_no_kernel, which the simulated kernel does not have",
    );
    says(refused_scheduler("./none.bpf.o"), "No such file");
}

#[test]
fn loaders_that_fail_are_quoted() {
    let says = |loader: &str, expected: &str| {
        let message = refused_scheduler(loader);
        assert!(message.contains(expected), "{message}");
    };
    says(
        "/bin/echo hello",
        "it ended with status 0 before it attached a scheduler",
    );
    says("/bin/echo hello", "hello");
    says(
        "/bin/sh -c 'echo oh no >&2; exit 3'",
        "it ended with status 3",
    );
    says(
        "/bin/sh -c 'sleep 1; sleep 1'",
        "it wanted to start another process",
    );
    says("/bin/sh -c 'kill -SEGV $$'", "it was ended by signal 11");
    says("/bin/sleep infinity", "it waits for what does not come");
    says(
        "/bin/sh -c 'exec 3>/etc/schedlab'",
        "it wanted to change /etc/schedlab",
    );
}

#[test]
fn loaders_get_no_privilege() {
    let folder = TempDir::new().unwrap();
    let loader = format!("mount -t tmpfs none {}", folder.path().display());
    let message = refused_scheduler(&loader);
    assert!(message.contains("it asked for "), "{message}");
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let path = folder.path().display().to_string();
    assert!(!mounts.contains(&path), "{mounts}");
}

#[test]
#[ignore = "it takes half a minute"]
fn a_loader_that_never_comes_to_rest_is_ended() {
    let message = refused_scheduler("/bin/sh -c 'while :; do :; done'");
    assert!(message.contains("it was still busy"), "{message}");
}

#[test]
fn what_schedulers_can_use_is_listed() {
    let listed = output(&["list", "scx"]);
    for name in [
        "scx_bpf_dsq_insert",
        "bpf_map_lookup_elem",
        "TaskStorage",
        "enqueue",
    ] {
        assert!(listed.contains(name), "{name}");
    }
    assert!(output(&["list", "scx", "scx_bpf_create_dsq"]).contains("kfuncs"));
}
