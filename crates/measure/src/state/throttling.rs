//! Which waiting tasks do not count as waiting, because their control group is throttled.

use schedlab_trace::{CpuId, GroupId, GroupInfo, TaskId};

#[derive(Debug)]
struct Group {
    parent: Option<GroupId>,
    children: Vec<GroupId>,
    members: Vec<TaskId>,
    /// By CPU.
    throttled: Vec<bool>,
}

/// All control groups; empty in most traces.
#[derive(Debug, Default)]
pub(crate) struct Throttling {
    groups: Vec<Group>,
    nr_cpus: usize,
}

impl Throttling {
    pub fn new(nr_cpus: u32) -> Throttling {
        Throttling {
            groups: Vec::new(),
            nr_cpus: nr_cpus as usize,
        }
    }

    pub fn announce(&mut self, info: &GroupInfo) {
        let parent = info.parent.filter(|p| p.index() < self.groups.len());
        if let Some(parent) = parent {
            self.groups[parent.index()].children.push(info.id);
        }
        self.groups.push(Group {
            parent,
            children: Vec::new(),
            members: Vec::new(),
            throttled: vec![false; self.nr_cpus],
        });
    }

    /// The task moves from one group to another.
    pub fn moved(&mut self, task: TaskId, from: Option<GroupId>, to: Option<GroupId>) {
        if let Some(from) = from.and_then(|g| self.groups.get_mut(g.index())) {
            from.members.retain(|&member| member != task);
        }
        if let Some(to) = to.and_then(|g| self.groups.get_mut(g.index())) {
            to.members.push(task);
        }
    }

    /// Does this group, or one it is in, not run on this CPU?
    #[inline]
    pub fn hides(&self, group: Option<GroupId>, on: CpuId) -> bool {
        let mut next = group;
        while let Some(group) = next.and_then(|g| self.groups.get(g.index())) {
            if group.throttled.get(on.index()) == Some(&true) {
                return true;
            }
            next = group.parent;
        }
        false
    }

    /// The group is throttled on a CPU, or is no more.  The tasks this may be about.
    pub fn set(&mut self, group: GroupId, on: CpuId, is: bool) -> Vec<TaskId> {
        let known = self.groups.get_mut(group.index());
        match known.and_then(|g| g.throttled.get_mut(on.index())) {
            Some(throttled) => *throttled = is,
            None => return Vec::new(),
        }
        let (mut tasks, mut groups) = (Vec::new(), vec![group]);
        while let Some(group) = groups.pop() {
            let group = &self.groups[group.index()];
            tasks.extend_from_slice(&group.members);
            groups.extend_from_slice(&group.children);
        }
        tasks
    }
}
