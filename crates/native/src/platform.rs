//! What a host is told: the machine its policy runs on, and tasks that come into being.

use schedlab_trace::{CpuId, GroupId, Ns};

use crate::Class;

/// Where a CPU sits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Topology {
    /// Physical core; CPUs with the same one are SMT siblings.
    pub core: u32,
    /// Last-level cache.
    pub llc: u32,
    /// Memory node.
    pub node: u32,
    /// Speed, 1024 for the machine's fastest CPU.
    pub capacity: u32,
}

impl Topology {
    /// The only CPU of a machine.
    pub const ONE: Topology = Topology {
        core: 0,
        llc: 0,
        node: 0,
        capacity: 1024,
    };
}

/// What a policy runs on.
#[derive(Clone, Copy, Debug)]
pub struct Platform<'a> {
    /// One entry for each CPU; 1 to [`MAX_CPUS`].
    pub cpus: &'a [Topology],
    /// The kernel is built for several CPUs.
    pub smp: bool,
    /// The kernel preempts lazily where a policy lets it (PREEMPT_LAZY).
    pub lazy: bool,
    /// Tick rate for policies without a tunable "hz".
    pub hz: u32,
}

/// Utilisation clamps of a task (uclamp), in 1/1024 of the fastest CPU's capacity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Clamps {
    /// It counts as using at least this much.
    pub min: u16,
    /// It counts as using at most this much.
    pub max: u16,
}

impl Clamps {
    /// What a task has that asked for none.
    pub const NONE: Clamps = Clamps { min: 0, max: 1024 };
}

/// The public fields of a task that is about to exist.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NewTask {
    /// nice, -20 to 19.
    pub nice: i8,
    /// Scheduling class.
    pub class: Class,
    /// Real-time priority, 1 to 99, or 0.
    pub rt_priority: u8,
    /// Address space; 0 for a kernel thread.
    pub mm: u32,
    /// CPU set: a number from [`Host::add_cpu_set`]; 0: all CPUs.
    pub cpu_set: u32,
    /// The CPU it starts on unless the policy chooses another.
    pub cpu: CpuId,
    /// It is of the group a user looks at.
    pub foreground: bool,
    /// The group it is in; none: the root.
    pub group: Option<GroupId>,
    /// The slice it asks for; 0: the policy's own.
    pub slice: Ns,
    /// Its utilisation clamps.
    pub clamps: Clamps,
}
