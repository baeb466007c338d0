//! Helpers of several tests.

#![allow(dead_code)] // Not every test needs all of it.

use std::path::PathBuf;

use schedlab_recording::{KernelEventKind, Recording, TaskRef};

/// One of the example recordings.
pub fn example(name: &str) -> PathBuf {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/recordings");
    PathBuf::from(folder).join(format!("{name}.perf-script.txt.zst"))
}

/// A small file beside the tests.
pub fn sample(name: &str) -> PathBuf {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/samples");
    PathBuf::from(folder).join(name)
}

/// A task as "name:pid:priority".
fn task(recording: &Recording, task: TaskRef) -> String {
    let prio = task.prio.map_or("?".to_string(), |prio| prio.to_string());
    format!("{}:{}:{prio}", recording.name(task.comm), task.pid.0)
}

/// Each event as a line, with names instead of their numbers.
pub fn events(recording: &Recording) -> Vec<String> {
    let name = |comm| recording.name(comm);
    let task = |t| task(recording, t);
    let line = |event: &schedlab_recording::KernelEvent| {
        let what = match event.kind {
            KernelEventKind::Switch {
                prev,
                prev_state,
                next,
            } => format!("switch {} {prev_state:?} {}", task(prev), task(next)),
            KernelEventKind::Waking {
                task: t,
                by,
                target,
            } => {
                format!("waking {} by {by:?} on {target}", task(t))
            }
            KernelEventKind::Wakeup {
                task: t,
                by,
                target,
            } => {
                format!("wakeup {} by {by:?} on {target}", task(t))
            }
            KernelEventKind::Migrate { task: t, from, to } => {
                format!("migrate {} {from} {to}", task(t))
            }
            KernelEventKind::NewTask { pid, comm, thread } => {
                format!("new {} {} {thread}", pid.0, name(comm))
            }
            KernelEventKind::Fork {
                parent,
                child,
                child_comm,
            } => format!("fork {} {} {}", parent.0, child.0, name(child_comm)),
            KernelEventKind::Exec { pid } => format!("exec {}", pid.0),
            KernelEventKind::Rename { pid, comm } => format!("rename {} {}", pid.0, name(comm)),
            KernelEventKind::Exit { task: t } => format!("exit {}", task(t)),
            KernelEventKind::Yield { pid } => format!("yield {}", pid.0),
            KernelEventKind::Runtime { task: t, ns } => format!("ran {} {ns}", task(t)),
            KernelEventKind::Enter {
                pid,
                call,
                arguments,
            } => format!("enter {} {call} {arguments:x?}", pid.0),
            KernelEventKind::Return { pid, call, result } => {
                format!("return {} {call} {result}", pid.0)
            }
        };
        format!("{} {} {what}", event.time.0, event.cpu.0)
    };
    recording.events().iter().map(line).collect()
}

/// Compares line by line; shows the first difference.
#[track_caller]
pub fn assert_same(one: &[String], other: &[String]) {
    if let Some(at) = one.iter().zip(other).position(|(a, b)| a != b) {
        let end = |events: &[String]| events[at..events.len().min(at + 3)].join("\n");
        panic!("event {at}:\n{}\n\n{}", end(one), end(other));
    }
    assert_eq!(one.len(), other.len());
}
