//! Why an experiment has no result.

use schedlab_input::Diagnostic;
use schedlab_sim::SimError;

/// Why an experiment has no result.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The user stopped it.
    #[error("stopped")]
    Stopped,
    /// A policy, machine or workload has a mistake.
    #[error("{0}")]
    Input(#[from] Diagnostic),
    /// A run that cannot go on.
    #[error("{run}: {error}")]
    Simulation {
        /// The run, as a command.
        run: String,
        /// Why.
        error: Box<SimError>,
    },
    /// A run outside the simulator that cannot be done.
    #[error("{run}: {problem}")]
    Elsewhere {
        /// The run, as a command.
        run: String,
        /// Why.
        problem: String,
    },
    /// The experiment itself is wrong.
    #[error("experiment {id}: {problem}")]
    Experiment {
        /// The experiment.
        id: String,
        /// What is wrong.
        problem: String,
    },
}

impl Error {
    /// The experiment `id` itself is wrong.
    pub fn experiment(id: &str, problem: impl Into<String>) -> Error {
        Error::Experiment {
            id: id.to_string(),
            problem: problem.into(),
        }
    }
}
