//! What can go wrong.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::job::THROWN_OUT;

/// Why a virtual machine gave no result.
#[derive(Debug, thiserror::Error)]
pub enum VmError {
    /// No kernel could be fetched.
    #[error("no kernel to boot: {0}\nhint: name one with --kernel FILE; it needs CONFIG_SCHED_CLASS_EXT=y, as Debian's have from 7.x on")]
    NoKernel(String),
    /// A file is not a kernel image.
    #[error("{}: not a kernel image\nhint: a bzImage, such as a distribution's /boot/vmlinuz-*", .0.display())]
    NoKernelImage(PathBuf),
    /// QEMU cannot be started.
    #[error("qemu-system-x86_64: {0}\nhint: Debian has it in the package qemu-system-x86")]
    NoQemu(io::Error),
    /// Nothing to run.
    #[error("there is no command to run")]
    NoCommand,
    /// A program is neither on the host nor in busybox.
    #[error("{0}: no such program on this machine\nhint: the guest gets its programs from here; busybox's are there if busybox is installed")]
    NoProgram(String),
    /// A program's shared libraries were not all found.
    #[error("{}: its shared libraries: {problem}", program.display())]
    Libraries {
        /// The program.
        program: PathBuf,
        /// What is wrong with them.
        problem: String,
    },
    /// A file cannot be read or written.
    #[error("{}: cannot be {what} ({error})", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// "read" or "written".
        what: &'static str,
        /// The reason.
        error: io::Error,
    },
    /// A program of the host failed: its name and its error output.
    #[error("{0}")]
    Tool(String),
    /// An I/O error between this process and QEMU.
    #[error("the virtual machine: {0}")]
    Host(io::Error),
    /// The guest's kernel ended early, or QEMU did.
    #[error("the virtual machine ended before the command did\n{0}")]
    Died(String),
    /// The guest sent an invalid message.
    #[error("the guest sent an invalid message: {0}")]
    Garbled(String),
    /// The guest's trace cannot be decoded.
    #[error("the trace of the guest: {0}")]
    Trace(#[from] schedlab_recording::RecordingError),
    /// The guest failed: the reason, and the output of the scheduler and the kernel.
    #[error("the guest failed: {problem}{details}")]
    Guest {
        /// The reason.
        problem: String,
        /// Lines of explanation, each after a line break.
        details: String,
    },
    /// The kernel ended the scheduler: output of the scheduler and the kernel.
    #[error("{THROWN_OUT}{details}")]
    ThrownOut {
        /// Lines of explanation, each after a line break.
        details: String,
    },
    /// The guest did not end in time.
    #[error("the virtual machine did not end within {} s ({state})\n{log}", after.as_secs())]
    TimedOut {
        /// Real time since the start.
        after: Duration,
        /// The guest's state.
        state: &'static str,
        /// The last lines of the kernel's log.
        log: String,
    },
    /// The user interrupted the run.
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
