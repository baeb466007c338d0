//! Where a task is queued whose waker falls asleep at once: what a synchronous wakeup is for.

use schedlab_machine::Machine;
use schedlab_trace::{
    CpuId, Event, EventKind, Ns, PrevState, TaskClass, TaskId, TaskInfo, Time, WakeContext,
};
use schedlab_workload::{Op, TaskSpec, Workload};

/// A waker that falls asleep so soon after its wakeup has left its CPU to the task it woke.
const SOON: Ns = Ns::from_us(20);

/// A task that was queued on an idle CPU of another cache, although its waker left its own CPU without a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SentAway {
    /// The task.
    pub task: TaskId,
    /// The CPU of its waker.
    pub from: CpuId,
    /// The CPU where it was queued.
    pub to: CpuId,
    /// When.
    pub time: Time,
}

/// Follows wakeups in workloads where every wakeup by a task is a synchronous one.
pub struct Wakers {
    applies: bool,
    /// The cache of each CPU.
    caches: Vec<u32>,
    /// What each CPU runs.
    running: Vec<Option<TaskId>>,
    /// The kinds of tasks that may run everywhere.
    free: Vec<String>,
    /// Is each task of such a kind?
    is_free: Vec<bool>,
    /// The CPU on whose run queue each task waits.
    waits_on: Vec<Option<CpuId>>,
    /// The task that each task woke first, and whether it has woken others.
    woke: Vec<(Option<TaskId>, bool)>,
    /// The task that each CPU is waking.
    waking: Vec<Option<TaskId>>,
    /// The wakeup of each CPU that was to another cache, until its task switches.
    away: Vec<Option<SentAway>>,
    /// The first task that was sent away.
    pub first: Option<SentAway>,
}

impl Wakers {
    /// Ready for a run of this workload on this machine.
    pub fn new(workload: &Workload, machine: &Machine) -> Wakers {
        let nr_cpus = machine.cpus.len();
        let free = workload.tasks.iter().filter(|task| task.cpus.is_none());
        Wakers {
            applies: machine.sync_wakeups && is_even(machine) && is_plain(workload),
            caches: machine.cpus.iter().map(|cpu| cpu.cache).collect(),
            running: vec![None; nr_cpus],
            free: free.map(|task| task.group.clone()).collect(),
            is_free: Vec::new(),
            waits_on: Vec::new(),
            woke: Vec::new(),
            waking: vec![None; nr_cpus],
            away: vec![None; nr_cpus],
            first: None,
        }
    }

    /// Another task exists.
    pub fn task(&mut self, info: &TaskInfo) {
        self.is_free.push(self.free.contains(&info.group));
        self.waits_on.push(None);
        self.woke.push((None, false));
    }

    /// Follows an event.
    pub fn event(&mut self, event: &Event) {
        if !self.applies {
            return;
        }
        let cpu = event.cpu;
        match event.kind {
            EventKind::Waking { task, by } => self.begin(cpu, task, by),
            EventKind::Wakeup { task, target } => self.queued(event.time, cpu, task, target),
            EventKind::Migrate { task, to, .. } => self.waits_on[task.index()] = Some(to),
            EventKind::Switch {
                prev,
                prev_state,
                next,
            } => self.switch(event, prev.map(|task| (task, prev_state)), next),
            _ => {}
        }
    }

    fn begin(&mut self, cpu: CpuId, task: TaskId, by: WakeContext) {
        self.waking[cpu.index()] = None;
        let Some(waker) = self.running[cpu.index()] else {
            return;
        };
        // Linux takes what runs for the waker, even if an interrupt does the waking.
        let (first, others) = &mut self.woke[waker.index()];
        *others |= *first.get_or_insert(task) != task;
        self.waking[cpu.index()] = Some(task).filter(|_| by == WakeContext::Task);
    }

    fn queued(&mut self, time: Time, cpu: CpuId, task: TaskId, target: CpuId) {
        let idles =
            self.running[target.index()].is_none() && !self.waits_on.contains(&Some(target));
        let alone = !self.waits_on.contains(&Some(cpu));
        self.waits_on[task.index()] = Some(target);
        let is_pair = self.running[cpu.index()].is_some_and(|waker| !self.woke[waker.index()].1)
            && self.woke[task.index()].0.is_none();
        let far = self.caches[cpu.index()] != self.caches[target.index()];
        let woken = self.waking[cpu.index()].take() == Some(task);
        let away = woken && self.is_free[task.index()] && is_pair && alone && idles && far;
        self.away[cpu.index()] = away.then_some(SentAway {
            task,
            from: cpu,
            to: target,
            time,
        });
    }

    fn switch(&mut self, event: &Event, prev: Option<(TaskId, PrevState)>, next: Option<TaskId>) {
        let (cpu, time) = (event.cpu, event.time);
        let sleeps = prev.is_some_and(|(_, state)| state == PrevState::Sleeping);
        if let Some(away) = self.away[cpu.index()].take() {
            if sleeps && next.is_none() && time.since(away.time) <= SOON {
                self.first.get_or_insert(away);
            }
        }
        if let Some((task, PrevState::Preempted | PrevState::Yielded | PrevState::Moved)) = prev {
            self.waits_on[task.index()] = Some(cpu);
        }
        if let Some(task) = next {
            self.waits_on[task.index()] = None;
        }
        self.running[cpu.index()] = next;
    }
}

/// Does every wakeup by a task come from a message, are all tasks normal and in no group, and does no affinity change?
fn is_plain(workload: &Workload) -> bool {
    let normal = |task: &TaskSpec| task.class == TaskClass::Normal;
    let mut ops = workload.programs.iter().flat_map(|program| &program.ops);
    let other = |op: &Op| {
        matches!(
            op,
            Op::SemPost(_)
                | Op::Unlock(_)
                | Op::CondSignal(_)
                | Op::CondBroadcast(_)
                | Op::Barrier(_)
                | Op::Fork(_)
                | Op::SetCpus(_)
                | Op::Repin(..)
                | Op::SetClass(..)
                | Op::Reclass(..)
        )
    };
    workload.control_groups.is_empty() && workload.tasks.iter().all(normal) && !ops.any(other)
}

/// Are all CPUs equally fast?
fn is_even(machine: &Machine) -> bool {
    let mut speeds = machine.cpus.iter().map(|cpu| cpu.capacity);
    let first = speeds.next();
    speeds.all(|speed| Some(speed) == first)
}
