//! Ends work early after a signal.

use std::fs;
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::low_level::pipe;

use crate::failure::Failure;

/// The number of the first signal that came; 0 if none has.
static NOTED: OnceLock<Arc<AtomicUsize>> = OnceLock::new();

/// The signal that came to this process, if one did.
pub fn signal_seen() -> Option<i32> {
    let noted = NOTED.get()?.load(Ordering::Relaxed);
    (noted != 0).then_some(noted as i32)
}

/// Notices SIGINT, SIGTERM and SIGHUP (a closed terminal).
pub struct Interrupt {
    /// Receives a byte for each signal.
    bell: UnixStream,
}

impl Interrupt {
    /// From now on the first of these signals is noted; a second one kills the process.
    ///
    /// # Errors
    /// The system refuses to report signals.
    pub fn listen() -> Result<Interrupt, Failure> {
        Interrupt::register().map_err(|e| Failure::Other(format!("signals: {e}")))
    }

    fn register() -> io::Result<Interrupt> {
        let noted = NOTED.get_or_init(Arc::default);
        let (bell, rope) = UnixStream::pair()?;
        let ignored = ignored_signals();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            if ignored >> (signal - 1) & 1 != 0 {
                continue; // As under nohup and in background shells.
            }
            let seen = Arc::new(AtomicBool::new(false));
            flag::register_conditional_default(signal, Arc::clone(&seen))?;
            flag::register(signal, seen)?;
            flag::register_usize(signal, Arc::clone(noted), signal as usize)?;
            // After the flag, so that the signal is noted when the byte arrives.
            pipe::register(signal, rope.try_clone()?)?;
        }
        Ok(Interrupt { bell })
    }

    /// Sleeps for that long, or until a signal comes.
    pub fn sleep(&self, time: Duration) {
        // Reading without a limit might never end; a sleep that is too short does no harm.
        if self.bell.set_read_timeout(Some(time)).is_ok() {
            let _ = (&self.bell).read(&mut [0]);
        }
    }

    /// A function that returns whether a signal has come.
    pub fn stop(&self) -> impl Fn() -> bool + Sync + '_ {
        || self.signal().is_some()
    }

    /// # Errors
    /// A signal came.
    pub fn check(&self) -> Result<(), Failure> {
        self.signal()
            .map_or(Ok(()), |signal| Err(Failure::Interrupted(signal)))
    }

    /// The signal that came, if one did.
    pub fn signal(&self) -> Option<i32> {
        signal_seen()
    }
}

/// The signals that were ignored when this process was started, one bit each, from signal 1 on.
fn ignored_signals() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}
