//! Tracepoints of the kernel that tracing programs of a scheduler hear of (`tp_btf/NAME`).
//!
//! They are called where kernel/sched/core.c, kernel/fork.c, kernel/exit.c and kernel/cgroup/cgroup.c of Linux 7.1
//! call them, with the arguments of include/trace/events.

use super::Context;
use crate::machine::{Machine, ProgramId};

/// Defines the tracepoints that happen in a simulation.
macro_rules! tracepoints {
    ($($tracepoint:ident $name:literal,)*) => {
        /// A tracepoint that happens in a simulation.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[allow(missing_docs)]
        pub enum Tracepoint { $($tracepoint,)* }

        impl Tracepoint {
            /// All of them, in the order of this list.
            pub const ALL: &[Tracepoint] = &[$(Tracepoint::$tracepoint,)*];

            /// Its name in the kernel.
            pub fn name(self) -> &'static str {
                match self { $(Tracepoint::$tracepoint => $name,)* }
            }
        }
    };
}

tracepoints! {
    Waking "sched_waking",
    Wakeup "sched_wakeup",
    WakeupNew "sched_wakeup_new",
    Switch "sched_switch",
    MigrateTask "sched_migrate_task",
    ProcessFork "sched_process_fork",
    ProcessExit "sched_process_exit",
    CgroupAttachTask "cgroup_attach_task",
}

impl Tracepoint {
    /// The tracepoint of this name.
    pub fn named(name: &str) -> Option<Tracepoint> {
        let mut all = Tracepoint::ALL.iter();
        all.find(|tracepoint| tracepoint.name() == name).copied()
    }
}

/// The programs of each tracepoint, in the order in which they were attached.
#[derive(Clone, Debug, Default)]
pub(super) struct Listeners([Vec<ProgramId>; Tracepoint::ALL.len()]);

impl Listeners {
    pub fn new(programs: &[(Tracepoint, ProgramId)]) -> Listeners {
        let mut listeners = Listeners::default();
        for (tracepoint, program) in programs {
            listeners.0[*tracepoint as usize].push(*program);
        }
        listeners
    }
}

impl Machine {
    /// From now on these programs hear.
    pub(crate) fn listen(&mut self, programs: &[(Tracepoint, ProgramId)]) {
        self.ext.listeners = Listeners::new(programs);
    }

    /// Does a program hear of it?
    #[inline]
    pub(super) fn is_heard(&self, tracepoint: Tracepoint) -> bool {
        !self.ext.listeners.0[tracepoint as usize].is_empty()
    }

    /// Calls the programs of a tracepoint.
    #[inline]
    pub(super) fn trace(&mut self, tracepoint: Tracepoint, arguments: &[u64]) {
        if self.is_heard(tracepoint) {
            self.call_listeners(tracepoint, arguments);
        }
    }

    fn call_listeners(&mut self, tracepoint: Tracepoint, arguments: &[u64]) {
        let listeners = std::mem::take(&mut self.ext.listeners.0[tracepoint as usize]);
        let outer = std::mem::replace(&mut self.ext.context, Context::NOTHING);
        for &program in &listeners {
            if let Err(fault) = self.call(program, arguments) {
                self.program_fault(&fault);
            }
        }
        self.ext.context = outer;
        self.ext.listeners.0[tracepoint as usize] = listeners;
    }

    /// trace_sched_migrate_task(), of set_task_cpu().
    pub(super) fn trace_migration(&mut self, t: u32, cpu: u32) {
        let address = self.ext.task(t).address;
        self.trace(Tracepoint::MigrateTask, &[address, u64::from(cpu)]);
    }

    /// trace_sched_switch(), of __schedule().  `preempt` is false: tasks lose their CPU on the way back to user mode.
    pub(super) fn trace_switch(&mut self, cpu: u32, prev: u32, next: u32) {
        if !self.is_heard(Tracepoint::Switch) {
            return;
        }
        let (prev, next) = (self.address_on(cpu, prev), self.address_on(cpu, next));
        let state: u32 = self.memory.get(prev + self.ext.fields.state);
        self.trace(Tracepoint::Switch, &[0, prev, next, u64::from(state)]);
    }
}
