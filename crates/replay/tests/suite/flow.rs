//! Rebuilt programs depend on data: a read waits if and only if there is nothing to read.

use schedlab_machine::Machine;
use schedlab_measure::{Measure, Metrics};
use schedlab_policy::{Policy, Tuned};
use schedlab_recording::{
    Carries, KernelEvent, KernelEventKind, KernelState, Pid, Recording, TaskRef,
};
use schedlab_replay::{
    is_complete, End, Identified, Identities, Options, Rebuild, Replay, SelfCheck, Trust,
};
use schedlab_sim::{EndReason, Setup};
use schedlab_trace::{CpuId, Ns, Time, TraceInfo, WakeContext};
use schedlab_workload::{Op, Workload};

const READ: u16 = 0;
const WRITE: u16 = 1;
const PIPE: u16 = 293;
const EPOLL: u16 = 232;

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

/// A reader (2) waits. The writer (1) writes 20 messages of 10 bytes, 100 µs each. Only the first
/// write wakes the reader, which then finds all messages.
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

/// With its own CPU the reader reads each message on arrival: it sleeps before each of them.
#[test]
fn a_reader_that_is_faster_sleeps_more_often() {
    let replay = a_pile_of_messages().rebuild(Options::default());
    let metrics = simulate("cfs", &replay.workload, 2);
    assert_eq!(sleeps(&metrics, "t2"), 20 + 1, "and it exits");
    assert_eq!(metrics.total.run_ns, replay.counts.work_ns);
}

/// Three tasks that compute for 2 ms each, in a recording of 3 ms that ends before they do.
fn cut_off() -> Script {
    let mut s = Script::new();
    s.switch(0, 0, "R", 1);
    s.switch(1000, 1, "R", 2);
    s.switch(2000, 2, "R", 3);
    s.switch(3000, 3, "R", 1);
    s
}

/// A task that gets more CPU time than in the recording has more work, and no task has to finish.
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

/// Without interrupt flags or system calls the same recording is understood less, never more.
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

/// The self-check of a script after some information was removed.
fn trust(script: Script, with_calls: bool, with_flags: bool) -> Trust {
    let mut recording = match with_calls {
        true => script.0,
        false => without_calls(&script.0),
    };
    recording.finish(None);
    let mut recorded = Measure::new();
    recording.play(&TraceInfo::default(), &mut recorded);
    let options = Options {
        wakers_are_guessed: !with_flags,
        ..Options::default()
    };
    let replay = Script(recording).rebuild(options);
    let machine = Machine::ideal(1);
    let tuned = Tuned::defaults(Policy::find("eevdf").unwrap());
    let sink = Identified::new(Identities::of(&replay), Measure::new());
    let setup = Setup::new(&machine, &replay.workload, &tuned);
    let (_, sink) = setup.run(sink).unwrap();
    let (who, replayed) = sink.into_parts();
    let (recorded, replayed) = (recorded.finish(), replayed.finish());
    SelfCheck::new("eevdf", replay.counts, &recorded, None, &replayed, &who).trust()
}

