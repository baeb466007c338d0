//! Written recordings are read back unchanged.

use std::collections::BTreeSet;

use crate::common::{assert_same, events, example};
use schedlab_readers::{read, read_from, write_text, TextFormat};
use schedlab_recording::{
    Carries, KernelEvent, KernelEventKind, KernelState, Pid, Recording, TaskRef,
};
use schedlab_trace::{
    CpuId, Event, EventKind, FtraceSink, PerfettoSink, PrevState, Sink, TaskClass, TaskId,
    TaskInfo, Tee, Time, TraceInfo, WakeContext,
};

fn written(recording: &Recording, format: TextFormat) -> (Vec<u8>, Vec<String>) {
    let mut text = Vec::new();
    let notes = write_text(recording, format, &mut text).unwrap();
    (text, notes)
}

/// perf script's text is read back event by event. Only the idle task shows interrupts, and the
/// recording lacks some switches away from it.
#[test]
fn perf_script_text() {
    for name in ["hackbench-4g", "make-j4-gcc"] {
        let (recording, _) = read(&example(name)).unwrap();
        let (text, notes) = written(&recording, TextFormat::PerfScript);
        let (again, report) = read_from(&text[..], "text").unwrap();
        let without_context = |event: &String| event.replace(" by Irq", " by Task");
        let all =
            |recording| -> Vec<String> { events(recording).iter().map(without_context).collect() };
        assert_same(&all(&recording), &all(&again));
        assert_eq!(report.resolution_ns, 1);
        assert_eq!(
            notes,
            ["the context of wakeups (task or interrupt) was not written"]
        );
    }
}

/// System calls, accounts and softirqs are read back from ftrace's text, with the cost of recording
/// a call.
#[test]
fn system_calls_and_accounts() {
    let (mut recording, _) = read(&example("hackbench-4g")).unwrap();
    let (time, cpu) = (recording.span.1, CpuId(0));
    let (pid, task) = (
        Pid(77),
        TaskRef {
            pid: Pid(77),
            comm: recording.comm("reader"),
            prio: None,
        },
    );
    let (call, arguments) = (0, [3, 0x7ffd_1000, 64]);
    let (by, target) = (WakeContext::SoftIrq, CpuId(1));
    for kind in [
        KernelEventKind::Enter {
            pid,
            call,
            arguments,
        },
        KernelEventKind::Return {
            pid,
            call,
            result: -11,
        },
        KernelEventKind::Runtime { task, ns: 1234 },
        KernelEventKind::Waking { task, by, target },
        KernelEventKind::Yield { pid },
    ] {
        recording.push(KernelEvent { time, cpu, kind });
    }
    recording.call_cost_ns = 321;
    recording.finish(None);
    let (text, _) = written(&recording, TextFormat::Ftrace);
    let (again, _) = read_from(&text[..], "text").unwrap();
    assert_same(&events(&recording), &events(&again));
    assert_eq!(again.call_cost_ns, 321);
}

/// Yields of our own traces are read again.
#[test]
fn yields_of_traces() {
    let info = TraceInfo {
        nr_cpus: 1,
        ..TraceInfo::default()
    };
    let mut sinks = Tee(PerfettoSink::new(Vec::new()), FtraceSink::new(Vec::new()));
    play_one_task(&info, &mut sinks);
    let Tee(perfetto, ftrace) = sinks;
    for file in [perfetto.finish().unwrap(), ftrace.finish().unwrap()] {
        let (recording, _) = read_from(&file[..], "file").unwrap();
        let is_yield = |event: &&KernelEvent| matches!(event.kind, KernelEventKind::Yield { .. });
        let yields: Vec<u64> = recording
            .events()
            .iter()
            .filter(is_yield)
            .map(|e| e.time.0)
            .collect();
        assert_eq!(yields, [500]);
    }
}

/// ftrace's text also contains wakers and lost events.
#[test]
fn ftrace_text() {
    let (mut recording, _) = read(&example("hackbench-4g")).unwrap();
    recording.nr_lost = 7;
    recording.at_least_cpus(5);
    let (text, notes) = written(&recording, TextFormat::Ftrace);
    let (again, report) = read_from(&text[..], "text").unwrap();
    assert_same(&events(&recording), &events(&again));
    assert_eq!((again.nr_lost, report.nr_gaps), (7, 1));
    assert_eq!(again.nr_cpus(), 5);
    assert_eq!(notes, [] as [&str; 0]);
}

