//! The Perfetto form, read back by a generic Protocol Buffers reader.  The numbers of fields stand
//! here as plain numbers, from Perfetto's schema, so that a wrong one in the writer shows.
//! `tests/perfetto/decode.py` compares every event with Perfetto's own bindings.

#[path = "common/reader.rs"]
mod reader;

use std::collections::BTreeMap;
use std::io;

use crate::common::{random_trace, random_trace_without_ties, small_trace, switch, Record, Trace};
use reader::Fields;
use schedlab_trace::{
    CpuId, Event, EventKind, MarkId, PerfettoSink, PrevState, Sink, TaskId, Time, WakeContext,
};

fn encode(trace: &Trace) -> Vec<u8> {
    let mut sink = PerfettoSink::new(Vec::new());
    trace.play(&mut sink);
    sink.finish().unwrap()
}

fn packets(trace: &Trace) -> Vec<Fields> {
    Fields::parse(&encode(trace)).messages(1)
}

/// (time, previous state, next pid, next priority, next name)
type SwitchRow = (u64, u64, u64, u64, String);
/// (time, pid, target CPU, priority, flags, name)
type WakingRow = (u64, u64, u64, u64, u64, String);

/// Times from their differences.
fn times(deltas: &[u64]) -> Vec<u64> {
    deltas
        .iter()
        .scan(0, |time, delta| {
            *time += delta;
            Some(*time)
        })
        .collect()
}

fn compact(packets: &[Fields], cpu: u64) -> impl Iterator<Item = Fields> + '_ {
    packets
        .iter()
        .filter_map(|p| p.message(1))
        .filter(move |bundle| bundle.number(1) == Some(cpu))
        .map(|bundle| bundle.message(4).unwrap())
}

fn switches(packets: &[Fields], cpu: u64) -> Vec<SwitchRow> {
    let mut rows = Vec::new();
    for c in compact(packets, cpu) {
        let (names, times) = (c.texts(5), times(&c.packed(1)));
        let [states, pids, prios, comms] = [2, 3, 4, 6].map(|field| c.packed(field));
        for i in 0..times.len() {
            rows.push((
                times[i],
                states[i],
                pids[i],
                prios[i],
                names[comms[i] as usize].clone(),
            ));
        }
    }
    rows
}

fn wakings(packets: &[Fields], cpu: u64) -> Vec<WakingRow> {
    let mut rows = Vec::new();
    for c in compact(packets, cpu) {
        let (names, times) = (c.texts(5), times(&c.packed(7)));
        let [pids, targets, prios, comms, flags] = [8, 9, 10, 11, 12].map(|field| c.packed(field));
        for i in 0..times.len() {
            let name = names[comms[i] as usize].clone();
            rows.push((times[i], pids[i], targets[i], prios[i], flags[i], name));
        }
    }
    rows
}

/// Samples (time, value) of each counter track, by the track's name.
fn counters(packets: &[Fields]) -> BTreeMap<String, Vec<(u64, i64)>> {
    let mut names = BTreeMap::new();
    let mut samples: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for packet in packets {
        if let Some(track) = packet
            .message(60)
            .filter(|track| track.message(8).is_some())
        {
            names.insert(track.number(1).unwrap(), track.texts(2).concat());
        }
        if let Some(event) = packet
            .message(11)
            .filter(|event| event.number(9) == Some(4))
        {
            let name = names[&event.number(11).unwrap()].clone();
            let sample = (packet.number(8).unwrap(), event.number(30).unwrap() as i64);
            samples.entry(name).or_default().push(sample);
        }
    }
    samples
}

#[test]
fn the_kernel_release_comes_first() {
    let packets = packets(&small_trace());
    let system = packets[0].message(45).expect("system_info");
    assert_eq!(system.message(1).unwrap().texts(3), ["6.12.0-schedlab"]);
    assert_eq!(system.number(8), Some(2));
    // SEQ_INCREMENTAL_STATE_CLEARED on the first packet, a sequence on every packet.
    assert_eq!(packets[0].number(13), Some(1));
    assert!(packets.iter().all(|p| p.number(10) == Some(1)));
}

