//! The sink that turns a trace into programs.

use std::collections::{BTreeMap, BTreeSet};

use schedlab_recording::flow::{Flow, FlowLog, Reason};
use schedlab_recording::{is_kernel_thread, kernel_thread_cpu, FlowSink};
use schedlab_trace::{
    CpuId, Event, EventKind, Ns, PrevState, Sink, TaskClass, TaskId, TaskInfo, Time, TraceInfo,
    WakeContext,
};
use schedlab_workload::{
    Amount, Channel, Op, Process, Program, ProgramId, SpecId, TaskSpec, Times, Workload,
};

use crate::call::Call;
use crate::costs::{Costs, Measured, Point};
use crate::reactions::Reactions;
use crate::{Counts, End, Mode, Replay};

/// What to rebuild, and how.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What becomes of events from outside.
    pub mode: Mode,
    /// The tasks to rebuild, all others are outside; none: all.
    pub keep: Option<BTreeSet<TaskId>>,
    /// Nothing that begins later is rebuilt; none: everything is.
    pub until: Option<Time>,
    /// What ends a replay.
    pub end: End,
    /// Who woke is a guess: the recording has no interrupt flags.
    pub wakers_are_guessed: bool,
    /// What recording a system call cost the task that made it.
    pub call_cost_ns: Ns,
}

/// Does nothing: a placeholder for a wakeup that is not yet confirmed.
const NOTHING: Op = Op::Run(Amount::Fixed(Ns::ZERO));

/// Rebuilds from a trace, event by event, the workload that produced it; [`finish`](Rebuild::finish) gives it.
#[derive(Debug)]
pub struct Rebuild {
    options: Options,
    info: TraceInfo,
    /// By id; none for those that are outside.
    lives: Vec<Option<Life>>,
    running: Vec<Option<TaskId>>,
    counts: Counts,
    reactions: Reactions,
    costs: Costs,
    channels: Vec<Channel>,
    end: Time,
    over: bool,
}

/// A task's life, as far as it has gone by.
#[derive(Debug)]
struct Life {
    info: TaskInfo,
    ops: Vec<Op>,
    /// Where in the program time was spent on scheduling.
    points: Vec<(usize, Point)>,
    /// Work done since the last operation.
    owed: u64,
    /// All work done.
    done: u64,
    /// The system call it is in.
    call: Option<Call>,
    begin: Begin,
    place: Place,
    /// Who last wanted it to run, if it has not run since.
    wanted: Option<Want>,
    /// A child of its has died and woken it.
    bereaved: bool,
    parent: Option<TaskId>,
    dying: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Begin {
    /// Not seen to do anything yet.
    Unseen,
    /// At this time, from outside.
    At(Time),
    /// When it is first woken.
    Dormant,
    /// When it is forked.
    Forked,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    /// It existed; the trace does not say whether it slept.
    Unknown,
    Waiting,
    Running {
        since: Time,
    },
    Asleep {
        since: Time,
        device: bool,
    },
    Dead,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Want {
    /// This task, at this place in its program.
    By(TaskId, usize),
    /// An interrupt.
    Outside(Time),
    /// An interrupt, or the task it interrupted.
    Unclear(Time),
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
            channels: Vec::new(),
            end: Time::ZERO,
            over: false,
        }
    }

    /// Data flow follows: these are its channels.
    pub fn flow(&mut self, log: &FlowLog) {
        let channel = |channel: &schedlab_recording::flow::Channel| Channel {
            capacity: channel.capacity_bytes,
            low_water: Some(channel.low_water_bytes),
            initial: channel.initial_bytes.min(channel.capacity_bytes),
        };
        self.channels = log.channels.iter().map(channel).collect();
        self.counts.has_flow = true;
    }

