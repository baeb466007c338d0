//! What a machine is: its CPUs, its caches and what things cost on it.

use schedlab_trace::Ns;

/// The most CPUs a machine can have.
pub const MAX_CPUS: u32 = schedlab_input::quantity::MAX_CPUS;

/// A machine, ready to simulate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// The name users choose it by.
    pub name: String,
    /// One line about it.
    pub title: String,
    /// Logical CPUs; index = CPU number.  At least one, at most 1,024.
    pub cpus: Vec<Cpu>,
    /// Caches; [`Cpu::cache`] refers to them by index.
    pub caches: Vec<Cache>,
    /// Distances between memory nodes as ACPI's SLIT gives them: 10 from a node to itself.  Empty: memory
    /// costs the same from all nodes.
    pub distances: Vec<Vec<u32>>,
    /// Speed of each of two busy SMT siblings in thousandths of a CPU with idle siblings.
    pub smt_speed_milli: u32,
    /// Idle states deeper than the one [`Costs::idle_exit`] leaves, shallowest first.
    pub idle_states: Vec<IdleState>,
    /// What things cost.
    pub costs: Costs,
    /// How sleeps end.
    pub timers: Timers,
    /// When the CPUs tick.
    pub tick_phase: TickPhase,
    /// Its kernel is built for several CPUs, even if there is only one (the papers' "1P").
    pub smp: bool,
    /// Its kernel wakes with the hint that the waker is about to sleep (WF_SYNC) where a message arrives in, or
    /// is taken from, a pipe or socket.
    pub sync_wakeups: bool,
    /// When its kernel preempts a task.
    pub preemption: Preemption,
    /// Tick rate for policies that do not bring their own.
    pub hz: u32,
    /// Tick rate of the kernel, where it differs from the policy's: each tick of the kernel delivers the
    /// policy ticks that have become due.  None: the policy's own rate.
    pub kernel_hz: Option<u32>,
    /// A tick takes up to this much longer than [`Costs::tick`], drawn uniformly: times on a real machine
    /// vary, and tasks that run for exactly equal times would tie for ever.
    pub tick_jitter: Ns,
}

/// The distance of a node from itself, and between all nodes where none is given.
pub const LOCAL_DISTANCE: u32 = 10;

impl Machine {
    /// The distance of memory of node `to` from CPUs of node `from`; [`LOCAL_DISTANCE`] for the node itself.
    pub fn distance(&self, from: u32, to: u32) -> u32 {
        let row = self.distances.get(from as usize);
        let distance = row.and_then(|row| row.get(to as usize));
        distance.copied().unwrap_or(LOCAL_DISTANCE)
    }

    /// Multiplies a cost by a factor: a key of `[costs]`, or `refill` of all caches.  False: that cost is 0, or there is no
    /// such key.
    pub fn scale(&mut self, cost: &str, factor: f64) -> bool {
        let scaled = |value: u64| (value as f64 * factor).round() as u64;
        let mut any = false;
        if cost == "refill" {
            for cache in self.caches.iter_mut().filter(|cache| cache.size_bytes > 0) {
                cache.refill_ps_per_byte = scaled(cache.refill_ps_per_byte);
                any = true;
            }
        }
        for (key, value) in self.costs.slots() {
            if key == cost && value.0 > 0 {
                value.0 = scaled(value.0);
                any = true;
            }
        }
        any
    }

    /// Number of memory nodes: one more than the highest that a CPU is on.
    pub fn nr_nodes(&self) -> usize {
        let nodes = self.cpus.iter().map(|cpu| cpu.node as usize + 1);
        nodes.max().unwrap_or(1)
    }
}

/// A logical CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// Physical core; CPUs with the same core are SMT siblings.
    pub core: u32,
    /// Socket.
    pub package: u32,
    /// Memory node.
    pub node: u32,
    /// The cache that is modelled: its largest, an index into [`Machine::caches`].
    /// CPUs with the same one share a last-level cache.
    pub cache: u32,
    /// Speed relative to the machine's fastest CPU, 1 to 1024.
    pub capacity: u32,
}

/// An idle state of a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleState {
    /// A CPU is in it once it has idled for this long.
    pub after: Ns,
    /// Time to leave it, in place of [`Costs::idle_exit`].
    pub exit: Ns,
}

/// A cache, modelled by how much of each task's working set it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cache {
    /// Its size; 0: not modelled, every task is always warm.
    pub size_bytes: u64,
    /// Stall for each byte of a working set that has to be fetched again, in picoseconds.
    pub refill_ps_per_byte: u64,
}

/// What things cost, in nanoseconds of the CPU that does them.  All zero: an ideal machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// schedule() with nothing to look at.
    pub schedule: Ns,
    /// Each task schedule() looks at.
    pub examine: Ns,
    /// Each task a recalculation touches.
    pub recalculate: Ns,
    /// Switching from one task to another.
    pub context_switch: Ns,
    /// On top of that when the address space changes.
    pub mm_switch: Ns,
    /// Waking a task: choosing its CPU and queueing it.
    pub wakeup: Ns,
    /// Taking a run-queue lock another CPU held last: its cache line has to come over.
    pub lock_transfer: Ns,
    /// A timer tick.
    pub tick: Ns,
    /// From asking another CPU to reschedule until it does.
    pub ipi: Ns,
    /// Leaving the idle loop (sleep-state exit).
    pub idle_exit: Ns,
    /// Entering and leaving the kernel, for each operation that is a system call.
    pub syscall: Ns,
    /// fork().
    pub fork: Ns,
    /// exec().
    pub exec: Ns,
    /// exit().
    pub exit: Ns,
}

impl Costs {
    /// Each cost with its key in a description.
    pub fn named(&self) -> [(&'static str, Ns); 14] {
        { *self }.slots().map(|(key, cost)| (key, *cost))
    }

    /// Each cost with its key, to be changed.
    pub(crate) fn slots(&mut self) -> [(&'static str, &mut Ns); 14] {
        [
            ("schedule", &mut self.schedule),
            ("examine", &mut self.examine),
            ("recalculate", &mut self.recalculate),
            ("context_switch", &mut self.context_switch),
            ("mm_switch", &mut self.mm_switch),
            ("wakeup", &mut self.wakeup),
            ("lock_transfer", &mut self.lock_transfer),
            ("tick", &mut self.tick),
            ("ipi", &mut self.ipi),
            ("idle_exit", &mut self.idle_exit),
            ("syscall", &mut self.syscall),
            ("fork", &mut self.fork),
            ("exec", &mut self.exec),
            ("exit", &mut self.exit),
        ]
    }
}

/// How a sleep ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timers {
    /// In the first tick after the requested time plus one tick, as in kernels with jiffies.
    Tick,
    /// Exactly, as with high-resolution timers.
    HighResolution,
}

/// When a kernel preempts the running task: its preemption model (CONFIG_PREEMPT_*).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Preemption {
    /// On return to user mode (PREEMPT_NONE).
    None,
    /// Also where the kernel says that it may sleep (PREEMPT_VOLUNTARY); here as [`Preemption::None`], as kernel
    /// work says no such thing.
    Voluntary,
    /// Also in the kernel (PREEMPT).
    Full,
    /// As [`Preemption::Full`], but requests of the fair class wait for the return to user mode or the
    /// next tick (PREEMPT_LAZY, from Linux 6.13 on).
    Lazy,
}

/// When the CPUs of a machine tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TickPhase {
    /// All at once.
    Aligned,
    /// Spread evenly over the period, as Linux spread its local APIC timers.
    Staggered,
}
