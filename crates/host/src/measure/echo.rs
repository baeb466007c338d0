//! A partner that sends each byte back: what switches and wakeups are measured with.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsRawFd;

use super::thread::pin;

/// Our ends of two pipes.
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
    /// A byte there and back.
    pub fn round_trip(&mut self) -> io::Result<()> {
        self.say.write_all(&[0])?;
        self.back.read_exact(&mut [0])
    }

    /// Closes a forked child's copies of these ends: the child could not see the parent's end close otherwise.
    /// The child must not use or drop them after that.
    pub fn close_copies(&self) {
        for end in [self.say.as_raw_fd(), self.back.as_raw_fd()] {
            // SAFETY: a plain system call; only a child that ends with _exit() calls this.
            unsafe { libc::close(end) };
        }
    }
}

impl Partner {
    /// Sends each byte back until the other end is closed.
    pub fn serve(mut self) {
        let mut byte = [0];
        while self.hear.read(&mut byte).is_ok_and(|n| n == 1)
            && self.answer.write_all(&byte).is_ok()
        {}
    }
}

/// Does something with a thread on this CPU as the partner.
pub fn with_thread<T>(cpu: u32, work: impl FnOnce(&mut Echo) -> io::Result<T>) -> io::Result<T> {
    let (mut echo, partner) = pipes()?;
    std::thread::scope(|scope| {
        let other = scope.spawn(move || pin(cpu).map(|_pinned| partner.serve()));
        let result = work(&mut echo);
        // The partner ends when this end of its pipe is closed.
        drop(echo);
        other
            .join()
            .map_err(|_| io::Error::other("a thread ended"))??;
        result
    })
}
