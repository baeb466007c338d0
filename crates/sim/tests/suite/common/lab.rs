//! Small workloads, defined in one or two lines, and their results.
//!
//! Times are in µs unless a name says otherwise.

use schedlab_machine::Machine;
use schedlab_policy::Tuned;
use schedlab_sim::{EndReason, Limits, Outcome, Setup, SimError, TieBreak};
use schedlab_trace::{
    CpuId, Event, EventKind, HashSink, MarkId, Ns, Overhead, TaskClass, TaskId, Tee, Time,
    TraceHash,
};
use schedlab_workload::{
    Amount, Channel, Op, Process, Program, ProgramId, SpecId, TaskSpec, TimerScope, Times, Workload,
};

pub fn us(us: u64) -> Amount {
    Amount::Fixed(Ns::from_us(us))
}

pub fn run(time: u64) -> Op {
    Op::Run(us(time))
}

pub fn sleep(time: u64) -> Op {
    Op::Sleep(us(time))
}

pub fn disk(time: u64) -> Op {
    Op::Disk {
        disk: 0,
        service: us(time),
    }
}

pub fn send(count: u32) -> Op {
    Op::Send { channel: 0, count }
}

pub fn receive(count: u32) -> Op {
    Op::Receive { channel: 0, count }
}

pub fn fork(spec: u32) -> Op {
    Op::Fork(SpecId(spec))
}

/// An event to find in the trace: see [`Ran::marks`].
pub fn mark(mark: u32) -> Op {
    Op::Mark {
        mark: MarkId(mark),
        count: 1,
    }
}

pub fn own_timer(period: u64, relative: bool) -> Op {
    Op::Timer {
        timer: TimerScope::Own(0),
        period: Ns::from_us(period),
        relative,
    }
}

/// Repeats the operations this number of times.
pub fn times(n: u32, ops: &[Op]) -> Vec<Op> {
    looped(Times::Fixed(n), ops)
}

/// Repeats the operations until the end of the run.
pub fn forever(ops: &[Op]) -> Vec<Op> {
    looped(Times::Forever, ops)
}

/// The loop must come first in its program, as operations are numbered.
pub fn looped(times: Times, ops: &[Op]) -> Vec<Op> {
    let end = ops.len() as u32 + 1;
    let mut program = vec![Op::Loop { times, end }];
    program.extend_from_slice(ops);
    program.push(Op::EndLoop { start: 0 });
    program
}

/// A workload, a machine and a policy, ready to run.
pub struct Lab {
    pub workload: Workload,
    pub machine: Machine,
    pub tuned: Tuned,
    pub duration: Option<Ns>,
    pub limits: Limits,
    pub tie_break: TieBreak,
    pub checks_policy: bool,
}

impl Lab {
    /// An ideal machine under the template's FIFO.
    pub fn new(nr_cpus: u32) -> Lab {
        Lab::under(nr_cpus, Tuned::defaults(super::fifo()))
    }

    pub fn under(nr_cpus: u32, tuned: Tuned) -> Lab {
        let workload = Workload {
            name: "test".into(),
            ..Workload::default()
        };
        Lab {
            workload,
            machine: Machine::ideal(nr_cpus),
            tuned,
            duration: None,
            limits: Limits::default(),
            tie_break: TieBreak::Canonical,
            checks_policy: false,
        }
    }

    /// One task that runs this program.  Tasks are numbered from 0 in the order they are added.
    pub fn task(self, ops: Vec<Op>) -> Lab {
        self.tasks(1, ops)
    }

    /// Some tasks that run the same program.
    pub fn tasks(mut self, count: u32, ops: Vec<Op>) -> Lab {
        let name = format!("t{}", self.workload.tasks.len());
        self.workload.tasks.push(TaskSpec {
            name: name.clone(),
            group: name,
            count,
            program: ProgramId(self.workload.programs.len() as u32),
            nice: 0,
            class: TaskClass::Normal,
            rt_priority: 0,
            periodic: None,
            cpus: None,
            control_group: None,
            slice: None,
            clamps: None,
            process: Process::Own,
            working_set_bytes: 0,
            start: Ns::ZERO,
            dormant: false,
            background: false,
            foreground: false,
        });
        self.workload.programs.push(Program { ops });
        self
    }

    /// A specification that only fork() starts; specifications are numbered in the order added.
    pub fn template(self, ops: Vec<Op>) -> Lab {
        self.tasks(0, ops)
    }

    /// Changes the specification added last.
    pub fn but(mut self, change: impl FnOnce(&mut TaskSpec)) -> Lab {
        change(self.workload.tasks.last_mut().expect("there is a task"));
        self
    }

    /// The specification added last starts at this time.
    pub fn at(self, time: u64) -> Lab {
        self.but(|t| t.start = Ns::from_us(time))
    }

