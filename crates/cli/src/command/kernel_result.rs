//! From flags to runs in a real kernel to what is printed: `run` and `compare` with `--world vm`.

use std::io::{self, Write};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::time::Duration;

use schedlab_input::Diagnostic;
use schedlab_report::table::Terminal;
use schedlab_report::{json, render_html, text, ReportInfo, Run};
use schedlab_vm::Clock;

use crate::arguments::{CommonArguments, Format, PlayedArguments};
use crate::choose::{self, Assignments};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::kernel::{failure, machine, Echo, KernelRun, KernelSession, Scheduler, Task};
use crate::outputs::{Finished, TextFile, Traces};
use crate::progress::Waiting;
use crate::recipe::quoted;
use schedlab_parallel::in_parallel;

use super::play::tell_caveats;
use super::{note, print};

/// The files a result is written to beside traces.
pub struct Files {
    report: Option<(TextFile, String)>,
    json: Option<TextFile>,
}

impl Files {
    /// Starts them now, so that a place that cannot be written to is known before anything runs.
    pub fn create(report: Option<&Path>, json: Option<&Path>) -> Result<Files, Failure> {
        let file = |flag, path: Option<&Path>, extension| {
            path.map(|path| TextFile::create(flag, path, extension))
                .transpose()
        };
        let name = report.map(|path| path.display().to_string());
        Ok(Files {
            report: file("--report", report, "html")?.zip(name),
            json: file("--json", json, "json")?,
        })
    }

    /// Writes them.
    pub fn write(
        self,
        runs: &[Run],
        command: String,
        machine: String,
    ) -> Result<Vec<Finished>, Failure> {
        let mut finished = Vec::new();
        if let Some((file, name)) = self.report {
            let info = ReportInfo {
                command: with_report(&command, &name),
                machine,
                version: format!("schedlab {}", env!("CARGO_PKG_VERSION")),
            };
            let html = render_html(runs, &info);
            finished.push(file.write(&html.map_err(|e| Failure::Other(e.to_string()))?)?);
        }
        if let Some(file) = self.json {
            finished.push(file.write(&as_json(runs)?)?);
        }
        Ok(finished)
    }
}

/// The command with one more flag, which goes before the "--".
fn with_report(command: &str, report: &str) -> String {
    let flag = quoted(&["--report".into(), report.into()]);
    match command.split_once(" -- ") {
        Some((flags, rest)) => format!("{flags} {flag} -- {rest}"),
        None => format!("{command} {flag}"),
    }
}

/// How a result is printed.
pub struct Form {
    pub format: Format,
    pub terminal: Terminal,
}

impl Form {
    /// Tells the user beside what a command said: in short, unless in a form for others.
    pub fn tell(&self, runs: Vec<Run>) -> Result<(), Failure> {
        let text = match self.format {
            Format::Table => text::brief(&runs, self.terminal),
            _ => self.text(runs)?,
        };
        // When standard error is gone, the files and the status have to do.
        let _ = io::stderr().write_all(text.as_bytes());
        Ok(())
    }

    /// Runs in that form.
    pub fn text(&self, runs: Vec<Run>) -> Result<String, Failure> {
        match self.format {
            Format::Table => Ok(text::terminal(&runs, self.terminal)),
            Format::Markdown => Ok(text::markdown(&runs)),
            Format::Json => as_json(&runs),
        }
    }
}

/// One run as an object, several as a comparison.
fn as_json(runs: &[Run]) -> Result<String, Failure> {
    match runs {
        [run] => json::run(run),
        runs => json::comparison(runs),
    }
    .map_err(|error| Failure::Other(error.to_string()))
}

