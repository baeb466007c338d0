//! Control groups: their tasks, and what the checks must know about throttling and quotas.

use schedlab_policy::{Class, NewGroup};
use schedlab_trace::{
    CpuId, CpuMax, EventKind, GroupId, GroupInfo, GroupWeight, Ns, Overhead, TaskId, Time,
};
use schedlab_workload::Op;

use crate::engine::Simulation;
use crate::error::{Rule, SimError};
use crate::task::State;

/// A group.
#[derive(Debug)]
pub(crate) struct Book {
    pub parent: Option<GroupId>,
    children: Vec<GroupId>,
    /// Its own tasks, without those of inner groups; tasks that left or died are removed when the
    /// list is used.
    members: Vec<TaskId>,
    pub weight: GroupWeight,
    max: Option<CpuMax>,
    /// The CPUs on which it is throttled.
    throttled: Vec<bool>,
    /// Time when its limit was set, and CPU time used since.
    limited_since: Time,
    used_ns: u64,
}

impl Book {
    /// Has it this number of tasks, including dead ones, and no inner group?
    pub fn has_only(&self, tasks: usize) -> bool {
        self.children.is_empty() && self.members.len() == tasks
    }
}

/// All groups.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    pub books: Vec<Book>,
    /// A group has or had a limit known to the policy.
    pub limited: bool,
    /// No task of the workload works in the kernel, where throttling does not stop it.
    preemptible: bool,
    /// Tasks that wait while their group is throttled.
    pub nr_throttled: u32,
    /// A group that used more than its quota.
    overdrawn: Option<GroupId>,
}

