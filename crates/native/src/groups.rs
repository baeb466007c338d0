//! Control groups: their memory, their hooks, and throttling by the policy.

use std::ptr::null_mut;

use schedlab_trace::{CpuId, CpuMax, GroupId, GroupWeight, TaskId};

use crate::host::{get, replace, set, Host, Subject};
use crate::memory::Block;
use crate::{ffi, Fault, Hook};

/// The public fields of a group that is about to exist.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NewGroup {
    /// Its parent group; `None`: the root.
    pub parent: Option<GroupId>,
    /// Its weight against other groups and tasks of its parent.
    pub weight: GroupWeight,
    /// Its limit, if it has one.
    pub max: Option<CpuMax>,
}

/// A group's memory: the public fields followed by the policy's state, and the same for each CPU.
struct Memory {
    public: Block,
    cpus: Block,
    cpu_state: Block,
}

/// All groups of a host.
pub(crate) struct Groups {
    all: Vec<Memory>,
    bytes: usize,
    cpu_bytes: usize,
    nr_cpus: usize,
}

impl Groups {
    pub fn new(table: &ffi::Policy, nr_cpus: usize) -> Groups {
        Groups {
            all: Vec::new(),
            bytes: size_of::<ffi::Group>() + (table.group_size as usize).next_multiple_of(8),
            cpu_bytes: table.group_cpu_size as usize,
            nr_cpus,
        }
    }

    /// The address of a group; null for the root.
    pub fn pointer(&self, group: Option<GroupId>) -> *mut ffi::Group {
        group.map_or(null_mut(), |g| self.all[g.index()].public.as_ptr())
    }

    /// Adds a zeroed group.
    fn push(&mut self) -> GroupId {
        let id = GroupId(self.all.len() as u32);
        let memory = Memory {
            public: Block::new(self.bytes),
            cpus: Block::new(self.nr_cpus * size_of::<ffi::GroupCpu>()),
            cpu_state: Block::new(self.nr_cpus * self.cpu_bytes),
        };
        self.all.push(memory);
        id
    }
}

impl Host {
    /// Passes a group's name to a policy that wants names, before group_init().
    pub fn name_group(&mut self, group: GroupId, name: &str) {
        if let Some(instance) = &mut self.instance {
            instance.name_group(group, name);
        }
    }

    /// Adds a group with the next free number and calls group_init(). Its parent must exist.
    ///
    /// # Panics
    /// If groups nest deeper than [`MAX_GROUP_DEPTH`](crate::MAX_GROUP_DEPTH).
    pub fn add_group(&mut self, new: &NewGroup) -> Result<GroupId, Fault> {
        let id = self.groups.push();
        let parent = self.groups.pointer(new.parent);
        let depth = match parent.is_null() {
            true => 0,
            false => get!(parent, depth) + 1,
        };
        assert!(depth < ffi::MAX_GROUP_DEPTH, "groups nest too deep");
        let g = self.groups.pointer(Some(id));
        set!(g, parent, parent);
        set!(g, id, id.0);
        set!(g, depth, depth);
        self.write_weight(g, new.weight);
        self.write_max(g, new.max);
        self.wire_group(g, id);
        let Some(hook) = self.table.group_init else {
            return Ok(id);
        };
        let s = self.s();
        // SAFETY (here and for every hook): see Host::call_init().
        self.guarded(Hook::GroupInit, Subject::MACHINE, || unsafe { hook(s, g) })?;
        Ok(id)
    }

    fn wire_group(&mut self, g: *mut ffi::Group, id: GroupId) {
        let memory = &self.groups.all[id.index()];
        set!(g, host_only.cpus, memory.cpus.as_ptr());
        set!(g, host_only.cpu_state, memory.cpu_state.as_void());
        for cpu in 0..self.nr_cpus() {
            // SAFETY: there is one such record for each CPU.
            let of_cpu = unsafe { memory.cpus.as_ptr::<ffi::GroupCpu>().add(cpu) };
            set!(of_cpu, group, g);
            set!(of_cpu, cpu, cpu as u32);
        }
    }

