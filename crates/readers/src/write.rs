//! Writes recordings as text, in the formats of ftrace and perf script.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};

use schedlab_recording::{
    Comm, KernelEvent, KernelEventKind, KernelState, Pid, Recording, TaskRef,
};
use schedlab_trace::ftrace::line::{splits_line, Context, Head, Named, Tracepoint, COLUMNS, YIELD};
use schedlab_trace::{WakeContext, SIMULATED_HEADING};

/// The text before the kernel's release in perf script's header.
pub const RELEASE: &str = "# os release : ";

/// The text before the CPU time to record a system call, in ns.
pub const CALL_COST: &str = "# ns to record a system call : ";

/// The format of the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TextFormat {
    /// ftrace's `trace` file with `record-tgid`, with times in ns.  Blanks and `=` in names become `_`, because Perfetto
    /// and other readers split lines there.
    Ftrace,
    /// The text of `perf script --ns -F comm,pid,tid,cpu,time,event,trace`.
    PerfScript,
}

/// Writes a recording; returns notes about data that the format cannot contain.
///
/// # Errors
/// Those of the writer.
pub fn write_text(
    recording: &Recording,
    format: TextFormat,
    out: &mut impl Write,
) -> io::Result<Vec<String>> {
    let mut writer = Writer::new(recording, format);
    writer.heading(out)?;
    for event in recording.events() {
        writer.event(event, out)?;
    }
    Ok(writer.notes())
}

struct Writer<'a> {
    recording: &'a Recording,
    format: TextFormat,
    processes: HashMap<Pid, Pid>,
    /// The running task of each CPU.
    running: Vec<(Pid, Comm)>,
    /// The last names of threads.
    names: HashMap<Pid, Comm>,
    /// Tasks that were forked and not yet woken.
    new: HashSet<Pid>,
    renamed: bool,
    contexts_lost: bool,
}

impl<'a> Writer<'a> {
    fn new(recording: &'a Recording, format: TextFormat) -> Writer<'a> {
        let known = recording.tasks.iter();
        let mut writer = Writer {
            recording,
            format,
            processes: known.map(|t| (Pid(t.pid), Pid(t.tgid))).collect(),
            running: Vec::new(),
            names: HashMap::new(),
            new: HashSet::new(),
            renamed: false,
            contexts_lost: false,
        };
        writer.running = writer.running_at_start();
        writer
    }

    /// The running task of each CPU at the start, from its first switch; idle without a switch.
    fn running_at_start(&self) -> Vec<(Pid, Comm)> {
        let mut running = vec![None; self.recording.nr_cpus() as usize];
        for event in self.recording.events() {
            if let KernelEventKind::Switch { prev, .. } = event.kind {
                running[event.cpu.index()].get_or_insert((prev.pid, prev.comm));
            }
        }
        let idle = (Pid::IDLE, Comm(0));
        running.into_iter().map(|r| r.unwrap_or(idle)).collect()
    }

    /// Writes the lines before the first event.
    fn heading(&self, out: &mut impl Write) -> io::Result<()> {
        let recording = self.recording;
        let simulated = |out: &mut dyn Write| match recording.is_simulated {
            true => writeln!(out, "{SIMULATED_HEADING}"),
            false => Ok(()),
        };
        match (self.format, &recording.release) {
            (TextFormat::PerfScript, Some(release)) => {
                writeln!(out, "# os release : {release}")?;
                simulated(out)
            }
            (TextFormat::PerfScript, None) => simulated(out),
            (TextFormat::Ftrace, _) => {
                let cpus = recording.nr_cpus();
                writeln!(out, "# tracer: nop")?;
                if let Some(release) = &recording.release {
                    writeln!(out, "{RELEASE}{release}")?;
                }
                if recording.call_cost_ns > 0 {
                    writeln!(out, "{CALL_COST}{}", recording.call_cost_ns)?;
                }
                simulated(out)?;
                writeln!(out, "#                              #P:{cpus}")?;
                writeln!(out, "{COLUMNS}")?;
                match recording.nr_lost {
                    0 => Ok(()),
                    lost => writeln!(out, "CPU:0 [LOST {lost} EVENTS]"),
                }
            }
        }
    }

    fn event(&mut self, event: &KernelEvent, out: &mut impl Write) -> io::Result<()> {
        let (pid, comm) = match event.kind {
            // Only the head of the line names the task that yields.
            KernelEventKind::Yield { pid }
            | KernelEventKind::Enter { pid, .. }
            | KernelEventKind::Return { pid, .. } => (pid, self.names.get(&pid).copied()),
            _ => {
                let (pid, comm) = self.running[event.cpu.index()];
                (pid, Some(comm))
            }
        };
        let by = match event.kind {
            KernelEventKind::Waking { by, .. } | KernelEventKind::Wakeup { by, .. } => Some(by),
            _ => None,
        };
        self.head(event, pid, comm, by, out)?;
        self.arguments(event, out)?;
        self.follow(event);
        Ok(())
    }

    /// Writes the head of a line: task, CPU, time and the event's name.
    fn head(
        &mut self,
        event: &KernelEvent,
        pid: Pid,
        comm: Option<Comm>,
        by: Option<WakeContext>,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let told = self.recording.process_of(pid);
        let tgid = self.processes.get(&pid).copied().or(told);
        let comm = self.name(comm.filter(|_| pid != Pid::IDLE), pid);
        let (time, cpu) = (event.time, event.cpu.0);
        if self.format == TextFormat::Ftrace {
            let head = Head {
                comm: &comm,
                pid: pid.0,
                tgid: tgid.map(|tgid| tgid.0),
                cpu: event.cpu,
                context: context(by, event.kind),
                time,
            };
            return write!(out, "{head}");
        }
        let idle = match pid {
            Pid::IDLE => WakeContext::Irq,
            _ => WakeContext::Task,
        };
        self.contexts_lost |= by.is_some_and(|by| by != idle);
        let ids = match tgid {
            Some(tgid) => format!("{}/{}", tgid.0, pid.0),
            None if pid == Pid::IDLE => "0/0".to_string(),
            None => pid.0.to_string(),
        };
        write!(out, "{comm:>16} {ids:>11} [{cpu:03}] {time}: ")
    }

    /// A name in the form this format allows.
    fn name(&mut self, comm: Option<Comm>, pid: Pid) -> String {
        let name = match (comm, pid, self.format) {
            (None, Pid::IDLE, TextFormat::Ftrace) => "<idle>",
            (None, Pid::IDLE, TextFormat::PerfScript) => "swapper",
            (None, ..) => "<...>",
            (Some(comm), ..) => self.recording.name(comm),
        };
        let breaks = match self.format {
            TextFormat::Ftrace => name.contains(splits_line),
            TextFormat::PerfScript => name.contains(char::is_control),
        };
        if !breaks {
            return name.to_string();
        }
        self.renamed = true;
        match self.format {
            TextFormat::Ftrace => name.replace(splits_line, "_"),
            TextFormat::PerfScript => name.replace(char::is_control, "_"),
        }
    }

    fn named(&mut self, task: TaskRef) -> Named<'static> {
        Named {
            comm: self.name(Some(task.comm), task.pid).into(),
            pid: task.pid.0,
            prio: task.prio.map(i32::from),
        }
    }

