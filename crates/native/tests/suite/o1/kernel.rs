//! A minimal kernel around the policy: a clock, ticks at the policy's rate, schedule().
//!
//! It has no priorities or slices of its own, so a test sees those of the policy.
//! After every event each waiting task must still be queued, as the simulator demands.

#![allow(dead_code)] // Each test file uses a part of it.

use schedlab_policy::{
    deq, enq, Clamps, Class, Host, NewTask, Platform, Policy, Prev, Topology, Tuned,
};
use schedlab_trace::{CpuId, Ns, TaskId, Time};

/// Nanoseconds in a millisecond.
pub const MS: u64 = 1_000_000;

/// The policy's state of a task: `struct o1_task` in o1.c.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TaskState {
    run_list: [usize; 2],
    /// The array it is in; equal for tasks in the same one.
    pub array: usize,
    pub sleep_avg: u64,
    pub timestamp: u64,
    pub last_ran: u64,
    pub sched_time: u64,
    pub prio: u32,
    pub static_prio: u32,
    pub time_slice: u32,
    pub bonus: u32,
    pub interactive_credit: i32,
    pub activated: i8,
    pub first_time_slice: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Sleeping,
    Waiting,
    Running,
    Dead,
}

pub struct Kernel {
    pub host: Host,
    pub now: u64,
    next_tick: u64,
    tick_ns: u64,
    /// The CPU system calls and wakeups come from.
    this_cpu: u32,
    curr: Vec<Option<TaskId>>,
    places: Vec<Place>,
    waits: Vec<(u64, u64)>, // since when it waits; its longest wait
    ran: Vec<u64>,
}

/// A task of nice 0 in a process of its own that may use every CPU and starts on CPU 0.
pub fn normal() -> NewTask {
    NewTask {
        nice: 0,
        class: Class::Normal,
        rt_priority: 0,
        mm: 1,
        cpu_set: 0,
        cpu: CpuId(0),
        foreground: false,
        group: None,
        slice: Ns::ZERO,
        clamps: Clamps::NONE,
    }
}

pub fn nice(nice: i8) -> NewTask {
    NewTask { nice, ..normal() }
}

pub fn on(cpu: u32) -> NewTask {
    NewTask {
        cpu: CpuId(cpu),
        ..normal()
    }
}

impl Kernel {
    /// One CPU under this variant.
    pub fn up(variant: &str, set: &[(&str, i64)]) -> Kernel {
        Kernel::smp(variant, 1, set)
    }

    /// So many CPUs on one node.
    pub fn smp(variant: &str, cpus: u32, set: &[(&str, i64)]) -> Kernel {
        let cores: Vec<(u32, u32)> = (0..cpus).map(|cpu| (cpu, 0)).collect();
        Kernel::new(variant, &cores, set)
    }

    /// One CPU for each (core, node).  "variant" is one of o1, "policy:variant" one of another policy
    /// that o1 is a part of.
    pub fn new(variant: &str, cpus: &[(u32, u32)], set: &[(&str, i64)]) -> Kernel {
        let set: Vec<(String, i64)> = set.iter().map(|&(n, v)| (n.to_string(), v)).collect();
        let (name, variant) = variant.split_once(':').unwrap_or(("o1", variant));
        let policy = Policy::find(name).expect("the policy is built in");
        let tuned = Tuned::new(policy, Some(variant), &set).expect("valid tunables");
        let place = |&(core, node)| Topology {
            core,
            llc: node,
            node,
            capacity: 1024,
        };
        let topology: Vec<Topology> = cpus.iter().map(place).collect();
        let platform = Platform {
            cpus: &topology,
            smp: topology.len() > 1,
            lazy: false,
            hz: 1000,
        };
        let host = Host::new(&tuned, &platform, 1).expect("init() succeeds");
        let tick_ns = host.tick_ns();
        Kernel {
            host,
            now: 0,
            next_tick: tick_ns,
            tick_ns,
            this_cpu: 0,
            curr: vec![None; cpus.len()],
            places: Vec::new(),
            waits: Vec::new(),
            ran: Vec::new(),
        }
    }

    fn at(&mut self, cpu: u32) -> &mut Host {
        self.host.at(Time(self.now), CpuId(cpu));
        &mut self.host
    }

    /// What follows happens on this CPU.
    pub fn from(&mut self, cpu: u32) -> &mut Self {
        self.this_cpu = cpu;
        self
    }

    // ---- tasks ---------------------------------------------------------------

    /// A task that exists from the start and sleeps.
    pub fn sleeper(&mut self, new: NewTask) -> TaskId {
        self.create(new, None)
    }

