//! Converts rt-app's tasks to the model's: names become numbers, events become operations.

use std::collections::{BTreeMap, BTreeSet};

use schedlab_input::Diagnostic;
use schedlab_trace::{GroupWeight, Ns};

use super::event::{Access, Condition, Event, MemoryRun, Timer};
use super::global::Global;
use super::survey::{at, Survey};
use super::task::{Params, Phase, Step, Task};
use crate::builder::{self, Builder, Ops};
use crate::{
    Amount, ControlGroup, Op, Process, SpecId, TaskSpec, TimerScope, Times, Workload,
    DURATION_OF_THE_ENDLESS, MAX_OWN_TIMERS,
};

/// rt-app's threads wait for each other at a barrier and leave it one after the other.  If they
/// left at the same time, two equally long tasks that resume each other would both resume before
/// either waits, and then wait for ever.  Assumed.
const STAGGER_US: u64 = 20;

/// memset: 10 GB/s.  Assumed.
const MEMSET_PS_PER_BYTE: u64 = 100;

/// One write() to /dev/null.  Assumed.
const WRITE_NS: u64 = 500;

/// One write() to a device: this time for each and 200 MB/s.  Assumed.
const DEVICE_NS: u64 = 100_000;
const DEVICE_NS_PER_BYTE: u64 = 5;

/// `runtime` works in pieces of this size and looks at the clock after each.
const RUNTIME_PIECE_US: u32 = 32;

/// The workload made of these tasks.
pub(super) fn lower(
    mut builder: Builder,
    global: &Global,
    tasks: &[Task],
    survey: &Survey,
) -> Result<Workload, Diagnostic> {
    let mut order: Vec<&str> = tasks.iter().map(|t| t.name.as_str()).collect();
    order.sort_unstable();
    let groups = add_groups(builder.workload(), tasks);
    let mut lowering = Lowering {
        groups,
        names: Names::default(),
        position: order.into_iter().zip(0..).collect(),
        spec: tasks.iter().map(|t| t.name.as_str()).zip(0..).collect(),
        builder: &mut builder,
        global,
        survey,
        disk: None,
    };
    for task in tasks {
        lowering.task(task)?;
    }
    let names = lowering.names;
    builder.workload().nr_mutexes = names.mutexes.len() as u32;
    builder.workload().nr_conditions = names.conditions.len() as u32;
    builder.workload().nr_shared_timers = names.timers.len() as u32;
    set_duration(builder.workload(), global, tasks);
    Ok(builder.finish())
}

/// The given duration; a default if some task never ends.
fn set_duration(workload: &mut Workload, global: &Global, tasks: &[Task]) {
    if let Some(seconds) = global.duration_s {
        workload.duration = Some(Ns::from_secs(u64::from(seconds)));
        return;
    }
    let endless = |task: &&Task| {
        let goes_on = |phase: &Phase| phase.rounds.is_none();
        task.rounds.is_none() || (task.rounds != Some(0) && task.phases.iter().any(goes_on))
    };
    let Some(task) = tasks.iter().find(endless) else {
        return;
    };
    let why = "never ends, and global.duration is not set: rt-app would run until interrupted, this runs for 10 s";
    let warning = Diagnostic::new(why)
        .at(&workload.source, task.line)
        .key(format!("tasks.{}", task.name));
    workload.duration = Some(DURATION_OF_THE_ENDLESS);
    workload.assumed_duration = Some(warning.to_string());
}

/// Numbers of rt-app's resources.  suspend and resume use the mutex and the condition
/// variable of a name, the same that lock, wait and signal use.
#[derive(Default)]
struct Names {
    mutexes: BTreeMap<String, u32>,
    conditions: BTreeMap<String, u32>,
    timers: BTreeMap<String, u32>,
    semaphores: BTreeMap<String, u32>,
    barriers: BTreeMap<String, u32>,
}

/// The number of a name, the next one if it is new.
fn number(names: &mut BTreeMap<String, u32>, name: &str) -> u32 {
    let next = names.len() as u32;
    *names.entry(name.to_string()).or_insert(next)
}

