//! What a workload is: tasks, the programs they run and the things they share.
//!
//! A [`Workload`] is complete and resolved: every name has become an index, every
//! time is in nanoseconds, every check a reader can make has been made.  The
//! simulator interprets it; the real-program runner executes it.

use schedlab_trace::{CpuMax, GroupWeight, MarkId, Ns, TaskClass};
use serde::{Deserialize, Serialize};

/// The duration of a workload that names none and would never end.
pub const DURATION_OF_THE_ENDLESS: Ns = Ns::from_secs(10);

/// The shortest slice a task can ask for.
pub const MIN_SLICE: Ns = Ns(100_000);

/// The longest slice a task can ask for.
pub const MAX_SLICE: Ns = Ns(100_000_000);

/// The most tasks that exist from the start.
pub const MAX_TASKS: u32 = 1_000_000;

/// The most messages a channel of a file holds, or a statement sends or receives.
pub const MAX_MESSAGES: u32 = 1_000_000;

/// A workload, ready to run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Workload {
    /// What it is called in results: a built-in's name or the file's stem.
    pub name: String,
    /// The command line or path it came from, for "reproduce with".
    pub source: String,
    /// Task specifications in canonical order: sorted by name, so that the order of
    /// definition changes nothing.  [`Op::Fork`] refers to them by index.
    pub tasks: Vec<TaskSpec>,
    /// Programs; tasks refer to them by [`ProgramId`].
    pub programs: Vec<Program>,
    /// Random amounts the programs draw from.
    pub distributions: Vec<Distribution>,
    /// Number of mutexes.
    pub nr_mutexes: u32,
    /// Number of condition variables.
    pub nr_conditions: u32,
    /// Initial value of each semaphore.
    pub semaphores: Vec<u32>,
    /// Number of tasks each barrier waits for.
    pub barriers: Vec<u32>,
    /// Channels: pipes and sockets.
    pub channels: Vec<Channel>,
    /// Number of disks; each serves one request at a time, first come first served.
    pub nr_disks: u32,
    /// Number of timers shared between tasks ([`TimerScope::Shared`]).
    pub nr_shared_timers: u32,
    /// Control groups, each after the one it is in; tasks and operations refer to them by index.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub control_groups: Vec<ControlGroup>,
    /// CPU sets the programs use, as lists of CPU numbers.
    pub cpu_sets: Vec<Vec<u32>>,
    /// Names of what the programs count and time.
    pub marks: Vec<String>,
    /// No sleep is uninterruptible, not even one for a disk.  Real programs that play a workload cannot sleep
    /// uninterruptibly for a chosen time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub open_to_signals: bool,
    /// The duration unless the user gives another; none: until the foreground tasks have ended.
    pub duration: Option<Ns>,
    /// The reason if it runs for [`DURATION_OF_THE_ENDLESS`]: a warning that is printed unless the user
    /// gives a duration.
    pub assumed_duration: Option<String>,
    /// Warnings of the reader; printed once.
    pub warnings: Vec<String>,
}

/// Index into [`Workload::programs`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ProgramId(pub u32);

/// Index into [`Workload::tasks`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SpecId(pub u32);

/// How deep control groups may nest.
pub const MAX_GROUP_DEPTH: usize = 16;

/// A group of tasks that competes as one: a cgroup of the cpu controller, or an autogroup.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ControlGroup {
    /// Its name, unique in the workload.
    pub name: String,
    /// The group it is in; none: the root.
    pub parent: Option<u32>,
    /// What it weighs there.
    pub weight: GroupWeight,
    /// Its limit, if it has one.
    pub max: Option<CpuMax>,
}

