//! The commands: one file each.

mod asked;
#[cfg(feature = "live")]
mod attach;
mod chat;
mod check;
mod compare;
#[cfg(feature = "live")]
mod conform;
mod convert;
mod explain;
mod fidelity;
mod generate;
#[cfg(feature = "live")]
mod hackbench;
mod kernel_result;
mod late;
mod list;
#[cfg(feature = "live")]
mod load;
mod machine;
mod measure;
mod new;
mod open;
#[cfg(feature = "live")]
mod overhead;
mod play;
mod record;
mod replay;
mod report;
mod reproduce;
mod result;
mod run;
mod search;
#[cfg(feature = "live")]
mod status;
mod study;
mod sudo;
mod sweep;
mod vm;
mod whatif;

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::Parser;
use schedlab_trace::printable_lines;

use crate::arguments::{Arguments, Command, DevCommand};
use crate::failure::{Exit, Failure};
use crate::usage;

/// Commands that a guest also finds as programs, by these names.
pub const PROGRAMS: &[&str] = &[
    #[cfg(feature = "live")]
    "hackbench",
    "late",
    "volanomark",
    "chat",
];

/// The command line with the command spelled out, if this program was called by the command's name.
fn spelled_out(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = arguments.into_iter().collect();
    let name = arguments.first().map(Path::new).and_then(Path::file_name);
    let called = |program: &&&str| name == Some(OsStr::new(program));
    if let Some(program) = PROGRAMS.iter().find(called) {
        let words: &[&str] = match *program {
            "hackbench" => &["schedlab", "dev", "hackbench"],
            program => &["schedlab", program],
        };
        arguments.splice(..1, words.iter().map(OsString::from));
    }
    arguments
}

/// Runs the command of the command line.
pub fn dispatch(arguments: impl IntoIterator<Item = OsString>) -> Result<ExitCode, Failure> {
    let arguments = match Arguments::try_parse_from(spelled_out(arguments)) {
        Ok(arguments) => arguments,
        Err(help)
            if matches!(
                help.kind(),
                ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
            ) =>
        {
            help.print().map_err(standard_output)?;
            return Ok(ExitCode::SUCCESS);
        }
        Err(mistake) => return Err(usage::diagnostic(&mistake).into()),
    };
    schedlab_policy::check_undefined(arguments.command.sanitizes());
    let done = match arguments.command {
        // The exit status is that of the command they run.
        Command::Vm(arguments) => return vm::vm(&arguments),
        Command::Record(arguments) => return record::record(&arguments),
        Command::WhatIf(arguments) => whatif::whatif(&arguments),
        Command::Play(arguments) => play::play(&arguments),
        Command::Late(arguments) => late::late(&arguments),
        Command::Volanomark(options) => chat::chat("volanomark", &options),
        Command::Chat(options) => chat::chat("chat", &options),
        Command::Measure(arguments) => measure::measure(&arguments),
        Command::Convert(arguments) => convert::convert(&arguments),
        Command::List(arguments) => list::list(&arguments),
        Command::Run(arguments) => return run::run(&arguments).map(ExitCode::from),
        Command::Compare(arguments) => return compare::compare(&arguments).map(ExitCode::from),
        Command::Check(arguments) => return check::check(&arguments).map(ExitCode::from),
        Command::Sweep(arguments) => return sweep::sweep(&arguments).map(ExitCode::from),
        Command::Report(arguments) => return report::report(&arguments).map(ExitCode::from),
        Command::Search(arguments) => return search::search(&arguments).map(ExitCode::from),
        Command::Merge(arguments) => return sweep::merge(&arguments).map(ExitCode::from),
        #[cfg(feature = "live")]
        Command::Load(arguments) => load::load(&arguments),
        #[cfg(feature = "live")]
        Command::Status => status::status(),
        Command::Replay(arguments) => replay::replay(&arguments),
        Command::Explain(arguments) => explain::explain(&arguments),
        Command::Dev(command) => dev(command),
        Command::Reproduce(arguments) => reproduce::reproduce(&arguments),
        Command::Machine(arguments) => machine::machine(&arguments),
        Command::New(arguments) => new::new(&arguments),
        Command::Open(arguments) => open::open(&arguments),
        Command::Completions { shell } => generate::completions(shell),
        Command::Man { folder } => generate::man_pages(&folder),
    };
    done.map(|()| Exit::Success.into())
}

/// Runs a command for developers of schedlab.
fn dev(command: DevCommand) -> Result<(), Failure> {
    match command {
        #[cfg(feature = "live")]
        DevCommand::Conform(arguments) => conform::conform(&arguments),
        #[cfg(feature = "live")]
        DevCommand::Overhead(arguments) => overhead::overhead(&arguments),
        #[cfg(feature = "live")]
        DevCommand::Hackbench(arguments) => hackbench::hackbench(&arguments),
        #[cfg(feature = "live")]
        DevCommand::Attach(arguments) => attach::attach(&arguments),
        DevCommand::Fidelity(arguments) => fidelity::fidelity(&arguments),
        DevCommand::Whatif(arguments) => study::study(&arguments),
    }
}

/// Prints a result.
fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(standard_output)
}

/// Prints a note on standard error.
fn note(text: &str) {
    // If standard error is closed, notes are lost.
    let _ = writeln!(io::stderr(), "schedlab: {}", printable_lines(text));
}

fn standard_output(error: io::Error) -> Failure {
    Failure::Output("standard output".into(), error)
}