    /// An event of the scheduler's tracepoints that simulations have, too.
    fn tracepoint(&mut self, kind: KernelEventKind) -> Option<Tracepoint<'static>> {
        Some(match kind {
            KernelEventKind::Switch {
                prev,
                prev_state,
                next,
            } => Tracepoint::Switch {
                prev: self.named(prev),
                prev_state: letters(prev_state),
                next: self.named(next),
            },
            KernelEventKind::Waking { task, target, .. } => Tracepoint::Waking {
                task: self.named(task),
                target,
            },
            KernelEventKind::Wakeup { task, target, .. } => Tracepoint::Wakeup {
                task: self.named(task),
                is_new: self.new.contains(&task.pid),
                target,
            },
            KernelEventKind::Migrate { task, from, to } => Tracepoint::Migrate {
                task: self.named(task),
                from,
                to,
            },
            KernelEventKind::Fork {
                parent,
                child,
                child_comm,
            } => Tracepoint::Fork {
                parent: self.forked(parent, self.names.get(&parent).copied()),
                child: self.forked(child, Some(child_comm)),
            },
            KernelEventKind::Exit { task } => Tracepoint::Exit {
                task: self.named(task),
            },
            _ => return None,
        })
    }

    /// A task in sched_process_fork, which has no priority.
    fn forked(&mut self, pid: Pid, comm: Option<Comm>) -> Named<'static> {
        Named {
            comm: self.name(comm, pid).into(),
            pid: pid.0,
            prio: None,
        }
    }

    fn arguments(&mut self, event: &KernelEvent, out: &mut impl Write) -> io::Result<()> {
        let tracepoint = self.tracepoint(event.kind);
        let system = |system| match self.format {
            TextFormat::Ftrace => "",
            TextFormat::PerfScript => system,
        };
        let (sched, task_system) = (system("sched:"), system("task:"));
        if let Some(tracepoint) = tracepoint {
            return writeln!(out, "{sched}{tracepoint}");
        }
        match event.kind {
            KernelEventKind::Exec { pid: Pid(pid) } => {
                writeln!(
                    out,
                    "{sched}sched_process_exec: filename=? pid={pid} old_pid={pid}"
                )
            }
            KernelEventKind::NewTask { pid, comm, thread } => {
                let comm = self.name(Some(comm), pid);
                let flags = if thread { "10000" } else { "0" };
                writeln!(
                    out,
                    "{task_system}task_newtask: pid={} comm={comm} clone_flags={flags} oom_score_adj=0",
                    pid.0
                )
            }
            KernelEventKind::Rename { pid, comm } => {
                let old = self.name(self.names.get(&pid).copied(), pid);
                let new = self.name(Some(comm), pid);
                writeln!(
                    out,
                    "{task_system}task_rename: pid={} oldcomm={old} newcomm={new} oom_score_adj=0",
                    pid.0
                )
            }
            KernelEventKind::Yield { .. } => match self.format {
                TextFormat::Ftrace => writeln!(out, "{YIELD}"),
                TextFormat::PerfScript => writeln!(out, "syscalls:sys_enter_sched_yield:"),
            },
            KernelEventKind::Runtime { task, ns } => {
                let (comm, pid) = (self.name(Some(task.comm), task.pid), task.pid.0);
                writeln!(
                    out,
                    "{sched}sched_stat_runtime: comm={comm} pid={pid} runtime={ns} [ns]"
                )
            }
            KernelEventKind::Enter {
                call,
                arguments: [a, b, c],
                ..
            } => {
                let system = system("raw_syscalls:");
                writeln!(
                    out,
                    "{system}sys_enter: NR {call} ({a:x}, {b:x}, {c:x}, 0, 0, 0)"
                )
            }
            KernelEventKind::Return { call, result, .. } => {
                let system = system("raw_syscalls:");
                writeln!(out, "{system}sys_exit: NR {call} = {result}")
            }
            KernelEventKind::Switch { .. }
            | KernelEventKind::Waking { .. }
            | KernelEventKind::Wakeup { .. }
            | KernelEventKind::Migrate { .. }
            | KernelEventKind::Fork { .. }
            | KernelEventKind::Exit { .. } => unreachable!("written as a tracepoint above"),
        }
    }

    /// Updates the state that later lines need.
    fn follow(&mut self, event: &KernelEvent) {
        match event.kind {
            KernelEventKind::Switch { prev, next, .. } => {
                self.names.insert(prev.pid, prev.comm);
                self.names.insert(next.pid, next.comm);
                self.running[event.cpu.index()] = (next.pid, next.comm);
            }
            KernelEventKind::Wakeup { task, .. } => {
                self.names.insert(task.pid, task.comm);
                self.new.remove(&task.pid);
            }
            KernelEventKind::Waking { task, .. }
            | KernelEventKind::Migrate { task, .. }
            | KernelEventKind::Exit { task } => {
                self.names.insert(task.pid, task.comm);
            }
            KernelEventKind::NewTask { pid, comm, .. } | KernelEventKind::Rename { pid, comm } => {
                self.names.insert(pid, comm);
            }
            KernelEventKind::Fork {
                child, child_comm, ..
            } => {
                self.names.insert(child, child_comm);
                self.new.insert(child);
            }
            KernelEventKind::Exec { .. }
            | KernelEventKind::Yield { .. }
            | KernelEventKind::Runtime { .. }
            | KernelEventKind::Enter { .. }
            | KernelEventKind::Return { .. } => {}
        }
    }

    fn notes(&self) -> Vec<String> {
        let recording = self.recording;
        let is_kernels = self.format == TextFormat::Ftrace;
        let events = recording.events();
        let ends = events
            .first()
            .map(|e| e.time)
            .zip(events.last().map(|e| e.time));
        let told = [
            (self.renamed, "blanks and = in names became _"),
            (
                self.contexts_lost,
                "the context of wakeups (task or interrupt) was not written",
            ),
            (
                recording.nr_lost > 0 && !is_kernels,
                "the number of lost events was not written",
            ),
            (
                !recording.tasks.is_empty(),
                "classes and processes of tasks that existed at the start were not written",
            ),
            (
                ends.is_some_and(|ends| ends != recording.span),
                "the time before the first and after the last event was not written",
            ),
        ];
        let notes = told.into_iter().filter(|(is_so, _)| *is_so);
        notes.map(|(_, note)| note.to_string()).collect()
    }
}

fn context(by: Option<WakeContext>, kind: KernelEventKind) -> Context {
    match (by, kind) {
        (Some(WakeContext::Irq), _) => Context::Interrupt,
        (Some(WakeContext::SoftIrq), _) => Context::SoftInterrupt,
        (_, KernelEventKind::Fork { .. } | KernelEventKind::Exit { .. }) => Context::SystemCall,
        _ => Context::Scheduler,
    }
}

fn letters(state: KernelState) -> &'static str {
    match state {
        KernelState::Runnable => "R",
        KernelState::PreemptedInKernel => "R+",
        KernelState::Sleeping => "S",
        KernelState::DiskSleep => "D",
        KernelState::Stopped => "T",
        KernelState::Dead => "Z",
        KernelState::Parked => "P",
        KernelState::Idle => "I",
    }
}
