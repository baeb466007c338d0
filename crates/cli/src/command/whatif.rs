//! `schedlab whatif`: a command under other schedulers, from the recording to the report.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command as Program, Stdio};

use clap::Parser;
use schedlab_input::Diagnostic;
use schedlab_lab::quoted;

use crate::arguments::{Arguments, Command, WhatIfArguments};
use crate::failure::{Exit, Failure};
use crate::usage;

use super::{note, replay, sudo, vm};

/// Records, replays, and writes the report.
pub fn whatif(arguments: &WhatIfArguments) -> Result<(), Failure> {
    let folder = tempfile::tempdir();
    let folder = folder.map_err(|e| Failure::Other(format!("no temporary folder: {e}")))?;
    let recording = match (&arguments.recording, &arguments.output) {
        (Some(existing), _) => existing.clone(),
        (None, Some(kept)) => ftrace(kept)?,
        (None, None) => folder.path().join("recorded.ftrace"),
    };
    match (&arguments.recording, arguments.vm) {
        (Some(_), _) => {}
        (None, true) => record_in_vm(&arguments.command, &recording)?,
        (None, false) => record_here(&arguments.command, &recording)?,
    }
    replayed(arguments, &recording)?;
    note(&format!("the report is {}", arguments.report.display()));
    Ok(())
}

/// Only text has system calls.
fn ftrace(path: &Path) -> Result<PathBuf, Failure> {
    match path.extension().is_some_and(|ext| ext == "ftrace") {
        true => Ok(path.to_path_buf()),
        false => {
            let problem = format!("\"{}\" cannot hold system calls", path.display());
            let mistake = Diagnostic::new(problem).expected("FILE.ftrace");
            Err(Failure::flag("--output", mistake))
        }
    }
}

fn record_in_vm(command: &[String], recording: &Path) -> Result<(), Failure> {
    let path = recording.to_string_lossy();
    let words = ["schedlab", "vm", "--data-flow", "--trace", &path, "--"];
    let words = words.into_iter().chain(command.iter().map(String::as_str));
    match Arguments::try_parse_from(words).map(|parsed| parsed.command) {
        Ok(Command::Vm(arguments)) => vm::vm(&arguments).map(|_| ()),
        Ok(_) => unreachable!("the words are those of vm"),
        Err(mistake) => Err(usage::diagnostic(&mistake).into()),
    }
}

/// What an attended recorder says when it records.
pub const BEGUN: &str = "recording";

/// A recorder beside this process, as root.
struct Recorder(Child);

impl Recorder {
    /// Starts it and waits until it records; none if it may not.
    fn start(recording: &Path) -> std::io::Result<Option<Recorder>> {
        let path = recording.to_string_lossy();
        let own = std::process::id().to_string();
        let words = ["record", "--data-flow", "-o", &path, "--attended-by", &own];
        let mut recorder = sudo::as_root(&words)?;
        recorder.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = recorder.spawn()?;
        let mut line = String::new();
        if let Some(said) = child.stdout.take() {
            BufReader::new(said).read_line(&mut line)?;
        }
        if line.trim_end() != BEGUN {
            drop(child.stdin.take());
            child.wait()?;
            return Ok(None);
        }
        Ok(Some(Recorder(child)))
    }

    /// Ends the recording; is it complete?
    fn stop(mut self) -> std::io::Result<bool> {
        drop(self.0.stdin.take());
        Ok(self.0.wait()?.success())
    }
}

/// Runs the command as whoever asked for it, while a recorder records the machine.
fn record_here(command: &[String], recording: &Path) -> Result<(), Failure> {
    let refused = |error: Option<std::io::Error>| {
        let why = error.map_or_else(String::new, |error| format!(": {error}"));
        Failure::Ended(
            Exit::System,
            format!(
                "this machine cannot be recorded{why}\n\
                 hint: schedlab whatif --vm -- {0}    (in a virtual machine)\n\
                 hint: where root may trace: schedlab record --data-flow -o x.ftrace -- {0}; then schedlab whatif --recording x.ftrace",
                quoted(command)
            ),
        )
    };
    let recorder = Recorder::start(recording).map_err(|error| refused(Some(error)))?;
    let recorder = recorder.ok_or_else(|| refused(None))?;
    let ended = run(command);
    let complete = recorder.stop().map_err(|error| refused(Some(error)))?;
    let status = ended.map_err(|error| Failure::Other(format!("{}: {error}", command[0])))?;
    if !status.success() {
        note(&format!(
            "warning: {}: {status}; what it did until then is replayed",
            command[0]
        ));
    }
    match complete {
        true => Ok(()),
        false => Err(Failure::Other("the recorder failed".into())),
    }
}

/// Runs the command, never as root if sudo made this process root's.
fn run(command: &[String]) -> std::io::Result<std::process::ExitStatus> {
    let mut program = Program::new(&command[0]);
    program.args(&command[1..]);
    if let Some((user, group)) = sudo::asked_by() {
        program.uid(user).gid(group);
    }
    program.status()
}

fn replayed(arguments: &WhatIfArguments, recording: &Path) -> Result<(), Failure> {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let mut words = ["schedlab", "replay", "--progress"]
        .map(String::from)
        .to_vec();
    words.extend(["--policies".into(), arguments.policies.clone()]);
    words.extend(["--report".into(), text(&arguments.report)]);
    if let Some(json) = &arguments.json {
        words.extend(["--json".into(), text(json)]);
    }
    words.extend(["--".into(), text(recording)]);
    match Arguments::try_parse_from(words).map(|parsed| parsed.command) {
        Ok(Command::Replay(arguments)) => replay::replay(&arguments),
        Ok(_) => unreachable!("the words are those of replay"),
        Err(mistake) => Err(usage::diagnostic(&mistake).into()),
    }
}
