//! What rebuilding a recording gives.

use schedlab_recording::flow::Reason;
use schedlab_trace::{Ns, TaskId, TaskInfo};
use schedlab_workload::Workload;
use serde::Serialize;

use crate::{ReactionTimes, SchedulingCosts};

/// What becomes of events from outside: timers, devices, the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// They happen when they were recorded, however far the tasks have come: requests from a
    /// world that does not wait.
    Open,
    /// They happen as long after the task began to wait as was recorded: sleeps and devices that
    /// start when they are woken.
    #[default]
    Closed,
}

/// What ends a replay.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum End {
    /// Time, if most of the recorded work was done by tasks that lived on when the recording ended; else work.
    Auto,
    /// All recorded work is done.
    #[default]
    Work,
    /// As much time has passed as was recorded.  Tasks that only compute and wait for timers do not run out of work.
    Time,
}

/// What a recording cannot tell, so that a replay cannot know either.
pub const LIMITS: &[&str] = &[
    "work is as long as it was: spinning, spinning on locks and CPU frequency are part of it",
    "caches are as warm as they were, wherever a task runs",
    "time in interrupts counts as work of the task they interrupted",
    "what was there without waiting in the recording (data, locks) is there in the replay",
    "yields are seen only where the recording has sys_enter_sched_yield",
    "locks (futexes that their waiters also wake) and what is not understood wait as they were recorded to",
    "affinities are unknown but of the kernel's own per-CPU threads",
    "groups (cgroups, autogroup, containers) are unknown: every task competes for itself",
];

/// A recording as a workload.
#[derive(Clone, Debug)]
pub struct Replay {
    /// What runs.  Task specifications have the names of [`Replay::tasks`].
    pub workload: Workload,
    /// Who each of the workload's task specifications was in the recording.
    pub tasks: Vec<TaskInfo>,
    /// How events from outside happen.
    pub mode: Mode,
    /// What was found.
    pub counts: Counts,
    /// From the recording's begin to its end.
    pub span: Ns,
    /// CPUs of the recorded machine.
    pub nr_cpus: u32,
    /// How fast the recorded machine was.
    pub reactions: ReactionTimes,
    /// What scheduling cost there, where that is known and no part of the work.
    pub costs: SchedulingCosts,
}

/// What the rebuilt workload consists of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Counts {
    /// Tasks.
    pub tasks: u64,
    /// Events of the trace.
    pub events: u64,
    /// Blocks another task ended.
    pub woken_by_tasks: u64,
    /// Blocks that an interrupt or an unknown waker ended.
    pub woken_from_outside: u64,
    /// Of these, blocks with an unknown waker.
    pub woken_by_unknown: u64,
    /// Wakeups of tasks that were not asleep: they change nothing.
    pub spurious_wakeups: u64,
    /// Tasks that existed, but did nothing in the trace.
    pub unseen: u64,
    /// Tasks that ran or waited for a CPU when the recording ended.  A replay has a switch more for
    /// each: it comes to rest.
    pub cut_off: u64,
    /// CPU time of all tasks: the work to be done.
    pub work_ns: Ns,
    /// CPU time that is no work: what scheduling and recording cost.
    pub costs_ns: Ns,
    /// Does the replay end when as much time has passed as was recorded?
    pub ends_by_time: bool,
    /// Were system calls recorded?
    pub has_flow: bool,
    /// Blocks that wait for data or for room: they block again if and only if there is none.
    pub woken_by_data: u64,
    /// Blocks whose end is understood: by data, by a child, by a timer or a device.  The others end as they were
    /// recorded, whatever is the cause.
    pub understood: u64,
    /// The others, by why the task waited, as far as that is known: see [`Reason::ALL`].
    pub opaque: [u64; Reason::ALL.len()],
}

impl Counts {
    /// Blocks of any kind.
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

    /// A task has slept for something else than data.
    pub(crate) fn waited(&mut self, reason: Reason, understood: bool) {
        match understood {
            true => self.understood += 1,
            false => self.opaque[reason as usize] += 1,
        }
    }

    /// What the waits that are not understood were for, most frequent first: "90 in poll, 3 on futexes".
    pub fn opaque_reasons(&self) -> String {
        let reasons = Reason::ALL.iter().zip(self.opaque);
        let mut reasons: Vec<_> = reasons.filter(|(_, count)| *count > 0).collect();
        reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let shown = reasons
            .iter()
            .map(|(reason, count)| format!("{count} {reason}"));
        shown.collect::<Vec<_>>().join(", ")
    }

    /// A task has slept for data or for room.
    pub(crate) fn slept_for_data(&mut self) {
        self.woken_by_data += 1;
        self.understood += 1;
    }
}

impl Replay {
    /// The tasks a name means: of that name, of that group, or with that thread id.
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

/// Makes a workload fit a machine of so many CPUs: the kernel's threads of CPUs that are not there
/// are bound to those that are.
pub fn fit(workload: &mut Workload, nr_cpus: u32) {
    for cpu in workload.cpu_sets.iter_mut().flatten() {
        *cpu %= nr_cpus.max(1);
    }
}
