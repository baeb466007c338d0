//! What a program says of itself beside the kernel's events: who its tasks are, what they
//! counted and timed, and when it was in earnest.
//!
//! A program that finds [`NOTES_VARIABLE`] in its environment writes them there.  They are a line
//! of JSON and, in the order of their times, one record of 24 bytes for each event: time and value
//! as u64, thread id and mark as u32, the mark's highest bit set if the value is a time.

use rustc_hash::FxHashMap;
use schedlab_trace::{MarkId, Ns, Time};
use serde::{Deserialize, Serialize};

use crate::event::Pid;

/// The environment variable that says where a program shall write its notes.
pub const NOTES_VARIABLE: &str = "SCHEDLAB_NOTES";

const RECORD_BYTES: usize = 24;
const TIMED: u32 = 1 << 31;

/// A program's notes.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Notes {
    /// When it began in earnest, on the kernel's monotonic clock; what was before is not looked at.
    pub start_ns: u64,
    /// When it was done; what comes after is not looked at.
    pub end_ns: u64,
    /// Names of what it counts and times.
    pub marks: Vec<String>,
    /// Its tasks.
    pub tasks: Vec<NotedTask>,
    /// Thread ids of those who only keep it going.
    pub observers: Vec<u32>,
    /// What it counted and timed, by time.
    #[serde(skip)]
    pub events: Vec<NotedEvent>,
}

/// A task of a program, as results shall call it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct NotedTask {
    /// Its thread id.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// The group it is told with.
    pub group: String,
}

/// Something a program counted or timed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NotedEvent {
    /// When, on the kernel's monotonic clock.
    pub time: Time,
    /// The thread.
    pub pid: u32,
    /// What: an index into [`Notes::marks`].
    pub mark: MarkId,
    /// How many, or how long.
    pub what: Noted,
}

/// How many, or how long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Noted {
    /// So many.
    Count(u32),
    /// So long.
    Time(Ns),
}

impl Notes {
    /// As they are written.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec(self).expect("names and numbers become JSON");
        bytes.push(b'\n');
        for event in &self.events {
            let (value, timed) = match event.what {
                Noted::Count(count) => (count.into(), 0),
                Noted::Time(ns) => (ns.0, TIMED),
            };
            bytes.extend(event.time.0.to_le_bytes());
            bytes.extend(value.to_le_bytes());
            bytes.extend(event.pid.to_le_bytes());
            bytes.extend((event.mark.0 | timed).to_le_bytes());
        }
        bytes
    }

    /// As they were written; none if they are damaged.
    pub fn from_bytes(bytes: &[u8]) -> Option<Notes> {
        let line = bytes.iter().position(|byte| *byte == b'\n')?;
        let mut notes: Notes = serde_json::from_slice(&bytes[..line]).ok()?;
        let records = &bytes[line + 1..];
        if !records.len().is_multiple_of(RECORD_BYTES) || notes.start_ns > notes.end_ns {
            return None;
        }
        for record in records.chunks_exact(RECORD_BYTES) {
            let mark = word(record, 20);
            let value = long(record, 8);
            notes.events.push(NotedEvent {
                time: Time(long(record, 0)),
                pid: word(record, 16),
                mark: MarkId(mark & !TIMED),
                what: match mark & TIMED {
                    0 => Noted::Count(u32::try_from(value).ok()?),
                    _ => Noted::Time(Ns(value)),
                },
            });
        }
        let known = |event: &NotedEvent| (event.mark.0 as usize) < notes.marks.len();
        notes.events.iter().all(known).then_some(notes)
    }

    /// Its tasks by thread id.
    pub(crate) fn roster(&self) -> FxHashMap<Pid, &NotedTask> {
        self.tasks
            .iter()
            .map(|task| (Pid(task.pid), task))
            .collect()
    }
}

fn long(record: &[u8], at: usize) -> u64 {
    u64::from(word(record, at)) | u64::from(word(record, at + 4)) << 32
}

fn word(record: &[u8], at: usize) -> u32 {
    let bytes = &record[at..at + 4];
    bytes
        .iter()
        .rev()
        .fold(0, |word, byte| word << 8 | u32::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_read_as_they_were_written() {
        let notes = Notes {
            start_ns: 5,
            end_ns: 900,
            marks: vec!["message".into(), "reply".into()],
            tasks: vec![NotedTask {
                pid: 41,
                name: "client-3".into(),
                group: "client".into(),
            }],
            observers: vec![40],
            events: vec![
                NotedEvent {
                    time: Time(7),
                    pid: 41,
                    mark: MarkId(0),
                    what: Noted::Count(3),
                },
                NotedEvent {
                    time: Time(1 << 40),
                    pid: 41,
                    mark: MarkId(1),
                    what: Noted::Time(Ns(u64::MAX)),
                },
            ],
        };
        let bytes = notes.to_bytes();
        assert_eq!(Notes::from_bytes(&bytes), Some(notes));
        // A piece too little, no line, a mark nobody named.
        assert_eq!(Notes::from_bytes(&bytes[..bytes.len() - 1]), None);
        assert_eq!(Notes::from_bytes(b"{}"), None);
        let mut unknown = bytes;
        let last = unknown.len() - 4;
        unknown[last] = 2;
        assert_eq!(Notes::from_bytes(&unknown), None);
    }
}
