//! Calling a scheduler's operations: SCX_CALL_OP() and its like.

use super::Context;
use crate::machine::{Machine, Ops, ProgramId};

/// Defines the operations.
macro_rules! operations {
    ($($op:ident $name:literal,)*) => {
        /// An operation of struct sched_ext_ops.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[allow(missing_docs)]
        pub enum Op { $($op,)* }

        impl Op {
            /// All of them, in the order of this list.
            pub const ALL: &[Op] = &[$(Op::$op,)*];

            /// Its name as a member of struct sched_ext_ops.
            pub fn name(self) -> &'static str {
                match self { $(Op::$op => $name,)* }
            }
        }
    };
}

operations! {
    SelectCpu "select_cpu",
    Enqueue "enqueue",
    Dequeue "dequeue",
    Dispatch "dispatch",
    Tick "tick",
    Runnable "runnable",
    Running "running",
    Stopping "stopping",
    Quiescent "quiescent",
    Yield "yield",
    SetWeight "set_weight",
    SetCpumask "set_cpumask",
    UpdateIdle "update_idle",
    CpuAcquire "cpu_acquire",
    CpuRelease "cpu_release",
    InitTask "init_task",
    ExitTask "exit_task",
    Enable "enable",
    Disable "disable",
    Dump "dump",
    DumpCpu "dump_cpu",
    DumpTask "dump_task",
    CgroupInit "cgroup_init",
    CgroupPrepMove "cgroup_prep_move",
    CgroupMove "cgroup_move",
    CgroupSetWeight "cgroup_set_weight",
    CgroupSetBandwidth "cgroup_set_bandwidth",
    CgroupSetIdle "cgroup_set_idle",
    Init "init",
    Exit "exit",
}

/// The program of each operation.
#[derive(Clone, Debug, Default)]
pub(super) struct Programs(Vec<Option<ProgramId>>);

impl Programs {
    pub fn new(ops: &Ops) -> Programs {
        let find = |op: &Op| ops.programs.get(op.name()).copied();
        Programs(Op::ALL.iter().map(find).collect())
    }

    /// SCX_HAS_OP().
    #[inline]
    pub fn get(&self, op: Op) -> Option<ProgramId> {
        self.0.get(op as usize).copied().flatten()
    }
}

impl Machine {
    /// Does the scheduler have this operation?
    #[inline]
    pub(super) fn has_op(&self, op: Op) -> bool {
        self.ext.programs.get(op).is_some()
    }

    /// Calls an operation, if the scheduler has it; 0 if not.  `locked`: the CPU whose run queue is locked.
    #[inline]
    pub(super) fn op(
        &mut self,
        op: Op,
        locked: Option<u32>,
        tasks: [Option<u32>; 2],
        arguments: &[u64],
    ) -> u64 {
        let Some(program) = self.ext.programs.get(op) else {
            return 0;
        };
        let inner = Context::new(op, locked, tasks);
        let outer = std::mem::replace(&mut self.ext.context, inner);
        let answer = self.call(program, arguments);
        if let Err(fault) = &answer {
            self.program_fault(fault);
        }
        self.ext.context = outer;
        answer.unwrap_or(0)
    }

    /// Calls an operation about one task, whose run queue is locked; its task_struct is the first argument.
    #[inline]
    pub(super) fn task_op(&mut self, op: Op, task: u32, more: &[u64]) {
        if !self.has_op(op) {
            return;
        }
        let found = self.ext.task(task);
        let (cpu, address) = (found.cpu, found.address);
        let mut arguments = [address, 0, 0, 0];
        arguments[1..=more.len()].copy_from_slice(more);
        let arguments = &arguments[..=more.len()];
        self.op(op, Some(cpu), [Some(task), None], arguments);
    }
}
