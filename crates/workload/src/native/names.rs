//! The things tasks share: declared in tables, used by name in programs.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use schedlab_input::{Diagnostic, Table};

use super::expression::{varies, Scope};
use super::filled::{applies, integer};
use crate::MAX_MESSAGES;

/// The most things of one kind.
pub(super) const MAX_THINGS: u32 = 1_000_000;

/// The kinds of things; each is a table of tables in the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Mutex,
    Condition,
    Semaphore,
    Barrier,
    Channel,
    Disk,
    Timer,
}

impl Kind {
    pub const ALL: [Kind; 7] = [
        Kind::Mutex,
        Kind::Condition,
        Kind::Semaphore,
        Kind::Barrier,
        Kind::Channel,
        Kind::Disk,
        Kind::Timer,
    ];

    /// The key of its tables.
    pub fn key(self) -> &'static str {
        match self {
            Kind::Mutex => "mutex",
            Kind::Condition => "condition",
            Kind::Semaphore => "semaphore",
            Kind::Barrier => "barrier",
            Kind::Channel => "channel",
            Kind::Disk => "disk",
            Kind::Timer => "timer",
        }
    }

    /// The key of its one parameter, what it means and its range.
    fn parameter(self) -> Option<(&'static str, &'static str, RangeInclusive<i64>)> {
        let (most, messages) = (i64::from(u32::MAX), i64::from(MAX_MESSAGES));
        match self {
            Kind::Semaphore => Some(("initial", "its value at the start", 0..=most)),
            Kind::Barrier => Some(("tasks", "the number of tasks it waits for", 2..=most)),
            Kind::Channel => {
                let meaning = "the messages it holds before senders block";
                Some(("capacity", meaning, 1..=messages))
            }
            Kind::Mutex | Kind::Condition | Kind::Disk | Kind::Timer => None,
        }
    }

    /// The statement that blocks on it and the statement that wakes, if it has both.
    fn sides(self) -> Option<(&'static str, &'static str)> {
        match self {
            Kind::Channel => Some(("receive", "send")),
            Kind::Condition => Some(("wait", "signal or broadcast")),
            Kind::Semaphore => Some(("wait-sem", "post")),
            _ => None,
        }
    }
}

/// How a statement uses a thing.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// Blocks there until another task does something.
    Take,
    /// Does what others block for.
    Give,
    /// Neither.
    Plain,
}

/// One table: a thing, or several of a kind under one name.
struct Declared {
    line: usize,
    /// Index of the first.
    first: u32,
    /// None: a single one, used without number.
    count: Option<u32>,
    /// The parameter of each, or the one all have.
    parameters: Vec<u32>,
    taken: Option<usize>,
    given: Option<usize>,
    used: bool,
}

/// All things of a kind, numbered in alphabetical order.
pub(super) struct Names {
    kind: Kind,
    declared: BTreeMap<String, Declared>,
    total: u32,
}

impl Names {
    /// Reads the tables of a kind.
    pub fn read(root: &Table<'_>, kind: Kind, scope: &Scope) -> Result<Names, Diagnostic> {
        let mut names = Names {
            kind,
            declared: BTreeMap::new(),
            total: 0,
        };
        for (name, table) in root.tables(kind.key())? {
            check_name(name).map_err(|problem| table.mistake("", problem))?;
            if applies(&table, scope)? {
                names.declare(name, table, scope)?;
            }
        }
        Ok(names)
    }

    fn declare(&mut self, name: &str, table: Table<'_>, scope: &Scope) -> Result<(), Diagnostic> {
        let parameter = self.kind.parameter().map(|(key, ..)| key);
        let keys: Vec<_> = ["when", "count"].into_iter().chain(parameter).collect();
        let table = table.only(&keys)?;
        let count = integer(&table, "count", 1..=i64::from(MAX_THINGS), scope)?.map(|n| n as u32);
        let nr_different = match parameter {
            Some(key) if matches!(table.string(key), Ok(Some(text)) if varies(text)) => {
                count.unwrap_or(1)
            }
            _ => 1,
        };
        let one = |i| self.parameter(&table, &scope.of_instance(i, count.unwrap_or(1)));
        let parameters = (0..nr_different).map(one).collect::<Result<_, _>>()?;
        let declared = Declared {
            line: table.line(""),
            first: self.total,
            count,
            parameters,
            taken: None,
            given: None,
            used: false,
        };
        self.total += count.unwrap_or(1);
        if self.total > MAX_THINGS {
            return Err(table
                .mistake("count", "too many")
                .expected(format!("at most {MAX_THINGS} of a kind")));
        }
        self.declared.insert(name.to_string(), declared);
        Ok(())
    }