fn without_calls(recording: &Recording) -> Recording {
    let mut poor = Recording::new(recording.carries, 1);
    for event in recording.events() {
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
    poor
}

/// Less information never gives a better verdict, even if the replay is then closer to the
/// recording.
#[test]
fn trust_falls_when_information_is_dropped() {
    let of = |calls, flags| trust(a_pile_of_messages(), calls, flags);
    let whole = of(true, true);
    assert!(whole > Trust::Nothing, "{whole:?}");
    for (calls, flags) in [(true, false), (false, true), (false, false)] {
        assert!(of(calls, flags) <= whole);
    }
    assert_eq!(of(false, true), Trust::Nothing);
    assert_eq!(of(false, false), Trust::Nothing);
    // A task that only sleeps and is woken by a device is understood from the flags alone.
    let device = || {
        let mut s = Script::new();
        s.switch(0, 0, "R", 1);
        for at in (100..3000).step_by(200) {
            s.switch(at, 1, "S", 0);
            s.wake(at + 100, 1, WakeContext::Irq);
            s.switch(at + 101, 0, "R", 1);
        }
        s.switch(3100, 1, "Z", 0);
        s
    };
    assert_eq!(trust(device(), false, false), Trust::Nothing);
    assert!(trust(device(), false, true) > Trust::Nothing);
}

/// A server (1) waits in epoll and then reads data that a client (2) wrote: its wait is for that
/// data.
fn a_server_in_poll(woken_late: bool) -> Script {
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
    s.enter(40, 1, EPOLL, 9);
    s.switch(50, 1, "S", 2);
    s.enter(100, 2, WRITE, 1);
    s.wake(105, 1, WakeContext::Task);
    if woken_late {
        // The server runs before the call returns.
        s.switch(106, 2, "R", 1);
        s.leave(110, 1, EPOLL, 1);
        s.enter(120, 1, READ, 0);
        s.leave(130, 1, READ, 10);
        s.switch(200, 1, "Z", 2);
        s.leave(210, 2, WRITE, 10);
        s.switch(300, 2, "Z", 0);
        return s;
    }
    s.leave(110, 2, WRITE, 10);
    s.switch(200, 2, "Z", 1);
    s.leave(210, 1, EPOLL, 1);
    s.enter(220, 1, READ, 0);
    s.leave(230, 1, READ, 10);
    s.switch(300, 1, "Z", 0);
    s
}

#[test]
fn a_wait_in_poll_is_for_what_is_read_next() {
    for woken_late in [false, true] {
        let replay = a_server_in_poll(woken_late).rebuild(Options::default());
        let ops = &replay.workload.programs[0].ops;
        let receive = Op::Receive {
            channel: 0,
            count: 10,
        };
        let at = ops.iter().position(|op| *op == receive).unwrap();
        let waits = |op: &Op| matches!(op, Op::SemSleep(_) | Op::SemWait(_));
        assert!(!ops.iter().any(waits), "{ops:?}");
        // Work between the wakeup and the read moves after the read.
        assert!(matches!(ops[at + 1], Op::Run(_)), "{ops:?}");
        assert_eq!(replay.counts.understood_share(), 1.0);
        assert!(is_complete(&replay.workload));
    }
}

/// The task writes before it reads. The cause of its wait stays unknown, and others may wait for
/// the data.
#[test]
fn a_wait_in_poll_stays_before_what_is_written() {
    let mut script = a_server_in_poll(false);
    let events = script.0.events().to_vec();
    let mut changed = Recording::new(script.0.carries, 1);
    for event in events {
        if event.time == Time(220_000) {
            let (time, cpu, pid) = (Time(212_000), CpuId(0), Pid(1));
            let arguments = [1, 0, 0];
            let call = WRITE;
            let enter = KernelEventKind::Enter {
                pid,
                call,
                arguments,
            };
            let result = 5;
            let leave = KernelEventKind::Return { pid, call, result };
            changed.push(KernelEvent {
                time,
                cpu,
                kind: enter,
            });
            changed.push(KernelEvent {
                time,
                cpu,
                kind: leave,
            });
        }
        changed.push(event);
    }
    for name in ["t2", "swapper", "t1"] {
        changed.comm(name);
    }
    script.0 = changed;
    let replay = script.rebuild(Options::default());
    let ops = &replay.workload.programs[0].ops;
    assert!(
        ops.iter().any(|op| matches!(op, Op::SemSleep(_))),
        "{ops:?}"
    );
    assert_eq!(replay.counts.opaque_reasons(), "1 in poll");
}

/// Two tasks that each wait for data that the other writes only afterwards.
#[test]
fn what_never_ends_is_found() {
    let mut replay = a_server_in_poll(false).rebuild(Options::default());
    assert!(is_complete(&replay.workload));
    let programs = &mut replay.workload.programs;
    let sends = programs[1]
        .ops
        .iter()
        .position(|op| matches!(op, Op::Send { .. }));
    programs[1].ops.remove(sends.unwrap());
    assert!(!is_complete(&replay.workload));
}
