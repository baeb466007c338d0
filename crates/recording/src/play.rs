//! Turns a recording into a consistent trace.
//!
//! Consumers of a trace may rely on this: a task that is switched to was waiting, no task runs on two CPUs, and a task
//! that exited never runs again.  A recording of a real kernel is consistent only if no event was lost.  Here the
//! events update a model of which task runs where.  Where an event contradicts the model, the smallest set of events
//! that resolves the contradiction is added before it, and counted.

use rustc_hash::{FxHashMap, FxHashSet};
use schedlab_trace::{
    CpuId, Event, EventKind, GroupId, GroupInfo, PrevState, Sink, TaskClass, TaskId, TaskInfo,
    Time, TraceInfo, WakeContext,
};

use crate::event::{KernelEvent, KernelEventKind, KernelState, Pid, TaskRef};
use crate::flow::Flow;
use crate::identity::{Identities, Identity};
use crate::notes::{Noted, NotedEvent, NotedTask};
use crate::senders::receivers;
use crate::Recording;

/// Events that were added because recorded ones are missing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Mended {
    /// Events that the kernel reports as lost.
    pub lost: u64,
    /// Switches that were not recorded.
    pub switches: u64,
    /// Wakeups that were not recorded.
    pub wakeups: u64,
}

/// The group of all kernel threads in reports.
const KERNEL: &str = "[kernel]";

/// The group of the tasks of the program that records.
const OBSERVER: &str = "[schedlab]";

/// A sink that also receives data flow.
pub trait FlowSink: Sink {
    /// A task enters a system call.
    fn enter(&mut self, time: Time, task: TaskId, flow: &Flow);
    /// It returns from it.
    fn leave(&mut self, time: Time, task: TaskId);
}

/// A sink for traces without data flow.
pub struct WithoutFlow<'a>(pub &'a mut dyn Sink);

impl Sink for WithoutFlow<'_> {
    fn begin(&mut self, info: &TraceInfo) {
        self.0.begin(info);
    }
    fn group(&mut self, info: &GroupInfo) {
        self.0.group(info);
    }
    fn task(&mut self, info: &TaskInfo) {
        self.0.task(info);
    }
    fn event(&mut self, event: &Event) {
        self.0.event(event);
    }
    fn end(&mut self, time: Time) {
        self.0.end(time);
    }
}

impl FlowSink for WithoutFlow<'_> {
    fn enter(&mut self, _: Time, _: TaskId, _: &Flow) {}
    fn leave(&mut self, _: Time, _: TaskId) {}
}

/// Plays a recording into a sink; `calls` has the flow of each system call that is entered, or is empty.
pub fn play(
    recording: &Recording,
    info: &TraceInfo,
    calls: &[Flow],
    sink: &mut dyn FlowSink,
) -> Mended {
    let initial = running_at_start(recording);
    let mut first_pass = Identities::new(recording);
    let mut second_pass = Identities::new(recording);
    for pass in [&mut first_pass, &mut second_pass] {
        for (_, task) in &initial {
            pass.seen(*task);
        }
    }
    for event in recording.completed() {
        first_pass.learn(event);
    }
    let mut player = Player {
        recording,
        identities: second_pass,
        infos: first_pass.tasks,
        tasks: Vec::new(),
        cpus: vec![Cpu::default(); info.nr_cpus as usize],
        roster: recording
            .notes()
            .map_or_else(FxHashMap::default, |notes| notes.roster()),
        receivers: receivers(recording),
        calls,
        noted: recording.notes().map_or(&[], |notes| &notes.events),
        waiting_for_start: recording.notes().is_some(),
        sink,
        now: Time::ZERO,
        cpu: CpuId(0),
        mended: Mended {
            lost: recording.nr_lost,
            switches: recording.nr_missing(),
            ..Mended::default()
        },
    };
    player.sink.begin(info);
    player.tell_groups();
    player.begin(&initial);
    recording.completed().for_each(|event| player.event(event));
    player.end()
}

/// The state of a task.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// No event has named it yet: it sleeps or waits.
    Unknown,
    Asleep,
    Waiting,
    On(CpuId),
    Dead,
}

#[derive(Clone, Copy)]
struct Task {
    place: Place,
    /// Whether it was woken since it last ran.
    wanted: bool,
    /// Whether it was introduced to the sink.
    introduced: bool,
    /// The priority last passed to the sink.
    prio: i16,
}

#[derive(Clone, Copy, Default)]
struct Cpu {
    /// The running task; `None` if idle.
    running: Option<TaskId>,
    /// Whether the running task has just called sched_yield.
    yielding: bool,
}

