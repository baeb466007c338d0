//! Why a scheduler is no longer the machine's.

use std::ffi::CStr;
use std::fmt;

/// Why it ended, in the kernel's words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ending {
    /// Whose doing it was.
    pub kind: Kind,
    /// The kernel's name for that, as "runnable task stall".
    pub reason: String,
    /// Details; may be empty.
    pub message: String,
    /// The state of all CPUs and tasks at that moment, for errors.
    pub dump: String,
    /// Exit code of the kernel or of the scheduler.
    pub code: i64,
}

/// Whose doing an ending was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// This program asked for it.
    Unloaded,
    /// The kernel needs another start, as when a CPU came or went.
    Kernel,
    /// Somebody pressed Alt-SysRq-S.
    SysRq,
    /// The scheduler did something wrong, or found its own state wrong.
    Error,
    /// A task that could run did not for the time of the watchdog.
    Stall,
}

impl Ending {
    /// Reads `struct host_exit_record`; none while the scheduler lives.
    pub(crate) fn read(record: &[u8]) -> Option<Ending> {
        const REASON: usize = 8;
        const MESSAGE: usize = REASON + 128;
        const DUMP: usize = MESSAGE + 1024;
        const KIND: usize = DUMP + 32768;
        let text = |from: usize, to: usize| {
            let bytes = record.get(from..to)?;
            let text = CStr::from_bytes_until_nul(bytes).ok()?;
            Some(text.to_string_lossy().into_owned())
        };
        let kind = u32::from_ne_bytes(record.get(KIND..KIND + 4)?.try_into().ok()?);
        let kind = match kind {
            0 | 1 => return None,
            64 | 65 => Kind::Unloaded,
            67 => Kind::SysRq,
            ..1024 => Kind::Kernel,
            1026 => Kind::Stall,
            _ => Kind::Error,
        };
        Some(Ending {
            kind,
            reason: text(REASON, MESSAGE)?,
            message: text(MESSAGE, DUMP)?,
            dump: text(DUMP, KIND)?,
            code: i64::from_ne_bytes(record.get(..REASON)?.try_into().ok()?),
        })
    }

    /// Did the kernel throw the scheduler out?
    pub fn is_failure(&self) -> bool {
        matches!(self.kind, Kind::Error | Kind::Stall)
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.message.as_str() {
            "" => f.write_str(&self.reason),
            message => write!(f, "{}: {message}", self.reason),
        }
    }
}
