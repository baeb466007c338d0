//! One run in the simulator: its description, and running it.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use schedlab_machine::Machine;
use schedlab_policy::{HookTimer, Tuned};
use schedlab_sim::{Ending, Limits, Outcome, Setup, SimError, Simulation, Status};
use schedlab_trace::{HashSink, Ns, Sink, Tee, Time, TraceHash};
use schedlab_workload::Workload;

/// Real time between two calls of the caller's `watch`.
const STRETCH: Duration = Duration::from_millis(20);

/// The same in simulated time, at most.
const LONGEST_STRETCH: Ns = Ns::from_secs(1000);

/// The description of one run.
#[derive(Clone)]
pub struct Trial {
    /// The policy, its variant and its settings.
    pub tuned: Tuned,
    /// The hardware.
    pub machine: Arc<Machine>,
    /// What runs.
    pub workload: Arc<Workload>,
    /// The seed of all random numbers.
    pub seed: u64,
    /// End of the run; none: what the workload says.
    pub duration: Option<Ns>,
    /// Bounds that end the run with an error.
    pub limits: Limits,
    /// Real CPU time that one call of a hook may take.
    pub hook_timeout: Ns,
}

/// The progress of a run.
#[derive(Clone, Copy, Debug)]
pub struct Beat {
    /// Simulated time.
    pub now: Time,
    /// When the run ends unless its tasks end before; none if neither user nor workload set a time.
    pub end: Option<Time>,
    /// Simulated events.
    pub events: u64,
}

/// A finished run.
#[derive(Clone, Debug)]
pub struct Ran<S> {
    /// When it ended.
    pub end: Time,
    /// Why it ended.
    pub ending: Ending,
    /// The name of its trace: equal hashes, equal traces.
    pub trace_hash: TraceHash,
    /// Was a random number drawn?  If not, every seed gives this run.
    pub seed_used: bool,
    /// The sink.
    pub sink: S,
}

/// A run that ended early.
#[derive(Debug)]
pub struct Unfinished<S> {
    /// Why.
    pub reason: Reason,
    /// The sink; it has no events if the run did not begin.
    pub sink: S,
}

/// Why a run ended early.
#[derive(Debug, thiserror::Error)]
pub enum Reason {
    /// The caller asked to stop.
    #[error("stopped")]
    Stopped,
    /// A fault of the policy, or a limit.
    #[error(transparent)]
    Failed(Box<SimError>),
    /// The system provides no timer to watch hooks.
    #[error("timers: {0}")]
    Timer(#[source] io::Error),
}

impl From<SimError> for Reason {
    fn from(error: SimError) -> Reason {
        Reason::Failed(Box::new(error))
    }
}

impl Trial {
    /// A trial with the default limits and the workload's own end.
    pub fn new(tuned: Tuned, machine: Arc<Machine>, workload: Arc<Workload>, seed: u64) -> Trial {
        Trial {
            tuned,
            machine,
            workload,
            seed,
            duration: None,
            limits: Limits::default(),
            hook_timeout: Ns::from_secs(20),
        }
    }

    /// The name of the run in messages: policy with its settings, and seed.
    pub fn name(&self) -> String {
        format!("{} seed {}", self.tuned.full_name(), self.seed)
    }

    /// Simulates it.  `watch` is called about fifty times a second of real time and can stop the run.
    ///
    /// # Errors
    /// A fault of the policy, a limit, or `watch`; the sink has all events up to then.
    pub fn run<S: Sink>(
        &self,
        sink: S,
        mut watch: impl FnMut(&Beat) -> bool,
    ) -> Result<Ran<S>, Unfinished<S>> {
        let mut listeners = Tee(HashSink::default(), sink);
        let simulated = self.simulate(&mut listeners, &mut watch);
        let Tee(hash, sink) = listeners;
        match simulated {
            Ok((outcome, ending)) => Ok(Ran {
                end: outcome.end,
                ending,
                trace_hash: hash.finish(),
                seed_used: outcome.seed_used,
                sink,
            }),
            Err(reason) => Err(Unfinished { reason, sink }),
        }
    }

    fn simulate(
        &self,
        sink: &mut dyn Sink,
        watch: &mut dyn FnMut(&Beat) -> bool,
    ) -> Result<(Outcome, Ending), Reason> {
        let _timer =
            HookTimer::start(Duration::from_nanos(self.hook_timeout.0)).map_err(Reason::Timer)?;
        let setup = Setup {
            seed: self.seed,
            duration: self.duration,
            limits: self.limits,
            ..Setup::new(&self.machine, &self.workload, &self.tuned)
        };
        let mut simulation = Simulation::new(&setup, sink)?;
        let mut pace = Pace::new();
        let reason = loop {
            match simulation.run_until(pace.next()) {
                Ok(Status::Ended(reason)) => break reason,
                Ok(Status::Running) if !watch(&self.beat(&simulation)) => {}
                Ok(Status::Running) => {
                    simulation.abandon();
                    return Err(Reason::Stopped);
                }
                Err(error) => {
                    simulation.abandon();
                    return Err(error.into());
                }
            }
        };
        let ending = Ending::of(reason, &simulation);
        let outcome = simulation.finish()?;
        Ok((outcome, ending))
    }

    fn beat(&self, simulation: &Simulation) -> Beat {
        let set = self.duration.or(self.workload.duration);
        Beat {
            now: simulation.now(),
            end: set.map(|_| simulation.end_at()),
            events: simulation.events(),
        }
    }

    /// Do the trials differ only in their seeds?
    pub(crate) fn differs_in_seed_only(&self, other: &Trial) -> bool {
        Arc::ptr_eq(&self.machine, &other.machine)
            && Arc::ptr_eq(&self.workload, &other.workload)
            && self.tuned.same_as(&other.tuned)
            && self.duration == other.duration
            && self.limits == other.limits
    }
}

/// Cuts a simulation into stretches of about equal real time.  The cuts change nothing in the simulation.
struct Pace {
    /// End of the last stretch.
    limit: Time,
    stretch: Ns,
    begun: Instant,
}

impl Pace {
    fn new() -> Pace {
        Pace {
            limit: Time::ZERO,
            stretch: Ns::from_us(100),
            begun: Instant::now(),
        }
    }

    /// The end of the next stretch: always later than the last one, even if nothing happened in it.
    fn next(&mut self) -> Time {
        let took = self.begun.elapsed().max(Duration::from_micros(1));
        let factor = (STRETCH.as_secs_f64() / took.as_secs_f64()).min(2.0);
        let stretch = self.stretch.0 as f64 * factor;
        self.stretch = Ns((stretch as u64).clamp(1, LONGEST_STRETCH.0));
        self.begun = Instant::now();
        self.limit += self.stretch;
        self.limit
    }
}
