//! The part of a scheduler that runs in user space while its programs schedule.

use std::fmt::Debug;
use std::io;

use crate::machine::Machine;

/// A part in user space that has attached its scheduler to a machine.
pub trait UserSpace: Debug + Send {
    /// Lets it run until all of it waits; the machine's time stands still.  Returns when the first wait ends, in the
    /// machine's time (none: no wait is for a time).
    ///
    /// # Errors
    /// It has ended, or did not come to rest.
    fn run(&mut self, machine: &mut Machine) -> Result<Option<u64>, String>;
}

/// Starts the part in user space of a scheduler for each run.
pub trait Starter: Debug + Send + Sync {
    /// A machine as the part in user space has made it, which waits for its scheduler to be enabled.
    ///
    /// # Errors
    /// It did not get so far.
    fn start(&self) -> io::Result<Box<Machine>>;
}