/// The groups that tasks and phases name, and those they are in, each before what is in it; with their numbers.
fn add_groups(workload: &mut Workload, tasks: &[Task]) -> BTreeMap<String, u32> {
    let of_phases = tasks.iter().flat_map(|task| &task.phases);
    let named = tasks.iter().map(|task| &task.taskgroup);
    let named = named.chain(of_phases.map(|phase| &phase.taskgroup));
    let mut paths: BTreeSet<Vec<&str>> = BTreeSet::new();
    for path in named.flatten() {
        let parts = parts(path);
        paths.extend((1..=parts.len()).map(|n| parts[..n].to_vec()));
    }
    let mut numbers = BTreeMap::new();
    for parts in paths {
        let number = numbers.len() as u32;
        let name = format!("/{}", parts.join("/"));
        let parent = format!("/{}", parts[..parts.len() - 1].join("/"));
        workload.control_groups.push(ControlGroup {
            name: name.clone(),
            parent: numbers.get(&parent).copied(),
            weight: GroupWeight::default(),
            max: None,
        });
        numbers.insert(name, number);
    }
    numbers
}

/// The names in a path.
fn parts(path: &str) -> Vec<&str> {
    path.split('/').filter(|part| !part.is_empty()).collect()
}

struct Lowering<'a> {
    groups: BTreeMap<String, u32>,
    names: Names,
    /// Numbers of the tasks in the order of the file.
    spec: BTreeMap<&'a str, u32>,
    /// Numbers of the tasks in the order of their names; a run depends on no other order.
    position: BTreeMap<&'a str, u64>,
    builder: &'a mut Builder,
    global: &'a Global,
    survey: &'a Survey,
    disk: Option<u32>,
}

