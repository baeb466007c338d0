//! Why the program ends without a result.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use schedlab_input::{reason, Diagnostic};
use schedlab_policy::CompileError;
use schedlab_sim::SimError;

/// What ends the program early.
#[derive(Debug)]
pub enum Failure {
    /// A mistake in what the user wrote.
    Input(Box<Diagnostic>),
    /// A policy file that does not become a policy.
    Compile(CompileError),
    /// A simulation that could not go on.
    Simulation {
        /// The run it was.
        run: String,
        /// Why.
        error: SimError,
    },
    /// A file or a stream that cannot be written.
    Output(String, io::Error),
    /// Something that went wrong beneath, said in one line.
    Other(String),
    /// A signal asked for the end.
    Interrupted(i32),
}

impl Failure {
    /// A file that could not be written.
    pub fn writing(path: &Path) -> impl FnOnce(io::Error) -> Failure + '_ {
        |error| Failure::Output(path.display().to_string(), error)
    }

    /// A mistake in the value of a flag.
    pub fn flag(flag: &str, mistake: Diagnostic) -> Failure {
        Failure::from(Diagnostic {
            file: flag.into(),
            ..mistake
        })
    }

    /// Says what happened in one message and gives the exit status: 2, or 128 and the signal.
    pub fn report(&self) -> ExitCode {
        if let Failure::Output(_, error) = self {
            if error.kind() == io::ErrorKind::BrokenPipe {
                return ExitCode::SUCCESS; // The reader has seen enough, as in `| head`.
            }
        }
        // When even standard error is gone, the exit status has to do.
        let _ = writeln!(io::stderr(), "schedlab: {self}");
        match self {
            Failure::Interrupted(signal) => ExitCode::from(128 + *signal as u8),
            _ => ExitCode::from(2),
        }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Input(mistake) => mistake.fmt(f),
            Failure::Compile(error) => write!(f, "--policy: {}", error.to_string().trim_end()),
            Failure::Simulation { run, error } => write!(f, "{run}: {error}"),
            Failure::Output(path, error) => {
                // Neither numbers nor the names of files that are written aside help anybody.
                write!(f, "{path}: cannot be written ({})", reason(error))
            }
            Failure::Other(message) => f.write_str(message),
            Failure::Interrupted(_) => write!(f, "interrupted; nothing was written"),
        }
    }
}

impl From<Diagnostic> for Failure {
    fn from(mistake: Diagnostic) -> Failure {
        Failure::Input(Box::new(mistake))
    }
}
