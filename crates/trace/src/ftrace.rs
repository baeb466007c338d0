//! A trace as ftrace prints it, for tools that read the kernel's text: Perfetto, LISA, TRAPpy,
//! traceshark, grep.

use std::fmt;
use std::io::{self, Write};

use crate::follow::{Follower, IDLE_PRIO};
use crate::output::Output;
use crate::{
    CpuId, Event, EventKind, PrevState, Sink, TaskId, TaskInfo, Time, TraceInfo, WakeContext,
};

/// The line that distinguishes traces of simulations from those of kernels.
pub const SIMULATED_HEADING: &str = "# simulated by schedlab";

/// Exactly four characters: interrupts off, no reschedule pending, interrupt context, depth of
/// preemption-off.  Old and new versions of Perfetto's reader agree on four only.
const IN_SCHEDULER: &str = "d..2";
const IN_INTERRUPT: &str = "d.h2";
const IN_SOFT_INTERRUPT: &str = "d.s2";
const IN_SYSTEM_CALL: &str = "....";

/// Writes the scheduler's tracepoints as lines of ftrace text.
///
/// A name's white space and `=` become `_`, because readers split lines there.  Timestamps are seconds
/// with nine digits.  A `sched_migrate_task` line is written whenever a task's CPU changes: by
/// balancing, by waking up on another CPU or by being picked by another CPU.
pub struct FtraceSink<W: Write> {
    out: Output<W>,
    follower: Follower,
    /// The last waking, to know in which context the wakeup that completes it happens.
    last_waking: Option<(TaskId, WakeContext)>,
}

impl<W: Write> FtraceSink<W> {
    /// Will write to `writer`, buffered.
    pub fn new(writer: W) -> Self {
        FtraceSink {
            out: Output::new(writer),
            follower: Follower::default(),
            last_waking: None,
        }
    }

    /// Writes everything and returns the writer.
    ///
    /// # Errors
    /// The first error the writer reported; what follows it was not written.
    pub fn finish(self) -> io::Result<W> {
        self.out.finish()
    }

    /// One line: the task that runs on the event's CPU, the time, and what happened.
    fn line(&mut self, event: &Event, flags: &str, what: fmt::Arguments<'_>) {
        let (cpu, time) = (event.cpu.0, event.time);
        match self.follower.running(event.cpu) {
            Some(id) => {
                let task = self.follower.get(id);
                let (comm, pid, tgid) = (&task.comm, task.pid, task.tgid);
                self.out.text(format_args!(
                    "{comm:>16}-{pid:<7} ({tgid:>7}) [{cpu:03}] {flags} {time}: {what}\n"
                ));
            }
            None => self.out.text(format_args!(
                "{:>16}-{:<7} (-------) [{cpu:03}] {flags} {time}: {what}\n",
                "<idle>", 0
            )),
        }
    }

    /// The fields most scheduler tracepoints begin with.
    fn who(&self, task: TaskId) -> String {
        let Task { comm, pid, prio } = self.task_or_idle(Some(task), CpuId(0));
        format!("comm={comm} pid={pid} prio={prio}")
    }

    fn task_or_idle(&self, task: Option<TaskId>, cpu: CpuId) -> Task {
        match task {
            Some(id) => {
                let task = self.follower.get(id);
                Task {
                    comm: task.comm.clone(),
                    pid: task.pid,
                    prio: task.prio(),
                }
            }
            None => Task {
                comm: format!("swapper/{cpu}"),
                pid: 0,
                prio: IDLE_PRIO,
            },
        }
    }

    fn switch(
        &mut self,
        event: &Event,
        prev: Option<TaskId>,
        state: PrevState,
        next: Option<TaskId>,
    ) {
        let prev = self.task_or_idle(prev, event.cpu);
        let next = self.task_or_idle(next, event.cpu);
        self.line(
            event,
            IN_SCHEDULER,
            format_args!(
                "sched_switch: prev_comm={} prev_pid={} prev_prio={} prev_state={} ==> next_comm={} next_pid={} next_prio={}",
                prev.comm, prev.pid, prev.prio, state_letters(state), next.comm, next.pid, next.prio
            ),
        );
    }

    fn waking(&mut self, event: &Event, task: TaskId, by: WakeContext) {
        self.last_waking = Some((task, by));
        let who = self.who(task);
        // As in the kernel, the CPU the task last belonged to: where it will run is not chosen yet.
        let target = self.follower.get(task).cpu.unwrap_or(event.cpu).0;
        let flags = wake_flags(by);
        self.line(
            event,
            flags,
            format_args!("sched_waking: {who} target_cpu={target:03}"),
        );
    }

