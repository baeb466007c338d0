//! From `[task.NAME]` tables to task specifications.

use std::collections::{BTreeMap, BTreeSet};

use schedlab_input::{quantity, Diagnostic, Table, Text};
use schedlab_trace::{Ns, TaskClass};

use super::expand::{fill, varies, Instance};
use super::names::check_name;
use super::pool::{Pool, Target};
use super::program::{program, program_varies};
use super::statement::CLASSES;
use crate::{Process, SpecId, TaskSpec};

const KEYS: [&str; 12] = [
    "count",
    "nice",
    "class",
    "rt_priority",
    "cpus",
    "process",
    "group",
    "working_set",
    "start",
    "background",
    "foreground",
    "program",
];

/// The keys whose strings can differ between instances.
const VARYING_KEYS: [&str; 5] = ["cpus", "process", "group", "working_set", "start"];

/// The most tasks that exist from the start.
pub(super) const MAX_TASKS: u32 = 1_000_000;

/// The most text that programs can come to when each instance has its own, in bytes.
const MAX_TEXT_BYTES: u64 = 128 << 20;

/// The most instances that differ, as each of them is a specification of its own.
const MAX_VARYING: u32 = 100_000;

/// A `[task.NAME]` table, not yet understood in full.
pub(super) struct Draft<'a> {
    name: &'a str,
    table: Table<'a>,
    count: u32,
    program: &'a Text,
    varies: bool,
}

/// One specification to be: all instances of a draft or, where they differ, one of them.
pub(super) struct Planned {
    pub name: String,
    draft: usize,
    /// The instance and how many tasks it stands for.
    instance: Instance,
    count: u32,
}

/// Reads what can be read without knowing the other tasks.
pub(super) fn drafts<'a>(root: &Table<'a>) -> Result<Vec<Draft<'a>>, Diagnostic> {
    let drafts = root
        .tables("task")?
        .into_iter()
        .map(|(name, table)| draft(name, table))
        .collect::<Result<Vec<_>, _>>()?;
    let total: u64 = drafts.iter().map(|draft| u64::from(draft.count)).sum();
    if total == 0 {
        return Err(root
            .mistake("task", "there is no task")
            .expected("at least one table [task.NAME] whose count is not 0"));
    }
    check_size(root, &drafts)?;
    if total > u64::from(MAX_TASKS) {
        return Err(root
            .mistake("task", format!("there are {total} tasks"))
            .expected(format!("at most {MAX_TASKS}")));
    }
    Ok(drafts)
}

/// Bounds the work of reading each instance's program on its own.
fn check_size(root: &Table<'_>, drafts: &[Draft<'_>]) -> Result<(), Diagnostic> {
    let own = |draft: &Draft<'_>| draft.program.text.len() as u64 * u64::from(draft.count);
    let bytes: u64 = drafts.iter().filter(|draft| draft.varies).map(own).sum();
    if bytes > MAX_TEXT_BYTES {
        return Err(root
            .mistake(
                "task",
                "programs that use {i} are too long for so many instances",
            )
            .expected(format!(
                "at most {} MiB of text in all",
                MAX_TEXT_BYTES >> 20
            )));
    }
    Ok(())
}

fn draft<'a>(name: &'a str, table: Table<'a>) -> Result<Draft<'a>, Diagnostic> {
    check_name(name).map_err(|problem| table.mistake("", problem))?;
    let table = table.only(&KEYS)?;
    let count = table
        .integer("count", 0..=i64::from(MAX_TASKS))?
        .unwrap_or(1) as u32;
    let program = table.need(
        "program",
        table.text("program")?,
        "the statements it runs, between \"\"\"",
    )?;
    let mut differs = program_varies(program);
    for key in VARYING_KEYS {
        differs |= table.string(key).ok().flatten().is_some_and(varies);
    }
    if differs && !(1..=MAX_VARYING).contains(&count) {
        return Err(table
            .mistake("count", format!("{count} instances cannot differ by {{i}}"))
            .expected(format!("1 to {MAX_VARYING}")));
    }
    Ok(Draft {
        name,
        table,
        count,
        program,
        varies: differs,
    })
}

/// The specifications there will be, in canonical order.
pub(super) fn plan(drafts: &[Draft<'_>]) -> Result<Vec<Planned>, Diagnostic> {
    let mut planned = Vec::new();
    for (index, draft) in drafts.iter().enumerate() {
        check_clash(draft, drafts)?;
        planned.extend(draft.instances(index));
    }
    planned.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(planned)
}

impl Draft<'_> {
    fn instances(&self, draft: usize) -> Vec<Planned> {
        let n = self.count;
        let one = |i| Planned {
            name: format!("{}-{i}", self.name),
            draft,
            instance: Instance { i, n },
            count: 1,
        };
        if self.varies && n > 1 {
            return (0..n).map(one).collect();
        }
        vec![Planned {
            name: self.name.to_string(),
            draft,
            instance: Instance { i: 0, n },
            count: n,
        }]
    }
}

/// "a-1" cannot be a task beside "a", whose second instance has that name.  Drafts are in
/// alphabetical order.
fn check_clash(draft: &Draft<'_>, drafts: &[Draft<'_>]) -> Result<(), Diagnostic> {
    let Some((stem, number)) = draft.name.rsplit_once('-') else {
        return Ok(());
    };
    let numbered = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    if numbered
        && drafts
            .binary_search_by(|other| other.name.cmp(stem))
            .is_ok()
    {
        return Err(draft
            .table
            .mistake(
                "",
                format!("instances of task \"{stem}\" are named like this"),
            )
            .expected("another name"));
    }
    Ok(())
}

