//! What tasks share: mutexes, conditions, semaphores, barriers, channels, disks.

use std::collections::VecDeque;

use schedlab_trace::{TaskId, Time};
use schedlab_workload::Workload;

/// A mutex.  Released, it goes straight to the longest waiter.
#[derive(Default, Debug)]
pub(crate) struct Mutex {
    pub owner: Option<TaskId>,
    pub waiters: VecDeque<TaskId>,
}

/// A condition variable: who waits, and which mutex each needs back.
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

/// A pipe or socket.  Whoever is woken looks again: others may have been faster.
///
/// Each message put in wakes one receiver, each taken out one sender.  So while any receiver sleeps
/// at least as many are awake as there are messages, and no message waits for a wakeup;
/// likewise for senders and free places.
#[derive(Debug)]
pub(crate) struct Channel {
    pub capacity: u32,
    /// The messages, in order: each carries the clock of its sender.
    pub messages: VecDeque<Time>,
    pub senders: VecDeque<TaskId>,
    pub receivers: VecDeque<TaskId>,
}

/// A disk: serves one request at a time, in order of arrival.
#[derive(Default, Debug)]
pub(crate) struct Disk {
    /// Requests with their service times in ns; the first is being served.
    pub requests: VecDeque<(TaskId, u64)>,
}

/// All of them, by the workload's numbers.
#[derive(Debug)]
pub(crate) struct Resources {
    pub mutexes: Vec<Mutex>,
    pub conditions: Vec<Condition>,
    pub semaphores: Vec<Semaphore>,
    pub barriers: Vec<Barrier>,
    pub channels: Vec<Channel>,
    pub disks: Vec<Disk>,
    /// Next expiry of each timer shared between tasks; none until first used.
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
                    messages: VecDeque::new(),
                    senders: VecDeque::new(),
                    receivers: VecDeque::new(),
                })
                .collect(),
            disks: (0..workload.nr_disks).map(|_| Disk::default()).collect(),
            shared_timers: vec![None; workload.nr_shared_timers as usize],
        }
    }
}
