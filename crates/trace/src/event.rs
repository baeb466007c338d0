//! The events.

use crate::{CpuId, GroupId, MarkId, Ns, TaskId, Time};
use serde::{Deserialize, Serialize};

/// The state of the task that a CPU stops running.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PrevState {
    /// Still runnable, displaced: its slice was over or a better task came (kernel: `R`, `R+`).
    Preempted,
    /// Still runnable, displaced by its own sched_yield (kernel: `R`).
    Yielded,
    /// Still runnable, told to leave this CPU because its affinity changed (kernel: `R`).
    Moved,
    /// Blocked and open to signals (kernel: `S`).
    Sleeping,
    /// Blocked on a device (kernel: `D`).
    DiskSleep,
    /// Exited, waiting to be reaped (kernel: `Z`).
    Exited,
    /// The CPU was idle; there was no task.
    Idle,
}

/// The context that woke a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WakeContext {
    /// The task running on the event's CPU.
    Task,
    /// A timer or device interrupt on the event's CPU.
    Irq,
    /// A softirq on the event's CPU.  It may serve a device, or what the running task has just sent to itself.
    SoftIrq,
}

/// Scheduling class in the sense of sched_setscheduler(2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskClass {
    /// SCHED_OTHER
    Normal,
    /// SCHED_BATCH
    Batch,
    /// SCHED_IDLE
    Idle,
    /// SCHED_ISO of the -ck kernels: soft real time for unprivileged tasks
    Iso,
    /// SCHED_FIFO: real time, no slice
    Fifo,
    /// SCHED_RR: real time, round robin
    Rr,
}

/// What a control group weighs against the groups and tasks beside it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GroupWeight {
    /// 1 to 10000; 100 is as much as a task of nice 0 (cpu.weight).
    Weight(u16),
    /// 2 to 262144; 1024 is as much (cpu.shares of version 1).
    Shares(u32),
    /// As much as a task of this nice value (autogroups).
    Nice(i8),
    /// It runs when nobody else wants to (cpu.idle).
    Idle,
}

/// What nice -20 to 19 weighs: sched_prio_to_weight of Linux 2.6.23 and later.
const NICE_SHARES: [u32; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904,
    3906, 3121, 2501, 1991, 1586, 1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87,
    70, 56, 45, 36, 29, 23, 18, 15,
];

impl GroupWeight {
    /// As a kernel counts it: 1024 is a task of nice 0.
    pub fn shares(self) -> u32 {
        match self {
            GroupWeight::Weight(weight) => (u32::from(weight) * 1024 + 50) / 100,
            GroupWeight::Shares(shares) => shares,
            GroupWeight::Nice(nice) => NICE_SHARES[(nice.clamp(-20, 19) + 20) as usize],
            GroupWeight::Idle => 3,
        }
    }
}

impl Default for GroupWeight {
    /// As cgroups begin.
    fn default() -> GroupWeight {
        GroupWeight::Weight(100)
    }
}

/// How much CPU time a control group may use: `quota_us` in each `period_us`, on all CPUs together (cpu.max).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CpuMax {
    /// CPU time in each period.
    pub quota_us: u32,
    /// The period.
    pub period_us: u32,
    /// How much of what was not used may be used later (cpu.max.burst).
    pub burst_us: u32,
}

/// What a CPU spends time on that is neither a task's own work nor idling.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Overhead {
    /// Choosing the next task: schedule() itself with its scans and recalculations.
    Schedule,
    /// Switching registers and address spaces.
    Switch,
    /// Waking a task: choosing its CPU and queueing it.
    Wakeup,
    /// Waiting for a run-queue lock that another CPU holds.
    Lock,
    /// Timer interrupts and what ticks do.
    Tick,
    /// System calls, forks, execs and exits.
    Syscall,
}

