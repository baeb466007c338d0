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
use schedlab_trace::Ns;

use crate::{Op, TaskSpec, Times, Workload, DURATION_OF_THE_ENDLESS};
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
    if duration == Some(Ns::ZERO) {
        return Err(root
            .mistake("duration", "nothing can happen in no time")
            .expected("a duration longer than 0"));
    }
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
    bound(&root, &mut workload);
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

/// A run ends after its duration or with its foreground tasks; one that would not do either gets
/// a duration.
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

/// Why the workload does not end of itself, if it does not.
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