/// A specification of one or more equal tasks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TaskSpec {
    /// Its name, unique in the workload.  Instances are called NAME-0, NAME-1, … where there
    /// can be more than one, else NAME.
    pub name: String,
    /// The name results are grouped by; usually `name`.
    pub group: String,
    /// Instances that exist from the start; 0 for a template that only [`Op::Fork`] starts.
    pub count: u32,
    /// What each runs.
    pub program: ProgramId,
    /// nice, -20 to 19.
    pub nice: i8,
    /// Scheduling class.
    pub class: TaskClass,
    /// Real-time priority, 1 to 99, for the real-time classes; else 0.
    pub rt_priority: u8,
    /// What it needs periodically, if it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub periodic: Option<Periodic>,
    /// CPUs it may use: an index into [`Workload::cpu_sets`]; none: all.
    pub cpus: Option<u32>,
    /// The control group it starts in; none: its parent's, or the root if it has no parent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_group: Option<u32>,
    /// The slice it asks for (sched_setattr's sched_runtime), [`MIN_SLICE`] to [`MAX_SLICE`]; none: the policy's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slice: Option<Ns>,
    /// Utilisation clamps (uclamp): it counts as using at least and at most this much of the fastest CPU, in
    /// 1/1024; none: 0 and 1024.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clamps: Option<(u16, u16)>,
    /// Its address space.
    pub process: Process,
    /// Memory it touches repeatedly; the part of it in the cache decides its speed.
    pub working_set_bytes: u64,
    /// When it starts.
    pub start: Ns,
    /// It sleeps from the start, on the semaphore its program begins with, and is unknown to the
    /// policy until it is first woken; `start` has no meaning then.
    pub dormant: bool,
    /// The run does not wait for it to end.
    pub background: bool,
    /// It belongs to the foreground group: the focused window, or the terminal's foreground job.
    pub foreground: bool,
}

impl TaskSpec {
    /// What the task with this number among those of the specification is called.
    pub fn instance_name(&self, instance: u32) -> String {
        if self.count == 1 && instance == 0 {
            self.name.clone()
        } else {
            format!("{}-{instance}", self.name)
        }
    }
}

/// What a periodic task says of itself: the three numbers of SCHED_DEADLINE.  Its program makes them true.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Periodic {
    /// The CPU time it needs in each period; 0: it does not say.
    pub runtime: Ns,
    /// The time after each wakeup at which its work is due.
    pub deadline: Ns,
    /// The period.
    pub period: Ns,
}

/// The address space of a task.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Process {
    /// Each instance is a process of its own.
    Own,
    /// A thread of the process with this number (from 1); equal numbers share.
    Shared(u32),
    /// When forked: a thread of its parent's process.  From the start: as [`Process::Own`].
    Parent,
}

/// A list of operations a task runs from first to last; at the end it exits.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Program {
    /// The operations.  Loops are properly nested, at most [`MAX_LOOP_DEPTH`] deep.
    pub ops: Vec<Op>,
}

/// How deep loops may nest.
pub const MAX_LOOP_DEPTH: usize = 6;

/// An amount of time: fixed, or drawn anew each time from a distribution.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Amount {
    /// Always this much.
    Fixed(Ns),
    /// An index into [`Workload::distributions`].
    Drawn(u32),
}

/// How often a loop runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Times {
    /// This often; 0 skips the body.
    Fixed(u32),
    /// Until the end of the run.
    Forever,
    /// As often as the last [`Op::ReceiveAll`] of the task received messages.
    Received,
}

/// Which tasks share a periodic timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimerScope {
    /// To the task: this of its own timers (0 to [`MAX_OWN_TIMERS`] - 1).
    Own(u32),
    /// To all tasks that name it: this of the workload's shared timers.
    Shared(u32),
}

/// How many timers of its own a task can have.
pub const MAX_OWN_TIMERS: usize = 4;

