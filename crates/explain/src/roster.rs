//! The tasks and their priorities.

use schedlab_trace::{EventKind, TaskClass, TaskId, TaskInfo};

/// A task as it is named in explanations.
#[derive(Clone, Debug)]
struct Entry {
    name: String,
    group: String,
    pid: Option<u32>,
    nice: i8,
    class: TaskClass,
    rt_priority: u8,
    /// Its priority as its policy sees it, if the trace has it.
    priority: Option<i32>,
}

/// All tasks, by id.
#[derive(Debug, Default)]
pub(crate) struct Roster(Vec<Option<Entry>>);

impl Roster {
    pub fn insert(&mut self, info: &TaskInfo) {
        if self.0.len() <= info.id.index() {
            self.0.resize(info.id.index() + 1, None);
        }
        self.0[info.id.index()] = Some(Entry {
            name: info.name.clone(),
            group: info.group.clone(),
            pid: info.pid,
            nice: info.nice,
            class: info.class,
            rt_priority: info.rt_priority,
            priority: None,
        });
    }

    /// Follows priorities.
    pub fn event(&mut self, kind: &EventKind) {
        match *kind {
            EventKind::Priority { task, priority } => {
                self.change(task, |entry| entry.priority = Some(priority));
            }
            EventKind::Nice { task, nice } => self.change(task, |entry| entry.nice = nice),
            EventKind::Class {
                task,
                class,
                rt_priority,
            } => self.change(task, |entry| {
                (entry.class, entry.rt_priority) = (class, rt_priority);
            }),
            _ => {}
        }
    }

    fn change(&mut self, task: TaskId, change: impl FnOnce(&mut Entry)) {
        if let Some(entry) = self.0.get_mut(task.index()).and_then(Option::as_mut) {
            change(entry);
        }
    }

    fn get(&self, task: TaskId) -> Option<&Entry> {
        self.0.get(task.index()).and_then(Option::as_ref)
    }

    /// The task's name, with its thread id if the trace knows it.
    pub fn name(&self, task: TaskId) -> String {
        match self.get(task) {
            Some(Entry {
                name,
                pid: Some(pid),
                ..
            }) => format!("{name}-{pid}"),
            Some(entry) => entry.name.clone(),
            None => format!("task {task}"),
        }
    }

    /// Does the user's text name this task: by name, with or without the thread id, by group, by thread id?
    pub fn is(&self, task: TaskId, who: &str) -> bool {
        let Some(entry) = self.get(task) else {
            return false;
        };
        let pid: Option<u32> = who.parse().ok();
        entry.name == who
            || entry.group == who
            || (pid.is_some() && entry.pid == pid)
            || self.name(task) == who
    }

    /// Names of all groups.
    pub fn groups(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flatten().map(|entry| entry.group.as_str())
    }

    /// In the policy's own numbers if the trace has them, else in the kernel's: 0 (best) to 98 real
    /// time, 100 to 139 for nice -20 to 19.
    pub fn priority(&self, task: TaskId) -> i32 {
        let Some(entry) = self.get(task) else {
            return 120;
        };
        let kernels = match entry.class {
            TaskClass::Fifo | TaskClass::Rr => 99 - i32::from(entry.rt_priority),
            _ => 120 + i32::from(entry.nice),
        };
        entry.priority.unwrap_or(kernels)
    }
}