/// Runs a command in a real kernel under each of the policies, writes all files and prints the result.
pub fn kernel_runs(
    command: &'static str,
    policies: &str,
    common: &CommonArguments,
) -> Result<(), Failure> {
    let task = task(common)?;
    let interrupt = Interrupt::listen()?;
    let set = Assignments::read(&common.tunables, &common.set)?;
    let flag = if command == "run" {
        "--policy"
    } else {
        "--policies"
    };
    let schedulers = Scheduler::of_list(flag, policies, &set, &interrupt)?;
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
        timeout: Duration::from_nanos(common.vm.timeout.0),
    };
    let reproduce = reproduce(command, &session, policies, common);
    let results = all_runs(
        &session,
        &schedulers,
        traces,
        &reproduce,
        common,
        &interrupt,
    )?;
    let machine = session.machine_name(&results[0].outcome);
    let (mut runs, mut finished) = (Vec::new(), Vec::new());
    for result in results {
        runs.extend(result.run);
        finished.extend(result.trace);
    }
    finished.extend(files.write(&runs, reproduce, machine)?);
    interrupt.check()?;
    finished.into_iter().try_for_each(Finished::keep)?;
    let form = Form {
        format: common.format,
        terminal: Terminal::stdout(),
    };
    print(&form.text(runs)?)
}

/// What is run in a real kernel: a command, or a workload.
fn task(common: &CommonArguments) -> Result<Task, Failure> {
    let Some(workload) = &common.workload else {
        return Ok(Task::Command(common.command.clone()));
    };
    if common.seeds.is_some() {
        let mistake = Diagnostic::new("a real kernel plays a workload with one seed");
        return Err(mistake.at("--seeds", 0).expected("--seed").into());
    }
    let arguments = PlayedArguments {
        duration: common.duration,
        seed: common.seed,
        rtapp: common.rtapp.clone(),
    };
    played(workload, arguments)
}

/// A workload that exists and can be read; the user hears what is different in a real kernel.
pub fn played(workload: &str, arguments: PlayedArguments) -> Result<Task, Failure> {
    let mut read = choose::workload(workload, &arguments.rtapp.options())?;
    if arguments.duration.is_none() {
        read.warnings.extend(read.assumed_duration.take());
    }
    tell_caveats(&read);
    Ok(Task::Workload(workload.to_string(), arguments))
}

/// Every scheduler's run, in their order; what the commands say goes to standard error.
fn all_runs(
    session: &KernelSession,
    schedulers: &[Scheduler],
    traces: Option<Traces>,
    reproduce: &str,
    common: &CommonArguments,
    interrupt: &Interrupt,
) -> Result<Vec<KernelRun>, Failure> {
    let one = |index: usize, cancel: &schedlab_parallel::Cancel| {
        let scheduler = &schedulers[index];
        let (policy, variant) = scheduler.label();
        let name = [policy, variant]
            .join(" ")
            .trim()
            .replace([' ', '/', ':'], "-");
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
            Failure::Other(problem) => Failure::Other(format!("{name}: {problem}")),
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
    let results = in_parallel(schedulers.len(), threads(session, common), one, || {
        waiting.show("running");
    });
    drop(waiting);
    interrupt.check()?;
    results
}

/// With the host's clock runs would disturb one another.
fn threads(session: &KernelSession, common: &CommonArguments) -> usize {
    match (session.machine.clock, common.jobs) {
        (Clock::Fast, None) => 1,
        (_, Some(jobs)) => jobs.into(),
        (Clock::Deterministic, None) => {
            std::thread::available_parallelism().map_or(1, NonZero::get)
        }
    }
}

/// The flags that set tunables.
pub fn tunable_flags(files: &[PathBuf], set: &[String]) -> Vec<String> {
    let files = files
        .iter()
        .map(|file| ("--tunables", file.display().to_string()));
    let set = set.iter().map(|set| ("--set", set.clone()));
    let flags = files.chain(set);
    flags
        .flat_map(|(flag, value)| [flag.to_string(), value])
        .collect()
}

fn reproduce(
    command: &str,
    session: &KernelSession,
    policies: &str,
    common: &CommonArguments,
) -> String {
    let flag = if command == "run" {
        "--policy"
    } else {
        "--policies"
    };
    let mut words: Vec<String> = ["schedlab", command, "--world", "vm", flag, policies]
        .map(str::to_string)
        .into();
    words.extend(tunable_flags(&common.tunables, &common.set));
    words.extend(session.flags(&common.vm));
    words.extend(session.task.arguments());
    quoted(&words)
}
