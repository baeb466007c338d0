//! Figures of processes.

use std::fs::File;
use std::io::{self, Read, Write};
use std::process::{Command, Stdio};
use std::time::Instant;

use super::thread::pin;
use super::{each_ns, rounds, Measured};

/// Forks a child that does something simple and ends.
///
/// The child may use nothing that other threads could have locked: no allocation, no output.
fn fork_child(work: impl FnOnce()) -> io::Result<libc::pid_t> {
    // SAFETY: the child calls nothing but read(), write() and _exit().
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            work();
            // SAFETY: ends the child without touching what belongs to the parent.
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

/// fork() in the parent.
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

/// From fork() to the end of the child and of wait(), without fork().
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

/// Starting a program that ends at once, without what a forked child takes.
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

/// What a switch takes longer between processes than between threads: half the difference of the round trips.
pub fn mm_switch(cpu: u32) -> io::Result<Measured> {
    let _pinned = pin(cpu)?;
    // The pipes and the switch are the same; of threads this is the wakeup with all that it brings.
    let threads = thread_round_trip()?;
    let (there, say) = io::pipe()?;
    let (back, answer) = io::pipe()?;
    let [mut there, mut say] = [
        File::from(std::os::fd::OwnedFd::from(there)),
        File::from(std::os::fd::OwnedFd::from(say)),
    ];
    let [mut back, mut answer] = [
        File::from(std::os::fd::OwnedFd::from(back)),
        File::from(std::os::fd::OwnedFd::from(answer)),
    ];
    let child = {
        let parent_end = std::os::fd::AsRawFd::as_raw_fd(&say);
        fork_child(|| {
            // SAFETY: the child's copy; while it is open the end of the parent is never seen.
            unsafe { libc::close(parent_end) };
            let mut byte = [0];
            while there.read(&mut byte).is_ok_and(|n| n == 1) && answer.write_all(&byte).is_ok() {}
        })?
    };
    let mut byte = [0];
    let figure = rounds(|| {
        let round_trip = each_ns(2000, || {
            say.write_all(&[0])?;
            back.read_exact(&mut byte)
        })?;
        Ok(((round_trip - threads) / 2.0).max(0.0))
    });
    drop(say);
    wait(child)?;
    figure
}

/// A byte there and back between two threads of this CPU, in ns.
fn thread_round_trip() -> io::Result<f64> {
    let (mut there, mut say) = io::pipe()?;
    let (mut back, mut answer) = io::pipe()?;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut byte = [0];
            while there.read(&mut byte).is_ok_and(|n| n == 1) && answer.write_all(&byte).is_ok() {}
        });
        let mut byte = [0];
        let figure = rounds(|| {
            each_ns(2000, || {
                say.write_all(&[0])?;
                back.read_exact(&mut byte)
            })
        });
        drop(say);
        Ok(figure?.median)
    })
}
