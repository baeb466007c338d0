//! From `[task.NAME]` tables to task specifications.

use std::collections::{BTreeMap, BTreeSet};

use schedlab_input::{quantity, Diagnostic, Table, Text};
use schedlab_trace::{Ns, TaskClass};

use super::expression::{varies, Scope};
use super::filled::{applies, filled, integer};
use super::names::check_name;
use super::pool::{Pool, Target};
use super::program::{program, program_varies};
use super::statement::CLASSES;
use crate::{Periodic, Process, SpecId, TaskSpec, MAX_TASKS};

const KEYS: [&str; 23] = [
    "when",
    "count",
    "each",
    "name",
    "nice",
    "class",
    "rt_priority",
    "slice",
    "util_min",
    "util_max",
    "runtime",
    "deadline",
    "period",
    "cpus",
    "process",
    "group",
    "session",
    "kind",
    "working_set",
    "start",
    "background",
    "foreground",
    "program",
];

/// The keys with strings that can differ between instances.
const VARYING_KEYS: [&str; 12] = [
    "name",
    "nice",
    "slice",
    "util_min",
    "util_max",
    "cpus",
    "process",
    "group",
    "session",
    "kind",
    "working_set",
    "start",
];

const SLICE: &str = "a duration from 100us to 100ms in quotes, such as \"500us\"";

/// The most text of all programs when each instance has its own, in bytes.
const MAX_TEXT_BYTES: u64 = 128 << 20;

/// A `[task.NAME]` table, read in part.
pub(super) struct Draft<'a> {
    name: &'a str,
    table: Table<'a>,
    count: u32,
    /// Tasks for each of these.
    each: u32,
    program: &'a Text,
    varies: bool,
}

/// A future specification: all instances of a draft or, if they differ, one of them.
pub(super) struct Planned {
    pub name: String,
    draft: usize,
    /// The instance, the number of instances, and the number of tasks it represents.
    i: u32,
    n: u32,
    count: u32,
}

/// Reads what can be read without knowing the other tasks.
pub(super) fn drafts<'a>(root: &Table<'a>, scope: &Scope) -> Result<Vec<Draft<'a>>, Diagnostic> {
    let mut drafts = Vec::new();
    for (name, table) in root.tables("task")? {
        check_name(name).map_err(|problem| table.mistake("", problem))?;
        let table = table.only(&KEYS)?;
        if applies(&table, scope)? {
            drafts.push(draft(name, table, scope)?);
        }
    }
    let tasks = |draft: &Draft<'_>| u64::from(draft.count) * u64::from(draft.each);
    let total: u64 = drafts.iter().map(tasks).sum();
    if total == 0 && !root.has("beside") {
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
                "programs that use {i} are too long for this number of instances",
            )
            .expected(format!(
                "at most {} MiB of text in all",
                MAX_TEXT_BYTES >> 20
            )));
    }
    Ok(())
}

fn draft<'a>(name: &'a str, table: Table<'a>, scope: &Scope) -> Result<Draft<'a>, Diagnostic> {
    let tasks = i64::from(MAX_TASKS);
    let count = integer(&table, "count", 0..=tasks, scope)?.unwrap_or(1) as u32;
    let each = integer(&table, "each", 1..=tasks, scope)?.unwrap_or(1) as u32;
    let program = table.need(
        "program",
        table.text("program")?,
        "the statements it runs, between \"\"\"",
    )?;
    let mut differs = program_varies(program);
    for key in VARYING_KEYS {
        differs |= table.string(key).ok().flatten().is_some_and(varies);
    }
    if differs && count == 0 {
        return Err(table
            .mistake("count", "0 instances cannot differ by {i}")
            .expected("at least 1"));
    }
    Ok(Draft {
        name,
        table,
        count,
        each,
        program,
        varies: differs,
    })
}

