//! The sink that rebuilds programs from a trace.

use std::collections::BTreeSet;

use schedlab_recording::flow::{self, Flow, FlowLog};
use schedlab_recording::FlowSink;
use schedlab_trace::{
    CpuId, Event, EventKind, Ns, PrevState, Sink, TaskId, TaskInfo, Time, TraceInfo, WakeContext,
};
use schedlab_workload::{Channel, Op, SpecId, Waking, Workload};

use crate::call::Call;
use crate::costs::{Costs, Point};
use crate::life::{Begin, Life, Place, Want, NOTHING};
use crate::lowering::Lowering;
use crate::reactions::Reactions;
use crate::{Counts, End, Mode, Replay};

/// Options of a rebuild.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// How events from outside happen.
    pub mode: Mode,
    /// Tasks to rebuild; wakeups by other tasks come from outside. `None`: all tasks.
    pub keep: Option<BTreeSet<TaskId>>,
    /// Operations that begin later are not rebuilt; `None`: all are.
    pub until: Option<Time>,
    /// What ends a replay.
    pub end: End,
    /// The recording has no interrupt flags, so wakers are guesses.
    pub wakers_are_guessed: bool,
    /// CPU time to record a system call.
    pub call_cost_ns: Ns,
}

/// Rebuilds from a trace, event by event, the workload that produced it;
/// [`finish`](Rebuild::finish) returns the workload.
#[derive(Debug)]
pub struct Rebuild {
    pub(crate) options: Options,
    info: TraceInfo,
    /// Histories by task id; `None` for tasks that are not rebuilt.
    lives: Vec<Option<Life>>,
    running: Vec<Option<TaskId>>,
    pub(crate) counts: Counts,
    reactions: Reactions,
    costs: Costs,
    /// The channels of the data flow; its calls are not kept.
    log: FlowLog,
    end: Time,
    over: bool,
}

impl Rebuild {
    /// A sink for one trace.
    pub fn new(options: Options) -> Rebuild {
        Rebuild {
            options,
            info: TraceInfo::default(),
            lives: Vec::new(),
            running: Vec::new(),
            counts: Counts::default(),
            reactions: Reactions::default(),
            costs: Costs::default(),
            log: FlowLog::default(),
            end: Time::ZERO,
            over: false,
        }
    }

    /// Sets the channels of the data flow that follows.
    pub fn flow(&mut self, log: &FlowLog) {
        self.log.channels = log.channels.clone();
        self.counts.has_flow = true;
    }

    /// The workload with this name; `source` tells where it can be reproduced from.
    pub fn finish(mut self, name: &str, source: &str) -> Replay {
        for task in 0..self.lives.len() {
            self.give_up_poll(TaskId(task as u32));
        }
        let lives = self.lives.iter_mut().flatten();
        lives.for_each(|life| life.rest(self.end));
        self.counts.ends_by_time = self.ends_by_time();
        let seen = |life: &Life| life.begin != Begin::Unseen;
        let lives = std::mem::take(&mut self.lives);
        let all = lives.iter().flatten().count();
        let lives: Vec<Life> = lives.into_iter().flatten().filter(seen).collect();
        let goes_on = |life: &Life| self.counts.ends_by_time && life.paces_itself();
        let rests = |life: &&Life| life.is_runnable() && !goes_on(life);
        self.counts.cut_off = lives.iter().filter(rests).count() as u64;
        self.counts.unseen = (all - lives.len()) as u64;
        self.counts.tasks = lives.len() as u64;
        self.costs.call_ns = self.options.call_cost_ns;
        let costs = self.costs.measured();
        let mut replay = Replay {
            workload: Workload {
                name: name.to_string(),
                source: source.to_string(),
                semaphores: vec![0; lives.len()],
                channels: self.log.channels.iter().map(channel).collect(),
                marks: self.info.marks.clone(),
                duration: self.counts.ends_by_time.then(|| self.end.since(Time::ZERO)),
                ..Workload::default()
            },
            tasks: lives.iter().map(|life| life.info.clone()).collect(),
            mode: self.options.mode,
            counts: self.counts,
            span: self.end.since(Time::ZERO),
            nr_cpus: self.info.nr_cpus,
            reactions: self.reactions.medians(),
            costs,
        };
        Lowering::new(&lives).lower(lives, &mut replay);
        replay
    }

