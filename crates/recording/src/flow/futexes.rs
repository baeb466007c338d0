//! Futexes: words in memory that tasks wait for.
//!
//! The kernel does not know the meaning of a futex; its use shows it. If the waking tasks never
//! wait, each wake passes something to a waiter, as in a queue. If the same tasks wait and wake,
//! the futex is a lock. Who waits for a lock depends on the order of the tasks, and only contended
//! calls are recorded.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::stream::Streams;
use super::{ChannelId, Flow, Kind};
use crate::event::Pid;

/// A process and an address.
pub type Futex = (Pid, u64);

#[derive(Default)]
struct Use {
    waiters: BTreeSet<Pid>,
    wakers: BTreeSet<Pid>,
    waits: u64,
    woken: u64,
}

/// The uses of all futexes.
#[derive(Default)]
pub struct Futexes(FxHashMap<Futex, Use>);

impl Futexes {
    pub fn waited(&mut self, futex: Futex, task: Pid) {
        let used = self.0.entry(futex).or_default();
        used.waiters.insert(task);
        used.waits += 1;
    }

    pub fn woke(&mut self, futex: Futex, task: Pid, woken: u32) {
        let used = self.0.entry(futex).or_default();
        used.wakers.insert(task);
        used.woken += u64::from(woken);
    }

    /// Turns calls on futexes that pass something on into reads and writes.
    pub fn resolve(self, calls: &mut [Flow], streams: &mut Streams) {
        let mut channels: FxHashMap<Futex, ChannelId> = FxHashMap::default();
        for call in calls {
            let (Flow::FutexWait { futex } | Flow::FutexWake { futex, .. }) = *call else {
                continue;
            };
            if !self.0.get(&futex).is_some_and(Use::hands_over) {
                continue;
            }
            let new = || streams.add(Kind::Futex, false);
            let channel = *channels.entry(futex).or_insert_with(new);
            *call = match *call {
                Flow::FutexWake { woken, .. } => Flow::write(streams, channel, woken),
                _ => Flow::read(streams, channel, 1),
            };
        }
    }
}

impl Use {
    /// Was each wait ended by a task that only wakes?
    fn hands_over(&self) -> bool {
        self.waits > 0 && self.waits <= self.woken && self.waiters.is_disjoint(&self.wakers)
    }
}
