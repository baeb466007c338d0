//! What a simulation is made of.

use schedlab_machine::Machine;
use schedlab_policy::Tuned;
use schedlab_trace::{Ns, Sink, Time};
use schedlab_workload::Workload;

use crate::{Outcome, SimError, Simulation};

/// Everything that determines a run.  Equal setups give equal traces.
#[derive(Clone)]
pub struct Setup<'a> {
    /// The hardware.
    pub machine: &'a Machine,
    /// What runs on it.
    pub workload: &'a Workload,
    /// The scheduler, its variant and its tunables.
    pub tuned: &'a Tuned,
    /// Seed of every random draw.
    pub seed: u64,
    /// End of the run; none: what the workload says, or until its foreground tasks have ended.
    pub duration: Option<Ns>,
    /// Bounds that turn a run without end into an error.
    pub limits: Limits,
    /// Order of events at the same time.
    pub tie_break: TieBreak,
}

impl<'a> Setup<'a> {
    /// A run with seed 1, the workload's own end, the default limits and the documented order of events.
    pub fn new(machine: &'a Machine, workload: &'a Workload, tuned: &'a Tuned) -> Setup<'a> {
        Setup {
            machine,
            workload,
            tuned,
            seed: 1,
            duration: None,
            limits: Limits::default(),
            tie_break: TieBreak::Canonical,
        }
    }

    /// Runs to the end before a sink, and gives it back.
    ///
    /// # Errors
    /// Those of [`Simulation::new`] and [`Simulation::run_until`].
    pub fn run<S: Sink>(&self, mut sink: S) -> Result<(Outcome, S), SimError> {
        let mut simulation = Simulation::new(self, &mut sink)?;
        simulation.run_until(Time::MAX)?;
        let outcome = simulation.finish()?;
        Ok((outcome, sink))
    }
}

/// Bounds of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Events; and a thousand times as many kernel steps (operations of programs, mostly).
    pub events: u64,
    /// Tasks that ever exist.
    pub tasks: u32,
    /// Simulated time.
    pub time: Ns,
}

impl Default for Limits {
    /// 10^11 events, 4 million tasks, 30 days.
    fn default() -> Limits {
        Limits {
            events: 100_000_000_000,
            tasks: 4_000_000,
            time: Ns::from_secs(30 * 86_400),
        }
    }
}

/// Order of events at the same time; see the event queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TieBreak {
    /// The documented one.
    #[default]
    Canonical,
    /// A permutation drawn from this seed: results may differ, no check may fail.
    Shuffled(u64),
}
