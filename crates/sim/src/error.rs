//! Errors that end a simulation.

use std::fmt;

use schedlab_policy::{Fault, Hook};
use schedlab_trace::{CpuId, Ns, TaskId, Time};

/// Why a simulation ended early.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SimError {
    /// A hook broke the contract.
    #[error("at {time} on CPU {cpu}: {fault}")]
    Fault {
        /// The time.
        time: Time,
        /// The CPU.
        cpu: CpuId,
        /// The fault.
        fault: Fault,
    },
    /// A check failed.
    #[error("{0}")]
    Violation(Box<Violation>),
    /// More events than [`Limits::events`](crate::Limits::events).
    #[error("the run reached its limit of {limit} events at {time}")]
    TooManyEvents {
        /// The limit.
        limit: u64,
        /// When it was reached.
        time: Time,
    },
    /// More tasks than [`Limits::tasks`](crate::Limits::tasks).
    #[error("the run reached its limit of {limit} tasks at {time}")]
    TooManyTasks {
        /// The limit.
        limit: u32,
        /// When it was reached.
        time: Time,
    },
    /// More simulated time than [`Limits::time`](crate::Limits::time).
    #[error("the run reached its limit of {limit} of simulated time")]
    TooLong {
        /// The limit.
        limit: Ns,
    },
    /// Tasks execute operations, but time does not advance.
    #[error(
        "time does not advance after {time}: the operations of task {task} ({name}) take no time"
    )]
    Stalled {
        /// The time.
        time: Time,
        /// The last task that executed an operation.
        task: TaskId,
        /// Its name.
        name: String,
    },
    /// A task may use none of the machine's CPUs.
    #[error("task {task} may only use CPUs {}, but the machine has {nr_cpus}", list(.cpus))]
    NoCpuFor {
        /// The task's name.
        task: String,
        /// The CPUs it asks for.
        cpus: Vec<u32>,
        /// The number of CPUs.
        nr_cpus: usize,
    },
    /// A task used a resource in an invalid way.
    #[error("at {time}: task {task} ({name}): {problem}")]
    Program {
        /// The time.
        time: Time,
        /// The task.
        task: TaskId,
        /// Its name.
        name: String,
        /// The invalid use.
        problem: String,
    },
}

macro_rules! rules {
    ($($(#[$meta:meta])* $rule:ident,)*) => {
        /// The rules that are checked after every event.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Rule {
            $($(#[$meta])* $rule,)*
        }

        impl Rule {
            /// All of them.
            pub const ALL: &[Rule] = &[$(Rule::$rule,)*];
        }
    };
}

rules! {
    /// A runnable task runs or is in the policy's run queue.
    TaskLost,
    /// A task runs on one CPU at most, and a CPU runs one task at most.
    DoubleRun,
    /// A task runs and is queued only where its affinity allows.
    Placement,
    /// A task is only picked while it is runnable.
    NotRunnable,
    /// A CPU does not idle while a task waits on its run queue (if the policy promises it).
    WorkConservation,
    /// No SCHED_NORMAL task waits longer than the policy promises. Checked with at most 32 tasks on
    /// the CPU, without real-time tasks, with the policy's own tunables.
    Starvation,
    /// Tasks compete for one CPU for 10 s without yielding, with nice values at least 5 apart. The
    /// lower nice value gets what the policy promises: a larger share (NICE_WEIGHTED) or no smaller
    /// share (NICE_ORDERED). Not checked if the user has set a tunable.
    NicePromise,
    /// Two groups compete for one CPU for 10 s, and one weighs at least twice as much as the other.
    /// It gets more CPU time, if the policy supports groups.
    GroupWeight,
    /// A group uses at most its quota of CPU time, plus a tolerance for late ticks.
    Quota,
    /// Time never goes back.
    TimeOrder,
    /// Work + idle + overhead of each CPU is the time elapsed, to the nanosecond.
    CpuTime,
    /// Work done + work remaining of each task is the work it asked for.
    Work,
}

impl Rule {
    /// Its name in messages and reports.
    pub fn name(self) -> &'static str {
        match self {
            Rule::TaskLost => "task lost",
            Rule::DoubleRun => "task on two CPUs",
            Rule::Placement => "placement",
            Rule::NotRunnable => "picked a task that is not runnable",
            Rule::WorkConservation => "work conservation",
            Rule::Starvation => "starvation bound",
            Rule::NicePromise => "promise of nice",
            Rule::GroupWeight => "weight of a group",
            Rule::Quota => "quota of a group",
            Rule::TimeOrder => "time order",
            Rule::CpuTime => "CPU time",
            Rule::Work => "work conservation of a task",
        }
    }
}

/// A check that failed, and the event at which it failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// The rule.
    pub rule: Rule,
    /// The time.
    pub time: Time,
    /// The CPU.
    pub cpu: CpuId,
    /// The policy.
    pub policy: String,
    /// The hook that caused it, if one did.
    pub hook: Option<Hook>,
    /// The task.
    pub task: Option<(TaskId, String)>,
    /// The observed values.
    pub detail: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "at {} on CPU {}: policy {}",
            self.time, self.cpu, self.policy
        )?;
        if let Some(hook) = self.hook {
            write!(f, ", hook {}", hook.name())?;
        }
        write!(f, ": {}", self.rule.name())?;
        if let Some((task, name)) = &self.task {
            write!(f, ": task {task} ({name})")?;
        }
        write!(f, ": {}", self.detail)
    }
}

/// A list of numbers: "0, 2, 5".
fn list(numbers: &[u32]) -> String {
    let texts: Vec<String> = numbers.iter().map(u32::to_string).collect();
    texts.join(", ")
}