impl Lowering<'_> {
    fn task(&mut self, task: &Task) -> Result<(), Diagnostic> {
        let sets: Vec<Option<u32>> = task.phases.iter().map(|p| self.cpu_set(task, p)).collect();
        let mut timers = BTreeMap::new();
        let mut bodies = Vec::new();
        for phase in &task.phases {
            let mut ops = Ops::new();
            for step in &phase.events {
                self.event(&mut ops, task, step, &mut timers)?;
            }
            bodies.push(ops);
        }
        let groups: Vec<Option<u32>> = task.phases.iter().map(|p| self.group(task, p)).collect();
        let regroups = groups.iter().any(|group| *group != groups[0]);
        let moves = sets.iter().any(|set| *set != sets[0]);
        let changes = changes(task);
        let mut ops = Ops::new();
        ops.repeat(times(task.rounds), |ops| {
            let phases = task.phases.iter().zip(&sets).zip(&groups);
            for (((phase, set), group), body) in phases.zip(bodies) {
                if regroups {
                    ops.push(Op::SetGroup(*group));
                }
                if moves {
                    ops.push(Op::SetCpus(*set));
                }
                for change in changes.of(phase) {
                    ops.push(change);
                }
                ops.repeat(times(phase.rounds), |ops| {
                    ops.append(body);
                });
            }
        });
        let program = self.builder.program(ops);
        let params = task.params;
        self.builder.task(TaskSpec {
            count: task.instances,
            nice: if params.is_real_time() {
                0
            } else {
                params.priority as i8
            },
            class: params.class,
            rt_priority: if params.is_real_time() {
                params.priority as u8
            } else {
                0
            },
            cpus: sets[0],
            control_group: groups[0],
            slice: task.slice,
            clamps: task.clamps,
            process: Process::Shared(1),
            start: us(task.delay_us) + self.stagger(task),
            ..builder::task(task.name.clone(), program)
        });
        Ok(())
    }

    /// How much later than the first task this one leaves the barrier.
    fn stagger(&self, task: &Task) -> Ns {
        Ns::from_us(STAGGER_US * self.position[task.name.as_str()])
    }

    /// A phase's own group, else the task's; none: the root.
    fn group(&self, task: &Task, phase: &Phase) -> Option<u32> {
        let path = phase.taskgroup.as_ref().or(task.taskgroup.as_ref())?;
        let name = format!("/{}", parts(path).join("/"));
        self.groups.get(&name).copied()
    }

    /// A phase's own CPUs, else the task's.
    fn cpu_set(&mut self, task: &Task, phase: &Phase) -> Option<u32> {
        let cpus = phase.cpus.as_ref().or(task.cpus.as_ref())?;
        Some(self.builder.cpu_set(cpus.clone()))
    }

    /// Appends what an event does.
    fn event(
        &mut self,
        ops: &mut Ops,
        task: &Task,
        step: &Step,
        own_timers: &mut BTreeMap<String, u32>,
    ) -> Result<(), Diagnostic> {
        match &step.event {
            Event::Lock(mutex) => ops.push(Op::Lock(self.mutex(mutex))),
            Event::Unlock(mutex) => ops.push(Op::Unlock(self.mutex(mutex))),
            Event::Wait(condition) => {
                let wait = self.wait(condition);
                ops.push(wait)
            }
            Event::Signal(name) => ops.push(Op::CondSignal(self.condition(name))),
            Event::Broadcast(name) => ops.push(Op::CondBroadcast(self.condition(name))),
            Event::Sync(condition) => {
                ops.push(Op::CondSignal(self.condition(&condition.name)));
                let wait = self.wait(condition);
                ops.push(wait)
            }
            Event::Sleep(time) => ops.push(Op::Sleep(Amount::Fixed(us(*time)))),
            Event::RunTime(time) => {
                let time = us((*time).max(RUNTIME_PIECE_US));
                ops.push(Op::RunFor(Amount::Fixed(time)))
            }
            Event::Run(time) => ops.run(Amount::Fixed(self.work(*time))),
            Event::Timer(timer) => {
                let timer = self.timer(task, step, timer, own_timers)?;
                ops.push(timer)
            }
            Event::Suspend(given) => {
                let name = self.survey.suspends_on(task, given.as_deref());
                let wait = Op::CondWait {
                    condition: self.condition(name),
                    mutex: Some(self.mutex(name)),
                };
                self.locked(ops, name, wait)
            }
            Event::Resume(name) => {
                let wake = Op::CondBroadcast(self.condition(name));
                self.locked(ops, name, wake)
            }
            Event::MemoryRun(run) => ops.run(Amount::Fixed(memory_run(run))),
            Event::Memory(bytes) => {
                let ns = u64::from(*bytes) * MEMSET_PS_PER_BYTE / 1000;
                ops.run(Amount::Fixed(Ns(ns)))
            }
            Event::Io(bytes) => self.io(ops, *bytes),
            Event::Yield => ops.push(Op::Yield),
            Event::Barrier(name) => ops.push(Op::Barrier(self.barrier(name))),
            Event::Fork(target) => ops.push(Op::Fork(SpecId(self.spec[target.as_str()]))),
            Event::SemPost(name) => ops.push(Op::SemPost(self.semaphore(name))),
            Event::SemWait(name) => ops.push(Op::SemWait(self.semaphore(name))),
        };
        Ok(())
    }

    /// An operation under the mutex of a name.
    fn locked<'o>(&mut self, ops: &'o mut Ops, name: &str, op: Op) -> &'o mut Ops {
        let mutex = self.mutex(name);
        ops.push(Op::Lock(mutex)).push(op).push(Op::Unlock(mutex))
    }

    fn mutex(&mut self, name: &str) -> u32 {
        number(&mut self.names.mutexes, name)
    }

    fn condition(&mut self, name: &str) -> u32 {
        number(&mut self.names.conditions, name)
    }

    fn wait(&mut self, condition: &Condition) -> Op {
        Op::CondWait {
            condition: self.condition(&condition.name),
            mutex: Some(self.mutex(&condition.mutex)),
        }
    }

    fn semaphore(&mut self, name: &str) -> u32 {
        let Names { semaphores, .. } = &mut self.names;
        *semaphores
            .entry(name.to_string())
            .or_insert_with(|| self.builder.semaphore(0))
    }

    fn barrier(&mut self, name: &str) -> u32 {
        // The survey has refused barriers with more users than fit.
        let users = self.survey.barrier_users(name) as u32;
        let Names { barriers, .. } = &mut self.names;
        *barriers
            .entry(name.to_string())
            .or_insert_with(|| self.builder.barrier(users))
    }

    fn timer(
        &mut self,
        task: &Task,
        step: &Step,
        timer: &Timer,
        own: &mut BTreeMap<String, u32>,
    ) -> Result<Op, Diagnostic> {
        let scope = match timer.is_unique() {
            true => TimerScope::Own(number(own, &timer.name)),
            false => TimerScope::Shared(number(&mut self.names.timers, &timer.name)),
        };
        if own.len() > MAX_OWN_TIMERS {
            let problem = format!("a task has at most {MAX_OWN_TIMERS} unique timers here");
            return Err(at(step, problem, "fewer of them"));
        }
        Ok(Op::Timer {
            timer: scope,
            period: us(timer.period_us),
            relative: self.survey.is_relative(task, &timer.name),
        })
    }

    /// Work of `time_us` microseconds; if the file fixes the length of a loop, whole loops only,
    /// counted for each full second and the rest apart, as rt-app does.
    fn work(&self, time_us: u32) -> Ns {
        let Some(loop_ns) = self.global.loop_ns.map(u64::from) else {
            return us(time_us);
        };
        let (seconds, rest_us) = (
            u64::from(time_us / 1_000_000),
            u64::from(time_us % 1_000_000),
        );
        let loops = seconds * (1_000_000_000 / loop_ns) + rest_us * 1_000 / loop_ns;
        Ns(loops * loop_ns)
    }

    /// Writes of at most a buffer each.
    fn io<'o>(&mut self, ops: &'o mut Ops, bytes: u32) -> &'o mut Ops {
        let bytes = u64::from(bytes);
        let writes = bytes.div_ceil(u64::from(self.global.mem_buffer_bytes));
        if self.global.io_is_free || bytes == 0 {
            return ops.run(Amount::Fixed(Ns(writes * WRITE_NS)));
        }
        let service = Ns(writes * DEVICE_NS + bytes * DEVICE_NS_PER_BYTE);
        let disk = *self.disk.get_or_insert_with(|| self.builder.disk());
        ops.push(Op::Disk {
            disk,
            service: Amount::Fixed(service),
        })
    }
}

