//! Control groups: what their tasks got, and how long they were throttled.

use schedlab_trace::{CpuId, CpuMax, GroupId, GroupInfo, GroupWeight, Ns, TaskId};

use super::share;
use crate::observation::WaitEnd;
use crate::ControlGroupMetrics;

/// What is known of a group; run and wait are of its own tasks, not of those of groups in it.
#[derive(Debug)]
struct Group {
    name: String,
    parent: Option<GroupId>,
    weight: GroupWeight,
    max: Option<CpuMax>,
    tasks: u64,
    run: u64,
    wait: u64,
    throttled: u64,
    throttles: u64,
    /// Since when it is throttled, by CPU.
    since: Vec<Option<u64>>,
}

/// All of them; empty in most traces.
#[derive(Debug, Default)]
pub(crate) struct ControlGroups {
    groups: Vec<Group>,
    /// The group of each task.
    of_task: Vec<Option<GroupId>>,
    nr_cpus: usize,
}

impl ControlGroups {
    pub fn new(nr_cpus: u32) -> ControlGroups {
        ControlGroups {
            nr_cpus: nr_cpus as usize,
            ..ControlGroups::default()
        }
    }

    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    pub fn announce(&mut self, info: &GroupInfo) {
        self.groups.push(Group {
            name: info.name.clone(),
            parent: info.parent.filter(|p| p.index() < self.groups.len()),
            weight: info.weight,
            max: info.max,
            tasks: 0,
            run: 0,
            wait: 0,
            throttled: 0,
            throttles: 0,
            since: vec![None; self.nr_cpus],
        });
    }

    /// The task is in this group from now on.
    pub fn join(&mut self, task: TaskId, group: Option<GroupId>) {
        if self.groups.is_empty() {
            return;
        }
        let len = self.of_task.len().max(task.index() + 1);
        self.of_task.resize(len, None);
        self.of_task[task.index()] = group;
        if let Some(group) = group.and_then(|g| self.groups.get_mut(g.index())) {
            group.tasks += 1;
        }
    }

    pub fn weigh(&mut self, group: GroupId, weight: GroupWeight) {
        if let Some(group) = self.groups.get_mut(group.index()) {
            group.weight = weight;
        }
    }

    pub fn limit(&mut self, group: GroupId, max: Option<CpuMax>) {
        if let Some(group) = self.groups.get_mut(group.index()) {
            group.max = max;
        }
    }

    fn of(&mut self, task: TaskId) -> Option<&mut Group> {
        let group = (*self.of_task.get(task.index())?)?;
        self.groups.get_mut(group.index())
    }

    #[inline]
    pub fn ran(&mut self, task: TaskId, ns: u64) {
        if self.groups.is_empty() {
            return;
        }
        if let Some(group) = self.of(task) {
            group.run += ns;
        }
    }

    #[inline]
    pub fn waited(&mut self, wait: &WaitEnd) {
        if self.groups.is_empty() {
            return;
        }
        if let Some(group) = self.of(wait.who.task) {
            group.wait = group.wait.saturating_add(wait.end - wait.start);
        }
    }

    /// The group is throttled on a CPU, or is no more.
    pub fn throttled(&mut self, group: GroupId, on: CpuId, is: bool, now: u64) {
        let Some(group) = self.groups.get_mut(group.index()) else {
            return;
        };
        let Some(since) = group.since.get_mut(on.index()) else {
            return;
        };
        match (is, *since) {
            (true, None) => {
                *since = Some(now);
                group.throttles += 1;
            }
            (false, Some(began)) => {
                *since = None;
                group.throttled += now - began;
            }
            _ => {}
        }
    }

    /// The group was throttled this much, at times that are not known.
    pub fn throttled_in_all(&mut self, group: GroupId, ns: u64, times: u32) {
        if let Some(group) = self.groups.get_mut(group.index()) {
            group.throttled += ns;
            group.throttles += u64::from(times);
        }
    }

    pub fn end(&mut self, now: u64) {
        for group in &mut self.groups {
            let open = group.since.iter_mut().filter_map(Option::take);
            group.throttled += open.map(|began| now - began).sum::<u64>();
        }
    }

    /// Groups with what is in the groups within them.
    pub fn finish(mut self, cpu_time: u128) -> Vec<ControlGroupMetrics> {
        for index in (0..self.groups.len()).rev() {
            let (tasks, run, wait) = {
                let group = &self.groups[index];
                (group.tasks, group.run, group.wait)
            };
            if let Some(parent) = self.groups[index].parent {
                let parent = &mut self.groups[parent.index()];
                parent.tasks += tasks;
                parent.run += run;
                parent.wait = parent.wait.saturating_add(wait);
            }
        }
        let names: Vec<String> = self.groups.iter().map(|g| g.name.clone()).collect();
        let metrics = |group: Group| ControlGroupMetrics {
            name: group.name,
            parent: group.parent.map(|parent| names[parent.index()].clone()),
            shares: group.weight.shares(),
            idle: group.weight == GroupWeight::Idle,
            quota_ns: group.max.map(|max| Ns(u64::from(max.quota_us) * 1000)),
            period_ns: group.max.map(|max| Ns(u64::from(max.period_us) * 1000)),
            nr_tasks: group.tasks,
            run_ns: Ns(group.run),
            cpu_share: share(group.run, cpu_time),
            wait_ns: Ns(group.wait),
            throttled_ns: Ns(group.throttled),
            nr_throttles: group.throttles,
        };
        self.groups.into_iter().map(metrics).collect()
    }
}
