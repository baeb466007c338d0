//! `run` and `compare` in the simulator: flags, runs, output.

use std::ffi::OsString;
use std::sync::Arc;

use schedlab_input::Diagnostic;
use schedlab_lab::choose::{self};
use schedlab_lab::{exact, CommandLine, Ending, Trial};
use schedlab_machine::Machine;
use schedlab_policy::Tuned;
use schedlab_replay::Identities;
use schedlab_report::Run;
use schedlab_sim::Limits;
use schedlab_workload::Workload;

use crate::arguments::{Bounds, CommonArguments, Format};
use crate::failure::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::outputs::{Finished, Traces};
use crate::results::{report_info, Files, Form};
use crate::runs::{Results, Runs};

use super::{note, print};

/// What the user asks for.
pub struct Asked<'a> {
    /// "run" or "compare".
    pub command: &'static str,
    /// The policies, each with the user's name of it.
    pub policies: Vec<(String, Tuned)>,
    pub interrupt: Interrupt,
    pub common: &'a CommonArguments,
}

/// A workload on a machine, with the policies as that machine has them.
struct Case {
    workload: Arc<Workload>,
    machine: Arc<Machine>,
    policies: Vec<Tuned>,
}

/// Does all runs, writes all files and prints the result.  If runs fail, the others are still shown.
pub fn perform(asked: Asked) -> Result<Exit, Failure> {
    let common = asked.common;
    if common.workload.is_empty() {
        let problem = "commands run only in a real kernel";
        let mistake = Diagnostic::new(problem).at("--", 0);
        return Err(mistake.expected("--world vm, or --workload").into());
    }
    for workload in &common.workload {
        if let Some(help) = choose::workload_help(workload)? {
            return print(&help).map(|()| Exit::Success);
        }
    }
    let workloads = read(common)?;
    let machines: Vec<Arc<Machine>> = choose::machines(&common.machine)?
        .into_iter()
        .map(Arc::new)
        .collect();
    let cases = cases(&asked, &workloads, &machines)?;
    let trials = trials(&cases, common);
    let traces = common.trace.as_deref();
    let runs = Runs {
        trials: &trials,
        jobs: common.jobs,
        traces: traces
            .map(|path| Traces::parse(path, trials.len()))
            .transpose()?,
        identities: Identities::default(),
    };
    let files = Files::create(common.report.as_deref(), common.json.as_deref())?;
    let command = command(&asked, &workloads);
    let Results {
        finished,
        failures,
        partial,
    } = runs.run(&asked.interrupt)?;
    let mut exit = Exit::Success;
    let mut written = Vec::new();
    let mut reported: Vec<Run> = Vec::new();
    for mut result in finished {
        if let Ending::Deadlock(_) = result.ending {
            exit = Exit::Deadlock;
        }
        written.extend(result.trace.take());
        let trial = &trials[result.trial];
        let (ending, hash) = (&result.ending, result.trace_hash);
        reported.push(trial.report(ending, hash, result.metrics, &command.to_string()));
    }
    if !reported.is_empty() {
        let titles: Vec<&str> = machines.iter().map(|m| m.title.as_str()).collect();
        let info = report_info(files.command(command), titles.join("; "));
        written.extend(files.write(&reported, &info)?);
        written.into_iter().try_for_each(Finished::keep)?;
        print(&shown(reported, &workloads, common.format)?)?;
    }
    tell_failures(failures, partial)?;
    Ok(exit)
}

/// Each workload on each machine.
fn cases(
    asked: &Asked,
    workloads: &[Arc<Workload>],
    machines: &[Arc<Machine>],
) -> Result<Vec<Case>, Failure> {
    let mut cases = Vec::new();
    let mut loaded = Vec::new();
    for machine in machines {
        let mut policies: Vec<Tuned> = asked.policies.iter().map(|(_, t)| t.clone()).collect();
        load_schedulers(&mut policies, machine, &asked.interrupt)?;
        loaded.push(policies);
    }
    for workload in workloads {
        for (machine, policies) in machines.iter().zip(&loaded) {
            cases.push(Case {
                workload: Arc::clone(workload),
                machine: Arc::clone(machine),
                policies: policies.clone(),
            });
        }
    }
    Ok(cases)
}

