//! Which CPUs idle: kernel/sched/ext_idle.c.

use super::consts::{ops, pick, wake, NONE};
use super::mask::Mask;
use super::Op;
use crate::machine::Machine;

/// -EBUSY
pub(super) const EBUSY: i32 = -libc::EBUSY;

/// struct scx_idle_cpus: where the two sets are in memory.
#[derive(Clone, Copy, Debug, Default)]
struct IdleCpus {
    cpu: u64,
    smt: u64,
}

/// Idle CPUs, and what of the machine's topology matters for choosing one.
#[derive(Clone, Debug, Default)]
pub(super) struct Idle {
    /// scx_builtin_idle_enabled
    enabled: bool,
    /// scx_builtin_idle_per_node
    per_node: bool,
    /// scx_selcpu_topo_llc and scx_selcpu_topo_numa
    use_llc: bool,
    use_numa: bool,
    /// sched_smt_active()
    smt_active: bool,
    global: IdleCpus,
    nodes: Vec<IdleCpus>,
    /// CPUs of each node.
    node_cpus: Vec<Mask>,
    /// Of each CPU: its node, its cache, its core's and its cache's CPUs.
    node: Vec<usize>,
    llc: Vec<u32>,
    siblings: Vec<Mask>,
    llc_cpus: Vec<Mask>,
}

impl Idle {
    /// A CPU's node, counted from 0.
    pub fn node_of(&self, cpu: u32) -> usize {
        self.node[cpu as usize]
    }

    /// Number of nodes.
    pub fn nr_nodes(&self) -> usize {
        self.node_cpus.len()
    }
}

impl Machine {
    /// Looks at the topology; no CPU comes or goes later.
    pub(super) fn idle_topology(&mut self) {
        let cpus = self.topology.cpus.clone();
        let nr_nodes = cpus.iter().map(|cpu| cpu.node + 1).max().unwrap_or(1);
        let same = |is: &dyn Fn(&schedlab_policy::Topology) -> bool| {
            Mask::of((0..).zip(&cpus).filter(|(_, cpu)| is(cpu)).map(|(i, _)| i))
        };
        let siblings = cpus.iter().map(|cpu| same(&|other| other.core == cpu.core));
        let llc_cpus = cpus.iter().map(|cpu| same(&|other| other.llc == cpu.llc));
        let node_cpus = (0..nr_nodes).map(|node| same(&|other| other.node == node));
        let siblings: Vec<Mask> = siblings.collect();
        self.ext.idle = Idle {
            smt_active: siblings.iter().any(|mask| mask.weight() > 1),
            siblings,
            llc_cpus: llc_cpus.collect(),
            node_cpus: node_cpus.collect(),
            node: cpus.iter().map(|cpu| cpu.node as usize).collect(),
            llc: cpus.iter().map(|cpu| cpu.llc).collect(),
            ..Idle::default()
        };
        self.update_selcpu_topology();
    }

    /// scx_idle_update_selcpu_topology()
    fn update_selcpu_topology(&mut self) {
        let nr_cpus = self.nr_cpus;
        let per_node = self.ext.flags & ops::BUILTIN_IDLE_PER_NODE != 0;
        let idle = &self.ext.idle;
        // A cache of one CPU, and the only node, make no scheduling domain.
        let llc_weight = |cpu: u32| match idle.llc_cpus[cpu as usize].weight() {
            1 => 0,
            weight => weight,
        };
        let numa_weight = |cpu: u32| match idle.nr_nodes() {
            1 => 0,
            _ => idle.node_cpus[idle.node_of(cpu)].weight(),
        };
        let use_llc = (1..nr_cpus).contains(&llc_weight(0));
        let mismatch = (0..nr_cpus).any(|cpu| llc_weight(cpu) != numa_weight(cpu));
        let use_numa = !per_node && (1..nr_cpus).contains(&numa_weight(0)) && mismatch;
        self.ext.idle.use_llc = use_llc;
        self.ext.idle.use_numa = use_numa;
    }