struct Player<'a> {
    recording: &'a Recording,
    identities: Identities<'a>,
    /// The results of the first pass, for each task.
    infos: Vec<Identity>,
    tasks: Vec<Task>,
    cpus: Vec<Cpu>,
    /// What the program's notes say about its tasks.
    roster: FxHashMap<Pid, &'a NotedTask>,
    /// Threads that softirqs wake on behalf of the running task.
    receivers: FxHashSet<Pid>,
    /// The flow of the system calls that were not entered yet.
    calls: &'a [Flow],
    /// Notes that were not passed to the sink yet.
    noted: &'a [NotedEvent],
    /// The measured part has not begun: events update the model only.
    waiting_for_start: bool,
    sink: &'a mut dyn FlowSink,
    /// Time and CPU of the current event.
    now: Time,
    cpu: CpuId,
    mended: Mended,
}

/// The task that ran on each CPU when the recording began: its first switch names it.
fn running_at_start(recording: &Recording) -> Vec<(CpuId, TaskRef)> {
    let mut told = vec![false; recording.nr_cpus() as usize];
    let mut running = Vec::new();
    for (index, event) in recording.events().iter().enumerate() {
        let KernelEventKind::Switch { prev, .. } = event.kind else {
            continue;
        };
        let told = std::mem::replace(&mut told[event.cpu.index()], true);
        if !told && existed(prev.pid, &recording.events()[..index]) {
            running.push((event.cpu, prev));
        }
    }
    running
}

/// Whether a task may have run from the start to the end of these events.
fn existed(pid: Pid, events: &[KernelEvent]) -> bool {
    pid != Pid::IDLE
        && !events.iter().any(|event| match event.kind {
            KernelEventKind::NewTask { pid: new, .. } => new == pid,
            KernelEventKind::Fork { child, .. } => child == pid,
            // It ran elsewhere in between, so it may not have run here from the start.
            KernelEventKind::Switch { prev, next, .. } => prev.pid == pid || next.pid == pid,
            _ => false,
        })
}