/// S is 1, D is 2, Z is 0x20 = 32, R+ is 0x100 = 256, R is 0.
#[test]
fn switches_are_as_worked_out_by_hand() {
    let packets = packets(&small_trace());
    let row = |time, state, pid, prio, name: &str| (time, state, pid, prio, name.to_string());
    assert_eq!(
        switches(&packets, 0),
        [
            row(0, 0, 0, 120, "swapper"), // Two for the reader to start from.
            row(0, 0, 0, 120, "swapper"),
            row(1_000, 0, 1, 120, "editor"),
            row(4_000, 1, 0, 120, "swapper"),
            row(5_200, 0, 3, 89, "helper"),
            row(6_000, 32, 0, 120, "swapper"),
            row(7_500, 0, 1, 120, "editor"),
        ]
    );
    assert_eq!(
        switches(&packets, 1),
        [
            row(0, 0, 0, 120, "swapper"),
            row(0, 0, 0, 120, "swapper"),
            row(2_000, 0, 2, 125, "cc 1=x"),
            row(3_000, 256, 3, 89, "helper"),
            row(4_500, 2, 1, 120, "editor"),
            row(7_000, 0, 2, 127, "cc 1=x"),
        ]
    );
}

/// The target is the CPU before the wakeup; flags are 1 from a task and 1 + 8 from an interrupt.
#[test]
fn wakings_are_as_worked_out_by_hand() {
    let packets = packets(&small_trace());
    assert_eq!(
        wakings(&packets, 0),
        [(5_000, 3, 1, 89, 9, "helper".into())]
    );
    assert_eq!(
        wakings(&packets, 1),
        [(4_500, 1, 0, 120, 1, "editor".into())]
    );
}

/// The compiler forks the helper, a thread of its process, which runs at once.
#[test]
fn forks_are_as_worked_out_by_hand() {
    let packets = packets(&small_trace());
    let bundles = packets.iter().filter_map(|p| p.message(1));
    let events: Vec<Fields> = bundles.flat_map(|bundle| bundle.messages(2)).collect();
    // A yield follows at 7 µs.
    let [new, fork, woken, _yield] = &events[..] else {
        panic!("{events:?}");
    };
    for event in [new, fork, woken] {
        assert_eq!((event.number(1), event.number(2)), (Some(3_000), Some(2)));
    }
    let new = new.message(235).expect("task_newtask");
    assert_eq!((new.number(1), new.number(3)), (Some(3), Some(0x10000)));
    assert_eq!(new.texts(2), ["helper"]);
    let fork = fork.message(239).expect("sched_process_fork");
    assert_eq!((fork.number(2), fork.number(4)), (Some(2), Some(3)));
    let woken = woken.message(114).expect("sched_wakeup_new");
    assert_eq!((woken.number(2), woken.number(3)), (Some(3), Some(89)));
    assert_eq!(woken.number(5), Some(1));
}

/// A reader takes a bundle's switches before its wakings and forks.  Where the waker blocks in the very
/// nanosecond of its waking, or the child runs in that of the fork, a bundle must therefore end.
#[test]
fn a_waking_stays_before_the_switch_of_the_same_nanosecond() {
    let packets = packets(&small_trace());
    let bundles: Vec<_> = compact(&packets, 1)
        .map(|c| (times(&c.packed(1)), times(&c.packed(7))))
        .collect();
    assert_eq!(
        bundles,
        [
            (vec![0, 0, 2_000], vec![]),
            (vec![3_000], vec![4_500]),
            (vec![4_500], vec![]),
            (vec![7_000], vec![])
        ]
    );
}

/// The helper is a thread of the compiler's process, so its thread group is pid 2.
#[test]
fn processes_and_threads_have_names() {
    let packets = packets(&small_trace());
    let (mut processes, mut threads) = (Vec::new(), Vec::new());
    for tree in packets.iter().filter_map(|p| p.message(2)) {
        for p in tree.messages(1) {
            processes.push((
                p.number(1).unwrap(),
                p.number(2).unwrap(),
                p.texts(3).concat(),
            ));
        }
        for t in tree.messages(2) {
            threads.push((
                t.number(1).unwrap(),
                t.number(3).unwrap(),
                t.texts(2).concat(),
            ));
        }
    }
    assert_eq!(
        processes,
        [(1, 0, "editor".to_string()), (2, 0, "cc 1=x".to_string())]
    );
    assert_eq!(
        threads,
        [
            (1, 1, "editor".into()),
            (2, 2, "cc 1=x".into()),
            (3, 2, "helper".to_string())
        ]
    );
}

