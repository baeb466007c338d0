//! Notes of a program about itself: its tasks, counts, times, and its measured part.
//!
//! A program that finds [`NOTES_VARIABLE`] in its environment writes its notes to that file: a line of JSON, then one
//! record of 24 bytes for each event, in order of time.  A record holds time and value as u64, thread id and mark as
//! u32; the mark's highest bit is set if the value is a time, the next if it is the control group, plus 1, to which the task moves.

use rustc_hash::FxHashMap;
use schedlab_trace::{CpuMax, GroupWeight, MarkId, Ns, Time};
use serde::{Deserialize, Serialize};

use crate::event::Pid;

/// The environment variable that holds the path of the notes.
pub const NOTES_VARIABLE: &str = "SCHEDLAB_NOTES";

const RECORD_BYTES: usize = 24;
const TIMED: u32 = 1 << 31;
const MOVED: u32 = 1 << 30;

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
    /// Its control groups, each after the one it is in.
    #[serde(default)]
    pub control_groups: Vec<NotedGroup>,
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
    /// The control group it began in: an index into [`Notes::control_groups`]; none: the root.
    #[serde(default)]
    pub control_group: Option<u32>,
}

/// A control group of a program.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct NotedGroup {
    /// Its name.
    pub name: String,
    /// The group it is in; none: the root.
    pub parent: Option<u32>,
    /// Its weight at the start.
    pub weight: GroupWeight,
    /// Its limit at the start, if it has one.
    pub max: Option<CpuMax>,
    /// How long it was throttled in the measured part, summed over CPUs.
    pub throttled: Ns,
    /// In how many periods it was throttled.
    pub nr_throttled: u32,
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
    /// The control group to which the thread moves; none: the root.
    Group(Option<u32>),
}

impl Notes {
    /// The bytes of the file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec(self).expect("names and numbers become JSON");
        bytes.push(b'\n');
        for event in &self.events {
            let (value, kind) = match event.what {
                Noted::Count(count) => (count.into(), 0),
                Noted::Time(ns) => (ns.0, TIMED),
                Noted::Group(group) => (group.map_or(0, |group| u64::from(group) + 1), MOVED),
            };
            bytes.extend(event.time.0.to_le_bytes());
            bytes.extend(value.to_le_bytes());
            bytes.extend(event.pid.to_le_bytes());
            bytes.extend((event.mark.0 | kind).to_le_bytes());
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
                mark: MarkId(mark & !(TIMED | MOVED)),
                what: match mark & (TIMED | MOVED) {
                    0 => Noted::Count(u32::try_from(value).ok()?),
                    MOVED => Noted::Group(u32::try_from(value).ok()?.checked_sub(1)),
                    TIMED => Noted::Time(Ns(value)),
                    _ => return None,
                },
            });
        }
        notes.is_consistent().then_some(notes)
    }

    /// Do all marks and groups that it refers to exist, each group after the one it is in?
    fn is_consistent(&self) -> bool {
        let in_first = |group: Option<u32>, nr: usize| group.is_none_or(|g| (g as usize) < nr);
        let nr_groups = self.control_groups.len();
        let mut groups = self.control_groups.iter().enumerate();
        let known = |event: &NotedEvent| match event.what {
            Noted::Group(group) => in_first(group, nr_groups),
            _ => (event.mark.0 as usize) < self.marks.len(),
        };
        groups.all(|(index, group)| in_first(group.parent, index))
            && self
                .tasks
                .iter()
                .all(|task| in_first(task.control_group, nr_groups))
            && self.events.iter().all(known)
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
                control_group: Some(0),
            }],
            control_groups: vec![NotedGroup {
                name: "clients".into(),
                parent: None,
                weight: GroupWeight::Weight(300),
                max: None,
                throttled: Ns(70),
                nr_throttled: 2,
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
                NotedEvent {
                    time: Time(1 << 41),
                    pid: 41,
                    mark: MarkId(0),
                    what: Noted::Group(None),
                },
            ],
        };
        let bytes = notes.to_bytes();
        assert_eq!(Notes::from_bytes(&bytes), Some(notes));
        // An incomplete record, no line, a mark without a name.
        assert_eq!(Notes::from_bytes(&bytes[..bytes.len() - 1]), None);
        assert_eq!(Notes::from_bytes(b"{}"), None);
        let mut unknown = bytes.clone();
        let second = unknown.len() - 24 - 4;
        unknown[second] = 2;
        assert_eq!(Notes::from_bytes(&unknown), None);
        // A move to a group that does not exist.
        let mut unknown = bytes;
        let value = unknown.len() - 16;
        unknown[value] = 2;
        assert_eq!(Notes::from_bytes(&unknown), None);
    }
}
