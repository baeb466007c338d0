//! Ending early because a signal asks for it.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Arc;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// Notices SIGINT and SIGTERM.
pub struct Interrupt(Arc<AtomicUsize>);

impl Interrupt {
    /// From now on the first of these signals is noted, a second one kills.
    pub fn listen() -> io::Result<Interrupt> {
        let noted = Arc::new(AtomicUsize::new(0));
        for signal in [SIGINT, SIGTERM] {
            let seen = Arc::new(AtomicBool::new(false));
            flag::register_conditional_default(signal, Arc::clone(&seen))?;
            flag::register(signal, seen)?;
            flag::register_usize(signal, Arc::clone(&noted), signal as usize)?;
        }
        Ok(Interrupt(noted))
    }

    /// The signal that came, if one did.
    pub fn signal(&self) -> Option<i32> {
        match self.0.load(Ordering::Relaxed) {
            0 => None,
            signal => Some(signal as i32),
        }
    }
}
