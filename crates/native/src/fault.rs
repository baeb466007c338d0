//! Faults of a policy within a hook.

use std::fmt;

use schedlab_trace::{CpuId, TaskId};

/// A hook of the contract.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Hook {
    Init,
    Fork,
    Exit,
    SelectCpu,
    Enqueue,
    Dequeue,
    PickNext,
    Switched,
    Tick,
    Yield,
    SetNice,
    SetClass,
    SetSlice,
    SetCpumask,
    GroupInit,
    GroupMove,
    GroupSetWeight,
    GroupSetQuota,
    Timer,
    Hrtick,
    Priority,
    Queued,
    Check,
}

impl Hook {
    /// Its name in policy.h.
    pub fn name(self) -> &'static str {
        match self {
            Hook::Init => "init",
            Hook::Fork => "fork",
            Hook::Exit => "exit",
            Hook::SelectCpu => "select_cpu",
            Hook::Enqueue => "enqueue",
            Hook::Dequeue => "dequeue",
            Hook::PickNext => "pick_next",
            Hook::Switched => "switched",
            Hook::Tick => "tick",
            Hook::Yield => "yield",
            Hook::SetNice => "set_nice",
            Hook::SetClass => "set_class",
            Hook::SetSlice => "set_slice",
            Hook::SetCpumask => "set_cpumask",
            Hook::GroupInit => "group_init",
            Hook::GroupMove => "group_move",
            Hook::GroupSetWeight => "group_set_weight",
            Hook::GroupSetQuota => "group_set_quota",
            Hook::Timer => "timer",
            Hook::Hrtick => "hrtick",
            Hook::Priority => "priority",
            Hook::Queued => "queued",
            Hook::Check => "check",
        }
    }
}

/// A hook broke the contract.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// The policy.
    pub policy: String,
    /// The hook.
    pub hook: Hook,
    /// The task of the call, if it has one.
    pub task: Option<TaskId>,
    /// The fault.
    pub kind: FaultKind,
}

/// How a hook broke the contract.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FaultKind {
    /// Its loops ran more rounds than a hook may.
    Looped,
    /// It called policy_error() or row_error().
    Reported {
        /// Its message.
        message: String,
        /// The task of the message.
        task: Option<TaskId>,
        /// The row of a table of tunables.
        row: Option<u64>,
    },
    /// init() failed with this number.
    InitFailed(i32),
    /// It returned a CPU that does not exist or that the task's affinity forbids.
    BadCpu {
        /// The task.
        task: TaskId,
        /// The returned CPU.
        cpu: u32,
    },
    /// pick_next() returned something that is not a task of this machine.
    NotATask,
    /// The policy has no such hook, and there is no default for it.
    Missing,
    /// A timer expired far too often; see timer_start() in host.h.
    TimerStorm,
    /// It named a CPU that does not exist.
    NoSuchCpu(CpuId),
    /// It uses the lock of this CPU's run queue in a wrong way.
    Lock(LockFault, CpuId),
    /// It wrote outside of the state that it declares.
    WroteBeyond,
}

/// What a hook does wrong with the lock of a run queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockFault {
    /// rq_unlock() without rq_lock().
    NotHeld,
    /// rq_lock() of a run queue that it has locked already.
    Twice,
    /// It moves a task from or to a run queue that it has not locked.
    Missing,
    /// It ends without rq_unlock().
    Kept,
}

impl LockFault {
    /// That of the number in `locks.h`.
    pub(crate) fn of(number: u32) -> LockFault {
        match number {
            1 => LockFault::NotHeld,
            2 => LockFault::Twice,
            _ => LockFault::Missing,
        }
    }

    fn sentence(self) -> &'static str {
        match self {
            LockFault::NotHeld => "unlocks the run queue without having locked it",
            LockFault::Twice => "locks the run queue twice",
            LockFault::Missing => "moves a task from or to the run queue without its lock",
            LockFault::Kept => "ends with the run queue locked",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "policy {}, hook {}: ", self.policy, self.hook.name())?;
        match &self.kind {
            FaultKind::Looped => {
                let most = crate::host::LOOP_BUDGET;
                write!(
                    f,
                    "looped without end (more than {most} rounds in one call)"
                )?;
                self.task
                    .map_or(Ok(()), |task| write!(f, " when called for task {task}"))
            }
            FaultKind::Reported { message, task, row } => {
                write!(f, "policy_error: {message}")?;
                match (task, self.task) {
                    (Some(task), _) => write!(f, " (task {task})")?,
                    (None, Some(task)) => write!(f, " (when called for task {task})")?,
                    (None, None) => {}
                }
                row.map_or(Ok(()), |row| write!(f, " (row {row})"))
            }
            FaultKind::InitFailed(code) => write!(f, "failed with {code}"),
            FaultKind::BadCpu { task, cpu } => {
                write!(
                    f,
                    "chose CPU {cpu} for task {task}, which may not run there"
                )
            }
            FaultKind::NotATask => write!(f, "returned something that is not a task"),
            FaultKind::Missing => write!(f, "is missing; every policy needs it"),
            FaultKind::TimerStorm => write!(
                f,
                "its timer expired more than {} times within a millisecond of simulated time",
                crate::host::MOST_EXPIRIES_PER_MS
            ),
            FaultKind::Lock(fault, cpu) => write!(f, "{}: CPU {cpu}", fault.sentence()),
            FaultKind::WroteBeyond => {
                write!(f, "wrote outside of the state that the policy declares")
            }
            FaultKind::NoSuchCpu(cpu) => write!(f, "named CPU {cpu}, which does not exist"),
        }
    }
}

impl std::error::Error for Fault {}
