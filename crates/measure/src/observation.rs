//! What [`State`](crate::state::State) observes and the metric families count.

use schedlab_trace::TaskId;

/// A task and the group it counts for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Who {
    pub task: TaskId,
    /// Index into the groups.
    pub group: u32,
}

/// A wait on a run queue that ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitEnd {
    pub who: Who,
    /// Since when the task was on a run queue.
    pub start: u64,
    /// Since when somebody wanted it to run, if the wait began with a wakeup.
    pub wanted: Option<u64>,
    pub end: u64,
    /// Did it end by running, rather than with the task's death or the trace?
    pub finished: bool,
}

/// How much the machine has to do and how much of it could.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Load {
    pub waiting_tasks: u32,
    pub idle_cpus: u32,
}
