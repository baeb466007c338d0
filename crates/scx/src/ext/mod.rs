//! The model of sched_ext: what kernel/sched/ext.c and ext_idle.c do around a scheduler.
//!
//! Modelled after Linux 7.1 (stable tree, 02e545c4297a).  Functions are named as the kernel's, so that the two can
//! be read side by side; comments name those that have another name.  One thread runs everything, so locks, RCU
//! and the races they are for are absent; what the kernel defers to an interrupt or a balance callback is
//! deferred here, too ([`deferred`]).
//!
//! What programs see of a task is in the machine's memory ([`fields`]); what they do not see is in [`Task`] and
//! [`Rq`].  [`class`] is the scheduling class, [`dispatch`] moves tasks between queues, [`idle`] knows idle CPUs,
//! [`cgroup`] shows groups, [`tracepoints`] calls tracing programs, [`exit`] ends a scheduler, [`kfuncs`] is what programs call and [`policy`] what the simulator calls.

mod cgroup;
mod class;
pub mod consts;
mod deferred;
mod dispatch;
pub mod dsq;
mod enable;
mod exit;
mod fields;
mod idle;
mod kfuncs;
mod mask;
mod ops;
mod policy;
mod rt;
mod select;
mod timers;
mod tracepoints;
mod tree;
mod userspace;

use std::collections::BTreeMap;

use schedlab_policy::ffi;

pub use exit::{Exit, ExitKind};
pub use kfuncs::KFUNCS;
pub use ops::Op;
pub use policy::{declared, policy, policy_with};
pub use tracepoints::Tracepoint;

use consts::NONE;
use dsq::{DsqIndex, Dsqs};

/// The version of Linux that is modelled: LINUX_KERNEL_VERSION, and what uname(2) says.
pub const KERNEL_VERSION: (u32, u32, u32) = (7, 1, 0);

/// How long the machine has been up when the scheduler is attached, in ns: a clock that begins at 0 is something
/// that no scheduler ever sees.
pub const UPTIME_NS: u64 = 100_000_000_000;

/// What a CPU runs while a task is taken from it to go to another CPU: the stopper.
const STOPPER: u32 = NONE - 1;

/// Who owns a task: enum scx_ops_state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum OpsState {
    /// The core.
    None,
    /// On its way to the scheduler.
    Queueing,
    /// The scheduler; with the number of this time it got it.
    Queued(u64),
}

/// What a scheduling class a task is of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Class {
    Idle,
    Ext,
    Rt,
}

/// What programs do not see of a task.
#[derive(Clone, Debug)]
struct Task {
    /// Its public fields in the simulator.
    public: *mut ffi::Task,
    /// Its task_struct; 0: it does not exist (any more).
    address: u64,
    cpu: u32,
    class: Class,
    ops_state: OpsState,
    /// The CPU it is migrated to by the core; NONE: it is not.
    sticky_cpu: u32,
    /// task_on_rq_migrating().
    migrating: bool,
    /// It is on the list of runnable tasks that wait, since this event: scx.runnable_node.
    runnable: Option<u64>,
    /// select_cpu() was called for the wakeup under way: WF_RQ_SELECTED.
    selected: bool,
    /// trace_sched_waking() was called for the wakeup under way.
    waking: bool,
    /// It has exited and waits to be reaped.
    dead: bool,
    /// Who forked it, and how many tasks it forked that are still there.
    parent: u32,
    nr_children: u32,
    /// Of the class [`Class::Rt`]: it is runnable, since this event, and has this much left of its turn.
    rt_since: Option<u64>,
    rt_left_ns: u64,
}

/// One task that the scheduler dispatched: struct scx_dsp_buf_ent.
#[derive(Clone, Copy, Debug)]
struct Dispatched {
    task: u32,
    /// What [`OpsState::Queued`] held then.
    qseq: u64,
    dsq_id: u64,
    enq_flags: u64,
}

/// A run queue: struct rq and struct scx_rq.
#[derive(Clone, Debug)]
struct Rq {
    /// Its part of `runqueues`.
    address: u64,
    /// The task that runs; NONE: the idle task.
    curr: u32,
    /// How long tasks have run on it, and when it last switched, in ns.
    busy_ns: u64,
    switched_ns: u64,
    /// Its idle task's task_struct.
    idle: u64,
    /// The best class that is about to run: rq->next_class.
    next_class: Class,
    local: DsqIndex,
    /// Tasks for other CPUs' local queues: ddsp_deferred_locals.
    deferred_locals: DsqIndex,
    nr_running: u32,
    nr_immed: u32,
    ops_qseq: u64,
    extra_enq_flags: u64,
    in_wakeup: bool,
    in_balance: bool,
    bal_keep: bool,
    bal_cb_pending: bool,
    cpu_released: bool,
    cpuperf_target: u32,
    /// It picks: what reschedules it meanwhile is forgotten, as need_resched is cleared after the pick.
    picking: bool,
    /// Deferred reenqueues of the local queue: SCX_REENQ_* flags; how often, in which round.
    reenq_local: u64,
    reenq_seq: u64,
    reenq_last: u64,
    reenq_cnt: u32,
    /// Deferred reenqueues of queues of the scheduler's own.
    reenq_users: Vec<(DsqIndex, u64)>,
    /// The buffer of dispatched tasks: struct scx_dsp_ctx.
    buf: Vec<Dispatched>,
    dispatched: u32,
    /// Runnable tasks of the class [`Class::Rt`].
    rt: Vec<u32>,
}