    /// Did the recording end because its time was over, not because its work was done?
    fn ends_by_time(&self) -> bool {
        match self.options.end {
            End::Work => return false,
            End::Time => return true,
            End::Auto => {}
        }
        let mut done = [0; 2];
        for life in self.lives.iter().flatten().filter(|life| !life.is_kernel()) {
            done[usize::from(life.place == Place::Dead)] += life.done;
        }
        let [by_the_living, by_the_dead] = done;
        self.options.keep.is_none() && by_the_living > by_the_dead
    }

    pub(crate) fn life(&mut self, task: TaskId) -> Option<&mut Life> {
        self.lives.get_mut(task.index())?.as_mut()
    }

    /// The rebuilt task that runs on a CPU; its work until now is written.
    fn running(&mut self, cpu: CpuId, now: Time) -> Option<(TaskId, &mut Life)> {
        let task = self.running[cpu.index()]?;
        let life = self.life(task)?;
        life.put_down(now);
        Some((task, life))
    }

    fn fork(&mut self, event: &Event, child: TaskId, parent: Option<TaskId>) {
        if self.life(child).is_none() {
            return; // This task is not rebuilt.
        }
        let running = self.running(event.cpu, event.time);
        let forked = running.filter(|(running, _)| parent == Some(*running));
        let (begin, place, parent) = match (forked, parent) {
            (Some((parent, life)), _) => {
                life.ops.push(Op::Fork(SpecId(child.0)));
                (Begin::Forked, Place::Waiting, Some(parent))
            }
            (None, Some(_)) => (Begin::At(event.time), Place::Waiting, None),
            (None, None) => (Begin::Unseen, Place::Unknown, None),
        };
        if let Some(life) = self.life(child) {
            (life.begin, life.place, life.parent) = (begin, place, parent);
        }
    }

    fn waking(&mut self, event: &Event, task: TaskId, by: WakeContext) {
        if self.life(task).is_none() {
            return;
        }
        let mut want = match by {
            // The softirq may have served the task that it interrupted; this is unknown.
            WakeContext::SoftIrq if self.running[event.cpu.index()].is_some() => {
                Want::Unclear(event.time)
            }
            _ => Want::Outside(event.time),
        };
        let mut bereaved = false;
        if by == WakeContext::Task {
            if let Some(waker) = self.running[event.cpu.index()] {
                self.give_up_poll(waker);
            }
            if let Some((waker, life)) = self.running(event.cpu, event.time) {
                life.wakes();
                life.ops.push(NOTHING);
                want = Want::By(waker, life.ops.len() - 1);
                bereaved = life.dying && life.parent == Some(task);
            }
        }
        if let Some(life) = self.life(task) {
            life.wanted = Some(want);
            life.bereaved |= bereaved;
        }
    }

    /// The task becomes runnable.
    fn woken(&mut self, event: &Event, task: TaskId) {
        let Some(life) = self.life(task) else { return };
        let (place, wanted) = (life.place, life.wanted);
        match place {
            Place::Unknown => self.begins(event.time, task),
            Place::Asleep { since, device } => self.unblock(event.time, task, since, device),
            // It was just forked, or the wakeup has no effect.
            Place::Waiting => return,
            Place::Running { .. } | Place::Dead => {
                self.counts.spurious_wakeups += u64::from(wanted.is_some());
                return;
            }
        }
        if let Some(life) = self.life(task) {
            life.place = Place::Waiting;
        }
    }

    /// A task is woken that slept since the start.
    fn begins(&mut self, now: Time, task: TaskId) {
        let Some(life) = self.life(task) else { return };
        match life.wanted.take() {
            Some(Want::By(waker, at)) => {
                life.begin = Begin::Dormant;
                self.post(waker, at, task);
                if let Some(life) = self.life(task) {
                    life.ops.insert(0, Op::SemSleep(task.0));
                    life.points.iter_mut().for_each(|(at, _)| *at += 1);
                    life.call.iter_mut().for_each(|call| call.entry += 1);
                }
            }
            Some(Want::Outside(time) | Want::Unclear(time)) => life.begin = Begin::At(time),
            None => life.begin = Begin::At(now),
        }
    }

