//! Damaged files of every format give an error or a recording, never a panic or an endless loop.
//!
//! The damage is pseudo-random with a fixed seed, so that a failure can be reproduced.

use std::cell::Cell;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::PathBuf;

use crate::common::{example, sample};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use schedlab_measure::Measure;
use schedlab_readers::{read, read_from, write_text, TextFormat};
use schedlab_trace::{PerfettoSink, TraceInfo};

/// A kind of damage to a file of a given length.
#[derive(Clone, Debug)]
enum Damage {
    /// The file ends here.
    Cut(usize),
    /// Other bytes replace those here.
    Overwritten(usize, Vec<u8>),
    /// This number of bytes is missing here.
    Removed(usize, usize),
    /// This range of bytes is repeated.
    Repeated(usize, usize),
}

fn damage(length: usize) -> impl Strategy<Value = Vec<Damage>> {
    let at = 0..length;
    // Heads are short and important: half of the damage is there.
    let at = || prop_oneof![at.clone(), 0..length.min(300)];
    let bytes = || {
        let byte = prop_oneof![any::<u8>(), Just(0u8), Just(0xff), Just(0x7f), Just(0x80)];
        prop::collection::vec(byte, 1..9)
    };
    let one = prop_oneof![
        1 => at().prop_map(Damage::Cut),
        6 => (at(), bytes()).prop_map(|(at, bytes)| Damage::Overwritten(at, bytes)),
        1 => (at(), 1..40usize).prop_map(|(at, n)| Damage::Removed(at, n)),
        1 => (at(), 1..200usize).prop_map(|(at, n)| Damage::Repeated(at, n)),
    ];
    prop::collection::vec(one, 1..4)
}

fn damaged(whole: &[u8], all: &[Damage]) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    for damage in all {
        let end = |at: usize, n: usize| (at + n).min(bytes.len());
        match damage {
            Damage::Cut(at) => bytes.truncate(*at),
            Damage::Overwritten(at, new) => {
                for (old, new) in bytes.iter_mut().skip(*at).zip(new) {
                    *old = *new;
                }
            }
            Damage::Removed(at, n) if *at < bytes.len() => {
                let end = end(*at, *n);
                bytes.drain(*at..end);
            }
            Damage::Repeated(at, n) if *at < bytes.len() => {
                let again = bytes[*at..end(*at, *n)].to_vec();
                bytes.splice(at..at, again);
            }
            Damage::Removed(..) | Damage::Repeated(..) => {}
        }
    }
    bytes
}

/// Reads damaged copies of a file; a copy that is accepted must play to a consistent trace. Returns
/// the numbers of refused and accepted copies.
#[track_caller]
fn looked_at(name: &str, whole: &[u8], cases: u32) -> (u32, u32) {
    assert!(read_from(whole, name).is_ok());
    let seed = [7; 32];
    let mut runner = TestRunner::new_with_rng(
        ProptestConfig {
            failure_persistence: None,
            ..ProptestConfig::with_cases(cases)
        },
        TestRng::from_seed(RngAlgorithm::ChaCha, &seed),
    );
    let (refused, taken) = (Cell::new(0), Cell::new(0));
    let outcome = runner.run(&damage(whole.len()), |all| {
        let bytes = damaged(whole, &all);
        let outcome = catch_unwind(AssertUnwindSafe(|| look_at(name, &bytes)));
        match outcome {
            Ok(true) => taken.set(taken.get() + 1),
            Ok(false) => refused.set(refused.get() + 1),
            Err(_) => return Err(TestCaseError::fail("it panicked")),
        }
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{name}: {error}"));
    (refused.get(), taken.get())
}

/// The same for a file in which some damage cannot be detected.
#[track_caller]
fn survives(name: &str, whole: &[u8], cases: u32) {
    let (refused, taken) = looked_at(name, whole, cases);
    assert!(refused > 0 && taken > 0, "{name}: {refused}, {taken}");
}

/// Was it accepted?
fn look_at(name: &str, bytes: &[u8]) -> bool {
    match read_from(bytes, name) {
        Err(mistake) => {
            let text = mistake.to_string();
            assert!(
                text.starts_with(name) && text.lines().count() == 1,
                "{text}"
            );
            false
        }
        Ok((recording, _)) => {
            if recording.nr_cpus() > 256 {
                return true; // A CPU's number was hit: playing would mostly set up CPUs.
            }
            let mut measure = Measure::new();
            recording.play(&TraceInfo::default(), &mut measure);
            assert_eq!(measure.finish().accounting_error, None);
            true
        }
    }
}

fn sample_bytes(name: &str) -> Vec<u8> {
    std::fs::read(sample(name)).unwrap()
}

#[test]
fn perf_data() {
    survives("perf.data", &sample_bytes("perf.data"), 400);
}

#[test]
fn perf_data_of_one_event() {
    survives("perf-one.data", &sample_bytes("perf-one.data"), 300);
}

#[test]
fn perf_data_compressed_by_perf() {
    survives("perf-z.data", &sample_bytes("perf-z.data"), 300);
}

#[test]
fn perf_data_of_a_pipe() {
    survives("perf-pipe.data", &sample_bytes("perf-pipe.data"), 300);
}

#[test]
fn ftrace_text() {
    survives("trace.ftrace", &sample_bytes("trace.ftrace"), 600);
}

#[test]
fn trace_cmd_text() {
    survives("trace-cmd-l.txt", &sample_bytes("trace-cmd-l.txt"), 300);
    survives("trace-cmd-R.txt", &sample_bytes("trace-cmd-R.txt"), 300);
}

#[test]
fn perf_script_text() {
    let (recording, _) = read(&sample("perf.data")).unwrap();
    let mut text = Vec::new();
    write_text(&recording, TextFormat::PerfScript, &mut text).unwrap();
    survives("perf-script.txt", &text, 600);
}

#[test]
fn perfetto() {
    let (recording, _) = read(&sample("trace.ftrace")).unwrap();
    let mut sink = PerfettoSink::new(Vec::new());
    recording.play(&TraceInfo::default(), &mut sink);
    survives("x.pftrace", &sink.finish().unwrap(), 600);
}

#[test]
fn perfetto_with_single_events() {
    survives("events.pftrace", &sample_bytes("events.pftrace"), 600);
}

#[test]
fn compressed() {
    let bytes = std::fs::read(example("make-j4-gcc")).unwrap();
    // Its checksum detects all damage.
    assert_eq!(looked_at("x.zst", &bytes, 12), (12, 0));
}

/// Files that a fuzzer found (fuzz/found): each is refused or accepted without a panic.
#[test]
fn found_by_fuzzing() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/found");
    let files = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let found: Vec<PathBuf> = files
        .filter(|file| file.extension() != Some("md".as_ref()))
        .collect();
    assert!(!found.is_empty());
    for file in found {
        look_at("FILE", &std::fs::read(&file).unwrap());
    }
}
