//! The example recordings, counted.  The expected numbers were counted in the decompressed text
//! with other tools, for each `FILE`:
//!
//! ```text
//! grep -oE ' sched:[a-z_]+' FILE | sort | uniq -c
//! grep -oE 'prev_pid=[0-9]+ prev_prio=[0-9-]+ prev_state=[^ ]+' FILE | awk '{split($1,a,"=");
//!     split($3,b,"="); k = a[2]==0 ? "idle" : b[2]; c[k]++} END {for (k in c) print k, c[k]}'
//! head -1 FILE; tail -1 FILE    (the first and the last time)
//! ```

use std::collections::BTreeMap;

use crate::common::example;
use schedlab_measure::Measure;
use schedlab_readers::{read, Compression, FileFormat};
use schedlab_recording::{KernelEventKind, KernelState, Pid, Recording};
use schedlab_trace::TraceInfo;

/// The number of each event, by the names in the output of these commands.
fn counts(recording: &Recording) -> BTreeMap<&'static str, u64> {
    let mut counts = BTreeMap::new();
    for event in recording.events() {
        let name = match event.kind {
            KernelEventKind::Switch { prev, .. } if prev.pid == Pid::IDLE => "from idle",
            KernelEventKind::Switch { prev_state, .. } => match prev_state {
                KernelState::Runnable => "R",
                KernelState::PreemptedInKernel => "R+",
                KernelState::Sleeping => "S",
                KernelState::DiskSleep => "D",
                KernelState::Idle => "I",
                KernelState::Dead => "Z X",
                KernelState::Stopped => "T",
                KernelState::Parked => "P",
            },
            KernelEventKind::Waking { .. } => "sched_waking",
            KernelEventKind::Wakeup { .. } => "sched_wakeup",
            KernelEventKind::Migrate { .. } => "sched_migrate_task",
            KernelEventKind::Fork { .. } => "sched_process_fork",
            KernelEventKind::Exit { .. } => "sched_process_exit",
            KernelEventKind::NewTask { .. }
            | KernelEventKind::Exec { .. }
            | KernelEventKind::Rename { .. }
            | KernelEventKind::Yield { .. }
            | KernelEventKind::Runtime { .. }
            | KernelEventKind::Enter { .. }
            | KernelEventKind::Return { .. } => "others",
        };
        *counts.entry(name).or_default() += 1;
    }
    counts
}

struct Expected {
    lines: u64,
    /// In µs.
    span: (u64, u64),
    counts: &'static [(&'static str, u64)],
}

#[track_caller]
fn check(name: &str, expected: &Expected) {
    let (recording, report) = read(&example(name)).unwrap();
    assert_eq!(report.format, FileFormat::PerfScript);
    assert_eq!(report.compression, Some(Compression::Zstd));
    assert_eq!(report.resolution_ns, 1000);
    assert_eq!(report.nr_events, expected.lines);
    assert_eq!(report.nr_out_of_order + report.nr_other_lines, 0);
    assert!(report.ignored.is_empty(), "{:?}", report.ignored);
    assert_eq!(
        counts(&recording),
        expected.counts.iter().copied().collect()
    );
    let (start, end) = recording.span;
    assert_eq!(
        (start.0, end.0),
        (expected.span.0 * 1000, expected.span.1 * 1000)
    );
    assert_eq!(recording.nr_cpus(), 2);
    // The totals of the played trace are consistent.
    let mut measure = Measure::new();
    recording.play(&TraceInfo::default(), &mut measure);
    assert_eq!(measure.finish().accounting_error, None);
}

#[test]
fn apache() {
    let expected = Expected {
        lines: 98_949,
        span: (3_231_698_704, 3_233_415_117),
        counts: &[
            ("from idle", 13),
            ("R", 32_829),
            ("R+", 85),
            ("S", 32_647),
            ("D", 7),
            ("I", 284),
            ("Z X", 15 + 3),
            ("sched_wakeup", 32_948 + 10),
            ("sched_migrate_task", 80),
            ("sched_process_fork", 10),
            ("sched_process_exit", 18),
        ],
    };
    check("apache-ab-c150", &expected);
}

#[test]
fn hackbench() {
    let expected = Expected {
        lines: 25_395,
        span: (3_241_170_554, 3_241_389_285),
        counts: &[
            ("from idle", 29),
            ("R", 2571),
            ("R+", 17),
            ("S", 10_814),
            ("D", 2),
            ("I", 83),
            ("Z X", 159 + 2),
            ("sched_wakeup", 10_886 + 160),
            ("sched_migrate_task", 351),
            ("sched_process_fork", 160),
            ("sched_process_exit", 161),
        ],
    };
    check("hackbench-4g", &expected);
}

#[test]
fn make() {
    let expected = Expected {
        lines: 10_322,
        span: (3_357_287_400, 3_368_069_291),
        counts: &[
            ("from idle", 7),
            ("R", 5417),
            ("R+", 157),
            ("S", 462),
            ("D", 228),
            ("I", 1247),
            ("Z X", 122 + 1),
            ("sched_wakeup", 1895 + 122),
            ("sched_migrate_task", 419),
            ("sched_process_fork", 122),
            ("sched_process_exit", 123),
        ],
    };
    check("make-j4-gcc", &expected);
}

#[test]
fn mariadb() {
    let expected = Expected {
        lines: 361_068,
        span: (3_234_752_176, 3_236_774_716),
        counts: &[
            ("from idle", 1035),
            ("R", 42_082),
            ("R+", 20),
            ("S", 144_979),
            ("D", 9907),
            ("I", 4068),
            ("Z X", 1 + 8),
            ("sched_wakeup", 158_563 + 8),
            ("sched_migrate_task", 380),
            ("sched_process_fork", 8),
            ("sched_process_exit", 9),
        ],
    };
    check("mariadb-sysbench-8t", &expected);
}
