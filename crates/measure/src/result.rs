//! What is measured: the published numbers, their meaning and their units.
//!
//! Lengths of time are integer nanoseconds, shares run from 0 to 1.  `None` (JSON `null`)
//! means that the trace cannot tell, never "zero".

use std::collections::BTreeMap;
use std::sync::Arc;

use schedlab_trace::{CpuId, Ns, TaskId, Time};
use serde::Serialize;

use crate::AccountingError;

/// Everything measured about one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Metrics {
    /// The policy and its variant, as the trace names it.
    pub policy: String,
    /// The workload's name.
    pub workload: String,
    /// The machine's name.
    pub machine: String,
    /// Number of CPUs.
    pub nr_cpus: u32,
    /// From the trace's start to its end; the makespan if the run ended with its work.
    pub duration_ns: Ns,
    /// The first place where the trace contradicts itself or time does not add up.
    /// Numbers beside an error must not be trusted.
    pub accounting_error: Option<AccountingError>,
    /// What the workload counted and timed, in the order of the trace's mark names.
    pub marks: Vec<MarkMetrics>,
    /// All tasks together.
    pub total: Activity,
    /// Each group of tasks, in order of first appearance.
    pub groups: Vec<GroupMetrics>,
    /// Each control group, after the one it is in; empty and left out if the workload has none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub control_groups: Vec<ControlGroupMetrics>,
    /// There are control groups, but the policy knows none: all tasks competed as if they were in the root.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub groups_without_effect: bool,
    /// The policy asked how much work tasks have left, which no real scheduler can know.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub knows_future: bool,
    /// Each task, by id.
    pub tasks: Vec<TaskMetrics>,
    /// Were the tasks' own latency distributions left out?  There were too many tasks or
    /// samples, or they were not asked for
    /// ([`Measure::without_task_distributions`](crate::Measure::without_task_distributions)).
    /// Those of groups are always kept.
    pub task_distributions_dropped: bool,
    /// How evenly CPU time was spread over all tasks that existed the whole run.
    pub fairness: Fairness,
    /// Each CPU.
    pub cpus: Vec<CpuMetrics>,
    /// CPUs idling while tasks waited.
    pub idle_while_runnable: IdleWhileRunnable,
    /// What scheduling cost; none if the trace does not carry costs.
    pub scheduler: Option<SchedulerMetrics>,
    /// The policy's own counters, by name.
    pub counters: BTreeMap<String, u64>,
    /// Points to draw.
    pub plots: Plots,
}

/// Something the workload counts or times.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MarkMetrics {
    /// Its name ("message", "frame").
    pub name: String,
    /// How many were counted.
    pub count: u64,
    /// How many for each second of the run: throughput.  0 for a run of no length.
    pub per_second: f64,
    /// How long they took, as timed by the workload; none if it timed none.
    pub latency_ns: Option<Distribution>,
}

/// Times and counts of a task, or of several together.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Activity {
    /// CPU time of its own: time on a CPU without the overhead that fell into it.
    pub run_ns: Ns,
    /// `run_ns` as a share of all the machine's CPU time (duration times number of CPUs).
    pub cpu_share: f64,
    /// Time runnable but not running, including waits that were not over at the end.
    pub wait_ns: Ns,
    /// From being woken (or forked) to running; one sample for each wakeup.
    pub wakeup_latency_ns: Option<Box<Distribution>>,
    /// Each wait on a run queue, after wakeups and after preemption alike.
    pub run_delay_ns: Option<Box<Distribution>>,
    /// Times it was switched away from; the sum of the next three.
    pub nr_switches: u64,
    /// Of these, because it blocked or exited.
    pub nr_voluntary_switches: u64,
    /// Of these, because it was preempted, or its affinity sent it elsewhere.
    pub nr_involuntary_switches: u64,
    /// Of these, because it had yielded.
    pub nr_yield_switches: u64,
    /// Calls of sched_yield, whether they led to a switch or not.
    pub nr_yields: u64,
    /// Times it started to run on another CPU than the one it last ran on.
    pub nr_migrations: u64,
    /// Times it was put on a run queue after sleeping or being forked.
    pub nr_wakeups: u64,
    /// The longest wait, ended or not; none if it never waited.
    pub longest_wait: Option<Wait>,
}

/// One wait on a run queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Wait {
    /// The task that waited.
    pub task: TaskId,
    /// Since when.
    pub start_ns: Time,
    /// For how long.
    pub ns: Ns,
}

