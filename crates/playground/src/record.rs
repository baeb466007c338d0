//! The events of a run, kept for the page: as they were, and as columns of numbers that it draws.

use schedlab_trace::{
    CpuId, Event, EventKind, Ns, Overhead, PrevState, Sink, TaskId, TaskInfo, Time, TraceInfo,
};
use serde_json::{json, Value};

use crate::scene::{Scene, State, Stay};

/// The most events of a run that are kept; metrics and hash are always of all of them.
pub const MOST_EVENTS: usize = 1_000_000;

/// A task as the page names it.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    pub name: String,
    pub group: String,
}

/// Stays of tasks on CPUs and run queues, in the order in which they ended; a column for each property.
#[derive(Debug, Default)]
struct Stays {
    start_ns: Vec<f64>,
    end_ns: Vec<f64>,
    task: Vec<u32>,
    cpu: Vec<u32>,
    /// 0: it waited; otherwise why it left the CPU, see [`reason`].
    reason: Vec<u32>,
}

/// Time that CPUs spend on overhead, in the order of events; a column for each property.
#[derive(Debug, Default)]
struct Spans {
    start_ns: Vec<f64>,
    end_ns: Vec<f64>,
    cpu: Vec<u32>,
    /// Of the last span of each CPU.
    ends: Vec<Time>,
}

impl Spans {
    /// Spans of one moment follow one another; only waiting for a lock is reported at its end.
    fn push(&mut self, event: &Event, kind: Overhead, ns: Ns) {
        let cpu = event.cpu.index();
        if self.ends.len() <= cpu {
            self.ends.resize(cpu + 1, Time::ZERO);
        }
        let start = match kind {
            Overhead::Lock => Time(event.time.0.saturating_sub(ns.0)),
            _ => event.time.max(self.ends[cpu]),
        };
        self.ends[cpu] = Time(start.0 + ns.0);
        self.start_ns.push(start.0 as f64);
        self.end_ns.push(self.ends[cpu].0 as f64);
        self.cpu.push(event.cpu.0);
    }
}

/// A sink that keeps a run for the page.
#[derive(Debug, Default)]
pub struct Record {
    pub(crate) info: TraceInfo,
    pub(crate) tasks: Vec<Option<Named>>,
    infos: Vec<(usize, TaskInfo)>,
    pub(crate) events: Vec<Event>,
    /// Of every kept event, in ns.
    time_ns: Vec<f64>,
    /// Of every kept event: is it a step of a scheduler, and not only its price?
    step: Vec<u32>,
    /// All events, kept or not.
    pub(crate) seen: u64,
    scene: Scene,
    stays: Stays,
    overhead: Spans,
    /// The time up to which events are kept.
    pub(crate) end: Time,
}

/// Why a task left a CPU, as a number for the page.
fn reason(why: Option<PrevState>) -> u32 {
    match why {
        None => 1,
        Some(PrevState::Preempted) => 2,
        Some(PrevState::Yielded) => 3,
        Some(PrevState::Moved) => 4,
        Some(PrevState::Sleeping) => 5,
        Some(PrevState::DiskSleep) => 6,
        Some(PrevState::Exited) => 7,
        Some(PrevState::Idle) => 1,
    }
}

/// Does a reader who goes from event to event stop at it?
fn is_step(kind: &EventKind) -> bool {
    !matches!(
        kind,
        EventKind::Overhead { .. }
            | EventKind::Schedule { .. }
            | EventKind::Priority { .. }
            | EventKind::Waking { .. }
            | EventKind::Count { .. }
    )
}

impl Stays {
    fn push(&mut self, stay: Stay, end: Time) {
        let (cpu, reason) = match stay.state {
            State::Running(cpu) => (cpu, reason(stay.why)),
            State::Waiting(cpu) => (cpu, 0),
            State::Off => return,
        };
        if end <= stay.start {
            return;
        }
        self.start_ns.push(stay.start.0 as f64);
        self.end_ns.push(end.0 as f64);
        self.task.push(stay.task.0);
        self.cpu.push(cpu.0);
        self.reason.push(reason);
    }
}

