//! Why a run ended, for its user.

use schedlab_policy::Tuned;
use schedlab_workload::{Op, Workload};

use crate::{EndReason, Simulation};

/// Tasks named when a workload cannot go on.
const NAMED_SLEEPERS: usize = 8;

/// Why a run ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ending {
    /// All foreground tasks have ended.
    Finished,
    /// Its time was over.
    TimeUp,
    /// Every remaining task waits for something that cannot happen: a sentence that names the tasks.
    Deadlock(String),
}

impl Ending {
    /// The ending of a simulation that is still there to be asked.
    pub fn of(reason: EndReason, simulation: &Simulation<'_>) -> Ending {
        match reason {
            EndReason::Finished => Ending::Finished,
            EndReason::TimeUp => Ending::TimeUp,
            EndReason::Deadlock => {
                let mut names = simulation.sleepers(NAMED_SLEEPERS + 1);
                let more = match names.len() > NAMED_SLEEPERS {
                    true => " and others",
                    false => "",
                };
                names.truncate(NAMED_SLEEPERS);
                Ending::Deadlock(format!(
                    "deadlock at {}: nothing can wake {}{more}",
                    simulation.now(),
                    names.join(", ")
                ))
            }
        }
    }

    /// As a clause.
    pub fn clause(&self) -> &'static str {
        match self {
            Ending::Finished => "all tasks ended",
            Ending::TimeUp => "time limit",
            Ending::Deadlock(_) => "deadlock",
        }
    }

    /// What the user should know before trusting the run: what the reader of the workload noticed, what has no effect,
    /// and how it ended.
    pub fn warnings(&self, workload: &Workload, tuned: &Tuned) -> Vec<String> {
        let mut warnings = workload.warnings.clone();
        warnings.extend(slices_without_effect(workload, tuned));
        warnings.extend(self.warning().map(str::to_string));
        warnings
    }

    /// The warning about the ending, if any.
    pub fn warning(&self) -> Option<&str> {
        match self {
            Ending::Deadlock(warning) => Some(warning),
            Ending::Finished | Ending::TimeUp => None,
        }
    }
}

/// A warning if tasks ask for slices that the policy does not give.
fn slices_without_effect(workload: &Workload, tuned: &Tuned) -> Option<String> {
    let asks = |op: &Op| matches!(op, Op::SetSlice(Some(_)));
    let asked = workload.tasks.iter().any(|t| t.slice.is_some())
        || workload.programs.iter().any(|p| p.ops.iter().any(asks));
    let given = tuned.policy.has_custom_slices() && tuned.get("custom_slices") != Some(0);
    (asked && !given).then(|| {
        format!(
            "{} gives no slices that tasks ask for: they had no effect",
            tuned.policy.name()
        )
    })
}
