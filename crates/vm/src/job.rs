//! Messages between host and guest.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Path of the [`Job`] in the guest.
pub const JOB_FILE: &str = "/etc/schedlab/job.json";

/// Path of the notes that the command may write.
pub const NOTES_FILE: &str = "/run/schedlab-notes";

/// The guest's error if its kernel has ended the scheduler.
pub const THROWN_OUT: &str = "the kernel ended the scheduler before the command ended";

/// The guest's task.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Job {
    /// The command: a program (found in `PATH`) and its arguments.
    pub command: Vec<String>,
    /// Its working folder.
    pub folder: PathBuf,
    /// Its complete environment.
    pub environment: BTreeMap<String, String>,
    /// The scheduler's program and its arguments; `None`: the kernel's own scheduler.
    pub scheduler: Option<Vec<String>>,
    /// The size of each CPU's trace buffer in KiB; `None`: do not record.
    pub buffer_kib: Option<u64>,
    /// Record system calls that move data or wait, too.
    #[serde(default)]
    pub data_flow: bool,
}

/// The guest's first message after its kernel has started.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Hello {
    /// The kernel's release, as `uname -r` prints it.
    pub release: String,
    /// Time from the kernel's start to now, in nanoseconds of the guest's clock.
    pub boot_ns: u64,
}

/// How a command ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Exit {
    /// It exited with this status.
    Status(i32),
    /// Killed by this signal.
    Signal(i32),
}

impl Exit {
    /// The status a shell would report: 128 and the signal for a command that was killed.
    pub fn code(self) -> u8 {
        match self {
            Exit::Status(status) => status as u8,
            Exit::Signal(signal) => 128u8.wrapping_add(signal as u8),
        }
    }
}

/// Result and resource usage of the command, measured in the guest.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Ended {
    /// How it ended.
    pub exit: Exit,
    /// From its start to its end, on the guest's monotonic clock.
    pub real_ns: u64,
    /// CPU time in user mode, of the command and of all descendants that were waited for.
    pub user_ns: u64,
    /// CPU time in the kernel, likewise.
    pub system_ns: u64,
    /// Voluntary context switches, likewise: a task blocked.
    pub voluntary_switches: u64,
    /// Involuntary context switches, likewise: a task stayed runnable.
    pub involuntary_switches: u64,
    /// The largest resident set of one of its processes, in KiB.
    pub max_rss_kib: u64,
}
