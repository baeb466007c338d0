//! `schedlab record` without the permission to record.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};

use crate::common::{failure, text, SYSTEM};

/// A user who is not root.
const NOBODY: u32 = 65534;

/// A recording that is part of the source.
fn examples(name: &str) -> String {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    format!("{root}/examples/recordings/{name}")
}

/// Runs `schedlab record` as an ordinary user, in a folder where sudo is a script that tells its arguments.
fn record(folder: &Path, more: &[&str]) -> Output {
    schedlab(folder, &[&["record", "-o", "x.pftrace"], more].concat())
}

fn schedlab(folder: &Path, words: &[&str]) -> Output {
    schedlab_with(folder, "#!/bin/sh\necho \"$@\"\nexit 42\n", words)
}

/// Runs schedlab as an ordinary user, in a folder where this script is sudo.
fn schedlab_with(folder: &Path, script: &str, words: &[&str]) -> Output {
    let sudo = folder.join("sudo");
    fs::write(&sudo, script).unwrap();
    fs::set_permissions(&sudo, Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(folder, Permissions::from_mode(0o777)).unwrap();
    // The program itself may lie where only its owner may look.
    let program = folder.join("schedlab");
    fs::copy(env!("CARGO_BIN_EXE_schedlab"), &program).unwrap();
    let path = format!("{}:/usr/bin:/bin", folder.display());
    let mut command = Command::new(&program);
    command.args(words);
    command.current_dir(folder).env("PATH", path);
    let is_root = fs::metadata("/proc/self").map(|own| std::os::unix::fs::MetadataExt::uid(&own));
    if is_root.unwrap() == 0 {
        command.uid(NOBODY).gid(NOBODY);
    }
    command.output().unwrap()
}

/// The path of the program is absolute: sudo looks for programs in other folders.
#[test]
fn an_ordinary_user_is_passed_on_to_sudo() {
    let folder = tempfile::tempdir().unwrap();
    let output = record(folder.path(), &["--for", "1s"]);
    let program = folder.path().join("schedlab");
    let again = format!("{} record -o x.pftrace --for 1s", program.display());
    assert_eq!(text(&output.stdout), format!("{again}\n"));
    let said = format!("schedlab: recording needs root: sudo {again}\n");
    assert_eq!(text(&output.stderr), said);
    assert_eq!(output.status.code(), Some(42), "the status of sudo");
}

/// A command would run as root, too: that is for the user to type.
#[test]
fn a_command_is_not_made_roots() {
    let folder = tempfile::tempdir().unwrap();
    let message = failure(SYSTEM, record(folder.path(), &["--", "make"]));
    let program = folder.path().join("schedlab");
    let hint = format!(
        "hint: sudo {} record -o x.pftrace -- make\n",
        program.display()
    );
    assert!(message.contains(&hint), "{message}");
    assert!(!folder.path().join("x.pftrace").exists());
}

/// `whatif` runs the command as the user; only the recorder is root's.  Here sudo refuses.
#[test]
fn what_if_needs_root_for_the_recorder_only() {
    let folder = tempfile::tempdir().unwrap();
    let message = failure(
        SYSTEM,
        schedlab(folder.path(), &["whatif", "--", "make", "all"]),
    );
    assert!(
        message.contains("this machine cannot be recorded"),
        "{message}"
    );
    for hint in [
        "hint: schedlab whatif --vm -- make all",
        "schedlab whatif --recording x.ftrace",
    ] {
        assert!(message.contains(hint), "{message}");
    }
    assert!(!folder.path().join("what-if.html").exists());
}

/// sudo is this program's recorder, which is attended: it says when it begins and ends with its input.
#[test]
fn what_if_runs_the_command_while_it_is_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let recording = examples("hackbench-4g.perf-script.txt.zst");
    let sudo = format!(
        "#!/bin/sh\nwhile [ \"$1\" != -o ]; do shift; done\nzstdcat {recording} >\"$2\" || cp {recording} \"$2\"\n\
         echo recording\ncat >/dev/null\necho ended >log\n"
    );
    let ran = schedlab_with(
        folder.path(),
        &sudo,
        &[
            "whatif",
            "--policies",
            "o1",
            "--",
            "sh",
            "-c",
            "id -u >who; test ! -e log",
        ],
    );
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    let said = text(&ran.stdout);
    assert!(said.starts_with("NOT PREDICTED"), "{said}");
    assert!(
        said.contains("Under o1:2.6.11 your machine would have"),
        "{said}"
    );
    assert!(text(&ran.stderr).contains("the report is what-if.html"));
    let at = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(at("log"), "ended\n");
    assert!(at("what-if.html").contains("NOT PREDICTED"));
}
