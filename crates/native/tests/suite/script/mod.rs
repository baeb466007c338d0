//! Drives one policy alone with a script of events, in the order a kernel would call its hooks.
//!
//! There is no simulator, so an error in the engine cannot hide one in the policy.  After every
//! event each waiting task must still be queued by the policy (`queued`), and the task returned
//! by `pick_next` must be runnable, allowed on the CPU and not running elsewhere.

#![allow(dead_code)] // Each test file uses a part of it.

pub mod random;

use schedlab_policy::{
    deq, enq, ffi, Clamps, Class, Disturbance, Host, NewTask, Platform, Policy, Prev, Topology,
    Tuned,
};
use schedlab_trace::{CpuId, Ns, TaskId, Time};

/// Where a task is, as the script knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Sleeping,
    Waiting,
    Running(u32),
    Dead,
}

/// One machine under one policy, driven by events.
pub struct Machine {
    pub host: Host,
    now_ns: u64,
    /// The CPU that wakes, changes and creates tasks from outside.
    this_cpu: u32,
    curr: Vec<Option<TaskId>>,
    places: Vec<Place>,
    /// CPUs that the last event asked to reschedule.
    asked: Vec<u32>,
    /// When each of the policy's timers goes off; 0 is never.
    timers: [u64; ffi::MAX_TIMERS],
}

/// A SCHED_NORMAL task with an address space of its own that last ran on CPU 0.
pub fn normal(nice: i8) -> NewTask {
    NewTask {
        nice,
        class: Class::Normal,
        rt_priority: 0,
        mm: u32::MAX, // Machine::add() turns it into a number of its own.
        cpu_set: 0,
        cpu: CpuId(0),
        foreground: false,
        group: None,
        slice: Ns::ZERO,
        clamps: Clamps::NONE,
    }
}

/// The same, but it ran on `cpu` last.
pub fn on_cpu(cpu: u32, nice: i8) -> NewTask {
    NewTask {
        cpu: CpuId(cpu),
        ..normal(nice)
    }
}

/// A real-time task.
pub fn real_time(class: Class, rt_priority: u8) -> NewTask {
    NewTask {
        class,
        rt_priority,
        ..normal(0)
    }
}

/// "policy" or "policy:variant" with some tunables set.
fn tuned(name: &str, set: &[(&str, i64)]) -> Result<Tuned, String> {
    let (name, variant) = match name.split_once(':') {
        Some((name, variant)) => (name, Some(variant)),
        None => (name, None),
    };
    let policy = Policy::find(name).expect("the policy exists");
    let set: Vec<(String, i64)> = set.iter().map(|&(n, v)| (n.to_string(), v)).collect();
    Tuned::new(policy, variant, &set).map_err(|e| e.to_string())
}

impl Machine {
    /// "policy" or "policy:variant" on this many CPUs, which share one cache.
    pub fn new(name: &str, cpus: u32, set: &[(&str, i64)]) -> Machine {
        Machine::try_new(name, cpus, set).expect("the policy starts")
    }

    /// As [`Machine::new`], for policies that refuse to start.
    pub fn try_new(name: &str, cpus: u32, set: &[(&str, i64)]) -> Result<Machine, String> {
        Machine::of_caches(name, &[cpus], set)
    }

    /// As [`Machine::try_new`] on several caches of this many CPUs each.
    pub fn of_caches(name: &str, caches: &[u32], set: &[(&str, i64)]) -> Result<Machine, String> {
        Machine::of(&tuned(name, set)?, caches)
    }

    /// As [`Machine::try_new`], with the place of each CPU.
    pub fn of_topology(
        name: &str,
        topology: &[Topology],
        set: &[(&str, i64)],
    ) -> Result<Machine, String> {
        Machine::placed(&tuned(name, set)?, topology)
    }

    /// Any policy, on several caches of this many CPUs each.
    pub fn of(tuned: &Tuned, caches: &[u32]) -> Result<Machine, String> {
        let llcs = (0..)
            .zip(caches)
            .flat_map(|(llc, cpus)| (0..*cpus).map(move |_| llc));
        let place = |(core, llc)| Topology {
            core,
            llc,
            ..Topology::ONE
        };
        let topology: Vec<Topology> = (0..).zip(llcs).map(place).collect();
        Machine::placed(tuned, &topology)
    }

    fn placed(tuned: &Tuned, topology: &[Topology]) -> Result<Machine, String> {
        let cpus = topology.len();
        let platform = Platform {
            cpus: topology,
            smp: cpus > 1,
            lazy: false,
            hz: 100,
        };
        let mut host = Host::new(tuned, &platform, 1).map_err(|e| e.to_string())?;
        let timers = host.take_timers().unwrap_or_default();
        Ok(Machine {
            host,
            now_ns: 0,
            this_cpu: 0,
            curr: vec![None; cpus],
            places: Vec::new(),
            asked: Vec::new(),
            timers,
        })
    }

