//! A scheduler that was loaded and attached, for any number of runs.

use std::io;

use crate::machine::{Machine, Topology};

/// A frozen machine.
#[derive(Debug)]
pub struct Image {}

impl Image {
    /// A machine for one run: the memory, maps and programs as they were when the image was frozen.
    ///
    /// # Errors
    /// The host has no memory for it.
    pub fn machine(&self, topology: &Topology, seed: u64) -> io::Result<Box<Machine>> {
        let _ = (topology, seed);
        todo!()
    }
}
