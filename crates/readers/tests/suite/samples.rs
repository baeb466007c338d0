//! Small recordings of every kind, and single lines as tools print them.

use std::collections::BTreeMap;

use crate::common::{assert_same, events, sample};
use schedlab_readers::{read, read_from, Compression, FileFormat};
use schedlab_recording::{KernelEventKind, KernelState, Pid, Recording};
use schedlab_trace::WakeContext;

fn count(recording: &Recording, is: impl Fn(&KernelEventKind) -> bool) -> usize {
    let kinds = recording.events().iter().map(|event| event.kind);
    kinds.filter(is).count()
}

/// [switches, wakings, wakeups, migrations, forks, exits, new tasks, renamings, execs]
fn kinds(recording: &Recording) -> [usize; 9] {
    type Kind = KernelEventKind;
    [
        count(recording, |k| matches!(k, Kind::Switch { .. })),
        count(recording, |k| matches!(k, Kind::Waking { .. })),
        count(recording, |k| matches!(k, Kind::Wakeup { .. })),
        count(recording, |k| matches!(k, Kind::Migrate { .. })),
        count(recording, |k| matches!(k, Kind::Fork { .. })),
        count(recording, |k| matches!(k, Kind::Exit { .. })),
        count(recording, |k| matches!(k, Kind::NewTask { .. })),
        count(recording, |k| matches!(k, Kind::Rename { .. })),
        count(recording, |k| matches!(k, Kind::Exec { .. })),
    ]
}

/// Samples by `perf script`, forks and execs by `perf script --show-task-events`: those between the
/// first and the last sample. Exits also have a tracepoint.
#[test]
fn perf_data() {
    let (recording, report) = read(&sample("perf.data")).unwrap();
    assert_eq!(report.format, FileFormat::PerfData);
    assert_eq!(kinds(&recording), [27, 27, 27 + 6, 2, 6, 7, 6, 6, 6]);
    let (start, end) = recording.span;
    assert_eq!((start.0, end.0), (18_136_600_774_242, 18_136_671_613_531));
    assert_eq!((report.resolution_ns, report.nr_out_of_order), (1, 0));
    let state = |state| {
        let is = |k: &KernelEventKind| match k {
            KernelEventKind::Switch { prev_state, .. } => *prev_state == state,
            _ => false,
        };
        count(&recording, is)
    };
    let states = [
        KernelState::DiskSleep,
        KernelState::Runnable,
        KernelState::PreemptedInKernel,
        KernelState::Sleeping,
    ];
    assert_eq!(states.map(state), [10, 2, 6, 9]);
    let lines = events(&recording);
    let first = "18136600774242 1 switch sh:21878:120 DiskSleep rm:16881:120";
    assert_eq!(lines[0], first);
    let new = lines
        .iter()
        .position(|line| line.contains(" new "))
        .unwrap();
    assert_eq!(lines[new], "18136604743241 1 new 21891 sh false");
    assert_eq!(lines[new + 1], "18136604756531 1 fork 21878 21891 sh");
}

/// A recording of one event: its samples have no event id.
#[test]
fn perf_data_of_one_event() {
    let (recording, report) = read(&sample("perf-one.data")).unwrap();
    assert_eq!(kinds(&recording), [18, 0, 0, 0, 0, 0, 0, 0, 0]);
    let first = "18849430807612 1 switch sh:14417:120 DiskSleep lto cgu.1.rcgu.:14406:120";
    assert_eq!(events(&recording)[0], first);
    let note = "no wakeups were recorded: the times when tasks became runnable are unknown";
    assert_eq!(report.notes, [note]);
}

#[test]
fn perf_data_compressed_by_perf() {
    let (recording, _) = read(&sample("perf-z.data")).unwrap();
    assert_eq!(kinds(&recording), [9, 2, 2 + 2, 0, 2, 3, 2, 2, 2]);
    assert_eq!(recording.span.1 .0, 18_172_247_410_249);
}

/// The first fork's record comes before the first sample: it only names the thread's process.
#[test]
fn perf_data_of_a_pipe() {
    let (recording, _) = read(&sample("perf-pipe.data")).unwrap();
    assert_eq!(kinds(&recording), [6, 2, 2 + 2, 0, 2, 3, 1, 2, 2]);
    assert_eq!(recording.process_of(Pid(23_128)), Some(Pid(23_128)));
}