    /// scx_idle_enable(): all CPUs idle.
    pub(super) fn idle_enable(&mut self) {
        let all = Mask::of(0..self.nr_cpus);
        let flags = self.ext.flags;
        let per_node = flags & ops::BUILTIN_IDLE_PER_NODE != 0;
        let enabled = !self.has_op(Op::UpdateIdle) || flags & ops::KEEP_BUILTIN_IDLE != 0;
        let sets = |machine: &mut Machine, used: bool, cpus: &Mask| {
            let cpus = if used { cpus } else { &Mask::EMPTY };
            IdleCpus {
                cpu: machine.new_mask(cpus),
                smt: machine.new_mask(cpus),
            }
        };
        let global = sets(self, !per_node, &all);
        let masks = self.ext.idle.node_cpus.clone();
        let nodes = masks
            .iter()
            .map(|cpus| sets(self, per_node, cpus))
            .collect();
        let idle = &mut self.ext.idle;
        (idle.enabled, idle.per_node) = (enabled, per_node);
        (idle.global, idle.nodes) = (global, nodes);
    }

    // ---- the sets ------------------------------------------------------------------

    /// scx_cpu_node_if_enabled()
    fn node_if_enabled(&self, cpu: u32) -> Option<usize> {
        let idle = &self.ext.idle;
        idle.per_node.then(|| idle.node_of(cpu))
    }

    /// idle_cpumask()
    fn idle_cpus(&self, node: Option<usize>) -> IdleCpus {
        let idle = &self.ext.idle;
        node.map_or(idle.global, |node| idle.nodes[node])
    }

    fn test_bit(&self, mask: u64, cpu: u32) -> bool {
        let word: u64 = self.memory.get(mask + u64::from(cpu / 64) * 8);
        word >> (cpu % 64) & 1 != 0
    }

    fn assign_bit(&mut self, mask: u64, cpu: u32, to: bool) {
        let at = mask + u64::from(cpu / 64) * 8;
        let (word, bit) = (self.memory.get::<u64>(at), 1 << (cpu % 64));
        self.store(at, if to { word | bit } else { word & !bit });
    }

    /// The CPUs of a core leave the set of idle cores, or come into it.
    fn assign_core(&mut self, smt: u64, cpu: u32, to: bool) {
        let core = self.ext.idle.siblings[cpu as usize];
        for sibling in core.iter() {
            self.assign_bit(smt, sibling, to);
        }
    }

    /// scx_idle_test_and_clear_cpu()
    pub(super) fn idle_test_and_clear_cpu(&mut self, cpu: u32) -> bool {
        let sets = self.idle_cpus(self.node_if_enabled(cpu));
        if self.ext.idle.smt_active {
            self.assign_core(sets.smt, cpu, false);
        }
        let was = self.test_bit(sets.cpu, cpu);
        self.assign_bit(sets.cpu, cpu, false);
        was
    }

    /// update_builtin_idle()
    fn update_builtin_idle(&mut self, cpu: u32, idle: bool) {
        let sets = self.idle_cpus(self.node_if_enabled(cpu));
        self.assign_bit(sets.cpu, cpu, idle);
        if !self.ext.idle.smt_active {
            return;
        }
        let core = self.ext.idle.siblings[cpu as usize];
        if !idle || core.iter().all(|cpu| self.test_bit(sets.cpu, cpu)) {
            self.assign_core(sets.smt, cpu, idle);
        }
    }

    /// A CPU goes idle, stays it, or leaves it: __scx_update_idle().
    pub(super) fn update_idle(&mut self, cpu: u32, idle: bool, notify: bool) {
        if self.ext.idle.enabled && (notify || self.ext.rq(cpu).curr == NONE) {
            self.update_builtin_idle(cpu, idle);
        }
        if notify {
            let arguments = [u64::from(cpu), u64::from(idle)];
            self.op(Op::UpdateIdle, Some(cpu), [None; 2], &arguments);
        }
    }

