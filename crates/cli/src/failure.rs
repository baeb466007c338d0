//! Why the program ends without a result, and the exit status it ends with.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use schedlab_input::{reason, Diagnostic};
use schedlab_lab::Reason;
use schedlab_policy::{CompileError, Hook};
use schedlab_sim::SimError;
use schedlab_trace::printable_lines;

use crate::interrupt::signal_seen;

/// The exit status of the program.  128 + N is the end by signal N; `vm` and `record` pass on the status of the
/// command they run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// Everything was done.
    Success = 0,
    /// A check, a claim or a run of a sweep failed.
    CheckFailed = 1,
    /// A mistake in the command line or in an input file.
    BadInput = 2,
    /// A policy broke its contract.
    PolicyFault = 3,
    /// A run reached one of its limits.
    LimitReached = 4,
    /// A file cannot be written, or the system refused something.
    System = 5,
    /// A workload deadlocked; its result was printed.
    Deadlock = 6,
    /// A condition of `report --fail-if` holds.
    ConditionHolds = 7,
}

impl Exit {
    /// Every status with what it means.
    pub const ALL: [(Exit, &'static str); 8] = [
        (Exit::Success, "everything was done"),
        (
            Exit::CheckFailed,
            "a comparison, a claim or a run of a sweep failed",
        ),
        (
            Exit::BadInput,
            "a mistake in the command line or in an input file",
        ),
        (
            Exit::PolicyFault,
            "a policy crashed, hung, lost a task or broke another rule",
        ),
        (
            Exit::LimitReached,
            "a run reached a limit, such as --max-events or --timeout",
        ),
        (
            Exit::System,
            "a file cannot be written, or the system refused something",
        ),
        (
            Exit::Deadlock,
            "the workload deadlocked (its result is printed)",
        ),
        (
            Exit::ConditionHolds,
            "a condition of report --fail-if holds (the report is printed)",
        ),
    ];

    /// The table of all statuses, for the help and the manual.
    pub fn table() -> String {
        let row = |(exit, meaning): &(Exit, &str)| format!("  {:<5} {meaning}\n", *exit as u8);
        let rows: String = Exit::ALL.iter().map(row).collect();
        format!(
            "Exit status:\n{rows}  {:<5} signal N ended the program\n\n\
             vm and record pass on the status of the command they ran.",
            "128+N"
        )
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

/// What ends the program early.
#[derive(Debug)]
pub enum Failure {
    /// A mistake in what the user wrote.
    Input(Box<Diagnostic>),
    /// A policy file that cannot be compiled.
    Compile(CompileError),
    /// A simulation that failed.
    Simulation {
        /// The run it was.
        run: String,
        /// Why.
        error: SimError,
    },
    /// Any other end, with the status that classifies it.
    Ended(Exit, String),
    /// A file or a stream that cannot be written.
    Output(String, io::Error),
    /// The system, or a program that was started, refused something.
    Other(String),
    /// A signal ended the work.
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

    /// A run that ended early.
    pub fn of_run(run: String, reason: Reason) -> Failure {
        match reason {
            Reason::Stopped => Failure::stopped(),
            Reason::Failed(error) => Failure::Simulation { run, error: *error },
            Reason::Timer(error) => Failure::Other(format!("timers: {error}")),
        }
    }

    /// A signal ended the work.
    fn stopped() -> Failure {
        Failure::Interrupted(signal_seen().unwrap_or_default())
    }

    /// Prints what happened as one message and returns the exit status.
    pub fn report(&self) -> ExitCode {
        if let Failure::Output(_, error) = self {
            if error.kind() == io::ErrorKind::BrokenPipe {
                return ExitCode::SUCCESS; // The reader has seen enough, as in `| head`.
            }
        }
        // If standard error is closed, only the exit status remains.
        let _ = writeln!(
            io::stderr(),
            "schedlab: {}",
            printable_lines(&self.to_string())
        );
        match self {
            Failure::Interrupted(signal) => ExitCode::from(128 + *signal as u8),
            Failure::Input(_) | Failure::Compile(_) => Exit::BadInput.into(),
            Failure::Simulation { error, .. } => exit_of(error).into(),
            Failure::Ended(exit, _) => (*exit).into(),
            Failure::Output(..) | Failure::Other(_) => Exit::System.into(),
        }
    }
}

/// The exit status of a failed simulation: a mistake of the policy or of the workload, or a limit.
fn exit_of(error: &SimError) -> Exit {
    match error {
        // A policy's init() refuses what the user set.
        SimError::Fault { fault, .. } if fault.hook == Hook::Init => Exit::BadInput,
        SimError::Fault { .. } | SimError::Violation(_) => Exit::PolicyFault,
        SimError::TooManyEvents { .. }
        | SimError::TooManyTasks { .. }
        | SimError::TooLong { .. } => Exit::LimitReached,
        SimError::Stalled { .. } | SimError::NoCpuFor { .. } | SimError::Program { .. } => {
            Exit::BadInput
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
                // Without the error's number and the name of the temporary file, which do not help.
                write!(f, "{path}: cannot be written ({})", reason(error))
            }
            Failure::Ended(_, message) | Failure::Other(message) => f.write_str(message),
            Failure::Interrupted(_) => write!(f, "interrupted"),
        }
    }
}

impl From<schedlab_lab::Error> for Failure {
    fn from(error: schedlab_lab::Error) -> Failure {
        match error {
            schedlab_lab::Error::Input(mistake) => Failure::Input(mistake),
            schedlab_lab::Error::Compile(error) => Failure::Compile(error),
            schedlab_lab::Error::Stopped => Failure::stopped(),
        }
    }
}

impl From<Diagnostic> for Failure {
    fn from(mistake: Diagnostic) -> Failure {
        Failure::Input(Box::new(mistake))
    }
}
