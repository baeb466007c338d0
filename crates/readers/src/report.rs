//! What reading a file came to.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

/// What a recording is written in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// The binary file of `perf record`.
    PerfData,
    /// What `perf script` prints.
    PerfScript,
    /// What ftrace (`trace`, `trace_pipe`) and `trace-cmd report` print.
    Ftrace,
    /// Perfetto's protocol buffers.
    Perfetto,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::PerfData => "perf.data",
            Format::PerfScript => "perf script text",
            Format::Ftrace => "ftrace text",
            Format::Perfetto => "Perfetto trace",
        })
    }
}

/// What a file is compressed with.
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

/// What a file held, what was taken from it and what was not.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ReadReport {
    /// What it is written in.
    pub format: Format,
    /// What it was compressed with, if it was.
    pub compression: Option<Compression>,
    /// The fineness of its times in ns: 1, or 1000 where microseconds were printed.
    pub resolution_ns: u64,
    /// Events taken into the recording.
    pub nr_events: u64,
    /// Events of kinds a recording does not need, by name.
    pub ignored: BTreeMap<String, u64>,
    /// Lines that are no events: headings, call chains, notices.
    pub nr_other_lines: u64,
    /// Events that stood behind a later one of their CPU; they were put in order.
    pub nr_out_of_order: u64,
    /// Places where the file says that events were lost; how many, if it says so, is
    /// [`Recording::nr_lost`](schedlab_recording::Recording::nr_lost).
    pub nr_gaps: u64,
    /// What the format, or this file, cannot tell.
    pub notes: Vec<String>,
}

impl ReadReport {
    pub(crate) fn new(format: Format) -> ReadReport {
        ReadReport {
            format,
            compression: None,
            resolution_ns: 1,
            nr_events: 0,
            ignored: BTreeMap::new(),
            nr_other_lines: 0,
            nr_out_of_order: 0,
            nr_gaps: 0,
            notes: Vec::new(),
        }
    }
}