    // ---- choosing one -----------------------------------------------------------------

    /// pick_idle_cpu_in_node()
    fn pick_idle_cpu_in_node(
        &mut self,
        allowed: &Mask,
        node: Option<usize>,
        flags: u64,
    ) -> Option<u32> {
        let sets = self.idle_cpus(node);
        loop {
            let core = match self.ext.idle.smt_active {
                true => {
                    let cores = self.read_mask(sets.smt).and(allowed);
                    self.any_distribute(&cores)
                }
                false => None,
            };
            if core.is_none() && self.ext.idle.smt_active && flags & pick::CORE != 0 {
                return None;
            }
            let cpu = match core {
                Some(cpu) => cpu,
                None => {
                    let cpus = self.read_mask(sets.cpu).and(allowed);
                    self.any_distribute(&cpus)?
                }
            };
            if self.idle_test_and_clear_cpu(cpu) {
                return Some(cpu);
            }
        }
    }

    /// scx_pick_idle_cpu()
    pub(super) fn pick_idle_cpu(
        &mut self,
        allowed: &Mask,
        node: Option<usize>,
        flags: u64,
    ) -> Option<u32> {
        let found = self.pick_idle_cpu_in_node(allowed, node, flags);
        let Some(node) = node.filter(|_| found.is_none() && flags & pick::IN_NODE == 0) else {
            return found;
        };
        self.nodes_by_distance(node)
            .into_iter()
            .find_map(|other| self.pick_idle_cpu_in_node(allowed, Some(other), flags))
    }

    /// The other nodes, the nearest first: for_each_node_numadist().
    fn nodes_by_distance(&self, from: usize) -> Vec<usize> {
        let distances = self.ext.hardware.distances.get(from);
        let distance = |to: &usize| distances.and_then(|to_all| to_all.get(*to)).copied();
        let others = (0..self.ext.idle.nr_nodes()).filter(|&node| node != from);
        let mut others: Vec<usize> = others.collect();
        others.sort_by_key(distance);
        others
    }

    /// The CPUs of `cpus` that are near, if there are any.
    fn near(allowed: &Mask, cpus: &Mask) -> Option<Mask> {
        Some(allowed.and(cpus)).filter(|mask| !mask.is_empty())
    }

    /// Where to wake a task, if a CPU idles: scx_select_cpu_dfl().  `within`: only these CPUs.
    pub(super) fn select_idle_cpu(
        &mut self,
        t: u32,
        prev_cpu: u32,
        wake_flags: u64,
        within: Option<&Mask>,
        flags: u64,
    ) -> Option<u32> {
        let node = self.node_if_enabled(prev_cpu);
        let own = self.read_mask(self.ext.task(t).address + self.ext.fields.cpus_mask);
        let allowed = match within {
            Some(within) => Self::near(&own, within)?,
            None => own,
        };
        let prev_allowed = within.unwrap_or(&own).has(prev_cpu);
        let idle = &self.ext.idle;
        let numa = idle
            .use_numa
            .then(|| idle.node_cpus[idle.node_of(prev_cpu)]);
        let numa = numa.and_then(|cpus| Self::near(&allowed, &cpus));
        let llc = idle.use_llc.then(|| idle.llc_cpus[prev_cpu as usize]);
        let llc = llc.filter(|cpus| cpus.weight() > 1);
        let llc = llc.and_then(|cpus| Self::near(&allowed, &cpus));
        if wake_flags & wake::SYNC != 0 {
            let waker = self.sync_cpu(prev_cpu, prev_allowed, &allowed, node, flags);
            if waker.is_some() {
                return waker;
            }
        }
        if self.ext.idle.smt_active {
            let sets = self.idle_cpus(node);
            if prev_allowed
                && self.test_bit(sets.smt, prev_cpu)
                && self.idle_test_and_clear_cpu(prev_cpu)
            {
                return Some(prev_cpu);
            }
            let near = [llc, numa].into_iter().flatten();
            for cpus in near {
                let cpu = self.pick_idle_cpu_in_node(&cpus, node, pick::CORE);
                if cpu.is_some() {
                    return cpu;
                }
            }
            let cpu = self.pick_idle_cpu(&allowed, node, flags | pick::CORE);
            if cpu.is_some() || flags & pick::CORE != 0 {
                return cpu;
            }
        }
        if prev_allowed && self.idle_test_and_clear_cpu(prev_cpu) {
            return Some(prev_cpu);
        }
        for cpus in [llc, numa].into_iter().flatten() {
            let cpu = self.pick_idle_cpu_in_node(&cpus, node, 0);
            if cpu.is_some() {
                return cpu;
            }
        }
        self.pick_idle_cpu(&allowed, node, flags)
    }

