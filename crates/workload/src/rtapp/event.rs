//! Events: what a phase does, step by step.

use schedlab_input::{nearest, Diagnostic};

use super::json::Member;
use super::object::Object;

/// One event; names refer to rt-app's resources, times are in microseconds.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Event {
    Lock(String),
    Unlock(String),
    Wait(Condition),
    Signal(String),
    Broadcast(String),
    Sync(Condition),
    Sleep(u32),
    RunTime(u32),
    Run(u32),
    Timer(Timer),
    Suspend(Option<String>),
    Resume(String),
    MemoryRun(MemoryRun),
    Memory(u32),
    Io(u32),
    Yield,
    Barrier(String),
    Fork(String),
    SemPost(String),
    SemWait(String),
}

/// A condition variable and the mutex it is used with.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Condition {
    pub name: String,
    pub mutex: String,
}

/// A periodic timer.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Timer {
    pub name: String,
    pub period_us: u32,
    /// If one use of a timer says "absolute", all its uses are.
    pub absolute: bool,
}

impl Timer {
    /// Every thread has its own timer of this name.
    pub fn is_unique(&self) -> bool {
        self.name.starts_with("unique")
    }
}

/// Memory accesses.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct MemoryRun {
    pub access: Access,
    pub random: bool,
    pub size: u32,
    pub count: u32,
    pub stride: u32,
    /// Uses of the same buffer must agree on everything else.
    pub buffer: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Access {
    Read,
    Write,
    Chase,
}

/// Reads the event of a key.
type Reader = fn(&Object, &Member, &mut Vec<Diagnostic>) -> Result<Event, Diagnostic>;

/// Prefixes of keys in rt-app's order; the first that fits decides.
const EVENTS: [(&str, Reader); 20] = [
    ("lock", |o, m, _| Ok(Event::Lock(name(o, m)?))),
    ("unlock", |o, m, _| Ok(Event::Unlock(name(o, m)?))),
    ("wait", |o, m, _| Ok(Event::Wait(condition(o, m)?))),
    ("signal", |o, m, _| Ok(Event::Signal(name(o, m)?))),
    ("broad", |o, m, _| Ok(Event::Broadcast(name(o, m)?))),
    ("sync", |o, m, _| Ok(Event::Sync(condition(o, m)?))),
    ("sleep", |o, m, _| Ok(Event::Sleep(amount(o, m)?))),
    ("runtime", |o, m, _| Ok(Event::RunTime(amount(o, m)?))),
    ("run", |o, m, _| Ok(Event::Run(amount(o, m)?))),
    ("timer", timer),
    ("suspend", |o, m, _| Ok(Event::Suspend(suspend(o, m)?))),
    ("resume", |o, m, _| Ok(Event::Resume(name(o, m)?))),
    ("memrun", memory_run),
    ("mem", |o, m, _| Ok(Event::Memory(amount(o, m)?))),
    ("iorun", |o, m, _| Ok(Event::Io(amount(o, m)?))),
    ("yield", |_, _, _| Ok(Event::Yield)),
    ("barrier", |o, m, _| Ok(Event::Barrier(name(o, m)?))),
    ("fork", |o, m, _| Ok(Event::Fork(name(o, m)?))),
    ("sem_post", |o, m, _| Ok(Event::SemPost(name(o, m)?))),
    ("sem_wait", |o, m, _| Ok(Event::SemWait(name(o, m)?))),
];

/// All prefixes, for suggestions.
pub(super) fn prefixes() -> Vec<&'static str> {
    EVENTS.iter().map(|(prefix, _)| *prefix).collect()
}

/// Is this key an event's?
pub(super) fn is_event(key: &str) -> bool {
    EVENTS.iter().any(|(prefix, _)| key.starts_with(prefix))
}

