//! The hashes of policy, workload and machine in results.

use std::io::Write;

use schedlab_machine::Machine;
use schedlab_policy::{Policy, Tuned};
use schedlab_report::Identity;
use schedlab_trace::{TextHash, TraceHash};
use schedlab_workload::Workload;

use crate::Trial;

impl Trial {
    /// The hashes of policy, workload and machine.
    pub fn identity(&self) -> Identity {
        Identity {
            policy: Some(policy(&self.tuned)),
            workload: Some(workload(&self.workload)),
            machine: Some(machine(&self.machine)),
        }
    }
}

/// The hash of a policy: its source with all it includes, its variant and the tunables that were set.
pub fn policy(tuned: &Tuned) -> TraceHash {
    let settings = tuned.changed().iter();
    let settings = settings.map(|set| format!("{}={}", set.target(), set.values_text()));
    let name = [tuned.name()].into_iter();
    hash_of(
        sources(tuned)
            .chain(name)
            .chain(loaded(tuned))
            .chain(settings),
    )
}

/// The hash of a policy's source with all it includes, or of a sched_ext scheduler's programs and maps; names, variants
/// and tunables do not count.
pub fn source(tuned: &Tuned) -> TraceHash {
    hash_of(sources(tuned).chain(loaded(tuned)))
}

fn hash_of(texts: impl Iterator<Item = String>) -> TraceHash {
    let texts: Vec<String> = texts.collect();
    TraceHash::of_all(texts.iter().map(String::as_str))
}

fn sources(tuned: &Tuned) -> impl Iterator<Item = String> {
    let sources = tuned.policy.sources().into_iter();
    sources.flat_map(|(file, text)| [file, text])
}

/// Of a sched_ext scheduler this has the hash of its programs and maps.
fn loaded(tuned: &Tuned) -> impl Iterator<Item = String> {
    let loaded = Some(tuned.policy).filter(Policy::is_in_rust);
    loaded
        .map(|policy| policy.summary().to_string())
        .into_iter()
}

/// The hash of a workload as read: its names and its file do not count.
pub fn workload(workload: &Workload) -> TraceHash {
    let Workload {
        name: _,
        source: _,
        tasks,
        programs,
        distributions,
        nr_mutexes,
        nr_conditions,
        semaphores,
        barriers,
        channels,
        nr_disks,
        nr_shared_timers,
        control_groups,
        cpu_sets,
        marks,
        open_to_signals,
        duration,
        assumed_duration: _,
        warnings: _,
    } = workload;
    let objects = (
        nr_mutexes,
        nr_conditions,
        semaphores,
        barriers,
        channels,
        nr_disks,
        nr_shared_timers,
        cpu_sets,
    );
    let work = (tasks, programs, distributions, marks);
    let mut hash = TextHash::default();
    serde_json::to_writer(&mut hash, &(work, objects, open_to_signals, duration))
        .expect("a workload is numbers and text");
    // Workloads without control groups are called what they were before there were any.
    if !control_groups.is_empty() {
        serde_json::to_writer(&mut hash, control_groups).expect("likewise");
    }
    hash.finish()
}

/// The hash of a machine as read.
pub fn machine(machine: &Machine) -> TraceHash {
    let mut hash = TextHash::default();
    write!(hash, "{machine:?}").expect("a hash takes everything");
    hash.finish()
}
