//! Keeps process 1 out of the measurement.

use std::io;

/// Gives this process real-time priority, so that it runs at once when it wakes up. Its children
/// get normal priority. A sched_ext scheduler does not schedule real-time tasks, so process 1
/// neither depends on the policy nor waits in its queues.
///
/// # Errors
/// The error of the system call.
pub fn rise() -> io::Result<()> {
    raise(0)
}

/// The same for another process; 0 is this one.
///
/// # Errors
/// The error of the system call.
pub fn raise(pid: u32) -> io::Result<()> {
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    let lowest = libc::sched_param { sched_priority: 1 };
    // SAFETY: the parameter lives through the call.
    match unsafe { libc::sched_setscheduler(pid as libc::pid_t, policy, &lowest) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
