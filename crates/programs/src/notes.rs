//! Notes of a play for its recorder: tasks and marks.

use std::collections::HashMap;
use std::path::PathBuf;
use std::{fs, io};

use schedlab_recording::{Noted, NotedEvent, NotedGroup, NotedTask, Notes, NOTES_VARIABLE};

use crate::play::Played;
use crate::stage::What;

/// The tasks and marks of a play as notes for its recording.
pub fn notes(marks: &[String], played: &Played) -> Notes {
    let threads: HashMap<u32, u32> = played
        .tasks
        .iter()
        .map(|task| (task.slot.0, task.thread))
        .collect();
    Notes {
        start_ns: played.span.0 .0,
        end_ns: played.span.1 .0,
        marks: marks.to_vec(),
        tasks: played
            .tasks
            .iter()
            .map(|task| NotedTask {
                pid: task.thread,
                name: task.name.clone(),
                group: task.group.clone(),
                control_group: task.control_group,
            })
            .collect(),
        control_groups: played
            .control_groups
            .iter()
            .map(|(group, throttled)| NotedGroup {
                name: group.name.clone(),
                parent: group.parent,
                weight: group.weight,
                max: group.max,
                throttled: throttled.time,
                nr_throttled: throttled.periods,
            })
            .collect(),
        observers: played.observers.clone(),
        events: played
            .marks
            .iter()
            .map(|mark| NotedEvent {
                time: mark.time,
                pid: threads.get(&mark.slot.0).copied().unwrap_or(0),
                mark: mark.mark,
                what: match mark.what {
                    What::Count(count) => Noted::Count(count),
                    What::Time(time) => Noted::Time(time),
                    What::Group(group) => Noted::Group(group),
                },
            })
            .collect(),
    }
}

/// Writes the notes to the file that the recorder named, if there is a recorder.
///
/// # Errors
/// The file cannot be written.
pub fn leave_notes(notes: &Notes) -> io::Result<()> {
    match std::env::var_os(NOTES_VARIABLE) {
        Some(path) => fs::write(PathBuf::from(path), notes.to_bytes()),
        None => Ok(()),
    }
}