/// Loads the sched_ext schedulers among the policies; the others are ready.
pub fn load_schedulers<'a>(
    policies: impl IntoIterator<Item = &'a mut Tuned>,
    machine: &Machine,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let attach = match cfg!(feature = "live") {
        true => attaching()?,
        false => Vec::new(),
    };
    let notes = choose::load("--policy", policies, machine, &attach, &interrupt.stop())?;
    for text in notes {
        note(&text);
    }
    Ok(())
}

/// This program's command that attaches an object.
pub fn attaching() -> Result<Vec<OsString>, Failure> {
    let program = std::env::current_exe().map_err(|e| Failure::Other(e.to_string()))?;
    Ok(vec![program.into(), "dev".into(), "attach".into()])
}

/// Reports every failure, in the order of the runs, and the traces up to them.  The last one is the command's.
pub fn tell_failures(mut failures: Vec<Failure>, partial: Vec<Finished>) -> Result<(), Failure> {
    for trace in partial {
        let path = trace.path().display().to_string();
        trace.keep()?;
        note(&format!("{path} contains the trace up to the failure"));
    }
    let last = failures.pop();
    for failure in failures {
        note(&failure.to_string());
    }
    last.map_or(Ok(()), Err)
}

/// The workloads; their warnings go to standard error.
fn read(common: &CommonArguments) -> Result<Vec<Arc<Workload>>, Failure> {
    let mut workloads = choose::workloads(&common.workload, &common.rtapp.options())?;
    for workload in &mut workloads {
        if common.duration.is_none() {
            workload.warnings.extend(workload.assumed_duration.take());
        }
        for warning in &workload.warnings {
            note(&format!("warning: {warning}"));
        }
    }
    Ok(workloads.into_iter().map(Arc::new).collect())
}

/// Each policy with each seed, in each case.
fn trials(cases: &[Case], common: &CommonArguments) -> Vec<Trial> {
    let one = [common.seed];
    let seeds = common.seeds.as_ref().map_or(&one[..], |seeds| &seeds.list);
    let trial = |case: &Case, tuned: &Tuned, seed: u64| {
        let (machine, workload) = (Arc::clone(&case.machine), Arc::clone(&case.workload));
        let trial = Trial {
            duration: common.duration,
            ..Trial::new(tuned.clone(), machine, workload, seed)
        };
        bounded(trial, &common.bounds)
    };
    let mut trials = Vec::new();
    for case in cases {
        for tuned in &case.policies {
            trials.extend(seeds.iter().map(|&seed| trial(case, tuned, seed)));
        }
    }
    trials
}

/// A trial with the user's bounds.
pub fn bounded(trial: Trial, bounds: &Bounds) -> Trial {
    Trial {
        limits: Limits {
            events: bounds.max_events,
            tasks: bounds.max_tasks,
            ..trial.limits
        },
        hook_timeout: bounds.hook_timeout,
        ..trial
    }
}

/// The command that reproduces this result.
fn command(asked: &Asked, workloads: &[Arc<Workload>]) -> CommandLine {
    let names: Vec<String> = asked.policies.iter().map(choose::spelled).collect();
    let common = asked.common;
    let policies = match asked.command {
        "run" => "--policy",
        _ => "--policies",
    };
    let line = CommandLine::new(asked.command)
        .flag(policies, names.join(","))
        .flags("--workload", workloads.iter().map(|w| w.source.clone()))
        .flags("--machine", &common.machine)
        .flag_if("--duration", common.duration.map(exact));
    let line = match &common.seeds {
        Some(seeds) => line.flag("--seeds", seeds.to_string()),
        None => line.flag("--seed", common.seed.to_string()),
    };
    let line = line.words(common.settings.flags());
    let rtapp = common.rtapp.flags().into_iter();
    rtapp.fold(line, |line, (flag, value)| line.flag(flag, value))
}

fn shown(
    mut runs: Vec<Run>,
    workloads: &[Arc<Workload>],
    format: Format,
) -> Result<String, Failure> {
    if format == Format::Table {
        // Warnings of the workloads have been on standard error already.
        let told = |warning: &String| workloads.iter().any(|w| w.warnings.contains(warning));
        for run in &mut runs {
            run.warnings.retain(|warning| !told(warning));
        }
    }
    Form::stdout(format).text(&runs)
}
