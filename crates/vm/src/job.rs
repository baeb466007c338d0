//! What the host asks of the guest and what the guest tells, as both sides know it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Where the guest finds its [`Job`].
pub const JOB_FILE: &str = "/etc/schedlab/job.json";

/// Where the command may leave notes of itself.
pub const NOTES_FILE: &str = "/run/schedlab-notes";

/// What the guest says when its kernel has ended the scheduler.
pub const THROWN_OUT: &str = "the kernel threw the scheduler out before the command ended";

/// What the guest shall do.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Job {
    /// The command: a program (found in `PATH`) and its arguments.
    pub command: Vec<String>,
    /// The folder it runs in.
    pub folder: PathBuf,
    /// Its environment, which has nothing else.
    pub environment: BTreeMap<String, String>,
    /// The scheduler's program and its arguments; none: the kernel's own scheduler.
    pub scheduler: Option<Vec<String>>,
    /// The size of each CPU's trace buffer in KiB; none: nothing is recorded.
    pub buffer_kib: Option<u64>,
    /// Whether system calls that move data or wait are recorded, too.
    #[serde(default)]
    pub data_flow: bool,
}

/// What the guest says when its kernel is up.
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
    /// By itself, with this status.
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

/// How the command went, in the guest's own measures.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Ended {
    /// How it ended.
    pub exit: Exit,
    /// From its start to its end, on the guest's monotonic clock.
    pub real_ns: u64,
    /// CPU time in user mode, of the command and all it waited for.
    pub user_ns: u64,
    /// CPU time in the kernel, likewise.
    pub system_ns: u64,
    /// Switches away from its tasks because they blocked, likewise.
    pub voluntary_switches: u64,
    /// Switches away from its tasks that could have gone on, likewise.
    pub involuntary_switches: u64,
    /// The largest resident set of one of its processes, in KiB.
    pub max_rss_kib: u64,
}