#[test]
fn ftrace() {
    let (recording, report) = read(&sample("trace.ftrace")).unwrap();
    assert_eq!(report.format, FileFormat::Ftrace);
    assert_eq!((report.resolution_ns, report.nr_other_lines), (1000, 12));
    assert_eq!(kinds(&recording), [20, 8, 8 + 3, 2, 3, 3, 0, 0, 0]);
    // d.h2. and d.s3. are interrupts; d..4. and dN.4. are not.
    let by_irq = |k: &KernelEventKind| match k {
        KernelEventKind::Waking { by, .. } => *by != WakeContext::Task,
        _ => false,
    };
    assert_eq!(count(&recording, by_irq), 2);
    assert_eq!(recording.process_of(Pid(23_090)), Some(Pid(23_085)));
}

/// Written with Perfetto's own Python package: single events, a compact bundle after a loss (its
/// first switch does not name the previous task), the same compressed.
#[test]
fn perfetto() {
    for name in ["events.pftrace", "deflated.pftrace"] {
        let (recording, report) = read(&sample(name)).unwrap();
        assert_eq!(report.format, FileFormat::Perfetto);
        let expected = [
            "1000 1 waking worker one:101:120 by Irq on 1",
            "1100 1 wakeup worker one:101:120 by Irq on 1",
            "1200 1 switch swapper/1:0:120 Runnable worker one:101:120",
            "1300 1 new 102 worker one true",
            "1310 1 fork 101 102 worker one",
            "1320 1 wakeup worker one:102:120 by Task on 0",
            "1330 1 migrate worker one:102:120 0 1",
            "1340 1 exec 101",
            "1350 1 rename 101 x",
            "1400 1 switch x:101:120 PreemptedInKernel rt:50:-1",
            "1450 1 exit rt:50:-1",
            "1500 1 switch rt:50:-1 Dead worker one:102:120",
            "2050 0 waking x:101:120 by SoftIrq on 1",
            "2100 0 switch swapper:0:120 Runnable x:101:120",
            "2150 0 switch x:101:120 Sleeping swapper:0:120",
        ];
        assert_eq!(events(&recording), expected);
        assert_eq!(report.nr_gaps, 1);
        // cpu_frequency
        let ignored = BTreeMap::from([("FtraceEvent field 11".to_string(), 1)]);
        assert_eq!(report.ignored, ignored);
        assert_eq!(recording.process_of(Pid(101)), Some(Pid(100)));
    }
}

/// The files are equal for every compression.
#[test]
fn compressed_files() {
    use std::io::Write;
    let text = std::fs::read(sample("trace.ftrace")).unwrap();
    let perf = std::fs::read(sample("perf.data")).unwrap();
    for (plain, format) in [(&text, FileFormat::Ftrace), (&perf, FileFormat::PerfData)] {
        let (expected, _) = read_from(&plain[..], "plain").unwrap();
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(plain).unwrap();
        let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 1);
        xz.write_all(plain).unwrap();
        let packed = [
            (gzip.finish().unwrap(), Compression::Gzip),
            (xz.finish().unwrap(), Compression::Xz),
            (zstd::encode_all(&plain[..], 1).unwrap(), Compression::Zstd),
        ];
        for (bytes, compression) in packed {
            let (recording, report) = read_from(&bytes[..], "packed").unwrap();
            assert_eq!(report.compression, Some(compression));
            assert_eq!(report.format, format);
            assert_eq!(events(&recording), events(&expected));
            let cut = read_from(&bytes[..bytes.len() / 2], "packed").unwrap_err();
            let message = cut.to_string();
            assert!(message.contains("incomplete"), "{message}");
        }
    }
}

/// Reads lines; returns the lines of events, or the message.
#[track_caller]
fn lines(text: &str) -> Vec<String> {
    match read_from(text.as_bytes(), "text") {
        Ok((recording, _)) => events(&recording),
        Err(mistake) => vec![mistake.to_string()],
    }
}

