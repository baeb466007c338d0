//! rt-app's workload files.
//!
//! The files are JSON of a kind (`json`); `global` and `task` read them as rt-app does, `survey`
//! and `locks` check all tasks together, and `lower` makes them a [`Workload`].  What rt-app
//! refuses is an error with its reason; what rt-app ignores in silence gives a warning.

mod event;
mod global;
mod json;
mod locks;
mod lower;
mod object;
mod survey;
mod task;

use std::path::Path;
use std::str::FromStr;

use schedlab_input::Diagnostic;

use crate::builder::Builder;
use crate::{Workload, MAX_TASKS};
use event::Event;
use global::Global;
use json::{Document, Value};
use object::Object;
use survey::Survey;
use task::Task;

/// How to read features that versions of rt-app read differently.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Keys that occur more than once in an object.
    pub repeated: RepeatedKeys,
    /// What a suspended task waits for.
    pub suspend: SuspendMeaning,
}

/// The meaning of keys that occur more than once in an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RepeatedKeys {
    /// All count, in their order, as the authors of such files intend.
    #[default]
    Ordered,
    /// The last value counts, at the place of the first, as in rt-app's library.  Keys without a
    /// value are refused then, too.
    JsonC,
}

/// What a suspended task waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SuspendMeaning {
    /// The given name if some task resumes it and no task has that name, else the task's own.
    #[default]
    Auto,
    /// The task's own name: rt-app since May 2025.
    Own,
    /// The given name: rt-app before.
    Named,
}

impl FromStr for RepeatedKeys {
    type Err = Diagnostic;

    /// "ordered" or "json-c".
    fn from_str(text: &str) -> Result<Self, Diagnostic> {
        let names = [("ordered", Self::Ordered), ("json-c", Self::JsonC)];
        named(text, "reading", &names)
    }
}

impl FromStr for SuspendMeaning {
    type Err = Diagnostic;

    /// "auto", "self" or "named".
    fn from_str(text: &str) -> Result<Self, Diagnostic> {
        let names = [
            ("auto", Self::Auto),
            ("self", Self::Own),
            ("named", Self::Named),
        ];
        named(text, "meaning", &names)
    }
}

/// The value of this name; file and key of the error are the caller's to fill in.
fn named<T: Copy>(text: &str, what: &str, names: &[(&str, T)]) -> Result<T, Diagnostic> {
    let known = || names.iter().map(|(name, _)| *name);
    let found = names.iter().find(|(name, _)| *name == text);
    found.map(|(_, value)| *value).ok_or_else(|| Diagnostic {
        problem: format!("\"{text}\" is not a valid {what}"),
        expected: format!("one of {}", known().collect::<Vec<_>>().join(", ")),
        nearest: schedlab_input::nearest(text, known()),
        ..Diagnostic::default()
    })
}

/// Reads an rt-app file of this name.  Notes for the user are in the workload's warnings.
///
/// # Errors
/// What rt-app refuses, what has no meaning, and what this model does not have
/// (SCHED_DEADLINE).
pub fn parse(file: &str, text: &str, options: &Options) -> Result<Workload, Diagnostic> {
    let in_file = |diagnostic| Diagnostic {
        file: file.to_string(),
        ..diagnostic
    };
    let mut warnings = Vec::new();
    let mut workload = read(file, text, options, &mut warnings).map_err(in_file)?;
    workload.warnings = warnings
        .into_iter()
        .map(|warning| in_file(warning).to_string())
        .collect();
    Ok(workload)
}

