//! `schedlab record` without the permission to record.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};

use crate::common::{failure, text, SYSTEM};

/// A user who is not root.
const NOBODY: u32 = 65534;

/// Runs `schedlab record` as an ordinary user, in a folder where sudo is a script that tells its arguments.
fn record(folder: &Path, more: &[&str]) -> Output {
    let sudo = folder.join("sudo");
    fs::write(&sudo, "#!/bin/sh\necho \"$@\"\nexit 42\n").unwrap();
    fs::set_permissions(&sudo, Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(folder, Permissions::from_mode(0o777)).unwrap();
    // The program itself may lie where only its owner may look.
    let program = folder.join("schedlab");
    fs::copy(env!("CARGO_BIN_EXE_schedlab"), &program).unwrap();
    let path = format!("{}:/usr/bin:/bin", folder.display());
    let mut command = Command::new(&program);
    command.args(["record", "-o", "x.pftrace"]).args(more);
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
