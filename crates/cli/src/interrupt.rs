//! Ending early because a signal asks for it.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::low_level::pipe;

use crate::failure::Failure;

/// Notices SIGINT and SIGTERM.
pub struct Interrupt {
    noted: Arc<AtomicUsize>,
    /// A byte comes for each signal.
    bell: UnixStream,
}

impl Interrupt {
    /// From now on the first of these signals is noted, a second one kills.
    ///
    /// # Errors
    /// The system refuses to tell of signals.
    pub fn listen() -> Result<Interrupt, Failure> {
        Interrupt::register().map_err(|e| Failure::Other(format!("signals: {e}")))
    }

    fn register() -> io::Result<Interrupt> {
        let noted = Arc::new(AtomicUsize::new(0));
        let (bell, rope) = UnixStream::pair()?;
        for signal in [SIGINT, SIGTERM] {
            let seen = Arc::new(AtomicBool::new(false));
            flag::register_conditional_default(signal, Arc::clone(&seen))?;
            flag::register(signal, seen)?;
            flag::register_usize(signal, Arc::clone(&noted), signal as usize)?;
            // After the flag: whoever hears the bell finds the signal noted.
            pipe::register(signal, rope.try_clone()?)?;
        }
        Ok(Interrupt { noted, bell })
    }

    /// Sleeps for so long, or until a signal comes.
    pub fn sleep(&self, time: Duration) {
        // Without a limit (none is as bad as zero) it might never end; woken for no reason, it is only shorter.
        if self.bell.set_read_timeout(Some(time)).is_ok() {
            let _ = (&self.bell).read(&mut [0]);
        }
    }

    /// # Errors
    /// A signal came.
    pub fn check(&self) -> Result<(), Failure> {
        self.signal()
            .map_or(Ok(()), |signal| Err(Failure::Interrupted(signal)))
    }

    /// The signal that came, if one did.
    pub fn signal(&self) -> Option<i32> {
        match self.noted.load(Ordering::Relaxed) {
            0 => None,
            signal => Some(signal as i32),
        }
    }
}
