//! What can go wrong.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::job::THROWN_OUT;

/// Why a virtual machine brought nothing back.
#[derive(Debug, thiserror::Error)]
pub enum VmError {
    /// No kernel could be fetched.
    #[error("no kernel to boot: {0}\nhint: name one with --kernel FILE; it needs CONFIG_SCHED_CLASS_EXT=y, as Debian's have from 7.x on")]
    NoKernel(String),
    /// A file named as a kernel is none.
    #[error("{}: not a kernel image\nhint: a bzImage, such as a distribution's /boot/vmlinuz-*", .0.display())]
    NoKernelImage(PathBuf),
    /// There is no QEMU.
    #[error("qemu-system-x86_64: {0}\nhint: Debian has it in the package qemu-system-x86")]
    NoQemu(io::Error),
    /// Nothing to run.
    #[error("there is no command to run")]
    NoCommand,
    /// A program is neither on the host nor in busybox.
    #[error("{0}: no such program on this machine\nhint: the guest gets its programs from here; busybox's are there if busybox is installed")]
    NoProgram(String),
    /// A program's shared libraries cannot all be found.
    #[error("{}: its shared libraries: {problem}", program.display())]
    Libraries {
        /// Which.
        program: PathBuf,
        /// What is wrong with them.
        problem: String,
    },
    /// A file cannot be read or written.
    #[error("{}: cannot be {what} ({error})", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// "read" or "written".
        what: &'static str,
        /// Why.
        error: io::Error,
    },
    /// A program of the host failed; which, and what it said.
    #[error("{0}")]
    Tool(String),
    /// What is between us and QEMU failed.
    #[error("the virtual machine: {0}")]
    Host(io::Error),
    /// The guest's kernel ended early, or QEMU did.
    #[error("the virtual machine ended before the command did\n{0}")]
    Died(String),
    /// What the guest said makes no sense.
    #[error("the guest sent what is no message of ours: {0}")]
    Garbled(String),
    /// The trace the guest sent cannot be read.
    #[error("the trace of the guest: {0}")]
    Trace(#[from] schedlab_recording::RecordingError),
    /// The guest gave up: why, and what the scheduler and the kernel said.
    #[error("the guest could not go on: {problem}{details}")]
    Guest {
        /// Why.
        problem: String,
        /// Lines of explanation, each behind a line break.
        details: String,
    },
    /// The kernel threw the scheduler out; what the scheduler and the kernel said.
    #[error("{THROWN_OUT}{details}")]
    ThrownOut {
        /// Lines of explanation, each behind a line break.
        details: String,
    },
    /// It took too long.
    #[error("no end after {} s ({state})\n{log}", after.as_secs())]
    TimedOut {
        /// Real time since the start.
        after: Duration,
        /// What it was doing.
        state: &'static str,
        /// The kernel's last words.
        log: String,
    },
    /// Somebody wanted it to stop.
    #[error("interrupted")]
    Interrupted,
}

impl VmError {
    pub(crate) fn reading(path: &Path) -> impl Fn(io::Error) -> VmError + '_ {
        |error| VmError::File {
            path: path.into(),
            what: "read",
            error,
        }
    }

    pub(crate) fn writing(path: &Path) -> impl Fn(io::Error) -> VmError + '_ {
        |error| VmError::File {
            path: path.into(),
            what: "written",
            error,
        }
    }

    pub(crate) fn no_kernel(problem: impl Into<String>) -> VmError {
        VmError::NoKernel(problem.into())
    }

    pub(crate) fn libraries(program: &Path, problem: String) -> VmError {
        VmError::Libraries {
            program: program.into(),
            problem,
        }
    }

    pub(crate) fn json(error: serde_json::Error) -> VmError {
        VmError::Garbled(error.to_string())
    }

    /// A name that is not UTF-8 cannot be put into an archive.
    pub(crate) fn name(path: &Path) -> VmError {
        let error = io::Error::new(io::ErrorKind::InvalidData, "its name is not UTF-8");
        VmError::reading(path)(error)
    }
}
