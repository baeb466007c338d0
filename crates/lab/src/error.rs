//! Errors of finding what a user names.

use schedlab_input::Diagnostic;
use schedlab_policy::CompileError;

/// Why a policy or workload that the user names cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A mistake in what the user wrote.
    #[error(transparent)]
    Input(Box<Diagnostic>),
    /// A C file that cannot be compiled to a policy.
    #[error("--policy: {}", .0.to_string().trim_end())]
    Compile(CompileError),
    /// The caller asked to stop.
    #[error("stopped")]
    Stopped,
}

impl Error {
    /// A mistake in the value of a flag.
    pub(crate) fn flag(flag: &str, mistake: Diagnostic) -> Error {
        Error::from(Diagnostic {
            file: flag.into(),
            ..mistake
        })
    }
}

impl From<Diagnostic> for Error {
    fn from(mistake: Diagnostic) -> Error {
        Error::Input(Box::new(mistake))
    }
}
