//! `schedlab dev hackbench`: hackbench for guests, without a program of the host.

use schedlab_overhead::{join_sched_ext, Hackbench};

use super::print;
use crate::arguments::HackbenchArguments;
use crate::failure::Failure;

/// Senders in a group, and receivers.
const PAIRS: u32 = 20;

pub fn hackbench(arguments: &HackbenchArguments) -> Result<(), Failure> {
    let failed = |error| Failure::Other(format!("hackbench: {error}"));
    if arguments.ext {
        join_sched_ext().map_err(failed)?;
    }
    let hackbench = Hackbench {
        groups: arguments.groups,
        pairs: PAIRS,
        messages: arguments.loops,
    };
    let cost = hackbench.run().map_err(failed)?;
    print(&format!("Time: {:.3}\n", cost.ns as f64 / 1e9))
}
