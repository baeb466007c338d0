//! Notes of a program about itself: its tasks, counts, times, and its measured part.
//!
//! A program that finds [`NOTES_VARIABLE`] in its environment writes its notes to that file: a line of JSON, then one
//! record of 24 bytes for each event, in order of time.  A record holds time and value as u64, thread id and mark as
//! u32; the mark's highest bit is set if the value is a time.

use rustc_hash::FxHashMap;
use schedlab_trace::{MarkId, Ns, Time};
use serde::{Deserialize, Serialize};

use crate::event::Pid;

/// The environment variable that holds the path of the notes.
pub const NOTES_VARIABLE: &str = "SCHEDLAB_NOTES";

const RECORD_BYTES: usize = 24;
const TIMED: u32 = 1 << 31;

/// A program's notes.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Notes {
    /// Start of the measured part, on the kernel's monotonic clock.
    pub start_ns: u64,
    /// End of the measured part.
    pub end_ns: u64,
    /// Names of its marks: what it counts and times.
    pub marks: Vec<String>,
    /// Its tasks.
    pub tasks: Vec<NotedTask>,
    /// Thread ids of the threads that only control the others.
    pub observers: Vec<u32>,
    /// Its counts and times, in order of time.
    #[serde(skip)]
    pub events: Vec<NotedEvent>,
}

/// A task of a program, with its name in results.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct NotedTask {
    /// Its thread id.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// Its group in results.
    pub group: String,
}

/// A count or time that a program recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NotedEvent {
    /// The time, on the kernel's monotonic clock.
    pub time: Time,
    /// The thread.
    pub pid: u32,
    /// The mark: an index into [`Notes::marks`].
    pub mark: MarkId,
    /// The value.
    pub what: Noted,
}

/// The value of a mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Noted {
    /// A count.
    Count(u32),
    /// A duration.
    Time(Ns),
}

impl Notes {
    /// The bytes of the file.
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

    /// Reads the bytes of the file; none if they are damaged.
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
        // An incomplete record, no line, a mark without a name.
        assert_eq!(Notes::from_bytes(&bytes[..bytes.len() - 1]), None);
        assert_eq!(Notes::from_bytes(b"{}"), None);
        let mut unknown = bytes;
        let last = unknown.len() - 4;
        unknown[last] = 2;
        assert_eq!(Notes::from_bytes(&unknown), None);
    }
}