    fn wakeup(&mut self, event: &Event, task: TaskId, target: CpuId) {
        let name = match self.follower.get(task).cpu {
            Some(_) => "sched_wakeup",
            None => "sched_wakeup_new",
        };
        let who = self.who(task);
        let flags = self.context(task);
        self.line(
            event,
            flags,
            format_args!("{name}: {who} target_cpu={:03}", target.0),
        );
    }

    fn migrate(&mut self, event: &Event, task: TaskId, from: CpuId, to: CpuId) {
        let who = self.who(task);
        let flags = match event.kind {
            EventKind::Wakeup { .. } => self.context(task),
            _ => IN_SCHEDULER,
        };
        self.line(
            event,
            flags,
            format_args!("sched_migrate_task: {who} orig_cpu={from} dest_cpu={to}"),
        );
    }

    fn fork(&mut self, event: &Event, child: TaskId, parent: TaskId) {
        let parent = self.task_or_idle(Some(parent), event.cpu);
        let child = self.task_or_idle(Some(child), event.cpu);
        self.line(
            event,
            IN_SYSTEM_CALL,
            format_args!(
                "sched_process_fork: comm={} pid={} child_comm={} child_pid={}",
                parent.comm, parent.pid, child.comm, child.pid
            ),
        );
    }

    /// The flags of the event that completes a task's waking.
    fn context(&self, task: TaskId) -> &'static str {
        match self.last_waking {
            Some((waking, by)) if waking == task => wake_flags(by),
            _ => IN_SCHEDULER,
        }
    }

    fn print(&mut self, event: &Event) {
        match event.kind {
            EventKind::Fork {
                child,
                parent: Some(parent),
            } => self.fork(event, child, parent),
            EventKind::Exit { task } => {
                let who = self.who(task);
                self.line(
                    event,
                    IN_SYSTEM_CALL,
                    format_args!("sched_process_exit: {who}"),
                );
            }
            // As the kernel's tracer of system calls prints it.
            EventKind::Yield { .. } => {
                self.line(event, IN_SYSTEM_CALL, format_args!("sys_sched_yield()"));
            }
            EventKind::Waking { task, by } => self.waking(event, task, by),
            EventKind::Wakeup { task, target } => self.wakeup(event, task, target),
            EventKind::Switch {
                prev,
                prev_state,
                next,
            } => {
                self.switch(event, prev, prev_state, next);
            }
            _ => {}
        }
    }
}

impl<W: Write> Sink for FtraceSink<W> {
    fn begin(&mut self, info: &TraceInfo) {
        self.follower.begin(info.nr_cpus);
        let simulated = match info.has_costs {
            true => format!("{SIMULATED_HEADING}\n"),
            false => String::new(),
        };
        self.out.text(format_args!(
            "# tracer: nop\n\
             {simulated}#\n\
             #           TASK-PID       TGID   CPU#  ||||  TIMESTAMP  FUNCTION\n"
        ));
    }

    fn task(&mut self, info: &TaskInfo) {
        self.follower.task(info, comm(&info.name));
    }

    fn event(&mut self, event: &Event) {
        if let Some((task, from, to)) = self.follower.migration(event) {
            self.migrate(event, task, from, to);
        }
        self.print(event);
        self.follower.event(event);
    }

    fn end(&mut self, _time: Time) {}
}

/// A task as a line names it.
struct Task {
    comm: String,
    pid: u32,
    prio: i32,
}

/// A name readers cannot misread.
fn comm(name: &str) -> String {
    let breaks_line = |c: char| c.is_whitespace() || c.is_control() || c == '=';
    match name {
        "" => "<...>".to_string(),
        name => name.replace(breaks_line, "_"),
    }
}

fn wake_flags(by: WakeContext) -> &'static str {
    match by {
        WakeContext::Task => IN_SCHEDULER,
        WakeContext::Irq => IN_INTERRUPT,
        WakeContext::SoftIrq => IN_SOFT_INTERRUPT,
    }
}

fn state_letters(state: PrevState) -> &'static str {
    match state {
        PrevState::Preempted => "R+",
        PrevState::Yielded | PrevState::Moved | PrevState::Idle => "R",
        PrevState::Sleeping => "S",
        PrevState::DiskSleep => "D",
        PrevState::Exited => "Z",
    }
}