    /// The parameter of one of them; 0 if the kind has none.
    fn parameter(&self, table: &Table<'_>, scope: &Scope) -> Result<u32, Diagnostic> {
        let Some((key, meaning, range)) = self.kind.parameter() else {
            return Ok(0);
        };
        let given = integer(table, key, range, scope)?;
        let given = given.or((self.kind == Kind::Semaphore).then_some(0));
        Ok(table.need(key, given, meaning)? as u32)
    }

    /// How many there are.
    pub fn total(&self) -> u32 {
        self.total
    }

    /// Is this a declared name (without the number of an instance)?
    pub fn declares(&self, name: &str) -> bool {
        self.declared
            .contains_key(name.split('.').next().unwrap_or(name))
    }

    /// The parameter of each.
    pub fn parameters(&self) -> Vec<u32> {
        let of_each = |d: &Declared| {
            let nr = d.count.unwrap_or(1) as usize;
            d.parameters.clone().into_iter().cycle().take(nr)
        };
        self.declared.values().flat_map(of_each).collect()
    }

    /// The number of the thing a statement on this line names.
    pub fn resolve(&mut self, text: &str, how: Use, line: usize) -> Result<u32, Diagnostic> {
        let (name, number) = match text.split_once('.') {
            Some((name, number)) => (name, Some(number)),
            None => (text, None),
        };
        let kind = self.kind.key();
        if !self.declared.contains_key(name) {
            return Err(Diagnostic::new(format!("there is no {kind} \"{name}\""))
                .expected(format!("one declared in a table [{kind}.{name}]"))
                .suggest(name, self.declared.keys().map(String::as_str)));
        }
        let declared = self.declared.get_mut(name).expect("just found");
        let index = declared.index(name, number).map_err(|d| Diagnostic {
            problem: format!("{kind} {}", d.problem),
            ..d
        })?;
        declared.used = true;
        match how {
            Use::Take => declared.taken = declared.taken.or(Some(line)),
            Use::Give => declared.given = declared.given.or(Some(line)),
            Use::Plain => {}
        }
        Ok(index)
    }

    /// The name of the thing with this number, as programs write it.
    pub fn name(&self, index: u32) -> String {
        let found = self
            .declared
            .iter()
            .filter(|(_, d)| d.first <= index)
            .max_by_key(|(_, d)| d.first);
        match found {
            Some((
                name,
                Declared {
                    count: Some(_),
                    first,
                    ..
                },
            )) => format!("{name}.{}", index - first),
            Some((name, _)) => name.clone(),
            None => format!("{index}"),
        }
    }

    /// Once all programs are read: refuses things that tasks wait for and no task provides; warns of unused ones.
    pub fn check_use(&self, file: &str) -> Result<Vec<String>, Diagnostic> {
        let mut warnings = Vec::new();
        for (name, declared) in &self.declared {
            let about = |problem: String, line: usize| {
                Diagnostic::new(problem)
                    .at(file, line)
                    .key(format!("{}.{name}", self.kind.key()))
            };
            if !declared.used {
                warnings.push(about("never used".into(), declared.line).to_string());
            }
            let Some((take, give)) = self.kind.sides() else {
                continue;
            };
            match (declared.taken, declared.given) {
                (Some(line), None)
                    if declared.parameters.contains(&0) || self.kind == Kind::Channel =>
                {
                    return Err(about(
                        format!("a task would wait here for ever: no program has {give}"),
                        line,
                    ));
                }
                (None, Some(line)) => {
                    warnings.push(about(format!("no program has {take}"), line).to_string());
                }
                _ => {}
            }
        }
        Ok(warnings)
    }
}

impl Declared {
    fn index(&self, name: &str, number: Option<&str>) -> Result<u32, Diagnostic> {
        match (self.count, number) {
            (None, None) => Ok(self.first),
            (None, Some(_)) => Err(Diagnostic::new(format!("\"{name}\" has one instance"))
                .expected(format!("\"{name}\" without number"))),
            (Some(count), number) => {
                let range = || format!("{name}.0 to {name}.{}", count - 1);
                let number = number.ok_or_else(|| {
                    Diagnostic::new(format!("\"{name}\" names {count} instances")).expected(range())
                })?;
                match number.parse::<u32>() {
                    Ok(n) if n < count => Ok(self.first + n),
                    _ => Err(
                        Diagnostic::new(format!("\"{name}.{number}\" does not exist"))
                            .expected(range()),
                    ),
                }
            }
        }
    }
}

/// Names are readable words: letters, digits, `-` and `_`, a letter first.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    let valid = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.len() > 64 {
        return Err("a name has at most 64 characters".into());
    }
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) || !name.chars().all(valid) {
        return Err(format!(
            "\"{name}\" is not a name: a letter, then letters, digits, \"-\" and \"_\""
        ));
    }
    Ok(())
}
