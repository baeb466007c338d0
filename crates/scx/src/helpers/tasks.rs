//! Tasks and cgroups.

use super::error;
use crate::machine::Machine;

calls! {
    current(m) { m.current_task() }

    current_pid_tgid(m) {
        let task = m.current_task();
        let field = |offset: Option<u64>| {
            offset.map_or(0, |offset| u64::from(m.memory.get::<u32>(task.wrapping_add(offset))))
        };
        let offsets = &m.kernel.offsets;
        field(offsets.tgid) << 32 | field(offsets.pid)
    }

    current_comm(m, to, len) {
        let task = m.current_task();
        let len = u64::from(len as u32).min(16);
        let comm = m.kernel.offsets.comm.map(|offset| task.wrapping_add(offset));
        match comm.is_some_and(|comm| m.memory.copy(to, comm, len).is_ok()) {
            true => 0,
            false => error(libc::EINVAL),
        }
    }

    current_cgroup_id(m) {
        let cgroup = m.cgroup_of(m.current_task());
        m.cgroup_id(cgroup)
    }

    task_from_pid(m, pid) {
        let Some(offset) = m.kernel.offsets.pid else {
            return 0;
        };
        let is = |&task: &u64| task != 0 && m.memory.get::<u32>(task + offset) == pid as u32;
        m.tasks.iter().copied().find(is).unwrap_or(0)
    }

    task_under_cgroup(m, task, ancestor) {
        let mut cgroup = m.cgroup_of(task);
        let mut level = m.level(cgroup);
        while cgroup != ancestor && level > 0 {
            level -= 1;
            cgroup = m.ancestor(cgroup, level);
        }
        u64::from(cgroup == ancestor && cgroup != 0)
    }

    cgroup_from_id(m, id) {
        let mut cgroups = m.cgroups.iter().copied();
        cgroups.find(|&cgroup| m.cgroup_id(cgroup) == id).unwrap_or(0)
    }

    cgroup_ancestor(m, cgroup, level) {
        let level = level as i32;
        match level >= 0 && level <= m.level(cgroup) {
            true => m.ancestor(cgroup, level),
            false => 0,
        }
    }
}

impl Machine {
    /// What this CPU runs.
    pub(crate) fn current_task(&self) -> u64 {
        let this_cpu = self.this_cpu as usize;
        self.current.get(this_cpu).copied().unwrap_or(0)
    }

    /// A pointer within a structure; 0 if there is no such field.
    fn follow(&self, from: u64, offset: Option<u64>) -> u64 {
        offset.map_or(0, |offset| self.memory.get(from.wrapping_add(offset)))
    }

    /// The cgroup of a task.
    pub(crate) fn cgroup_of(&self, task: u64) -> u64 {
        let offsets = &self.kernel.offsets;
        self.follow(self.follow(task, offsets.cgroups), offsets.dfl_cgrp)
    }

    fn cgroup_id(&self, cgroup: u64) -> u64 {
        let offsets = &self.kernel.offsets;
        self.follow(self.follow(cgroup, offsets.kn), offsets.kn_id)
    }

    pub(crate) fn level(&self, cgroup: u64) -> i32 {
        let offset = self.kernel.offsets.level;
        offset.map_or(-1, |offset| self.memory.get(cgroup.wrapping_add(offset)))
    }

    pub(crate) fn ancestor(&self, cgroup: u64, level: i32) -> u64 {
        let at = self.kernel.offsets.ancestors;
        at.map_or(0, |at| {
            let at = cgroup.wrapping_add(at).wrapping_add(8 * level as u64);
            self.memory.get(at)
        })
    }
}
