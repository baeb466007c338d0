//! A command under one or several schedulers of a real kernel.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use schedlab_lab::{exact, identity, quoted, CommandLine, Recorded};
use schedlab_policy::Nice;
use schedlab_report::{Identity, Run};
use schedlab_trace::{Ns, TraceInfo};
use schedlab_vm::{Clock, Content, GuestOutcome, Kernel, Listener, Machine, State, VmError};

use crate::arguments::{PlayedArguments, VmClock, VmMachineArguments};
use crate::command::PROGRAMS;
use crate::failure::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::outputs::{Finished, TraceFile};

use super::counters::totals;
use super::scheduler::watchdog_flag;
use super::Scheduler;

/// Memory of the guest that trace buffers take, at most: an eighth, and 64 MiB.
const BUFFER_SHARE: u64 = 8;
const MOST_BUFFER_MIB: u64 = 64;

/// A machine and a command, to be run under one scheduler after the other.
pub struct KernelSession {
    pub machine: Machine,
    pub task: Task,
    /// Files and folders to take along.
    pub with: Vec<PathBuf>,
    pub record: bool,
    /// Whether system calls that move data or wait are recorded, too.
    pub data_flow: bool,
    pub timeout: Duration,
    /// The watchdog of the policies; none: the default of `load`.
    pub watchdog: Option<Ns>,
}

/// What is run.
pub enum Task {
    /// A command.
    Command(Vec<String>),
    /// A workload to execute: its name on the command line, and how.
    Workload(String, PlayedArguments),
}

impl Task {
    /// The command in the guest.
    pub fn command(&self) -> Vec<String> {
        match self {
            Task::Command(words) => words.clone(),
            Task::Workload(workload, played) => {
                let words = ["schedlab", "play", "--quiet", workload].map(str::to_string);
                words
                    .into_iter()
                    .chain(Task::played_flags(played))
                    .collect()
            }
        }
    }

    fn played_flags(played: &PlayedArguments) -> Vec<String> {
        let mut flags = vec![("--seed", played.seed.to_string())];
        flags.extend(played.duration.map(|time| ("--duration", exact(time))));
        flags.extend(played.rtapp.flags());
        let words = flags.into_iter();
        words
            .flat_map(|(flag, value)| [flag.to_string(), value])
            .collect()
    }

    /// Its name in results.
    pub fn name(&self) -> String {
        match self {
            Task::Command(words) => quoted(words),
            Task::Workload(workload, _) => workload.clone(),
        }
    }

    /// Adds it to a command line.
    pub fn asked_in(&self, line: CommandLine) -> CommandLine {
        match self {
            Task::Command(words) => line.behind_dashes(words.iter().cloned()),
            Task::Workload(workload, played) => line
                .flag("--workload", workload)
                .words(Task::played_flags(played)),
        }
    }

    fn seed(&self) -> u64 {
        match self {
            Task::Command(_) => 0,
            Task::Workload(_, played) => played.seed,
        }
    }
}

/// The results of a run.
pub struct KernelRun {
    pub outcome: GuestOutcome,
    /// What was measured, if it was recorded.
    pub run: Option<Run>,
    pub trace: Option<Finished>,
}

/// Where the command's output goes.
pub struct Echo<'a> {
    pub stdout: &'a mut dyn io::Write,
    pub stderr: &'a mut dyn io::Write,
    pub beat: &'a mut dyn FnMut(State),
}

impl Listener for Echo<'_> {
    fn stdout(&mut self, bytes: &[u8]) -> Result<(), VmError> {
        let out = &mut self.stdout;
        out.write_all(bytes)
            .and_then(|()| out.flush())
            .map_err(VmError::Host)
    }

    fn stderr(&mut self, bytes: &[u8]) -> Result<(), VmError> {
        // If standard error is closed, its output is lost.
        let _ = self.stderr.write_all(bytes);
        Ok(())
    }

    fn beat(&mut self, state: State) {
        (self.beat)(state);
    }
}

/// The machine the flags describe, with its kernel.
pub fn machine(
    arguments: &VmMachineArguments,
    note: &mut dyn FnMut(&str),
    stop: &dyn Fn() -> bool,
) -> Result<Machine, VmError> {
    let kernel = match &arguments.kernel {
        Some(file) => Kernel::in_file(file)?,
        None => Kernel::debian(note, stop)?,
    };
    Ok(Machine {
        kernel,
        cpus: arguments.cpus,
        memory_mib: arguments.memory,
        clock: match arguments.clock {
            VmClock::Deterministic => Clock::Deterministic,
            VmClock::Fast => Clock::Fast,
        },
    })
}

/// The failure of a machine without results.
pub fn failure(error: VmError, interrupt: &Interrupt) -> Failure {
    match (error, interrupt.signal()) {
        (VmError::Interrupted, signal) => Failure::Interrupted(signal.unwrap_or(0)),
        (VmError::Host(error), _) if error.kind() == io::ErrorKind::BrokenPipe => {
            Failure::Output("standard output".into(), error)
        }
        (error, _) => Failure::Ended(exit_of(&error), error.to_string()),
    }
}

