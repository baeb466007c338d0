//! Who runs and who waits, as events arrive.

use schedlab_trace::{CpuId, Event, EventKind, PrevState, TaskClass, TaskId, TaskInfo, Time};

/// What a task does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It sleeps, is not yet queued, or has ended.
    Off,
    /// It is on the run queue of a CPU.
    Waiting(CpuId),
    /// It runs on a CPU.
    Running(CpuId),
}

/// A task.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub state: State,
    /// Since when.
    pub since: Time,
    /// As the policy sees it, in its own numbers; none if it shows none.
    pub priority: Option<i32>,
    pub nice: i8,
    pub class: TaskClass,
    pub rt_priority: u8,
}

/// The end of a stay in a state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stay {
    pub task: TaskId,
    pub state: State,
    pub start: Time,
    /// Why it ended, for a stay on a CPU.
    pub why: Option<PrevState>,
}

/// All tasks of a machine.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scene {
    pub tasks: Vec<Option<Task>>,
    /// Tasks examined by the last schedule() on each CPU, and when.
    pub examined: Vec<(Time, u32)>,
}

impl Scene {
    pub fn new(nr_cpus: u32) -> Scene {
        Scene {
            tasks: Vec::new(),
            examined: vec![(Time::ZERO, 0); nr_cpus as usize],
        }
    }

    pub fn add(&mut self, info: &TaskInfo) {
        let index = info.id.index();
        if self.tasks.len() <= index {
            self.tasks.resize(index + 1, None);
        }
        self.tasks[index] = Some(Task {
            state: State::Off,
            since: Time::ZERO,
            priority: None,
            nice: info.nice,
            class: info.class,
            rt_priority: info.rt_priority,
        });
    }

    /// The task that runs on a CPU.
    pub fn running(&self, cpu: CpuId) -> Option<TaskId> {
        self.in_state(State::Running(cpu)).next()
    }

    /// The tasks in a state, by id.
    pub fn in_state(&self, state: State) -> impl Iterator<Item = TaskId> + '_ {
        let tasks = (0..).map(TaskId).zip(&self.tasks);
        tasks.filter_map(move |(id, task)| (task.as_ref()?.state == state).then_some(id))
    }

    /// Follows an event; `ended` gets every stay on a CPU or a run queue that it ends.
    pub fn follow(&mut self, event: &Event, mut ended: impl FnMut(Stay)) {
        let (now, cpu) = (event.time, event.cpu);
        match event.kind {
            EventKind::Wakeup { task, target } if self.is(task, |state| state == State::Off) => {
                self.set(task, State::Waiting(target), now, None, &mut ended);
            }
            EventKind::Migrate { task, to, .. }
                if self.is(task, |state| matches!(state, State::Waiting(_))) =>
            {
                self.set(task, State::Waiting(to), now, None, &mut ended);
            }
            EventKind::Switch {
                prev,
                prev_state,
                next,
            } => {
                if let Some(prev) = prev {
                    let state = match prev_state {
                        PrevState::Preempted | PrevState::Yielded | PrevState::Moved => {
                            State::Waiting(cpu)
                        }
                        _ => State::Off,
                    };
                    self.set(prev, state, now, Some(prev_state), &mut ended);
                }
                if let Some(next) = next {
                    self.set(next, State::Running(cpu), now, None, &mut ended);
                }
            }
            EventKind::Schedule { examined, .. } => {
                if let Some(last) = self.examined.get_mut(cpu.index()) {
                    *last = (now, examined);
                }
            }
            EventKind::Priority { task, priority } => {
                self.change(task, |t| t.priority = Some(priority));
            }
            EventKind::Nice { task, nice } => self.change(task, |t| t.nice = nice),
            EventKind::Class {
                task,
                class,
                rt_priority,
            } => self.change(task, |t| (t.class, t.rt_priority) = (class, rt_priority)),
            _ => {}
        }
    }

    pub fn get(&self, task: TaskId) -> Option<&Task> {
        self.tasks.get(task.index())?.as_ref()
    }

    fn is(&self, task: TaskId, state: impl Fn(State) -> bool) -> bool {
        self.get(task).is_some_and(|task| state(task.state))
    }

    fn change(&mut self, task: TaskId, change: impl FnOnce(&mut Task)) {
        if let Some(task) = self.tasks.get_mut(task.index()).and_then(Option::as_mut) {
            change(task);
        }
    }

    fn set(
        &mut self,
        id: TaskId,
        state: State,
        now: Time,
        why: Option<PrevState>,
        ended: &mut impl FnMut(Stay),
    ) {
        self.change(id, |task| {
            if task.state != State::Off {
                ended(Stay {
                    task: id,
                    state: task.state,
                    start: task.since,
                    why,
                });
            }
            (task.state, task.since) = (state, now);
        });
    }
}
