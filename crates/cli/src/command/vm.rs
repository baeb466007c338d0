//! `schedlab vm`: a command in a real kernel.

use std::io;
use std::process::ExitCode;
use std::time::Duration;

use schedlab_report::table::Terminal;
use schedlab_report::Run;

use crate::arguments::VmArguments;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::kernel::{failure, machine, Echo, KernelRun, KernelSession, Scheduler, Task};
use crate::outputs::{Finished, Traces};
use crate::progress::Waiting;
use schedlab_lab::CommandLine;

use crate::results::{report_info, Files, Form};

use super::kernel_result::played;
use super::note;

/// Runs a command in a virtual machine; returns its status.
pub fn vm(arguments: &VmArguments) -> Result<ExitCode, Failure> {
    let interrupt = Interrupt::listen()?;
    let stop = || interrupt.signal().is_some();
    let set = arguments.settings.read()?;
    let scheduler = match &arguments.scheduler {
        Some(program) => Scheduler::of_program(program)?,
        None => Scheduler::of_policy(&arguments.policy, &set, &interrupt)?,
    };
    Scheduler::check_watchdog(std::slice::from_ref(&scheduler), arguments.machine.watchdog)?;
    let machine = machine(&arguments.machine, &mut note, &stop);
    let session = KernelSession {
        machine: machine.map_err(|e| failure(e, &interrupt))?,
        task: task(arguments)?,
        with: arguments.machine.with.clone(),
        record: !arguments.no_record,
        data_flow: arguments.data_flow,
        timeout: Duration::from_nanos(arguments.machine.timeout.0),
        watchdog: arguments.machine.watchdog,
    };
    let traces = arguments
        .trace
        .as_deref()
        .map(|path| Traces::parse(path, 1));
    let traces = traces.transpose()?;
    let trace = traces.map(|traces| traces.create(traces.path_of(None)));
    let trace = trace.transpose()?;
    let files = Files::create(arguments.report.as_deref(), arguments.json.as_deref())?;
    let mut waiting = Waiting::new();
    let outcome = session.run(
        &scheduler,
        &mut Echo {
            stdout: &mut io::stdout(),
            stderr: &mut io::stderr(),
            beat: &mut |state| waiting.show(state.name()),
        },
        &stop,
    );
    drop(waiting);
    let outcome = outcome.map_err(|e| failure(e, &interrupt))?;
    let command = reproduce(&session, &scheduler, arguments);
    let result = session.measured(&scheduler, outcome, trace, &command.to_string())?;
    conclude(&session, result, files, command, arguments)
}

/// What to run: the command, or a workload, checked to be readable.
fn task(arguments: &VmArguments) -> Result<Task, Failure> {
    match &arguments.workload {
        None => Ok(Task::Command(arguments.command.clone())),
        Some(workload) => played(workload, arguments.played.clone()),
    }
}

/// Writes the files, prints the result, and returns the command's status.
fn conclude(
    session: &KernelSession,
    result: KernelRun,
    files: Files,
    command: CommandLine,
    arguments: &VmArguments,
) -> Result<ExitCode, Failure> {
    let outcome = &result.outcome;
    for line in outcome.kernel_log.lines() {
        note(&format!("kernel: {line}"));
    }
    let runs: Vec<Run> = result.run.into_iter().collect();
    let mut finished: Vec<Finished> = result.trace.into_iter().collect();
    if !runs.is_empty() {
        let info = report_info(files.command(command), session.machine_name(outcome));
        finished.extend(files.write(&runs, &info)?);
        let form = Form {
            format: arguments.format,
            terminal: Terminal::stderr(),
        };
        form.tell(&runs)?;
    }
    finished.into_iter().try_for_each(Finished::keep)?;
    if let (Some(path), Some(recording)) = (&arguments.trace, &outcome.recording) {
        super::record::write_calls(path, recording)?;
    }
    let ended = &outcome.ended;
    let seconds = |ns: u64| ns as f64 / 1e9;
    note(&format!(
        "real {:.6} s, user {:.6} s, system {:.6} s",
        seconds(ended.real_ns),
        seconds(ended.user_ns),
        seconds(ended.system_ns),
    ));
    if arguments.no_record {
        note(&session.machine_name(outcome));
    }
    Ok(ExitCode::from(ended.exit.code()))
}

fn reproduce(
    session: &KernelSession,
    scheduler: &Scheduler,
    arguments: &VmArguments,
) -> CommandLine {
    let line = CommandLine::new("vm").words(scheduler.flags());
    let line = line.words(arguments.settings.flags());
    session
        .task
        .asked_in(line.words(session.flags(&arguments.machine)))
}