impl Record {
    /// The scene after an event.
    pub(crate) fn scene_after(&self, event: usize) -> Scene {
        let mut scene = Scene::new(self.info.nr_cpus);
        let mut infos = self.infos.iter().peekable();
        for (index, happened) in self.events.iter().enumerate().take(event + 1) {
            while let Some((_, info)) = infos.next_if(|(before, _)| *before <= index) {
                scene.add(info);
            }
            scene.follow(happened, |_| {});
        }
        scene
    }

    /// The name of a task.
    pub(crate) fn name(&self, task: TaskId) -> &str {
        let named = self.tasks.get(task.index()).and_then(Option::as_ref);
        named.map_or("?", |named| &named.name)
    }

    /// The tasks by id, each with its name and group.
    pub(crate) fn tasks_json(&self) -> Value {
        let tasks = self.tasks.iter().map(|task| match task {
            Some(task) => json!([task.name, task.group]),
            None => Value::Null,
        });
        tasks.collect()
    }

    /// Where the columns are in memory: address, length and type of each.
    pub(crate) fn columns(&self) -> Value {
        let f64s =
            |column: &[f64]| json!([column.as_ptr().expose_provenance(), column.len(), "f64"]);
        let u32s =
            |column: &[u32]| json!([column.as_ptr().expose_provenance(), column.len(), "u32"]);
        json!({
            "start_ns": f64s(&self.stays.start_ns),
            "end_ns": f64s(&self.stays.end_ns),
            "task": u32s(&self.stays.task),
            "cpu": u32s(&self.stays.cpu),
            "reason": u32s(&self.stays.reason),
            "overhead_start_ns": f64s(&self.overhead.start_ns),
            "overhead_end_ns": f64s(&self.overhead.end_ns),
            "overhead_cpu": u32s(&self.overhead.cpu),
            "time_ns": f64s(&self.time_ns),
            "step": u32s(&self.step),
        })
    }

    fn is_full(&self) -> bool {
        self.events.len() >= MOST_EVENTS
    }
}

impl Sink for Record {
    fn begin(&mut self, info: &TraceInfo) {
        self.info = info.clone();
        self.scene = Scene::new(info.nr_cpus);
    }

    fn task(&mut self, info: &TaskInfo) {
        if self.is_full() {
            return;
        }
        let index = info.id.index();
        if self.tasks.len() <= index {
            self.tasks.resize(index + 1, None);
        }
        self.tasks[index] = Some(Named {
            name: info.name.clone(),
            group: info.group.clone(),
        });
        self.infos.push((self.events.len(), info.clone()));
        self.scene.add(info);
    }

    fn event(&mut self, event: &Event) {
        self.seen += 1;
        if self.is_full() {
            return;
        }
        self.end = event.time;
        self.time_ns.push(event.time.0 as f64);
        self.step.push(u32::from(is_step(&event.kind)));
        self.events.push(*event);
        if let EventKind::Overhead { kind, ns } = event.kind {
            self.overhead.push(event, kind, ns);
        }
        let stays = &mut self.stays;
        self.scene
            .follow(event, |stay| stays.push(stay, event.time));
    }

    fn end(&mut self, time: Time) {
        if !self.is_full() {
            self.end = time;
        }
        let tasks = (0..).map(TaskId).zip(&self.scene.tasks);
        for (task, now) in tasks {
            if let Some(now) = now {
                let stay = Stay {
                    task,
                    state: now.state,
                    start: now.since,
                    why: None,
                };
                self.stays.push(stay, self.end);
            }
        }
    }
}

/// The CPUs of a machine.
pub(crate) fn cpus(record: &Record) -> impl Iterator<Item = CpuId> {
    (0..record.info.nr_cpus).map(CpuId)
}
