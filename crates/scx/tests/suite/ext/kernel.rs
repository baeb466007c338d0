//! The simulator's part of a script: calls the hooks of a scheduler as the simulator does.

use std::fmt::Write;

use schedlab_policy::{
    deq, enq, Clamps, Class, Fault, Host, NewGroup, NewTask, Platform, Prev, Topology, Tuned,
};
use schedlab_scx::{ext, MapId};
use schedlab_trace::{CpuId, CpuMax, GroupId, GroupWeight, Ns, TaskId, Time};

use super::scheduler::{load, Attached, Scheduler};

/// One millisecond.
pub const MS: u64 = 1_000_000;

/// A machine under a test's scheduler.
pub struct Script {
    pub host: Host,
    notes: MapId,
    seen: u64,
    curr: Vec<Option<TaskId>>,
    pub now: u64,
    /// The last fault.
    pub fault: Option<Fault>,
}

/// A machine of so many CPUs, each a core of its own, with one cache.
pub fn flat(nr_cpus: u32) -> Vec<Topology> {
    (0..nr_cpus)
        .map(|core| Topology {
            core,
            llc: 0,
            node: 0,
            capacity: 1024,
        })
        .collect()
}

/// As NewTask, of class normal, allowed everywhere.
pub fn normal(nice: i8) -> NewTask {
    NewTask {
        nice,
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

impl Script {
    pub fn new(cpus: &[Topology], source: &str, attached: Attached) -> Script {
        Script::try_new(cpus, source, attached).unwrap_or_else(|fault| panic!("{fault}"))
    }

    pub fn try_new(cpus: &[Topology], source: &str, attached: Attached) -> Result<Script, Fault> {
        let topology = schedlab_scx::Topology {
            cpus: cpus.to_vec(),
        };
        Script::of(cpus, &load(source, &topology, &attached))
    }

    /// A machine under a scheduler that was loaded before.
    pub fn of(cpus: &[Topology], loaded: &Scheduler) -> Result<Script, Fault> {
        let policy = ext::policy(loaded.image.clone(), "test", "");
        let platform = Platform {
            cpus,
            smp: true,
            lazy: false,
            hz: 250,
        };
        Ok(Script {
            host: Host::new(&Tuned::defaults(policy), &platform, 1)?,
            notes: loaded.notes,
            seen: 0,
            curr: vec![None; cpus.len()],
            now: 0,
            fault: None,
        })
    }

    /// What the scheduler noted since the last time: "what who number", numbers in hexadecimal.  Tasks are numbered
    /// from 1000 on.
    pub fn notes(&mut self) -> Vec<String> {
        let notes = self.notes;
        let bytes = self.machine().map_lookup(notes, &[0; 4]).unwrap();
        let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        let (from, to) = (self.seen, number(0));
        self.seen = to;
        (from..to)
            .map(|i| {
                let at = 8 + i as usize % 512 * 32;
                let what = bytes[at..at + 16].split(|&b| b == 0).next().unwrap();
                let mut line = String::from_utf8_lossy(what).into_owned();
                let _ = write!(line, " {} {:x}", number(at + 16), number(at + 24));
                line
            })
            .collect()
    }

    fn machine(&mut self) -> &mut schedlab_scx::Machine {
        let state = self.host.global_state();
        // SAFETY: no hook runs, and the first word of the policy's state is its machine's address.
        unsafe { &mut **state.cast::<*mut schedlab_scx::Machine>() }
    }

    /// Changes what is left of a task's slice.
    pub fn set_slice(&mut self, task: TaskId, ns: u64) {
        let machine = self.machine();
        let slice = machine.kernel.btf.field("task_struct", "scx.slice");
        let at = machine.tasks[task.index()] + u64::from(slice.unwrap().offset);
        machine.memory.set(at, ns).unwrap();
    }

    fn at(&mut self, cpu: u32) {
        self.host.at(Time(self.now), CpuId(cpu));
    }

    /// Keeps the fault of a hook, which ends a run.
    fn kept<T>(&mut self, answer: Result<T, Fault>) -> Option<T> {
        match answer {
            Ok(answer) => Some(answer),
            Err(fault) => {
                self.fault.get_or_insert(fault);
                None
            }
        }
    }

    /// What the scheduler's end said; panics if it has not ended.
    pub fn ended(&self) -> String {
        self.fault.as_ref().expect("it went on").to_string()
    }

    /// CPUs that were asked to reschedule since the last time.
    pub fn rescheds(&mut self) -> Vec<u32> {
        self.host.take_requests();
        let mut asked: Vec<u32> = std::iter::from_fn(|| self.host.take_resched())
            .map(|cpu| cpu.0)
            .collect();
        asked.sort();
        while self.host.take_moved().is_some() {}
        asked
    }

    /// A task that was there when the scheduler was enabled.
    pub fn add(&mut self, new: &NewTask) -> TaskId {
        let task = self.host.add_task(new, None);
        self.host.name_task(task, &format!("t{}", task.0));
        self.at(new.cpu.0);
        let forked = self.host.fork(None, task);
        self.kept(forked);
        task
    }

    /// A CPU's task forks a child.
    pub fn fork(&mut self, cpu: u32, new: &NewTask) -> TaskId {
        let parent = self.curr[cpu as usize];
        let task = self.host.add_task(new, parent);
        self.host.name_task(task, &format!("t{}", task.0));
        self.at(cpu);
        let forked = self.host.fork(parent, task);
        self.kept(forked);
        task
    }

    fn wake_with(&mut self, cpu: u32, task: TaskId, flags: u32) {
        self.at(cpu);
        let target = self.host.select_cpu(task, flags);
        let Some(target) = self.kept(target) else {
            return;
        };
        self.host.set_task_cpu(task, target);
        self.at(cpu);
        let queued = self.host.enqueue(task, flags);
        self.kept(queued);
        if self.fault.is_none() {
            assert!(self.host.queued(task).unwrap(), "{task} is lost");
        }
    }

    /// This CPU wakes a task.
    pub fn wake(&mut self, cpu: u32, task: TaskId) {
        self.wake_with(cpu, task, enq::WAKEUP);
    }

    /// This CPU wakes a task for the first time.
    pub fn wake_new(&mut self, cpu: u32, task: TaskId) {
        self.wake_with(cpu, task, enq::NEW);
    }

    /// This CPU wakes a task and is about to sleep.
    pub fn wake_sync(&mut self, cpu: u32, task: TaskId) {
        self.wake_with(cpu, task, enq::WAKEUP | enq::SYNC);
    }

    /// schedule(): what runs next.
    pub fn schedule(&mut self, cpu: u32) -> Option<TaskId> {
        let why = match self.curr[cpu as usize] {
            None => Prev::None,
            Some(_) => Prev::Preempted,
        };
        self.pick(cpu, why)
    }

    fn pick(&mut self, cpu: u32, why: Prev) -> Option<TaskId> {
        let prev = self.curr[cpu as usize];
        self.at(cpu);
        let next = self.host.pick_next(CpuId(cpu), prev, why);
        let next = self.kept(next)?;
        if next != prev {
            let switched = self.host.switch(CpuId(cpu), prev, next);
            self.kept(switched);
            self.curr[cpu as usize] = next;
        }
        next
    }

    /// The CPU's task blocks.
    pub fn block(&mut self, cpu: u32) -> Option<TaskId> {
        let prev = self.curr[cpu as usize].expect("the CPU runs a task");
        self.at(cpu);
        let done = self.host.dequeue(prev, deq::SLEEP);
        self.kept(done);
        self.pick(cpu, Prev::Blocked)
    }

    /// The CPU's task exits.
    pub fn exit(&mut self, cpu: u32) -> Option<TaskId> {
        let prev = self.curr[cpu as usize].expect("the CPU runs a task");
        self.at(cpu);
        let done = self.host.dequeue(prev, deq::EXIT);
        self.kept(done);
        let next = self.pick(cpu, Prev::Exited);
        self.at(cpu);
        let gone = self.host.exit(prev, None);
        self.kept(gone);
        self.host.forget(prev);
        next
    }

    /// The CPU's task yields.
    pub fn yields(&mut self, cpu: u32) -> Option<TaskId> {
        let prev = self.curr[cpu as usize].expect("the CPU runs a task");
        self.at(cpu);
        let asks = self.host.yield_task(prev);
        self.kept(asks);
        self.pick(cpu, Prev::Yielded)
    }

    /// Time passes, and the tick comes on a CPU; true: it wants to reschedule.
    pub fn tick(&mut self, cpu: u32, ns: u64) -> bool {
        self.now += ns;
        self.at(cpu);
        let ticked = self.host.tick(CpuId(cpu), self.curr[cpu as usize]);
        self.kept(ticked);
        self.host.need_resched(CpuId(cpu))
    }

    /// Time passes until the policy's timer expires.
    pub fn expire(&mut self, timer: u32) {
        self.now = self.host.timers()[timer as usize];
        assert!(self.now > 0, "timer {timer} is not armed");
        self.at(0);
        let done = self.host.timer(timer);
        self.kept(done);
    }

    /// Changes nice from a CPU.
    pub fn set_nice(&mut self, cpu: u32, task: TaskId, nice: i8) {
        self.at(cpu);
        let done = self.host.set_nice(task, nice);
        self.kept(done);
    }

    /// Changes the class of a task.
    pub fn set_class(&mut self, cpu: u32, task: TaskId, class: Class, rt_priority: u8) {
        self.at(cpu);
        let done = self.host.set_class(task, class, rt_priority);
        self.kept(done);
    }

    /// Changes the CPUs a task may use.
    pub fn set_cpus(&mut self, cpu: u32, task: TaskId, cpus: &[u32]) {
        let set = self.host.add_cpu_set(cpus);
        self.at(cpu);
        let done = self.host.set_cpus(task, set);
        self.kept(done);
    }

    /// A group in another one, or in the root.
    pub fn add_group(
        &mut self,
        parent: Option<GroupId>,
        weight: u16,
        max: Option<CpuMax>,
    ) -> GroupId {
        let new = NewGroup {
            parent,
            weight: GroupWeight::Weight(weight),
            max,
        };
        self.at(0);
        let added = self.host.add_group(&new);
        self.kept(added).expect("a group")
    }

    /// A task goes to another group.
    pub fn join(&mut self, task: TaskId, group: Option<GroupId>) {
        self.at(0);
        let done = self.host.set_task_group(task, group);
        self.kept(done);
    }

    /// Takes a waiting task that may not stay where it is to where it may.
    pub fn evict(&mut self, cpu: u32, task: TaskId) -> CpuId {
        self.at(cpu);
        let done = self.host.dequeue(task, deq::MOVE);
        self.kept(done);
        let target = self.host.select_cpu(task, enq::MOVE).unwrap();
        self.host.set_task_cpu(task, target);
        let done = self.host.enqueue(task, enq::MOVE);
        self.kept(done);
        target
    }
}
