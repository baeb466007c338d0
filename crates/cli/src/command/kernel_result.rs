//! `run` and `compare` with `--world vm`: flags, runs in a real kernel, output.

use std::time::Duration;

use schedlab_input::Diagnostic;
use schedlab_vm::Clock;

use crate::arguments::{CommonArguments, PlayedArguments};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::kernel::{failure, machine, Echo, KernelRun, KernelSession, Scheduler, Task};
use crate::outputs::{Finished, Traces};
use crate::progress::Waiting;
use crate::results::{report_info, Files, Form};
use schedlab_lab::choose::{self};
use schedlab_lab::{in_parallel, threads, CommandLine};

use super::play::tell_caveats;
use super::{note, print};

/// Runs a command in a real kernel under each of the policies, writes all files and prints the result.
pub fn kernel_runs(
    command: &'static str,
    policies: &str,
    baseline: Option<&str>,
    common: &CommonArguments,
) -> Result<(), Failure> {
    let task = task(common)?;
    let interrupt = Interrupt::listen()?;
    let set = common.settings.read()?;
    let flag = if command == "run" {
        "--policy"
    } else {
        "--policies"
    };
    let mut schedulers = Scheduler::of_list(flag, policies, &set, &interrupt)?;
    choose::to_front(&mut schedulers, baseline, Scheduler::names)?;
    Scheduler::check_watchdog(&schedulers, common.vm.watchdog)?;
    let traces = common.trace.as_deref();
    let traces = traces
        .map(|path| Traces::parse(path, schedulers.len()))
        .transpose()?;
    let files = Files::create(common.report.as_deref(), common.json.as_deref())?;
    let stop = || interrupt.signal().is_some();
    let machine = machine(&common.vm, &mut note, &stop);
    let session = KernelSession {
        machine: machine.map_err(|e| failure(e, &interrupt))?,
        task,
        with: common.vm.with.clone(),
        record: true,
        data_flow: false,
        timeout: Duration::from_nanos(common.vm.timeout.0),
        watchdog: common.vm.watchdog,
    };
    let reproduce = reproduce(command, &session, policies, common);
    let results = all_runs(
        &session,
        &schedulers,
        traces,
        &reproduce.to_string(),
        common,
        &interrupt,
    )?;
    let machine = session.machine_name(&results[0].outcome);
    let (mut runs, mut finished) = (Vec::new(), Vec::new());
    for result in results {
        runs.extend(result.run);
        finished.extend(result.trace);
    }
    let info = report_info(files.command(reproduce), machine);
    finished.extend(files.write(&runs, &info)?);
    interrupt.check()?;
    finished.into_iter().try_for_each(Finished::keep)?;
    print(&Form::stdout(common.format).text(&runs)?)
}

/// What is run in a real kernel: a command, or a workload.
fn task(common: &CommonArguments) -> Result<Task, Failure> {
    let workload = match common.workload.as_slice() {
        [] => return Ok(Task::Command(common.command.clone())),
        [one] => one,
        _ => {
            let mistake = Diagnostic::new("in a real kernel one workload runs at a time");
            return Err(mistake.at("--workload", 0).expected("one").into());
        }
    };
    if common.seeds.is_some() {
        let mistake = Diagnostic::new("in a real kernel a workload runs with one seed");
        return Err(mistake.at("--seeds", 0).expected("--seed").into());
    }
    let arguments = PlayedArguments {
        duration: common.duration,
        seed: common.seed,
        rtapp: common.rtapp.clone(),
    };
    played(workload, arguments)
}

/// A workload, checked to be readable; prints how it differs in a real kernel.
pub fn played(workload: &str, arguments: PlayedArguments) -> Result<Task, Failure> {
    let mut read = choose::workload(workload, &arguments.rtapp.options())?;
    if arguments.duration.is_none() {
        read.warnings.extend(read.assumed_duration.take());
    }
    tell_caveats(&read);
    Ok(Task::Workload(workload.to_string(), arguments))
}

/// Every scheduler's run, in order; the output of the commands goes to standard error.
fn all_runs(
    session: &KernelSession,
    schedulers: &[Scheduler],
    traces: Option<Traces>,
    reproduce: &str,
    common: &CommonArguments,
    interrupt: &Interrupt,
) -> Result<Vec<KernelRun>, Failure> {
    let one = |index: usize, cancel: &schedlab_lab::Cancel| {
        let scheduler = &schedulers[index];
        let name = scheduler.full_name().replace([' ', '/', ':', '='], "-");
        let label = (schedulers.len() > 1).then_some(name.as_str());
        let trace = traces
            .as_ref()
            .map(|traces| traces.create(traces.path_of(label)));
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let mut echo = Echo {
            stdout: &mut stdout,
            stderr: &mut stderr,
            beat: &mut |_| (),
        };
        let stop = || interrupt.signal().is_some() || cancel.cancelled();
        let ran = session.run(scheduler, &mut echo, &stop);
        let outcome = ran.map_err(|error| match failure(error, interrupt) {
            Failure::Ended(exit, problem) => Failure::Ended(exit, format!("{name}: {problem}")),
            other => other,
        })?;
        for line in [stdout, stderr]
            .iter()
            .flat_map(|said| said.split_inclusive(|b| *b == b'\n'))
        {
            note(&format!(
                "{name}: {}",
                String::from_utf8_lossy(line).trim_end()
            ));
        }
        session.measured(scheduler, outcome, trace.transpose()?, reproduce)
    };
    let mut waiting = Waiting::new();
    let results = in_parallel(schedulers.len(), threads_for(session, common), one, || {
        waiting.show("running");
    });
    drop(waiting);
    interrupt.check()?;
    results
}

/// One thread with the host's clock, because parallel runs would disturb each other.
fn threads_for(session: &KernelSession, common: &CommonArguments) -> usize {
    match (session.machine.clock, common.jobs) {
        (Clock::Fast, None) => 1,
        (_, jobs) => threads(jobs),
    }
}

fn reproduce(
    command: &str,
    session: &KernelSession,
    policies: &str,
    common: &CommonArguments,
) -> CommandLine {
    let flag = match command {
        "run" => "--policy",
        _ => "--policies",
    };
    let line = CommandLine::new(command)
        .flag("--world", "vm")
        .flag(flag, policies);
    let line = line
        .words(common.settings.flags())
        .words(session.flags(&common.vm));
    session.task.asked_in(line)
}
