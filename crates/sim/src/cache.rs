//! Cache warmth: how much of a task's working set its cache still holds.
//!
//! Each cache counts the bytes ever brought into it.  While a task is away others bring in
//! theirs and push its lines out, least recently used first; coming back it finds what is
//! left, and nothing at all in another cache.  What is missing costs a stall for each byte;
//! stalls and progress alternate, so the task runs at half speed for twice the stall.
//!
//! FIDELITY: only the largest cache of a CPU is modelled, only the last cache a task used is
//! remembered, and the part of a working set beyond the cache's size is taken to be part of
//! the task's normal speed.

use schedlab_machine::Cache;

use crate::task::Task;

/// A cache's contents, as far as they matter.
#[derive(Debug)]
pub(crate) struct CacheState {
    pub size: u64,
    ps_per_byte: u64,
    /// Bytes ever brought in.
    filled: u64,
}

impl CacheState {
    pub fn new(cache: &Cache) -> CacheState {
        CacheState {
            size: cache.size_bytes,
            ps_per_byte: cache.refill_ps_per_byte,
            filled: 0,
        }
    }

    /// Is there anything to model for this task?
    #[inline]
    fn matters(&self, task: &Task) -> bool {
        self.size > 0 && self.ps_per_byte > 0 && task.working_set > 0
    }

    /// The task starts to run on a CPU with this cache, which has number `index`.
    pub fn enter(&self, index: u32, task: &mut Task) {
        if !self.matters(task) {
            task.refill_ns = 0;
            return;
        }
        let left = if task.cache == index {
            let others = self.filled - task.cache_stamp;
            task.warm_bytes.min(self.size.saturating_sub(others))
        } else {
            0
        };
        task.cache = index;
        task.warm_bytes = left.min(self.wanted(task));
        task.refill_ns = 2 * self.stall_ns(self.wanted(task) - task.warm_bytes);
    }

    /// The task stops running, or its stay is settled in between.
    pub fn leave(&mut self, task: &mut Task) {
        if !self.matters(task) {
            return;
        }
        let missing = (task.refill_ns / 2).saturating_mul(1000) / self.ps_per_byte;
        let warm = self.wanted(task).saturating_sub(missing);
        self.filled += warm.saturating_sub(task.warm_bytes);
        task.warm_bytes = warm;
        task.cache_stamp = self.filled;
    }

    /// What of the working set fits.
    fn wanted(&self, task: &Task) -> u64 {
        task.working_set.min(self.size)
    }

    fn stall_ns(&self, bytes: u64) -> u64 {
        (u128::from(bytes) * u128::from(self.ps_per_byte) / 1000) as u64
    }
}
