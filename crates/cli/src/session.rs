//! A command's runs: what they are made of, and running them.

use std::num::NonZero;
use std::time::{Duration, Instant};

use schedlab_machine::Machine;
use schedlab_measure::{Measure, Metrics};
use schedlab_policy::{HookTimer, Tuned};
use schedlab_replay::{Identified, Identities};
use schedlab_sim::{EndReason, Limits, Setup, SimError, Simulation, Status, TieBreak};
use schedlab_trace::{HashSink, Ns, Sink, TaskId, Tee, Time, TraceHash};
use schedlab_workload::Workload;

use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::outputs::{Finished, TraceFile, Traces};
use crate::progress::{Line, Progress};
use schedlab_parallel::{in_parallel, Cancel};

/// How long a simulation goes on between two looks at the world: signals, progress.
const STRETCH: Duration = Duration::from_millis(20);

/// The same, at most, in simulated time.
const LONGEST_STRETCH: Ns = Ns::from_secs(1000);

/// Tasks named when a workload cannot go on.
const NAMED_SLEEPERS: usize = 8;

/// The runs of a command: each policy with each seed.
pub struct Session {
    pub policies: Vec<Tuned>,
    pub workload: Workload,
    pub machine: Machine,
    pub seeds: Vec<u64>,
    /// End of each run; none: what the workload says.
    pub duration: Option<Ns>,
    pub limits: Limits,
    /// Real CPU time one hook call may take.
    pub hook_timeout: Ns,
    /// Threads; none: one for each CPU.
    pub jobs: Option<u16>,
    pub traces: Option<Traces>,
    /// Who the workload's tasks are in truth; empty unless it is a replay.
    pub identities: Identities,
}

/// What became of one run.
pub struct RunResult {
    /// Index into [`Session::policies`].
    pub policy: usize,
    pub seed: u64,
    pub duration: Ns,
    /// Why it ended, as a clause.
    pub end: String,
    pub trace_hash: TraceHash,
    pub metrics: Metrics,
    pub warning: Option<String>,
    pub deadlocked: bool,
    pub trace: Option<Finished>,
    /// By task id: who it was in the recording, if this is a replay.
    pub recorded: Vec<Option<TaskId>>,
}

/// Everything that listens to a run.
type Listeners = Tee<HashSink, Identified<Tee<Measure, Option<TraceFile>>>>;

impl Session {
    /// Does all runs, in parallel, and returns them by policy and seed.
    ///
    /// # Errors
    /// The first run, in this order, that cannot go on; or a signal.
    pub fn run(&self, interrupt: &Interrupt) -> Result<Vec<RunResult>, Failure> {
        let nr_runs = self.nr_runs();
        let progress = Progress::new(nr_runs);
        let mut line = Line::new();
        let one = |run: usize, cancel: &Cancel| {
            self.one(run, &progress, &|| {
                interrupt.signal().is_some() || cancel.cancelled()
            })
        };
        let results = in_parallel(nr_runs, self.threads(), one, || line.show(&progress));
        match interrupt.signal() {
            Some(signal) => Err(Failure::Interrupted(signal)),
            None => results,
        }
    }

    /// How many runs there are.
    pub fn nr_runs(&self) -> usize {
        self.policies.len() * self.seeds.len()
    }

    fn threads(&self) -> usize {
        let cpus = || std::thread::available_parallelism().map_or(1, NonZero::get);
        self.jobs.map_or_else(cpus, usize::from)
    }

