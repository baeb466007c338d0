//! Cache warmth: the part of a task's working set that is still in its cache.
//!
//! A cache evicts the least recently used bytes. While a task is away, the working sets of other
//! tasks become more recently used. When it returns to the same cache, it finds what was not
//! evicted; in another cache it finds nothing. Each missing byte costs a stall. Stalls and progress
//! alternate, so the task runs at half speed for twice the stall.
//!
//! If the memory nodes have distances, a task's memory is on the node where it ran first. A missing
//! byte costs more if that node is farther.
//!
//! FIDELITY: memory does not follow its task, though NUMA balancing in Linux would move it.
//!
//! FIDELITY: only the largest cache of a CPU is modelled, and only the last cache of a task. The
//! part of a working set beyond the cache's size counts as part of the task's normal speed.

use std::collections::VecDeque;

use schedlab_machine::{Cache, LOCAL_DISTANCE};

use crate::task::Task;

/// The content of a cache, in bytes of each task.
#[derive(Debug)]
pub(crate) struct CacheState {
    pub size: u64,
    ps_per_byte: u64,
    /// Ended stays of tasks on the cache's CPUs, the latest of each task: its number, and the
    /// task's bytes in the cache. Oldest first.
    stays: VecDeque<(u64, u64)>,
    /// The sum of those bytes.
    used: u64,
    /// Number of stays up to now.
    count: u64,
}

impl CacheState {
    pub fn new(cache: &Cache) -> CacheState {
        CacheState {
            size: cache.size_bytes,
            ps_per_byte: cache.refill_ps_per_byte,
            stays: VecDeque::new(),
            used: 0,
            count: 0,
        }
    }

    /// Is a working set modelled for this task?
    #[inline]
    fn matters(&self, task: &Task) -> bool {
        self.size > 0 && self.ps_per_byte > 0 && task.working_set > 0
    }

    /// The task starts to run on a CPU with this cache, which has number `index`. `distance` is
    /// that of its memory.
    pub fn enter(&self, index: u32, distance: u32, task: &mut Task) {
        if !self.matters(task) {
            task.refill_ns = 0;
            return;
        }
        let left = if task.cache == index {
            let others = self.used_since(task.cache_stay);
            task.warm_bytes.min(self.size.saturating_sub(others))
        } else {
            task.cache_stay = 0;
            0
        };
        task.cache = index;
        task.warm_bytes = left.min(self.wanted(task));
        task.distance = distance;
        task.refill_ns = 2 * self.stall_ns(self.wanted(task) - task.warm_bytes, distance);
    }

    /// The task stops running, or its stay is split to account for it.
    pub fn leave(&mut self, task: &mut Task) {
        if !self.matters(task) {
            return;
        }
        let missing = missing_bytes(task.refill_ns / 2, self.ps_per_byte, task.distance);
        let warm = self.wanted(task).saturating_sub(missing);
        task.warm_bytes = warm;
        self.note_stay(task);
    }

    /// Bytes that other tasks used after this stay.
    fn used_since(&self, stay: u64) -> u64 {
        let later = self.stays.iter().rev().take_while(|s| s.0 > stay);
        later.map(|s| s.1).sum()
    }

    /// Makes its bytes the most recently used.
    fn note_stay(&mut self, task: &mut Task) {
        if let Ok(i) = self.stays.binary_search_by_key(&task.cache_stay, |s| s.0) {
            self.used -= self.stays.remove(i).expect("just found").1;
        }
        self.count += 1;
        self.stays.push_back((self.count, task.warm_bytes));
        self.used += task.warm_bytes;
        task.cache_stay = self.count;
        while self
            .stays
            .front()
            .is_some_and(|oldest| self.used - oldest.1 >= self.size)
        {
            self.used -= self.stays.pop_front().expect("there is one").1;
        }
    }

    /// The part of the working set that fits.
    fn wanted(&self, task: &Task) -> u64 {
        task.working_set.min(self.size)
    }

    fn stall_ns(&self, bytes: u64, distance: u32) -> u64 {
        let local = u128::from(bytes) * u128::from(self.ps_per_byte);
        (local * u128::from(distance) / (1000 * u128::from(LOCAL_DISTANCE))) as u64
    }
}

/// Bytes fetched during this stall from memory at this distance.
fn missing_bytes(stall_ns: u64, ps_per_byte: u64, distance: u32) -> u64 {
    let local = u128::from(stall_ns) * 1000 * u128::from(LOCAL_DISTANCE) / u128::from(distance);
    (local / u128::from(ps_per_byte)).min(u128::from(u64::MAX)) as u64
}
