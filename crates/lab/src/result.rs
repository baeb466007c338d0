//! Reports of runs, from the simulator and from recordings.

use std::collections::BTreeMap;

use schedlab_measure::{Measure, Metrics};
use schedlab_recording::{Mended, Recording};
use schedlab_report::{Identity, Run, World};
use schedlab_trace::{HashSink, Sink, Tee, TraceHash, TraceInfo};

use crate::{Ending, Trial};

impl Trial {
    /// The report of this trial's run.
    pub fn report(
        &self,
        ending: &Ending,
        trace_hash: TraceHash,
        metrics: Metrics,
        command: &str,
    ) -> Run {
        let changed = self.tuned.changed().iter();
        let warnings = ending.warnings(&self.workload, &self.tuned);
        Run {
            world: World::Simulator,
            policy: self.tuned.policy.name().to_string(),
            variant: self.tuned.variant.to_string(),
            tunables: changed
                .map(|set| (set.target(), set.values_text()))
                .collect(),
            workload: self.workload.name.clone(),
            machine: self.machine.name.clone(),
            seed: self.seed,
            duration_ns: metrics.duration_ns,
            trace_hash,
            identity: self.identity(),
            command: command.to_string(),
            metrics,
            end: ending.clause().to_string(),
            warnings,
        }
    }
}

/// A recording as a run, measured as a simulation is.
pub struct Recorded<S> {
    /// The run, without a command; it has no seed.
    pub run: Run,
    /// What the recording lacked.
    pub mended: Mended,
    /// The sink beside the measures.
    pub sink: S,
}

impl<S: Sink> Recorded<S> {
    /// Plays a recording; `info` names policy, workload and machine.
    pub fn new(recording: &Recording, info: &TraceInfo, sink: S) -> Recorded<S> {
        let mut sinks = Tee(HashSink::default(), Tee(Measure::new(), sink));
        let mended = recording.play(info, &mut sinks);
        let Tee(hash, Tee(measure, sink)) = sinks;
        let metrics = measure.finish();
        let run = Run {
            world: match recording.is_simulated {
                true => World::SimulatedTrace,
                false => World::Kernel,
            },
            policy: info.policy.clone(),
            variant: String::new(),
            tunables: BTreeMap::new(),
            workload: info.workload.clone(),
            machine: info.machine.clone(),
            seed: 0,
            duration_ns: metrics.duration_ns,
            trace_hash: hash.finish(),
            identity: Identity::default(),
            command: String::new(),
            metrics,
            end: "recorded".to_string(),
            warnings: mending_warnings(recording, &mended),
        };
        Recorded { run, mended, sink }
    }
}

/// Warnings about a recording: lost and missing events.
pub fn mending_warnings(recording: &Recording, mended: &Mended) -> Vec<String> {
    let mut warnings = Vec::new();
    if mended.lost > 0 {
        let all = mended.lost + recording.events().len() as u64;
        warnings.push(format!(
            "{} of {all} events were lost: give the machine more memory",
            mended.lost
        ));
    }
    if mended.switches + mended.wakeups > 0 {
        warnings.push(format!(
            "{} switches and {} wakeups are missing from the recording and were added",
            mended.switches, mended.wakeups
        ));
    }
    warnings
}
