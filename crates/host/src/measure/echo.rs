//! A partner thread or process that returns each byte, to measure switches and wakeups.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsRawFd;

use super::thread::pin;

/// The measuring thread's ends of two pipes.
pub struct Echo {
    say: PipeWriter,
    back: PipeReader,
}

/// The partner's ends.
pub struct Partner {
    hear: PipeReader,
    answer: PipeWriter,
}

/// Two pipes, one in each direction.
pub fn pipes() -> io::Result<(Echo, Partner)> {
    let (hear, say) = io::pipe()?;
    let (back, answer) = io::pipe()?;
    Ok((Echo { say, back }, Partner { hear, answer }))
}

impl Echo {
    /// Sends a byte and waits for its return.
    pub fn round_trip(&mut self) -> io::Result<()> {
        self.say.write_all(&[0])?;
        self.back.read_exact(&mut [0])
    }

    /// Closes these ends in a forked child: with open copies it could not notice that the parent
    /// closes them. The child must not use or drop them afterwards.
    pub fn close_copies(&self) {
        for end in [self.say.as_raw_fd(), self.back.as_raw_fd()] {
            // SAFETY: a system call with a number; only a child that ends with _exit() calls this.
            unsafe { libc::close(end) };
        }
    }
}

impl Partner {
    /// Returns each byte until the other end is closed.
    pub fn serve(mut self) {
        let mut byte = [0];
        while self.hear.read(&mut byte).is_ok_and(|n| n == 1)
            && self.answer.write_all(&byte).is_ok()
        {}
    }
}

/// Runs `work` with a partner thread on this CPU.
pub fn with_thread<T>(cpu: u32, work: impl FnOnce(&mut Echo) -> io::Result<T>) -> io::Result<T> {
    let (mut echo, partner) = pipes()?;
    std::thread::scope(|scope| {
        let other = scope.spawn(move || pin(cpu).map(|_pinned| partner.serve()));
        let result = work(&mut echo);
        // Closing this end stops the partner.
        drop(echo);
        other
            .join()
            .map_err(|_| io::Error::other("the partner thread failed"))??;
        result
    })
}