/// What the scheduler was given to dispatch directly: direct_dispatch_task.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Direct {
    /// Nothing: dispatches go to the buffer.
    #[default]
    None,
    /// This task.
    Task(u32),
    /// It has been dispatched.
    Done,
}

/// What is being called, for messages and for kfuncs that depend on it.
///
/// Two words, so that saving it costs nothing: it is done for each call of an operation.
#[derive(Clone, Copy, Debug)]
struct Context {
    /// The operation and the CPU whose run queue is locked (scx_locked_rq()); NONE for none.
    op_and_cpu: u64,
    /// The tasks the operation is about (kf_tasks); NONE for none.
    tasks: u64,
}

/// Two numbers in a word.
const fn pair(low: u32, high: u32) -> u64 {
    low as u64 | (high as u64) << 32
}

/// The halves of a word, where they are not NONE.
fn halves(pair: u64) -> [Option<u32>; 2] {
    [pair as u32, (pair >> 32) as u32].map(|half| (half != NONE).then_some(half))
}

impl Context {
    const NOTHING: Context = Context {
        op_and_cpu: pair(NONE, NONE),
        tasks: pair(NONE, NONE),
    };

    #[inline]
    fn new(op: Op, locked: Option<u32>, tasks: [Option<u32>; 2]) -> Context {
        let [one, two] = tasks.map(|task| task.unwrap_or(NONE));
        Context {
            op_and_cpu: pair(op as u32, locked.unwrap_or(NONE)),
            tasks: pair(one, two),
        }
    }

    /// Nothing but a task.
    fn about(task: u32) -> Context {
        Context {
            tasks: pair(task, NONE),
            ..Context::NOTHING
        }
    }

    #[inline]
    fn op(&self) -> Option<Op> {
        Op::ALL.get(self.op_and_cpu as u32 as usize).copied()
    }

    fn locked(&self) -> Option<u32> {
        halves(self.op_and_cpu)[1]
    }

    fn task(&self) -> Option<u32> {
        halves(self.tasks)[0]
    }

    fn is_about(&self, task: u32) -> bool {
        halves(self.tasks).contains(&Some(task))
    }
}

impl Default for Context {
    fn default() -> Context {
        Context::NOTHING
    }
}

/// Counters of struct scx_event_stats, in its order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Events {
    /// select_cpu() chose a CPU that the task may not use.
    pub select_cpu_fallback: i64,
    /// A task went on because there was no other.
    pub dispatch_keep_last: i64,
    /// A task of SCX_ENQ_IMMED was enqueued again.
    pub reenq_immed: i64,
    /// Reenqueueing caused itself.
    pub reenq_local_repeat: i64,
    /// A slice was set to the default.
    pub refill_slice_dfl: i64,
    /// A task was dispatched that is not the scheduler's.
    pub insert_not_owned: i64,
}

/// What a scheduler may ask of the machine beyond its topology; empty: all CPUs and all nodes are alike.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Hardware {
    /// Of each CPU, its capacity in any unit.
    pub capacities: Vec<u32>,
    /// From each node to each node, as the firmware tells it (10 is the node itself).
    pub distances: Vec<Vec<u32>>,
}

/// State of the sched_ext class of one machine.
#[derive(Clone, Debug, Default)]
pub struct Ext {
    on: bool,
    fields: fields::Fields,
    programs: ops::Programs,
    flags: u64,
    max_batch: u32,
    timeout_ns: u64,
    tasks: Vec<Task>,
    rqs: Vec<Rq>,
    dsqs: Dsqs,
    /// The global queue of each node, by its place in `nodes`.
    globals: Vec<DsqIndex>,
    idle: idle::Idle,
    direct: Direct,
    context: Context,
    /// Counts events, for orders.
    clock: u64,
    deferred: deferred::Deferred,
    timers: timers::Timers,
    groups: cgroup::Groups,
    /// Of each address space: its first task's process id and task_struct, and its mm_struct.
    processes: BTreeMap<u32, (u32, u64, u64)>,
    /// Room for an operation's arguments.
    arguments: u64,
    listeners: tracepoints::Listeners,
    pub(crate) masks: mask::Masks,
    exit: exit::State,
    events: Events,
    told: policy::Told,
    /// What the topology does not say of the machine.
    pub hardware: Hardware,
}

impl Ext {
    /// What ended the scheduler, if anything did.
    pub fn exit(&self) -> Option<&Exit> {
        self.exit.exit()
    }

    /// What happened how often.
    pub fn events(&self) -> &Events {
        &self.events
    }

    fn next_event(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    fn rq(&self, cpu: u32) -> &Rq {
        &self.rqs[cpu as usize]
    }

    fn rq_mut(&mut self, cpu: u32) -> &mut Rq {
        &mut self.rqs[cpu as usize]
    }

    fn task(&self, task: u32) -> &Task {
        &self.tasks[task as usize]
    }

    fn task_mut(&mut self, task: u32) -> &mut Task {
        &mut self.tasks[task as usize]
    }

    /// The class of what a CPU runs.
    fn curr_class(&self, cpu: u32) -> Class {
        match self.rq(cpu).curr {
            NONE => Class::Idle,
            STOPPER => Class::Rt,
            task => self.task(task).class,
        }
    }
}
