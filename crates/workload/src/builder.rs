//! Builds a workload: numbers what programs share, nests their loops and puts tasks into
//! canonical order.

use schedlab_trace::{MarkId, Ns, TaskClass};

use crate::{
    Amount, Channel, Distribution, Op, Process, Program, ProgramId, SpecId, TaskSpec, Times,
    Workload,
};

/// A workload under construction.
pub(crate) struct Builder {
    workload: Workload,
}

impl Builder {
    /// An empty workload of this name, read from `source`.
    pub fn new(name: impl Into<String>, source: impl Into<String>) -> Self {
        let workload = Workload {
            name: name.into(),
            source: source.into(),
            ..Workload::default()
        };
        Builder { workload }
    }

    /// Continues an existing workload.
    pub fn on(workload: Workload) -> Self {
        Builder { workload }
    }

    /// Adds the tasks of another workload.  The workloads share no process; the duration does not change.
    pub fn beside<E>(&mut self, add: impl FnOnce(&mut Builder) -> Result<(), E>) -> Result<(), E> {
        let number = |task: &TaskSpec| match task.process {
            Process::Shared(number) => number,
            _ => 0,
        };
        let taken = self.workload.tasks.iter().map(number).max().unwrap_or(0);
        let (first, duration) = (self.workload.tasks.len(), self.workload.duration);
        add(self)?;
        for task in &mut self.workload.tasks[first..] {
            if let Process::Shared(number) = &mut task.process {
                *number += taken;
            }
        }
        self.workload.duration = duration;
        Ok(())
    }

    /// Adds a task specification.  [`Op::Fork`] may refer to it by the number returned here;
    /// [`Builder::finish`] renumbers.
    pub fn task(&mut self, spec: TaskSpec) -> SpecId {
        self.workload.tasks.push(spec);
        SpecId(self.workload.tasks.len() as u32 - 1)
    }

    /// Adds a program.
    pub fn program(&mut self, ops: Ops) -> ProgramId {
        self.workload.programs.push(Program { ops: ops.0 });
        ProgramId(self.workload.programs.len() as u32 - 1)
    }

    /// Adds a channel that holds `capacity` messages.
    pub fn channel(&mut self, capacity: u32) -> u32 {
        push(&mut self.workload.channels, Channel::holding(capacity))
    }

    /// Adds a semaphore with this value.
    pub fn semaphore(&mut self, value: u32) -> u32 {
        push(&mut self.workload.semaphores, value)
    }

    /// Adds `count` mutexes and returns the number of the first.
    pub fn mutexes(&mut self, count: u32) -> u32 {
        self.workload.nr_mutexes += count;
        self.workload.nr_mutexes - count
    }

    /// Adds a condition variable.
    pub fn condition(&mut self) -> u32 {
        self.workload.nr_conditions += 1;
        self.workload.nr_conditions - 1
    }

    /// Adds a barrier for this number of tasks.
    pub fn barrier(&mut self, tasks: u32) -> u32 {
        push(&mut self.workload.barriers, tasks)
    }

    /// Adds a disk.
    pub fn disk(&mut self) -> u32 {
        self.workload.nr_disks += 1;
        self.workload.nr_disks - 1
    }

    /// The mark of this name, added if it is new.
    pub fn mark(&mut self, name: &str) -> MarkId {
        MarkId(find_or_push(&mut self.workload.marks, name.to_string()))
    }

    /// The CPU set with these CPUs, added if it is new.
    pub fn cpu_set(&mut self, mut cpus: Vec<u32>) -> u32 {
        cpus.sort_unstable();
        cpus.dedup();
        find_or_push(&mut self.workload.cpu_sets, cpus)
    }

    /// An amount drawn from this distribution, which is added if it is new.
    pub fn drawn(&mut self, distribution: Distribution) -> Amount {
        Amount::Drawn(find_or_push(&mut self.workload.distributions, distribution))
    }