    /// Does one run, from its first event to its last.
    fn one(
        &self,
        run: usize,
        progress: &Progress,
        stop: &dyn Fn() -> bool,
    ) -> Result<RunResult, Failure> {
        let (policy, seed) = (run / self.seeds.len(), self.seeds[run % self.seeds.len()]);
        let _timer = HookTimer::start(Duration::from_nanos(self.hook_timeout.0))
            .map_err(|e| Failure::Other(format!("timers: {e}")))?;
        let setup = self.setup(&self.policies[policy], seed);
        let shown = Tee(Measure::new(), self.trace(run)?);
        let shown = Identified::new(self.identities.clone(), shown);
        let sink = Tee(HashSink::default(), shown);
        let failed = |error: SimError| Failure::Simulation {
            run: format!("{} seed {seed}", setup.tuned.name()),
            error,
        };
        let mut simulation = Simulation::new(&setup, sink).map_err(failed)?;
        let mut pace = Pace::new();
        let reason = loop {
            let status = simulation.run_until(pace.next()).map_err(failed)?;
            let end = self.end_of(&simulation);
            progress.set(run, simulation.now(), end, simulation.events());
            match status {
                Status::Ended(reason) => break reason,
                Status::Running if stop() => return Err(Failure::Interrupted(0)),
                Status::Running => {}
            }
        };
        progress.done(run);
        let end = End::of(reason, &simulation);
        let (outcome, sink) = simulation.finish().map_err(failed)?;
        close(policy, seed, outcome.end, end, sink)
    }

    fn setup<'a>(&'a self, tuned: &'a Tuned, seed: u64) -> Setup<'a> {
        Setup {
            machine: &self.machine,
            workload: &self.workload,
            tuned,
            seed,
            duration: self.duration,
            limits: self.limits,
            tie_break: TieBreak::Canonical,
        }
    }

    /// The trace file of a run, if there shall be one.
    fn trace(&self, run: usize) -> Result<Option<TraceFile>, Failure> {
        let create = |traces: &Traces| traces.create(traces.path_of(self.label(run).as_deref()));
        self.traces.as_ref().map(create).transpose()
    }

    /// What tells a run from the others of this command; none if it is the only one.
    fn label(&self, run: usize) -> Option<String> {
        let name = self.policies[run / self.seeds.len()]
            .name()
            .replace(':', "-");
        let seed = self.seeds[run % self.seeds.len()];
        match (self.policies.len(), self.seeds.len()) {
            (1, 1) if !self.traces.as_ref().is_some_and(Traces::names_every_run) => None,
            (_, 1) => Some(name),
            _ => Some(format!("{name}-seed{seed}")),
        }
    }

    /// When a run ends, unless its tasks end before; none if nobody set a time.
    fn end_of<S: Sink>(&self, simulation: &Simulation<S>) -> Option<Time> {
        let set = self.duration.or(self.workload.duration);
        set.map(|_| simulation.end_at())
    }
}

/// Why a run ended, for people.
struct End {
    clause: String,
    warning: Option<String>,
    deadlocked: bool,
}

impl End {
    fn of<S: Sink>(reason: EndReason, simulation: &Simulation<S>) -> End {
        let clause = |clause: &str| End {
            clause: clause.into(),
            warning: None,
            deadlocked: false,
        };
        match reason {
            EndReason::Finished => clause("all tasks ended"),
            EndReason::TimeUp => clause("time limit"),
            EndReason::Deadlock => {
                let mut names = simulation.sleepers(NAMED_SLEEPERS + 1);
                let more = if names.len() > NAMED_SLEEPERS {
                    " and others"
                } else {
                    ""
                };
                names.truncate(NAMED_SLEEPERS);
                let warning = format!(
                    "deadlock at {}: nothing can wake {}{more}",
                    simulation.now(),
                    names.join(", ")
                );
                End {
                    clause: "deadlock".into(),
                    warning: Some(warning),
                    deadlocked: true,
                }
            }
        }
    }
}

fn close(
    policy: usize,
    seed: u64,
    end_time: Time,
    end: End,
    sink: Listeners,
) -> Result<RunResult, Failure> {
    let Tee(hash, shown) = sink;
    let (recorded, Tee(measure, trace)) = shown.into_parts();
    Ok(RunResult {
        policy,
        seed,
        duration: end_time.since(Time::ZERO),
        end: end.clause,
        trace_hash: hash.finish(),
        metrics: measure.finish(),
        warning: end.warning,
        deadlocked: end.deadlocked,
        trace: trace.map(TraceFile::finish).transpose()?,
        recorded,
    })
}

/// Cuts a simulation into stretches of about equal real time.  Where the cuts are changes nothing in it.
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

    /// Where the next stretch ends: always later than the last one, even if nothing happened in it.
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
