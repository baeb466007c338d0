//! Converts clap's errors into diagnostics.

use clap::error::{ContextKind, ErrorKind};
use clap::CommandFactory;
use schedlab_input::flags::{allowed, first_line, suggestion, text};
use schedlab_input::Diagnostic;

use crate::arguments::Arguments;

/// The names of the visible commands.
fn commands() -> Vec<String> {
    let all = Arguments::command();
    let shown = all
        .get_subcommands()
        .filter(|command| !command.is_hide_set());
    shown
        .map(|command| command.get_name().to_string())
        .collect()
}

/// One message for an error of clap's.
pub fn diagnostic(error: &clap::Error) -> Diagnostic {
    let argument = text(error, ContextKind::InvalidArg);
    let value = text(error, ContextKind::InvalidValue);
    let mistake = match error.kind() {
        ErrorKind::UnknownArgument => {
            Diagnostic::new("there is no such flag").expected(ways_out(error))
        }
        ErrorKind::InvalidSubcommand => Diagnostic::new("there is no such command")
            .at(text(error, ContextKind::InvalidSubcommand), 0)
            .expected("list, run, compare, replay, vm or another of schedlab --help")
            .suggest(
                &text(error, ContextKind::InvalidSubcommand),
                commands().iter().map(String::as_str),
            ),
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            Diagnostic::new("nothing to do")
                .expected("list, run, compare or new; see schedlab --help")
        }
        ErrorKind::MissingRequiredArgument => Diagnostic::new("missing").expected(ways_out(error)),
        ErrorKind::InvalidValue if value.is_empty() => {
            Diagnostic::new("its value is missing").expected(allowed(error))
        }
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            Diagnostic::new(format!("\"{value}\" is not valid")).expected(allowed(error))
        }
        ErrorKind::ArgumentConflict => Diagnostic::new(conflict(error, &argument)),
        _ => Diagnostic::new(first_line(error)),
    };
    Diagnostic {
        file: match (mistake.file.is_empty(), flag(&argument)) {
            (false, _) => mistake.file,
            (true, "") => "command line".into(),
            (true, flag) => flag.into(),
        },
        nearest: suggestion(error).or(mistake.nearest),
        ..mistake
    }
}

/// "--seed <N>" without its value, "<NAME>" without its brackets.
fn flag(argument: &str) -> &str {
    match argument.split_once([' ', '=']) {
        Some((flag, _)) if flag.starts_with('-') => flag,
        _ => argument.trim_matches(['<', '>', '[', ']']),
    }
}

fn conflict(error: &clap::Error, argument: &str) -> String {
    let prior = text(error, ContextKind::PriorArg);
    if flag(&prior) == flag(argument) {
        return "given twice".into();
    }
    format!("cannot be used with {}", flag(&prior))
}

/// The usage line, for an unknown or missing flag.
fn ways_out(error: &clap::Error) -> String {
    let usage = text(error, ContextKind::Usage);
    let line = usage.lines().next().unwrap_or_default();
    line.trim_start_matches("Usage: ").trim().to_string()
}