/// Work of `count` accesses.  The costs are assumed: sequential ones hit a prefetched line,
/// random ones often miss, and chasing pointers waits for each.
fn memory_run(run: &MemoryRun) -> Ns {
    let access_ns = match (run.access, run.random) {
        (Access::Read | Access::Write, false) => 1,
        (Access::Read | Access::Write, true) => 10,
        (Access::Chase, false) => 5,
        (Access::Chase, true) => 80,
    };
    Ns(u64::from(run.count) * access_ns)
}

fn times(rounds: Option<u32>) -> Times {
    rounds.map_or(Times::Forever, Times::Fixed)
}

fn us(us: u32) -> Ns {
    Ns::from_us(u64::from(us))
}

/// Which operations change class and priority at the beginning of a phase.
struct Changes {
    class: bool,
    any: bool,
}

/// A phase without parameters keeps those of the one before, so what is set once stays; nothing
/// has to be set where all are the same.
fn changes(task: &Task) -> Changes {
    let all = || task.phases.iter().filter_map(|phase| phase.params);
    Changes {
        class: all().any(|params| params.class != task.params.class),
        any: all().any(|params| params != task.params),
    }
}

impl Changes {
    fn of(&self, phase: &Phase) -> Vec<Op> {
        let Some(Params { class, priority }) = phase.params.filter(|_| self.any) else {
            return Vec::new();
        };
        let real_time = phase.params.is_some_and(|params| params.is_real_time());
        let mut ops = Vec::new();
        if self.class || real_time {
            ops.push(Op::SetClass(
                class,
                if real_time { priority as u8 } else { 0 },
            ));
        }
        if !real_time {
            ops.push(Op::SetNice(priority as i8));
        }
        ops
    }
}