    /// A task that exists from the start and is runnable now.
    pub fn start(&mut self, new: NewTask) -> TaskId {
        let task = self.create(new, None);
        self.enqueue(task, enq::NEW);
        self.settle();
        task
    }

    /// The task running here forks; the child is queued, nothing is rescheduled yet.
    pub fn fork(&mut self, new: NewTask) -> TaskId {
        let parent = self.running(self.this_cpu);
        let cpu = CpuId(self.this_cpu);
        let child = self.create(NewTask { cpu, ..new }, Some(parent));
        self.enqueue(child, enq::NEW);
        child
    }

    fn create(&mut self, new: NewTask, parent: Option<TaskId>) -> TaskId {
        let cpu = self.this_cpu;
        let host = self.at(cpu);
        let task = host.add_task(&new, parent);
        host.fork(parent, task).unwrap();
        self.places.push(Place::Sleeping);
        self.waits.push((0, 0));
        self.ran.push(0);
        task
    }

    /// Makes a sleeping task runnable.  Returns the CPUs asked to reschedule; nothing else happens.
    pub fn enqueue(&mut self, task: TaskId, flags: u32) -> Vec<u32> {
        assert_eq!(self.places[task.index()], Place::Sleeping, "task {task}");
        let cpu = self.this_cpu;
        let host = self.at(cpu);
        let target = host.select_cpu(task, flags).unwrap();
        host.set_task_cpu(task, target);
        host.enqueue(task, flags).unwrap();
        self.waits_now(task);
        self.check();
        self.asked()
    }

    pub fn wake(&mut self, task: TaskId) -> Vec<u32> {
        self.enqueue(task, enq::WAKEUP)
    }

    fn waits_now(&mut self, task: TaskId) {
        self.places[task.index()] = Place::Waiting;
        self.waits[task.index()].0 = self.now;
    }

    pub fn reap(&mut self, dead: TaskId, reaper: TaskId) {
        assert_eq!(self.places[dead.index()], Place::Dead);
        let cpu = self.this_cpu;
        self.at(cpu).exit(dead, Some(reaper)).unwrap();
    }

    // ---- what the running task does --------------------------------------------

    pub fn curr(&self, cpu: u32) -> Option<TaskId> {
        self.curr[cpu as usize]
    }

    pub fn running(&self, cpu: u32) -> TaskId {
        self.curr(cpu).expect("a task runs")
    }

    /// The task running here goes to sleep.
    pub fn block(&mut self) -> TaskId {
        self.stop(deq::SLEEP, Place::Sleeping, Prev::Blocked)
    }

    /// The task running here exits.
    pub fn die(&mut self) -> TaskId {
        self.stop(deq::EXIT, Place::Dead, Prev::Exited)
    }

    fn stop(&mut self, flags: u32, place: Place, why: Prev) -> TaskId {
        let cpu = self.this_cpu;
        let task = self.running(cpu);
        self.at(cpu).dequeue(task, flags).unwrap();
        self.places[task.index()] = place;
        self.schedule(cpu, why);
        self.settle();
        task
    }

    /// The task running here calls sched_yield().
    pub fn yields(&mut self) {
        let cpu = self.this_cpu;
        let task = self.running(cpu);
        if self.at(cpu).yield_task(task).unwrap() {
            self.schedule(cpu, Prev::Yielded);
        }
        self.settle();
    }

    /// The task running here calls exec(): where should it go?
    pub fn exec_cpu(&mut self) -> u32 {
        let cpu = self.this_cpu;
        let task = self.running(cpu);
        self.at(cpu).select_cpu(task, enq::EXEC).unwrap().0
    }

    pub fn set_nice(&mut self, task: TaskId, nice: i8) -> Vec<u32> {
        let cpu = self.this_cpu;
        self.at(cpu).set_nice(task, nice).unwrap();
        self.asked()
    }

    pub fn set_class(&mut self, task: TaskId, class: Class, rt_priority: u8) -> Vec<u32> {
        let cpu = self.this_cpu;
        self.at(cpu).set_class(task, class, rt_priority).unwrap();
        self.asked()
    }

    // ---- time ------------------------------------------------------------------

    /// Time passes, with the ticks that fall due on all CPUs.
    pub fn after(&mut self, ns: u64) -> &mut Self {
        let until = self.now + ns;
        while self.next_tick <= until {
            self.advance_to(self.next_tick);
            self.next_tick += self.tick_ns;
            for cpu in 0..self.curr.len() as u32 {
                let task = self.curr(cpu);
                self.at(cpu).tick(CpuId(cpu), task).unwrap();
            }
            self.check();
            self.settle();
        }
        self.advance_to(until);
        self
    }