/// A distribution of lengths of time, all in nanoseconds.
///
/// A percentile is the smallest sample that at least that share of the samples does not exceed.
/// A wait that was not over when the trace ended, or the task died, counts with its length until then.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Distribution {
    /// Number of samples; at least one.
    pub count: u64,
    /// Of these, waits that were not over.
    pub unfinished: u64,
    /// Arithmetic mean, from the exact sum.
    pub mean: f64,
    /// Median.
    pub p50: Ns,
    /// 95th percentile.
    pub p95: Ns,
    /// 99th percentile.
    pub p99: Ns,
    /// 99.9th percentile.
    pub p999: Ns,
    /// The largest sample, exact.
    pub max: Ns,
    /// Bound of the percentiles' relative error: 0 where all samples were kept, 0.001 or 0.01 where a histogram was.
    pub relative_error: f64,
}

/// A group of tasks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupMetrics {
    /// Its name.
    pub name: Arc<str>,
    /// How many tasks it had.
    pub nr_tasks: u64,
    /// How evenly CPU time was spread over its tasks that existed the whole run.
    pub fairness: Fairness,
    /// What its tasks did, together.
    #[serde(flatten)]
    pub activity: Activity,
}

/// A control group.  Times and tasks include those of the groups in it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ControlGroupMetrics {
    /// Its name.
    pub name: String,
    /// The name of the group it is in; none: the root.
    pub parent: Option<String>,
    /// What it weighs, at the end: 1024 is a task of nice 0, or cpu.weight 100.
    pub shares: u32,
    /// Does it run only when nobody else wants to (cpu.idle)?
    pub idle: bool,
    /// Its quota at the end (cpu.max); none: no limit.
    pub quota_ns: Option<Ns>,
    /// The period of that.
    pub period_ns: Option<Ns>,
    /// How many tasks came into it: when they began, or later.
    pub nr_tasks: u64,
    /// CPU time of their own work while they were in it.
    pub run_ns: Ns,
    /// The same as a share of the machine's CPU time.
    pub cpu_share: f64,
    /// How long they waited on run queues, throttled or not, summed up; a wait counts where it ended.
    pub wait_ns: Ns,
    /// How long the group itself was throttled, summed up over CPUs.
    pub throttled_ns: Ns,
    /// How often it was throttled on a CPU.
    pub nr_throttles: u64,
}

/// A task.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskMetrics {
    /// Its name.
    pub name: String,
    /// Its id.
    pub id: TaskId,
    /// Its group's name.
    pub group: Arc<str>,
    /// nice, at the end.
    pub nice: i8,
    /// What it did.
    #[serde(flatten)]
    pub activity: Activity,
}

impl Metrics {
    /// Leaves Jain's index out: where tasks do a given amount of work it says nothing about the scheduler.
    pub fn drop_fairness(&mut self) {
        self.fairness.jain = None;
        for group in &mut self.groups {
            group.fairness.jain = None;
        }
    }
}

/// Jain's fairness index over the CPU time of tasks that were there from the trace's start to its end.
///
/// If their nice values differ, CPU time counts by the weight of nice (Linux 6.6: 1024 for nice 0, about a
/// factor of 1.25 a step), provided that the policy promises shares by nice.  Of another policy there is then no index: no
/// division of the CPU is known to be fair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Fairness {
    /// (Σx)² / (n Σx²): 1 when all got the same, 1/n when one got everything; none
    /// with fewer than two such tasks, without CPU time, or where nice promises no shares.
    pub jain: Option<f64>,
    /// Number of such tasks.
    pub nr_tasks: u64,
}

/// Where a CPU's time went.  `run_ns + idle_ns` + the overheads = the run's duration, to the nanosecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CpuMetrics {
    /// Which.
    pub cpu: CpuId,
    /// Everything but idling: tasks and overhead.
    pub busy_ns: Ns,
    /// Tasks' own work.
    pub run_ns: Ns,
    /// Nothing to do.
    pub idle_ns: Ns,
    /// The rest, by kind; none if the trace does not carry costs.
    pub overhead_ns: Option<OverheadNs>,
    /// Switches, those from and to idle included.
    pub switches: u64,
}

/// CPU time that was neither a task's nor idle, by [kind](schedlab_trace::Overhead).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OverheadNs {
    /// Choosing the next task.
    pub schedule: Ns,
    /// Switching registers and address spaces.
    pub switch: Ns,
    /// Waking tasks.
    pub wakeup: Ns,
    /// Waiting for run-queue locks.
    pub lock: Ns,
    /// Timer interrupts and ticks.
    pub tick: Ns,
    /// System calls, forks, execs and exits.
    pub syscall: Ns,
}

