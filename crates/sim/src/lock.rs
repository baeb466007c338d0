//! Run-queue locks: a CPU that finds a lock taken spins until it is its turn.
//!
//! FIDELITY: waiters get the lock in order of arrival; the spin locks of that time were not fair.
//! The order determines which CPU waits, not how long all CPUs wait together.

use std::collections::VecDeque;

use schedlab_trace::{CpuId, Time};

/// One run-queue lock.
#[derive(Debug)]
pub(crate) struct RqLock {
    /// The time when its last holder releases it.
    pub busy_until: Time,
    /// The last holder: taking the lock from another CPU's cache costs time.
    pub last_holder: Option<CpuId>,
    /// CPUs spinning on it, in order of arrival.
    pub waiters: VecDeque<CpuId>,
}

impl RqLock {
    pub fn new() -> RqLock {
        RqLock {
            busy_until: Time::ZERO,
            last_holder: None,
            waiters: VecDeque::new(),
        }
    }

    /// Is it free at this time?
    pub fn is_free(&self, now: Time) -> bool {
        self.busy_until <= now && self.waiters.is_empty()
    }
}
