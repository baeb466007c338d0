//! Run-queue locks: a CPU that finds one taken spins until its turn.
//!
//! FIDELITY: waiters are served in order of arrival; the spin locks of the time were not
//! fair.  The order decides who waits, not how long all wait together.

use std::collections::VecDeque;

use schedlab_trace::{CpuId, Time};

/// One run-queue lock.
#[derive(Debug)]
pub(crate) struct RqLock {
    /// Until when its last holder keeps it.
    pub busy_until: Time,
    /// Who held it last: taking it from another CPU's cache has a price.
    pub last_holder: Option<CpuId>,
    /// CPUs spinning on it, longest first.
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

    /// Could it be taken at once?
    pub fn is_free(&self, now: Time) -> bool {
        self.busy_until <= now && self.waiters.is_empty()
    }
}