    /// The workload, called by this name and reproduced from there.
    pub fn finish(mut self, name: &str, source: &str) -> Replay {
        self.lives
            .iter_mut()
            .flatten()
            .for_each(|life| life.rest(self.end));
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
                channels: self.channels,
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

    /// Was the recording over when its time was, not its work?
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

    fn life(&mut self, task: TaskId) -> Option<&mut Life> {
        self.lives.get_mut(task.index())?.as_mut()
    }

    /// The kept task that runs on a CPU, its work until now put down.
    fn running(&mut self, cpu: CpuId, now: Time) -> Option<(TaskId, &mut Life)> {
        let task = self.running[cpu.index()]?;
        let life = self.life(task)?;
        life.put_down(now);
        Some((task, life))
    }

    fn fork(&mut self, event: &Event, child: TaskId, parent: Option<TaskId>) {
        if self.life(child).is_none() {
            return; // It is outside.
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
            // A softirq may have served the task it interrupted: nobody knows.
            WakeContext::SoftIrq if self.running[event.cpu.index()].is_some() => {
                Want::Unclear(event.time)
            }
            _ => Want::Outside(event.time),
        };
        let mut bereaved = false;
        if by == WakeContext::Task {
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

    /// The task is runnable from now on.
    fn woken(&mut self, event: &Event, task: TaskId) {
        let Some(life) = self.life(task) else { return };
        let (place, wanted) = (life.place, life.wanted);
        match place {
            Place::Unknown => self.begins(event.time, task),
            Place::Asleep { since, device } => self.unblock(event.time, task, since, device),
            // Forked just now, or woken for nothing.
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

    /// A task is woken that slept from the start, as far as the trace tells.
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

    fn unblock(&mut self, now: Time, task: TaskId, since: Time, device: bool) {
        let mode = self.options.mode;
        let guessed = self.options.wakers_are_guessed;
        let Some(life) = self.life(task) else { return };
        let wanted = life.wanted.take();
        let reason = life.call.map(|call| call.flow.reason());
        if life.sleeps_for_data() {
            self.counts.slept_for_data();
            return;
        }
        // The kernel's own timers do not wait for its threads.
        let mode = match life.is_kernel() {
            true => Mode::Open,
            false => mode,
        };
        if device {
            life.ops.push(Op::Uninterruptible);
        }
        let outside = |time: Time| match mode {
            Mode::Open => Op::SleepUntil(time.since(Time::ZERO)),
            // Wanted before it slept, it was woken as soon as it did.
            Mode::Closed => Op::Sleep(Amount::Fixed(Ns(time.0.saturating_sub(since.0)))),
        };
        match wanted {
            Some(Want::By(waker, at)) => {
                self.counts.woken_by_tasks += 1;
                // A parent is woken by its child however they are scheduled.
                self.counts.understood += u64::from(reason == Some(Reason::Child));
                self.post(waker, at, task);
                if let Some(life) = self.life(task) {
                    life.ops.push(Op::SemSleep(task.0));
                }
            }
            Some(Want::Outside(time)) => {
                life.ops.push(outside(time));
                self.counts.woken_from_outside += 1;
                self.counts.understood += u64::from(!guessed || reason == Some(Reason::Time));
            }
            Some(Want::Unclear(time)) => {
                life.ops.push(outside(time));
                self.counts.woken_from_outside += 1;
            }
            None => {
                life.ops.push(outside(now));
                self.counts.woken_from_outside += 1;
                self.counts.woken_by_unknown += 1;
            }
        }
    }

    /// Turns the placeholder into the wakeup.
    fn post(&mut self, waker: TaskId, at: usize, task: TaskId) {
        if let Some(waker) = self.life(waker) {
            waker.ops[at] = Op::SemPost(task.0);
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

    /// The task changes itself, or is changed and notices when it next runs.
    fn change(&mut self, now: Time, task: TaskId, op: Op) {
        if let Some(life) = self.life(task) {
            life.put_down(now);
            life.ops.push(op);
        }
    }
}

impl Life {
    fn new(info: &TaskInfo) -> Life {
        Life {
            info: info.clone(),
            ops: Vec::new(),
            points: Vec::new(),
            owed: 0,
            done: 0,
            call: None,
            begin: Begin::Unseen,
            place: Place::Unknown,
            wanted: None,
            bereaved: false,
            parent: None,
            dying: false,
        }
    }

    fn is_kernel(&self) -> bool {
        self.info.group == "[kernel]" || is_kernel_thread(&self.info.name)
    }

    /// Does it only compute and wait for timers, as far as was recorded?
    fn paces_itself(&self) -> bool {
        let paces = |op: &Op| match op {
            Op::Run(_) | Op::Sleep(_) | Op::Yield | Op::Mark { .. } | Op::Rest => true,
            // Confirmed by nobody.
            _ => false,
        };
        self.done > 0 && self.ops.iter().all(paces)
    }

    fn is_runnable(&self) -> bool {
        matches!(self.place, Place::Waiting | Place::Running { .. })
    }

    /// Work until now is owed.
    fn account(&mut self, now: Time) {
        if let Place::Running { since } = &mut self.place {
            let ran = now.since(*since).0;
            self.owed += ran;
            self.done += ran;
            *since = now;
        }
    }

    /// It wakes another task.  If it is writing, that is where the data is there.
    fn wakes(&mut self) {
        self.points.push((self.ops.len(), Point::Wakeup));
        let Some(call) = &mut self.call else { return };
        call.wakes += 1;
        if let (Flow::Write { .. }, false) = (call.flow, call.placed) {
            self.ops.extend(call.op());
            call.placed = true;
        }
    }

    /// It has slept in a read or a write, which is where it waits from now on.
    fn sleeps_for_data(&mut self) -> bool {
        let Some(call) = &mut self.call else {
            return false;
        };
        call.sleeps += 1;
        let Some(op) = call.op() else { return false };
        if !std::mem::replace(&mut call.placed, true) {
            self.ops.push(op);
        }
        true
    }

    /// It returns from its system call.
    fn returns(&mut self, now: Time, cost: Ns) -> Option<Measured> {
        self.put_down(now);
        let call = self.call.take()?;
        match (call.op(), call.flow) {
            (Some(op), Flow::Read { .. }) if !call.placed => self.ops[call.entry] = op,
            (Some(op), _) if !call.placed => self.ops.push(op),
            _ => {}
        }
        if cost > Ns::ZERO {
            self.points.push((self.ops.len(), Point::Recording));
        }
        Some(Measured {
            reads: matches!(call.flow, Flow::Read { .. }),
            writes: matches!(call.flow, Flow::Write { .. }),
            sleeps: call.sleeps,
            wakes: call.wakes,
            ns: self.done - call.done,
        })
    }

    /// Work until now becomes an operation: another one follows.
    fn put_down(&mut self, now: Time) {
        self.account(now);
        if self.owed > 0 {
            let work = Ns(std::mem::take(&mut self.owed));
            self.ops.push(Op::Run(Amount::Fixed(work)));
        }
    }

    fn leave(&mut self, now: Time, state: PrevState) {
        self.account(now);
        self.place = match state {
            PrevState::Preempted | PrevState::Yielded | PrevState::Moved => Place::Waiting,
            PrevState::Exited => {
                self.put_down(now);
                self.ops.push(Op::Exit);
                Place::Dead
            }
            PrevState::Sleeping | PrevState::DiskSleep | PrevState::Idle => {
                self.put_down(now);
                let device = state == PrevState::DiskSleep;
                Place::Asleep { since: now, device }
            }
        };
    }

    /// The trace ends; what the task would have done next is unknown.
    fn rest(&mut self, end: Time) {
        self.put_down(end);
        if self.place != Place::Dead {
            self.ops.push(Op::Rest);
        }
    }
}

impl FlowSink for Rebuild {
    fn enter(&mut self, time: Time, task: TaskId, flow: &Flow) {
        if self.over {
            return;
        }
        if let Some(life) = self.life(task) {
            life.put_down(time);
            life.ops.push(NOTHING);
            life.call = Some(Call {
                flow: *flow,
                entry: life.ops.len() - 1,
                placed: false,
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

/// From lives by task ids to specifications by index.
struct Lowering {
    /// By task id, the index of the specification.
    specs: Vec<Option<u32>>,
    processes: BTreeMap<u32, u32>,
    names: BTreeMap<String, u32>,
    /// The replay ends with its programs: what timers make the kernel's threads do later is no part of it.
    kernel_is_background: bool,
}

impl Lowering {
    fn new(lives: &[Life]) -> Lowering {
        let most = lives.iter().map(|life| life.info.id.index() + 1).max();
        let mut lowering = Lowering {
            specs: vec![None; most.unwrap_or(0)],
            processes: BTreeMap::new(),
            names: BTreeMap::new(),
            kernel_is_background: false,
        };
        for (index, life) in lives.iter().enumerate() {
            lowering.specs[life.info.id.index()] = Some(index as u32);
            let number = lowering.processes.len() as u32 + 1;
            lowering
                .processes
                .entry(life.info.process)
                .or_insert(number);
        }
        lowering
    }

    fn lower(mut self, lives: Vec<Life>, replay: &mut Replay) {
        let by_work = replay.counts.has_flow && !replay.counts.ends_by_time;
        self.kernel_is_background = by_work;
        let workload = &mut replay.workload;
        for (index, life) in lives.into_iter().enumerate() {
            let spec = self.spec(&life, ProgramId(index as u32), workload);
            let goes_on = replay.counts.ends_by_time && life.paces_itself();
            let ops = replay
                .costs
                .taken_out(life.ops, &life.points, &mut replay.counts);
            let ops = self.program(ops, &mut replay.counts);
            let ops = in_kernel_after_posts(ops, replay.reactions.preemption_ns);
            let ops = match goes_on {
                true => again_and_again(ops),
                false => ops,
            };
            workload.tasks.push(spec);
            workload.programs.push(Program { ops });
        }
    }

    fn program(&self, mut ops: Vec<Op>, counts: &mut Counts) -> Vec<Op> {
        join_work(&mut ops);
        let index = |id: u32| self.specs[id as usize].expect("only tasks that were seen are woken");
        for op in &mut ops {
            match op {
                Op::SemPost(task) | Op::SemSleep(task) => *task = index(*task),
                Op::Fork(SpecId(child)) => *child = index(*child),
                Op::Run(Amount::Fixed(work)) => counts.work_ns += *work,
                _ => {}
            }
        }
        ops.shrink_to_fit();
        ops
    }

    fn spec(&mut self, life: &Life, program: ProgramId, workload: &mut Workload) -> TaskSpec {
        let info = &life.info;
        let (start, count, dormant) = match life.begin {
            Begin::At(time) => (time.since(Time::ZERO), 1, false),
            Begin::Dormant => (Ns::ZERO, 1, true),
            Begin::Forked | Begin::Unseen => (Ns::ZERO, 0, false),
        };
        let real_time = matches!(info.class, TaskClass::Fifo | TaskClass::Rr);
        TaskSpec {
            name: self.name(info),
            group: info.group.clone(),
            count,
            program,
            nice: info.nice,
            class: info.class,
            rt_priority: if real_time { info.rt_priority } else { 0 },
            periodic: None,
            cpus: kernel_thread_cpu(&info.name).map(|cpu| cpu_set(workload, cpu)),
            control_group: None,
            slice: None,
            clamps: None,
            process: match life.is_kernel() {
                true => Process::Shared(0),
                false => Process::Shared(self.processes[&info.process]),
            },
            working_set_bytes: 0,
            start,
            dormant,
            background: self.kernel_is_background && life.is_kernel(),
            foreground: false,
        }
    }

    /// The task's name with its thread id, and a number if that was used before.
    fn name(&mut self, info: &TaskInfo) -> String {
        let name = match info.pid {
            Some(pid) => format!("{}-{pid}", info.name),
            None => info.name.clone(),
        };
        let uses = self.names.entry(name.clone()).or_insert(0);
        *uses += 1;
        match *uses {
            1 => name,
            uses => format!("{name}#{uses}"),
        }
    }
}

/// A program that begins again at its end.
fn again_and_again(mut ops: Vec<Op>) -> Vec<Op> {
    ops.retain(|op| *op != Op::Rest);
    let end = ops.len() as u32 + 1;
    let times = Times::Forever;
    ops.insert(0, Op::Loop { times, end });
    ops.push(Op::EndLoop { start: 0 });
    ops
}

/// Leaves out what turned out to be nothing, and joins the work on both sides of it.
fn join_work(ops: &mut Vec<Op>) {
    ops.retain(|op| *op != NOTHING);
    ops.dedup_by(|op, before| match (op, before) {
        (Op::Run(Amount::Fixed(work)), Op::Run(Amount::Fixed(sum))) => {
            *sum += *work;
            true
        }
        _ => false,
    });
}

/// A task that wakes another is in the kernel; so much of its work after that is, too.
fn in_kernel_after_posts(ops: Vec<Op>, in_kernel: Option<Ns>) -> Vec<Op> {
    let Some(in_kernel) = in_kernel.filter(|ns| *ns > Ns::ZERO) else {
        return ops;
    };
    let mut changed = Vec::with_capacity(ops.len());
    for op in ops {
        match (changed.last(), op) {
            (Some(Op::SemPost(_) | Op::Send { .. }), Op::Run(Amount::Fixed(work))) => {
                changed.push(Op::RunInKernel(work.min(in_kernel)));
                if work > in_kernel {
                    changed.push(Op::Run(Amount::Fixed(work - in_kernel)));
                }
            }
            _ => changed.push(op),
        }
    }
    changed.shrink_to_fit();
    changed
}

fn cpu_set(workload: &mut Workload, cpu: u32) -> u32 {
    let sets = &mut workload.cpu_sets;
    let at = sets.iter().position(|set| set == &[cpu]);
    at.unwrap_or_else(|| {
        sets.push(vec![cpu]);
        sets.len() - 1
    }) as u32
}