impl Player<'_> {
    /// Begins the trace with switches to the running tasks.
    fn begin(&mut self, running: &[(CpuId, TaskRef)]) {
        for (cpu, task) in running {
            self.cpu = *cpu;
            let id = self.identities.seen(*task);
            let task = self.met(id, *task);
            self.emit_switch(None, PrevState::Idle, task);
        }
    }

    /// Tells of the control groups of the program.
    fn tell_groups(&mut self) {
        let groups = self.recording.notes().map(|notes| &notes.control_groups);
        for (index, group) in groups.into_iter().flatten().enumerate() {
            self.sink.group(&GroupInfo {
                id: GroupId(index as u32),
                name: group.name.clone(),
                parent: group.parent.map(GroupId),
                weight: group.weight,
                max: group.max,
            });
        }
    }

    /// Writes how much each control group was throttled.
    fn tell_throttled(&mut self) {
        let groups = self.recording.notes().map(|notes| &notes.control_groups);
        for (index, group) in groups.into_iter().flatten().enumerate() {
            if group.nr_throttled > 0 {
                self.emit(EventKind::Throttled {
                    group: GroupId(index as u32),
                    ns: group.throttled,
                    times: group.nr_throttled,
                });
            }
        }
    }

    /// Writes the scheduler's counters; they are totals of the whole run.
    fn end(mut self) -> Mended {
        let (start, end) = self.recording.span;
        self.begin_telling();
        self.tell_noted(end);
        self.now = self.now.max(Time(end.0 - start.0));
        self.tell_throttled();
        for (counter, (_, by)) in self.recording.counters.iter().enumerate() {
            let (counter, by) = (counter as u32, *by);
            self.emit(EventKind::Count { counter, by });
        }
        self.sink.end(self.now);
        self.mended
    }

    fn event(&mut self, event: &KernelEvent) {
        let (start, end) = self.recording.span;
        if event.time > end {
            return;
        }
        if event.time >= start {
            self.begin_telling();
        }
        self.tell_noted(event.time);
        self.now = Time(event.time.0.saturating_sub(start.0));
        self.cpu = event.cpu;
        let yielding = std::mem::take(&mut self.cpus[event.cpu.index()].yielding);
        let (first, second) = self.identities.learn(event);
        match event.kind {
            KernelEventKind::Switch {
                prev,
                prev_state,
                next,
            } => {
                let prev = self.met(first, prev);
                self.expect_running(prev);
                let next = self.met(second, next);
                self.switch(prev, left(prev_state, yielding), next);
            }
            KernelEventKind::Waking { task, by, target } => {
                let task = self.met(first, task);
                task.into_iter()
                    .for_each(|task| self.waking(task, by, target));
            }
            KernelEventKind::Wakeup { task, by, target } => {
                let task = self.met(first, task);
                task.into_iter()
                    .for_each(|task| self.wakeup(task, by, target));
            }
            KernelEventKind::Migrate { task, from, to } => {
                let task = self.met(first, task);
                task.into_iter()
                    .for_each(|task| self.migrate(task, from, to));
            }
            KernelEventKind::Fork { .. } => self.fork(first, second),
            KernelEventKind::NewTask { .. }
            | KernelEventKind::Rename { .. }
            | KernelEventKind::Runtime { .. } => {}
            KernelEventKind::Enter { .. } => self.enter(first),
            KernelEventKind::Return { .. } => self.leave(first),
            KernelEventKind::Exec { .. } => self.of_running(first, |task| EventKind::Exec { task }),
            KernelEventKind::Exit { .. } => self.of_running(first, |task| EventKind::Exit { task }),
            KernelEventKind::Yield { .. } => {
                self.of_running(first, |task| EventKind::Yield { task });
                self.cpus[event.cpu.index()].yielding = true;
            }
        }
    }

    /// A task enters a system call.
    fn enter(&mut self, task: Option<TaskId>) {
        let Some((flow, rest)) = self.calls.split_first() else {
            return;
        };
        self.calls = rest;
        if let Some(task) = task.filter(|_| !self.waiting_for_start) {
            self.introduce(task);
            self.sink.enter(self.now, task, flow);
        }
    }

    fn leave(&mut self, task: Option<TaskId>) {
        if let Some(task) = task.filter(|_| !self.waiting_for_start) {
            self.introduce(task);
            self.sink.leave(self.now, task);
        }
    }

    /// Starts to pass events to the sink, beginning with the current state.
    fn begin_telling(&mut self) {
        if !std::mem::replace(&mut self.waiting_for_start, false) {
            return;
        }
        self.now = Time::ZERO;
        self.tasks
            .iter_mut()
            .for_each(|task| task.introduced = false);
        for cpu in 0..self.cpus.len() {
            self.cpu = CpuId(cpu as u32);
            if let Some(task) = self.cpus[cpu].running {
                self.introduce(task);
                self.emit_switch(None, PrevState::Idle, Some(task));
            }
        }
        for task in (0..self.tasks.len()).map(|task| TaskId(task as u32)) {
            if self.tasks[task.index()].place == Place::Waiting {
                self.introduce(task);
                self.queue(task, CpuId(0));
            }
        }
    }

    /// Passes the notes up to this time to the sink.
    fn tell_noted(&mut self, time: Time) {
        let (start, end) = self.recording.span;
        while let Some((noted, rest)) = self.noted.split_first() {
            if noted.time > time {
                return;
            }
            self.noted = rest;
            let task = self.identities.task(Pid(noted.pid));
            if let Some(task) = task.filter(|_| (start..=end).contains(&noted.time)) {
                self.now = Time(noted.time.0 - start.0);
                self.introduce(task);
                self.tell(task, noted);
            }
        }
    }

    fn tell(&mut self, task: TaskId, noted: &NotedEvent) {
        if let Place::On(cpu) = self.tasks[task.index()].place {
            self.cpu = cpu;
        }
        let mark = noted.mark;
        self.emit(match noted.what {
            Noted::Count(count) => EventKind::Mark { task, mark, count },
            Noted::Time(ns) => EventKind::Latency { task, mark, ns },
            Noted::Group(group) => EventKind::Regroup {
                task,
                group: group.map(GroupId),
            },
        });
    }

    fn switch(&mut self, prev: Option<TaskId>, state: PrevState, next: Option<TaskId>) {
        if prev == next {
            return; // The kernel does not say so; lost events may have brought it about.
        }
        if let Some(next) = next {
            self.make_startable(next);
        }
        self.emit_switch(prev, state, next);
    }

    /// The switch names the task that ran. If the model has another running task, events are
    /// missing. That task's fate is unknown; sleeping is the most likely state, and a wakeup can
    /// follow.
    fn expect_running(&mut self, prev: Option<TaskId>) {
        let running = self.cpus[self.cpu.index()].running;
        if running == prev {
            return;
        }
        if let Some(prev) = prev {
            self.make_startable(prev);
        }
        self.mended.switches += 1;
        self.emit_switch(running, PrevState::Sleeping, prev);
    }

    /// A task that is switched to must not run elsewhere, and must have been woken.
    fn make_startable(&mut self, task: TaskId) {
        match self.tasks[task.index()].place {
            Place::Unknown | Place::Waiting => {}
            // If wakeups are not recorded, a waking is enough.
            Place::Asleep if self.tasks[task.index()].wanted && !self.recording.carries.wakeup => {}
            Place::Asleep | Place::Dead => {
                self.mended.wakeups += 1;
                self.queue(task, self.cpu);
            }
            Place::On(elsewhere) => {
                let here = std::mem::replace(&mut self.cpu, elsewhere);
                self.mended.switches += 1;
                self.emit_switch(Some(task), PrevState::Preempted, None);
                self.cpu = here;
            }
        }
    }

    fn emit_switch(&mut self, prev: Option<TaskId>, state: PrevState, next: Option<TaskId>) {
        let cpu = self.cpu;
        let prev_state = match prev {
            Some(_) => state,
            None => PrevState::Idle,
        };
        self.emit(EventKind::Switch {
            prev,
            prev_state,
            next,
        });
        if let Some(prev) = prev {
            self.tasks[prev.index()].place = match state {
                PrevState::Preempted | PrevState::Yielded | PrevState::Moved => Place::Waiting,
                PrevState::Exited => Place::Dead,
                PrevState::Sleeping | PrevState::DiskSleep | PrevState::Idle => Place::Asleep,
            };
        }
        if let Some(next) = next {
            let next = &mut self.tasks[next.index()];
            (next.place, next.wanted) = (Place::On(cpu), false);
        }
        self.cpus[cpu.index()].running = next;
    }

    /// The context of a wakeup. A softirq that delivers data of the running task counts as that
    /// task.
    fn context(&self, task: TaskId, by: WakeContext) -> WakeContext {
        let sends = self.cpus[self.cpu.index()].running.is_some()
            && self.receivers.contains(&self.infos[task.index()].pid);
        match by {
            WakeContext::SoftIrq if sends => WakeContext::Task,
            by => by,
        }
    }

    fn waking(&mut self, task: TaskId, by: WakeContext, target: CpuId) {
        let by = self.context(task, by);
        // It was preempted before it could sleep, so it is already queued.
        if self.tasks[task.index()].place == Place::Waiting {
            return;
        }
        self.emit(EventKind::Waking { task, by });
        self.tasks[task.index()].wanted = true;
        let asleep = !matches!(self.tasks[task.index()].place, Place::On(_));
        if asleep && !self.recording.carries.wakeup {
            self.queue(task, target);
        }
    }

    fn wakeup(&mut self, task: TaskId, by: WakeContext, target: CpuId) {
        let by = self.context(task, by);
        match self.tasks[task.index()].place {
            Place::Waiting => {}
            // It was about to sleep and continues to run.
            Place::On(_) => self.emit(EventKind::Wakeup { task, target }),
            Place::Unknown | Place::Asleep | Place::Dead => {
                if !self.recording.carries.waking {
                    self.emit(EventKind::Waking { task, by });
                }
                self.queue(task, target);
            }
        }
    }

    /// Puts the task on a CPU's run queue.
    fn queue(&mut self, task: TaskId, target: CpuId) {
        self.emit(EventKind::Wakeup { task, target });
        self.tasks[task.index()].place = Place::Waiting;
    }

    fn migrate(&mut self, task: TaskId, from: CpuId, to: CpuId) {
        if from != to {
            self.emit(EventKind::Migrate { task, from, to });
        }
    }

    fn fork(&mut self, parent: Option<TaskId>, child: Option<TaskId>) {
        if let Some(parent) = parent {
            self.introduce(parent);
        }
        let Some(child) = child else { return };
        self.know(child);
        if !std::mem::replace(&mut self.tasks[child.index()].introduced, true) {
            self.announce(child);
            self.emit(EventKind::Fork { child, parent });
        }
    }

    /// An event that only the running task can cause: makes sure that this task runs.
    fn of_running(&mut self, task: Option<TaskId>, kind: impl FnOnce(TaskId) -> EventKind) {
        if let Some(task) = task {
            self.introduce(task);
            self.expect_running(Some(task));
            self.emit(kind(task));
        }
    }

    /// The task of an event, introduced to the sink with its current priority; `None` for idle
    /// tasks.
    fn met(&mut self, task: Option<TaskId>, met: TaskRef) -> Option<TaskId> {
        let task = task?;
        self.introduce(task);
        let known = self.tasks[task.index()].prio;
        if let Some(prio) = met.prio.filter(|&prio| prio != known) {
            self.tasks[task.index()].prio = prio;
            self.reprioritise(task, known, prio);
        }
        Some(task)
    }

    fn reprioritise(&mut self, task: TaskId, from: i16, to: i16) {
        let (nice, class, rt_priority) = standing(to);
        if is_real_time(from) || is_real_time(to) {
            self.emit(EventKind::Class {
                task,
                class,
                rt_priority,
            });
        }
        if !is_real_time(to) {
            self.emit(EventKind::Nice { task, nice });
        }
    }

    /// Makes room for a new task.
    fn know(&mut self, task: TaskId) {
        while self.tasks.len() <= task.index() {
            let prio = self.first_prio(TaskId(self.tasks.len() as u32));
            self.tasks.push(Task {
                place: Place::Unknown,
                wanted: false,
                introduced: false,
                prio,
            });
        }
    }

    fn first_prio(&self, task: TaskId) -> i16 {
        let identity = &self.infos[task.index()];
        let known = identity
            .known
            .map(|known| &self.recording.tasks[known as usize]);
        let known = known.map(|known| match known.class {
            TaskClass::Fifo | TaskClass::Rr => 99 - i16::from(known.rt_priority),
            TaskClass::Normal | TaskClass::Batch | TaskClass::Idle | TaskClass::Iso => {
                120 + i16::from(known.nice)
            }
        });
        known.or(identity.prio).unwrap_or(120)
    }

    /// Introduces a task that existed before its first event.
    fn introduce(&mut self, task: TaskId) {
        self.know(task);
        if !std::mem::replace(&mut self.tasks[task.index()].introduced, true) {
            self.announce(task);
            self.emit(EventKind::Fork {
                child: task,
                parent: None,
            });
        }
    }

    fn announce(&mut self, id: TaskId) {
        let identity = &self.infos[id.index()];
        let name = identity.name.map_or("?", |name| self.recording.name(name));
        let known = identity
            .known
            .map(|known| &self.recording.tasks[known as usize]);
        let (nice, class, rt_priority) = standing(self.tasks[id.index()].prio);
        let noted = self.roster.get(&identity.pid);
        let group = match identity {
            i if i.observer || self.keeps_going(i.pid) => OBSERVER,
            i if i.kernel => KERNEL,
            _ => noted.map_or_else(|| group_of(name), |noted| &noted.group),
        };
        if self.waiting_for_start {
            return;
        }
        self.sink.task(&TaskInfo {
            id,
            name: noted.map_or(name, |noted| &noted.name).to_string(),
            group: group.to_string(),
            control_group: noted.and_then(|noted| noted.control_group).map(GroupId),
            process: identity.tgid.unwrap_or(identity.pid).0,
            pid: Some(identity.pid.0),
            nice,
            class: match (known, is_real_time(self.tasks[id.index()].prio)) {
                // Events do not distinguish batch from normal or round robin from FIFO; the list of
                // known tasks does.
                (Some(known), _) => known.class,
                (None, _) => class,
            },
            rt_priority,
        });
    }

    /// Whether a thread only controls a program's other threads.
    fn keeps_going(&self, pid: Pid) -> bool {
        let notes = self.recording.notes();
        notes.is_some_and(|notes| notes.observers.contains(&pid.0))
    }

    fn emit(&mut self, kind: EventKind) {
        if self.waiting_for_start {
            return;
        }
        self.sink.event(&Event {
            time: self.now,
            cpu: self.cpu,
            kind,
        });
    }
}

