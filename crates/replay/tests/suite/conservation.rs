//! A simulated run, replayed under the same policy: the work is equal to the nanosecond, and
//! without random influence the schedule is equal, too.

use schedlab_machine::Machine;
use schedlab_measure::{Measure, Metrics};
use schedlab_policy::{Policy, Tuned};
use schedlab_replay::{Identified, Identities, Mode, Options, Rebuild, Replay};
use schedlab_sim::{EndReason, Setup};
use schedlab_trace::{Event, EventKind, Ns, Sink, TaskId, TaskInfo, Tee, Time, TraceInfo};
use schedlab_workload::{native, random, Workload};

fn simulate<S: Sink>(
    policy: &str,
    machine: &Machine,
    workload: &Workload,
    duration: Option<Ns>,
    sink: S,
) -> (EndReason, S) {
    let tuned = Tuned::defaults(Policy::find(policy).unwrap());
    let setup = Setup {
        duration,
        ..Setup::new(machine, workload, &tuned)
    };
    let (outcome, sink) = setup.run(sink).unwrap_or_else(|error| panic!("{error}"));
    (outcome.reason, sink)
}

/// Which task ran when and on which CPU, by name.
#[derive(Default)]
struct Schedule {
    names: Vec<String>,
    switches: Vec<(Time, u32, Option<String>)>,
}

impl Sink for Schedule {
    fn begin(&mut self, _: &TraceInfo) {}
    fn task(&mut self, info: &TaskInfo) {
        self.names.resize(info.id.index() + 1, String::new());
        self.names[info.id.index()] = info.name.clone();
    }
    fn event(&mut self, event: &Event) {
        if let EventKind::Switch { next, .. } = event.kind {
            let next = next.map(|next: TaskId| self.names[next.index()].clone());
            self.switches.push((event.time, event.cpu.0, next));
        }
    }
}

fn rebuilt(mode: Mode) -> Rebuild {
    Rebuild::new(Options {
        mode,
        ..Options::default()
    })
}

/// CPU times of the original and of the replay must be equal, task by task.
fn same_work(seed: u64, policy: &str, mode: Mode) {
    let machine = Machine::ideal(2);
    let workload = random(seed, 2);
    let sink = Tee(Measure::new(), rebuilt(mode));
    let (_, Tee(measure, rebuild)) =
        simulate(policy, &machine, &workload, Some(Ns::from_ms(300)), sink);
    let original = measure.finish();
    let replay = rebuild.finish("again", "again");
    assert_eq!(replay.counts.work_ns, original.total.run_ns, "seed {seed}");
    let sink = Identified::new(Identities::of(&replay), Measure::new());
    let (reason, sink) = simulate(policy, &machine, &replay.workload, None, sink);
    assert_eq!(reason, EndReason::Finished, "seed {seed} does not end");
    let (who, measure) = sink.into_parts();
    let again = measure.finish();
    assert_eq!(again.total.run_ns, original.total.run_ns, "seed {seed}");
    for task in &again.tasks {
        let was = who[task.id.index()].map(|id| run_ns(&original, id));
        assert_eq!(
            was,
            Some(task.activity.run_ns),
            "seed {seed}: {}",
            task.name
        );
    }
}

fn run_ns(metrics: &Metrics, id: TaskId) -> Ns {
    let task = metrics.tasks.iter().find(|task| task.id == id);
    task.expect("it was there").activity.run_ns
}

#[test]
fn random_lives_do_the_same_work_again() {
    for seed in 0..60 {
        let policy = ["o1", "eevdf", "linux24"][seed as usize % 3];
        let mode = [Mode::Closed, Mode::Open][seed as usize % 2];
        same_work(seed, policy, mode);
    }
}

#[test]
fn another_policy_does_the_same_work_too() {
    let machine = Machine::ideal(3);
    for seed in 100..110 {
        let workload = random(seed, 2);
        let (_, rebuild) = simulate(
            "eevdf",
            &Machine::ideal(2),
            &workload,
            Some(Ns::from_ms(200)),
            rebuilt(Mode::Closed),
        );
        let replay: Replay = rebuild.finish("again", "again");
        for policy in ["linux24", "o1", "cfs"] {
            let measure = Measure::new();
            let (reason, measure) = simulate(policy, &machine, &replay.workload, None, measure);
            assert_eq!(reason, EndReason::Finished);
            assert_eq!(measure.finish().total.run_ns, replay.counts.work_ns);
        }
    }
}

const PLAIN: &[(&str, &str)] = &[
    (
        "two that compute",
        "[task.a]\nprogram = \"run 90ms\"\n[task.b]\nprogram = \"run 70ms\"\n",
    ),
    (
        "one that sleeps beside one that computes",
        "[task.editor]\nprogram = \"\"\"\nloop 10\n  run 1ms\n  sleep 7ms\nend\n\"\"\"\n\
         [task.hog]\nprogram = \"run 100ms\"\n",
    ),
    (
        "ping and pong",
        "[semaphore.ping]\n[semaphore.pong]\n\
         [task.a]\nprogram = \"\"\"\nloop 20\n  run 300us\n  post ping\n  wait-sem pong\nend\n\"\"\"\n\
         [task.b]\nprogram = \"\"\"\nloop 20\n  wait-sem ping\n  run 200us\n  post pong\nend\n\"\"\"\n",
    ),
];

#[test]
fn a_plain_schedule_is_the_same_again() {
    for (what, text) in PLAIN {
        for policy in ["o1", "linux24", "eevdf"] {
            for mode in [Mode::Closed, Mode::Open] {
                let machine = Machine::ideal(1);
                let workload = native::parse("w.toml", text).unwrap_or_else(|e| panic!("{e}"));
                let sink = Tee(Schedule::default(), rebuilt(mode));
                let (_, Tee(original, rebuild)) = simulate(policy, &machine, &workload, None, sink);
                let replay = rebuild.finish("again", "again");
                let sink = Identified::new(Identities::of(&replay), Schedule::default());
                let (_, sink) = simulate(policy, &machine, &replay.workload, None, sink);
                let (_, again) = sink.into_parts();
                assert_eq!(again.switches, original.switches, "{what} under {policy}");
            }
        }
    }
}
