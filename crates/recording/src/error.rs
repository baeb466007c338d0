//! Errors of recording and decoding.

use std::io;
use std::path::{Path, PathBuf};

/// Why there is no recording.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// tracefs is not mounted.
    #[error("tracefs is not mounted\nhint: mount -t tracefs nodev /sys/kernel/tracing; the kernel needs CONFIG_TRACING=y")]
    NoTracefs,
    /// Only root may trace.
    #[error("{}: permission denied\nhint: recording a kernel needs root", .0.display())]
    NotPermitted(PathBuf),
    /// The kernel lacks a tracepoint that every recording needs.
    #[error("this kernel has no tracepoint {0}")]
    NoTracepoint(String),
    /// A file of tracefs or procfs cannot be read or written.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// The format of a tracepoint is invalid.
    #[error("the format of {event}: {problem}")]
    Format {
        /// The tracepoint.
        event: String,
        /// What is wrong.
        problem: String,
    },
    /// A page of a trace buffer is invalid.
    #[error("CPU {cpu}: a damaged page of the trace buffer ({problem})")]
    Page {
        /// The CPU of the buffer.
        cpu: u32,
        /// What is wrong.
        problem: &'static str,
    },
}

impl RecordingError {
    pub(crate) fn file(path: &Path) -> impl Fn(io::Error) -> RecordingError + '_ {
        |error| match error.kind() {
            io::ErrorKind::PermissionDenied => RecordingError::NotPermitted(path.into()),
            _ => RecordingError::File {
                path: path.into(),
                error,
            },
        }
    }
}