const SWITCH: &str =
    "prev_comm=a prev_pid=1 prev_prio=120 prev_state=R ==> next_comm=b next_pid=2 next_prio=120";

/// µs and ns, `pid` and `pid/tid`, with and without the system's name, with a period, a task that
/// has exited.
#[test]
fn lines_of_perf_script() {
    for head in [
        "a 1 [003] 5.000001: sched:sched_switch:",
        "       a     1 [003]     5.000001000: sched:sched_switch:",
        "a  9/1  [003] 5.000001: sched_switch:",
        "a b: c-d [0] 1 [003] 5.000001:       sched:sched_switch:",
        "a 1 [003] 5.000001:          1 sched:sched_switch:",
        ":-1 -1/-1 [003] 5.000001: sched:sched_switch:",
    ] {
        let text = format!("# a comment\n\n{head} {SWITCH}\n\tffffffff81000000 f+0x1 ([k])\n");
        let expected = "5000001000 3 switch a:1:120 Runnable b:2:120";
        assert_eq!(lines(&text), [expected], "{head}");
    }
}

/// 4, 5 and 8 flags or none, with and without the process, a name with all special characters, and
/// trace-cmd's formats of switches and wakeups.
#[test]
fn lines_of_ftrace_and_trace_cmd() {
    let brief = "a:1 [120] R ==> b:2 [120]";
    let raw =
        "prev_comm=a prev_pid=1 prev_prio=120 prev_state=0x0 next_comm=b next_pid=2 next_prio=120";
    for (head, arguments) in [
        ("a-1 [003] d..2 5.000001: sched_switch:", SWITCH),
        ("a-1 [003] d..2. 5.000001: sched_switch:", SWITCH),
        ("a-1 (  1) [003] d..2. 5.000001: sched_switch:", SWITCH),
        (
            "a-1 (-------) [003] d..2.... 5.000001: sched_switch:",
            SWITCH,
        ),
        (" k/1-x: [7] (y)-1 [003] 5.000001000: sched_switch:", SWITCH),
        ("<...>-1 [003] 5.000001: sched_switch:", brief),
        ("a-1     [003]     5.000001: sched_switch:        ", brief),
        ("a-1 [003] 5.000001: sched_switch:", raw),
    ] {
        let text = format!("cpus=4\n{head} {arguments}\n");
        let expected = "5000001000 3 switch a:1:120 Runnable b:2:120";
        assert_eq!(lines(&text), [expected], "{head}");
    }
    let wakeup = "\
        a-1 [000] d.h3 5.0: sched_wakeup: comm=x y pid=7 prio=120 success=1 target_cpu=002\n\
        a-1 [000] d..3 5.1: sched_wakeup: x:y:8 [98] success=1 CPU:001\n\
        a-1 [000] d..3 5.2: sched_migrate_task: comm=z pid=9 prio=98 orig_cpu=0 dest_cpu=1\n";
    let text = format!("{wakeup}a-1 [000] d..2 6.0: sched_switch: {SWITCH}\n");
    assert_eq!(
        lines(&text)[..3],
        [
            "5000000000 0 wakeup x y:7:120 by Irq on 2",
            "5100000000 0 wakeup x:y:8:98 by Task on 1",
            "5200000000 0 migrate z:9:98 0 1",
        ]
    );
}

/// Losses are counted, other events are counted by name, and a line out of order is sorted.
#[test]
fn what_is_not_taken_is_counted() {
    let text = format!(
        "# tracer: nop\n\
         CPU:1 [LOST 23 EVENTS]\n\
         CPU:0 [7 EVENTS DROPPED]\n\
         CPU:2 [LOST EVENTS]\n\
         ##### CPU 2 buffer started ####\n\
         a-1 [000] d..2 6.0: sched_switch: {SWITCH}\n\
         a-1 [000] d..2 5.0: sched_switch: {SWITCH}\n\
         a-1 [000] d..2 7.0: sched_stat_sleep: comm=a pid=1 delay=5 [ns]\n\
         a-1 [000] d..2 7.0: sched_stat_sleep: comm=a pid=1 delay=5 [ns]\n\
         => schedule\n"
    );
    let (recording, report) = read_from(text.as_bytes(), "text").unwrap();
    assert_eq!((recording.nr_lost, report.nr_gaps), (30, 3));
    let ignored = BTreeMap::from([("sched_stat_sleep".to_string(), 2)]);
    assert_eq!(report.ignored, ignored);
    assert_eq!((report.nr_other_lines, report.nr_out_of_order), (3, 1));
    assert!(events(&recording)[0].starts_with("5000000000 "));
}

