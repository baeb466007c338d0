//! The native workload format: TOML whose tasks run programs of one statement per line.
//!
//! `docs/workloads.md` describes it for people who write it.

mod amount;
mod expand;
mod flow;
mod names;
mod pool;
mod program;
mod shipped;
mod statement;
mod task;
#[cfg(test)]
mod tests;

pub use shipped::{find, list};

use schedlab_input::{stem, Diagnostic, Document, Table};

use crate::{Op, Times, Workload};
use names::Kind;
use pool::Pool;
use task::Planned;

/// Reads a workload; it is called after the file.
///
/// # Errors
/// The first mistake, with its line: also inside of programs.
pub fn parse(file_name: &str, text: &str) -> Result<Workload, Diagnostic> {
    let document = Document::parse(file_name, text)?;
    let keys = ["title", "duration", "task"]
        .into_iter()
        .chain(Kind::ALL.map(Kind::key));
    let root = document.root().only(&keys.collect::<Vec<_>>())?;
    root.string("title")?;
    let duration = root.duration("duration")?;
    let drafts = task::drafts(&root)?;
    let planned = task::plan(&drafts)?;
    let mut pool = Pool::read(&root, task::targets(&drafts, &planned))?;
    let mut workload = Workload {
        name: stem(file_name),
        source: file_name.to_string(),
        duration,
        tasks: task::specs(&drafts, &planned, &mut pool)?,
        ..Workload::default()
    };
    warn_of_unused(&root, &planned, &workload, &mut pool);
    pool.finish(file_name, &mut workload)?;
    check_end(&root, &workload)?;
    Ok(workload)
}

/// Templates nobody forks are probably a mistake, but a harmless one.
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

/// A run ends after its duration or with its foreground tasks.
fn check_end(root: &Table<'_>, workload: &Workload) -> Result<(), Diagnostic> {
    if workload.duration.is_some() {
        return Ok(());
    }
    let mistake = |problem| {
        Err(root
            .mistake("duration", problem)
            .expected("how long to run, such as duration = \"10s\""))
    };
    let endless = |op: &Op| {
        matches!(
            op,
            Op::Loop {
                times: Times::Forever,
                ..
            }
        )
    };
    let mut foreground = workload
        .tasks
        .iter()
        .filter(|task| !task.background)
        .peekable();
    if foreground.peek().is_none() {
        return mistake("missing, and all tasks are in the background".to_string());
    }
    match foreground.find(|task| {
        workload.programs[task.program.0 as usize]
            .ops
            .iter()
            .any(endless)
    }) {
        Some(task) => mistake(format!("missing, and task \"{}\" never ends", task.name)),
        None => Ok(()),
    }
}
