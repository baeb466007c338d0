//! The event queue.
//!
//! Every actor (a lock, a CPU, a policy timer, a CPU's hrtick, a disk, a task's timer) has one
//! slot with at most one event. So a slot identifies an event, and two events never have the same
//! time and slot. The order is total:
//!
//! 1. by time;
//! 2. at the same time by slot. The slots have this order, on purpose:
//!    **locks** (a waiting CPU gets the lock before a CPU that arrives), **CPUs** (work that is
//!    complete ends before an interrupt), ticks (see [`Ticks`](crate::ticks::Ticks)),
//!    **policy timers**, **hrticks**, **disks**, **task timers** (the tick is handled before timers
//!    that expire at it).
//!
//! [`TieBreak::Shuffled`] replaces the second rule by a seeded permutation of the slots.

use schedlab_trace::Time;

use crate::TieBreak;

/// An actor of events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Actor {
    Lock(u32),
    Cpu(u32),
    PolicyTimer(u32),
    Hrtick(u32),
    Disk(u32),
    Task(u32),
}

/// Number of slots of each kind before the tasks' slots; the number of tasks is not limited.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slots {
    pub locks: u32,
    pub cpus: u32,
    pub policy_timers: u32,
    pub hrticks: u32,
    pub disks: u32,
}

impl Slots {
    /// Actors with slots below this one act before ticks of the same time.
    fn before_ticks(&self) -> u32 {
        self.locks + self.cpus
    }

    fn slot(&self, actor: Actor) -> u32 {
        let timers = self.before_ticks();
        let hrticks = timers + self.policy_timers;
        let disks = hrticks + self.hrticks;
        match actor {
            Actor::Lock(i) => i,
            Actor::Cpu(i) => self.locks + i,
            Actor::PolicyTimer(i) => timers + i,
            Actor::Hrtick(i) => hrticks + i,
            Actor::Disk(i) => disks + i,
            Actor::Task(i) => disks + self.disks + i,
        }
    }

    fn actor(&self, mut slot: u32) -> Actor {
        if slot < self.locks {
            return Actor::Lock(slot);
        }
        slot -= self.locks;
        if slot < self.cpus {
            return Actor::Cpu(slot);
        }
        slot -= self.cpus;
        if slot < self.policy_timers {
            return Actor::PolicyTimer(slot);
        }
        slot -= self.policy_timers;
        if slot < self.hrticks {
            return Actor::Hrtick(slot);
        }
        slot -= self.hrticks;
        if slot < self.disks {
            return Actor::Disk(slot);
        }
        Actor::Task(slot - self.disks)
    }
}

#[derive(Clone, Copy)]
struct Entry {
    time: u64,
    order: u32,
    slot: u32,
}

impl Entry {
    #[inline]
    fn before(&self, other: &Entry) -> bool {
        (self.time, self.order) < (other.time, other.order)
    }
}

const NOWHERE: u32 = u32::MAX;
const ARITY: usize = 4;

/// An indexed 4-ary heap: an event can be moved and cancelled, so none is outdated.
pub(crate) struct EventQueue {
    slots: Slots,
    tie_break: TieBreak,
    heap: Vec<Entry>,
    /// Slot to index in the heap.
    place: Vec<u32>,
    /// Number of events other than the policy's timers.
    news: usize,
    /// The slot of the current event, unless its actor has a new event.
    current: u32,
    before_ticks: u32,
}

impl EventQueue {
    pub fn new(slots: Slots, tie_break: TieBreak) -> EventQueue {
        let mut queue = EventQueue {
            slots,
            tie_break,
            heap: Vec::new(),
            place: Vec::new(),
            news: 0,
            current: NOWHERE,
            before_ticks: 0,
        };
        queue.before_ticks = queue.order(slots.before_ticks());
        queue
    }

    /// Are only timers of the policy left?
    pub fn only_routine(&self) -> bool {
        self.news == 0
    }

    /// The next event: its time, and whether it comes before a tick of the same time.
    #[inline]
    pub fn next(&self) -> Option<(Time, bool)> {
        let first = self.heap.first()?;
        Some((Time(first.time), first.order < self.before_ticks))
    }

