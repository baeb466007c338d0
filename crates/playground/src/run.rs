//! One run: simulated, measured and kept.

use schedlab_measure::Measure;
use schedlab_policy::Tuned;
use schedlab_report::{Identity, Run, World};
use schedlab_sim::{Ending, Setup, SimError, Simulation, Status};
use schedlab_trace::{HashSink, Ns, Tee, Time};

use crate::chosen::Chosen;
use crate::record::Record;
use crate::request::SetUp;

/// How far a run is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Simulated time.
    pub now: Time,
    /// When it ends at the latest.
    pub end: Time,
    /// Simulated events.
    pub events: u64,
}

/// Simulated time between two reports of progress.
const STRETCH: Ns = Ns::from_ms(20);

/// A run that has ended.
pub(crate) struct Ran {
    pub run: Run,
    pub record: Record,
    pub events: u64,
    pub seed_used: bool,
}

/// A run that a fault of the policy or a limit has ended, and what is known up to then.
pub(crate) struct Failed {
    pub error: SimError,
}

/// Simulates a set-up under one of its policies.
pub(crate) fn run(
    set_up: &SetUp,
    chosen: &Chosen,
    tuned: &Tuned,
    progress: &mut dyn FnMut(Progress),
) -> Result<Ran, Failed> {
    let setup = Setup {
        seed: set_up.seed,
        duration: chosen.duration,
        ..Setup::new(&chosen.machine, &chosen.workload, tuned)
    };
    let mut sinks = Tee(HashSink::default(), Tee(Measure::new(), Record::default()));
    let (ending, outcome) =
        simulate(&setup, &mut sinks, progress).map_err(|error| Failed { error })?;
    let Tee(hash, Tee(measure, record)) = sinks;
    let metrics = measure.finish();
    let changed = tuned.changed().iter();
    let run = Run {
        world: World::Simulator,
        policy: tuned.policy.name().to_string(),
        variant: tuned.variant.to_string(),
        tunables: changed
            .map(|set| (set.target(), set.values_text()))
            .collect(),
        workload: chosen.workload.name.clone(),
        machine: chosen.machine.name.clone(),
        seed: set_up.seed,
        duration_ns: metrics.duration_ns,
        trace_hash: hash.finish(),
        identity: Identity::default(),
        command: command(set_up, tuned),
        metrics,
        end: ending.clause().to_string(),
        warnings: ending.warnings(&chosen.workload, tuned),
    };
    Ok(Ran {
        run,
        record,
        events: outcome.events,
        seed_used: outcome.seed_used,
    })
}

fn simulate(
    setup: &Setup,
    sink: &mut dyn schedlab_trace::Sink,
    progress: &mut dyn FnMut(Progress),
) -> Result<(Ending, schedlab_sim::Outcome), SimError> {
    let mut simulation = Simulation::new(setup, sink)?;
    let mut limit = Time::ZERO;
    let reason = loop {
        limit += STRETCH;
        match simulation.run_until(limit) {
            Ok(Status::Ended(reason)) => break reason,
            Ok(Status::Running) => progress(Progress {
                now: simulation.now(),
                end: simulation.end_at(),
                events: simulation.events(),
            }),
            Err(error) => {
                simulation.abandon();
                return Err(error);
            }
        }
    };
    let ending = Ending::of(reason, &simulation);
    Ok((ending, simulation.finish()?))
}

/// The command that gives the same trace; the page offers edited texts as files.
fn command(set_up: &SetUp, tuned: &Tuned) -> String {
    let seed = set_up.seed.to_string();
    let policy = tuned.full_name();
    let workload = set_up.workload.on_command_line();
    let machine = match set_up.machine.text.is_empty() {
        true => set_up.machine.name.trim().to_string(),
        false => set_up.machine.file(),
    };
    let mut words = vec!["schedlab", "run", "--policy", &policy];
    words.extend(["--workload", &workload, "--machine", &machine]);
    words.extend(["--seed", &seed]);
    if !set_up.duration.trim().is_empty() {
        words.extend(["--duration", set_up.duration.trim()]);
    }
    shlex::try_join(words).unwrap_or_default()
}
