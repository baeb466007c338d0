//! Tasks and their phases.

use schedlab_input::Diagnostic;
use schedlab_trace::{Ns, TaskClass};

use super::event::{self, Event};
use super::global::policy;
use super::json::{Member, Value};
use super::object::Object;
use crate::{MAX_GROUP_DEPTH, MAX_SLICE, MAX_TASKS, MIN_SLICE};

/// A task as the file describes it.
#[derive(Debug)]
pub(super) struct Task {
    pub line: usize,
    pub name: String,
    /// Threads from the start; 0: only forked.
    pub instances: u32,
    pub delay_us: u32,
    /// Rounds of all phases; none: for ever.
    pub rounds: Option<u32>,
    pub cpus: Option<Vec<u32>>,
    /// The path of its task group, such as "/a/b"; "/" and "" are the root.
    pub taskgroup: Option<String>,
    pub params: Params,
    /// The slice it asks for.
    pub slice: Option<Ns>,
    /// Its utilisation clamps.
    pub clamps: Option<(u16, u16)>,
    pub phases: Vec<Phase>,
}

/// A phase as the file describes it.
#[derive(Debug)]
pub(super) struct Phase {
    /// Rounds of its events; none: for ever.
    pub rounds: Option<u32>,
    pub cpus: Option<Vec<u32>>,
    /// The group of the phase, if not the task's.
    pub taskgroup: Option<String>,
    /// What it changes.
    pub params: Option<Params>,
    pub events: Vec<Step>,
}

/// An event and where it is.
#[derive(Debug)]
pub(super) struct Step {
    pub line: usize,
    pub key: String,
    pub event: Event,
}

/// Class and, depending on it, nice value or real-time priority.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Params {
    pub class: TaskClass,
    pub priority: i32,
}

impl Params {
    pub fn is_real_time(&self) -> bool {
        matches!(self.class, TaskClass::Fifo | TaskClass::Rr)
    }
}

/// The highest CPU number a machine can have here.
const CPU_MAX: i64 = 1023;

/// Keys of tasks and phases alike.
const PROPERTIES: [&str; 12] = [
    "loop",
    "policy",
    "priority",
    "dl-runtime",
    "dl-period",
    "dl-deadline",
    "cpus",
    "nodes_membind",
    "util_min",
    "util_max",
    "taskgroup",
    "phases",
];

/// Keys of tasks alone, the old names of the deadline parameters among them.
const TASK_PROPERTIES: [&str; 4] = ["instance", "delay", "period", "deadline"];