    pub fn ticks(&mut self, n: u64) -> &mut Self {
        self.after(n * self.tick_ns)
    }

    fn advance_to(&mut self, time: u64) {
        for task in self.curr.iter().flatten() {
            self.ran[task.index()] += time - self.now;
        }
        self.now = time;
    }

    /// Ticks until another task runs on CPU 0, at most `limit`.
    pub fn ticks_to_switch(&mut self, limit: u64) -> u64 {
        let first = self.curr(0);
        (1..=limit)
            .find(|_| self.ticks(1).curr(0) != first)
            .unwrap_or(u64::MAX)
    }

    // ---- schedule() --------------------------------------------------------------

    /// CPUs asked to reschedule since the last call, lowest first.  They still have to.
    pub fn asked(&mut self) -> Vec<u32> {
        while self.host.take_resched().is_some() {}
        (0..self.curr.len() as u32)
            .filter(|&cpu| self.host.need_resched(CpuId(cpu)))
            .collect()
    }

    /// Every CPU that was asked reschedules, until none is asked any more.
    pub fn settle(&mut self) -> &mut Self {
        while let Some(&cpu) = self.asked().first() {
            let why = self.curr(cpu).map_or(Prev::None, |_| Prev::Preempted);
            self.schedule(cpu, why);
        }
        self
    }

    fn schedule(&mut self, cpu: u32, why: Prev) {
        let prev = self.curr(cpu);
        let next = self.at(cpu).pick_next(CpuId(cpu), prev, why).unwrap();
        if next == prev {
            return;
        }
        if let (Some(prev), Prev::Preempted | Prev::Yielded) = (prev, why) {
            self.waits_now(prev);
        }
        if let Some(next) = next {
            assert_eq!(self.places[next.index()], Place::Waiting, "task {next}");
            assert!(self.host.allowed(next, CpuId(cpu)));
            assert_eq!(self.host.task(next).cpu, cpu, "it is on this run queue");
            self.places[next.index()] = Place::Running;
            let (since, longest) = &mut self.waits[next.index()];
            *longest = (*longest).max(self.now - *since);
        }
        self.curr[cpu as usize] = next;
        self.at(cpu).switch(CpuId(cpu), prev, next).unwrap();
        while self.host.take_moved().is_some() {}
        let left = (0..self.places.len() as u32).map(TaskId).find(|task| {
            self.places[task.index()] == Place::Waiting && self.host.task(*task).cpu == cpu
        });
        assert!(next.is_some() || left.is_none(), "idle, but {left:?} waits");
        self.check();
    }

    /// No task is lost.
    fn check(&mut self) {
        while self.host.take_moved().is_some() {}
        for task in (0..self.places.len() as u32).map(TaskId) {
            if self.places[task.index()] == Place::Waiting {
                assert!(self.host.queued(task).unwrap(), "task {task} is lost");
            }
        }
    }

    // ---- what can be seen ----------------------------------------------------------

    pub fn state(&self, task: TaskId) -> TaskState {
        // SAFETY: the layout is that of struct o1_task; a test below checks what it can.
        unsafe { *self.host.task_state(task).cast() }
    }

    pub fn prio(&mut self, task: TaskId) -> i32 {
        self.host
            .priority(task)
            .unwrap()
            .expect("o1 has priorities")
    }

    pub fn cpu_of(&self, task: TaskId) -> u32 {
        self.host.task(task).cpu
    }

    pub fn counter(&mut self, name: &str) -> u64 {
        let index = self
            .host
            .policy()
            .counters()
            .iter()
            .position(|&c| c == name);
        self.host.counters()[index.expect("a counter of o1")]
    }

    /// CPU time the task has had, in ns.
    pub fn ran(&self, task: TaskId) -> u64 {
        self.ran[task.index()]
    }

    /// The longest the task has waited for a CPU, in ns.
    pub fn longest_wait(&self, task: TaskId) -> u64 {
        self.waits[task.index()].1
    }

    /// How many runnable tasks each CPU has.
    pub fn lengths(&self) -> Vec<usize> {
        let on = |cpu: u32| {
            (0..self.places.len() as u32)
                .map(TaskId)
                .filter(|t| matches!(self.places[t.index()], Place::Waiting | Place::Running))
                .filter(|t| self.cpu_of(*t) == cpu)
                .count()
        };
        (0..self.curr.len() as u32).map(on).collect()
    }
}
