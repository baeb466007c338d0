//! System calls that wait for an answer: the listener of a seccomp filter.

use std::io;
use std::mem::zeroed;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

/// A system call that waits for its answer.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    id: u64,
    /// The thread that made it.
    pub thread: u32,
    /// Its number.
    pub nr: i64,
    /// Its arguments.
    pub args: [u64; 6],
}

impl Call {
    /// An argument that is an int.
    pub fn int(&self, argument: usize) -> i32 {
        self.args[argument] as i32
    }
}

/// What a system call returns.
#[derive(Debug)]
pub enum Answer {
    /// This value.
    Value(i64),
    /// -1 with this errno.
    Error(i32),
    /// What the host's kernel says.
    Host,
    /// A file descriptor of this file.
    File(OwnedFd),
}

/// Where the system calls of a filtered process arrive.
#[derive(Debug)]
pub struct Listener(OwnedFd);

impl Listener {
    /// The listener of a filter.
    pub fn new(fd: OwnedFd) -> Listener {
        Listener(fd)
    }

    /// The next call; none if its caller has died meanwhile.
    ///
    /// # Errors
    /// The system's.
    pub fn receive(&self) -> io::Result<Option<Call>> {
        // SAFETY: the kernel wants zeros here.
        let mut notification: libc::seccomp_notif = unsafe { zeroed() };
        match self.ioctl(libc::SECCOMP_IOCTL_NOTIF_RECV, &mut notification) {
            Ok(_) => Ok(Some(Call {
                id: notification.id,
                thread: notification.pid,
                nr: i64::from(notification.data.nr),
                args: notification.data.args,
            })),
            Err(error) if is_gone(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Answers a call.  Whoever has died meanwhile needs none.
    ///
    /// # Errors
    /// The system's.
    pub fn answer(&self, call: &Call, answer: Answer) -> io::Result<()> {
        match answer {
            Answer::Value(value) => self.send(call, value, 0, 0),
            Answer::Error(errno) => self.send(call, 0, -errno, 0),
            Answer::Host => {
                let flags = libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32;
                self.send(call, 0, 0, flags)
            }
            Answer::File(file) => self.inject(call, file.as_fd()),
        }
    }

    fn send(&self, call: &Call, val: i64, error: i32, flags: u32) -> io::Result<()> {
        let mut response = libc::seccomp_notif_resp {
            id: call.id,
            val,
            error,
            flags,
        };
        self.ioctl(libc::SECCOMP_IOCTL_NOTIF_SEND, &mut response)
            .map(drop)
            .or_else(unless_gone)
    }

    /// The caller gets a file descriptor, which is also the answer.
    fn inject(&self, call: &Call, file: BorrowedFd) -> io::Result<()> {
        let mut added = libc::seccomp_notif_addfd {
            id: call.id,
            flags: libc::SECCOMP_ADDFD_FLAG_SEND as u32,
            srcfd: file.as_raw_fd() as u32,
            newfd: 0,
            newfd_flags: libc::O_CLOEXEC as u32,
        };
        match self.ioctl(libc::SECCOMP_IOCTL_NOTIF_ADDFD, &mut added) {
            Ok(_) => Ok(()),
            // The caller has no room for another file.
            Err(error) if error.raw_os_error() == Some(libc::EMFILE) => {
                self.send(call, 0, -libc::EMFILE, 0)
            }
            Err(error) => unless_gone(error),
        }
    }

    fn ioctl<T>(&self, request: libc::Ioctl, argument: &mut T) -> io::Result<i32> {
        // SAFETY: each request comes with the type it is defined for.
        match unsafe { libc::ioctl(self.as_raw_fd(), request, argument as *mut T) } {
            -1 => Err(io::Error::last_os_error()),
            done => Ok(done),
        }
    }
}

impl AsRawFd for Listener {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

fn is_gone(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOENT | libc::EINTR))
}

fn unless_gone(error: io::Error) -> io::Result<()> {
    match is_gone(&error) || error.raw_os_error() == Some(libc::EINPROGRESS) {
        true => Ok(()),
        false => Err(error),
    }
}
