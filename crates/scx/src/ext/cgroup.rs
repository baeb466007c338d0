//! Control groups: the simulator's groups as cgroups, and what a scheduler is told of them.
//!
//! Modelled after scx_tg_online(), scx_cgroup_init(), scx_cgroup_can_attach(), scx_cgroup_move_task() and
//! scx_group_set_*() of kernel/sched/ext.c and sched_move_task() of kernel/sched/core.c, Linux 7.1.
//!
//! The limits of groups (cpu.max) are told and not enforced, as in the kernel.  Groups never go away.

use schedlab_policy::ffi;

use super::consts::{deq, NONE};
use super::enable::cgroup_weight;
use super::tracepoints::Tracepoint;
use super::{Op, STOPPER};
use crate::machine::Machine;

/// The period of a group that has no limit: default_bw_period_us().
const PERIOD_US: u64 = 100_000;

/// CGROUP_WEIGHT_DFL
const DEFAULT_WEIGHT: u32 = 100;

/// What cpu.max and cpu.max.burst say, in µs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Bandwidth {
    period_us: u64,
    /// RUNTIME_INF (all ones): there is no limit.
    quota_us: u64,
    burst_us: u64,
}

impl Bandwidth {
    const NONE: Bandwidth = Bandwidth {
        period_us: PERIOD_US,
        quota_us: u64::MAX,
        burst_us: 0,
    };

    fn of(public: &ffi::Group) -> Bandwidth {
        match public.quota_ns {
            0 => Bandwidth::NONE,
            quota_ns => Bandwidth {
                period_us: public.period_ns / 1000,
                quota_us: quota_ns / 1000,
                burst_us: public.burst_ns / 1000,
            },
        }
    }
}

/// A group, and what the kernel has of it.
#[derive(Clone, Copy, Debug)]
struct Group {
    /// struct cgroup, css_set and task_group.
    cgroup: u64,
    css_set: u64,
    task_group: u64,
    weight: u32,
    bandwidth: Bandwidth,
}

/// All groups; the root is first.
#[derive(Clone, Debug, Default)]
pub(super) struct Groups {
    all: Vec<Group>,
    /// Names that the simulator has told, by the group's number.
    pub names: Vec<String>,
}

/// A group's place in the list.
///
/// # Safety
/// `group` is a group of the simulator, or null for the root.
unsafe fn index(group: *const ffi::Group) -> usize {
    match group.is_null() {
        true => 0,
        // SAFETY: the caller's promise.
        false => unsafe { (*group).id as usize + 1 },
    }
}

impl Machine {
    /// The group that all tasks are in unless they are put into another one.
    pub(super) fn make_root_group(&mut self) {
        self.make_group(0, DEFAULT_WEIGHT, "");
    }

    /// cgroup_init(): the scheduler hears of the groups that are there when it is enabled.
    pub(super) fn init_root_group(&mut self) {
        self.tell_group(0);
    }

    /// Makes the kernel's records of a group below `parent`; of the root if it is the first.
    fn make_group(&mut self, parent: usize, weight: u32, name: &str) {
        let fields = self.ext.fields;
        let btf = self.kernel.btf.clone();
        let size = |name: &str| u64::from(btf.size_of(name).unwrap_or(0));
        let above = self.ext.groups.all.get(parent).copied();
        let cgroup = self.add_owner(size("cgroup"));
        let level = above.map_or(0, |above| self.level(above.cgroup) + 1);
        let node = self.memory.allocate(size("kernfs_node"));
        let text = self.new_string(name);
        self.store(node + fields.kn_id, self.ext.groups.all.len() as u64 + 1);
        self.store(node + fields.kn_name, text);
        self.store(cgroup + fields.cgroup_self, cgroup);
        self.store(cgroup + fields.cgroup_kn, node);
        self.store(cgroup + fields.cgroup_level, level);
        for up in 0..level {
            let ancestor = above.map_or(0, |above| self.ancestor(above.cgroup, up));
            self.store(cgroup + fields.cgroup_ancestors + 8 * up as u64, ancestor);
        }
        self.store(cgroup + fields.cgroup_ancestors + 8 * level as u64, cgroup);
        let css_set = self.memory.allocate(size("css_set"));
        self.store(css_set + fields.css_set_dfl, cgroup);
        let task_group = self.memory.allocate(size("task_group"));
        self.store(task_group + fields.tg_cgroup, cgroup);
        let above = above.map_or((0, 0), |above| (above.cgroup, above.task_group));
        self.store(cgroup + fields.cgroup_parent, above.0);
        self.store(task_group + fields.tg_parent, above.1);
        self.cgroups.push(cgroup);
        self.ext.groups.all.push(Group {
            cgroup,
            css_set,
            task_group,
            weight,
            bandwidth: Bandwidth::NONE,
        });
    }

    /// scx_cgroup_init(), of one group.
    fn tell_group(&mut self, group: usize) {
        if !self.has_op(Op::CgroupInit) {
            return;
        }
        let (fields, arguments) = (self.ext.fields, self.ext.arguments);
        let Group {
            cgroup,
            weight,
            bandwidth,
            ..
        } = self.ext.groups.all[group];
        self.store(arguments + fields.cgroup_weight, weight);
        self.store(arguments + fields.cgroup_period, bandwidth.period_us);
        self.store(arguments + fields.cgroup_quota, bandwidth.quota_us);
        self.store(arguments + fields.cgroup_burst, bandwidth.burst_us);
        let answer = self.op(Op::CgroupInit, None, [None; 2], &[cgroup, arguments]) as i32;
        if answer != 0 {
            self.ops_failed(Op::CgroupInit, answer);
        }
    }