    /// From now on rq_lock() is refused always, or never.
    pub fn refuse_locks(&mut self, refuse: bool) -> &mut Self {
        self.host.disturb(Disturbance {
            seed: 1,
            refuse_one_in: u32::from(refuse),
            delay_ns: 0,
        });
        self
    }

    /// How many CPUs there are.
    pub fn cpus(&self) -> u32 {
        self.curr.len() as u32
    }

    // ---- time and place of the next events --------------------------------------

    /// Time passes.
    pub fn after(&mut self, ns: u64) -> &mut Self {
        self.now_ns += ns;
        self
    }

    /// Time passes and the policy's timers go off on CPU 0 as they are due; returns the CPUs that
    /// the last one of them asked to reschedule.
    pub fn timers_for(&mut self, ns: u64) -> Vec<u32> {
        let until = self.now_ns + ns;
        self.asked.clear();
        while let Some((at, id)) = self.next_timer().filter(|&(at, _)| at <= until) {
            self.now_ns = at;
            self.timers[id as usize] = 0;
            self.event(0).timer(id).unwrap();
            self.settle();
        }
        self.now_ns = until;
        self.asked()
    }

    /// When the next of the policy's timers goes off, and which.
    pub fn next_timer(&self) -> Option<(u64, u32)> {
        let armed = self.timers.iter().zip(0..).filter(|&(&at, _)| at > 0);
        armed.map(|(&at, id)| (at, id)).min()
    }

    /// Wakeups and system calls on other tasks come from this CPU from now on.
    pub fn from(&mut self, cpu: u32) -> &mut Self {
        self.this_cpu = cpu;
        self
    }

    /// The next event begins on `cpu`.
    fn event(&mut self, cpu: u32) -> &mut Host {
        self.asked.clear();
        self.at(cpu)
    }

    fn at(&mut self, cpu: u32) -> &mut Host {
        self.host.at(Time(self.now_ns), CpuId(cpu));
        &mut self.host
    }

    // ---- tasks ------------------------------------------------------------------

    /// A task that may only run on `cpu`, to be created.
    pub fn pinned(&mut self, cpu: u32, nice: i8) -> NewTask {
        NewTask {
            cpu_set: self.host.add_cpu_set(&[cpu]),
            ..on_cpu(cpu, nice)
        }
    }

    /// A task that exists from the start and sleeps.
    pub fn add(&mut self, new: &NewTask) -> TaskId {
        self.create(new, None)
    }

    /// A task that exists from the start and becomes runnable now.
    pub fn start(&mut self, new: &NewTask) -> TaskId {
        let task = self.add(new);
        self.enqueue(task, enq::NEW);
        task
    }

    /// The task running on `cpu` forks; the child is not yet queued.
    pub fn fork(&mut self, cpu: u32, new: &NewTask) -> TaskId {
        let parent = self.running(cpu).expect("only a running task forks");
        self.this_cpu = cpu;
        self.create(new, Some(parent))
    }

    fn create(&mut self, new: &NewTask, parent: Option<TaskId>) -> TaskId {
        let mut new = *new;
        if new.mm == u32::MAX {
            new.mm = 1000 + self.places.len() as u32;
        }
        let cpu = self.this_cpu;
        let host = self.event(cpu);
        let task = host.add_task(&new, parent);
        host.fork(parent, task).unwrap();
        self.places.push(Place::Sleeping);
        self.settle();
        task
    }

    // ---- wakeups ------------------------------------------------------------------

    /// A sleeping task is woken; returns the CPUs asked to reschedule.
    pub fn wake(&mut self, task: TaskId) -> Vec<u32> {
        self.enqueue(task, enq::WAKEUP)
    }

    /// It is woken by a task that is about to sleep.
    pub fn wake_sync(&mut self, task: TaskId) -> Vec<u32> {
        self.enqueue(task, enq::WAKEUP | enq::SYNC)
    }

    /// A sleeping or new task becomes runnable.
    pub fn enqueue(&mut self, task: TaskId, flags: u32) -> Vec<u32> {
        assert_eq!(self.places[task.index()], Place::Sleeping, "task {task}");
        let cpu = self.this_cpu;
        let host = self.event(cpu);
        let chosen = host.select_cpu(task, flags).unwrap();
        host.set_task_cpu(task, chosen);
        host.enqueue(task, flags).unwrap();
        self.places[task.index()] = Place::Waiting;
        self.settle();
        self.asked()
    }

