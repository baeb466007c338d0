//! The sink that finds the worst waits.

use std::collections::BTreeMap;

use schedlab_trace::{
    CpuId, Event, EventKind, Ns, PrevState, Sink, TaskId, TaskInfo, Time, TraceInfo, WakeContext,
};

use crate::roster::Roster;
use crate::wait::{Began, Ended, Explanation, Instead, Left, Wait};

/// Finds the worst waits of a trace as its events arrive.
#[derive(Debug)]
pub struct Explain {
    /// The task or group to explain; none: all tasks.
    who: Option<String>,
    nr_worst: usize,
    roster: Roster,
    /// Tasks that are explained, by id.
    asked: Vec<bool>,
    cpus: Vec<Cpu>,
    /// Waits that have not ended, by task id.
    open: Vec<Option<Open>>,
    /// The last waker of each task that has not been queued since.
    wanted: Vec<Option<Began>>,
    now: Time,
    result: Explanation,
}

/// The tasks that ran on a CPU, each with its start and its priority, in order.
#[derive(Debug, Default)]
struct Cpu {
    turns: Vec<(Time, Option<TaskId>, i32)>,
}

impl Cpu {
    fn running(&self) -> Option<TaskId> {
        self.turns.last().and_then(|&(_, task, _)| task)
    }
}

#[derive(Debug)]
struct Open {
    start: Time,
    began: Began,
    /// The run queues it was on, each with the time it was put there.
    queues: Vec<(Time, CpuId)>,
}

impl Explain {
    /// Explains the task, or tasks, of this name, group or thread id; none: all of them.  Keeps the
    /// `nr_worst` worst waits.
    pub fn new(who: Option<&str>, nr_worst: usize) -> Explain {
        Explain {
            who: who.map(str::to_string),
            nr_worst,
            roster: Roster::default(),
            asked: Vec::new(),
            cpus: Vec::new(),
            open: Vec::new(),
            wanted: Vec::new(),
            now: Time::ZERO,
            result: Explanation {
                policy: String::new(),
                tasks: 0,
                waits: 0,
                waited: Ns::ZERO,
                worst: Vec::new(),
            },
        }
    }

    /// The worst waits, including those that have not ended.
    pub fn finish(mut self) -> Explanation {
        for task in 0..self.open.len() as u32 {
            let task = TaskId(task);
            if let Some(open) = self.open[task.index()].take() {
                let cpu = open.queues.last().map_or(CpuId(0), |&(_, cpu)| cpu);
                self.over(task, open, cpu, |_| Ended::NotYet);
            }
        }
        self.cut();
        self.result
    }

    /// Names of groups, for messages.
    pub fn groups(&self) -> Vec<String> {
        let mut groups: Vec<String> = self.roster.groups().map(str::to_string).collect();
        groups.sort_unstable();
        groups.dedup();
        groups
    }

    fn is_asked(&self, task: TaskId) -> bool {
        self.asked.get(task.index()).copied().unwrap_or(false)
    }

    fn waits(&mut self, task: TaskId, cpu: CpuId, began: Began) {
        if !self.is_asked(task) || self.open[task.index()].is_some() {
            return;
        }
        self.open[task.index()] = Some(Open {
            start: self.now,
            began,
            queues: vec![(self.now, cpu)],
        });
    }

    fn wakeup(&mut self, task: TaskId, target: CpuId) {
        let running = self.cpus.iter().any(|cpu| cpu.running() == Some(task));
        if self.is_asked(task) && !running {
            let began = self.wanted[task.index()].take();
            self.waits(task, target, began.unwrap_or(Began::Unseen));
        }
    }

    fn switch(&mut self, cpu: CpuId, prev: Option<TaskId>, state: PrevState, next: Option<TaskId>) {
        if let Some(next) = next.filter(|&next| self.is_asked(next)) {
            if let Some(open) = self.open[next.index()].take() {
                let left = Left::of(state);
                self.over(next, open, cpu, |roster| match prev {
                    Some(prev) => Ended::Left(roster.name(prev), left),
                    None => Ended::CpuWasIdle,
                });
            }
        }
        let priority = next.map_or(0, |next| self.roster.priority(next));
        if let Some(at) = self.cpus.get_mut(cpu.index()) {
            at.turns.push((self.now, next, priority));
        }
        let Some(prev) = prev.filter(|&prev| self.is_asked(prev)) else {
            return;
        };
        let other = next.map(|next| self.roster.name(next));
        match state {
            PrevState::Preempted => self.waits(prev, cpu, Began::Preempted(other)),
            PrevState::Yielded => self.waits(prev, cpu, Began::Yielded(other)),
            PrevState::Moved => self.waits(prev, cpu, Began::Moved),
            _ => {}
        }
    }

