//! Finds the task of a thread id at each time, and the task's name.
//!
//! Thread ids are reused, and names change: a shell forks and the child becomes a compiler. A first
//! pass over the recording separates the tasks and finds the last name of each. A second pass takes
//! the same steps and gives the same tasks.

use rustc_hash::FxHashMap;
use schedlab_trace::{TaskClass, TaskId};
use serde::{Deserialize, Serialize};

use crate::event::{Comm, KernelEvent, KernelEventKind, KernelState, Pid, TaskRef};
use crate::Recording;

/// What was known about a task when a recording began.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct KnownTask {
    /// Its thread id.
    pub pid: u32,
    /// The thread id of its process's first thread.
    pub tgid: u32,
    /// Its name.
    pub comm: String,
    /// Whether it is a thread of the kernel.
    pub kernel: bool,
    /// Whether it belongs to the program that records.
    pub observer: bool,
    /// nice, -20 to 19.
    pub nice: i8,
    /// Its scheduling class.
    pub class: TaskClass,
    /// Its real-time priority, 0 outside the real-time classes.
    pub rt_priority: u8,
    /// The open files of its process; only for the process's first thread.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<KnownFile>,
}

/// A file that was open when a recording began.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct KnownFile {
    /// Its descriptor.
    pub fd: u32,
    /// Its target in procfs: "pipe:[123]".
    pub target: String,
    /// Whether it is open for writing only.
    pub written: bool,
    /// Whether exec closes it.
    pub closed_by_exec: bool,
}

/// A task after the first pass.
#[derive(Clone, Debug)]
pub struct Identity {
    pub pid: Pid,
    /// Its process, if the recording names it.
    pub tgid: Option<Pid>,
    pub name: Option<Comm>,
    pub kernel: bool,
    pub observer: bool,
    /// Index into the recording's known tasks.
    pub known: Option<u32>,
    /// The first priority recorded in an event.
    pub prio: Option<i16>,
}

/// Separates tasks by the events of a recording.
pub struct Identities<'a> {
    recording: &'a Recording,
    known: FxHashMap<Pid, u32>,
    current: FxHashMap<Pid, Current>,
    /// All tasks so far, by id.
    pub tasks: Vec<Identity>,
}

#[derive(Clone, Copy)]
struct Current {
    task: TaskId,
    life: Life,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Life {
    /// Announced by task_newtask; its fork follows.
    Announced,
    Alive,
    Dead,
}

/// The thread that forks all threads of the kernel (kthreadd).
const KTHREADD: Pid = Pid(2);

impl<'a> Identities<'a> {
    pub fn new(recording: &'a Recording) -> Identities<'a> {
        let known = recording.tasks.iter().enumerate();
        Identities {
            recording,
            known: known.map(|(i, task)| (Pid(task.pid), i as u32)).collect(),
            current: FxHashMap::default(),
            tasks: Vec::new(),
        }
    }

    /// Updates identities; returns (prev, next) for a switch, (parent, child) for a fork, otherwise one task.  Idle tasks are
    /// `None`.
    pub fn learn(&mut self, event: &KernelEvent) -> (Option<TaskId>, Option<TaskId>) {
        match event.kind {
            KernelEventKind::Switch {
                prev,
                prev_state,
                next,
            } => {
                let prev_task = self.seen(prev);
                if prev_state == KernelState::Dead {
                    self.died(prev.pid);
                }
                (prev_task, self.seen(next))
            }
            KernelEventKind::Waking { task, .. }
            | KernelEventKind::Wakeup { task, .. }
            | KernelEventKind::Migrate { task, .. }
            | KernelEventKind::Exit { task }
            | KernelEventKind::Runtime { task, .. } => (self.seen(task), None),
            KernelEventKind::NewTask { pid, comm, thread } => {
                (Some(self.new_task(pid, comm, thread)), None)
            }
            KernelEventKind::Fork {
                parent,
                child,
                child_comm,
            } => {
                let parent = self.task(parent);
                (parent, Some(self.forked(parent, child, child_comm)))
            }
            KernelEventKind::Rename { pid, comm } => {
                let task = self.task(pid);
                if let Some(task) = task {
                    self.tasks[task.index()].name = Some(comm);
                }
                (task, None)
            }
            KernelEventKind::Exec { pid }
            | KernelEventKind::Yield { pid }
            | KernelEventKind::Enter { pid, .. }
            | KernelEventKind::Return { pid, .. } => (self.task(pid), None),
        }
    }

    /// The task of an event; its name and priority are updated.
    pub fn seen(&mut self, seen: TaskRef) -> Option<TaskId> {
        let id = self.task(seen.pid)?;
        let task = &mut self.tasks[id.index()];
        task.name = Some(seen.comm);
        task.prio = task.prio.or(seen.prio);
        Some(id)
    }

    /// The task that has a thread id now; `None` for idle tasks.
    pub fn task(&mut self, pid: Pid) -> Option<TaskId> {
        if pid == Pid::IDLE {
            return None;
        }
        match self.current.get(&pid) {
            Some(current) if current.life != Life::Dead => Some(current.task),
            // The thread id of a dead task belongs to a new task, whose fork was lost.
            before => {
                let is_first = before.is_none();
                Some(self.insert(pid, None, is_first, Life::Alive))
            }
        }
    }

    /// The task with this thread id was switched away from and will not run again.
    fn died(&mut self, pid: Pid) {
        if let Some(current) = self.current.get_mut(&pid) {
            current.life = Life::Dead;
        }
    }

    fn new_task(&mut self, pid: Pid, comm: Comm, thread: bool) -> TaskId {
        let task = self.insert(pid, Some(comm), false, Life::Announced);
        // Its fork event follows and names the process.
        self.tasks[task.index()].tgid = (!thread).then_some(pid);
        task
    }

    fn forked(&mut self, parent: Option<TaskId>, child: Pid, comm: Comm) -> TaskId {
        let task = match self.current.get_mut(&child) {
            Some(current) if current.life == Life::Announced => {
                current.life = Life::Alive;
                current.task
            }
            _ => self.insert(child, Some(comm), false, Life::Alive),
        };
        let parent = parent.map(|parent| self.tasks[parent.index()].clone());
        let identity = &mut self.tasks[task.index()];
        identity.kernel = parent.as_ref().is_some_and(|parent| parent.pid == KTHREADD);
        if identity.tgid.is_none() {
            identity.observer = parent.as_ref().is_some_and(|parent| parent.observer);
            identity.tgid = parent.and_then(|parent| parent.tgid);
        }
        task
    }

    fn insert(&mut self, pid: Pid, name: Option<Comm>, is_first: bool, life: Life) -> TaskId {
        let task = TaskId(self.tasks.len() as u32);
        let known = self.known.get(&pid).copied().filter(|_| is_first);
        let facts = known.map(|known| &self.recording.tasks[known as usize]);
        let kernel = facts.map(|facts| facts.kernel);
        let observer = facts.is_some_and(|facts| facts.observer);
        let told = || self.recording.process_of(pid).unwrap_or(pid);
        let tgid = facts.map_or_else(told, |facts| Pid(facts.tgid));
        self.current.insert(pid, Current { task, life });
        self.tasks.push(Identity {
            pid,
            tgid: Some(tgid),
            name,
            kernel: kernel.unwrap_or(pid == KTHREADD),
            observer,
            known,
            prio: None,
        });
        task
    }
}