/// The event of a member; none if its key is no event's.
pub(super) fn parse(
    object: &Object,
    member: &Member,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Option<Event>, Diagnostic> {
    let found = EVENTS
        .iter()
        .find(|(prefix, _)| member.key.starts_with(prefix));
    found
        .map(|(_, read)| read(object, member, warnings))
        .transpose()
}

/// The name of a resource or task.
fn name(object: &Object, member: &Member) -> Result<String, Diagnostic> {
    object.string_of(member).map(str::to_string)
}

/// A number that must not be negative: rt-app does not check, and then waits or works for
/// thousands of years.
fn amount(object: &Object, member: &Member) -> Result<u32, Diagnostic> {
    let value = object.int_of(member)?;
    u32::try_from(value).map_err(|_| negative(object, member, value))
}

fn negative(object: &Object, member: &Member, value: i32) -> Diagnostic {
    let problem = format!("{value} is negative (rt-app reads it as an enormous number)");
    object.error(member, problem, "0 or more")
}

/// The value of suspend: a string, or nothing.
fn suspend(object: &Object, member: &Member) -> Result<Option<String>, Diagnostic> {
    match member.node.value {
        super::json::Value::Missing => Ok(None),
        _ => name(object, member).map(Some),
    }
}

/// The object of an event.  rt-app takes any other value for an object without keys.
fn details<'a>(member: &'a Member, path: &'a str) -> Object<'a> {
    Object::of(path, &member.node).unwrap_or(Object {
        path,
        line: member.line,
        members: &[],
    })
}

fn condition(object: &Object, member: &Member) -> Result<Condition, Diagnostic> {
    let path = object.path_of(&member.key);
    let details = details(member, &path);
    let name = |key| Ok(details.string(key)?.unwrap_or("unknown").to_string());
    Ok(Condition {
        name: name("ref")?,
        mutex: name("mutex")?,
    })
}

fn timer(
    object: &Object,
    member: &Member,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Event, Diagnostic> {
    let path = object.path_of(&member.key);
    let details = details(member, &path);
    details.warn_unknown(&["ref", "period", "mode"], &[], |_| false, warnings);
    let period = details.int("period")?.unwrap_or(0);
    let mode = details.string("mode")?.unwrap_or("relative");
    if period == 0 {
        let problem = "has no period, so it never waits";
        warnings.push(object.error(member, problem, ""));
    }
    if !mode.starts_with("absolute") && mode != "relative" {
        let problem = format!("mode \"{mode}\" is taken for \"relative\", as in rt-app");
        warnings.push(Diagnostic {
            nearest: nearest(mode, ["absolute", "relative"]),
            ..object.error(member, problem, "")
        });
    }
    Ok(Event::Timer(Timer {
        name: details.string("ref")?.unwrap_or("unknown").to_string(),
        period_us: u32::try_from(period).map_err(|_| negative(object, member, period))?,
        absolute: mode.starts_with("absolute"),
    }))
}

fn memory_run(
    object: &Object,
    member: &Member,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Event, Diagnostic> {
    let path = object.path_of(&member.key);
    let details = Object::of(&path, &member.node)?;
    let known = ["type", "size", "count", "stride", "pattern", "ref"];
    details.warn_unknown(&known, &[], |_| false, warnings);
    let positive = |key: &str, default: Option<u32>| -> Result<u32, Diagnostic> {
        match (details.int(key)?, default) {
            (Some(value), _) if value > 0 => Ok(value as u32),
            (None, Some(default)) => Ok(default),
            _ => Err(details.error_here(&format!("has no {key} above 0"), "an integer above 0")),
        }
    };
    Ok(Event::MemoryRun(MemoryRun {
        access: choice(
            &details,
            "type",
            None,
            &[
                ("read", Access::Read),
                ("write", Access::Write),
                ("chase", Access::Chase),
            ],
        )?,
        random: choice(
            &details,
            "pattern",
            Some(true),
            &[("random", true), ("sequential", false)],
        )?,
        size: positive("size", None)?,
        count: positive("count", None)?,
        stride: positive("stride", Some(64))?,
        buffer: details.string("ref")?.map(str::to_string),
    }))
}

/// One of a few words.
fn choice<T: Copy>(
    object: &Object,
    key: &str,
    default: Option<T>,
    choices: &[(&str, T)],
) -> Result<T, Diagnostic> {
    let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
    let expected = format!("one of {}", words.join(", "));
    match (object.string(key)?, default) {
        (None, Some(default)) => Ok(default),
        (None, None) => Err(object.error_here(&format!("has no {key}"), &expected)),
        (Some(given), _) => {
            let found = choices.iter().find(|(word, _)| *word == given);
            found.map(|(_, value)| *value).ok_or_else(|| Diagnostic {
                nearest: nearest(given, words),
                ..object.error_here(&format!("{key} is \"{given}\""), &expected)
            })
        }
    }
}