/// One step of a program.  Steps that say "blocks" may put the task to sleep.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// Computes: an amount of work, in nanoseconds of an unshared, warm CPU of capacity 1.
    Run(Amount),
    /// Computes an amount of work in the kernel without being preempted, as in kernels that preempt
    /// only on return to user mode.
    RunInKernel(Ns),
    /// Computes until this time has passed, whether it had the CPU or not (rt-app's `runtime`).
    RunFor(Amount),
    /// Sleeps (blocks) for this time, from now.
    Sleep(Amount),
    /// Sleeps (blocks) until this time after the run's start; does nothing if it has passed.
    SleepUntil(Ns),
    /// Sleeps (blocks) until the end of the run, which does not wait for the task.
    Rest,
    /// If the next operation blocks, the sleep is uninterruptible (state D), as a wait for a device is.
    Uninterruptible,
    /// Sleeps (blocks) for this time and notes the time at which it is to be woken, so that the next
    /// [`Op::StopClock`] records the delay of the wakeup plus the time since: a response time.
    TimedSleep(Amount),
    /// Sleeps (blocks) until its timer's next period.  The timer starts at the task's start; each
    /// time its expiry moves on by the period.  A missed expiry does not sleep; with `relative` it
    /// also restarts the timer from now.
    Timer {
        /// Which timer.
        timer: TimerScope,
        /// Its period.
        period: Ns,
        /// Restart from now when missed (rt-app's mode "relative").
        relative: bool,
    },
    /// Takes a mutex; blocks while another holds it.
    Lock(u32),
    /// Releases a mutex the task holds; the longest waiter gets it.
    Unlock(u32),
    /// Waits (blocks) for a signal on a condition variable, meanwhile releasing the mutex if there is one.
    CondWait {
        /// The condition variable.
        condition: u32,
        /// The mutex it holds.
        mutex: Option<u32>,
    },
    /// Wakes the longest waiter on a condition variable, if there is one.
    CondSignal(u32),
    /// Wakes all waiters on a condition variable.
    CondBroadcast(u32),
    /// Adds one to a semaphore.
    SemPost(u32),
    /// Takes one from a semaphore; blocks while it is 0.
    SemWait(u32),
    /// Takes one from a semaphore and sleeps (blocks) in any case: until the next post if it was 0,
    /// else for a moment.  Recorded waits use it: the recorded task did sleep.
    SemSleep(u32),
    /// Blocks until as many tasks wait here as the barrier wants.
    Barrier(u32),
    /// Puts messages into a channel, one by one; blocks while it is full.
    Send {
        /// The channel.
        channel: u32,
        /// How many messages.
        count: u32,
    },
    /// Takes `count` messages from a channel as they arrive; blocks while it is empty.
    Receive {
        /// The channel.
        channel: u32,
        /// How many messages.
        count: u32,
    },
    /// Takes all messages of a channel at once; blocks while it is empty.  See [`Times::Received`].
    ReceiveAll {
        /// The channel.
        channel: u32,
    },
    /// A disk request that takes this long when the disk is free; blocks in state D until done.
    Disk {
        /// The disk.
        disk: u32,
        /// Service time.
        service: Amount,
    },
    /// Starts a task of this specification as the task's child.
    Fork(SpecId),
    /// Replaces the program's memory: the cache is cold afterwards and the address space its own.
    Exec,
    /// Waits (blocks) for the next of its children to end and reaps it; does nothing without children.
    WaitChild,
    /// Waits (blocks) until all its children have ended and reaps them.
    WaitAll,
    /// Reaps its children that have ended, without waiting for others.
    Reap,
    /// Gives up the CPU (sched_yield).
    Yield,
    /// Changes its own nice value.
    SetNice(i8),
    /// Changes its own class and real-time priority.
    SetClass(TaskClass, u8),
    /// Changes the slice it asks for; none: the policy's own.
    SetSlice(Option<Ns>),
    /// Changes its own CPU set: an index into [`Workload::cpu_sets`], none: all CPUs.
    SetCpus(Option<u32>),
    /// Changes the nice value of every living task of a specification.
    Renice(SpecId, i8),
    /// Changes class and real-time priority of every living task of a specification.
    Reclass(SpecId, TaskClass, u8),
    /// Changes the CPU set of every living task of a specification; none: all CPUs.
    Repin(SpecId, Option<u32>),
    /// Moves to another control group; none: the root.
    SetGroup(Option<u32>),
    /// Moves every living task of a specification to another control group; none: the root.
    Regroup(SpecId, Option<u32>),
    /// Changes what a control group weighs.
    Weigh(u32, GroupWeight),
    /// Changes a control group's limit; none: it has none any more.
    Limit(u32, Option<CpuMax>),
    /// Changes the size of its working set in bytes.
    WorkingSet(u64),
    /// The start of a loop; its [`Op::EndLoop`] is at index `end`.
    Loop {
        /// How often it runs.
        times: Times,
        /// Index of its end.
        end: u32,
    },
    /// The end of the loop that starts at index `start`.
    EndLoop {
        /// Index of its start.
        start: u32,
    },
    /// Counts: the unit of throughput.
    Mark {
        /// What.
        mark: MarkId,
        /// How many.
        count: u32,
    },
    /// Notes the time for [`Op::StopClock`].
    StartClock,
    /// Sets the task's clock to that of the message it received last, which is the sender's clock at the
    /// send.  So a server's thread can time a request from the moment its client made it.
    TakeClock,
    /// Records the time since [`Op::StartClock`].
    StopClock {
        /// As what.
        mark: MarkId,
    },
    /// Ends the task here.
    Exit,
}

