//! The text form, line by line, and parsed as its readers do.

use crate::common::{random_trace, small_trace, Trace};
use regex_lite::Regex;
use schedlab_trace::{pid, EventKind, FtraceSink, WakeContext};

fn text(trace: &Trace) -> String {
    let mut sink = FtraceSink::new(Vec::new());
    trace.play(&mut sink);
    String::from_utf8(sink.finish().unwrap()).unwrap()
}

/// Priorities: the editor 120 + 0, the compiler 120 + 5 and later + 7, the helper 99 - 10.
/// CPUs: the compiler moves by balancing, the editor by waking on CPU 1 and by being picked by
/// CPU 0, the helper by waking on CPU 0.  A wakeup names the CPU before the move as its target.
const SMALL: &str = "\
# tracer: nop
# simulated by schedlab
#
#           TASK-PID       TGID   CPU#  ||||  TIMESTAMP  FUNCTION
          <idle>-0       (-------) [000] d..2 0.000000000: sched_wakeup_new: comm=editor pid=1 prio=120 target_cpu=000
          <idle>-0       (-------) [000] d..2 0.000000000: sched_wakeup_new: comm=cc_1_x pid=2 prio=125 target_cpu=000
          <idle>-0       (-------) [000] d..2 0.000001000: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=editor next_pid=1 next_prio=120
          <idle>-0       (-------) [001] d..2 0.000001500: sched_migrate_task: comm=cc_1_x pid=2 prio=125 orig_cpu=0 dest_cpu=1
          <idle>-0       (-------) [001] d..2 0.000002000: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=cc_1_x next_pid=2 next_prio=125
          cc_1_x-2       (      2) [001] .... 0.000003000: sched_process_fork: comm=cc_1_x pid=2 child_comm=helper child_pid=3
          cc_1_x-2       (      2) [001] d..2 0.000003000: sched_wakeup_new: comm=helper pid=3 prio=89 target_cpu=001
          cc_1_x-2       (      2) [001] d..2 0.000003000: sched_switch: prev_comm=cc_1_x prev_pid=2 prev_prio=125 prev_state=R+ ==> next_comm=helper next_pid=3 next_prio=89
          editor-1       (      1) [000] d..2 0.000004000: sched_switch: prev_comm=editor prev_pid=1 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
          helper-3       (      2) [001] d..2 0.000004500: sched_waking: comm=editor pid=1 prio=120 target_cpu=000
          helper-3       (      2) [001] d..2 0.000004500: sched_migrate_task: comm=editor pid=1 prio=120 orig_cpu=0 dest_cpu=1
          helper-3       (      2) [001] d..2 0.000004500: sched_wakeup: comm=editor pid=1 prio=120 target_cpu=001
          helper-3       (      2) [001] d..2 0.000004500: sched_switch: prev_comm=helper prev_pid=3 prev_prio=89 prev_state=D ==> next_comm=editor next_pid=1 next_prio=120
          <idle>-0       (-------) [000] d.h2 0.000005000: sched_waking: comm=helper pid=3 prio=89 target_cpu=001
          <idle>-0       (-------) [000] d.h2 0.000005000: sched_migrate_task: comm=helper pid=3 prio=89 orig_cpu=1 dest_cpu=0
          <idle>-0       (-------) [000] d.h2 0.000005000: sched_wakeup: comm=helper pid=3 prio=89 target_cpu=000
          <idle>-0       (-------) [000] d..2 0.000005200: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=helper next_pid=3 next_prio=89
          helper-3       (      2) [000] .... 0.000006000: sched_process_exit: comm=helper pid=3 prio=89
          helper-3       (      2) [000] d..2 0.000006000: sched_switch: prev_comm=helper prev_pid=3 prev_prio=89 prev_state=Z ==> next_comm=swapper/0 next_pid=0 next_prio=120
          editor-1       (      1) [001] d..2 0.000007000: sched_switch: prev_comm=editor prev_pid=1 prev_prio=120 prev_state=R ==> next_comm=cc_1_x next_pid=2 next_prio=127
          <idle>-0       (-------) [000] d..2 0.000007500: sched_migrate_task: comm=editor pid=1 prio=120 orig_cpu=1 dest_cpu=0
          <idle>-0       (-------) [000] d..2 0.000007500: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=editor next_pid=1 next_prio=120
