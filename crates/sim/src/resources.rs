//! Resources shared by tasks: mutexes, conditions, semaphores, barriers, channels, disks.

use std::collections::VecDeque;

use schedlab_trace::{TaskId, Time};
use schedlab_workload::Workload;

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
/// Each message sent wakes one receiver, each message received one sender. So while a receiver
/// sleeps, at least as many receivers are awake as there are messages, and no message waits for a
/// wakeup. The same holds for senders and free places.
#[derive(Debug)]
pub(crate) struct Channel {
    pub capacity: u32,
    pub low_water: Option<u32>,
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
    /// Number of blocked senders that continue after messages were taken.
    pub fn relieved(&self) -> usize {
        match self.low_water {
            None => self.senders.len().min(1),
            Some(low_water) if self.messages.total() <= low_water => self.senders.len(),
            Some(_) => 0,
        }
    }

    /// The most messages to take at once.
    pub fn at_once(&self, wanted: u32) -> u32 {
        match self.low_water.is_none() && !self.senders.is_empty() {
            true => 1,
            false => wanted,
        }
    }
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
                    low_water: c.low_water,
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
