//! A report on what was read from a file.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

/// The format of a recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileFormat {
    /// The binary file of `perf record`.
    PerfData,
    /// The text of `perf script`.
    PerfScript,
    /// The text of ftrace (`trace`, `trace_pipe`) and of `trace-cmd report`.
    Ftrace,
    /// Perfetto's protocol buffers.
    Perfetto,
}

impl fmt::Display for FileFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FileFormat::PerfData => "perf.data",
            FileFormat::PerfScript => "perf script text",
            FileFormat::Ftrace => "ftrace text",
            FileFormat::Perfetto => "Perfetto trace",
        })
    }
}

/// The compression of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Compression {
    /// `.gz`
    Gzip,
    /// `.xz`
    Xz,
    /// `.zst`
    Zstd,
}

/// The content of a file: events in the recording, and everything else.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ReadReport {
    /// Its format.
    pub format: FileFormat,
    /// Its compression, if it has one.
    pub compression: Option<Compression>,
    /// The resolution of its times in ns: 1, or 1000 for times printed in microseconds.
    pub resolution_ns: u64,
    /// Events in the recording.
    pub nr_events: u64,
    /// Events that recordings do not need, by name.
    pub ignored: BTreeMap<String, u64>,
    /// Lines that are not events: headings, call chains, notices.
    pub nr_other_lines: u64,
    /// Events that came after a later event of the same CPU; they were sorted.
    pub nr_out_of_order: u64,
    /// Places where the file reports lost events.  Their number, if it is known, is in
    /// [`Recording::nr_lost`](schedlab_recording::Recording::nr_lost).
    pub nr_gaps: u64,
    /// Whether only samples of the events were recorded.
    pub is_sampled: bool,
    /// Notes: data that the format or this file does not contain.
    pub notes: Vec<String>,
}

impl ReadReport {
    pub(crate) fn new(format: FileFormat) -> ReadReport {
        ReadReport {
            format,
            compression: None,
            resolution_ns: 1,
            nr_events: 0,
            ignored: BTreeMap::new(),
            nr_other_lines: 0,
            nr_out_of_order: 0,
            nr_gaps: 0,
            is_sampled: false,
            notes: Vec::new(),
        }
    }
}