fn read(
    file: &str,
    text: &str,
    options: &Options,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Workload, Diagnostic> {
    let document = json::parse(text, options.repeated == RepeatedKeys::JsonC)?;
    warn_of_oddities(&document, options.repeated, warnings);
    let root = Object::of("", &document.root)?;
    root.warn_unknown(&["tasks", "global", "resources"], &[], |_| false, warnings);
    let global = global(&root, warnings)?;
    check_resources(&root)?;
    let tasks = tasks(&root, &global, warnings)?;
    let survey = Survey::of(&tasks, options.suspend);
    survey.check(&tasks, warnings)?;
    for task in &tasks {
        locks::check(task)?;
    }
    warn_of_costs(&tasks, warnings);
    let stem = Path::new(file).file_stem().and_then(|stem| stem.to_str());
    let builder = Builder::new(stem.unwrap_or(file), file);
    lower::lower(builder, &global, &tasks, &survey)
}

/// Repeated keys and what follows the end.
fn warn_of_oddities(document: &Document, repeated: RepeatedKeys, warnings: &mut Vec<Diagnostic>) {
    if let Some((line, key)) = document.repeated.first() {
        let count = document.repeated.len();
        let made = match repeated {
            RepeatedKeys::Ordered => {
                "all count, in their order; rt-app itself uses the last value, at the place of the first"
            }
            RepeatedKeys::JsonC => "the last value counts, at the place of the first, as in rt-app",
        };
        warnings.push(Diagnostic {
            line: *line,
            key: key.clone(),
            problem: format!("this is the first of {count} repeated keys: {made}"),
            ..Diagnostic::default()
        });
    }
    if let Some(line) = document.garbage {
        warnings.push(Diagnostic {
            line,
            problem: "the text after the end is ignored, as in rt-app".to_string(),
            ..Diagnostic::default()
        });
    }
}

fn global(root: &Object, warnings: &mut Vec<Diagnostic>) -> Result<Global, Diagnostic> {
    match root.get("global") {
        Some(member) => global::parse(&Object::of("global", &member.node)?, warnings),
        None => Ok(Global::default()),
    }
}

/// The old list of resources: only its types are checked.
fn check_resources(root: &Object) -> Result<(), Diagnostic> {
    const TYPES: [&str; 8] = [
        "mutex",
        "signal",
        "wait",
        "broadcast",
        "sync",
        "sleep",
        "run",
        "timer",
    ];
    let Some(member) = root.get("resources") else {
        return Ok(());
    };
    let Value::Object(_) = &member.node.value else {
        return Ok(());
    };
    let resources = Object::of("resources", &member.node)?;
    for member in resources.members {
        let path = resources.path_of(&member.key);
        let resource = Object::of(&path, &member.node)?;
        let kind = resource.string("type")?.unwrap_or("mutex");
        if !TYPES.contains(&kind) {
            return Err(Diagnostic {
                nearest: schedlab_input::nearest(kind, TYPES),
                ..resource.error_here(
                    &format!("\"{kind}\" is not a type (rt-app stops with an error)"),
                    &format!("one of {}", TYPES.join(", ")),
                )
            });
        }
    }
    Ok(())
}

/// All tasks in the order of the file.
fn tasks(
    root: &Object,
    global: &Global,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Vec<Task>, Diagnostic> {
    let Some(member) = root.get("tasks") else {
        let problem = "there is no \"tasks\" (rt-app stops with an error)";
        return Err(root.error_here(problem, "an object \"tasks\""));
    };
    let object = Object::of("tasks", &member.node)?;
    if object.members.is_empty() {
        return Err(object.error(member, "there is no task", "at least one"));
    }
    let mut tasks = Vec::new();
    let mut names = std::collections::BTreeSet::new();
    for member in object.members {
        if !names.insert(&member.key) {
            let problem = "there is a task of this name already";
            return Err(object.error(member, problem, "another name"));
        }
        tasks.push(task::parse(member, global.policy, warnings)?);
        let instances: u64 = tasks
            .iter()
            .map(|task: &Task| u64::from(task.instances))
            .sum();
        if instances > u64::from(MAX_TASKS) {
            let problem = format!("with this task there are {instances} instances");
            return Err(object.error(member, problem, format!("at most {MAX_TASKS} in all")));
        }
    }
    Ok(tasks)
}

/// Memory and device events have costs assumed by this project.
fn warn_of_costs(tasks: &[Task], warnings: &mut Vec<Diagnostic>) {
    let steps = tasks.iter().flat_map(|task| &task.phases);
    let is_modelled =
        |event: &Event| matches!(event, Event::MemoryRun(_) | Event::Memory(_) | Event::Io(_));
    let found = steps
        .flat_map(|phase| &phase.events)
        .find(|step| is_modelled(&step.event));
    if let Some(step) = found {
        let problem = "mem, memrun and iorun take assumed times here (docs/rt-app.md)";
        warnings.push(survey::at(step, problem, ""));
    }
}

#[cfg(test)]
mod tests;