    /// An amount that varies log-normally around its median; `sigma_milli` 0 fixes it.
    pub fn around(&mut self, median: Ns, sigma_milli: u32) -> Amount {
        if sigma_milli == 0 || median == Ns::ZERO {
            return Amount::Fixed(median);
        }
        let median = median.0;
        self.drawn(Distribution::LogNormal {
            median,
            sigma_milli,
        })
    }

    /// The workload itself, for its duration, warnings and counts of disks.
    pub fn workload(&mut self) -> &mut Workload {
        &mut self.workload
    }

    /// The workload in canonical order.
    pub fn finish(self) -> Workload {
        let mut workload = self.workload;
        let mut order: Vec<usize> = (0..workload.tasks.len()).collect();
        order.sort_by(|&a, &b| workload.tasks[a].name.cmp(&workload.tasks[b].name));
        let mut position = vec![0; order.len()];
        for (new, &old) in order.iter().enumerate() {
            position[old] = new as u32;
        }
        workload.tasks = order.iter().map(|&i| workload.tasks[i].clone()).collect();
        for op in workload.programs.iter_mut().flat_map(|p| &mut p.ops) {
            if let Op::Fork(spec)
            | Op::Renice(spec, _)
            | Op::Reclass(spec, ..)
            | Op::Repin(spec, _)
            | Op::Regroup(spec, _) = op
            {
                *spec = SpecId(position[spec.0 as usize]);
            }
        }
        workload
    }
}

/// A task specification with the defaults: one instance, nice 0, its own process, all CPUs.
pub(crate) fn task(name: impl Into<String>, program: ProgramId) -> TaskSpec {
    let name = name.into();
    TaskSpec {
        group: name.clone(),
        name,
        count: 1,
        program,
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
    }
}

/// The operations of a program under construction.
#[derive(Default)]
pub(crate) struct Ops(Vec<Op>);

impl Ops {
    /// No operations yet.
    pub fn new() -> Self {
        Ops::default()
    }

    /// Appends one.
    pub fn push(&mut self, op: Op) -> &mut Self {
        self.0.push(op);
        self
    }

    /// Appends each of these.
    pub fn extend(&mut self, ops: impl IntoIterator<Item = Op>) {
        self.0.extend(ops);
    }

    /// Appends work; none if the amount is zero.
    pub fn run(&mut self, amount: Amount) -> &mut Self {
        if amount != Amount::Fixed(Ns::ZERO) {
            self.0.push(Op::Run(amount));
        }
        self
    }

    /// Appends another list of operations and adjusts the indices of its loops.
    pub fn append(&mut self, other: Ops) -> &mut Self {
        let offset = self.0.len() as u32;
        self.0.extend(other.0.into_iter().map(|op| match op {
            Op::Loop { times, end } => {
                let end = end + offset;
                Op::Loop { times, end }
            }
            Op::EndLoop { start } => {
                let start = start + offset;
                Op::EndLoop { start }
            }
            other => other,
        }));
        self
    }

    /// Appends a loop around what `body` appends.  A loop that runs once is replaced by its body, one that never runs by nothing.
    pub fn repeat(&mut self, times: Times, body: impl FnOnce(&mut Ops)) -> &mut Self {
        match times {
            Times::Fixed(0) => return self,
            Times::Fixed(1) => {
                body(self);
                return self;
            }
            _ => {}
        }
        let start = self.0.len() as u32;
        self.0.push(Op::Loop { times, end: 0 });
        body(self);
        let end = self.0.len() as u32;
        self.0.push(Op::EndLoop { start });
        self.0[start as usize] = Op::Loop { times, end };
        self
    }
}

/// Appends an item; returns its index.
fn push<T>(list: &mut Vec<T>, item: T) -> u32 {
    list.push(item);
    list.len() as u32 - 1
}

/// The index of an item, which is appended if it is new.
fn find_or_push<T: PartialEq>(list: &mut Vec<T>, item: T) -> u32 {
    match list.iter().position(|known| *known == item) {
        Some(index) => index as u32,
        None => push(list, item),
    }
}
