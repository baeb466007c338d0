//! Traces that contradict themselves.

use schedlab_trace::{CpuId, Ns, TaskId, Time};
use serde::{Serialize, Serializer};
use thiserror::Error;

/// The place where a trace contradicts itself; its numbers cannot be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum AccountingError {
    /// Time went back.
    #[error("at {time}: time goes back from {last}")]
    TimeWentBack {
        /// The event's time.
        time: Time,
        /// The time of the event before.
        last: Time,
    },
    /// An event names a CPU the machine does not have.
    #[error("at {time}: there is no CPU {cpu}")]
    UnknownCpu {
        /// When.
        time: Time,
        /// The CPU.
        cpu: CpuId,
    },
    /// An event names a task, mark or counter that was not announced.
    #[error("at {time}: task, mark or counter {id} was not announced")]
    NotAnnounced {
        /// When.
        time: Time,
        /// Its number.
        id: u32,
    },
    /// A CPU switches from a task it did not run.
    #[error("at {time}: CPU {cpu} switches from a task it does not run")]
    WrongPrev {
        /// When.
        time: Time,
        /// The CPU.
        cpu: CpuId,
    },
    /// A task starts to run that was not waiting: asleep, dead, or on another CPU.
    #[error("at {time}: CPU {cpu} switches to task {task}, which is not waiting")]
    NotWaiting {
        /// When.
        time: Time,
        /// The CPU.
        cpu: CpuId,
        /// The task.
        task: TaskId,
    },
    /// A dead task is woken.
    #[error("at {time}: dead task {task} is woken")]
    DeadWoken {
        /// When.
        time: Time,
        /// The task.
        task: TaskId,
    },
    /// Two spans of overhead overlap on a CPU.
    #[error("at {time}: CPU {cpu} begins overhead {ns} before its previous overhead ends")]
    OverlappingOverhead {
        /// When.
        time: Time,
        /// The CPU.
        cpu: CpuId,
        /// By how much they overlap.
        ns: Ns,
    },
    /// A CPU's tasks, idling and overhead do not add up to the run's duration.
    #[error("the times of CPU {cpu} add up to {accounted} ns, but the run took {duration} ns", accounted = accounted.0, duration = duration.0)]
    CpuTime {
        /// The CPU.
        cpu: CpuId,
        /// Run + idle + overhead.
        accounted: Ns,
        /// The run's duration.
        duration: Ns,
    },
    /// The tasks' CPU times do not add up to the CPUs'.
    #[error("tasks ran for {tasks} ns, but CPUs ran tasks for {cpus} ns", tasks = tasks.0, cpus = cpus.0)]
    TaskTime {
        /// Sum over tasks.
        tasks: Ns,
        /// Sum over CPUs.
        cpus: Ns,
    },
}

/// As its message, for people who read the JSON.
impl Serialize for AccountingError {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
