//! A random scheduler: consistent traces of any length.

use schedlab_trace::{CpuId, EventKind, MarkId, Ns, PrevState, TaskClass, TaskId, WakeContext};

use super::{switch, Trace};

/// A trace of at least `events` records, the same for the same arguments.  Times repeat now
/// and then, tasks come and go, every kind of event that reaches a file occurs.
pub fn random_trace(seed: u64, events: usize, nr_cpus: u32) -> Trace {
    throw(seed, events, nr_cpus, 10)
}

/// The same without two steps in one nanosecond, as on a machine where everything costs time.
#[allow(dead_code)] // Not every test needs it.
pub fn random_trace_without_ties(seed: u64, events: usize, nr_cpus: u32) -> Trace {
    throw(seed, events, nr_cpus, 0)
}

/// So many steps in a hundred happen in the same nanosecond as the one before.
fn throw(seed: u64, events: usize, nr_cpus: u32, tied_percent: u64) -> Trace {
    let mut machine = Machine {
        trace: Trace::new(nr_cpus),
        dice: Dice(seed),
        now: 0,
        running: vec![None; nr_cpus as usize],
        queues: vec![Vec::new(); nr_cpus as usize],
        asleep: Vec::new(),
        nr_tasks: 0,
        nr_alive: 0,
    };
    for cpu in 0..nr_cpus {
        for _ in 0..6 {
            machine.fork(cpu, None);
        }
    }
    while machine.trace.records.len() < events {
        if machine.dice.roll(100) >= tied_percent {
            machine.now += 1 + machine.dice.roll(40_000);
        }
        let cpu = machine.dice.roll(nr_cpus.into()) as u32;
        machine.step(cpu);
    }
    machine.trace
}

/// xorshift64*, from Marsaglia 2003 and Vigna 2016; good enough for dice.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % sides
    }
}

struct Machine {
    trace: Trace,
    dice: Dice,
    now: u64,
    running: Vec<Option<TaskId>>,
    queues: Vec<Vec<TaskId>>,
    asleep: Vec<TaskId>,
    nr_tasks: u32,
    nr_alive: u32,
}

impl Machine {
    fn step(&mut self, cpu: u32) {
        match (self.dice.roll(16), self.running[cpu as usize]) {
            (0..=6, _) => self.reschedule(cpu),
            (7..=10, _) => self.wake(cpu),
            (11, _) => self.migrate(cpu),
            (12, Some(task)) => self.chat(cpu, task),
            (13, Some(task)) if self.nr_alive < 60 && self.dice.roll(20) == 0 => {
                self.fork(cpu, Some(task))
            }
            (14, Some(task)) if self.nr_alive > 20 && self.dice.roll(20) == 0 => {
                self.nr_alive -= 1;
                self.trace.event(self.now, cpu, EventKind::Exit { task });
                self.switch(cpu, PrevState::Exited);
            }
            (15, Some(task)) => self.change(cpu, task),
            _ => self.reschedule(cpu),
        }
    }

    /// Another task runs, if there is one.
    fn reschedule(&mut self, cpu: u32) {
        let waits = !self.queues[cpu as usize].is_empty();
        match self.running[cpu as usize] {
            None if waits => self.switch(cpu, PrevState::Idle),
            None => {}
            Some(task) => match self.dice.roll(8) {
                0 if waits => {
                    self.trace.event(self.now, cpu, EventKind::Yield { task });
                    self.switch(cpu, PrevState::Yielded);
                }
                1 if waits => self.switch(cpu, PrevState::Preempted),
                2 if waits => self.switch(cpu, PrevState::Moved),
                3 => self.switch(cpu, PrevState::DiskSleep),
                _ => self.switch(cpu, PrevState::Sleeping),
            },
        }
    }

