//! What ends a simulation early.

use std::fmt;

use schedlab_policy::{Fault, Hook};
use schedlab_trace::{CpuId, Ns, TaskId, Time};

/// Why a simulation could not go on.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SimError {
    /// A hook broke the contract.
    #[error("at {time} on CPU {cpu}: {fault}")]
    Fault {
        /// When.
        time: Time,
        /// Where.
        cpu: CpuId,
        /// What.
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
    /// Time stands still.
    #[error("time stands still at {time}: task {task} ({name}) goes on without using any")]
    Stalled {
        /// When.
        time: Time,
        /// The task that was at it last.
        task: TaskId,
        /// Its name.
        name: String,
    },
    /// The workload asks for CPUs the machine has not.
    #[error("task {task} may only use CPUs {}, but the machine has {nr_cpus}", list(.cpus))]
    NoCpuFor {
        /// The task's name.
        task: String,
        /// What it asks for.
        cpus: Vec<u32>,
        /// What there is.
        nr_cpus: usize,
    },
    /// A task used something in a way no program can.
    #[error("at {time}: task {task} ({name}): {problem}")]
    Program {
        /// When.
        time: Time,
        /// The task.
        task: TaskId,
        /// Its name.
        name: String,
        /// What it did.
        problem: String,
    },
}

/// What is checked after every step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    /// A runnable task is in the policy's hands or running, never nowhere.
    TaskLost,
    /// A task runs on one CPU at most, and a CPU runs one task at most.
    DoubleRun,
    /// A task runs and is queued only where its affinity allows.
    Placement,
    /// A task is only picked while it is runnable.
    NotRunnable,
    /// A CPU does not idle while a task waits on its run queue (if the policy promises it).
    WorkConservation,
    /// No SCHED_NORMAL task waits longer than the policy promises: among at most 32 tasks on its CPU, in a
    /// run without real-time tasks, with the policy's own constants.
    Starvation,
    /// Among tasks that compete for one CPU for 10 s without yielding, with nice values at least 5 apart, lower
    /// nice gets what the policy promises: a larger share (NICE_WEIGHTED) or no smaller one (NICE_ORDERED).  Not
    /// checked if the user has set a tunable.
    NicePromise,
    /// A group whose tasks compete with another's for one CPU for 10 s, and which weighs twice as much or more, gets
    /// more, if the policy knows groups.
    GroupWeight,
    /// A group uses no more CPU time than its quota, but for what is owed to ticks.
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

/// A check that failed, and the event that did it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// What was checked.
    pub rule: Rule,
    /// When.
    pub time: Time,
    /// On which CPU.
    pub cpu: CpuId,
    /// The policy.
    pub policy: String,
    /// The hook that did it, if one did.
    pub hook: Option<Hook>,
    /// The task concerned.
    pub task: Option<(TaskId, String)>,
    /// What was found.
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

/// Numbers as people list them: "0, 2, 5".
fn list(numbers: &[u32]) -> String {
    let texts: Vec<String> = numbers.iter().map(u32::to_string).collect();
    texts.join(", ")
}
