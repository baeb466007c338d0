//! `schedlab vm`: a command in a real kernel.

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use schedlab_vm::{Clock, Content, Kernel, Listener, Machine, Outcome, VmError};

use crate::arguments::{VmArguments, VmClock, VmMachineArguments};
use crate::failure::Failure;
use crate::interrupt::Interrupt;

use super::note;

/// Runs a command in a virtual machine; its status.
pub fn vm(arguments: &VmArguments) -> Result<ExitCode, Failure> {
    let interrupt = Interrupt::listen()?;
    let stop = || interrupt.signal().is_some();
    let machine = machine(&arguments.machine, &stop).map_err(|e| failure(e, &interrupt))?;
    let content = content(arguments)?;
    let timeout = Duration::from_nanos(arguments.machine.timeout.0);
    let ran = schedlab_vm::run(&machine, &content, timeout, &mut Terminal, &stop);
    let outcome = ran.map_err(|e| failure(e, &interrupt))?;
    tell(&machine, &outcome);
    Ok(ExitCode::from(outcome.ended.exit.code()))
}

/// The machine the flags describe, with its kernel.
fn machine(arguments: &VmMachineArguments, stop: &dyn Fn() -> bool) -> Result<Machine, VmError> {
    let kernel = match &arguments.kernel {
        Some(file) => Kernel::in_file(file)?,
        None => Kernel::debian(&mut note, stop)?,
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

fn content(arguments: &VmArguments) -> Result<Content, Failure> {
    let place = |what: &str, found: io::Result<_>| {
        found.map_err(|error| Failure::Other(format!("{what}: {error}")))
    };
    Ok(Content {
        init: place("this program", std::env::current_exe())?,
        command: arguments.command.clone(),
        scheduler: None,
        with: arguments.machine.with.clone(),
        folder: place("the current folder", std::env::current_dir())?,
    })
}

fn failure(error: VmError, interrupt: &Interrupt) -> Failure {
    match (error, interrupt.signal()) {
        (VmError::Interrupted, Some(signal)) => Failure::Interrupted(signal),
        (VmError::Host(error), _) if error.kind() == io::ErrorKind::BrokenPipe => {
            Failure::Output("standard output".into(), error)
        }
        (error, _) => Failure::Other(error.to_string()),
    }
}

/// What a person should know beside what the command said.
fn tell(machine: &Machine, outcome: &Outcome) {
    for line in outcome.kernel_log.lines() {
        note(&format!("kernel: {line}"));
    }
    let ended = &outcome.ended;
    let seconds = |ns: u64| ns as f64 / 1e9;
    note(&format!(
        "real {:.6} s, user {:.6} s, system {:.6} s; {} voluntary switches, {} involuntary",
        seconds(ended.real_ns),
        seconds(ended.user_ns),
        seconds(ended.system_ns),
        ended.voluntary_switches,
        ended.involuntary_switches,
    ));
    note(&format!(
        "Linux {} (image {:032x})",
        outcome.hello.release, machine.kernel.hash
    ));
}

/// Passes the command's output on as it comes.
struct Terminal;

impl Listener for Terminal {
    fn stdout(&mut self, bytes: &[u8]) -> Result<(), VmError> {
        let mut out = io::stdout().lock();
        out.write_all(bytes)
            .and_then(|()| out.flush())
            .map_err(VmError::Host)
    }

    fn stderr(&mut self, bytes: &[u8]) -> Result<(), VmError> {
        io::stderr().write_all(bytes).map_err(VmError::Host)
    }
}