    /// The specification added last may use these CPUs only.
    pub fn on(mut self, cpus: &[u32]) -> Lab {
        self.workload.cpu_sets.push(cpus.to_vec());
        let set = self.workload.cpu_sets.len() as u32 - 1;
        self.but(|t| t.cpus = Some(set))
    }

    pub fn with(mut self, change: impl FnOnce(&mut Workload)) -> Lab {
        change(&mut self.workload);
        self
    }

    pub fn channel(self, capacity: u32) -> Lab {
        self.with(|w| w.channels.push(Channel::holding(capacity)))
    }

    pub fn machine(mut self, change: impl FnOnce(&mut Machine)) -> Lab {
        change(&mut self.machine);
        self
    }

    pub fn for_us(mut self, time: u64) -> Lab {
        self.duration = Some(Ns::from_us(time));
        self
    }

    pub fn setup(&self) -> Setup<'_> {
        Setup {
            duration: self.duration,
            limits: self.limits,
            tie_break: self.tie_break,
            checks_policy: self.checks_policy,
            ..Setup::new(&self.machine, &self.workload, &self.tuned)
        }
    }

    pub fn try_run(&self) -> Result<Ran, SimError> {
        let sink = Tee(HashSink::default(), Vec::new());
        let (outcome, Tee(hash, events)) = self.setup().run(sink)?;
        Ok(Ran {
            outcome,
            events,
            hash: hash.finish(),
        })
    }

    pub fn run_with(self, change: impl FnOnce(&mut Machine)) -> Ran {
        self.machine(change).run()
    }

    pub fn run(&self) -> Ran {
        self.try_run().unwrap_or_else(|error| panic!("{error}"))
    }
}

/// The results of a run.
pub struct Ran {
    pub outcome: Outcome,
    pub events: Vec<Event>,
    pub hash: TraceHash,
}

impl Ran {
    pub fn pick<T>(&self, choose: impl Fn(&Event) -> Option<T>) -> Vec<T> {
        self.events.iter().filter_map(choose).collect()
    }

    /// (when in µs, which task) of every exit.
    pub fn exits(&self) -> Vec<(u64, u32)> {
        self.pick(|e| match e.kind {
            EventKind::Exit { task } => Some((e.time.0 / 1000, task.0)),
            _ => None,
        })
    }

    /// When this task exited, in ns.
    pub fn exit_ns(&self, of: u32) -> u64 {
        let exits = self.pick(|e| match e.kind {
            EventKind::Exit { task } if task.0 == of => Some(e.time.0),
            _ => None,
        });
        assert_eq!(exits.len(), 1, "task {of} exits once");
        exits[0]
    }

    /// (when in µs, which task, which mark) of every mark.
    pub fn marks(&self) -> Vec<(u64, u32, u32)> {
        self.pick(|e| match e.kind {
            EventKind::Mark { task, mark, .. } => Some((e.time.0 / 1000, task.0, mark.0)),
            _ => None,
        })
    }

    /// (when in µs, CPU, previous task, next task) of every switch.
    pub fn switches(&self) -> Vec<(u64, u32, Option<u32>, Option<u32>)> {
        let number = |task: Option<TaskId>| task.map(|t| t.0);
        self.pick(|e| match e.kind {
            EventKind::Switch { prev, next, .. } => {
                Some((e.time.0 / 1000, e.cpu.0, number(prev), number(next)))
            }
            _ => None,
        })
    }

    /// (when in µs, CPU) at which this task began to run, each time.
    pub fn began(&self, task: u32) -> Vec<(u64, u32)> {
        let mine = |&(_, _, _, next): &(u64, u32, Option<u32>, Option<u32>)| next == Some(task);
        let switches = self.switches().into_iter().filter(mine);
        switches.map(|(time, cpu, ..)| (time, cpu)).collect()
    }

    /// How often a wakeup of this task began.
    pub fn wakings(&self, of: u32) -> usize {
        self.pick(|e| {
            matches!(e.kind, EventKind::Waking { task, .. } if task.0 == of).then_some(())
        })
        .len()
    }

    /// (when in µs, CPU, for how long in ns) of overhead of one kind.
    pub fn overhead(&self, of: Overhead) -> Vec<(u64, u32, u64)> {
        self.pick(|e| match e.kind {
            EventKind::Overhead { kind, ns } if kind == of => {
                Some((e.time.0 / 1000, e.cpu.0, ns.0))
            }
            _ => None,
        })
    }

    #[track_caller]
    pub fn ends(&self, time_us: u64, reason: EndReason) -> &Ran {
        let end = Time::ZERO + Ns::from_us(time_us);
        assert_eq!((self.outcome.end, self.outcome.reason), (end, reason));
        self
    }

    /// The CPU of each event that `choose` accepts.
    pub fn cpus_of(&self, choose: impl Fn(&EventKind) -> bool) -> Vec<CpuId> {
        self.pick(|e| choose(&e.kind).then_some(e.cpu))
    }
}