/// Reads a task.
pub(super) fn parse(
    member: &Member,
    default_policy: TaskClass,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Task, Diagnostic> {
    let path = format!("tasks.{}", member.key);
    let object = Object::of(&path, &member.node)?;
    let mut known = PROPERTIES.to_vec();
    known.extend(TASK_PROPERTIES);
    let inline = object.get("phases").is_none();
    let is_event = |key: &str| inline && event::is_event(key);
    object.warn_unknown(&known, &event::prefixes(), is_event, warnings);
    let params = params(&object, Some(default_policy), default_policy)?.unwrap_or(Params {
        class: default_policy,
        priority: 0,
    });
    let (slice, clamps) = (slice(&object, params.class)?, clamps(&object)?);
    check_unmodelled(&object, warnings)?;
    for key in ["period", "deadline"] {
        object.int(key)?;
    }
    let mut task = Task {
        line: member.line,
        name: member.key.clone(),
        instances: instances(&object)?,
        delay_us: object.int("delay")?.map_or(0, |us| us.max(0) as u32),
        rounds: None,
        cpus: cpus(&object)?,
        taskgroup: taskgroup(&object, params.class)?,
        params,
        slice,
        clamps,
        phases: Vec::new(),
    };
    match inline {
        true => inline_phase(&mut task, &object, warnings)?,
        false => phases(&mut task, &object, warnings)?,
    }
    Ok(task)
}

/// The phases of a task that has some.
fn phases(
    task: &mut Task,
    object: &Object,
    warnings: &mut Vec<Diagnostic>,
) -> Result<(), Diagnostic> {
    let Some(member) = object.get("phases") else {
        return Ok(());
    };
    let path = object.path_of("phases");
    let phases = Object::of(&path, &member.node)?;
    if phases.members.is_empty() {
        let problem = "has no phase (rt-app then reads beyond its memory)";
        return Err(object.error(member, problem, "at least one phase"));
    }
    let mut class = task.params.class;
    for member in phases.members {
        let path = phases.path_of(&member.key);
        let phase = Object::of(&path, &member.node)?;
        let is_known = |key: &str| event::is_event(key) || TASK_PROPERTIES.contains(&key);
        phase.warn_unknown(&PROPERTIES, &event::prefixes(), is_known, warnings);
        for member in TASK_PROPERTIES.iter().filter_map(|key| phase.get(key)) {
            let problem = "is ignored in a phase, as in rt-app; it belongs to the task";
            warnings.push(phase.error(member, problem, ""));
        }
        let params = params(&phase, None, class)?;
        class = params.map_or(class, |p| p.class);
        for key in ["util_min", "util_max", "dl-runtime"] {
            if let Some(member) = phase.get(key) {
                let problem = "clamps and slices of single phases are not modelled";
                warnings.push(phase.error(member, problem, ""));
            }
        }
        clamps(&phase)?;
        check_unmodelled(&phase, warnings)?;
        task.phases.push(Phase {
            rounds: phase_rounds(&phase)?,
            cpus: cpus(&phase)?,
            taskgroup: taskgroup(&phase, class)?,
            params,
            events: events(&phase, warnings)?,
        });
    }
    task.rounds = match object.int("loop")? {
        Some(rounds) if rounds >= 0 => Some(rounds as u32),
        _ => None,
    };
    Ok(())
}

/// The one phase of a task that has its events inline: `loop` is the phase's, and the task
/// goes round once if it is there, else for ever.
fn inline_phase(
    task: &mut Task,
    object: &Object,
    warnings: &mut Vec<Diagnostic>,
) -> Result<(), Diagnostic> {
    task.phases.push(Phase {
        rounds: phase_rounds(object)?,
        cpus: None,
        taskgroup: None,
        params: None,
        events: events(object, warnings)?,
    });
    task.rounds = object.get("loop").map(|_| 1);
    if let Some(member) = object.get("runtime") {
        let problem = "rt-app reads this key twice: as an event and as an old name of dl-runtime; only the event counts here";
        warnings.push(object.error(
            member,
            problem,
            "\"runtime0\" or the like for the event alone",
        ));
    }
    Ok(())
}

/// Rounds of a phase.  rt-app counts up first and compares afterwards, so that 0, like -1, is
/// never reached.
fn phase_rounds(object: &Object) -> Result<Option<u32>, Diagnostic> {
    let rounds = object.int("loop")?.unwrap_or(1);
    Ok(u32::try_from(rounds).ok().filter(|rounds| *rounds > 0))
}

/// All events of an object in their order.
fn events(object: &Object, warnings: &mut Vec<Diagnostic>) -> Result<Vec<Step>, Diagnostic> {
    let mut steps = Vec::new();
    for member in object.members {
        if let Some(event) = event::parse(object, member, warnings)? {
            steps.push(Step {
                line: member.line,
                key: object.path_of(&member.key),
                event,
            });
        }
    }
    if steps.is_empty() {
        let problem = "has no events (rt-app stops with an error)";
        return Err(object.error_here(problem, "at least one event, such as \"run\""));
    }
    Ok(steps)
}

fn instances(object: &Object) -> Result<u32, Diagnostic> {
    match (object.int("instance")?, object.get("instance")) {
        (Some(n), Some(member)) if !(0..=MAX_TASKS as i32).contains(&n) => Err(object.error(
            member,
            format!("{n} is out of range"),
            format!("0 to {MAX_TASKS}"),
        )),
        (instances, _) => Ok(instances.unwrap_or(1) as u32),
    }
}

/// The CPUs it may use.
fn cpus(object: &Object) -> Result<Option<Vec<u32>>, Diagnostic> {
    let Some(member) = object.get("cpus") else {
        return Ok(None);
    };
    let Value::Array(nodes) = &member.node.value else {
        return Err(object.wrong_type(member, "an array of CPU numbers"));
    };
    if nodes.is_empty() {
        let problem = "names no CPU (the kernel refuses this)";
        return Err(object.error(member, problem, "at least one CPU number"));
    }
    let number = |value: &Value| match *value {
        Value::Int(cpu) if (0..=CPU_MAX).contains(&cpu) => Ok(cpu as u32),
        _ => Err(object.error(
            member,
            "there is something other than a CPU number in it",
            format!("numbers from 0 to {CPU_MAX}"),
        )),
    };
    nodes
        .iter()
        .map(|node| number(&node.value))
        .collect::<Result<Vec<u32>, _>>()
        .map(Some)
}

/// Class and priority, if the object sets them.  A task has a default class, a phase keeps the
/// `current` one.
fn params(
    object: &Object,
    default: Option<TaskClass>,
    current: TaskClass,
) -> Result<Option<Params>, Diagnostic> {
    let policy = policy(object, "policy")?.or(default);
    let class = policy.unwrap_or(current);
    let real_time = matches!(class, TaskClass::Fifo | TaskClass::Rr);
    let given = object.int("priority")?;
    let priority = match (given, policy) {
        (Some(priority), _) => priority,
        (None, Some(_)) if real_time => 10,
        (None, Some(_)) => 0,
        (None, None) => return Ok(None),
    };
    let range = if real_time { 1..=99 } else { -20..=19 };
    if !range.contains(&priority) {
        let (what, expected) = match real_time {
            true => ("real-time priority", "1 to 99"),
            false => ("nice value", "-20 to 19"),
        };
        let problem = format!("{priority} is not a {what} (rt-app stops with an error)");
        let member = object.get("priority");
        return Err(match member {
            Some(member) => object.error(member, problem, expected),
            None => object.error_here(&problem, expected),
        });
    }
    Ok(Some(Params { class, priority }))
}

/// The slice of a fair task: rt-app passes `dl-runtime`, in us, to sched_setattr() whatever the class, and the kernel
/// brings it into its range.
fn slice(object: &Object, class: TaskClass) -> Result<Option<Ns>, Diagnostic> {
    let fair = !matches!(class, TaskClass::Fifo | TaskClass::Rr);
    let given = object.int("dl-runtime")?.filter(|&us| fair && us > 0);
    Ok(given.map(|us| Ns::from_us(us as u64).clamp(MIN_SLICE, MAX_SLICE)))
}

/// Utilisation clamps; a negative value asks for none.
fn clamps(object: &Object) -> Result<Option<(u16, u16)>, Diagnostic> {
    let clamp = |key| match (object.int(key)?, object.get(key)) {
        (Some(value), Some(member)) if value > 1024 => {
            let problem = format!("{value} is too much (rt-app stops with an error)");
            Err(object.error(member, problem, "0 to 1024"))
        }
        (value, _) => Ok(value.filter(|&value| value >= 0).map(|value| value as u16)),
    };
    let (min, max) = (clamp("util_min")?, clamp("util_max")?);
    if min.is_none() && max.is_none() {
        return Ok(None);
    }
    let (min, max) = (min.unwrap_or(0), max.unwrap_or(1024));
    match object.get("util_min") {
        Some(member) if min > max => Err(object.error(
            member,
            "it is more than util_max (the kernel refuses this)",
            format!("at most {max}"),
        )),
        _ => Ok(Some((min, max))),
    }
}

/// Properties that rt-app checks and this model does not have.
fn check_unmodelled(object: &Object, warnings: &mut Vec<Diagnostic>) -> Result<(), Diagnostic> {
    for key in ["dl-period", "dl-deadline"] {
        object.int(key)?;
        if let Some(member) = object.get(key) {
            let problem = "deadline parameters are not modelled";
            warnings.push(object.error(member, problem, ""));
        }
    }
    if let Some(member) = object.get("nodes_membind") {
        if !matches!(member.node.value, Value::Array(_)) {
            return Err(object.wrong_type(member, "an array of node numbers"));
        }
        warnings.push(object.error(member, "memory placement is not modelled", ""));
    }
    Ok(())
}

/// A task group's path; it must be absolute and of a fair class.
fn taskgroup(object: &Object, class: TaskClass) -> Result<Option<String>, Diagnostic> {
    let (Some(name), Some(member)) = (object.string("taskgroup")?, object.get("taskgroup")) else {
        return Ok(None);
    };
    if name.is_empty() {
        return Ok(None);
    }
    if !name.starts_with('/') {
        let problem = format!("\"{name}\" does not begin with \"/\" (rt-app stops with an error)");
        return Err(object.error(member, problem, format!("\"/{name}\"")));
    }
    if matches!(class, TaskClass::Fifo | TaskClass::Rr) {
        let problem = "real-time tasks have no task groups (rt-app stops with an error)";
        return Err(object.error(member, problem, "SCHED_OTHER, SCHED_BATCH or SCHED_IDLE"));
    }
    if name.split('/').filter(|part| !part.is_empty()).count() > MAX_GROUP_DEPTH {
        let problem = "groups nest too deep";
        return Err(object.error(member, problem, format!("at most {MAX_GROUP_DEPTH} levels")));
    }
    Ok(Some(name.to_string()))
}
