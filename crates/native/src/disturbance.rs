//! For tests: refuses locks and changes clocks as a real kernel does.
//!
//! The simulator runs one hook at a time, so its second lock is always free and time does not
//! advance during a hook. In a kernel a second lock may be refused, and hooks of several CPUs
//! overlap. A hook begins with the time of its first lock. A hook on another CPU may have a later
//! time and write it into its own run queue. When rq_lock() gets the lock of that run queue, it
//! renews the first hook's time.
//!
//! A disturbed host does both. A hook begins up to [`Disturbance::delay_ns`] after its event, and a
//! successful rq_lock() sets its time to the latest that any hook of that event can have. Times
//! never go back where a kernel orders the hooks: on one CPU, under one run queue's lock, and for
//! one task.

use std::ffi::c_void;

use crate::{ffi, first_state};

/// How to disturb the hooks of a policy with a lock for each CPU; see [`Host::disturb`](crate::Host::disturb).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Disturbance {
    /// The seed of refusals and delays.
    pub seed: u64,
    /// On average one in this number of calls of rq_lock() is refused; 0: none.
    pub refuse_one_in: u32,
    /// The longest delay of a hook after its event, in ns.
    pub delay_ns: u64,
}

/// The delay and the lock results of a hook of a disturbed host.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Met {
    /// When it began.
    pub began_ns: u64,
    /// The result of each rq_lock(): `None` is a refusal, otherwise the earliest time after it.
    pub locks: Vec<Option<u64>>,
}

/// The run queue's lock and the task of a hook, if it has them.
#[derive(Clone, Copy)]
pub(crate) struct Order {
    pub lock: Option<u32>,
    pub task: Option<usize>,
}

/// The state of a disturbance.
pub(crate) struct Disturber {
    chosen: Disturbance,
    /// State of the generator (xorshift64*), never 0.
    rng: u64,
    /// The time of the current hook's event.
    event_ns: u64,
    /// Latest times of hooks: on each CPU, under each run queue's lock, for each task.
    on_cpu: Vec<u64>,
    under_lock: Vec<u64>,
    of_task: Vec<u64>,
    /// The delay and the lock results of the last hook.
    pub met: Met,
}

impl Disturber {
    pub fn new(chosen: Disturbance, nr_cpus: usize) -> Disturber {
        Disturber {
            chosen,
            rng: first_state(chosen.seed, 0),
            event_ns: 0,
            on_cpu: vec![0; nr_cpus],
            under_lock: vec![0; nr_cpus],
            of_task: Vec::new(),
            met: Met::default(),
        }
    }

    /// The start time of a hook of an event at `event_ns`.
    pub fn begin(&mut self, event_ns: u64, this_cpu: u32, order: Order) -> u64 {
        self.event_ns = event_ns;
        let drawn = event_ns + u64::from(self.draw()) % (self.chosen.delay_ns + 1);
        let before = self.before(this_cpu, order).into_iter().flatten();
        let began_ns = before.fold(drawn, |latest, time| latest.max(*time));
        self.met.began_ns = began_ns;
        self.met.locks.clear();
        began_ns
    }

    /// The hook has ended at `now`.
    pub fn end(&mut self, now: u64, this_cpu: u32, order: Order) {
        if let Some(task) = order.task.filter(|&t| t >= self.of_task.len()) {
            self.of_task.resize(task + 1, 0);
        }
        for time in self.before(this_cpu, order).into_iter().flatten() {
            *time = now;
        }
    }

    /// The times before which a hook must not begin.
    fn before(&mut self, this_cpu: u32, order: Order) -> [Option<&mut u64>; 3] {
        [
            self.on_cpu.get_mut(this_cpu as usize),
            order
                .lock
                .and_then(|cpu| self.under_lock.get_mut(cpu as usize)),
            order.task.and_then(|task| self.of_task.get_mut(task)),
        ]
    }

    /// Latest time of a hook that held the lock of this CPU's run queue.
    pub fn lock_ns(&self, cpu: u32) -> u64 {
        self.under_lock[cpu as usize]
    }

    /// Locks this CPU's run queue: `None` is a refusal, otherwise the new time.
    fn lock(&mut self, cpu: u32) -> Option<u64> {
        let answer = self.answer(cpu);
        self.met.locks.push(answer);
        answer
    }

    fn answer(&mut self, cpu: u32) -> Option<u64> {
        if self.chosen.refuse_one_in != 0 && self.draw() % self.chosen.refuse_one_in == 0 {
            return None;
        }
        let now = self.event_ns + self.chosen.delay_ns;
        let held = &mut self.under_lock[cpu as usize];
        *held = now.max(*held);
        Some(*held)
    }

    fn draw(&mut self) -> u32 {
        let x = &mut self.rng;
        *x ^= *x >> 12;
        *x ^= *x << 25;
        *x ^= *x >> 27;
        (x.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) as u32
    }
}

/// Called by rq_lock() on a disturbed host.
///
/// # Safety
/// `disturber` points to a [`Disturber`] and `s` to the machine; no reference to either is alive.
pub(crate) unsafe extern "C" fn disturbed_lock(
    disturber: *mut c_void,
    s: *mut ffi::Sched,
    cpu: u32,
) -> u32 {
    // SAFETY: as the caller promises.
    unsafe {
        match (*disturber.cast::<Disturber>()).lock(cpu) {
            Some(now) => {
                (*s).now = now.max((*s).now);
                1
            }
            None => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disturber(refuse_one_in: u32) -> Disturber {
        let chosen = Disturbance {
            seed: 1,
            refuse_one_in,
            delay_ns: 1000,
        };
        Disturber::new(chosen, 2)
    }

    #[test]
    fn a_renewed_time_is_later_than_that_of_any_overlapping_hook() {
        let mut d = disturber(0);
        for event_ns in (0..100_000).step_by(700) {
            let there = Order {
                lock: Some(1),
                task: None,
            };
            let now = d.begin(event_ns, 1, there);
            assert!((event_ns..=event_ns + 1000).contains(&now));
            d.end(now, 1, there);
            let here = Order {
                lock: Some(0),
                task: None,
            };
            let began = d.begin(event_ns, 0, here);
            let renewed = d.lock(1).unwrap();
            assert!(renewed >= now && renewed >= began);
            d.end(renewed, 0, here);
        }
    }

    #[test]
    fn hooks_of_one_task_lock_or_cpu_stay_in_order() {
        let mut d = disturber(0);
        let order = |lock, task| Order {
            lock: Some(lock),
            task: Some(task),
        };
        d.end(900, 0, order(0, 7));
        assert!(d.begin(0, 1, order(1, 7)) >= 900, "the task");
        assert!(d.begin(0, 1, order(0, 8)) >= 900, "the lock");
        assert!(d.begin(0, 0, order(1, 8)) >= 900, "the CPU");
        assert!((0..50).any(|_| d.begin(0, 1, order(1, 8)) < 900));
    }

    #[test]
    fn about_as_many_locks_are_refused_as_wanted() {
        let refused = |one_in| {
            let mut d = disturber(one_in);
            (0..10_000).filter(|_| d.lock(0).is_none()).count()
        };
        assert_eq!(refused(0), 0);
        assert_eq!(refused(1), 10_000);
        assert!((2200..2800).contains(&refused(4)), "{}", refused(4));
    }
}
