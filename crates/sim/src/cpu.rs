//! A CPU of the simulated machine.

use std::collections::VecDeque;

use schedlab_trace::{CpuId, Ns, Overhead, TaskId, Time};

/// The mode of a CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// Nothing.
    Idle,
    /// Its task computes.
    User,
    /// A piece of kernel work, until [`Cpu::kernel_until`].
    Kernel,
    /// Waiting for a run-queue lock.
    Spinning,
}

/// A piece of kernel work, done before anything else.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum KernelWork {
    /// The timer tick.
    Tick,
    /// A policy's timer.
    PolicyTimer(u32),
    /// The CPU's own timer, set by the policy.
    Hrtick,
    /// Wake a task. Its CPU is chosen once, before the lock is taken, at a cost.
    Wake {
        task: TaskId,
        flags: u32,
        chosen: Option<(CpuId, Ns)>,
    },
}

/// A CPU.
#[derive(Debug)]
pub(crate) struct Cpu {
    pub curr: Option<TaskId>,
    pub mode: Mode,
    /// End of the current piece of kernel work.
    pub kernel_until: Time,
    /// Kernel work to do, in order of arrival.
    pub pending: VecDeque<KernelWork>,
    /// Time of the policy's next tick, if its rate differs from the kernel's.
    pub next_policy_tick: Time,
    /// Start of its idle time, if it idles.
    pub idle_since: Time,
    /// The lock it was granted after spinning.
    pub held: Option<u32>,
    /// The address space loaded.
    pub mm: u32,
    /// CPUs that share its core.
    pub siblings: Vec<CpuId>,
    /// Tasks waiting on its run queue.
    pub nr_waiting: u32,
    /// Of these, tasks of throttled groups.
    pub nr_throttled: u32,
    /// The last time with more runnable tasks than the starvation bound covers.
    pub crowded: Time,
    /// All its time before this is accounted.
    pub clock: Time,
    pub idle_ns: u64,
    pub run_ns: u64,
    /// Of this, by real-time tasks.
    pub realtime_ns: u64,
    pub overhead_ns: [u64; 6],
}

/// Most runnable tasks on a CPU, including the running one, for which a starvation bound holds
/// (`policy.h`).
const PROMISED_TASKS: u32 = 32;

impl Cpu {
    pub fn new(siblings: Vec<CpuId>) -> Cpu {
        Cpu {
            curr: None,
            mode: Mode::Idle,
            kernel_until: Time::ZERO,
            pending: VecDeque::new(),
            next_policy_tick: Time::ZERO,
            idle_since: Time::ZERO,
            held: None,
            mm: 0,
            siblings,
            nr_waiting: 0,
            nr_throttled: 0,
            crowded: Time::ZERO,
            clock: Time::ZERO,
            idle_ns: 0,
            run_ns: 0,
            realtime_ns: 0,
            overhead_ns: [0; 6],
        }
    }

    /// Accounted time, summed over all kinds.
    pub fn accounted_ns(&self) -> u64 {
        self.idle_ns + self.run_ns + self.overhead_ns.iter().sum::<u64>()
    }

    /// Records a time with more runnable tasks than the starvation bound covers.
    #[inline]
    pub fn note_crowd(&mut self, now: Time) {
        if self.nr_waiting >= PROMISED_TASKS {
            self.crowded = now;
        }
    }

    /// Accounts overhead from [`Cpu::clock`] on.
    pub fn book_overhead(&mut self, kind: Overhead, ns: Ns) {
        self.overhead_ns[kind as usize] += ns.0;
        self.clock += ns;
    }
}