impl Simulation<'_> {
    /// Creates the workload's groups.
    pub(crate) fn create_groups(&mut self) -> Result<(), SimError> {
        let in_kernel = |op: &Op| matches!(op, Op::RunInKernel(_));
        let programs = &self.setup.workload.programs;
        self.groups.preemptible = !programs.iter().any(|p| p.ops.iter().any(in_kernel));
        for (index, group) in self.setup.workload.control_groups.iter().enumerate() {
            let id = GroupId(index as u32);
            let parent = group.parent.map(GroupId);
            self.sink.group(&GroupInfo {
                id,
                name: group.name.clone(),
                parent,
                weight: group.weight,
                max: group.max,
            });
            self.groups.books.push(Book {
                parent,
                children: Vec::new(),
                members: Vec::new(),
                weight: group.weight,
                max: None,
                throttled: vec![false; self.cpus.len()],
                limited_since: Time::ZERO,
                used_ns: 0,
            });
            if let Some(parent) = parent {
                self.groups.books[parent.index()].children.push(id);
            }
            self.note_limit(id, group.max);
            let new = NewGroup {
                parent,
                weight: group.weight,
                max: group.max,
            };
            self.host.name_group(id, &group.name);
            self.call(CpuId(0), |host| host.add_group(&new))?;
            self.drain_requests(CpuId(0))?;
        }
        Ok(())
    }

    /// The group of a new task: its specification's, or its parent's.
    pub(crate) fn first_group(&self, own: Option<u32>, parent: Option<TaskId>) -> Option<GroupId> {
        match (own, parent) {
            (Some(group), _) => Some(GroupId(group)),
            (None, Some(parent)) => self.host.task_group(parent),
            (None, None) => None,
        }
    }

    pub(crate) fn join_group(&mut self, task: TaskId, group: Option<GroupId>) {
        if let Some(group) = group {
            self.groups.books[group.index()].members.push(task);
        }
    }

    // ---- changes ------------------------------------------------------------------

    /// The task moves to another group.
    pub(crate) fn set_group(
        &mut self,
        cpu: CpuId,
        task: TaskId,
        group: Option<u32>,
    ) -> Result<(), SimError> {
        let group = group.map(GroupId);
        let from = self.host.task_group(task);
        if from == group {
            return Ok(());
        }
        self.settle_quota(task);
        self.emit(cpu, EventKind::Regroup { task, group });
        if let Some(from) = from {
            self.groups.books[from.index()]
                .members
                .retain(|&t| t != task);
        }
        self.join_group(task, group);
        self.call(cpu, |host| host.set_task_group(task, group))?;
        self.begin_stay(task);
        if self.task(task).state == State::Waiting {
            self.forget_throttled(task);
            self.note_throttled(task);
        }
        self.drain_requests(cpu)?;
        self.charge_work(cpu, Overhead::Syscall);
        Ok(())
    }

    /// Changes the weight of a group.
    pub(crate) fn weigh_group(
        &mut self,
        cpu: CpuId,
        group: GroupId,
        weight: GroupWeight,
    ) -> Result<(), SimError> {
        self.emit(cpu, EventKind::Weigh { group, weight });
        self.groups.books[group.index()].weight = weight;
        self.call(cpu, |host| host.set_group_weight(group, weight))?;
        for task in 0..self.tasks.len() as u32 {
            self.begin_stay(TaskId(task));
        }
        self.drain_requests(cpu)?;
        self.charge_work(cpu, Overhead::Syscall);
        Ok(())
    }

    /// Changes the limit of a group.
    pub(crate) fn limit_group(
        &mut self,
        cpu: CpuId,
        group: GroupId,
        max: Option<CpuMax>,
    ) -> Result<(), SimError> {
        self.settle_all();
        self.emit(cpu, EventKind::Limit { group, max });
        self.note_limit(group, max);
        self.call(cpu, |host| host.set_group_max(group, max))?;
        self.drain_requests(cpu)?;
        self.charge_work(cpu, Overhead::Syscall);
        Ok(())
    }

    // ---- throttling ---------------------------------------------------------------

    /// The policy starts or stops throttling a group on a CPU.
    pub(crate) fn group_throttled(&mut self, cpu: CpuId, group: GroupId, on: CpuId, is: bool) {
        let was = &mut self.groups.books[group.index()].throttled[on.index()];
        if std::mem::replace(was, is) == is {
            return;
        }
        let kind = match is {
            true => EventKind::Throttle { group, on },
            false => EventKind::Unthrottle { group, on },
        };
        self.emit(cpu, kind);
        self.renew_throttled(group, on);
    }

    /// Updates which of the group's tasks waiting on a CPU are throttled; tasks of inner groups
    /// count.
    fn renew_throttled(&mut self, group: GroupId, on: CpuId) {
        let mut groups = vec![group];
        while let Some(group) = groups.pop() {
            let book = &mut self.groups.books[group.index()];
            groups.extend_from_slice(&book.children);
            let members = std::mem::take(&mut book.members);
            for &task in &members {
                let t = self.task(task);
                if t.state == State::Waiting && t.queued_on == on {
                    self.forget_throttled(task);
                    self.note_throttled(task);
                }
            }
            self.groups.books[group.index()].members = members;
        }
    }

    /// A task waits: record whether its group is throttled.
    #[inline]
    pub(crate) fn note_throttled(&mut self, task: TaskId) {
        if self.groups.limited {
            self.note_if_throttled(task);
        }
    }

    fn note_if_throttled(&mut self, task: TaskId) {
        let on = self.task(task).queued_on;
        let group = self.host.task_group(task);
        if group.is_some_and(|group| self.host.throttled(group, on)) {
            self.task_mut(task).throttled = true;
            self.cpu_mut(on).nr_throttled += 1;
            self.groups.nr_throttled += 1;
        }
    }

    /// The task no longer waits there.
    #[inline]
    pub(crate) fn forget_throttled(&mut self, task: TaskId) {
        if std::mem::take(&mut self.task_mut(task).throttled) {
            let on = self.task(task).queued_on;
            self.cpu_mut(on).nr_throttled -= 1;
            self.groups.nr_throttled -= 1;
        }
    }

    /// Do throttled tasks wait for the policy's timer to unthrottle them?
    pub(crate) fn waits_for_quota(&self) -> bool {
        self.groups.nr_throttled > 0 && self.queue.next().is_some()
    }

    // ---- quotas -------------------------------------------------------------------

    /// Accounts a task's CPU time to its group before the group or class changes.
    pub(crate) fn settle_quota(&mut self, task: TaskId) {
        match self.task(task).state {
            State::Running(its_cpu) if self.groups.limited => self.settle(its_cpu),
            _ => {}
        }
    }

    fn note_limit(&mut self, group: GroupId, max: Option<CpuMax>) {
        let book = &mut self.groups.books[group.index()];
        book.max = max;
        book.limited_since = self.now;
        book.used_ns = 0;
        let known = self.setup.tuned.policy.has_quotas();
        self.groups.limited |= max.is_some() && known;
    }

    /// Adds a task's CPU time to its groups.
    #[cold]
    pub(crate) fn charge_quota(&mut self, task: TaskId, ns: Ns) {
        // No policy here supports groups of real-time tasks.
        let real_time = self.host.task(task).class >= Class::Fifo as u32;
        let preemptible = self.groups.preemptible && !real_time;
        let mut next = self.host.task_group(task);
        while let Some(group) = next {
            let allowed_ns = self.allowed_ns(group);
            let book = &mut self.groups.books[group.index()];
            book.used_ns += if real_time { 0 } else { ns.0 };
            if preemptible && allowed_ns.is_some_and(|allowed| book.used_ns > allowed) {
                self.groups.overdrawn = Some(group);
            }
            next = book.parent;
        }
    }

    /// CPU time that a group may have used since its limit was set: the quota of each period that
    /// has begun, plus the latest possible tick of each CPU.
    fn allowed_ns(&self, group: GroupId) -> Option<u64> {
        let book = &self.groups.books[group.index()];
        let max = book.max?;
        let periods = self.now.since(book.limited_since).0 / (u64::from(max.period_us) * 1000) + 2;
        let quota_ns = u64::from(max.quota_us) * 1000;
        Some(periods * quota_ns + u64::from(max.burst_us) * 1000 + self.late_ns())
    }

    /// The possible delay of ticks, summed over all CPUs.
    fn late_ns(&self) -> u64 {
        let of_cpu_ns = 2 * self.tick_ns.max(self.ticks.period_ns()) + 1_000_000;
        of_cpu_ns * self.cpus.len() as u64
    }

    /// Has a group used more than it may?
    #[cold]
    pub(crate) fn check_quota(&mut self, cpu: CpuId) -> Result<(), SimError> {
        let Some(group) = self.groups.overdrawn else {
            return Ok(());
        };
        let book = &self.groups.books[group.index()];
        let detail = format!(
            "group {} has used {} since {}, more than its quota of {} in each {} and {} for late ticks",
            self.setup.workload.control_groups[group.index()].name,
            Ns(book.used_ns),
            book.limited_since,
            Ns(book.max.map_or(0, |max| u64::from(max.quota_us) * 1000)),
            Ns(book.max.map_or(0, |max| u64::from(max.period_us) * 1000)),
            Ns(self.late_ns()),
        );
        Err(self.violation(Rule::Quota, cpu, None, None, detail))
    }
}
