//! Processes that start at the same time.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::time::Instant;

use rustix::pipe::pipe;

use crate::Cost;

/// The work of a process.
pub(crate) type Work = Box<dyn FnOnce() -> io::Result<()>>;

/// A pipe: its read end and its write end.
pub(crate) fn channel() -> io::Result<(File, File)> {
    let (reader, writer): (OwnedFd, OwnedFd) = pipe()?;
    Ok((reader.into(), writer.into()))
}

/// Forks a process for each piece of work and waits for all. If one fails, the others are killed.
pub(crate) fn run(works: Vec<Work>) -> io::Result<Cost> {
    let count = works.len();
    let (mut all_ready, mut ready) = channel()?;
    let (mut start, mut all_start) = channel()?;
    let mut family = Family::default();
    for work in works {
        family.fork(|| {
            ready.write_all(&[0])?;
            start.read_exact(&mut [0])?;
            work()
        })?;
    }
    all_ready.read_exact(&mut vec![0; count])?;
    let begun = Instant::now();
    all_start.write_all(&vec![0; count])?;
    let mut switches = 0;
    for _ in 0..count {
        switches += family.wait()?;
    }
    Ok(Cost {
        ns: begun.elapsed().as_nanos() as u64,
        switches,
    })
}

/// The children, in a process group named after the first.
#[derive(Default)]
struct Family {
    group: libc::pid_t,
    alive: usize,
}

impl Family {
    fn fork(&mut self, work: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        // SAFETY: this program has one thread here, so the child may call any function.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                let failed = join(self.group).and_then(|()| work()).is_err();
                // SAFETY: ends this process; no destructor of the parent's data runs.
                unsafe { libc::_exit(i32::from(failed)) }
            }
            child => {
                self.group = if self.group == 0 { child } else { self.group };
                self.alive += 1;
                // Both processes do this, since either may run first; the child reports its own
                // error.
                // SAFETY: a plain system call.
                unsafe { libc::setpgid(child, self.group) };
                Ok(())
            }
        }
    }

    /// Waits for a child to end successfully; returns its number of context switches.
    fn wait(&mut self) -> io::Result<u64> {
        let mut status = 0;
        // SAFETY: an all-zero `rusage` is a valid one.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: both places live through the call.
        if unsafe { libc::wait4(-self.group, &mut status, 0, &mut usage) } < 0 {
            return Err(io::Error::last_os_error());
        }
        self.alive -= 1;
        match status {
            0 => Ok((usage.ru_nvcsw + usage.ru_nivcsw) as u64),
            status => Err(io::Error::other(format!("a process ended with {status}"))),
        }
    }
}

impl Drop for Family {
    /// Kills the others, which may wait for a process that has ended.
    fn drop(&mut self) {
        if self.alive > 0 {
            // SAFETY: system calls with numbers; the group contains only our children.
            unsafe { libc::kill(-self.group, libc::SIGKILL) };
            while unsafe { libc::waitpid(-self.group, std::ptr::null_mut(), 0) } > 0 {}
        }
    }
}

/// Joins the process group (a new one, if `group` is 0) and ends with the parent.
fn join(group: libc::pid_t) -> io::Result<()> {
    // SAFETY: plain system calls.
    let done =
        unsafe { libc::setpgid(0, group) | libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_fails_ends_those_that_wait() {
        let (mut hear, _say) = channel().unwrap();
        let waits: Work = Box::new(move || hear.read_exact(&mut [0]));
        let fails: Work = Box::new(|| Err(io::Error::other("on purpose")));
        let error = run(vec![waits, fails]).unwrap_err();
        assert!(error.to_string().starts_with("a process ended"), "{error}");
    }
}
