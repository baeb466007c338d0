//! What check itself measures, from the trace alone.

use schedlab_machine::Machine;
use schedlab_trace::{
    CpuId, Event, EventKind, Ns, PrevState, Sink, TaskClass, TaskId, TaskInfo, Time, TraceInfo,
};
use schedlab_workload::{Op, Workload};

use crate::wakers::Wakers;

/// The longest of some spans of time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Longest {
    /// How long.
    pub ns: Ns,
    /// When it ended.
    pub until: Time,
    /// The task that waited.
    pub task: TaskId,
    /// The CPU that idled or at last ran the task.
    pub cpu: CpuId,
}

impl Longest {
    const NONE: Longest = Longest {
        ns: Ns::ZERO,
        until: Time::ZERO,
        task: TaskId(0),
        cpu: CpuId(0),
    };

    fn add(&mut self, from: Time, until: Time, task: TaskId, cpu: CpuId) {
        let ns = until.since(from.min(until));
        if ns > self.ns {
            *self = Longest {
                ns,
                until,
                task,
                cpu,
            };
        }
    }
}

/// A sink that measures idle CPUs beside waiting tasks, waits, calls of schedule() without a runnable task or that examine many,
/// where tasks wake up, and CPU time.
pub struct Watch {
    /// For each kind of task the CPUs it may use.
    allowed: Vec<(String, Allowed)>,
    tasks: Vec<Watched>,
    /// The task that each CPU runs, and since when it runs it or idles.
    cpus: Vec<(Option<TaskId>, Time)>,
    /// Tasks that run or wait.
    nr_runnable: usize,
    /// Calls of schedule() on each CPU since no task is runnable.
    idle_calls: Vec<u32>,
    /// The longest time that a CPU idled beside a waiting task that may run on it.
    pub idle_beside: Longest,
    /// The longest wait.
    pub wait: Longest,
    /// Are all tasks normal all the time?
    pub all_normal: bool,
    /// Are there control groups?
    pub has_groups: bool,
    /// The most tasks that one call of schedule() examined, when and where.
    pub most_examined: (u32, Time, CpuId),
    /// Wakeups by tasks that fall asleep.
    pub wakers: Wakers,
    /// The most calls of schedule() on one CPU while no task was runnable, and when the last one was.
    pub most_idle_calls: (u32, Time, CpuId),
}

/// The CPUs that a task may use.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Allowed {
    All,
    Only(Vec<u32>),
    /// They change, and the trace does not say so.
    Unknown,
}

impl Allowed {
    fn has(&self, cpu: usize) -> bool {
        match self {
            Allowed::All => true,
            Allowed::Only(cpus) => cpus.contains(&(cpu as u32)),
            Allowed::Unknown => false,
        }
    }
}

struct Watched {
    name: String,
    group: String,
    allowed: Allowed,
    waits_since: Option<Time>,
    ran: Ns,
}

impl Watch {
    /// Ready for a run of this workload on this machine.
    pub fn new(workload: &Workload, machine: &Machine) -> Watch {
        let allowed = |spec: usize| allowed(workload, spec);
        let specs = workload.tasks.iter().enumerate();
        Watch {
            allowed: specs
                .map(|(index, spec)| (spec.group.clone(), allowed(index)))
                .collect(),
            tasks: Vec::new(),
            cpus: Vec::new(),
            nr_runnable: 0,
            idle_calls: Vec::new(),
            idle_beside: Longest::NONE,
            wait: Longest::NONE,
            all_normal: true,
            has_groups: !workload.control_groups.is_empty(),
            most_examined: (0, Time::ZERO, CpuId(0)),
            wakers: Wakers::new(workload, machine),
            most_idle_calls: (0, Time::ZERO, CpuId(0)),
        }
    }

    /// The machine's number of CPUs.
    pub fn nr_cpus(&self) -> u32 {
        self.cpus.len() as u32
    }

    /// The task's name.
    pub fn name(&self, task: TaskId) -> &str {
        self.tasks.get(task.index()).map_or("", |task| &task.name)
    }

    /// The CPU time of all tasks of a kind.
    pub fn cpu_time(&self, group: &str) -> Ns {
        let of_group = self.tasks.iter().filter(|task| task.group == group);
        Ns(of_group.map(|task| task.ran.0).sum())
    }

    fn starts_waiting(&mut self, task: TaskId, time: Time) {
        self.tasks[task.index()].waits_since = Some(time);
    }

    fn stops_waiting(&mut self, task: TaskId, cpu: CpuId, time: Time) {
        let watched = &mut self.tasks[task.index()];
        let Some(since) = watched.waits_since.take() else {
            return;
        };
        self.wait.add(since, time, task, cpu);
        let allowed = &watched.allowed;
        for (index, (running, idle_since)) in self.cpus.iter().enumerate() {
            if running.is_none() && allowed.has(index) {
                let both = since.max(*idle_since);
                self.idle_beside.add(both, time, task, CpuId(index as u32));
            }
        }
    }

