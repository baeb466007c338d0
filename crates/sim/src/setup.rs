//! The inputs of a simulation.

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
    /// The workload.
    pub workload: &'a Workload,
    /// The scheduler, its variant and its tunables.
    pub tuned: &'a Tuned,
    /// Seed of every random draw.
    pub seed: u64,
    /// Duration of the run; `None`: the workload's, or until all foreground tasks have ended.
    pub duration: Option<Ns>,
    /// Limits that turn an endless run into an error.
    pub limits: Limits,
    /// Order of events at the same time.
    pub tie_break: TieBreak,
    /// Call the policy's hook check() after every event.
    pub checks_policy: bool,
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
            checks_policy: false,
        }
    }

    /// Runs to the end with a sink, and returns the sink.
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

/// Limits of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Most events; kernel steps (mostly operations of programs) are limited to a thousand times
    /// this.
    pub events: u64,
    /// Most tasks, including those that have ended.
    pub tasks: u32,
    /// Longest simulated time.
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
    /// A permutation drawn from this seed: results may differ, but no check may fail.
    Shuffled(u64),
}
