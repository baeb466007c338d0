//! Processes that only yield, as in the Linux scheduler measurements of 2001.

use std::io;
use std::thread::yield_now;

use crate::family::{run, Work};
use crate::Cost;

/// `tasks` processes call sched_yield(2) `rounds` times each.
///
/// # Errors
/// A process cannot be started.
pub fn yields(tasks: u32, rounds: u64) -> io::Result<Cost> {
    let work = || -> Work {
        Box::new(move || {
            (0..rounds).for_each(|_| yield_now());
            Ok(())
        })
    };
    run((0..tasks).map(|_| work()).collect())
}