/// Waiting on CPU 0: both tasks at 0, one once the editor runs, none once the compiler moved, the
/// helper from 5000 to 5200.  On CPU 1: the compiler from 1500 to 2000 and from 3000 on, when
/// the helper displaces it; at 7000 the editor takes its place until CPU 0 picks it at 7500.
/// The end repeats the number of runnable tasks.
#[test]
fn counters_are_as_worked_out_by_hand() {
    let counters = counters(&packets(&small_trace()));
    let expect: [(&str, &[(u64, i64)]); 8] = [
        ("array switches", &[(5_400, 4)]),
        ("frame latency", &[(5_400, 700)]),
        ("message", &[(5_300, 2), (5_400, 3)]),
        ("priority", &[(5_300, -3)]),
        (
            "runnable tasks",
            &[
                (0, 2),
                (3_000, 3),
                (4_000, 2),
                (5_000, 3),
                (6_000, 2),
                (8_000, 2),
            ],
        ),
        (
            "waiting for CPU 0",
            &[(0, 2), (1_000, 1), (1_500, 0), (5_000, 1), (5_200, 0)],
        ),
        (
            "waiting for CPU 1",
            &[(0, 0), (1_500, 1), (2_000, 0), (3_000, 1), (7_500, 0)],
        ),
        ("recalculations", &[]),
    ];
    for (name, samples) in expect {
        assert_eq!(counters.get(name).map_or(&[][..], |s| s), samples, "{name}");
    }
    assert_eq!(counters.len(), 7, "{:?}", counters.keys());
}

/// A priority is a child of its task's own track: pid and tid 1 for the editor.
#[test]
fn priorities_hang_under_their_thread() {
    let packets = packets(&small_trace());
    let tracks: Vec<_> = packets.iter().filter_map(|p| p.message(60)).collect();
    let priority = tracks.iter().find(|t| t.texts(2) == ["priority"]).unwrap();
    let parent = tracks
        .iter()
        .find(|t| t.number(1) == priority.number(5))
        .unwrap();
    let thread = parent.message(4).unwrap();
    assert_eq!((thread.number(1), thread.number(2)), (Some(1), Some(1)));
}

/// Of 70 tasks with priorities 64 get a track, and one instant says so.
#[test]
fn priority_tracks_are_capped_and_the_file_says_so() {
    let mut trace = Trace::new(1);
    for id in 0..70 {
        trace.task(id, &format!("task-{id}"), id, 0, 0);
        trace.event(
            10,
            0,
            EventKind::Priority {
                task: TaskId(id),
                priority: 5,
            },
        );
    }
    let packets = packets(&trace);
    assert_eq!(counters(&packets)["priority"].len(), 64);
    let instants: Vec<_> = packets
        .iter()
        .filter_map(|p| p.message(11))
        .filter(|event| event.number(9) == Some(3))
        .map(|event| event.texts(23).concat())
        .collect();
    assert_eq!(instants, ["only the first 64 tasks have one"]);
}

/// 150 000 switches on one of 4 CPUs come in bundles of at most 64 K, each starting from zero.
#[test]
fn bundles_are_bounded() {
    let mut trace = Trace::new(4);
    trace.task(0, "hog", 0, 0, 0);
    for i in 0..75_000 {
        let hog = Some(TaskId(0));
        trace.event(20 * i + 10, 2, switch(None, PrevState::Idle, hog));
        trace.event(20 * i + 20, 2, switch(hog, PrevState::Sleeping, None));
    }
    let packets = packets(&trace);
    let lengths: Vec<_> = compact(&packets, 2).map(|c| c.packed(1).len()).collect();
    assert_eq!(lengths, [65_536, 65_536, 150_002 - 2 * 65_536]);
    let rows = switches(&packets, 2);
    assert!((1..).zip(&rows[2..]).all(|(i, row)| row.0 == 10 * i));
}

/// What ends at once still opens every CPU, and `finish` without `end` loses nothing.
#[test]
fn an_empty_trace_and_an_unended_one_are_whole() {
    let packets = packets(&Trace::new(3));
    for cpu in 0..3 {
        assert_eq!(switches(&packets, cpu).len(), 2);
    }

    let mut sink = PerfettoSink::new(Vec::new());
    let trace = small_trace();
    sink.begin(&trace.info);
    for record in &trace.records {
        match record {
            crate::common::Record::Task(info) => sink.task(info),
            crate::common::Record::Event(event) => sink.event(event),
        }
    }
    let unended = Fields::parse(&sink.finish().unwrap()).messages(1);
    assert_eq!(switches(&unended, 0).len(), 7);
}