/// What `fork` can name.
pub(super) fn targets(drafts: &[Draft<'_>], planned: &[Planned]) -> BTreeMap<String, Target> {
    let mut targets: BTreeMap<String, Target> = drafts
        .iter()
        .map(|draft| (draft.name.to_string(), Target::Varies))
        .collect();
    for (index, planned) in planned.iter().enumerate() {
        targets.insert(planned.name.clone(), Target::Spec(SpecId(index as u32)));
    }
    targets
}

/// Reads everything else and numbers the processes in alphabetical order.
pub(super) fn specs(
    drafts: &[Draft<'_>],
    planned: &[Planned],
    pool: &mut Pool,
) -> Result<Vec<TaskSpec>, Diagnostic> {
    let mut specs = Vec::with_capacity(planned.len());
    let mut processes = Vec::with_capacity(planned.len());
    for planned in planned {
        let (spec, process) = spec(&drafts[planned.draft], planned, pool)?;
        specs.push(spec);
        processes.push(process);
    }
    let names: BTreeSet<&String> = processes.iter().flatten().collect();
    let numbers: BTreeMap<&String, u32> = names.into_iter().zip(1..).collect();
    for (spec, process) in specs.iter_mut().zip(&processes) {
        if let Some(name) = process {
            spec.process = Process::Shared(numbers[name]);
        }
    }
    Ok(specs)
}

/// A specification, and the name of its process if it shares one.
fn spec(
    draft: &Draft<'_>,
    planned: &Planned,
    pool: &mut Pool,
) -> Result<(TaskSpec, Option<String>), Diagnostic> {
    let table = &draft.table;
    let instance = planned.instance;
    let (class, rt_priority) = class(table)?;
    let (process, shared) = process(table, instance)?;
    let cpus = filled(
        table,
        "cpus",
        "a list of CPUs in quotes, such as \"0-3\"",
        instance,
        |text| pool.cpu_set(text),
    )?;
    let size = filled(
        table,
        "working_set",
        "a size in quotes, such as \"256KiB\"",
        instance,
        quantity::size,
    )?;
    let start = filled(
        table,
        "start",
        "a duration in quotes, such as \"10ms\"",
        instance,
        quantity::duration,
    )?;
    let group = filled(table, "group", "a name in quotes", instance, |text| {
        check_name(text)
            .map_err(Diagnostic::new)
            .map(|()| text.to_string())
    })?;
    let program = program(draft.program, instance, pool).map_err(|mistake| Diagnostic {
        file: table.file().into(),
        key: table.dotted("program"),
        ..mistake
    })?;
    let spec = TaskSpec {
        name: planned.name.clone(),
        group: group.unwrap_or_else(|| draft.name.to_string()),
        count: planned.count,
        program,
        nice: table.integer("nice", -20..=19)?.unwrap_or(0) as i8,
        class,
        rt_priority,
        cpus: cpus.flatten(),
        process,
        working_set_bytes: size.unwrap_or(0),
        start: start.unwrap_or(Ns::ZERO),
        dormant: false,
        background: table.boolean("background")?.unwrap_or(false),
        foreground: table.boolean("foreground")?.unwrap_or(false),
    };
    Ok((spec, shared))
}

/// The value of a key whose string may contain `{i}`.
fn filled<T>(
    table: &Table<'_>,
    key: &str,
    expected: &str,
    instance: Instance,
    read: impl FnOnce(&str) -> Result<T, Diagnostic>,
) -> Result<Option<T>, Diagnostic> {
    table.quantity(key, expected, |text| read(&fill(text, instance)?))
}

fn class(table: &Table<'_>) -> Result<(TaskClass, u8), Diagnostic> {
    let class = table
        .choice("class", &CLASSES)?
        .unwrap_or(TaskClass::Normal);
    let priority = table
        .integer("rt_priority", 1..=99)?
        .map(|priority| priority as u8);
    let real_time = matches!(class, TaskClass::Fifo | TaskClass::Rr);
    match priority {
        Some(_) if !real_time => Err(table
            .mistake("rt_priority", "only real-time tasks have one")
            .expected("class = \"fifo\" or class = \"rr\" beside it")),
        None if real_time => Err(table
            .mistake("rt_priority", "missing")
            .expected("1 (worst) to 99 (best) for a real-time class")),
        _ => Ok((class, priority.unwrap_or(0))),
    }
}

fn process(table: &Table<'_>, instance: Instance) -> Result<(Process, Option<String>), Diagnostic> {
    let expected = "\"own\", \"parent\" or a name that threads of one process share";
    let name = filled(table, "process", expected, instance, |text| {
        match text.split('.').try_for_each(check_part) {
            Ok(()) => Ok(text.to_string()),
            Err(problem) => Err(Diagnostic::new(problem).expected(expected)),
        }
    })?;
    Ok(match name.as_deref() {
        None | Some("own") => (Process::Own, None),
        Some("parent") => (Process::Parent, None),
        Some(_) => (Process::Own, name),
    })
}

/// The name of a process may be numbered: "server.3".
fn check_part(part: &str) -> Result<(), String> {
    if !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()) {
        return Ok(());
    }
    check_name(part)
}