    /// The actor of the next event. The event stays in the heap until [`EventQueue::done`], so that
    /// it can be moved to the actor's next time.
    #[inline]
    pub fn begin(&mut self) -> Actor {
        self.current = self.heap[0].slot;
        self.slots.actor(self.current)
    }

    /// Completes the current event.
    #[inline]
    pub fn done(&mut self) {
        if self.current != NOWHERE {
            let at = self.place[self.current as usize];
            self.current = NOWHERE;
            self.remove(at as usize);
        }
    }

    /// Sets or moves the actor's event to `time`.
    #[inline]
    pub fn arm(&mut self, actor: Actor, time: Time) {
        let slot = self.slots.slot(actor);
        if self.place.len() <= slot as usize {
            self.place.resize(slot as usize + 1, NOWHERE);
        }
        let at = self.place[slot as usize];
        if slot == self.current {
            self.current = NOWHERE;
        }
        if at == NOWHERE {
            self.news += usize::from(is_news(actor));
            let entry = Entry {
                time: time.0,
                order: self.order(slot),
                slot,
            };
            self.heap.push(entry);
            self.sift_up(self.heap.len() - 1, entry);
        } else {
            self.rekey(at as usize, time.0);
        }
    }

    #[inline]
    fn rekey(&mut self, at: usize, time: u64) {
        let old = self.heap[at];
        let entry = Entry { time, ..old };
        if time > old.time {
            self.sift_down(at, entry);
        } else if time < old.time {
            self.sift_up(at, entry);
        }
    }

    /// Sets the actor's event to `time` if it has none or a later one.
    pub fn arm_no_later(&mut self, actor: Actor, time: Time) {
        if self.armed(actor).is_none_or(|t| t > time) {
            self.arm(actor, time);
        }
    }

    /// The time of the actor's event.
    pub fn armed(&self, actor: Actor) -> Option<Time> {
        let slot = self.slots.slot(actor);
        let at = *self.place.get(slot as usize)?;
        (slot != self.current && at != NOWHERE).then(|| Time(self.heap[at as usize].time))
    }

    /// Cancels the actor's event.
    #[inline]
    pub fn cancel(&mut self, actor: Actor) {
        let slot = self.slots.slot(actor);
        if slot == self.current {
            self.current = NOWHERE;
        }
        if let Some(&at) = self.place.get(slot as usize) {
            if at != NOWHERE {
                self.remove(at as usize);
            }
        }
    }

    fn order(&self, slot: u32) -> u32 {
        match self.tie_break {
            TieBreak::Canonical => slot,
            TieBreak::Shuffled(seed) => mix32(slot, seed as u32),
        }
    }

    fn remove(&mut self, at: usize) {
        let gone = self.heap[at];
        self.news -= usize::from(is_news(self.slots.actor(gone.slot)));
        self.place[gone.slot as usize] = NOWHERE;
        let last = self.heap.pop().expect("the heap holds the entry at `at`");
        if at < self.heap.len() {
            self.sift_down(at, last);
            let at = self.place[last.slot as usize] as usize;
            self.sift_up(at, last);
        }
    }

    #[inline]
    fn put(&mut self, at: usize, entry: Entry) {
        self.heap[at] = entry;
        self.place[entry.slot as usize] = at as u32;
    }

    fn sift_up(&mut self, mut at: usize, entry: Entry) {
        while at > 0 {
            let parent = (at - 1) / ARITY;
            if !entry.before(&self.heap[parent]) {
                break;
            }
            self.put(at, self.heap[parent]);
            at = parent;
        }
        self.put(at, entry);
    }

    fn sift_down(&mut self, mut at: usize, entry: Entry) {
        loop {
            let first = at * ARITY + 1;
            let end = (first + ARITY).min(self.heap.len());
            if first >= end {
                break;
            }
            let mut least = first;
            for child in first + 1..end {
                if self.heap[child].before(&self.heap[least]) {
                    least = child;
                }
            }
            if !self.heap[least].before(&entry) {
                break;
            }
            self.put(at, self.heap[least]);
            at = least;
        }
        self.put(at, entry);
    }
}

