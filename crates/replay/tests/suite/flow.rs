//! Programs, not timelines: a read waits if and only if there is nothing to read.

use schedlab_machine::Machine;
use schedlab_measure::{Measure, Metrics};
use schedlab_policy::{Policy, Tuned};
use schedlab_recording::{
    Carries, KernelEvent, KernelEventKind, KernelState, Pid, Recording, TaskRef,
};
use schedlab_replay::{End, Options, Rebuild, Replay};
use schedlab_sim::{EndReason, Setup};
use schedlab_trace::{CpuId, Ns, Time, TraceInfo, WakeContext};
use schedlab_workload::{Op, Workload};

const READ: u16 = 0;
const WRITE: u16 = 1;
const PIPE: u16 = 293;

/// A recording of one CPU; times in µs.
struct Script(Recording);

impl Script {
    fn new() -> Script {
        let carries = Carries {
            waking: true,
            wakeup: true,
        };
        Script(Recording::new(carries, 1))
    }

    fn task(&mut self, pid: u32) -> TaskRef {
        let name = if pid == 0 {
            "swapper".into()
        } else {
            format!("t{pid}")
        };
        let comm = self.0.comm(&name);
        let (pid, prio) = (Pid(pid), Some(120));
        TaskRef { pid, comm, prio }
    }

    fn push(&mut self, us: u64, kind: KernelEventKind) {
        let (time, cpu) = (Time(us * 1000), CpuId(0));
        self.0.push(KernelEvent { time, cpu, kind });
    }

    fn switch(&mut self, us: u64, prev: u32, state: &str, next: u32) {
        let kind = KernelEventKind::Switch {
            prev: self.task(prev),
            prev_state: KernelState::of_letters(state),
            next: self.task(next),
        };
        self.push(us, kind);
    }

    fn wake(&mut self, us: u64, pid: u32, by: WakeContext) {
        let (task, target) = (self.task(pid), CpuId(0));
        self.push(us, KernelEventKind::Waking { task, by, target });
        self.push(us, KernelEventKind::Wakeup { task, by, target });
    }

    fn enter(&mut self, us: u64, pid: u32, call: u16, fd: u64) {
        let (pid, arguments) = (Pid(pid), [fd, 0, 0]);
        self.push(
            us,
            KernelEventKind::Enter {
                pid,
                call,
                arguments,
            },
        );
    }

    fn leave(&mut self, us: u64, pid: u32, call: u16, result: i64) {
        let pid = Pid(pid);
        self.push(us, KernelEventKind::Return { pid, call, result });
    }

    fn rebuild(mut self, options: Options) -> Replay {
        self.0.finish(None);
        let mut rebuild = Rebuild::new(options);
        match self.0.flow() {
            Some(flow) => {
                rebuild.flow(&flow);
                self.0.play_flow(&TraceInfo::default(), &flow, &mut rebuild);
            }
            None => {
                self.0.play(&TraceInfo::default(), &mut rebuild);
            }
        }
        rebuild.finish("test", "test")
    }
}

/// A reader (2) waits; the writer (1) writes 20 messages of 10 bytes, 100 µs each, and only the first wakes the reader,
/// which then finds all of them.
fn a_pile_of_messages() -> Script {
    let mut s = Script::new();
    let fork = KernelEventKind::Fork {
        parent: Pid(1),
        child: Pid(2),
        child_comm: s.task(2).comm,
    };
    s.switch(0, 0, "R", 1);
    s.enter(10, 1, PIPE, 0);
    s.leave(20, 1, PIPE, 0);
    s.push(30, fork);
    s.wake(31, 2, WakeContext::Task);
    s.switch(40, 1, "R", 2);
    s.enter(50, 2, READ, 0);
    s.switch(60, 2, "S", 1);
    for message in 0..20 {
        let at = 100 + 100 * message;
        s.enter(at, 1, WRITE, 1);
        if message == 0 {
            s.wake(at + 5, 2, WakeContext::Task);
        }
        s.leave(at + 10, 1, WRITE, 10);
    }
    s.switch(2200, 1, "Z", 2);
    for message in 0..20 {
        let at = 2210 + 20 * message;
        if message > 0 {
            s.enter(at - 10, 2, READ, 0);
        }
        s.leave(at, 2, READ, 10);
    }
    s.switch(3000, 2, "Z", 0);
    s
}