/// One message each: file, line or byte, problem, expected content.
#[test]
fn mistakes_are_told_where_they_are() {
    let says = |bytes: &[u8], message: &str| {
        let mistake = read_from(bytes, "f").unwrap_err().to_string();
        assert!(mistake.starts_with(message), "{mistake}");
    };
    let line = format!("a 1 [000] 5.0: sched:sched_switch: {SWITCH}\n");
    says(b"", "f: the file is empty; expected perf.data");
    says(
        b"hello\n",
        "f: this is not a recording that schedlab can read; expected perf.data",
    );
    says(
        format!("{line}junk\n").as_bytes(),
        "f:2: this is not a line of perf script text: \"junk\"; expected \"comm pid",
    );
    says(
        format!("{line}a 1 [000] 6.0: sched:sched_switch: prev_comm=a prev_p").as_bytes(),
        "f:2: the file ends inside this line: the arguments of sched_switch cannot be read",
    );
    says(
        b"a 1 [000] 6.0: sched:sched_wakeup: comm=a pid=x prio=1 target_cpu=0\n",
        "f:1: the arguments of sched_wakeup cannot be read: \"a 1 [000]",
    );
    says(
        b"a 1 [000] 6.0: sched:sched_stat_runtime: x\n",
        "f: the file has no sched_switch, but sched_stat_runtime; expected a recording of the scheduler",
    );
    says(
        b"\x17\x08\x44tracing0",
        "f: a trace.dat of trace-cmd; expected its text, as of",
    );
    says(
        b"2ELIFREP",
        "f: a perf.data of a big-endian machine; expected",
    );
    // A packet of 3 bytes, and one of 5 bytes with only 1.
    says(
        &[0x0a, 3, 0x40, 0xac, 2, 0x0a, 5, 0x40],
        "f: byte 5: the file ends inside this packet; expected a complete Perfetto trace",
    );
    let perf = std::fs::read(sample("perf.data")).unwrap();
    says(
        &perf[..1000],
        "f: its head: the file is damaged or incomplete; expected a complete perf.data",
    );
}

#[test]
fn what_is_no_file_is_refused_at_once() {
    let says = |path: &str| read(path.as_ref()).unwrap_err().to_string();
    let missing = says("no/such.data");
    assert!(
        missing.starts_with("no/such.data: the file cannot be opened"),
        "{missing}"
    );
    assert_eq!(says("."), ".: this is a folder; expected a recording");
}

/// One recording, printed by trace-cmd 3.1.6 in three ways. With `-l` there are flags, so wakers
/// are known; `-R` prints raw fields. Counted with grep.
#[test]
fn trace_cmd_report() {
    let read = |name| read(&sample(name)).unwrap();
    let (plain, report) = read("trace-cmd.txt");
    assert_eq!(report.format, FileFormat::Ftrace);
    assert_eq!((report.resolution_ns, report.nr_other_lines), (1, 1));
    assert_eq!(kinds(&plain), [66, 32, 32 + 6, 3, 6, 6, 0, 0, 0]);
    assert_eq!(plain.nr_cpus(), 2);
    let (raw, _) = read("trace-cmd-R.txt");
    assert_same(&events(&plain), &events(&raw));
    let (flagged, _) = read("trace-cmd-l.txt");
    let but_for_contexts = |recording| -> Vec<String> {
        let events = events(recording).into_iter();
        let but = |line: String| {
            line.replace(" by Irq ", " by Task ")
                .replace(" by SoftIrq ", " by Task ")
        };
        events.map(but).collect()
    };
    assert_same(&but_for_contexts(&plain), &but_for_contexts(&flagged));
    assert!((flagged.has_contexts, plain.has_contexts) == (true, false));
}