#[inline]
fn is_news(actor: Actor) -> bool {
    !matches!(actor, Actor::PolicyTimer(_) | Actor::Hrtick(_))
}

/// A bijection of 32-bit numbers chosen by `key`.
fn mix32(x: u32, key: u32) -> u32 {
    let mut x = x ^ key;
    x = (x ^ (x >> 16)).wrapping_mul(0x7feb_352d);
    x = (x ^ (x >> 15)).wrapping_mul(0x846c_a68b);
    x ^ (x >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(tie_break: TieBreak) -> EventQueue {
        let slots = Slots {
            locks: 1,
            cpus: 2,
            policy_timers: 4,
            hrticks: 2,
            disks: 1,
        };
        EventQueue::new(slots, tie_break)
    }

    /// Takes the next event, as the main loop does.
    fn pop(q: &mut EventQueue) -> Option<(Time, Actor)> {
        let (time, _) = q.next()?;
        let actor = q.begin();
        q.done();
        Some((time, actor))
    }

    const ALL: [Actor; 7] = [
        Actor::Lock(0),
        Actor::Cpu(0),
        Actor::Cpu(1),
        Actor::PolicyTimer(3),
        Actor::Hrtick(1),
        Actor::Disk(0),
        Actor::Task(7),
    ];

    #[test]
    fn same_time_follows_the_documented_order() {
        let mut q = queue(TieBreak::Canonical);
        for actor in ALL.iter().rev() {
            q.arm(*actor, Time(5));
        }
        let order: Vec<Actor> = std::iter::from_fn(|| pop(&mut q)).map(|(_, a)| a).collect();
        assert_eq!(order, ALL);
    }

    #[test]
    fn a_shuffle_is_a_permutation_and_keeps_time() {
        let mut q = queue(TieBreak::Shuffled(3));
        for (i, actor) in ALL.iter().enumerate() {
            q.arm(*actor, Time(i as u64 / 4));
        }
        let order: Vec<(Time, Actor)> = std::iter::from_fn(|| pop(&mut q)).collect();
        assert_eq!(order.len(), ALL.len());
        assert!(order.windows(2).all(|w| w[0].0 <= w[1].0));
    }

    #[test]
    fn an_actor_can_be_armed_again_while_its_event_happens() {
        let mut q = queue(TieBreak::Canonical);
        q.arm(Actor::Task(1), Time(5));
        q.arm(Actor::Task(2), Time(6));
        assert_eq!(q.begin(), Actor::Task(1));
        assert_eq!(q.armed(Actor::Task(1)), None);
        q.arm(Actor::Task(1), Time(7));
        assert_eq!(q.armed(Actor::Task(1)), Some(Time(7)));
        q.done();
        let order: Vec<(Time, Actor)> = std::iter::from_fn(|| pop(&mut q)).collect();
        assert_eq!(
            order,
            [(Time(6), Actor::Task(2)), (Time(7), Actor::Task(1))]
        );
    }

    #[test]
    fn agrees_with_a_sorted_list_under_random_use() {
        let mut q = queue(TieBreak::Canonical);
        let mut model: Vec<(u64, u32)> = Vec::new();
        let mut x = 12345u64;
        for _ in 0..20_000 {
            x = x
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            let task = (x >> 33) as u32 % 50;
            let time = (x >> 17) % 1000;
            match x >> 62 {
                0 => {
                    q.cancel(Actor::Task(task));
                    model.retain(|e| e.1 != task);
                }
                1 => {
                    let first = model.iter().min().copied();
                    let popped = pop(&mut q).map(|(t, a)| match a {
                        Actor::Task(i) => (t.0, i),
                        other => panic!("never armed {other:?}"),
                    });
                    assert_eq!(popped, first);
                    model.retain(|e| Some(*e) != first);
                }
                _ => {
                    q.arm(Actor::Task(task), Time(time));
                    model.retain(|e| e.1 != task);
                    model.push((time, task));
                }
            }
            assert_eq!(q.only_routine(), model.is_empty());
        }
    }
}