/// The trace's state of a task that is switched away from.
fn left(state: KernelState, yielding: bool) -> PrevState {
    match state {
        KernelState::Runnable if yielding => PrevState::Yielded,
        KernelState::Runnable | KernelState::PreemptedInKernel => PrevState::Preempted,
        KernelState::DiskSleep => PrevState::DiskSleep,
        KernelState::Dead => PrevState::Exited,
        KernelState::Sleeping | KernelState::Stopped | KernelState::Parked | KernelState::Idle => {
            PrevState::Sleeping
        }
    }
}

fn is_real_time(prio: i16) -> bool {
    prio < 100
}

/// nice, class and real-time priority of a priority in the kernel's numbers.
fn standing(prio: i16) -> (i8, TaskClass, u8) {
    match is_real_time(prio) {
        true => (0, TaskClass::Fifo, (99 - prio).clamp(1, 99) as u8),
        false => ((prio - 120).clamp(-20, 19) as i8, TaskClass::Normal, 0),
    }
}

/// The group of a task in reports: its name without an instance number, so "worker-1" and
/// "worker-2" are one group; "cc1" stays.
fn group_of(name: &str) -> &str {
    let base = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let group = base.trim_end_matches(['-', '_', '#', ':', '/', '.', ' ']);
    match base.len() == name.len() || group.len() == base.len() || group.is_empty() {
        true => name,
        false => group,
    }
}
