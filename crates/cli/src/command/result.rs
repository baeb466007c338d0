//! From flags to runs to what is printed: what `run` and `compare` have in common.

use std::collections::BTreeMap;
use std::path::Path;

use schedlab_input::Diagnostic;
use schedlab_machine::Machine;
use schedlab_policy::Tuned;
use schedlab_replay::Identities;
use schedlab_report::table::Terminal;
use schedlab_report::{json, render_html, text, ReportInfo, Run, World};
use schedlab_sim::Limits;
use schedlab_workload::{builtin, Workload};

use crate::arguments::{CommonArguments, Format};
use crate::choose::{self, Assignments};
use crate::failure::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::outputs::{Finished, TextFile, Traces};
use crate::recipe::Recipe;
use crate::session::{RunResult, Session};

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

/// Does all runs, writes all files and prints the result.  Files appear when all of them are whole.
pub fn perform(asked: Asked) -> Result<Exit, Failure> {
    let common = asked.common;
    let Some(workload) = &common.workload else {
        let problem = "commands run in a real kernel only";
        let mistake = Diagnostic::new(problem).at("--", 0);
        return Err(mistake.expected("--world vm, or --workload").into());
    };
    if let Some(help) = builtin::help(workload) {
        return print(&help).map(|()| Exit::Success);
    }
    let mut workload = choose::workload(workload, &common.rtapp.options())?;
    if common.duration.is_none() {
        workload.warnings.extend(workload.assumed_duration.take());
    }
    for warning in &workload.warnings {
        note(&format!("warning: {warning}"));
    }
    let machine = schedlab_machine::find(&common.machine)?;
    let session = session(&asked, workload, machine)?;
    let report = text_file("--report", common.report.as_deref(), "html")?;
    let json = text_file("--json", common.json.as_deref(), "json")?;
    let command = reproduce(&asked, &session);
    let mut files = Vec::new();
    let mut runs: Vec<Run> = Vec::new();
    let mut exit = Exit::Success;
    for mut result in session.run(&asked.interrupt)? {
        if result.deadlocked {
            exit = Exit::Deadlock;
        }
        files.extend(result.trace.take());
        runs.push(reported(&session, result, &command.to_string()));
    }
    if let Some(report) = report {
        files.push(report.write(&html(&runs, &session, &command, common)?)?);
    }
    if let Some(json) = json {
        files.push(json.write(&as_json(&runs)?)?);
    }
    asked.interrupt.check()?;
    files.into_iter().try_for_each(Finished::keep)?;
    print(&formatted(runs, &session, common.format)?)?;
    Ok(exit)
}

fn text_file(
    flag: &str,
    path: Option<&Path>,
    extension: &str,
) -> Result<Option<TextFile>, Failure> {
    path.map(|path| TextFile::create(flag, path, extension))
        .transpose()
}

fn session(asked: &Asked, workload: Workload, machine: Machine) -> Result<Session, Failure> {
    let common = asked.common;
    let seeds = common
        .seeds
        .as_ref()
        .map_or(vec![common.seed], |seeds| seeds.list.clone());
    let nr_runs = asked.policies.len() * seeds.len();
    let traces = common
        .trace
        .as_deref()
        .map(|path| Traces::parse(path, nr_runs));
    Ok(Session {
        duration: common.duration,
        policies: asked
            .policies
            .iter()
            .map(|(_, tuned)| tuned.clone())
            .collect(),
        workload,
        machine,
        seeds,
        limits: Limits {
            events: common.bounds.max_events,
            tasks: common.bounds.max_tasks,
            ..Limits::default()
        },
        hook_timeout: common.bounds.hook_timeout,
        jobs: common.jobs,
        traces: traces.transpose()?,
        identities: Identities::default(),
    })
}

fn reproduce(asked: &Asked, session: &Session) -> Recipe {
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
    Recipe {
        command: asked.command,
        policies: names.collect(),
        workload: session.workload.source.clone(),
        machine: asked.common.machine.clone(),
        duration: session.duration,
        seed: asked.common.seed,
        seeds: asked.common.seeds.clone(),
        tunables: asked
            .common
            .tunables
            .iter()
            .map(|path| path.display().to_string())
            .collect(),
        set: asked.set.texts().map(str::to_string).collect(),
        rtapp: asked.common.rtapp.flags(),
    }
}

pub fn reported(session: &Session, result: RunResult, command: &str) -> Run {
    let tuned = &session.policies[result.policy];
    let changed = tuned.changed().iter();
    let mut warnings = session.workload.warnings.clone();
    warnings.extend(result.warning);
    Run {
        world: World::Simulator,
        policy: tuned.policy.name().to_string(),
        variant: tuned.variant.to_string(),
        tunables: changed
            .map(|set| (set.target(), set.values_text()))
            .collect::<BTreeMap<_, _>>(),
        workload: session.workload.name.clone(),
        machine: session.machine.name.clone(),
        seed: result.seed,
        duration_ns: result.duration,
        trace_hash: result.trace_hash,
        command: command.to_string(),
        metrics: result.metrics,
        end: result.end,
        warnings,
    }
}

fn html(
    runs: &[Run],
    session: &Session,
    command: &Recipe,
    common: &CommonArguments,
) -> Result<String, Failure> {
    let report = common
        .report
        .as_ref()
        .map(|path| path.display().to_string());
    let info = ReportInfo {
        command: command.with("--report", &report.unwrap_or_default()),
        machine: session.machine.title.clone(),
        version: format!("schedlab {}", env!("CARGO_PKG_VERSION")),
    };
    render_html(runs, &info).map_err(|error| Failure::Other(error.to_string()))
}

fn formatted(mut runs: Vec<Run>, session: &Session, format: Format) -> Result<String, Failure> {
    match format {
        Format::Table => {
            // Warnings of the workload have been on standard error already.
            for run in &mut runs {
                run.warnings
                    .retain(|w| !session.workload.warnings.contains(w));
            }
            Ok(text::terminal(&runs, Terminal::stdout()))
        }
        Format::Markdown => Ok(text::markdown(&runs)),
        Format::Json => as_json(&runs),
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
