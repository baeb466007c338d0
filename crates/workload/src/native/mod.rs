//! The native workload format: TOML tables of tasks, each with a program of one statement per line.
//!
//! `docs/workloads.md` describes it for users.

mod amount;
mod expression;
mod filled;
mod flow;
mod groups;
mod names;
mod options;
mod pool;
mod program;

mod statement;
mod task;
#[cfg(test)]
mod tests;

use schedlab_input::{quantity, stem, Diagnostic, Document, Table};
use schedlab_trace::Ns;

use crate::builder::Builder;
use crate::builtin::{self, command_line};
use crate::{Op, TaskSpec, Times, Workload, DURATION_OF_THE_ENDLESS};
use expression::Scope;
use filled::{applies, filled};
use names::{check_name, Kind};
use pool::Pool;
use task::Planned;

/// Reads a workload with the defaults of its options; it is called after the file.
///
/// # Errors
/// The first mistake, with its line, also inside programs.
pub fn parse(file_name: &str, text: &str) -> Result<Workload, Diagnostic> {
    parse_with(file_name, text, &[])
}

/// Reads a workload with these options, such as `--clients 20`.
///
/// # Errors
/// The first mistake in the file, or an argument that does not fit.
pub fn parse_with(file_name: &str, text: &str, args: &[String]) -> Result<Workload, Diagnostic> {
    let document = Document::parse(file_name, text)?;
    let root = root(&document)?;
    let scope = options::scope(&root, &stem(file_name), args)?;
    let drafts = task::drafts(&root, &scope)?;
    let planned = task::plan(&drafts, &scope)?;
    let mut pool = Pool::read(&root, task::targets(&drafts, &planned), &scope)?;
    let mut workload = Workload {
        name: stem(file_name),
        source: command_line(file_name, args),
        duration: duration(&root, &scope)?,
        tasks: task::specs(&drafts, &planned, &mut pool, &scope)?,
        ..Workload::default()
    };
    warn_of_unused(&root, &planned, &workload, &mut pool);
    pool.finish(file_name, &mut workload)?;
    let mut workload = beside(&root, workload, &scope)?;
    bound(&root, &mut workload);
    Ok(workload)
}

/// What the file is about and its options; none if it has no options.
///
/// # Errors
/// A mistake in the file's options.
pub fn help(file_name: &str, text: &str) -> Result<Option<String>, Diagnostic> {
    let document = Document::parse(file_name, text)?;
    let root = root(&document)?;
    let title = root.string("title")?.unwrap_or_default();
    options::help(&root, &stem(file_name), title)
}

/// The title of a file.
pub fn title(text: &str) -> String {
    let document = Document::parse("", text).ok();
    let title = document
        .as_ref()
        .and_then(|d| d.root().string("title").ok().flatten());
    title.unwrap_or_default().to_string()
}

fn root(document: &Document) -> Result<Table<'_>, Diagnostic> {
    let keys = [
        "title",
        "duration",
        "options",
        "constants",
        "beside",
        "group",
        "autogroup",
        "task",
    ]
    .into_iter()
    .chain(Kind::ALL.map(Kind::key));
    let root = document.root().only(&keys.collect::<Vec<_>>())?;
    root.string("title")?;
    root.boolean("autogroup")?;
    Ok(root)
}

/// How long it runs; none if the file does not name it or an expression gives 0.
fn duration(root: &Table<'_>, scope: &Scope) -> Result<Option<Ns>, Diagnostic> {
    let expected = "a duration in quotes with its unit, such as \"10ms\"";
    match filled(root, "duration", expected, scope, quantity::duration)? {
        Some(Ns::ZERO)
            if root
                .string("duration")?
                .is_some_and(|text| text.contains('{')) =>
        {
            Ok(None)
        }
        Some(Ns::ZERO) => Err(root
            .mistake("duration", "the duration is 0")
            .expected("a duration longer than 0")),
        duration => Ok(duration),
    }
}

/// Adds the built-in workloads named in `[beside]`.
fn beside(root: &Table<'_>, workload: Workload, scope: &Scope) -> Result<Workload, Diagnostic> {
    let mut builder = Builder::on(workload);
    for (name, table) in root.tables("beside")? {
        let table = table.only(&["when", "workload"])?;
        if !applies(&table, scope)? {
            continue;
        }
        let expected = "a built-in workload in quotes, such as \"kernel-build -j4\"";
        let line = filled(&table, "workload", expected, scope, |line| {
            Ok(line.to_string())
        })?;
        let line = table.need("workload", line, expected)?;
        check_name(name).map_err(|problem| table.mistake("", problem))?;
        builtin::add(&line, &mut builder).map_err(|mistake| Diagnostic {
            problem: match mistake.key.is_empty() {
                true => mistake.problem,
                false => format!("{}: {}", mistake.key, mistake.problem),
            },
            expected: mistake.expected,
            nearest: mistake.nearest,
            ..table.mistake("workload", "")
        })?;
    }
    Ok(builder.finish())
}

/// Warns of each template that no task forks: probably a mistake, but a harmless one.
fn warn_of_unused(root: &Table<'_>, planned: &[Planned], workload: &Workload, pool: &mut Pool) {
    for (index, spec) in workload.tasks.iter().enumerate() {
        if spec.count == 0 && !pool.forked.contains(&(index as u32)) {
            let name = &planned[index].name;
            let line = root
                .table("task")
                .ok()
                .flatten()
                .map_or(0, |tasks| tasks.line(name));
            let warning = Diagnostic::new("count is 0 and no task forks it")
                .at(root.file(), line)
                .key(format!("task.{name}"));
            pool.warnings.push(warning.to_string());
        }
    }
}

/// A run ends after its duration or with its foreground tasks; a run without either gets a
/// duration.
fn bound(root: &Table<'_>, workload: &mut Workload) {
    if workload.duration.is_some() {
        return;
    }
    let Some(why) = endless(workload) else {
        return;
    };
    let warning = root.mistake(
        "duration",
        format!("missing, and {why}: this runs for 10 s"),
    );
    workload.duration = Some(DURATION_OF_THE_ENDLESS);
    workload.assumed_duration = Some(warning.to_string());
}

/// The reason if the workload does not end by itself.
fn endless(workload: &Workload) -> Option<String> {
    if workload.tasks.iter().all(|task| task.background) {
        return Some("all tasks are in the background".to_string());
    }
    let times = Times::Forever;
    let for_ever = |op: &Op| matches!(op, Op::Loop { times: t, .. } if *t == times);
    let goes_on = |task: &&TaskSpec| {
        let program = &workload.programs[task.program.0 as usize];
        !task.background && program.ops.iter().any(for_ever)
    };
    let task = workload.tasks.iter().find(goes_on)?;
    Some(format!("task \"{}\" never ends", task.name))
}