/// The specifications there will be, in canonical order.
pub(super) fn plan(drafts: &[Draft<'_>], scope: &Scope) -> Result<Vec<Planned>, Diagnostic> {
    let mut planned = Vec::new();
    for (index, draft) in drafts.iter().enumerate() {
        planned.extend(draft.instances(index, scope)?);
    }
    planned.sort_by(|a, b| a.name.cmp(&b.name));
    for (place, one) in planned.iter().enumerate() {
        check_clash(one, &planned[..place])
            .map_err(|problem| drafts[one.draft].table.mistake("", problem))
            .map_err(|mistake| mistake.expected("another name"))?;
    }
    Ok(planned)
}

impl Draft<'_> {
    fn instances(&self, draft: usize, scope: &Scope) -> Result<Vec<Planned>, Diagnostic> {
        let (nr_specs, n) = match self.varies {
            true => (self.count, self.count),
            false => (1, self.count),
        };
        let alike = if self.varies {
            self.each
        } else {
            self.count * self.each
        };
        let numbered = nr_specs > 1;
        let one = |i| {
            let name = filled(
                &self.table,
                "name",
                "a name in quotes",
                &scope.of_instance(i, n),
                named,
            )?;
            let usual = || match numbered {
                true => format!("{}-{i}", self.name),
                false => self.name.to_string(),
            };
            let name = name.unwrap_or_else(usual);
            Ok(Planned {
                name,
                draft,
                i,
                n,
                count: alike,
            })
        };
        (0..nr_specs).map(one).collect()
    }
}

fn named(text: &str) -> Result<String, Diagnostic> {
    check_name(text).map_err(Diagnostic::new)?;
    Ok(text.to_string())
}

