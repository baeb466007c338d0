//! Why the kernel or this program ended a scheduler.

use std::ffi::CStr;
use std::fmt;

/// Why a scheduler ended, as the kernel reports it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ending {
    /// Who ended it.
    pub kind: Kind,
    /// The kernel's name of the reason, such as "runnable task stall".
    pub reason: String,
    /// Details; may be empty.
    pub message: String,
    /// For errors: the state of all CPUs and tasks at that time.
    pub dump: String,
    /// Exit code of the kernel or of the scheduler.
    pub code: i64,
}

/// Who ended a scheduler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// This program.
    Unloaded,
    /// The kernel, for example because a CPU went online or offline.
    Kernel,
    /// A user, with Alt-SysRq-S.
    SysRq,
    /// The scheduler reported an error, or the kernel found one.
    Error,
    /// The watchdog: a runnable task did not run within its timeout.
    Stall,
}

impl Ending {
    /// Reads `struct host_exit_record`; `None` while the scheduler is attached.
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

    /// Did the kernel end the scheduler because of an error?
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