fn exit_of(error: &VmError) -> Exit {
    match error {
        VmError::NoKernelImage(_) | VmError::NoCommand | VmError::NoProgram(_) => Exit::BadInput,
        VmError::TimedOut { .. } => Exit::LimitReached,
        VmError::ThrownOut { .. } => Exit::PolicyFault,
        _ => Exit::System,
    }
}

impl KernelSession {
    /// Runs the command under a scheduler.
    pub fn run(
        &self,
        scheduler: &Scheduler,
        echo: &mut Echo,
        stop: &dyn Fn() -> bool,
    ) -> Result<GuestOutcome, VmError> {
        let place = |what: &str, found: io::Result<PathBuf>| {
            found.map_err(|error| VmError::Tool(format!("{what}: {error}")))
        };
        let content = Content {
            init: place("this program", std::env::current_exe())?,
            command: self.task.command(),
            own: PROGRAMS,
            scheduler: scheduler.command(self.watchdog),
            files: scheduler.files(),
            with: self.with.clone(),
            folder: place("the current folder", std::env::current_dir())?,
            buffer_kib: self.record.then(|| self.buffer_kib()),
            data_flow: self.data_flow,
        };
        schedlab_vm::run(&self.machine, &content, self.timeout, echo, stop)
    }

    fn buffer_kib(&self) -> u64 {
        let mib = (self.machine.memory_mib / BUFFER_SHARE).min(MOST_BUFFER_MIB);
        mib * 1024 / u64::from(self.machine.cpus)
    }

    /// Measures the recording of a run.
    pub fn measured(
        &self,
        scheduler: &Scheduler,
        mut outcome: GuestOutcome,
        trace: Option<TraceFile>,
        command: &str,
    ) -> Result<KernelRun, Failure> {
        if let Some(recording) = &mut outcome.recording {
            recording.counters = totals(&outcome.scheduler);
        }
        let Some(recording) = &outcome.recording else {
            return Ok(KernelRun {
                outcome,
                run: None,
                trace: None,
            });
        };
        let recorded = Recorded::new(recording, &self.info(scheduler, &outcome), trace);
        let trace = recorded.sink.map(TraceFile::finish).transpose()?;
        let run = self.describe(scheduler, &outcome, recorded.run, command);
        Ok(KernelRun {
            outcome,
            run: Some(run),
            trace,
        })
    }

    /// The head of its trace.
    pub fn info(&self, scheduler: &Scheduler, outcome: &GuestOutcome) -> TraceInfo {
        let (policy, variant) = scheduler.label();
        TraceInfo {
            policy: format!("{policy} {variant}").trim().to_string(),
            workload: self.task.name(),
            machine: self.machine_name(outcome),
            nice_is_weighted: scheduler
                .tuned()
                .is_some_and(|tuned| tuned.policy.promise().nice == Nice::Weighted),
            // Nothing tells the BPF build of a policy of cgroups.
            is_flat: scheduler.tuned().is_some(),
            ..TraceInfo::default()
        }
    }

    fn describe(
        &self,
        scheduler: &Scheduler,
        outcome: &GuestOutcome,
        run: Run,
        command: &str,
    ) -> Run {
        let (policy, variant) = scheduler.label();
        let changed = match scheduler {
            Scheduler::Policy { tuned, .. } => tuned.changed(),
            _ => &[],
        };
        Run {
            policy,
            variant,
            tunables: changed
                .iter()
                .map(|set| (set.target(), set.values_text()))
                .collect(),
            seed: self.task.seed(),
            identity: Identity {
                policy: scheduler.tuned().map(identity::policy),
                ..run.identity
            },
            command: command.to_string(),
            end: format!("exit status {}", outcome.ended.exit.code()),
            ..run
        }
    }

    /// The machine: what affects a run besides scheduler and command.
    pub fn machine_name(&self, outcome: &GuestOutcome) -> String {
        let clock = match self.machine.clock {
            Clock::Deterministic => "deterministic",
            Clock::Fast => "fast",
        };
        let cpus = match self.machine.cpus {
            1 => "1 CPU".to_string(),
            cpus => format!("{cpus} CPUs"),
        };
        format!(
            "QEMU with {cpus}, {clock} clock, Linux {} (image {:032x})",
            outcome.hello.release, self.machine.kernel.hash
        )
    }

    /// The flags that describe this machine.
    pub fn flags(&self, arguments: &VmMachineArguments) -> Vec<String> {
        let mut flags = vec!["--cpus".into(), self.machine.cpus.to_string()];
        flags.extend(["--memory".into(), format!("{}MiB", self.machine.memory_mib)]);
        if self.machine.clock == Clock::Fast {
            flags.extend(["--clock".into(), "fast".into()]);
        }
        if let Some(kernel) = &arguments.kernel {
            flags.extend(["--kernel".into(), kernel.display().to_string()]);
        }
        flags.extend(watchdog_flag(self.watchdog));
        for with in &self.with {
            flags.extend(["--with".into(), with.display().to_string()]);
        }
        flags
    }
}
