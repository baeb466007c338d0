//! The example recordings, replayed under the scheduler of the recording.

use schedlab_measure::Measure;
use schedlab_policy::{Policy, Tuned};
use schedlab_replay::{machine_like, Identified, Identities, Options, Rebuild, SelfCheck};
use schedlab_sim::Setup;
use schedlab_trace::{Tee, TraceInfo};

fn self_check(name: &str) -> SelfCheck {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/recordings");
    let path = format!("{folder}/{name}.perf-script.txt.zst");
    let (recording, _) = schedlab_readers::read(path.as_ref()).unwrap();
    let options = Options {
        wakers_are_guessed: !recording.has_contexts,
        ..Options::default()
    };
    let mut sink = Tee(Measure::new(), Rebuild::new(options));
    recording.play(&TraceInfo::default(), &mut sink);
    let Tee(measure, rebuild) = sink;
    let (recorded, replay) = (measure.finish(), rebuild.finish(name, name));
    let machine = machine_like(&replay, replay.nr_cpus, 250);
    let tuned = Tuned::defaults(Policy::find("eevdf").unwrap());
    let sink = Identified::new(Identities::of(&replay), Measure::new());
    let ran = Setup::new(&machine, &replay.workload, &tuned).run(sink);
    let (_, sink) = ran.unwrap_or_else(|error| panic!("{error}"));
    let (who, measure) = sink.into_parts();
    let counts = replay.counts;
    SelfCheck::new("eevdf", counts, &recorded, None, &measure.finish(), &who)
}

/// Three of them miss the target for median run delays; docs/replay.md says why.
#[test]
fn work_span_and_switches_are_within_their_targets() {
    for name in [
        "apache-ab-c150",
        "hackbench-4g",
        "make-j4-gcc",
        "mariadb-sysbench-8t",
    ] {
        let check = self_check(name);
        println!("{name}");
        check.distances.iter().for_each(|d| println!("  {d}"));
        assert!(check.differing.is_empty(), "{name}: {:?}", check.differing);
        let missed = check.distances.iter().filter(|d| d.is_missed());
        let missed: Vec<_> = missed.filter(|d| d.what != "run delay p50").collect();
        assert!(missed.is_empty(), "{name}: {missed:?}");
    }
}