/// Which of the tasks that wait for a channel a transfer wakes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Waking {
    /// A receiver for each message that is put in, a sender for each that is taken.
    #[default]
    EachMessage,
    /// As a pipe of Linux (`pipe_read()` and `pipe_write()` in fs/pipe.c): what is put into an empty channel wakes one
    /// receiver, and a receiver that leaves something wakes the next one; a receiver that brings the channel down to
    /// `low_water` wakes one sender, and a sender that leaves room wakes the next one.
    OneByOne {
        /// The most messages it holds when a blocked sender is woken.
        low_water: u32,
    },
    /// As a socket of Linux (`sock_def_readable()` and `sock_def_write_space()` in net/core/sock.c): every receiver, and
    /// every sender as soon as the channel holds no more than `low_water`.
    All {
        /// The most messages it holds when blocked senders are woken.
        low_water: u32,
    },
}

impl Waking {
    fn is_default(&self) -> bool {
        *self == Waking::default()
    }
}

/// A pipe or socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Channel {
    /// Messages it holds before senders block; at least 1.
    pub capacity: u32,
    /// Which of the tasks that wait for it a transfer wakes.
    #[serde(default, skip_serializing_if = "Waking::is_default")]
    pub waking: Waking,
    /// Messages in it from the start.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub initial: u32,
}

impl Channel {
    /// An empty channel that holds so many messages.
    pub fn holding(capacity: u32) -> Channel {
        Channel {
            capacity,
            waking: Waking::default(),
            initial: 0,
        }
    }
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// A random amount in nanoseconds.  All parameters are in nanoseconds; draws are rounded and
/// never negative.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// Uniform between both, inclusive.
    Uniform {
        /// Least.
        low: u64,
        /// Most.
        high: u64,
    },
    /// Exponential with this mean.
    Exponential {
        /// Mean.
        mean: u64,
    },
    /// Normal, cut off at 0.
    Normal {
        /// Mean before cutting.
        mean: u64,
        /// Standard deviation before cutting.
        sd: u64,
    },
    /// Log-normal with this median and the standard deviation of its logarithm, in thousandths.
    LogNormal {
        /// Median.
        median: u64,
        /// Standard deviation of the natural logarithm, times 1000.
        sigma_milli: u32,
    },
    /// Pareto: heavy-tailed with this least value and shape, in thousandths (1 < shape for a mean).
    Pareto {
        /// Least.
        minimum: u64,
        /// Shape, times 1000.
        shape_milli: u32,
    },
}
