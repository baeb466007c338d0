//! The state that the encoders need: names of tasks, and which task runs or waits on which CPU.

use std::collections::BTreeMap;

use crate::{CpuId, Event, EventKind, PrevState, TaskClass, TaskId, TaskInfo};

/// The thread id a simulated task has in files that look like a kernel's: its number plus one,
/// since 0 is the idle task.  A process has the thread id of its first task.
pub const fn pid(task: TaskId) -> u32 {
    task.0 + 1
}

/// The idle task's priority in the kernel's numbers.
pub(crate) const IDLE_PRIO: i32 = 120;

/// What a task is doing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Asleep, not yet started or dead.
    Off,
    /// On a run queue.
    Waiting,
    /// On a CPU.
    Running,
}

/// A task as the encoders see it.
pub(crate) struct Task {
    /// The name to write.
    pub comm: String,
    /// The thread id to write.
    pub pid: u32,
    /// The thread id of its process's first task.
    pub tgid: u32,
    /// The CPU it belongs to: where it last ran or queued; none before it first queues.
    pub cpu: Option<CpuId>,
    nice: i8,
    class: TaskClass,
    rt_priority: u8,
    place: Place,
}

impl Task {
    /// The priority in the kernel's numbers: 0 to 98 real time, 100 to 139 for nice -20 to 19.
    pub fn prio(&self) -> i32 {
        match self.class {
            TaskClass::Fifo | TaskClass::Rr => 99 - i32::from(self.rt_priority),
            TaskClass::Normal | TaskClass::Batch | TaskClass::Idle | TaskClass::Iso => {
                120 + i32::from(self.nice)
            }
        }
    }
}

#[derive(Clone, Default)]
struct Cpu {
    running: Option<TaskId>,
    waiting: u32,
}

/// Follows a trace.
#[derive(Default)]
pub(crate) struct Follower {
    tasks: Vec<Option<Task>>,
    leaders: BTreeMap<u32, TaskId>,
    cpus: Vec<Cpu>,
    runnable: u32,
    changed: Vec<CpuId>,
}

impl Follower {
    /// The trace begins.
    pub fn begin(&mut self, nr_cpus: u32) {
        self.cpus = vec![Cpu::default(); nr_cpus as usize];
    }

    /// A task appears, to be written as `comm`.
    pub fn task(&mut self, info: &TaskInfo, comm: String) {
        let leader = *self.leaders.entry(info.process).or_insert(info.id);
        if self.tasks.len() <= info.id.index() {
            self.tasks.resize_with(info.id.index() + 1, || None);
        }
        self.tasks[info.id.index()] = Some(Task {
            comm,
            pid: info.pid.unwrap_or(pid(info.id)),
            tgid: info.pid.map_or(pid(leader), |_| info.process),
            cpu: None,
            nice: info.nice,
            class: info.class,
            rt_priority: info.rt_priority,
            place: Place::Off,
        });
    }

    /// Something happened.
    pub fn event(&mut self, event: &Event) {
        self.changed.clear();
        match event.kind {
            EventKind::Wakeup { task, target } if self.get(task).place != Place::Running => {
                self.queue(task, target);
            }
            EventKind::Migrate { task, to, .. } => match self.get(task).place {
                Place::Waiting => self.queue(task, to),
                Place::Off => self.get_mut(task).cpu = Some(to),
                Place::Running => {}
            },
            EventKind::Switch {
                prev,
                prev_state,
                next,
            } => {
                self.switch(event.cpu, prev, prev_state, next);
            }
            EventKind::Nice { task, nice } => self.get_mut(task).nice = nice,
            EventKind::Class {
                task,
                class,
                rt_priority,
            } => {
                let task = self.get_mut(task);
                (task.class, task.rt_priority) = (class, rt_priority);
            }
            _ => {}
        }
    }

    /// A task [`Sink::task`](crate::Sink::task) has described.
    pub fn get(&self, task: TaskId) -> &Task {
        self.tasks[task.index()]
            .as_ref()
            .expect("a task is described before its first event")
    }

    /// The task running on a CPU, none if it idles.
    pub fn running(&self, cpu: CpuId) -> Option<TaskId> {
        self.cpus[cpu.index()].running
    }

    /// How many tasks wait (not counting the running one) for this CPU.
    pub fn waiting(&self, cpu: CpuId) -> u32 {
        self.cpus[cpu.index()].waiting
    }

    /// How many tasks run or wait, on all CPUs.
    pub fn runnable(&self) -> u32 {
        self.runnable
    }

    /// CPUs whose number of waiting tasks the last event may have changed.
    pub fn changed(&self) -> &[CpuId] {
        &self.changed
    }

    /// The move between CPUs that an event, not yet followed, implies: (task, from, to).
    /// Waking up on another CPU and being picked by another CPU are moves, too.
    pub fn migration(&self, event: &Event) -> Option<(TaskId, CpuId, CpuId)> {
        let (task, to) = match event.kind {
            EventKind::Wakeup { task, target } => (task, target),
            EventKind::Migrate { task, to, .. } => (task, to),
            EventKind::Switch {
                next: Some(task), ..
            } => (task, event.cpu),
            _ => return None,
        };
        let moved = self.get(task);
        match moved.cpu {
            Some(from) if from != to && moved.place != Place::Running => Some((task, from, to)),
            _ => None,
        }
    }

    fn switch(&mut self, cpu: CpuId, prev: Option<TaskId>, state: PrevState, next: Option<TaskId>) {
        if let Some(task) = prev {
            self.stop(task, cpu, state);
        }
        if let Some(task) = next {
            self.leave_queue(task);
            let task = self.get_mut(task);
            (task.place, task.cpu) = (Place::Running, Some(cpu));
            self.runnable += 1;
        }
        self.cpus[cpu.index()].running = next;
    }

    /// A running task stops running.
    fn stop(&mut self, task: TaskId, cpu: CpuId, state: PrevState) {
        if self.get(task).place == Place::Running {
            self.get_mut(task).place = Place::Off;
            self.runnable -= 1;
        }
        if let PrevState::Preempted | PrevState::Yielded | PrevState::Moved = state {
            self.queue(task, cpu);
        }
    }

    /// The task waits on `cpu` and nowhere else.
    fn queue(&mut self, task: TaskId, cpu: CpuId) {
        self.leave_queue(task);
        let task = self.get_mut(task);
        (task.place, task.cpu) = (Place::Waiting, Some(cpu));
        self.cpus[cpu.index()].waiting += 1;
        self.runnable += 1;
        self.changed.push(cpu);
    }

    /// The task no longer waits, if it did.
    fn leave_queue(&mut self, task: TaskId) {
        let task = self.get_mut(task);
        if task.place != Place::Waiting {
            return;
        }
        task.place = Place::Off;
        let cpu = task.cpu.expect("a waiting task has a CPU");
        self.cpus[cpu.index()].waiting -= 1;
        self.runnable -= 1;
        self.changed.push(cpu);
    }

    fn get_mut(&mut self, task: TaskId) -> &mut Task {
        self.tasks[task.index()]
            .as_mut()
            .expect("a task is described before its first event")
    }
}
