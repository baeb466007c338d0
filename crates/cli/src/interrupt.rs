//! Ending early because a signal asks for it.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Arc;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::failure::Failure;

/// Notices SIGINT and SIGTERM.
pub struct Interrupt(Arc<AtomicUsize>);

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
        for signal in [SIGINT, SIGTERM] {
            let seen = Arc::new(AtomicBool::new(false));
            flag::register_conditional_default(signal, Arc::clone(&seen))?;
            flag::register(signal, seen)?;
            flag::register_usize(signal, Arc::clone(&noted), signal as usize)?;
        }
        Ok(Interrupt(noted))
    }

    /// # Errors
    /// A signal came.
    pub fn check(&self) -> Result<(), Failure> {
        self.signal()
            .map_or(Ok(()), |signal| Err(Failure::Interrupted(signal)))
    }

    /// The signal that came, if one did.
    pub fn signal(&self) -> Option<i32> {
        match self.0.load(Ordering::Relaxed) {
            0 => None,
            signal => Some(signal as i32),
        }
    }
}