/// Traces of simulations are marked in every format, and remain marked after reading and writing.
#[test]
fn simulations_are_told_from_kernels() {
    for has_costs in [true, false] {
        let info = TraceInfo {
            nr_cpus: 1,
            has_costs,
            ..TraceInfo::default()
        };
        let mut sinks = Tee(PerfettoSink::new(Vec::new()), FtraceSink::new(Vec::new()));
        play_one_task(&info, &mut sinks);
        let Tee(perfetto, ftrace) = sinks;
        let (perfetto, ftrace) = (perfetto.finish().unwrap(), ftrace.finish().unwrap());
        for file in [perfetto, ftrace] {
            let (recording, _) = read_from(&file[..], "file").unwrap();
            assert_eq!(recording.is_simulated, has_costs);
            for format in [TextFormat::Ftrace, TextFormat::PerfScript] {
                let (text, _) = written(&recording, format);
                let (again, _) = read_from(&text[..], "text").unwrap();
                assert_eq!(again.is_simulated, has_costs, "{format:?}");
            }
        }
    }
}

/// A task that runs for 1 µs and yields once.
fn play_one_task(info: &TraceInfo, sink: &mut impl Sink) {
    sink.begin(info);
    sink.task(&TaskInfo {
        id: TaskId(0),
        name: "a".into(),
        group: "a".into(),
        control_group: None,
        process: 7,
        pid: Some(7),
        nice: 0,
        class: TaskClass::Normal,
        rt_priority: 0,
    });
    let task = Some(TaskId(0));
    let switch = |prev, prev_state, next| EventKind::Switch {
        prev,
        prev_state,
        next,
    };
    for (ns, kind) in [
        (0, switch(None, PrevState::Idle, task)),
        (500, EventKind::Yield { task: TaskId(0) }),
        (1000, switch(task, PrevState::Sleeping, None)),
    ] {
        let (time, cpu) = (Time(ns), CpuId(0));
        sink.event(&Event { time, cpu, kind });
    }
    sink.end(Time(2000));
}

/// Names with characters that could mislead a reader; ftrace's text replaces them.
#[test]
fn odd_names() {
    let odd = [
        "a b",
        "x pid=1",
        "==> next_comm=",
        "k/0:1-e [3]",
        "1-2",
        "",
        "(7)",
        "é=ß",
    ];
    let mut recording = Recording::new(
        Carries {
            waking: false,
            wakeup: true,
        },
        1,
    );
    for (at, name) in odd.iter().enumerate() {
        let comm = recording.comm(name);
        let idle = recording.comm("swapper/0");
        let pid = Pid(10 + at as u32);
        let task = |pid, comm| TaskRef {
            pid,
            comm,
            prio: Some(120),
        };
        let kinds = [
            KernelEventKind::Switch {
                prev: task(Pid::IDLE, idle),
                prev_state: KernelState::Runnable,
                next: task(pid, comm),
            },
            KernelEventKind::Yield { pid },
            KernelEventKind::Rename { pid, comm },
            KernelEventKind::Exit {
                task: task(pid, comm),
            },
            KernelEventKind::Switch {
                prev: task(pid, comm),
                prev_state: KernelState::Dead,
                next: task(Pid::IDLE, idle),
            },
        ];
        for (step, kind) in (0..).zip(kinds) {
            let time = Time(1000 * at as u64 + step);
            let cpu = CpuId(0);
            recording.push(KernelEvent { time, cpu, kind });
        }
    }
    recording.finish(None);
    let (text, notes) = written(&recording, TextFormat::PerfScript);
    let (again, _) = read_from(&text[..], "text").unwrap();
    assert_same(&events(&recording), &events(&again));
    assert_eq!(notes, [] as [&str; 0]);
    let (text, notes) = written(&recording, TextFormat::Ftrace);
    let (again, _) = read_from(&text[..], "text").unwrap();
    let readable = |event: &String| event.replace("==> next_comm=", "__>_next_comm_");
    let expected: Vec<String> = events(&recording).iter().map(readable).collect();
    let expected: Vec<String> = expected
        .iter()
        .map(|event| event.replace("a b", "a_b").replace("x pid=1", "x_pid_1"))
        .map(|event| event.replace("e [3]", "e_[3]").replace("é=ß", "é_ß"))
        .collect();
    assert_same(&expected, &events(&again));
    assert_eq!(notes, ["blanks and = in names became _"]);
}