/// One event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// The time.  Never decreases along a trace.
    pub time: Time,
    /// The CPU.
    pub cpu: CpuId,
    /// What happened.
    pub kind: EventKind,
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventKind {
    /// A task was created; [`Sink::task`](crate::Sink::task) described it just before.
    Fork {
        /// The new task.
        child: TaskId,
        /// The task that forked it; none for tasks that exist from the start.
        parent: Option<TaskId>,
    },
    /// A task replaced its program.
    Exec {
        /// The task.
        task: TaskId,
    },
    /// A task ended.  It is switched away from right after.
    Exit {
        /// The task.
        task: TaskId,
    },
    /// A dead task was waited for and is gone.
    Reap {
        /// The dead task.
        task: TaskId,
        /// The task that waited for it, if any.
        reaper: Option<TaskId>,
    },
    /// The waking of a sleeping task begins on this CPU: its wakeup latency begins.
    Waking {
        /// The sleeping task.
        task: TaskId,
        /// The waker.
        by: WakeContext,
    },
    /// The woken or new task is on a run queue.
    Wakeup {
        /// The task.
        task: TaskId,
        /// The CPU whose run queue it is on.
        target: CpuId,
    },
    /// This CPU runs another task from now on.
    Switch {
        /// The task it ran, none if it idled.
        prev: Option<TaskId>,
        /// Its state from now on.
        prev_state: PrevState,
        /// The task it runs now, none to idle.
        next: Option<TaskId>,
    },
    /// A waiting task now belongs to another CPU's run queue.
    Migrate {
        /// The task.
        task: TaskId,
        /// From which CPU.
        from: CpuId,
        /// To which CPU.
        to: CpuId,
    },
    /// The task called sched_yield.
    Yield {
        /// The task.
        task: TaskId,
    },
    /// schedule() was called.  Its price follows as [`EventKind::Overhead`].
    Schedule {
        /// Tasks looked at to choose one.
        examined: u32,
        /// Passes over all tasks that renewed counters or priorities.
        recalculations: u32,
    },
    /// Passes over all tasks that renewed counters or priorities outside schedule(): BSD's of every second.
    Recalculate {
        /// How many.
        passes: u32,
    },
    /// From this moment this CPU spends `ns` on overhead; spans of one moment follow one another
    /// in the order of their events, and spans of different moments do not overlap on a CPU.
    /// Only [`Overhead::Lock`] is reported at its end: the CPU spun for the `ns` before.
    Overhead {
        /// On what.
        kind: Overhead,
        /// For how long.
        ns: Ns,
    },
    /// nice changed.
    Nice {
        /// The task.
        task: TaskId,
        /// The new value, -20 to 19.
        nice: i8,
    },
    /// The scheduling class changed.
    Class {
        /// The task.
        task: TaskId,
        /// The new class.
        class: TaskClass,
        /// The new real-time priority, 1 (worst) to 99, 0 outside the real-time classes.
        rt_priority: u8,
    },
    /// A task moved to another control group.
    Regroup {
        /// The task.
        task: TaskId,
        /// The group it is in now; none: the root.
        group: Option<GroupId>,
    },
    /// A control group's weight changed.
    Weigh {
        /// The group.
        group: GroupId,
        /// The new weight.
        weight: GroupWeight,
    },
    /// A control group's limit changed.
    Limit {
        /// The group.
        group: GroupId,
        /// The new limit; none: it has none any more.
        max: Option<CpuMax>,
    },
    /// A control group has used up its quota: its tasks, and those of the groups in it, do not run on a CPU.
    Throttle {
        /// The group.
        group: GroupId,
        /// The CPU.
        on: CpuId,
    },
    /// They may run there again.
    Unthrottle {
        /// The group.
        group: GroupId,
        /// The CPU.
        on: CpuId,
    },
    /// How much a control group was throttled in all: from a kernel that does not say when.
    Throttled {
        /// The group.
        group: GroupId,
        /// The time, summed over CPUs.
        ns: Ns,
        /// The number of periods in which it was throttled.
        times: u32,
    },
    /// The task's priority as its policy sees it, recorded when it changes.
    Priority {
        /// The task.
        task: TaskId,
        /// In the policy's own numbers.
        priority: i32,
    },
    /// A policy's own counter grew: an index into [`TraceInfo::counters`].
    Count {
        /// Which.
        counter: u32,
        /// By how much.
        by: u64,
    },
    /// The workload did `count` of something it counts: the unit of throughput.
    Mark {
        /// The task that did it.
        task: TaskId,
        /// What.
        mark: MarkId,
        /// How many.
        count: u32,
    },
    /// The workload timed something: request latency, frame time, lateness.
    Latency {
        /// The task that timed it.
        task: TaskId,
        /// What.
        mark: MarkId,
        /// How long it took.
        ns: Ns,
    },
}

/// What a consumer must know about a task; given once, before its first event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TaskInfo {
    /// The task.
    pub id: TaskId,
    /// Its name; unique where the workload makes it so ("vi-2").
    pub name: String,
    /// The group it is reported with: the name in the workload file ("vi").
    pub group: String,
    /// The control group it is in at the start; none: the root.
    pub control_group: Option<GroupId>,
    /// Its process (thread group); threads of one process share an address space.  Of a task that
    /// has a `pid`, its process's.
    pub process: u32,
    /// The thread id it had in a real kernel; none of a simulated task, which files show with
    /// [`pid`](crate::pid).
    pub pid: Option<u32>,
    /// nice at the start.
    pub nice: i8,
    /// Class at the start.
    pub class: TaskClass,
    /// Real-time priority at the start.
    pub rt_priority: u8,
}

/// What a consumer must know about a control group; given once, before its first task and after its parent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupInfo {
    /// The group.
    pub id: GroupId,
    /// Its name.
    pub name: String,
    /// The group it is in; none: the root.
    pub parent: Option<GroupId>,
    /// Its weight at the start.
    pub weight: GroupWeight,
    /// Its limit at the start, if it has one.
    pub max: Option<CpuMax>,
}

/// What a consumer must know about the whole run; given once, first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TraceInfo {
    /// Number of CPUs.
    pub nr_cpus: u32,
    /// The policy and its variant, or what scheduled a real kernel.
    pub policy: String,
    /// The workload's name.
    pub workload: String,
    /// The machine's name.
    pub machine: String,
    /// Names of the policy's own counters.
    pub counters: Vec<String>,
    /// Names of what the workload counts and times.
    pub marks: Vec<String>,
    /// The release of a real kernel, as `uname -r` prints it, if it is known.
    pub release: Option<String>,
    /// Does the trace carry [`EventKind::Schedule`] and [`EventKind::Overhead`]?  A real kernel's does not.
    pub has_costs: bool,
    /// Does the policy promise shares of the CPU by nice (`NICE_WEIGHTED`)?
    pub nice_is_weighted: bool,
    /// Does the policy know nothing of control groups?  Then their weights and limits have no effect.
    pub is_flat: bool,
    /// Does the policy ask how much work tasks have left?  No real scheduler can know.
    pub knows_future: bool,
}

/// The major and minor number of a kernel's release, such as "6.12.30-amd64".
pub fn kernel_version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    let mut number = || numbers.next()?.parse().ok();
    Some((number()?, number()?))
}
