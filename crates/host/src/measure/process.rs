//! Measurements with processes.

use std::io;
use std::process::{Command, Stdio};
use std::time::Instant;

use super::echo::{pipes, with_thread};
use super::thread::pin;
use super::{each_ns, rounds, Measured};

/// Forks a child that runs `work` and ends.
///
/// The child must not use anything that another thread may have locked: no allocation, no output.
fn fork_child(work: impl FnOnce()) -> io::Result<libc::pid_t> {
    // SAFETY: the child calls nothing but read(), write() and _exit().
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            work();
            // SAFETY: ends the child; no destructor of the parent's data runs.
            unsafe { libc::_exit(0) }
        }
        child => Ok(child),
    }
}

fn wait(child: libc::pid_t) -> io::Result<()> {
    // SAFETY: no status is asked for.
    match unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Time of fork() in the parent.
pub fn fork(cpu: u32) -> io::Result<Measured> {
    let _pinned = pin(cpu)?;
    rounds(|| {
        let mut in_fork = 0;
        for _ in 0..20 {
            let begun = Instant::now();
            let child = fork_child(|| ())?;
            in_fork += begun.elapsed().as_nanos();
            wait(child)?;
        }
        Ok(in_fork as f64 / 20.0)
    })
}

/// Time from the return of fork() until wait() returns for a child that ends at once.
pub fn exit(cpu: u32) -> io::Result<Measured> {
    let _pinned = pin(cpu)?;
    rounds(|| {
        let mut after_fork = 0;
        for _ in 0..20 {
            let child = fork_child(|| ())?;
            let begun = Instant::now();
            wait(child)?;
            after_fork += begun.elapsed().as_nanos();
        }
        Ok(after_fork as f64 / 20.0)
    })
}

/// Time to execute a program that ends at once, minus the time of a forked child.
pub fn exec(cpu: u32) -> io::Result<Measured> {
    let _pinned = pin(cpu)?;
    rounds(|| {
        let started = each_ns(5, || {
            let mut command = Command::new("/bin/true");
            let status = command
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .status()?;
            match status.success() {
                true => Ok(()),
                false => Err(io::Error::other("/bin/true failed")),
            }
        })?;
        let forked = each_ns(5, || wait(fork_child(|| ())?))?;
        Ok(started - forked)
    })
}

/// Additional time of a switch between processes, compared with threads: half the difference of the
/// round trips.
pub fn mm_switch(cpu: u32) -> io::Result<Measured> {
    let _pinned = pin(cpu)?;
    let threads = with_thread(cpu, |echo| rounds(|| each_ns(2000, || echo.round_trip())))?;
    let (mut echo, partner) = pipes()?;
    let child = fork_child(|| {
        echo.close_copies();
        partner.serve();
    })?;
    let figure = rounds(|| {
        let round_trip = each_ns(2000, || echo.round_trip())?;
        Ok(((round_trip - threads.median) / 2.0).max(0.0))
    });
    drop(echo);
    wait(child)?;
    figure
}
