//! Keeping the observer out of what is observed.

use std::io;

/// Makes this process the first to run whenever something arrives for it, under any scheduler;
/// what it starts gets the usual priority.  As real-time tasks are none of a sched_ext
/// scheduler's business, the observer depends on no policy and takes no turn in its queues.
///
/// # Errors
/// What the kernel says.
pub fn rise() -> io::Result<()> {
    raise(0)
}

/// The same for another process; 0 is this one.
///
/// # Errors
/// What the kernel says.
pub fn raise(pid: u32) -> io::Result<()> {
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    let lowest = libc::sched_param { sched_priority: 1 };
    // SAFETY: the parameter lives through the call.
    match unsafe { libc::sched_setscheduler(pid as libc::pid_t, policy, &lowest) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
