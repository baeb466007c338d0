//! From flags to simulations to what is printed: what `run` and `compare` have in common.

use std::ffi::OsString;
use std::sync::Arc;

use schedlab_input::Diagnostic;
use schedlab_lab::choose::{self, Assignments};
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
    /// The policies, each beside what the user called it.
    pub policies: Vec<(String, Tuned)>,
    pub set: Assignments,
    pub interrupt: Interrupt,
    pub common: &'a CommonArguments,
}

/// Does all runs, writes all files and prints the result.  Of runs that fail the others are shown all the same.
pub fn perform(mut asked: Asked) -> Result<Exit, Failure> {
    let common = asked.common;
    let Some(workload) = &common.workload else {
        let problem = "commands run in a real kernel only";
        let mistake = Diagnostic::new(problem).at("--", 0);
        return Err(mistake.expected("--world vm, or --workload").into());
    };
    if let Some(help) = choose::workload_help(workload)? {
        return print(&help).map(|()| Exit::Success);
    }
    let workload = read(workload, common)?;
    let machine = Arc::new(schedlab_machine::find(&common.machine)?);
    let tuned = asked.policies.iter_mut().map(|(_, tuned)| tuned);
    load_schedulers(tuned, &machine, &asked.interrupt)?;
    let trials = trials(&asked, &workload, &machine);
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
    let command = command(&asked, &workload);
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
        let info = report_info(files.command(command), machine.title.clone());
        written.extend(files.write(&reported, &info)?);
        written.into_iter().try_for_each(Finished::keep)?;
        print(&shown(reported, &workload, common.format)?)?;
    }
    tell_failures(failures, partial)?;
    Ok(exit)
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
fn attaching() -> Result<Vec<OsString>, Failure> {
    let program = std::env::current_exe().map_err(|e| Failure::Other(e.to_string()))?;
    Ok(vec![program.into(), "dev".into(), "attach".into()])
}

/// Tells of every failure, in the order of the runs, and of the traces up to there.  The last one is the command's.
pub fn tell_failures(mut failures: Vec<Failure>, partial: Vec<Finished>) -> Result<(), Failure> {
    for trace in partial {
        let path = trace.path().display().to_string();
        trace.keep()?;
        note(&format!("{path} has the trace up to the failure"));
    }
    let last = failures.pop();
    for failure in failures {
        note(&failure.to_string());
    }
    last.map_or(Ok(()), Err)
}

/// The workload a user means; its warnings are on standard error.
fn read(workload: &str, common: &CommonArguments) -> Result<Arc<Workload>, Failure> {
    let mut workload = choose::workload(workload, &common.rtapp.options())?;
    if common.duration.is_none() {
        workload.warnings.extend(workload.assumed_duration.take());
    }
    for warning in &workload.warnings {
        note(&format!("warning: {warning}"));
    }
    Ok(Arc::new(workload))
}

/// Each policy with each seed.
fn trials(asked: &Asked, workload: &Arc<Workload>, machine: &Arc<Machine>) -> Vec<Trial> {
    let common = asked.common;
    let one = [common.seed];
    let seeds = common.seeds.as_ref().map_or(&one[..], |seeds| &seeds.list);
    let trial = |tuned: &Tuned, seed: u64| {
        let (machine, workload) = (Arc::clone(machine), Arc::clone(workload));
        let trial = Trial {
            duration: common.duration,
            ..Trial::new(tuned.clone(), machine, workload, seed)
        };
        bounded(trial, &common.bounds)
    };
    let policies = asked.policies.iter();
    policies
        .flat_map(|(_, tuned)| seeds.iter().map(move |&seed| (tuned, seed)))
        .map(|(tuned, seed)| trial(tuned, seed))
        .collect()
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

/// The command that gives this result again.
fn command(asked: &Asked, workload: &Workload) -> CommandLine {
    let names = asked
        .policies
        .iter()
        .map(|(written, tuned)| match written.ends_with(".c") {
            // The file's own name for its default variant is not a path.
            true if !tuned.variant.is_empty() => format!("{written}:{}", tuned.variant),
            true => written.clone(),
            false if written.contains(".c:") => written.clone(),
            false => tuned.name(),
        });
    let names: Vec<String> = names.collect();
    let common = asked.common;
    let policies = match asked.command {
        "run" => "--policy",
        _ => "--policies",
    };
    let line = CommandLine::new(asked.command)
        .flag(policies, names.join(","))
        .flag("--workload", &workload.source)
        .flag("--machine", &common.machine)
        .flag_if("--duration", common.duration.map(exact));
    let line = match &common.seeds {
        Some(seeds) => line.flag("--seeds", seeds.to_string()),
        None => line.flag("--seed", common.seed.to_string()),
    };
    let files = common.tunables.iter();
    let line = line
        .flags("--tunables", files.map(|file| file.display().to_string()))
        .flags("--set", asked.set.texts());
    let rtapp = common.rtapp.flags().into_iter();
    rtapp.fold(line, |line, (flag, value)| line.flag(flag, value))
}

fn shown(mut runs: Vec<Run>, workload: &Workload, format: Format) -> Result<String, Failure> {
    if format == Format::Table {
        // Warnings of the workload have been on standard error already.
        for run in &mut runs {
            run.warnings.retain(|w| !workload.warnings.contains(w));
        }
    }
    Form::stdout(format).text(&runs)
}
