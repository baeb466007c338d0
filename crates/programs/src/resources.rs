//! Resources that tasks wait for: the simulator's rules, with the kernel's futexes for sleep.
//!
//! A released resource goes directly to the task that has waited longest.  So the order of
//! waiting depends only on the workload and the scheduler, and not on the implementation of a
//! library.

use std::sync::atomic::Ordering::Relaxed;

use schedlab_trace::Time;

use crate::locked::Guard;
use crate::queue::Queue;
use crate::stage::{Stage, TaskSlot};

/// A mutex.
#[derive(Default)]
pub struct Mutex {
    /// Plus 1; 0 means none.
    owner: u32,
    waiters: Queue,
}

/// A condition variable; a waiting task remembers the mutex it must take again.
#[derive(Default)]
pub struct Condition {
    waiters: Queue,
}

/// A counting semaphore.
#[derive(Default)]
pub struct Semaphore {
    pub value: u32,
    waiters: Queue,
}

/// A barrier.
#[derive(Default)]
pub struct Barrier {
    pub size: u32,
    waiters: Queue,
}

/// A channel: messages are counted, and carry their senders' clocks if a program uses them.
#[derive(Default)]
pub struct Channel {
    pub capacity: u32,
    messages: u32,
    /// Number of messages taken so far.
    taken: u64,
    senders: Queue,
    receivers: Queue,
    /// Start and length of its ring in the stage's clocks.
    pub clocks: Option<(u32, u32)>,
}

/// A disk: the time when all its requests are done.
#[derive(Default)]
pub struct Disk {
    free_at: u64,
}

/// A timer several tasks share: its next expiry, 0 until it is first used.
#[derive(Default)]
pub struct SharedTimer {
    pub next: u64,
}

/// The error of releasing a mutex that the task does not hold.
pub struct NotOwner;

impl Stage {
    /// Takes a mutex.
    pub fn lock(&self, me: TaskSlot, mutex: u32) {
        let mut m = self.mutexes[mutex as usize].lock();
        if m.owner == 0 {
            m.owner = me.0 + 1;
            return;
        }
        m.waiters.push(self, me);
        drop(m);
        self.slot(me).park();
    }

    /// Releases it; the longest waiter gets it.
    pub fn unlock(&self, me: TaskSlot, mutex: u32) -> Result<(), NotOwner> {
        let mut m = self.mutexes[mutex as usize].lock();
        if m.owner != me.0 + 1 {
            return Err(NotOwner);
        }
        let next = m.waiters.pop(self);
        m.owner = next.map_or(0, |next| next.0 + 1);
        drop(m);
        self.wake(next);
        Ok(())
    }

    fn wake(&self, task: Option<TaskSlot>) -> bool {
        task.inspect(|task| self.slot(*task).unpark()).is_some()
    }

    /// Releases the mutex, waits for a signal, and takes the mutex again.
    pub fn wait_for_signal(
        &self,
        me: TaskSlot,
        condition: u32,
        mutex: Option<u32>,
    ) -> Result<(), NotOwner> {
        let wanted = mutex.map_or(0, |mutex| mutex + 1);
        self.slot(me).wanted_mutex.store(wanted, Relaxed);
        self.conditions[condition as usize]
            .lock()
            .waiters
            .push(self, me);
        if let Some(mutex) = mutex {
            self.unlock(me, mutex)?;
        }
        self.slot(me).park();
        Ok(())
    }

    /// Wakes the longest waiter; if its mutex is taken, it waits for the mutex instead.
    /// False if no task waits.
    pub fn signal(&self, condition: u32) -> bool {
        let waiter = self.conditions[condition as usize].lock().waiters.pop(self);
        let Some(waiter) = waiter else { return false };
        if let Some(mutex) = self.slot(waiter).wanted_mutex.load(Relaxed).checked_sub(1) {
            let mut m = self.mutexes[mutex as usize].lock();
            if m.owner != 0 {
                m.waiters.push(self, waiter);
                return true;
            }
            m.owner = waiter.0 + 1;
        }
        self.wake(Some(waiter))
    }

    /// Adds one to a semaphore, or wakes the longest waiter.
    pub fn post(&self, semaphore: u32) {
        let mut s = self.semaphores[semaphore as usize].lock();
        let waiter = s.waiters.pop(self);
        if waiter.is_none() {
            s.value = s.value.saturating_add(1);
        }
        drop(s);
        self.wake(waiter);
    }

