//! The lines of ftrace text: the one place that spells them.

use std::borrow::Cow;
use std::fmt;

use crate::{CpuId, Time};

/// The line that distinguishes traces of simulations from those of kernels.
pub const SIMULATED_HEADING: &str = "# simulated by schedlab";

/// What stands above the columns.
pub const COLUMNS: &str = "#           TASK-PID       TGID   CPU#  ||||  TIMESTAMP  FUNCTION";

/// A system call of `sched_yield()`, as the kernel's tracer of system calls prints it.
pub const YIELD: &str = "sys_sched_yield()";

/// The four characters before the time: interrupts off, no reschedule pending, interrupt context, depth of
/// preemption-off.  Old and new versions of Perfetto's reader agree on four only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Context {
    /// In the scheduler, interrupts off.
    Scheduler,
    /// In an interrupt.
    Interrupt,
    /// In a soft interrupt.
    SoftInterrupt,
    /// In a system call.
    SystemCall,
}

impl fmt::Display for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Context::Scheduler => "d..2",
            Context::Interrupt => "d.h2",
            Context::SoftInterrupt => "d.s2",
            Context::SystemCall => "....",
        })
    }
}

/// The head of a line: the task that runs on the CPU, the CPU, the time.
pub struct Head<'a> {
    /// The task's name; `<idle>` for no task.
    pub comm: &'a str,
    /// Its thread id; 0 for no task.
    pub pid: u32,
    /// Its process, if it is known.
    pub tgid: Option<u32>,
    /// The CPU.
    pub cpu: CpuId,
    /// Where the CPU is.
    pub context: Context,
    /// The time of the event.
    pub time: Time,
}

impl fmt::Display for Head<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Head {
            comm,
            pid,
            cpu,
            context,
            time,
            ..
        } = self;
        write!(f, "{comm:>16}-{pid:<7} ")?;
        match self.tgid {
            Some(tgid) => write!(f, "({tgid:>7})")?,
            None => write!(f, "(-------)")?,
        }
        write!(f, " [{:03}] {context} {time}: ", cpu.0)
    }
}

/// A task as tracepoints name it.
pub struct Named<'a> {
    /// Its name, which has no blanks and no `=` ([`splits_line`]).
    pub comm: Cow<'a, str>,
    /// Its thread id.
    pub pid: u32,
    /// The kernel's number of its priority; none if it is not known.
    pub prio: Option<i32>,
}

impl Named<'_> {
    /// "comm=X pid=1 prio=120", each key after a prefix.
    fn write(&self, f: &mut fmt::Formatter<'_>, prefix: &str) -> fmt::Result {
        write!(f, "{prefix}comm={} {prefix}pid={}", self.comm, self.pid)?;
        match self.prio {
            Some(prio) => write!(f, " {prefix}prio={prio}"),
            None => Ok(()),
        }
    }
}

/// A tracepoint of the scheduler with its arguments, without the name of its system (`sched:`).
pub enum Tracepoint<'a> {
    /// `sched_switch`
    Switch {
        /// The task that stops running.
        prev: Named<'a>,
        /// Its state, in the kernel's letters.
        prev_state: &'a str,
        /// The task that begins to run.
        next: Named<'a>,
    },
    /// `sched_waking`: somebody wakes a task.
    Waking {
        /// The task.
        task: Named<'a>,
        /// The CPU it last belonged to.
        target: CpuId,
    },
    /// `sched_wakeup`, or `sched_wakeup_new` for a task that was just created.
    Wakeup {
        /// The task.
        task: Named<'a>,
        /// Whether it was just created.
        is_new: bool,
        /// The CPU it will run on.
        target: CpuId,
    },
    /// `sched_migrate_task`
    Migrate {
        /// The task.
        task: Named<'a>,
        /// The CPU it leaves.
        from: CpuId,
        /// The CPU it goes to.
        to: CpuId,
    },
    /// `sched_process_fork`; priorities are not printed.
    Fork {
        /// Who creates the task.
        parent: Named<'a>,
        /// The new task.
        child: Named<'a>,
    },
    /// `sched_process_exit`
    Exit {
        /// The task.
        task: Named<'a>,
    },
}

impl fmt::Display for Tracepoint<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tracepoint::Switch {
                prev,
                prev_state,
                next,
            } => {
                write!(f, "sched_switch: ")?;
                prev.write(f, "prev_")?;
                write!(f, " prev_state={prev_state} ==> ")?;
                next.write(f, "next_")
            }
            Tracepoint::Waking { task, target } => {
                write!(f, "sched_waking: ")?;
                task.write(f, "")?;
                write!(f, " target_cpu={:03}", target.0)
            }
            Tracepoint::Wakeup {
                task,
                is_new,
                target,
            } => {
                write!(f, "sched_wakeup{}: ", if *is_new { "_new" } else { "" })?;
                task.write(f, "")?;
                write!(f, " target_cpu={:03}", target.0)
            }
            Tracepoint::Migrate { task, from, to } => {
                write!(f, "sched_migrate_task: ")?;
                task.write(f, "")?;
                write!(f, " orig_cpu={from} dest_cpu={to}")
            }
            Tracepoint::Fork { parent, child } => write!(
                f,
                "sched_process_fork: comm={} pid={} child_comm={} child_pid={}",
                parent.comm, parent.pid, child.comm, child.pid
            ),
            Tracepoint::Exit { task } => {
                write!(f, "sched_process_exit: ")?;
                task.write(f, "")
            }
        }
    }
}

/// Whether readers of the text would split a line at this character of a name.
pub fn splits_line(c: char) -> bool {
    c.is_whitespace() || c.is_control() || c == '='
}