    /// A group comes into being: scx_tg_online().
    pub(super) fn add_group(&mut self, public: &ffi::Group) {
        // SAFETY: a group's parent is a group, or null.
        let parent = unsafe { index(public.parent) };
        let names = &self.ext.groups.names;
        let name = names.get(public.id as usize).cloned().unwrap_or_default();
        let weight = cgroup_weight(public.shares);
        self.make_group(parent, weight, &name);
        let new = self.ext.groups.all.len() - 1;
        self.ext.groups.all[new].bandwidth = Bandwidth::of(public);
        self.tell_group(new);
        if public.idle != 0 {
            let cgroup = self.ext.groups.all[new].cgroup;
            self.op(Op::CgroupSetIdle, None, [None; 2], &[cgroup, 1]);
        }
    }

    /// scx_group_set_weight()
    pub(super) fn set_group_weight(&mut self, public: &ffi::Group) {
        // SAFETY: a group of the simulator.
        let group = unsafe { index(public) };
        let weight = cgroup_weight(public.shares);
        let Group {
            cgroup,
            weight: old,
            ..
        } = self.ext.groups.all[group];
        if weight != old {
            let arguments = [cgroup, u64::from(weight)];
            self.op(Op::CgroupSetWeight, None, [None; 2], &arguments);
            self.ext.groups.all[group].weight = weight;
        }
    }

    /// scx_group_set_bandwidth()
    pub(super) fn set_group_bandwidth(&mut self, public: &ffi::Group) {
        // SAFETY: a group of the simulator.
        let group = unsafe { index(public) };
        let new = Bandwidth::of(public);
        let Group {
            cgroup,
            bandwidth: old,
            ..
        } = self.ext.groups.all[group];
        if new != old {
            let arguments = [cgroup, new.period_us, new.quota_us, new.burst_us];
            self.op(Op::CgroupSetBandwidth, None, [None; 2], &arguments);
            self.ext.groups.all[group].bandwidth = new;
        }
    }

    /// The group that the simulator says a task is in.
    fn group_of(&self, t: u32) -> Group {
        // SAFETY: the task exists, and so does its group.
        let group = unsafe { index((*self.ext.task(t).public).group) };
        self.ext
            .groups
            .all
            .get(group)
            .copied()
            .unwrap_or(self.ext.groups.all[0])
    }

    /// struct cgroup of a task's group.
    pub(super) fn cgroup_of_task(&self, t: u32) -> u64 {
        self.group_of(t).cgroup
    }

    /// struct cgroup of the root.
    pub(super) fn root_cgroup(&self) -> u64 {
        self.ext.groups.all.first().map_or(0, |root| root.cgroup)
    }

    /// tg_cgrp(task_group(p)), of a task_struct.
    pub(super) fn cgroup_scheduled(&self, address: u64) -> u64 {
        let fields = &self.ext.fields;
        let task_group: u64 = self.memory.get(address + fields.sched_task_group);
        self.memory.get(task_group + fields.tg_cgroup)
    }

    /// Writes a task's group into its task_struct.
    pub(super) fn describe_group(&mut self, t: u32) {
        let group = self.group_of(t);
        self.store_group(self.ext.task(t).address, group);
    }

    /// The same for the idle tasks, which are in the root.
    pub(super) fn describe_root_group(&mut self, address: u64) {
        self.store_group(address, self.ext.groups.all[0]);
    }

    fn store_group(&mut self, address: u64, group: Group) {
        let fields = self.ext.fields;
        self.store(address + fields.cgroups, group.css_set);
        self.store(address + fields.sched_task_group, group.task_group);
    }

    /// A task goes to another group: cgroup_attach_task(), cpu_cgroup_can_attach(), sched_move_task().
    pub(super) fn move_to_group(&mut self, t: u32) {
        let (address, fields) = (self.ext.task(t).address, self.ext.fields);
        let (from, to) = (self.cgroup_scheduled(address), self.group_of(t));
        if from == to.cgroup {
            return;
        }
        let answer = self.op(
            Op::CgroupPrepMove,
            None,
            [None; 2],
            &[address, from, to.cgroup],
        ) as i32;
        if answer != 0 {
            // FIDELITY: the kernel refuses the move and goes on.
            return self.ops_failed(Op::CgroupPrepMove, answer);
        }
        self.store(address + fields.cgroups, to.css_set);
        let node: u64 = self.memory.get(to.cgroup + fields.cgroup_kn);
        let name: u64 = self.memory.get(node + fields.kn_name);
        self.trace(Tracepoint::CgroupAttachTask, &[to.cgroup, name, address, 0]);
        let cpu = self.ext.task(t).cpu;
        let runs = ![NONE, STOPPER].contains(&t) && self.ext.rq(cpu).curr == t;
        self.sched_change(t, deq::MOVE, |m| {
            m.store(address + fields.sched_task_group, to.task_group);
            m.task_op(Op::CgroupMove, t, &[from, to.cgroup]);
        });
        if runs {
            self.resched_curr(cpu);
        }
    }
}