    /// Takes one from a semaphore.
    pub fn wait(&self, me: TaskSlot, semaphore: u32) {
        let mut s = self.semaphores[semaphore as usize].lock();
        if s.value > 0 {
            s.value -= 1;
            return;
        }
        s.waiters.push(self, me);
        drop(s);
        self.slot(me).park();
    }

    /// Queues for a semaphore without sleeping yet, for a task that sleeps from the start.
    pub fn lie_down(&self, me: TaskSlot, semaphore: u32) {
        self.semaphores[semaphore as usize]
            .lock()
            .waiters
            .push(self, me);
    }

    /// Waits until all tasks have arrived.
    pub fn meet(&self, me: TaskSlot, barrier: u32) {
        let mut b = self.barriers[barrier as usize].lock();
        if b.waiters.length() + 1 < b.size {
            b.waiters.push(self, me);
            drop(b);
            self.slot(me).park();
            return;
        }
        let mut waiters = std::mem::take(&mut b.waiters);
        drop(b);
        // A woken task may wait elsewhere at once, so it is removed from this queue first.
        while self.wake(waiters.pop(self)) {}
    }

    /// The time when a disk has finished a request of this length that is issued now.
    pub fn disk(&self, disk: u32, now: Time, service_ns: u64) -> Time {
        let mut d = self.disks[disk as usize].lock();
        d.free_at = d.free_at.max(now.0) + service_ns;
        Time(d.free_at)
    }

    // ---- channels ---------------------------------------------------------------------

    /// Puts messages into a channel, one by one, waking a receiver for each.
    pub fn send(&self, me: TaskSlot, channel: u32, count: u32, clock: Time) {
        for _ in 0..count {
            let mut c = self.channels[channel as usize].lock();
            while c.messages >= c.capacity {
                c.senders.push(self, me);
                drop(c);
                self.slot(me).park();
                c = self.channels[channel as usize].lock();
            }
            self.put_clock(&c, clock);
            c.messages += 1;
            let receiver = c.receivers.pop(self);
            drop(c);
            self.wake(receiver);
        }
    }

    /// Takes messages one by one, waking a sender for each; returns the clock of the last.
    pub fn receive(&self, me: TaskSlot, channel: u32, count: u32) -> Option<Time> {
        let mut clock = None;
        for _ in 0..count {
            let mut c = self.await_message(me, channel);
            clock = self.clock_of(&c, 0);
            c.messages -= 1;
            c.taken += 1;
            let sender = c.senders.pop(self);
            drop(c);
            self.wake(sender);
        }
        clock
    }

    /// Takes all messages at once; returns their number and the clock of the last.
    pub fn receive_all(&self, me: TaskSlot, channel: u32) -> (u32, Option<Time>) {
        let mut c = self.await_message(me, channel);
        let taken = std::mem::take(&mut c.messages);
        let clock = self.clock_of(&c, taken - 1);
        c.taken += u64::from(taken);
        drop(c);
        for _ in 0..taken {
            let sender = self.channels[channel as usize].lock().senders.pop(self);
            if !self.wake(sender) {
                break;
            }
        }
        (taken, clock)
    }

    /// Waits for a message; returns the locked channel.
    fn await_message(&self, me: TaskSlot, channel: u32) -> Guard<'_, Channel> {
        loop {
            let mut c = self.channels[channel as usize].lock();
            if c.messages > 0 {
                return c;
            }
            c.receivers.push(self, me);
            drop(c);
            self.slot(me).park();
        }
    }

    fn put_clock(&self, c: &Channel, clock: Time) {
        if let Some(place) = place_of(c, c.messages) {
            self.clocks[place].store(clock.0, Relaxed);
        }
    }

    /// The clock of a message, by its distance from the front.
    fn clock_of(&self, c: &Channel, behind: u32) -> Option<Time> {
        place_of(c, behind).map(|place| Time(self.clocks[place].load(Relaxed)))
    }
}

/// The place of a message's clock, by its distance from the front.
fn place_of(c: &Channel, behind: u32) -> Option<usize> {
    let (first, length) = c.clocks?;
    let at = (c.taken + u64::from(behind)) % u64::from(length);
    Some(first as usize + at as usize)
}
