//! Errors of clap, as one [`Diagnostic`].

use clap::error::{ContextKind, ErrorKind};
use schedlab_input::flags::{allowed, first_line, suggestion, text};
use schedlab_input::Diagnostic;

/// A diagnostic about the option users give workloads with.
pub(crate) fn on_the_command_line() -> Diagnostic {
    Diagnostic {
        file: "--workload".to_string(),
        ..Diagnostic::default()
    }
}

/// A diagnostic about one option of a benchmark.
pub(crate) fn bad_option(
    benchmark: &str,
    option: &str,
    problem: impl Into<String>,
    expected: impl Into<String>,
) -> Diagnostic {
    Diagnostic {
        key: format!("{benchmark} {option}"),
        problem: problem.into(),
        expected: expected.into(),
        ..on_the_command_line()
    }
}

/// The diagnostic for an error of clap's.
pub(crate) fn diagnostic(benchmark: &str, error: &clap::Error) -> Diagnostic {
    let option = text(error, ContextKind::InvalidArg);
    let value = text(error, ContextKind::InvalidValue);
    let (problem, expected) = match error.kind() {
        ErrorKind::UnknownArgument if !option.starts_with('-') => (
            format!("\"{option}\" does not belong here"),
            "options only".to_string(),
        ),
        ErrorKind::UnknownArgument => (
            format!("there is no option \"{option}\""),
            format!("an option of \"{benchmark} --help\""),
        ),
        ErrorKind::InvalidValue if value.is_empty() => {
            (format!("{option} has no value"), String::new())
        }
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            (format!("\"{value}\" is not valid"), allowed(error))
        }
        ErrorKind::ArgumentConflict if text(error, ContextKind::PriorArg) == option => {
            ("given twice".to_string(), String::new())
        }
        ErrorKind::ArgumentConflict => (
            format!(
                "{option} and {} exclude each other",
                text(error, ContextKind::PriorArg)
            ),
            "one of them".to_string(),
        ),
        ErrorKind::DisplayHelp => ("this asks for help".to_string(), String::new()),
        _ => (first_line(error), String::new()),
    };
    let is_known = error.kind() != ErrorKind::UnknownArgument && !option.is_empty();
    Diagnostic {
        key: match is_known {
            true => format!("{benchmark} {}", option_name(&option)),
            false => benchmark.to_string(),
        },
        problem,
        expected,
        nearest: suggestion(error),
        ..on_the_command_line()
    }
}

/// "--rooms <N>" without its value.
fn option_name(option: &str) -> &str {
    option.split([' ', '=']).next().unwrap_or(option)
}