/// Names are unique, those of instances included: "a-1" cannot be a task beside "a", whose second instance
/// has that name.  The ones before it are in alphabetical order.
fn check_clash(one: &Planned, before: &[Planned]) -> Result<(), String> {
    if before.last().is_some_and(|last| last.name == one.name) {
        return Err(format!("another task is named \"{}\"", one.name));
    }
    let Some((stem, number)) = one.name.rsplit_once('-') else {
        return Ok(());
    };
    let numbered = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    let taken = before.binary_search_by(|other| other.name.as_str().cmp(stem));
    match numbered && taken.is_ok() {
        true => Err(format!("instances of task \"{stem}\" are named like this")),
        false => Ok(()),
    }
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
    scope: &Scope,
) -> Result<Vec<TaskSpec>, Diagnostic> {
    let mut specs = Vec::with_capacity(planned.len());
    let mut processes = Vec::with_capacity(planned.len());
    for planned in planned {
        let scope = scope.of_instance(planned.i, planned.n);
        let (spec, process) = spec(&drafts[planned.draft], planned, pool, &scope)?;
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
    scope: &Scope,
) -> Result<(TaskSpec, Option<String>), Diagnostic> {
    let table = &draft.table;
    let (class, rt_priority) = class(table, scope)?;
    let (process, shared) = process(table, scope)?;
    let cpus = filled(
        table,
        "cpus",
        "a list of CPUs in quotes, such as \"0-3\"",
        scope,
        |text| pool.cpu_set(text),
    )?;
    let size = "a size in quotes, such as \"256KiB\"";
    let size = filled(table, "working_set", size, scope, quantity::size)?;
    let start = "a duration in quotes, such as \"10ms\"";
    let start = filled(table, "start", start, scope, quantity::duration)?;
    let (control_group, label) = group(draft, pool, scope)?;
    let program = program(draft.program, scope, pool).map_err(|mistake| Diagnostic {
        file: table.file().into(),
        key: table.dotted("program"),
        ..mistake
    })?;
    let spec = TaskSpec {
        name: planned.name.clone(),
        group: label,
        count: planned.count,
        program,
        nice: integer(table, "nice", -20..=19, scope)?.unwrap_or(0) as i8,
        class,
        rt_priority,
        periodic: periodic(table, scope)?,
        cpus: cpus.flatten(),
        control_group,
        slice: filled(table, "slice", SLICE, scope, super::statement::slice)?,
        clamps: clamps(table, scope)?,
        process,
        working_set_bytes: size.unwrap_or(0),
        start: start.unwrap_or(Ns::ZERO),
        dormant: false,
        background: table.boolean("background")?.unwrap_or(false),
        foreground: table.boolean("foreground")?.unwrap_or(false),
    };
    Ok((spec, shared))
}

/// Utilisation clamps, if it has any.
fn clamps(table: &Table<'_>, scope: &Scope) -> Result<Option<(u16, u16)>, Diagnostic> {
    let min = integer(table, "util_min", 0..=1024, scope)?;
    let max = integer(table, "util_max", 0..=1024, scope)?;
    let (low, high) = (min.unwrap_or(0), max.unwrap_or(1024));
    if low > high {
        return Err(table
            .mistake("util_min", format!("{low} is more than util_max, {high}"))
            .expected("util_min not above util_max"));
    }
    let given = min.is_some() || max.is_some();
    Ok(given.then_some((low as u16, high as u16)))
}

/// The control group, and the name that results are put together by.
fn group(
    draft: &Draft<'_>,
    pool: &mut Pool,
    scope: &Scope,
) -> Result<(Option<u32>, String), Diagnostic> {
    let table = &draft.table;
    let kind = filled(table, "kind", "a name in quotes", scope, named)?;
    let label = kind.unwrap_or_else(|| draft.name.to_string());
    let session = filled(table, "session", "a name in quotes", scope, named)?;
    if pool.groups.any() || pool.autogroup {
        let group = filled(table, "group", "the name of a group", scope, |text| {
            pool.groups.find(text)
        })?;
        let session = || session.unwrap_or_else(|| draft.name.to_string());
        let group = match group {
            None if pool.autogroup && draft.count > 0 => Some(pool.groups.of_session(&session())),
            group => group.flatten(),
        };
        return Ok((group, label));
    }
    if session.is_some() {
        return Err(table
            .mistake("session", "sessions mean nothing here")
            .expected("autogroup = true at the top of the file"));
    }
    // Before there were control groups "group" was what "kind" is.
    let group = filled(table, "group", "a name in quotes", scope, named)?;
    let unsaid = !table.has("kind");
    Ok((None, group.filter(|_| unsaid).unwrap_or(label)))
}

fn class(table: &Table<'_>, scope: &Scope) -> Result<(TaskClass, u8), Diagnostic> {
    let names = || CLASSES.iter().map(|(name, _)| *name);
    let expected = format!("one of {}", names().collect::<Vec<_>>().join(", "));
    let class = filled(table, "class", &expected, scope, |text| {
        let found = CLASSES.iter().find(|(name, _)| *name == text);
        found.map(|(_, class)| *class).ok_or_else(|| {
            Diagnostic::new(format!("unknown value \"{text}\""))
                .expected(expected.as_str())
                .suggest(text, names())
        })
    })?;
    let class = class.unwrap_or(TaskClass::Normal);
    let least = match table.string("rt_priority") {
        Ok(Some(_)) => 0,
        _ => 1,
    };
    let priority = integer(table, "rt_priority", least..=99, scope)?.filter(|p| *p > 0);
    let real_time = matches!(class, TaskClass::Fifo | TaskClass::Rr);
    match priority {
        Some(_) if !real_time => Err(table
            .mistake("rt_priority", "only real-time tasks have one")
            .expected("class = \"fifo\" or class = \"rr\" beside it")),
        None if real_time => Err(table
            .mistake("rt_priority", "missing")
            .expected("1 (worst) to 99 (best) for a real-time class")),
        _ => Ok((class, priority.unwrap_or(0) as u8)),
    }
}

/// The numbers of a periodic task.
fn periodic(table: &Table<'_>, scope: &Scope) -> Result<Option<Periodic>, Diagnostic> {
    let expected = "a duration in quotes, such as \"10ms\"";
    let duration = |key| filled(table, key, expected, scope, quantity::duration);
    let (runtime, deadline) = (duration("runtime")?, duration("deadline")?);
    let Some(period) = duration("period")? else {
        let lonely = [("runtime", runtime), ("deadline", deadline)];
        return match lonely.iter().find(|(_, given)| given.is_some()) {
            None => Ok(None),
            Some((key, _)) => Err(table
                .mistake(key, "only periodic tasks have one")
                .expected("period = \"10ms\" beside it")),
        };
    };
    let periodic = Periodic {
        runtime: runtime.unwrap_or(Ns::ZERO),
        deadline: deadline.unwrap_or(period),
        period,
    };
    if period == Ns::ZERO || periodic.deadline == Ns::ZERO {
        let key = if period == Ns::ZERO {
            "period"
        } else {
            "deadline"
        };
        return Err(table.mistake(key, "is zero").expected("more than 0"));
    }
    if periodic.deadline > period {
        return Err(table
            .mistake("deadline", "is after the end of the period")
            .expected("runtime <= deadline <= period, as SCHED_DEADLINE has it"));
    }
    if periodic.runtime > periodic.deadline {
        return Err(table
            .mistake("runtime", "is longer than the deadline")
            .expected("runtime <= deadline <= period, as SCHED_DEADLINE has it"));
    }
    Ok(Some(periodic))
}

fn process(table: &Table<'_>, scope: &Scope) -> Result<(Process, Option<String>), Diagnostic> {
    let expected = "\"own\", \"parent\" or a name that threads of one process share";
    let name = filled(table, "process", expected, scope, |text| {
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
