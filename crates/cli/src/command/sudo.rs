//! Starts this program again as root: sudo does not find programs of `cargo install`.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use crate::failure::{Exit, Failure};
use schedlab_lab::quoted;

use super::note;

/// Whether this process is root's.
pub fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

/// Starts this program again with the same arguments through sudo; returns only if this fails.  A command to be
/// recorded would run as root, too, so the user has to start it.
pub fn again(observed: &[String]) -> Failure {
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => return Failure::Other(format!("the path of this program: {error}")),
    };
    let command = command(program);
    let written: Vec<String> = command.iter().map(|w| w.to_string_lossy().into()).collect();
    let written = quoted(&written);
    if !observed.is_empty() {
        return Failure::Ended(
            Exit::System,
            format!(
                "recording needs root\n\
                 hint: {written}\n\
                 The command after \"--\" then runs as root, too."
            ),
        );
    }
    note(&format!("recording needs root: {written}"));
    let error = Command::new(&command[0]).args(&command[1..]).exec();
    Failure::Other(format!("sudo: {error}\nhint: as root, run {written}"))
}

/// This program with other arguments, as root.
pub fn as_root(arguments: &[&str]) -> io::Result<Command> {
    let program = std::env::current_exe()?;
    let mut command = match is_root() {
        true => Command::new(program),
        false => {
            let mut command = Command::new("sudo");
            command.arg(program);
            command
        }
    };
    command.args(arguments);
    Ok(command)
}

/// Whoever asked sudo to make this process root's: user and group.
pub fn asked_by() -> Option<(u32, u32)> {
    let number = |name| std::env::var(name).ok()?.parse().ok();
    Some((number("SUDO_UID")?, number("SUDO_GID")?)).filter(|_| is_root())
}

/// sudo, this program by its absolute path, and its arguments.
fn command(program: PathBuf) -> Vec<OsString> {
    let words = ["sudo".into(), program.into_os_string()];
    words
        .into_iter()
        .chain(std::env::args_os().skip(1))
        .collect()
}
