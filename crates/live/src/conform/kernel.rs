//! A small random kernel that calls the policy's hooks.

use schedlab_policy::{deq, enq, Clamps, Class, Fault, NewTask, Prev, Tuned};
use schedlab_trace::{CpuId, Ns, TaskId, Time};

use super::recorder::Recorder;

/// CPUs of the largest machine in a script.
pub const MOST_CPUS: usize = 4;

/// Tick rate in Hz for policies without a tunable `hz`.
pub const HZ: u32 = 100;

/// Most tasks alive at once, and most tasks of a script.
const ALIVE: usize = 12;
const EVER: usize = 60;

/// xorshift64: the same seed always gives the same script.
struct Rng(u64);

impl Rng {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }

    fn one_of<T: Copy>(&mut self, from: &[T]) -> Option<T> {
        (!from.is_empty()).then(|| from[self.below(from.len() as u64) as usize])
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Sleeping { uninterruptible: bool },
    Runnable,
    Dead,
}

struct Kernel {
    script: Recorder,
    rng: Rng,
    now: u64,
    /// What each CPU runs.
    curr: Vec<Option<TaskId>>,
    tasks: Vec<State>,
    sets: Vec<u32>,
}

/// Records the script of one seed.
pub fn live(tuned: &Tuned, seed: u64, steps: u32) -> Result<Recorder, Fault> {
    let mut rng = Rng((seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let cpus = rng.one_of(&[1, 2, 4]).expect("there are some") as u32;
    let mut script = Recorder::new(tuned, cpus, seed)?;
    let mut sets = vec![0];
    if cpus > 1 {
        sets.extend((0..cpus).map(|cpu| script.add_cpu_set(&[cpu])));
        sets.push(script.add_cpu_set(&[0, cpus - 1]));
    }
    let mut kernel = Kernel {
        script,
        rng,
        now: 1,
        curr: vec![None; cpus as usize],
        tasks: Vec::new(),
        sets,
    };
    for _ in 0..2 + cpus {
        kernel.begin(None)?;
    }
    for _ in 0..steps {
        kernel.step()?;
    }
    kernel.script.priorities()?;
    Ok(kernel.script)
}

impl Kernel {
    fn step(&mut self) -> Result<(), Fault> {
        self.now +=
            [10_000, 300_000, 1_000_000, 10_000_000, 400_000_000][self.rng.below(5) as usize];
        let cpu = self.rng.below(self.curr.len() as u64) as u32;
        self.at(cpu);
        match self.curr[cpu as usize] {
            Some(task) => self.of_running(cpu, task)?,
            None => self.schedule(cpu, Prev::None)?,
        }
        self.of_others()?;
        self.timers()?;
        self.obey()
    }

    fn at(&mut self, cpu: u32) {
        self.script.at(Time(self.now), CpuId(cpu));
    }

    fn alive(&self) -> Vec<TaskId> {
        self.those(|state| state != State::Dead)
    }

    fn those(&self, wanted: impl Fn(State) -> bool) -> Vec<TaskId> {
        let all = self.tasks.iter().enumerate();
        all.filter(|&(_, &state)| wanted(state))
            .map(|(i, _)| TaskId(i as u32))
            .collect()
    }

    fn running(&self, task: TaskId) -> Option<u32> {
        let cpu = self.curr.iter().position(|&curr| curr == Some(task))?;
        Some(cpu as u32)
    }

    fn of_running(&mut self, cpu: u32, task: TaskId) -> Result<(), Fault> {
        match self.rng.below(9) {
            0 | 1 => {
                let uninterruptible = self.rng.below(4) == 0;
                let disk = if uninterruptible {
                    deq::UNINTERRUPTIBLE
                } else {
                    0
                };
                self.script.dequeue(task, deq::SLEEP | disk)?;
                self.tasks[task.index()] = State::Sleeping { uninterruptible };
                self.schedule(cpu, Prev::Blocked)
            }
            2 => match self.script.yields(task)? {
                true => self.schedule(cpu, Prev::Yielded),
                false => Ok(()),
            },
            3 => self.schedule(cpu, Prev::Preempted),
            4 if self.alive().len() < ALIVE && self.tasks.len() < EVER => self.begin(Some(task)),
            5 if self.alive().len() > 6 => self.die(cpu, task),
            _ => self.ticks(cpu),
        }
    }

    fn ticks(&mut self, cpu: u32) -> Result<(), Fault> {
        for _ in 0..=self.rng.below(12) {
            self.now += 1_000_000;
            self.at(cpu);
            self.script.tick(CpuId(cpu), self.curr[cpu as usize])?;
        }
        Ok(())
    }

    fn begin(&mut self, parent: Option<TaskId>) -> Result<(), Fault> {
        let cpu = parent.and_then(|p| self.running(p)).unwrap_or(0);
        let new = NewTask {
            nice: self.rng.below(40) as i8 - 20,
            class: Class::Normal,
            rt_priority: 0,
            mm: self.rng.below(4) as u32,
            cpu_set: 0,
            cpu: CpuId(cpu),
            foreground: self.rng.below(4) == 0,
            group: None,
            slice: Ns::ZERO,
            clamps: Clamps::NONE,
        };
        let task = self.script.start(&new, parent)?;
        self.tasks.push(State::Runnable);
        self.script.place(task, enq::NEW)?;
        self.script.enqueue(task, enq::NEW)
    }

    fn die(&mut self, cpu: u32, task: TaskId) -> Result<(), Fault> {
        self.script.dequeue(task, deq::EXIT)?;
        self.tasks[task.index()] = State::Dead;
        self.schedule(cpu, Prev::Exited)?;
        let alive = self.alive();
        let reaper = self.rng.one_of(&alive);
        self.forget(task, reaper)
    }

    /// A sleeping task changes its scheduling class.
    fn leave(&mut self, task: TaskId) -> Result<(), Fault> {
        self.tasks[task.index()] = State::Dead;
        self.forget(task, None)
    }

    fn forget(&mut self, task: TaskId, reaper: Option<TaskId>) -> Result<(), Fault> {
        for child in &self.alive() {
            if self.script.host.task(*child).parent == self.script.host.task_pointer(task) {
                self.script.host.set_parent(*child, None);
            }
        }
        self.script.exit(task, reaper)
    }

    /// schedule(): as in the simulator.
    fn schedule(&mut self, cpu: u32, why: Prev) -> Result<(), Fault> {
        self.at(cpu);
        let prev = self.curr[cpu as usize];
        let next = self.script.pick_next(CpuId(cpu), prev, why)?;
        if next == prev && why != Prev::Moved {
            return Ok(());
        }
        self.script.switch(CpuId(cpu), prev, next)?;
        self.curr[cpu as usize] = next;
        match prev {
            Some(prev) if why == Prev::Moved => self.requeue(prev),
            _ => Ok(()),
        }
    }

    fn requeue(&mut self, task: TaskId) -> Result<(), Fault> {
        self.script.place(task, enq::MOVE)?;
        self.script.enqueue(task, enq::MOVE)
    }

    fn of_others(&mut self) -> Result<(), Fault> {
        let alive = self.alive();
        let task = self.rng.one_of(&alive).expect("tasks never die out");
        let asleep = self.those(|state| matches!(state, State::Sleeping { .. }));
        match (self.rng.below(9), self.rng.one_of(&asleep)) {
            (0..=3, Some(sleeper)) => self.wake(sleeper),
            (4, _) => self.script.set_nice(task, self.rng.below(40) as i8 - 20),
            (5, _) => {
                let (class, rt_priority) = match self.rng.below(5) {
                    0 => (Class::Fifo, 1 + self.rng.below(99) as u8),
                    1 => (Class::Rr, 1 + self.rng.below(99) as u8),
                    2 => (Class::Batch, 0),
                    3 => (Class::Iso, 0),
                    _ => (Class::Normal, 0),
                };
                self.script.set_class(task, class, rt_priority)
            }
            (6, _) => self.set_cpus(task),
            (8, Some(sleeper)) if alive.len() > 2 => self.leave(sleeper),
            (7, _) if self.tasks.len() < EVER && alive.len() < ALIVE => self.begin(None),
            _ => Ok(()),
        }
    }

    fn wake(&mut self, task: TaskId) -> Result<(), Fault> {
        let State::Sleeping { uninterruptible } = self.tasks[task.index()] else {
            return Ok(());
        };
        let mut flags = enq::WAKEUP;
        flags |= if uninterruptible {
            enq::UNINTERRUPTIBLE
        } else {
            0
        };
        flags |= self.rng.one_of(&[0, enq::SYNC, enq::IRQ]).unwrap_or(0);
        self.tasks[task.index()] = State::Runnable;
        self.script.place(task, flags)?;
        self.script.enqueue(task, flags)
    }

    fn set_cpus(&mut self, task: TaskId) -> Result<(), Fault> {
        let set = self.rng.one_of(&self.sets).expect("set 0 is always there");
        self.script.set_cpus(task, set)?;
        let cpu = CpuId(self.script.host.task(task).cpu);
        if self.script.host.allowed(task, cpu) || self.tasks[task.index()] != State::Runnable {
            return Ok(());
        }
        self.script.dequeue(task, deq::MOVE)?;
        match self.running(task) {
            Some(cpu) => self.schedule(cpu, Prev::Moved),
            None => self.requeue(task),
        }
    }

    fn timers(&mut self) -> Result<(), Fault> {
        for id in 0..schedlab_policy::ffi::MAX_TIMERS as u32 {
            if self.script.host.timer_due(id, Time(self.now)) {
                self.script.timer(id)?;
            }
        }
        for cpu in 0..self.curr.len() as u32 {
            if self.script.host.hrtick_due(CpuId(cpu), Time(self.now)) {
                self.at(cpu);
                self.script.hrtick(CpuId(cpu), self.curr[cpu as usize])?;
            }
        }
        Ok(())
    }

    /// Every CPU that was asked to reschedule calls schedule(), in ascending order.
    fn obey(&mut self) -> Result<(), Fault> {
        for cpu in 0..self.curr.len() as u32 {
            if self.script.host.need_resched(CpuId(cpu)) {
                let why = match self.curr[cpu as usize] {
                    Some(_) => Prev::Preempted,
                    None => Prev::None,
                };
                self.schedule(cpu, why)?;
            }
        }
        Ok(())
    }
}
