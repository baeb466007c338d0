//! The tasks: names, groups, nice values.

use std::collections::BTreeMap;
use std::sync::Arc;

use schedlab_trace::{TaskId, TaskInfo};

/// What is published about a task besides numbers.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub name: String,
    /// Index into the groups.
    pub group: u32,
    pub nice: i8,
    /// Did `nice` change?
    pub reniced: bool,
}

/// All tasks by id and all groups in order of appearance.
#[derive(Debug, Default)]
pub(crate) struct Roster {
    /// None where an id was skipped.
    tasks: Vec<Option<Entry>>,
    groups: Vec<Arc<str>>,
    group_ids: BTreeMap<Arc<str>, u32>,
}

impl Roster {
    /// The id of a group, new if need be.
    pub fn group_id(&mut self, name: &str) -> u32 {
        if let Some(&id) = self.group_ids.get(name) {
            return id;
        }
        let id = self.groups.len() as u32;
        let name: Arc<str> = name.into();
        self.groups.push(name.clone());
        self.group_ids.insert(name, id);
        id
    }

    pub fn insert(&mut self, info: &TaskInfo, group: u32) {
        let len = self.tasks.len().max(info.id.index() + 1);
        self.tasks.resize(len, None);
        self.tasks[info.id.index()] = Some(Entry {
            name: info.name.clone(),
            group,
            nice: info.nice,
            reniced: false,
        });
    }

    pub fn set_nice(&mut self, task: TaskId, nice: i8) {
        if let Some(Some(entry)) = self.tasks.get_mut(task.index()) {
            entry.reniced |= entry.nice != nice;
            entry.nice = nice;
        }
    }

    pub fn groups(&self) -> &[Arc<str>] {
        &self.groups
    }

    /// All tasks that were announced.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &Entry)> {
        self.tasks
            .iter()
            .enumerate()
            .filter_map(|(i, entry)| Some((i, entry.as_ref()?)))
    }

    /// Takes the announced tasks out; groups stay.
    pub fn take_tasks(&mut self) -> (usize, impl Iterator<Item = (usize, Entry)>) {
        let tasks = std::mem::take(&mut self.tasks);
        let announced = tasks.iter().flatten().count();
        (
            announced,
            tasks
                .into_iter()
                .enumerate()
                .filter_map(|(i, entry)| Some((i, entry?))),
        )
    }
}
