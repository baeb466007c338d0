//! The result of rebuilding a recording.

use schedlab_recording::flow::Reason;
use schedlab_trace::{Ns, TaskId, TaskInfo};
use schedlab_workload::Workload;
use serde::Serialize;

use crate::{ReactionTimes, SchedulingCosts};

/// How events from outside happen: timers, devices, the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// At the recorded times, independent of the tasks: requests from outside.
    Open,
    /// At the recorded distance from the start of the task's wait: sleeps and devices that the task
    /// itself starts.
    #[default]
    Closed,
}

/// What ends a replay.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum End {
    /// Time, if most recorded work belongs to tasks that were alive at the end of the recording;
    /// otherwise work.
    Auto,
    /// All recorded work has been done.
    #[default]
    Work,
    /// The recorded time has passed. Tasks that only compute and wait for timers have endless work.
    Time,
}

/// Facts that a recording does not contain, so that a replay cannot reproduce them.
pub const LIMITS: &[&str] = &[
    "work takes the recorded time: spinning (also on locks) and CPU frequency are part of it",
    "caches are as warm as in the recording, on any CPU",
    "time in interrupts counts as work of the task they interrupted",
    "data and locks that were available without waiting in the recording are available in the replay",
    "yields are seen only where the recording has sys_enter_sched_yield",
    "waits for locks (futexes that their waiters also wake) and waits of unknown cause end as recorded",
    "affinities are unknown, except those of the kernel's per-CPU threads",
    "groups (cgroups, autogroup, containers) are unknown: every task competes as if it were in no group",
];

/// A recording rebuilt as a workload.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The workload. Its specifications are in the order of [`Replay::tasks`].
    pub workload: Workload,
    /// The recorded task of each specification.
    pub tasks: Vec<TaskInfo>,
    /// How events from outside happen.
    pub mode: Mode,
    /// Counts of the rebuild.
    pub counts: Counts,
    /// From the start of the recording to its end.
    pub span: Ns,
    /// CPUs of the recorded machine.
    pub nr_cpus: u32,
    /// Reaction times of the recorded machine.
    pub reactions: ReactionTimes,
    /// Scheduling costs that are known and not part of the work.
    pub costs: SchedulingCosts,
}

/// Counts of a rebuilt workload.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Counts {
    /// Tasks.
    pub tasks: u64,
    /// Events of the trace.
    pub events: u64,
    /// Blocks that another task ended.
    pub woken_by_tasks: u64,
    /// Blocks that an interrupt or an unknown waker ended.
    pub woken_from_outside: u64,
    /// Of these, blocks with an unknown waker.
    pub woken_by_unknown: u64,
    /// Wakeups of tasks that were not asleep; they have no effect.
    pub spurious_wakeups: u64,
    /// Tasks without any event of their own.
    pub unseen: u64,
    /// Tasks that were runnable when the recording ended. Each has one more switch in a replay,
    /// when it comes to rest.
    pub cut_off: u64,
    /// CPU time of all tasks that is work.
    pub work_ns: Ns,
    /// CPU time that is not work: costs of scheduling and recording.
    pub costs_ns: Ns,
    /// Does the replay end after the recorded time?
    pub ends_by_time: bool,
    /// Were system calls recorded?
    pub has_flow: bool,
    /// Blocks that wait for data or room; in a replay they block only if there is none.
    pub woken_by_data: u64,
    /// Blocks with an understood end: data, a child, a timer or a device. The others end as
    /// recorded.
    pub understood: u64,
    /// The other blocks by the reason of the wait: see [`Reason::ALL`].
    pub opaque: [u64; Reason::ALL.len()],
}

impl Counts {
    /// All blocks.
    pub fn blocks(&self) -> u64 {
        self.woken_by_tasks + self.woken_from_outside + self.woken_by_data
    }

    /// The share of blocks whose end is understood.
    pub fn understood_share(&self) -> f64 {
        match self.blocks() {
            0 => 1.0,
            blocks => self.understood as f64 / blocks as f64,
        }
    }

    /// Counts a wait for something other than data.
    pub(crate) fn waited(&mut self, reason: Reason, understood: bool) {
        match understood {
            true => self.understood += 1,
            false => self.opaque[reason as usize] += 1,
        }
    }

    /// The reasons of the waits that are not understood, most frequent first: "90 in poll, 3 on
    /// futexes".
    pub fn opaque_reasons(&self) -> String {
        let reasons = Reason::ALL.iter().zip(self.opaque);
        let mut reasons: Vec<_> = reasons.filter(|(_, count)| *count > 0).collect();
        reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let shown = reasons
            .iter()
            .map(|(reason, count)| format!("{count} {reason}"));
        shown.collect::<Vec<_>>().join(", ")
    }

    /// Counts a wait for data or room.
    pub(crate) fn slept_for_data(&mut self) {
        self.woken_by_data += 1;
        self.understood += 1;
    }
}

impl Replay {
    /// The tasks with this name, group or thread id.
    pub fn find(&self, name: &str) -> Vec<TaskId> {
        let pid: Option<u32> = name.parse().ok();
        let means = |(spec, info): &(&schedlab_workload::TaskSpec, &TaskInfo)| {
            spec.name == name
                || info.name == name
                || info.group == name
                || (pid.is_some() && info.pid == pid)
        };
        let tasks = self.workload.tasks.iter().zip(&self.tasks);
        tasks.filter(means).map(|(_, info)| info.id).collect()
    }
}

/// Makes a workload fit a machine with this number of CPUs: kernel threads of missing CPUs are
/// bound to existing ones.
pub fn fit(workload: &mut Workload, nr_cpus: u32) {
    for cpu in workload.cpu_sets.iter_mut().flatten() {
        *cpu %= nr_cpus.max(1);
    }
}
