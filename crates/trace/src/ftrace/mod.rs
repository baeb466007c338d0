//! A trace as ftrace prints it, for tools that read the kernel's text: Perfetto, LISA, TRAPpy,
//! traceshark, grep.

use std::fmt;
use std::io::{self, Write};

use crate::follow::{Follower, IDLE_PRIO};
use crate::output::Output;
use crate::{
    CpuId, Event, EventKind, PrevState, Sink, TaskId, TaskInfo, Time, TraceInfo, WakeContext,
};

pub mod line;

use line::{splits_line, Context, Head, Named, Tracepoint, COLUMNS, SIMULATED_HEADING, YIELD};

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
    fn line<'a, T: fmt::Display>(
        &'a mut self,
        event: &Event,
        context: Context,
        what: impl FnOnce(&'a Follower) -> T,
    ) {
        let follower = &self.follower;
        let running = follower.running(event.cpu).map(|id| follower.get(id));
        let head = Head {
            comm: running.map_or("<idle>", |task| &task.comm),
            pid: running.map_or(0, |task| task.pid),
            tgid: running.map(|task| task.tgid),
            cpu: event.cpu,
            context,
            time: event.time,
        };
        let what = what(follower);
        self.out.text(format_args!("{head}{what}\n"));
    }

    fn waking(&mut self, event: &Event, task: TaskId, by: WakeContext) {
        self.last_waking = Some((task, by));
        self.line(event, wake_context(by), |follower| Tracepoint::Waking {
            task: named(follower, task),
            // As in the kernel, the CPU the task last belonged to: where it will run is not chosen yet.
            target: follower.get(task).cpu.unwrap_or(event.cpu),
        });
    }

    /// Where the CPU is while a task's waking is completed.
    fn context(&self, task: TaskId) -> Context {
        match self.last_waking {
            Some((waking, by)) if waking == task => wake_context(by),
            _ => Context::Scheduler,
        }
    }

    fn migrate(&mut self, event: &Event, task: TaskId, from: CpuId, to: CpuId) {
        let context = match event.kind {
            EventKind::Wakeup { .. } => self.context(task),
            _ => Context::Scheduler,
        };
        self.line(event, context, |follower| Tracepoint::Migrate {
            task: named(follower, task),
            from,
            to,
        });
    }

    fn print(&mut self, event: &Event) {
        match event.kind {
            EventKind::Fork {
                child,
                parent: Some(parent),
            } => self.line(event, Context::SystemCall, |follower| Tracepoint::Fork {
                parent: named(follower, parent),
                child: named(follower, child),
            }),
            EventKind::Exit { task } => {
                self.line(event, Context::SystemCall, |follower| Tracepoint::Exit {
                    task: named(follower, task),
                });
            }
            EventKind::Yield { .. } => self.line(event, Context::SystemCall, |_| YIELD),
            EventKind::Waking { task, by } => self.waking(event, task, by),
            EventKind::Wakeup { task, target } => {
                self.line(event, self.context(task), |follower| Tracepoint::Wakeup {
                    task: named(follower, task),
                    is_new: follower.get(task).cpu.is_none(),
                    target,
                });
            }
            EventKind::Switch {
                prev,
                prev_state,
                next,
            } => self.line(event, Context::Scheduler, |follower| Tracepoint::Switch {
                prev: named_or_idle(follower, prev, event.cpu),
                prev_state: state_letters(prev_state),
                next: named_or_idle(follower, next, event.cpu),
            }),
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
        self.out
            .text(format_args!("# tracer: nop\n{simulated}#\n{COLUMNS}\n"));
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

fn named(follower: &Follower, task: TaskId) -> Named<'_> {
    let task = follower.get(task);
    Named {
        comm: (&task.comm).into(),
        pid: task.pid,
        prio: Some(task.prio()),
    }
}

fn named_or_idle(follower: &Follower, task: Option<TaskId>, cpu: CpuId) -> Named<'_> {
    match task {
        Some(id) => named(follower, id),
        None => Named {
            comm: format!("swapper/{cpu}").into(),
            pid: 0,
            prio: Some(IDLE_PRIO),
        },
    }
}

/// A name readers cannot misread.
fn comm(name: &str) -> String {
    match name {
        "" => "<...>".to_string(),
        name => name.replace(splits_line, "_"),
    }
}

fn wake_context(by: WakeContext) -> Context {
    match by {
        WakeContext::Task => Context::Scheduler,
        WakeContext::Irq => Context::Interrupt,
        WakeContext::SoftIrq => Context::SoftInterrupt,
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