    fn switch(&mut self, cpu: u32, state: PrevState) {
        let queue = &mut self.queues[cpu as usize];
        let next = match queue.len() {
            0 => None,
            n => Some(queue.remove(self.dice.roll(n as u64) as usize)),
        };
        let prev = std::mem::replace(&mut self.running[cpu as usize], next);
        self.trace.event(self.now, cpu, switch(prev, state, next));
        match (prev, state) {
            (Some(task), PrevState::Sleeping | PrevState::DiskSleep) => self.asleep.push(task),
            (None, _) | (_, PrevState::Exited) => {}
            (Some(task), _) => self.queues[cpu as usize].push(task),
        }
    }

    fn wake(&mut self, cpu: u32) {
        if self.asleep.is_empty() {
            return;
        }
        let task = self
            .asleep
            .swap_remove(self.dice.roll(self.asleep.len() as u64) as usize);
        let by = match self.running[cpu as usize] {
            Some(_) if self.dice.roll(3) > 0 => WakeContext::Task,
            _ => WakeContext::Irq,
        };
        self.trace
            .event(self.now, cpu, EventKind::Waking { task, by });
        self.queue_somewhere(cpu, task);
    }

    fn queue_somewhere(&mut self, cpu: u32, task: TaskId) {
        let target = self.dice.roll(self.queues.len() as u64) as usize;
        self.queues[target].push(task);
        let target = CpuId(target as u32);
        self.trace
            .event(self.now, cpu, EventKind::Wakeup { task, target });
    }

    fn migrate(&mut self, to: u32) {
        let from = self.dice.roll(self.queues.len() as u64) as u32;
        if from == to {
            return;
        }
        if let Some(task) = self.queues[from as usize].pop() {
            self.queues[to as usize].push(task);
            let (from, to) = (CpuId(from), CpuId(to));
            let kind = EventKind::Migrate { task, from, to };
            self.trace.event(self.now, to.0, kind);
        }
    }

    fn fork(&mut self, cpu: u32, parent: Option<TaskId>) {
        let child = TaskId(self.nr_tasks);
        self.nr_tasks += 1;
        self.nr_alive += 1;
        // Three threads a process, some with names that text must mend.
        let name = ["worker", "my worker", "a=b", "späť\n"][child.index() % 4];
        let nice = self.dice.roll(40) as i8 - 20;
        let rt_priority = if self.dice.roll(8) == 0 {
            1 + self.dice.roll(99) as u8
        } else {
            0
        };
        self.trace.task(
            child.0,
            &format!("{name}-{}", child.0),
            100 + child.0 / 3,
            nice,
            rt_priority,
        );
        self.trace
            .event(self.now, cpu, EventKind::Fork { child, parent });
        self.queue_somewhere(cpu, child);
    }

    /// The workload and the policy report numbers.
    fn chat(&mut self, cpu: u32, task: TaskId) {
        let mark = MarkId(self.dice.roll(2) as u32);
        let by = 1 + self.dice.roll(5);
        let kind = match self.dice.roll(4) {
            0 => EventKind::Mark {
                task,
                mark,
                count: by as u32,
            },
            1 => EventKind::Latency {
                task,
                mark,
                ns: Ns(self.dice.roll(1 << 40)),
            },
            2 => EventKind::Count {
                counter: self.dice.roll(2) as u32,
                by,
            },
            _ => EventKind::Priority {
                task,
                priority: self.dice.roll(140) as i32 - 100,
            },
        };
        self.trace.event(self.now, cpu, kind);
    }

    fn change(&mut self, cpu: u32, task: TaskId) {
        let kind = match self.dice.roll(3) {
            0 => EventKind::Nice {
                task,
                nice: self.dice.roll(40) as i8 - 20,
            },
            1 => {
                let rt_priority = 1 + self.dice.roll(99) as u8;
                EventKind::Class {
                    task,
                    class: TaskClass::Rr,
                    rt_priority,
                }
            }
            _ => EventKind::Class {
                task,
                class: TaskClass::Normal,
                rt_priority: 0,
            },
        };
        self.trace.event(self.now, cpu, kind);
    }
}