    fn switch(
        &mut self,
        event: &Event,
        prev: Option<TaskId>,
        state: PrevState,
        next: Option<TaskId>,
    ) {
        self.running[event.cpu.index()] = next;
        if let Some(life) = prev.and_then(|prev| self.life(prev)) {
            life.leave(event.time, state);
            life.points.push((life.ops.len(), Point::Switch));
        }
        let Some(next) = next else { return };
        let Some(life) = self.life(next) else { return };
        match life.place {
            Place::Asleep { .. } => self.woken(event, next),
            Place::Unknown => life.begin = Begin::At(Time::ZERO),
            _ => {}
        }
        if let Some(life) = self.life(next) {
            life.place = Place::Running { since: event.time };
            life.wanted = None;
            if std::mem::take(&mut life.bereaved) {
                life.ops.push(Op::Reap);
            }
        }
    }

    /// The task changes its attributes, or they are changed and take effect when it next runs.
    fn change(&mut self, now: Time, task: TaskId, op: Op) {
        if let Some(life) = self.life(task) {
            life.put_down(now);
            life.ops.push(op);
        }
    }
}

impl FlowSink for Rebuild {
    fn enter(&mut self, time: Time, task: TaskId, flow: &Flow) {
        if self.over {
            return;
        }
        let reason = self.log.reason(flow);
        let placed = self.after_poll(task, flow, reason);
        if let Some(life) = self.life(task) {
            life.put_down(time);
            life.ops.push(NOTHING);
            life.call = Some(Call {
                flow: *flow,
                reason,
                entry: life.ops.len() - 1,
                placed,
                done: life.done,
                sleeps: 0,
                wakes: 0,
            });
        }
    }

    fn leave(&mut self, time: Time, task: TaskId) {
        let cost = self.options.call_cost_ns;
        let measured = match self.over {
            true => None,
            false => self.life(task).and_then(|life| life.returns(time, cost)),
        };
        if let Some(measured) = measured {
            self.costs.add(&measured);
        }
    }
}

impl Sink for Rebuild {
    fn begin(&mut self, info: &TraceInfo) {
        self.info = info.clone();
        self.running = vec![None; info.nr_cpus as usize];
        self.reactions.begin(info.nr_cpus);
    }

    fn task(&mut self, info: &TaskInfo) {
        if self.lives.len() <= info.id.index() {
            self.lives.resize_with(info.id.index() + 1, || None);
        }
        let keep = self.options.keep.as_ref();
        if keep.is_none_or(|keep| keep.contains(&info.id)) {
            self.lives[info.id.index()] = Some(Life::new(info));
        }
    }

    fn event(&mut self, event: &Event) {
        if self.options.until.is_some_and(|until| event.time > until) {
            if !std::mem::replace(&mut self.over, true) {
                self.end = self.options.until.unwrap_or(event.time);
            }
            return;
        }
        self.counts.events += 1;
        let now = event.time;
        self.reactions.event(event, &self.running);
        match event.kind {
            EventKind::Fork { child, parent } => self.fork(event, child, parent),
            EventKind::Exit { task } => {
                if let Some(life) = self.life(task) {
                    life.dying = true;
                }
            }
            EventKind::Exec { task } => self.change(now, task, Op::Exec),
            EventKind::Yield { task } => self.change(now, task, Op::Yield),
            EventKind::Mark { task, mark, count } => {
                self.change(now, task, Op::Mark { mark, count });
            }
            EventKind::Nice { task, nice } => self.change(now, task, Op::SetNice(nice)),
            EventKind::Class {
                task,
                class,
                rt_priority,
            } => self.change(now, task, Op::SetClass(class, rt_priority)),
            EventKind::Waking { task, by } => self.waking(event, task, by),
            EventKind::Wakeup { task, .. } => self.woken(event, task),
            EventKind::Switch {
                prev,
                prev_state,
                next,
            } => self.switch(event, prev, prev_state, next),
            _ => {}
        }
    }

    fn end(&mut self, time: Time) {
        if !self.over {
            self.end = time;
        }
    }
}

fn channel(channel: &flow::Channel) -> Channel {
    let low_water = channel.low_water_bytes;
    Channel {
        capacity: channel.capacity_bytes,
        waking: match channel.kind {
            flow::Kind::Pipe => Waking::OneByOne { low_water },
            flow::Kind::Socket | flow::Kind::Tcp => Waking::All { low_water },
            flow::Kind::Connections | flow::Kind::Event | flow::Kind::Futex => Waking::EachMessage,
        },
        initial: channel.initial_bytes.min(channel.capacity_bytes),
    }
}