    fn stops_idling(&mut self, cpu: CpuId, time: Time) {
        let idle_since = self.cpus[cpu.index()].1;
        for (index, task) in self.tasks.iter().enumerate() {
            let Some(since) = task.waits_since else {
                continue;
            };
            if task.allowed.has(cpu.index()) {
                let both = since.max(idle_since);
                self.idle_beside.add(both, time, TaskId(index as u32), cpu);
            }
        }
    }

    fn switch(&mut self, event: &Event, prev: Option<(TaskId, PrevState)>, next: Option<TaskId>) {
        let (cpu, time) = (event.cpu, event.time);
        let since = self.cpus[cpu.index()].1;
        match prev {
            None => self.stops_idling(cpu, time),
            Some((task, state)) => {
                self.tasks[task.index()].ran += time.since(since);
                match state {
                    PrevState::Preempted | PrevState::Yielded | PrevState::Moved => {
                        self.starts_waiting(task, time);
                    }
                    _ => self.nr_runnable = self.nr_runnable.saturating_sub(1),
                }
            }
        }
        if let Some(task) = next {
            self.stops_waiting(task, cpu, time);
        }
        self.cpus[cpu.index()] = (next, time);
    }
}

impl Sink for Watch {
    fn begin(&mut self, info: &TraceInfo) {
        self.cpus = vec![(None, Time::ZERO); info.nr_cpus as usize];
        self.idle_calls = vec![0; info.nr_cpus as usize];
    }

    fn task(&mut self, info: &TaskInfo) {
        assert_eq!(info.id.index(), self.tasks.len(), "tasks come in order");
        let of_kind = self.allowed.iter().find(|(group, _)| *group == info.group);
        self.all_normal &= info.class == TaskClass::Normal;
        self.wakers.task(info);
        self.tasks.push(Watched {
            name: info.name.clone(),
            group: info.group.clone(),
            allowed: of_kind.map_or(Allowed::Unknown, |(_, allowed)| allowed.clone()),
            waits_since: None,
            ran: Ns::ZERO,
        });
    }

    fn event(&mut self, event: &Event) {
        if let EventKind::Schedule { examined, .. } = event.kind {
            if examined > self.most_examined.0 {
                self.most_examined = (examined, event.time, event.cpu);
            }
        }
        self.wakers.event(event);
        match event.kind {
            EventKind::Wakeup { task, .. } => {
                self.nr_runnable += 1;
                self.idle_calls.fill(0);
                self.starts_waiting(task, event.time);
            }
            EventKind::Waking { .. } | EventKind::Fork { .. } => self.idle_calls.fill(0),
            EventKind::Switch {
                prev,
                prev_state,
                next,
            } => self.switch(event, prev.map(|task| (task, prev_state)), next),
            EventKind::Schedule { .. } if self.nr_runnable == 0 => {
                let calls = &mut self.idle_calls[event.cpu.index()];
                *calls += 1;
                if *calls > self.most_idle_calls.0 {
                    self.most_idle_calls = (*calls, event.time, event.cpu);
                }
            }
            EventKind::Class { class, .. } => self.all_normal &= class == TaskClass::Normal,
            _ => {}
        }
    }

    fn end(&mut self, time: Time) {
        for index in 0..self.cpus.len() {
            let (running, since) = self.cpus[index];
            match running {
                Some(task) => self.tasks[task.index()].ran += time.since(since),
                None => self.stops_idling(CpuId(index as u32), time),
            }
        }
        for index in 0..self.tasks.len() {
            let since = self.tasks[index].waits_since;
            if let Some(since) = since {
                self.wait.add(since, time, TaskId(index as u32), CpuId(0));
            }
        }
    }
}

/// The CPUs that tasks of this specification may use; unknown if anything in the workload can change them.
fn allowed(workload: &Workload, spec: usize) -> Allowed {
    let ops = workload.programs.iter().flat_map(|program| &program.ops);
    let mut ops = ops.clone();
    let changes = |op: &Op| matches!(op, Op::SetCpus(_) | Op::Repin(..));
    let any_forks = ops.clone().any(|op| matches!(op, Op::Fork(_)));
    let any_pinned = workload.tasks.iter().any(|task| task.cpus.is_some());
    if ops.any(changes) || any_forks && any_pinned || !workload.control_groups.is_empty() {
        return Allowed::Unknown;
    }
    match workload.tasks[spec].cpus {
        None => Allowed::All,
        Some(set) => Allowed::Only(workload.cpu_sets[set as usize].clone()),
    }
}
