//! Policies loaded into a real kernel.

use std::collections::BTreeMap;
use std::fs;
use std::process::Output;

use schedlab_policy::Policy;

use crate::common::{argument, root, text};
use crate::guest::{have_kernel, vm};

/// A script, run in the guest as root.
fn in_guest(script: &str) -> Output {
    let host = ["--no-record", "--clock", "fast", "--memory", "2GiB"];
    vm(&[&host[..], &["--timeout", "1h", "--", "sh", "-c", script]].concat())
}

#[track_caller]
fn conforms(policy: &str, scripts: &str) {
    let ran = in_guest(&format!(
        "schedlab dev conform {policy} --scripts {scripts}"
    ));
    let said = text(&ran.stdout);
    assert!(ran.status.success(), "{policy}: {}", text(&ran.stderr));
    assert!(said.contains(&format!("{scripts} scripts")), "{said}");
    assert!(said.ends_with(" 0 differences\n"), "{said}");
}

#[test]
fn native_and_bpf_builds_decide_alike() {
    if !have_kernel("native_and_bpf_builds_decide_alike") {
        return;
    }
    conforms("o1", "100");
}

/// A build that decides otherwise is told from one that does not.
#[test]
fn a_build_that_decides_otherwise_is_found_out() {
    if !have_kernel("a_build_that_decides_otherwise_is_found_out") {
        return;
    }
    // 2.3.99 counts slices in another way than the native arm's 2.4.16.  4.3 balances otherwise than 6.5, and what is
    // asked of it after that cannot be.
    for pair in [
        "linux24:2.4.16 --against linux24:2.3.99",
        "cfs:4.3 --against cfs:6.5",
    ] {
        let ran = in_guest(&format!("schedlab dev conform {pair} --scripts 100"));
        assert_eq!(ran.status.code(), Some(1), "{}", text(&ran.stdout));
        let stderr = text(&ran.stderr);
        assert!(stderr.contains("native:"), "{pair}: {stderr}");
    }
}

/// Tables from a file and single rows mean the same to both builds, and reach a guest's loader.
#[test]
fn tunables_from_files_reach_the_kernel() {
    if !have_kernel("tunables_from_files_reach_the_kernel") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("table.toml");
    let rows: Vec<String> = (0..60).map(|row| (row % 7 + 1).to_string()).collect();
    fs::write(&file, format!("[svr4]\nquantum = [{}]\n", rows.join(", "))).unwrap();
    let file = argument(&file);
    let conform = "schedlab dev conform svr4 --scripts 50 --set 'quantum[45]=8' --tunables";
    let script = format!(
        "{conform} {file}; for p in $(pidof schedlab); do tr '\\0' ' ' </proc/$p/cmdline; done"
    );
    let ran = vm(&[
        "--no-record",
        "--clock",
        "fast",
        "--policy",
        "svr4",
        "--tunables",
        file,
        "--with",
        file,
        "--",
        "sh",
        "-c",
        &script,
    ]);
    let said = text(&ran.stdout);
    assert!(
        said.contains(" 0 differences\n"),
        "{said}{}",
        text(&ran.stderr)
    );
    let passed = format!("--set quantum={}", rows.join(","));
    assert!(said.contains(&passed), "{said}");
}

#[test]
#[ignore = "long: make test-vm"]
fn ten_thousand_scripts_of_every_policy_decide_alike() {
    if !have_kernel("ten_thousand_scripts_of_every_policy_decide_alike") {
        return;
    }
    for policy in Policy::for_kernels() {
        conforms(policy.name(), "10000");
    }
}

/// Verified instructions by policy and program; `SCHEDLAB_UPDATE_GOLDEN=1` writes them anew.
#[test]
#[ignore = "long: make test-vm"]
fn programs_grow_by_a_tenth_at_most() {
    if !have_kernel("programs_grow_by_a_tenth_at_most") {
        return;
    }
    let golden = root().join("tests/golden/verified.txt");
    let now = sizes();
    if std::env::var_os("SCHEDLAB_UPDATE_GOLDEN").is_some() {
        let lines = now.iter().map(|(name, size)| format!("{name} {size}\n"));
        fs::write(&golden, lines.collect::<String>()).unwrap();
        return;
    }
    let known = fs::read_to_string(&golden).unwrap();
    let known: BTreeMap<&str, u64> = known
        .lines()
        .filter_map(|line| line.rsplit_once(' '))
        .map(|(name, size)| (name, size.parse().unwrap()))
        .collect();
    for (name, size) in &now {
        let before = known.get(name.as_str()).copied();
        let before = before.unwrap_or_else(|| panic!("{name} is not in tests/golden/verified.txt"));
        assert!(size * 10 <= before * 11, "{name}: {before}, now {size}");
    }
}

/// By "POLICY PROGRAM".
fn sizes() -> BTreeMap<String, u64> {
    let names: Vec<&str> = Policy::for_kernels().map(Policy::name).collect();
    let load = "schedlab load $policy --verified --stats none --for 100ms >/tmp/sizes || exit 1";
    let script = format!(
        "for policy in {}; do {load}; sed \"s/^/$policy /\" /tmp/sizes; done",
        names.join(" ")
    );
    let ran = in_guest(&script);
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    let said = text(&ran.stdout);
    let lines = said.lines().filter_map(|line| line.rsplit_once(' '));
    lines
        .map(|(program, size)| (program.to_string(), size.parse().unwrap()))
        .collect()
}