    fn write_weight(&mut self, g: *mut ffi::Group, weight: GroupWeight) {
        set!(g, shares, weight.shares());
        set!(g, idle, u32::from(weight == GroupWeight::Idle));
    }

    fn write_max(&mut self, g: *mut ffi::Group, max: Option<CpuMax>) {
        set!(
            g,
            quota_ns,
            max.map_or(0, |max| u64::from(max.quota_us) * 1000)
        );
        set!(
            g,
            period_ns,
            max.map_or(0, |max| u64::from(max.period_us) * 1000)
        );
        set!(
            g,
            burst_ns,
            max.map_or(0, |max| u64::from(max.burst_us) * 1000)
        );
    }

    /// Changes a group's weight and tells the policy. The group's idle flag does not change.
    pub fn set_group_weight(&mut self, group: GroupId, weight: GroupWeight) -> Result<(), Fault> {
        let g = self.groups.pointer(Some(group));
        self.write_weight(g, weight);
        let Some(hook) = self.table.group_set_weight else {
            return Ok(());
        };
        let s = self.s();
        self.guarded(Hook::GroupSetWeight, Subject::MACHINE, || unsafe {
            hook(s, g)
        })
    }

    /// Changes a group's limit and tells the policy.
    pub fn set_group_max(&mut self, group: GroupId, max: Option<CpuMax>) -> Result<(), Fault> {
        let g = self.groups.pointer(Some(group));
        self.write_max(g, max);
        let Some(hook) = self.table.group_set_quota else {
            return Ok(());
        };
        let s = self.s();
        self.guarded(Hook::GroupSetQuota, Subject::MACHINE, || unsafe {
            hook(s, g)
        })
    }

    /// Moves a task to another group and tells the policy.
    pub fn set_task_group(&mut self, task: TaskId, group: Option<GroupId>) -> Result<(), Fault> {
        let from = replace!(self.task_ptr(task), group, self.groups.pointer(group));
        let Some(hook) = self.table.group_move else {
            return Ok(());
        };
        let (s, p) = (self.s(), self.task_ptr(task));
        self.guarded(Hook::GroupMove, Subject::task(task), || unsafe {
            hook(s, p, from)
        })
    }

    /// A task's group; `None`: the root.
    #[inline]
    pub fn task_group(&self, task: TaskId) -> Option<GroupId> {
        let group = get!(self.task_ptr(task), group);
        (!group.is_null()).then(|| GroupId(get!(group, id)))
    }

    /// Is this group or an outer group throttled on this CPU?
    pub fn throttled(&self, group: GroupId, cpu: CpuId) -> bool {
        let mut g = self.groups.pointer(Some(group));
        while !g.is_null() {
            let cpus = get!(g, host_only.cpus);
            // SAFETY: there is one such record for each CPU.
            let of_cpu = unsafe { cpus.add(cpu.index()) };
            if get!(of_cpu, throttled) != 0 {
                return true;
            }
            g = get!(g, parent);
        }
        false
    }

    /// The next group whose throttling on a CPU has changed since the last call, with the CPU and
    /// the new state.
    #[inline]
    pub fn take_throttled(&mut self) -> Option<(GroupId, CpuId, bool)> {
        let of_cpu = get!(self.s(), host_only.throttles);
        if of_cpu.is_null() {
            return None;
        }
        let next = replace!(of_cpu, changed_next, null_mut());
        let rest = if next == of_cpu { null_mut() } else { next };
        set!(self.s(), host_only.throttles, rest);
        let group = get!(of_cpu, group);
        let group = GroupId(get!(group, id));
        let cpu = CpuId(get!(of_cpu, cpu));
        Some((group, cpu, get!(of_cpu, throttled) != 0))
    }
}