/// The same trace gives the same bytes.
#[test]
fn encoding_is_deterministic() {
    let bytes = || encode(&random_trace(7, 20_000, 8));
    assert!(bytes() == bytes());
}

/// (time, next pid) of every switch on a CPU, from the trace itself.
fn written_switches(trace: &Trace, cpu: u32) -> Vec<(u64, u64)> {
    let next_pid = |next: Option<TaskId>| next.map_or(0, |task| u64::from(task.0) + 1);
    trace
        .events()
        .filter(|event| event.cpu == CpuId(cpu))
        .filter_map(|event| match event.kind {
            EventKind::Switch { next, .. } => Some((event.time.0, next_pid(next))),
            _ => None,
        })
        .collect()
}

/// No switch is lost or altered in 100 000 random records.
#[test]
fn random_switches_survive_the_round_trip() {
    let trace = random_trace(11, 100_000, 4);
    let packets = packets(&trace);
    for cpu in 0..4 {
        let read: Vec<_> = switches(&packets, cpu.into())
            .iter()
            .map(|r| (r.0, r.2))
            .collect();
        assert_eq!(read[2..], written_switches(&trace, cpu), "CPU {cpu}");
    }
}

/// The bytes of all bundles, divided by the switches and wakings in them.
fn bytes_per_event(trace: &Trace) -> f64 {
    let packets = packets(trace);
    let bytes: usize = packets
        .iter()
        .filter_map(|p| p.bytes(1))
        .map(<[u8]>::len)
        .sum();
    let nr_cpus = trace.info.nr_cpus.into();
    let events = |cpu| switches(&packets, cpu).len() + wakings(&packets, cpu).len();
    bytes as f64 / (0..nr_cpus).map(events).sum::<usize>() as f64
}

/// A switch takes 3 bytes of time (gaps of up to 2 ms), 1 or 2 of state, 1 or 2 each of pid,
/// priority and name; a waking the same with target and flags instead of the state.
/// Where a waking and a switch share a nanosecond, a bundle ends, which costs some 90 bytes; so it does at a yield.
#[test]
fn an_event_takes_about_ten_bytes() {
    let mut without = random_trace_without_ties(11, 100_000, 4);
    let is_yield = |event: &Event| matches!(event.kind, EventKind::Yield { .. });
    without
        .records
        .retain(|record| !matches!(record, Record::Event(event) if is_yield(event)));
    let usual = bytes_per_event(&without);
    assert!((7.0..11.0).contains(&usual), "{usual} bytes an event");
    let tied = bytes_per_event(&random_trace(11, 100_000, 4));
    assert!(
        (usual..20.0).contains(&tied),
        "{tied} bytes an event with ties"
    );
}

/// A writer that is full after so many bytes.
struct Full(usize);

impl io::Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match bytes.len().min(self.0) {
            0 => Err(io::ErrorKind::StorageFull.into()),
            n => {
                self.0 -= n;
                Ok(n)
            }
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Errors surface at the end, whether they strike early or on the last flush.
#[test]
fn a_full_disk_is_an_error_not_a_panic() {
    for room in [0, 1_000, 200_000] {
        let mut sink = PerfettoSink::new(Full(room));
        random_trace(5, 50_000, 4).play(&mut sink);
        assert_eq!(
            sink.finish().err().unwrap().kind(),
            io::ErrorKind::StorageFull
        );
    }
}

/// Wakings and marks at the time of a trace's begin are kept too.
#[test]
fn the_first_nanosecond_counts() {
    let mut trace = Trace::new(1);
    trace.task(0, "early", 0, 0, 0);
    let (task, by) = (TaskId(0), WakeContext::Irq);
    trace.event(0, 0, EventKind::Waking { task, by });
    trace.event(
        0,
        0,
        EventKind::Wakeup {
            task,
            target: CpuId(0),
        },
    );
    trace.event(
        0,
        0,
        EventKind::Mark {
            task,
            mark: MarkId(1),
            count: 1,
        },
    );
    trace.event(0, 0, switch(None, PrevState::Idle, Some(task)));
    trace.end = Time(0);
    let packets = packets(&trace);
    assert_eq!(wakings(&packets, 0), [(0, 1, 0, 120, 9, "early".into())]);
    assert_eq!(switches(&packets, 0).len(), 3);
    assert_eq!(counters(&packets)["frame"], [(0, 1)]);
}
