//! Compares the native build of a policy with its BPF build.
//!
//! A random kernel drives the native host and so makes a script: the policy's decisions determine
//! which tasks can block, wake or fork. Every hook call is recorded with its result and the
//! requests it made. The BPF program, loaded but not attached, then plays the same calls and must
//! give the same results.

mod kernel;
mod recorder;

use schedlab_policy::{Fault, Tuned};

use crate::load::{keep_log, Program, SMALL};
use crate::object::{open, Config, Object};
use crate::topology::Place;
use crate::Error;
use recorder::{Event, HookOutcome, Recorder};

/// `SCRIPT_EVENTS` in conform.h.
const BATCH: usize = 2048;

/// Random steps of a script; each is a few hook calls.
const STEPS: u32 = 60;

/// Result of a comparison.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Conformance {
    /// Scripts played.
    pub scripts: u64,
    /// Hook calls compared.
    pub calls: u64,
    /// The first call whose results differ; `None` if all are equal.
    pub difference: Option<String>,
}

/// Why a comparison could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ConformError {
    /// The BPF program cannot be loaded or run.
    #[error(transparent)]
    Load(#[from] Error),
    /// The native build failed in a hook.
    #[error("script {seed}: {fault}")]
    Native {
        /// The script's seed.
        seed: u64,
        /// What happened.
        fault: Fault,
    },
    /// The BPF program did not finish its script.
    #[error("the BPF program failed in a hook: script {0}")]
    Failed(u64),
}

/// The topology of every script: two CPUs share a core, a last-level cache and a node.
pub(crate) fn places(nr: usize) -> Vec<Place> {
    (0..nr as u32)
        .map(|cpu| Place {
            core: cpu / 2,
            llc: cpu / 2,
            node: cpu / 2,
            online: true,
        })
        .collect()
}

/// Plays `scripts` random scripts, seeded `seed`, `seed + 1`, ..., recorded from `native`.
///
/// # Errors
/// See [`ConformError`].
pub fn conform(
    native: &Tuned,
    program: &Program,
    scripts: u64,
    seed: u64,
) -> Result<Conformance, ConformError> {
    let mut arm = Arm::new(program)?;
    let mut done = Conformance {
        scripts: 0,
        calls: 0,
        difference: None,
    };
    let mut batch = Batch::default();
    for seed in seed..seed + scripts {
        let script = record(native, seed)?;
        if batch.events.len() + script.events.len() > BATCH {
            done.difference = arm.play(&batch)?;
            batch = Batch::default();
        }
        if done.difference.is_some() {
            return Ok(done);
        }
        done.scripts += 1;
        done.calls += script.events.len() as u64;
        batch.add(seed, script);
    }
    done.difference = arm.play(&batch)?;
    Ok(done)
}

fn record(tuned: &Tuned, seed: u64) -> Result<Recorder, ConformError> {
    let script = kernel::live(tuned, seed, STEPS);
    script.map_err(|fault| ConformError::Native { seed, fault })
}

/// Scripts that one run of the BPF program plays.
#[derive(Default)]
struct Batch {
    events: Vec<Event>,
    outcomes: Vec<HookOutcome>,
    /// First event and seed of each script.
    starts: Vec<(usize, u64)>,
}

impl Batch {
    fn add(&mut self, seed: u64, script: Recorder) {
        assert!(script.events.len() <= BATCH, "a script fits into a batch");
        self.starts.push((self.events.len(), seed));
        self.events.extend(script.events);
        self.outcomes.extend(script.outcomes);
    }

    fn script_of(&self, event: usize) -> (usize, u64) {
        let after = self.starts.partition_point(|&(start, _)| start <= event);
        self.starts[after.max(1) - 1]
    }
}

/// The BPF side.
struct Arm {
    object: Object,
}

impl Arm {
    fn new(program: &Program) -> Result<Arm, Error> {
        keep_log();
        let config = Config::new(program.tuned, &places(kernel::MOST_CPUS), SMALL, kernel::HZ);
        let object = open(program.code, program.tuned, &config)?;
        let mut object = Object::load(object)?;
        match object.run("prepare") {
            Some(0) => Ok(Arm { object }),
            _ => Err(Error::NotOurs),
        }
    }

    /// Plays the scripts; returns a description of the first difference.
    fn play(&mut self, batch: &Batch) -> Result<Option<String>, ConformError> {
        if batch.events.is_empty() {
            return Ok(None);
        }
        let header = 8;
        let size = header + BATCH * (size_of::<Event>() + size_of::<HookOutcome>());
        let mut image = vec![0; size];
        image[..4].copy_from_slice(&(batch.events.len() as u32).to_ne_bytes());
        for (i, event) in batch.events.iter().enumerate() {
            let at = header + i * size_of::<Event>();
            image[at..at + size_of::<Event>()].copy_from_slice(&event.bytes());
        }
        self.object
            .set_variables(".data.script", &image)
            .and_then(|()| self.object.run("play"))
            .ok_or(Error::NotOurs)?;
        let played = self
            .object
            .variables(".data.script")
            .ok_or(Error::NotOurs)?;
        let failed = u32::from_ne_bytes(played[4..8].try_into().expect("four bytes"));
        // The calls before the failed one have results. A difference among them is the cause of the
        // failure, so it is reported first.
        let answered = failed
            .checked_sub(1)
            .map_or(batch.events.len(), |at| at as usize);
        let outcomes = &played[header + BATCH * size_of::<Event>()..];
        match first_difference(batch, &outcomes[..answered * size_of::<HookOutcome>()]) {
            None if failed > 0 => Err(ConformError::Failed(batch.script_of(answered).1)),
            difference => Ok(difference),
        }
    }
}

/// The first BPF result that differs from the native one.
fn first_difference(batch: &Batch, played: &[u8]) -> Option<String> {
    let all = batch
        .outcomes
        .iter()
        .zip(played.chunks_exact(size_of::<HookOutcome>()));
    let (at, (native, bpf)) = all
        .map(|(native, bytes)| (native, HookOutcome::from_bytes(bytes)))
        .enumerate()
        .find(|(_, (native, bpf))| *native != bpf)?;
    let (start, seed) = batch.script_of(at);
    let event = &batch.events[at];
    Some(format!(
        "script {seed}, call {}: {event}\n  native: {native}\n  bpf:    {bpf}",
        at - start
    ))
}
