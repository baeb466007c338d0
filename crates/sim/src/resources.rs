//! Resources shared by tasks: mutexes, conditions, semaphores, barriers, channels, disks.

use std::collections::VecDeque;

use schedlab_trace::{TaskId, Time};
use schedlab_workload::{Waking, Workload};

/// A mutex. When released, it goes directly to the longest waiter.
#[derive(Default, Debug)]
pub(crate) struct Mutex {
    pub owner: Option<TaskId>,
    pub waiters: VecDeque<TaskId>,
}

/// A condition variable: the waiting tasks, and the mutex that each needs again.
#[derive(Default, Debug)]
pub(crate) struct Condition {
    pub waiters: VecDeque<(TaskId, Option<u32>)>,
}

/// A counting semaphore.
#[derive(Debug)]
pub(crate) struct Semaphore {
    pub value: u32,
    pub waiters: VecDeque<TaskId>,
}

/// A barrier.
#[derive(Debug)]
pub(crate) struct Barrier {
    pub size: u32,
    pub waiting: Vec<TaskId>,
}

/// A pipe or socket. A woken task checks again: another task may have been faster.
///
/// [`Waking`] says which tasks a transfer wakes. No message waits for a wakeup. With a wakeup for
/// each message, as many receivers are awake as there are messages. With wakeups one by one, a
/// receiver is awake while there are messages, and wakes the next one if it leaves any. The same
/// holds for senders and free places.
#[derive(Debug)]
pub(crate) struct Channel {
    pub capacity: u32,
    pub waking: Waking,
    pub messages: Messages,
    pub senders: VecDeque<TaskId>,
    pub receivers: VecDeque<TaskId>,
}

/// Messages of a channel, in order. Each contains its sender's clock. Neighbours with equal clocks
/// are one batch, so memory does not grow with the number of messages sent at once.
#[derive(Default, Debug)]
pub(crate) struct Messages {
    /// Clock and number of messages of each batch; no batch is empty.
    batches: VecDeque<(Time, u32)>,
    total: u32,
}

impl Messages {
    /// A number of messages without clocks.
    pub fn of(count: u32) -> Messages {
        let mut messages = Messages::default();
        if count > 0 {
            messages.put(Time::ZERO, count);
        }
        messages
    }

    pub fn total(&self) -> u32 {
        self.total
    }

    pub fn batches(&self) -> usize {
        self.batches.len()
    }

    /// Adds messages at the end; the channel has room for them.
    pub fn put(&mut self, clock: Time, count: u32) {
        self.total += count;
        match self.batches.back_mut() {
            Some((last, n)) if *last == clock => *n += count,
            _ => self.batches.push_back((clock, count)),
        }
    }

    /// Takes up to `most` messages of the first batch: their clock and number; `None` if empty.
    pub fn take(&mut self, most: u32) -> Option<(Time, u32)> {
        let (clock, n) = self.batches.front_mut()?;
        let (clock, taken) = (*clock, most.min(*n));
        *n -= taken;
        if *n == 0 {
            self.batches.pop_front();
        }
        self.total -= taken;
        Some((clock, taken))
    }

    /// Takes all messages: the clock of the last and their number; `None` if empty.
    pub fn take_all(&mut self) -> Option<(Time, u32)> {
        let &(clock, _) = self.batches.back()?;
        self.batches.clear();
        Some((clock, std::mem::take(&mut self.total)))
    }
}

impl Channel {
    /// Free places.
    pub fn room(&self) -> u32 {
        self.capacity - self.messages.total()
    }

    /// The most messages to send at once.
    pub fn put_at_once(&self, wanted: u32) -> u32 {
        match self.waking == Waking::EachMessage && !self.receivers.is_empty() {
            true => 1,
            false => wanted.min(self.room()),
        }
    }

    /// The most messages to take at once.
    pub fn take_at_once(&self, wanted: u32) -> u32 {
        match self.waking == Waking::EachMessage && !self.senders.is_empty() {
            true => 1,
            false => wanted,
        }
    }

    /// The receivers woken by the messages just sent.
    pub fn woken_by_put(&mut self, was_empty: bool) -> Vec<TaskId> {
        let nr = match self.waking {
            Waking::EachMessage => 1,
            Waking::OneByOne { .. } => usize::from(was_empty),
            Waking::All { .. } => self.receivers.len(),
        };
        first(&mut self.receivers, nr)
    }

    /// The senders woken after messages were taken; there were `before` messages.
    pub fn woken_by_take(&mut self, before: u32) -> Vec<TaskId> {
        let held = self.messages.total();
        let nr = match self.waking {
            Waking::EachMessage => 1,
            Waking::OneByOne { low_water } => usize::from(held <= low_water && before > low_water),
            Waking::All { low_water } if held <= low_water => self.senders.len(),
            Waking::All { .. } => 0,
        };
        first(&mut self.senders, nr)
    }

    /// The receiver woken by a receiver that is complete.
    pub fn next_receiver(&mut self) -> Option<TaskId> {
        let passes_on = matches!(self.waking, Waking::OneByOne { .. }) && self.messages.total() > 0;
        passes_on.then(|| self.receivers.pop_front()).flatten()
    }

    /// The sender woken by a sender that is complete.
    pub fn next_sender(&mut self) -> Option<TaskId> {
        let passes_on = matches!(self.waking, Waking::OneByOne { .. }) && self.room() > 0;
        passes_on.then(|| self.senders.pop_front()).flatten()
    }
}

/// Takes the first `nr` tasks of a queue, or all if there are fewer.
fn first(queue: &mut VecDeque<TaskId>, nr: usize) -> Vec<TaskId> {
    queue.drain(..nr.min(queue.len())).collect()
}

/// A disk: serves one request at a time, in order of arrival.
#[derive(Default, Debug)]
pub(crate) struct Disk {
    /// Requests with their service times in ns; the first is being served.
    pub requests: VecDeque<(TaskId, u64)>,
}

/// All resources, by the workload's numbers.
#[derive(Debug)]
pub(crate) struct Resources {
    pub mutexes: Vec<Mutex>,
    pub conditions: Vec<Condition>,
    pub semaphores: Vec<Semaphore>,
    pub barriers: Vec<Barrier>,
    pub channels: Vec<Channel>,
    pub disks: Vec<Disk>,
    /// Next expiry of each timer shared between tasks; `None` before its first use.
    pub shared_timers: Vec<Option<Time>>,
}

impl Resources {
    pub fn new(workload: &Workload) -> Resources {
        Resources {
            mutexes: (0..workload.nr_mutexes).map(|_| Mutex::default()).collect(),
            conditions: (0..workload.nr_conditions)
                .map(|_| Condition::default())
                .collect(),
            semaphores: workload
                .semaphores
                .iter()
                .map(|&value| Semaphore {
                    value,
                    waiters: VecDeque::new(),
                })
                .collect(),
            barriers: workload
                .barriers
                .iter()
                .map(|&size| Barrier {
                    size,
                    waiting: Vec::new(),
                })
                .collect(),
            channels: workload
                .channels
                .iter()
                .map(|c| Channel {
                    capacity: c.capacity.max(1),
                    waking: c.waking,
                    messages: Messages::of(c.initial.min(c.capacity)),
                    senders: VecDeque::new(),
                    receivers: VecDeque::new(),
                })
                .collect(),
            disks: (0..workload.nr_disks).map(|_| Disk::default()).collect(),
            shared_timers: vec![None; workload.nr_shared_timers as usize],
        }
    }
}
