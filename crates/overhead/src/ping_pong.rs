//! Two processes and two pipes: each process replies to the other's messages.

use std::fs::File;
use std::io::{self, Read, Write};

use crate::family::{channel, run, Work};
use crate::Cost;

/// Sends a word to the other process and back, `rounds` times; on one CPU each direction is a
/// context switch.
///
/// # Errors
/// A process cannot be started, or fails.
pub fn ping_pong(rounds: u64) -> io::Result<Cost> {
    let (there, back) = (channel()?, channel()?);
    let first: Work = Box::new(move || serve(back.0, there.1, rounds, true));
    let second: Work = Box::new(move || serve(there.0, back.1, rounds, false));
    run(vec![first, second])
}

fn serve(mut hear: File, mut say: File, rounds: u64, begins: bool) -> io::Result<()> {
    let mut word = [0; 4];
    for _ in 0..rounds {
        if begins {
            say.write_all(&word)?;
        }
        hear.read_exact(&mut word)?;
        if !begins {
            say.write_all(&word)?;
        }
    }
    Ok(())
}