    /// The waker is about to sleep: the task may go to its CPU.
    fn sync_cpu(
        &mut self,
        prev_cpu: u32,
        prev_allowed: bool,
        allowed: &Mask,
        node: Option<usize>,
        flags: u64,
    ) -> Option<u32> {
        let this = self.this_cpu;
        let idle = &self.ext.idle;
        let shares = idle.llc[this as usize] == idle.llc[prev_cpu as usize];
        if prev_allowed && shares && self.idle_test_and_clear_cpu(prev_cpu) {
            return Some(prev_cpu);
        }
        let waker_node = self.ext.idle.node_of(this);
        // The kernel looks at the waker's node even where sets are not kept per node; then its set is empty.
        let idle_there = self.read_mask(self.idle_cpus(Some(waker_node)).cpu);
        let here = flags & pick::IN_NODE == 0 || node == Some(waker_node);
        let empty = self.ext.dsqs.nr(self.ext.rq(this).local) == 0;
        let curr = self.ext.rq(this).curr;
        let exiting = curr != NONE && self.pf(curr) & super::consts::pf::EXITING != 0;
        (!exiting && empty && here && !idle_there.is_empty() && allowed.has(this)).then_some(this)
    }

    // ---- for kfuncs --------------------------------------------------------------------

    /// check_builtin_idle_enabled()
    pub(super) fn builtin_idle_enabled(&mut self) -> bool {
        if !self.ext.idle.enabled {
            self.scx_error("built-in idle tracking is disabled".into());
        }
        self.ext.idle.enabled
    }

    /// Is the set of idle CPUs kept, for those who can do without?
    pub(super) fn is_builtin_idle(&self) -> bool {
        self.ext.idle.enabled
    }

    /// Are sets kept for each node?  Then it is an error to ask for one of all, in these words.
    pub(super) fn refuse_per_node(&mut self, message: &str) -> bool {
        if self.ext.idle.per_node {
            self.scx_error(message.into());
        }
        self.ext.idle.per_node
    }

    /// validate_node()
    pub(super) fn validate_node(&mut self, node: i32) -> Result<usize, i32> {
        if !self.ext.idle.per_node {
            self.scx_error("per-node idle tracking is disabled".into());
            return Err(-libc::EOPNOTSUPP);
        }
        if node == -1 {
            return Err(-libc::ENOENT);
        }
        match usize::try_from(node) {
            Ok(node) if node < self.ext.idle.nr_nodes() => Ok(node),
            _ => {
                self.scx_error(format!("invalid node {node}"));
                Err(-libc::EINVAL)
            }
        }
    }

    /// Address of the set of idle CPUs, or of idle cores.
    pub(super) fn idle_set(&self, node: Option<usize>, cores: bool) -> u64 {
        let sets = self.idle_cpus(node);
        match cores && self.ext.idle.smt_active {
            true => sets.smt,
            false => sets.cpu,
        }
    }

    /// CPUs of a node.
    pub(super) fn cpus_of_node(&self, node: usize) -> Mask {
        self.ext.idle.node_cpus[node]
    }
}
