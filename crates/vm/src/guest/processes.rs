//! Processes of the guest: starts them, reads their output, collects their exit statuses.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use rustix::fs::{fcntl_setfl, OFlags};
use rustix::pipe::{pipe_with, PipeFlags};

use crate::channel::Kind;
use crate::job::{Exit, Job};

use super::{cannot_send, Host, Problem};

/// Resources used by a process that ended, and by the children it waited for.
#[derive(Clone, Copy)]
pub struct Usage {
    pub user_ns: u64,
    pub system_ns: u64,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
    pub max_rss_kib: u64,
}

/// All children of process 1, including orphans.
pub struct Children {
    /// Becomes readable when a child ends.
    news: UnixStream,
    /// The children that have ended.
    ended: BTreeMap<i32, (Exit, Usage)>,
}

impl Children {
    /// Starts to collect the ends of children.
    pub fn watch() -> io::Result<Children> {
        let (news, writer) = UnixStream::pair()?;
        news.set_nonblocking(true)?;
        signal_hook::low_level::pipe::register(libc::SIGCHLD, writer)?;
        Ok(Children {
            news,
            ended: BTreeMap::new(),
        })
    }

    /// Reaps all children that have ended.
    pub fn reap(&mut self) {
        let mut notes = [0; 64];
        while matches!(self.news.read(&mut notes), Ok(count) if count > 0) {}
        while let Some((pid, exit, usage)) = wait_for_any() {
            self.ended.insert(pid, (exit, usage));
        }
    }

    /// How a process ended, if it has.
    pub fn end_of(&self, pid: u32) -> Option<(Exit, Usage)> {
        self.ended.get(&(pid as i32)).copied()
    }

    /// The descriptor to poll for ended children.
    pub fn news(&self) -> BorrowedFd<'_> {
        self.news.as_fd()
    }
}

/// Reaps one child, if one has ended.
fn wait_for_any() -> Option<(i32, Exit, Usage)> {
    let mut status = 0;
    // SAFETY: an all-zero `rusage` is valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both references outlive the call.
    let pid = unsafe { libc::wait4(-1, &mut status, libc::WNOHANG, &mut usage) };
    let exit = match libc::WIFSIGNALED(status) {
        true => Exit::Signal(libc::WTERMSIG(status)),
        false => Exit::Status(libc::WEXITSTATUS(status)),
    };
    (pid > 0).then(|| (pid, exit, Usage::of(&usage)))
}

impl Usage {
    fn of(usage: &libc::rusage) -> Usage {
        let ns =
            |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
        Usage {
            user_ns: ns(usage.ru_utime),
            system_ns: ns(usage.ru_stime),
            voluntary_switches: usage.ru_nvcsw as u64,
            involuntary_switches: usage.ru_nivcsw as u64,
            max_rss_kib: usage.ru_maxrss as u64,
        }
    }
}

/// The read end of a pipe; its content is sent to the host.
pub struct Pump {
    kind: Kind,
    pipe: Option<OwnedFd>,
}

impl Pump {
    /// A pipe for frames of `kind`, and its write end.
    pub fn new(kind: Kind) -> io::Result<(Pump, OwnedFd)> {
        let (reading, writing) = pipe_with(PipeFlags::CLOEXEC)?;
        fcntl_setfl(&reading, OFlags::NONBLOCK)?;
        let pump = Pump {
            kind,
            pipe: Some(reading),
        };
        Ok((pump, writing))
    }

    /// Sends the bytes that are available.
    pub fn drain(&mut self, host: &mut Host) -> Result<(), Problem> {
        let mut bytes = [0; 1 << 16];
        while let Some(pipe) = &self.pipe {
            match rustix::io::read(pipe, &mut bytes) {
                Ok(0) => self.pipe = None,
                Ok(count) => host
                    .send(self.kind, &[&bytes[..count]])
                    .map_err(cannot_send)?,
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => break,
            }
        }
        Ok(())
    }

    /// The descriptor to poll; `None` after the last writer has closed the pipe.
    pub fn pipe(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(AsFd::as_fd)
    }
}

/// Starts a program in the job's folder and environment, without standard input; returns its
/// process id.
pub fn spawn(argv: &[String], job: &Job, stdout: OwnedFd, stderr: OwnedFd) -> Result<u32, Problem> {
    let (program, arguments) = argv.split_first().ok_or("the command is empty")?;
    let child = Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(&job.environment)
        .current_dir(&job.folder)
        .stdin(Stdio::null())
        .stdout(Stdio::from(stdout))
        .stderr(Stdio::from(stderr))
        .spawn();
    child
        .map(|child| child.id())
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => format!("{program}: not found in the guest"),
            _ => format!("{program}: {error}"),
        })
}