/// Our Perfetto file contains the tasks that ran, their states, and the waker of each task.
#[test]
fn perfetto() {
    for name in ["hackbench-4g", "make-j4-gcc"] {
        let (mut recording, _) = read(&example(name)).unwrap();
        recording.at_least_cpus(3);
        let mut sink = Tee(PerfettoSink::new(Vec::new()), Said::default());
        recording.play(&TraceInfo::default(), &mut sink);
        let Tee(file, said) = sink;
        let bytes = file.finish().unwrap();
        let (again, report) = read_from(&bytes[..], "x.pftrace").unwrap();
        assert_eq!(again.nr_cpus(), recording.nr_cpus());
        assert_eq!(report.nr_gaps, 0);
        assert!(again.carries.waking && !again.carries.wakeup);
        let mut said = said.lines;
        let mut read: Vec<(u64, u32, String)> = again.events().iter().filter_map(brief).collect();
        // For events at the same time on two CPUs the order is lost, because each CPU has its own
        // bundle.
        said.sort_by_key(|(time, cpu, _)| (*time, *cpu));
        read.sort_by_key(|(time, cpu, _)| (*time, *cpu));
        let (switches, wakings) = parts(&said);
        let (read_switches, read_wakings) = parts(&read);
        assert_same(&switches, &read_switches);
        // A waking that comes after its wakeup is moved before it when a file is read; some with
        // inferred switches have this form.
        assert_eq!(wakings.len(), read_wakings.len());
        let moved = wakings
            .iter()
            .filter(|waking| !read_wakings.contains(*waking));
        let (moved, all) = (moved.count(), wakings.len());
        assert!(moved * 1000 < all, "{name}: {moved} of {all} wakings");
    }
}

/// The lines of switches, and of wakings.
fn parts(lines: &[(u64, u32, String)]) -> (Vec<String>, BTreeSet<String>) {
    let is_waking = |line: &&(u64, u32, String)| line.2.starts_with("waking");
    let text = |line: &(u64, u32, String)| format!("{line:?}");
    let switches = lines.iter().filter(|line| !is_waking(line));
    let wakings = lines.iter().filter(is_waking);
    (switches.map(text).collect(), wakings.map(text).collect())
}

/// The switches and wakings of a trace, by thread ids.
#[derive(Default)]
struct Said {
    pids: Vec<u32>,
    lines: Vec<(u64, u32, String)>,
}

impl Sink for Said {
    fn task(&mut self, info: &TaskInfo) {
        self.pids.push(info.pid.unwrap());
    }
    fn event(&mut self, event: &Event) {
        let pid = |task: Option<TaskId>| task.map_or(0, |task| self.pids[task.index()]);
        let line = match event.kind {
            EventKind::Switch {
                prev,
                prev_state,
                next,
            } => {
                let state = match prev_state {
                    PrevState::Preempted => KernelState::PreemptedInKernel,
                    PrevState::Sleeping => KernelState::Sleeping,
                    PrevState::DiskSleep => KernelState::DiskSleep,
                    PrevState::Exited => KernelState::Dead,
                    PrevState::Yielded | PrevState::Moved | PrevState::Idle => {
                        KernelState::Runnable
                    }
                };
                format!("{} {state:?} {}", pid(prev), pid(next))
            }
            EventKind::Waking { task, by } => format!("waking {} {by:?}", pid(Some(task))),
            EventKind::Fork {
                child,
                parent: Some(parent),
            } => format!("{} forks {}", pid(Some(parent)), pid(Some(child))),
            _ => return,
        };
        self.lines.push((event.time.0, event.cpu.0, line));
    }
}

fn brief(event: &KernelEvent) -> Option<(u64, u32, String)> {
    let line = match event.kind {
        KernelEventKind::Switch {
            prev,
            prev_state,
            next,
        } => format!("{} {prev_state:?} {}", prev.pid.0, next.pid.0),
        KernelEventKind::Waking { task, by, .. } => format!("waking {} {by:?}", task.pid.0),
        KernelEventKind::Fork { parent, child, .. } => format!("{} forks {}", parent.0, child.0),
        // They come with the fork.
        KernelEventKind::NewTask { .. } | KernelEventKind::Wakeup { .. } => return None,
        other => panic!("{other:?}"),
    };
    Some((event.time.0, event.cpu.0, line))
}
