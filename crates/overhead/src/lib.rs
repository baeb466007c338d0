//! The cost of a scheduler, measured with programs that do little except switch.
//!
//! On a virtual machine's deterministic clock an instruction takes a nanosecond, so times are exact
//! counts of instructions. The difference between two schedulers for the same program is the
//! difference of their costs.

mod family;
mod hackbench;
mod ping_pong;
mod yields;

use std::io;
use std::ops::Sub;

pub use hackbench::Hackbench;
pub use ping_pong::ping_pong;
pub use yields::yields;

/// The cost of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cost {
    /// The time from the start of all its processes to the end of the last.
    pub ns: u64,
    /// Context switches of its processes.
    pub switches: u64,
}

impl Cost {
    /// Time for each switch.
    pub fn per_switch_ns(&self) -> f64 {
        self.ns as f64 / self.switches.max(1) as f64
    }
}

impl Sub for Cost {
    type Output = Cost;

    fn sub(self, less: Cost) -> Cost {
        Cost {
            ns: self.ns.saturating_sub(less.ns),
            switches: self.switches.saturating_sub(less.switches),
        }
    }
}

/// The cost of `rounds` rounds of a program, without its start and its end.
///
/// # Errors
/// The error of a run.
pub fn marginal(rounds: u64, program: impl Fn(u64) -> io::Result<Cost>) -> io::Result<Cost> {
    let warm_up = rounds / 4;
    let short = program(warm_up)?;
    Ok(program(warm_up + rounds)? - short)
}

/// `SCHED_EXT` in include/uapi/linux/sched.h.
const SCHED_EXT: libc::c_int = 7;

/// Moves this process to class SCHED_EXT; its future children inherit the class.
///
/// # Errors
/// The kernel lacks the class, or does not permit it.
pub fn join_sched_ext() -> io::Result<()> {
    // SAFETY: an all-zero `sched_param` is valid; this class has no parameters.
    let parameters = unsafe { std::mem::zeroed() };
    // SAFETY: the parameters live through the call.
    match unsafe { libc::sched_setscheduler(0, SCHED_EXT, &parameters) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