    /// A waiting task is taken off the run queue and sleeps (a kernel does this on a signal).
    pub fn unqueue(&mut self, task: TaskId) {
        assert_eq!(self.places[task.index()], Place::Waiting, "task {task}");
        let cpu = self.this_cpu;
        self.event(cpu).dequeue(task, deq::SLEEP).unwrap();
        self.places[task.index()] = Place::Sleeping;
        self.settle();
    }

    // ---- what the running task does --------------------------------------------------

    /// The task that runs on `cpu`.
    pub fn running(&self, cpu: u32) -> Option<TaskId> {
        self.curr[cpu as usize]
    }

    /// schedule() on a CPU that idles or is preempted; returns the task that runs next.
    pub fn schedule(&mut self, cpu: u32) -> Option<TaskId> {
        self.event(cpu);
        match self.running(cpu) {
            Some(_) => self.pick(cpu, Prev::Preempted),
            None => self.pick(cpu, Prev::None),
        }
    }

    /// The running task goes to sleep; returns the task that runs next.
    pub fn block(&mut self, cpu: u32) -> Option<TaskId> {
        self.stop(cpu, deq::SLEEP, Place::Sleeping);
        self.pick(cpu, Prev::Blocked)
    }

    /// The running task goes to sleep in state D; returns the task that runs next.
    pub fn wait_for_disk(&mut self, cpu: u32) -> Option<TaskId> {
        self.stop(cpu, deq::SLEEP | deq::UNINTERRUPTIBLE, Place::Sleeping);
        self.pick(cpu, Prev::Blocked)
    }

    /// The running task dies; returns the task that runs next.
    pub fn die(&mut self, cpu: u32) -> Option<TaskId> {
        self.stop(cpu, deq::EXIT, Place::Dead);
        self.pick(cpu, Prev::Exited)
    }

    fn stop(&mut self, cpu: u32, flags: u32, place: Place) {
        let task = self.running(cpu).expect("a task runs here");
        self.event(cpu).dequeue(task, flags).unwrap();
        self.places[task.index()] = place;
    }

    /// The running task calls sched_yield(); returns the task that runs next, none if the call did nothing.
    pub fn yields(&mut self, cpu: u32) -> Option<TaskId> {
        let task = self.running(cpu).expect("a task runs here");
        if !self.event(cpu).yield_task(task).unwrap() {
            return None;
        }
        self.pick(cpu, Prev::Yielded)
    }

    /// A dead task is reaped.
    pub fn reap(&mut self, dead: TaskId, reaper: TaskId) {
        assert_eq!(self.places[dead.index()], Place::Dead, "task {dead}");
        let cpu = self.this_cpu;
        let host = self.event(cpu);
        host.exit(dead, Some(reaper)).unwrap();
        host.forget(dead);
        self.settle();
    }

    /// A sleeping task changes to another scheduling class; the policy's state of it can still be read.
    pub fn leave(&mut self, task: TaskId) {
        assert_eq!(self.places[task.index()], Place::Sleeping, "task {task}");
        let cpu = self.this_cpu;
        let host = self.event(cpu);
        host.exit(task, None).unwrap();
        self.places[task.index()] = Place::Dead;
        self.settle();
    }

    /// Ticks on `cpu`, 10 ms each, while the same task runs; is it to be rescheduled now?
    pub fn ticks(&mut self, cpu: u32, n: u32) -> bool {
        for _ in 0..n {
            self.now_ns += 10_000_000;
            self.ticks_at_once(cpu, 1);
        }
        self.host.need_resched(CpuId(cpu))
    }

    /// Ticks on `cpu` in no time, where only their number counts; is the task to be rescheduled now?
    pub fn ticks_at_once(&mut self, cpu: u32, n: u32) -> bool {
        for _ in 0..n {
            let task = self.running(cpu);
            self.event(cpu).tick(CpuId(cpu), task).unwrap();
            self.settle();
        }
        self.host.need_resched(CpuId(cpu))
    }

    /// When the hrtick of `cpu` is due, from now on; none if it is not armed.
    pub fn hrtick_in(&self, cpu: u32) -> Option<u64> {
        let mut hrticks = self.host.hrticks();
        let expires = hrticks.nth(cpu as usize).filter(|&at| at > 0)?;
        Some(expires - self.now_ns)
    }

    /// Time passes until the hrtick of `cpu`, which was armed; is its task to be rescheduled?
    pub fn hrtick(&mut self, cpu: u32) -> bool {
        self.now_ns += self.hrtick_in(cpu).expect("its hrtick is armed");
        let task = self.running(cpu);
        self.event(cpu).hrtick(CpuId(cpu), task).unwrap();
        self.settle();
        self.host.need_resched(CpuId(cpu))
    }

