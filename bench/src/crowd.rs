//! A run queue full of tasks, driven without a simulator around it.

use schedlab_policy::{deq, enq, Class, Host, NewTask, Platform, Policy, Prev, Topology, Tuned};
use schedlab_trace::{CpuId, TaskId, Time};

const CPU: CpuId = CpuId(0);
const SECOND_NS: u64 = 1_000_000_000;

/// One CPU whose run queue holds so many tasks, one of them running.
pub struct Crowd {
    host: Host,
    running: TaskId,
    now: u64,
    timers: Vec<u64>,
    recalculated: u64,
}

impl Crowd {
    /// So many tasks, all runnable.
    ///
    /// # Panics
    /// The policy has a fault; its tests would have said so before.
    pub fn new(policy: Policy, tasks: u32) -> Crowd {
        let cpus = [Topology {
            core: 0,
            llc: 0,
            node: 0,
        }];
        let platform = Platform {
            cpus: &cpus,
            smp: false,
            hz: 1000,
        };
        let tuned = Tuned::defaults(policy);
        let mut host = Host::new(&tuned, &platform, 1).expect("the policy initialises");
        for mm in 1..=tasks {
            let new = NewTask {
                nice: 0,
                class: Class::Normal,
                rt_priority: 0,
                mm,
                cpu_set: 0,
                foreground: false,
                cpu: CPU,
            };
            let task = host.add_task(&new, None);
            host.fork(None, task).expect("fork");
            host.enqueue(task, enq::NEW).expect("enqueue");
        }
        let running = host
            .pick_next(CPU, None, Prev::None)
            .expect("pick")
            .expect("tasks wait");
        host.switch(CPU, None, Some(running)).expect("switch");
        let timers = host.take_timers().map_or(Vec::new(), |t| t.to_vec());
        Crowd {
            host,
            running,
            now: 0,
            timers,
            recalculated: 0,
        }
    }

    /// The running task blocks, the policy picks the next, the one that blocked is woken.
    ///
    /// # Panics
    /// As [`Crowd::new`].
    pub fn turn(&mut self) {
        let prev = self.running;
        self.now += 1_000;
        self.host.at(Time(self.now), CPU);
        self.host.dequeue(prev, deq::SLEEP).expect("dequeue");
        let next = self
            .host
            .pick_next(CPU, Some(prev), Prev::Blocked)
            .expect("pick")
            .expect("others wait");
        self.host
            .switch(CPU, Some(prev), Some(next))
            .expect("switch");
        self.host.enqueue(prev, enq::WAKEUP).expect("enqueue");
        while self.host.take_resched().is_some() {}
        self.running = next;
    }

    /// All the policy's timers that expire within a second.
    ///
    /// # Panics
    /// As [`Crowd::new`].
    pub fn second(&mut self) {
        let end = self.now + SECOND_NS;
        while let Some((expires, id)) = self.next_timer().filter(|(expires, _)| *expires <= end) {
            self.timers[id] = 0;
            self.host.at(Time(expires), CPU);
            self.host.timer(id as u32).expect("timer");
            while self.host.take_resched().is_some() {}
            self.recalculated += u64::from(self.host.take_work().recalculated);
            if let Some(timers) = self.host.take_timers() {
                self.timers = timers.to_vec();
            }
        }
        self.now = end;
    }

    /// Tasks that passes of [`Crowd::second`] have renewed so far.
    pub fn recalculated(&self) -> u64 {
        self.recalculated
    }

    fn next_timer(&self) -> Option<(u64, usize)> {
        let armed = self.timers.iter().enumerate().filter(|(_, at)| **at > 0);
        armed.map(|(id, at)| (*at, id)).min()
    }
}
