//! Inputs of a host: the machine of its policy, and new tasks.

use schedlab_trace::{CpuId, GroupId, Ns};

use crate::Class;

/// The place and speed of a CPU.
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

/// The machine of a policy.
#[derive(Clone, Copy, Debug)]
pub struct Platform<'a> {
    /// One entry for each CPU; 1 to [`MAX_CPUS`].
    pub cpus: &'a [Topology],
    /// The kernel is built with CONFIG_SMP.
    pub smp: bool,
    /// The kernel has lazy preemption (PREEMPT_LAZY), which a policy may use.
    pub lazy: bool,
    /// Tick rate for policies without a tunable "hz".
    pub hz: u32,
}

/// Utilisation clamps of a task (uclamp), in 1/1024 of the fastest CPU's capacity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Clamps {
    /// The lower bound of its utilisation.
    pub min: u16,
    /// The upper bound of its utilisation.
    pub max: u16,
}

impl Clamps {
    /// The clamps of a task that sets none.
    pub const NONE: Clamps = Clamps { min: 0, max: 1024 };
}

/// The public fields of a new task.
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
    /// Its first CPU, unless the policy chooses another.
    pub cpu: CpuId,
    /// It is in the user's foreground; see `TASK_FOREGROUND` in types.h.
    pub foreground: bool,
    /// Its group; `None`: the root.
    pub group: Option<GroupId>,
    /// The slice it asks for; 0: the policy's own.
    pub slice: Ns,
    /// Its utilisation clamps.
    pub clamps: Clamps,
}