    /// The policy's timer with this number fires on CPU 0.
    pub fn timer(&mut self, id: u32) -> Vec<u32> {
        self.event(0).timer(id).unwrap();
        self.settle();
        self.asked()
    }

    // ---- changes --------------------------------------------------------------------

    /// setpriority()
    pub fn set_nice(&mut self, task: TaskId, nice: i8) -> Vec<u32> {
        let cpu = self.this_cpu;
        self.event(cpu).set_nice(task, nice).unwrap();
        self.settle();
        self.asked()
    }

    /// sched_setscheduler()
    pub fn set_class(&mut self, task: TaskId, class: Class, rt_priority: u8) -> Vec<u32> {
        let cpu = self.this_cpu;
        self.event(cpu).set_class(task, class, rt_priority).unwrap();
        self.settle();
        self.asked()
    }

    /// sched_setaffinity(): the task leaves its CPU if that is forbidden from now on.
    pub fn set_cpus(&mut self, task: TaskId, cpu_set: u32) {
        let cpu = self.this_cpu;
        self.event(cpu).set_cpus(task, cpu_set).unwrap();
        let on = CpuId(self.host.task(task).cpu);
        let place = self.places[task.index()];
        if self.host.allowed(task, on) || matches!(place, Place::Sleeping | Place::Dead) {
            return self.settle();
        }
        self.host.dequeue(task, deq::MOVE).unwrap();
        self.places[task.index()] = Place::Sleeping;
        if let Place::Running(from) = place {
            self.pick(from, Prev::Moved);
        }
        self.enqueue(task, enq::MOVE);
    }

    // ---- answers of the policy -----------------------------------------------------

    /// The task's priority in the policy's numbers.
    pub fn priority(&mut self, task: TaskId) -> i32 {
        self.host.priority(task).unwrap().expect("the policy says")
    }

    /// Work counted since the last call.
    pub fn work(&mut self) -> ffi::Work {
        self.host.take_work()
    }

    /// CPUs the last event asked to reschedule, in ascending order.
    pub fn asked(&self) -> Vec<u32> {
        self.asked.clone()
    }

    /// The tasks of one of the policy's lists, front to back.  Their list node must be the first
    /// thing in the policy's task state.
    ///
    /// # Safety
    /// `head` must point to a list of this machine.
    pub unsafe fn tasks_of(&self, head: *const ffi::List) -> Vec<TaskId> {
        let mut tasks = Vec::new();
        // SAFETY: nodes of the list sit right behind the public fields of their tasks.
        unsafe {
            let mut node = (*head).next.cast_const();
            while node != head {
                let task = node.cast::<ffi::Task>().sub(1);
                tasks.push(TaskId((*task).id));
                node = (*node).next;
            }
        }
        tasks
    }

    // ---- within ---------------------------------------------------------------------

    fn pick(&mut self, cpu: u32, why: Prev) -> Option<TaskId> {
        let prev = self.running(cpu);
        let still = matches!(why, Prev::Preempted | Prev::Yielded);
        let id = CpuId(cpu);
        let next = self.at(cpu).pick_next(id, prev, why).unwrap();
        if let Some(next) = next {
            let place = self.places[next.index()];
            let may = place == Place::Waiting || (still && Some(next) == prev);
            assert!(may, "task {next} was picked but is {place:?}");
            assert!(self.host.allowed(next, id), "task {next} on CPU {cpu}");
        }
        if next != prev {
            if let (Some(prev), true) = (prev, still) {
                self.places[prev.index()] = Place::Waiting;
            }
            self.curr[cpu as usize] = next;
            if let Some(next) = next {
                self.places[next.index()] = Place::Running(cpu);
            }
            self.at(cpu).switch(id, prev, next).unwrap();
        }
        self.settle();
        next
    }

    /// The event is over: records its requests and checks that no task is lost.
    fn settle(&mut self) {
        while let Some(cpu) = self.host.take_resched() {
            self.asked.push(cpu.0);
        }
        self.asked.sort_unstable();
        if let Some(timers) = self.host.take_timers() {
            self.timers = timers;
        }
        while self.host.take_moved().is_some() {}
        while self.host.take_hrtick().is_some() {}
        for task in self.those(Place::Waiting) {
            assert!(self.host.queued(task).unwrap(), "task {task} is lost");
        }
    }

    fn those(&self, place: Place) -> Vec<TaskId> {
        self.filtered(|p| p == place)
    }

    fn living(&self) -> Vec<TaskId> {
        self.filtered(|p| p != Place::Dead)
    }

    fn filtered(&self, wanted: impl Fn(Place) -> bool) -> Vec<TaskId> {
        let all = (0..self.places.len()).filter(|&i| wanted(self.places[i]));
        all.map(|i| TaskId(i as u32)).collect()
    }
}
