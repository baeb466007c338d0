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
    /// When its wakeup began, if the wait began with one.
    pub wanted: Option<u64>,
    pub end: u64,
    /// Did the task run at its end?  Otherwise the task or the trace ended.
    pub finished: bool,
}

/// How many tasks wait and how many CPUs could run them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Load {
    pub waiting_tasks: u32,
    pub idle_cpus: u32,
}