    /// A wait ends: it is kept if it may be one of the worst.
    fn over(&mut self, task: TaskId, open: Open, cpu: CpuId, ended: impl Fn(&Roster) -> Ended) {
        let ns = self.now.since(open.start);
        self.result.waits += 1;
        self.result.waited += ns;
        let is_full = self.result.worst.len() >= self.nr_worst;
        if is_full && self.result.worst[self.nr_worst - 1].ns >= ns {
            return;
        }
        let mut cpus: Vec<CpuId> = open.queues.iter().map(|&(_, cpu)| cpu).collect();
        cpus.dedup();
        self.result.worst.push(Wait {
            task: self.roster.name(task),
            start: open.start,
            ns,
            priority: self.roster.priority(task),
            began: open.began.clone(),
            cpus,
            instead: self.instead(&open),
            cpu,
            ended: ended(&self.roster),
        });
        self.cut();
    }

    /// Sorts the waits and drops all but the worst.  Stable: equal ones stay in order of time.
    fn cut(&mut self) {
        self.result
            .worst
            .sort_by_key(|wait| std::cmp::Reverse(wait.ns));
        self.result.worst.truncate(self.nr_worst);
    }

    /// The tasks that ran on the CPUs a task waited for.
    fn instead(&self, open: &Open) -> Vec<Instead> {
        let mut sums: BTreeMap<(CpuId, Option<TaskId>), Instead> = BTreeMap::new();
        for (index, &(from, cpu)) in open.queues.iter().enumerate() {
            let to = open.queues.get(index + 1).map_or(self.now, |&(to, _)| to);
            self.add_turns(cpu, from, to, &mut sums);
        }
        let mut instead: Vec<Instead> = sums.into_values().collect();
        instead.sort_by_key(|instead| std::cmp::Reverse(instead.ns));
        instead
    }

    fn add_turns(
        &self,
        cpu: CpuId,
        from: Time,
        to: Time,
        sums: &mut BTreeMap<(CpuId, Option<TaskId>), Instead>,
    ) {
        let Some(turns) = self.cpus.get(cpu.index()).map(|cpu| &cpu.turns) else {
            return;
        };
        let mut end = to;
        for &(begin, task, priority) in turns.iter().rev() {
            let ns = Ns(end.0.saturating_sub(begin.max(from).0));
            if ns > Ns::ZERO {
                let sum = sums.entry((cpu, task)).or_insert_with(|| Instead {
                    task: task.map(|task| self.roster.name(task)),
                    cpu,
                    ns: Ns::ZERO,
                    turns: 0,
                    priority: task.map(|_| priority),
                });
                sum.ns += ns;
                sum.turns += 1;
            }
            end = begin.min(to);
            if begin <= from {
                break;
            }
        }
    }
}

impl Sink for Explain {
    fn begin(&mut self, info: &TraceInfo) {
        self.result.policy = info.policy.clone();
        self.cpus.resize_with(info.nr_cpus as usize, Cpu::default);
        for cpu in &mut self.cpus {
            cpu.turns.push((Time::ZERO, None, 0));
        }
    }

    fn task(&mut self, info: &TaskInfo) {
        self.roster.insert(info);
        let len = self.asked.len().max(info.id.index() + 1);
        self.asked.resize(len, false);
        self.open.resize_with(len, || None);
        self.wanted.resize(len, None);
        let asked = self
            .who
            .as_ref()
            .is_none_or(|who| self.roster.is(info.id, who));
        self.asked[info.id.index()] = asked;
        self.result.tasks += u64::from(asked);
    }

    fn event(&mut self, event: &Event) {
        self.now = event.time;
        self.roster.event(&event.kind);
        match event.kind {
            EventKind::Fork { child, parent } if self.is_asked(child) => {
                let parent = parent.map(|parent| self.roster.name(parent));
                self.wanted[child.index()] = Some(Began::Forked(parent));
            }
            EventKind::Waking { task, by } if self.is_asked(task) => {
                let running = self.cpus.get(event.cpu.index()).and_then(Cpu::running);
                let began = match (by, running) {
                    (WakeContext::Task, Some(waker)) => Began::WokenBy(self.roster.name(waker)),
                    _ => Began::WokenByInterrupt,
                };
                self.wanted[task.index()] = Some(began);
            }
            EventKind::Wakeup { task, target } => self.wakeup(task, target),
            EventKind::Migrate { task, to, .. } if self.is_asked(task) => {
                if let Some(open) = &mut self.open[task.index()] {
                    open.queues.push((event.time, to));
                }
            }
            EventKind::Switch {
                prev,
                prev_state,
                next,
            } => self.switch(event.cpu, prev, prev_state, next),
            _ => {}
        }
    }

    fn end(&mut self, time: Time) {
        self.now = time;
    }
}