/// CPUs idling while tasks waited: the integral over time of min(idle CPUs, waiting tasks).
///
/// The trace does not say which CPUs a task may use, so a task bound to a busy CPU counts as
/// waiting for any; and the moment between a wakeup and the idle CPU's reaction counts too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct IdleWhileRunnable {
    /// CPU time lost.
    pub ns: Ns,
    /// The same as a share of all CPU time.
    pub share: f64,
    /// The longest time during which there always was an idle CPU and a waiting task.
    pub longest_ns: Ns,
    /// When that began; none if it never happened.
    pub longest_start_ns: Option<Time>,
}

/// What scheduling cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct SchedulerMetrics {
    /// Calls of schedule().
    pub calls: u64,
    /// Tasks looked at, in all calls.
    pub examined: u64,
    /// Tasks looked at in a call, on average; 0 without calls.
    pub examined_mean: f64,
    /// Most tasks looked at in one call.
    pub examined_max: u64,
    /// Passes over all tasks that renewed counters or priorities.
    pub recalculations: u64,
    /// CPU time of schedule(), switching, waking and waiting for run-queue locks.
    pub ns: Ns,
    /// The same as a share of all CPU time.
    pub share: f64,
    /// Of this, waiting for run-queue locks.
    pub lock_wait_ns: Ns,
    /// All overhead of all CPUs, by kind.
    pub overhead_ns: OverheadNs,
}

/// Points to draw; their number is bounded whatever the run's length.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Plots {
    /// Latencies of all tasks, at most 200 points each.
    pub latency: LatencyPlot,
    /// Latencies by group, for the first [`MAX_PLOT_GROUPS`](crate::MAX_PLOT_GROUPS) groups.
    pub group_latency: Vec<GroupLatencyPlot>,
    /// How many tasks waited, over time.
    pub waiting: WaitingPlot,
    /// Shares of CPU time, over time.
    pub shares: SharesPlot,
    /// Excerpts of which task ran where.
    pub timeline: TimelinePlot,
}

/// Cumulative distributions of latencies.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LatencyPlot {
    /// Of wakeup latency; empty without samples.
    pub wakeup_latency: Vec<CdfPoint>,
    /// Of run delay; empty without samples.
    pub run_delay: Vec<CdfPoint>,
}

/// The cumulative distributions of a group.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupLatencyPlot {
    /// The group's name.
    pub group: Arc<str>,
    /// Its distributions.
    #[serde(flatten)]
    pub latency: LatencyPlot,
}

/// A point of a cumulative distribution: `share` of the samples are at most `ns`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CdfPoint {
    /// The value; does not decrease from point to point.
    pub ns: Ns,
    /// Above 0, at most 1; increases from point to point.
    pub share: f64,
}

/// Tasks waiting on all run queues together (those running not included), in equal
/// stretches of time from the trace's start.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct WaitingPlot {
    /// Length of a stretch; the last may be cut short by the trace's end.
    pub bucket_ns: Ns,
    /// Mean of each stretch; at most 400.
    pub mean: Vec<f64>,
    /// Most in each stretch.
    pub max: Vec<u32>,
    /// Mean on each CPU's own run queue, in the same stretches; empty for machines with
    /// more than [`MAX_PLOT_CPUS`](crate::MAX_PLOT_CPUS) CPUs.
    pub cpus: Vec<Vec<f64>>,
}

/// Shares of all CPU time, in equal stretches of time from the trace's start.  In each
/// stretch all rows add up to 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SharesPlot {
    /// Length of a stretch; the last may be cut short by the trace's end.
    pub bucket_ns: Ns,
    /// The rows.
    pub rows: Vec<ShareRow>,
}

/// What a row of [`SharesPlot`] is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ShareOf {
    /// A group's tasks.
    Group(Arc<str>),
    /// The tasks of all groups that have no row of their own.
    OtherGroups,
    /// Overhead.
    Overhead,
    /// Idling.
    Idle,
}

/// A row of [`SharesPlot`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShareRow {
    /// What used it.
    pub of: ShareOf,
    /// Share of each stretch; at most 400.
    pub share: Vec<f64>,
}

/// Excerpts of which task ran where; about 4,000 slices at most.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TimelinePlot {
    /// From the trace's start.
    pub start: TimelineWindow,
    /// Around the end of the longest wait; none if `start` shows it already, or no task waited.
    pub longest_wait: Option<TimelineWindow>,
}

/// A stretch of time with everything that ran in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TimelineWindow {
    /// Begin of the stretch.
    pub start_ns: Time,
    /// Its end.
    pub end_ns: Time,
    /// What ran, by end of slice; slices may reach out of the stretch to the left.  A CPU without one idles.
    pub slices: Vec<Slice>,
}

/// A task's stay on a CPU, from switch to switch, overhead included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Slice {
    /// The CPU.
    pub cpu: CpuId,
    /// The task.
    pub task: TaskId,
    /// Its begin.
    pub start_ns: Time,
    /// Its end.
    pub end_ns: Time,
}