";

#[test]
fn small_trace_reads_as_worked_out_by_hand() {
    let text = text(&small_trace());
    for (line, (got, expected)) in (1..).zip(text.lines().zip(SMALL.lines())) {
        assert_eq!(got, expected, "line {line}");
    }
    assert_eq!(text, SMALL);
}

/// The expressions of Perfetto's reader before and after it learnt of a fifth flag.
#[test]
fn every_line_is_one_perfetto_accepts() {
    let text = text(&random_trace(1, 20_000, 4));
    assert!(text.starts_with("# tracer"));
    for flags in ["{0,4}", "{0,5}"] {
        let line = Regex::new(&format!(
            r"-(\d+)\s+\(?\s*(\d+|-+)?\)?\s?\[(\d+)\]\s*[a-zA-Z0-9.]{flags}\s+(\d+\.\d+):\s+(\S+):"
        ))
        .unwrap();
        for text in text.lines().filter(|l| !l.starts_with('#')) {
            assert!(line.is_match(text), "{text}");
        }
    }
}

/// Perfetto splits what follows the event's name at spaces and `=`: keys and values must
/// alternate, but for the arrow.
#[test]
fn arguments_split_into_keys_and_values() {
    let text = text(&random_trace(2, 20_000, 4));
    for line in text.lines().filter(|l| !l.starts_with('#')) {
        let arguments = line.splitn(3, ": ").nth(2).unwrap();
        for argument in arguments.split(' ').filter(|a| *a != "==>") {
            let parts: Vec<_> = argument.split('=').collect();
            assert!(
                parts.len() == 2 && parts.iter().all(|p| !p.is_empty()),
                "{line}"
            );
        }
    }
}

/// Every switch and every waking of a random trace comes back, with its CPU, time and context,
/// from a parser like LISA's: named groups, then `key=value` pairs.
#[test]
fn switches_and_wakings_survive_the_round_trip() {
    let trace = random_trace(3, 20_000, 4);
    let text = text(&trace);
    let head = Regex::new(
        r"(?m)^\s*(?P<comm>\S+)-(?P<pid>\d+)\s+\(\s*[\d-]+\)\s+\[(?P<cpu>\d+)\]\s+(?P<flags>\S{4})\s+(?P<s>\d+)\.(?P<ns>\d{9}):\s+(?P<event>\w+): (?P<fields>.*)$",
    )
    .unwrap();
    let field = |line: &regex_lite::Captures<'_>, key: &str| -> u32 {
        let pairs = line.name("fields").unwrap().as_str().split(' ');
        let mut values = pairs.filter_map(|pair| pair.strip_prefix(key)?.strip_prefix('='));
        values.next().unwrap().parse().unwrap()
    };
    let read: Vec<_> = head
        .captures_iter(&text)
        .filter_map(|line| {
            let number = |group: &str| line[group].parse::<u64>().unwrap();
            let at = (
                number("s") * 1_000_000_000 + number("ns"),
                number("cpu") as u32,
            );
            match &line["event"] {
                "sched_switch" => Some((at, field(&line, "prev_pid"), field(&line, "next_pid"))),
                "sched_waking" => Some((
                    at,
                    field(&line, "pid"),
                    u32::from(&line["flags"][2..3] == "h"),
                )),
                _ => None,
            }
        })
        .collect();
    let written: Vec<_> = trace
        .events()
        .filter_map(|event| {
            let at = (event.time.0, event.cpu.0);
            match event.kind {
                EventKind::Switch { prev, next, .. } => {
                    Some((at, prev.map_or(0, pid), next.map_or(0, pid)))
                }
                EventKind::Waking { task, by } => {
                    Some((at, pid(task), u32::from(by == WakeContext::Irq)))
                }
                _ => None,
            }
        })
        .collect();
    assert!(written.len() > 5_000);
    assert_eq!(read, written);
}