fn simulate(policy: &str, workload: &Workload, nr_cpus: u32) -> Metrics {
    let machine = Machine::ideal(nr_cpus);
    let tuned = Tuned::defaults(Policy::find(policy).unwrap());
    let ran = Setup::new(&machine, workload, &tuned).run(Measure::new());
    let (outcome, measure) = ran.unwrap_or_else(|error| panic!("{error}"));
    assert_ne!(outcome.reason, EndReason::Deadlock);
    measure.finish()
}

fn sleeps(metrics: &Metrics, name: &str) -> u64 {
    let task = metrics
        .tasks
        .iter()
        .find(|task| task.name.starts_with(name));
    task.unwrap().activity.nr_voluntary_switches
}

#[test]
fn a_read_is_a_receive_and_a_write_a_send() {
    let replay = a_pile_of_messages().rebuild(Options::default());
    let ops = |of: usize| &replay.workload.programs[of].ops;
    let count = |of: usize, wanted: Op| ops(of).iter().filter(|op| **op == wanted).count();
    let (channel, ten) = (0, 10);
    assert_eq!(
        count(
            0,
            Op::Send {
                channel,
                count: ten
            }
        ),
        20
    );
    assert_eq!(
        count(
            1,
            Op::Receive {
                channel,
                count: ten
            }
        ),
        20
    );
    let is_timeline = |op: &Op| matches!(op, Op::SemPost(_) | Op::SemSleep(_));
    assert!(!ops(0).iter().chain(ops(1)).any(is_timeline));
    let counts = &replay.counts;
    assert_eq!((counts.woken_by_data, counts.blocks()), (1, 1));
    assert_eq!(counts.understood_share(), 1.0);
}

/// With a CPU of its own the reader reads each message as it comes: it sleeps before each of them.
#[test]
fn a_reader_that_is_faster_sleeps_more_often() {
    let replay = a_pile_of_messages().rebuild(Options::default());
    let metrics = simulate("cfs", &replay.workload, 2);
    assert_eq!(sleeps(&metrics, "t2"), 20 + 1, "and it exits");
    assert_eq!(metrics.total.run_ns, replay.counts.work_ns);
}

/// Three tasks that compute for 2 ms each of a recording of 3 ms that ends while they do.
fn cut_off() -> Script {
    let mut s = Script::new();
    s.switch(0, 0, "R", 1);
    s.switch(1000, 1, "R", 2);
    s.switch(2000, 2, "R", 3);
    s.switch(3000, 3, "R", 1);
    s
}

/// Whoever gets more of the CPU than in the recording has more to do, and nobody has to finish.
#[test]
fn a_recording_that_time_ended_is_replayed_for_that_time() {
    let replay = cut_off().rebuild(Options {
        end: End::Auto,
        ..Options::default()
    });
    assert!(replay.counts.ends_by_time);
    assert_eq!(replay.workload.duration, Some(Ns::from_ms(3)));
    for policy in ["o1", "linux24", "eevdf"] {
        let metrics = simulate(policy, &replay.workload, 1);
        let (span, run) = (metrics.duration_ns, metrics.total.run_ns);
        assert_eq!((span, run), (Ns::from_ms(3), Ns::from_ms(3)), "{policy}");
    }
    let replay = cut_off().rebuild(Options::default());
    assert_eq!(replay.workload.duration, None);
}

/// The same recording without interrupt flags, or without system calls, is less understood, never more.
#[test]
fn what_is_not_recorded_is_not_understood() {
    let whole = a_pile_of_messages().rebuild(Options::default());
    let mut script = a_pile_of_messages();
    let carries = script.0.carries;
    let mut poor = Recording::new(carries, 1);
    for event in script.0.events() {
        let is_call = matches!(
            event.kind,
            KernelEventKind::Enter { .. } | KernelEventKind::Return { .. }
        );
        if !is_call {
            poor.push(*event);
        }
    }
    for name in ["t2", "swapper", "t1"] {
        poor.comm(name);
    }
    script.0 = poor;
    let poor = script.rebuild(Options::default());
    assert!(poor.counts.understood_share() < whole.counts.understood_share());
    assert_eq!(poor.counts.understood, 0);
    let device = |wakers_are_guessed| {
        let mut s = Script::new();
        s.switch(0, 0, "R", 1);
        s.switch(100, 1, "S", 0);
        s.wake(200, 1, WakeContext::Irq);
        s.switch(210, 0, "R", 1);
        s.switch(300, 1, "Z", 0);
        let options = Options {
            wakers_are_guessed,
            ..Options::default()
        };
        s.rebuild(options).counts.understood_share()
    };
    assert_eq!((device(false), device(true)), (1.0, 0.0));
}
